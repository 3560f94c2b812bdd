#include "nabla/tests/runtime/kernels/run_op.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "nabla/graph/graph.h"
#include "nabla/graph/status_macros.h"
#include "nabla/ops/registration.h"
#include "nabla/runtime/kernel.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/resources.h"
#include "nabla/runtime/thread_pool.h"

namespace nabla {

absl::StatusOr<std::vector<Tensor>> RunOp(const std::string& op, const std::vector<Tensor>& inputs,
                                          const AttrMap& attrs, const RunOpOptions& options) {
  RegisterAllOps();
  RegisterAllKernels();
  Graph graph;
  NodeDesc desc;
  desc.name = "tested";
  desc.op = op;
  desc.attrs = attrs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    NodeDesc placeholder;
    placeholder.name = absl::StrCat("input", i);
    placeholder.op = "Placeholder";
    placeholder.attrs.Set("dtype", inputs[i].dtype());
    NABLA_ASSIGN_OR_RETURN(Node* const node, graph.AddNode(std::move(placeholder)));
    desc.inputs.push_back(node->output(0));
  }
  const OpSpec* spec = graph.FindSpec(op);
  if (spec == nullptr) return absl::NotFoundError(absl::StrCat("no op ", op));
  if (attrs.Find("T") == nullptr && spec->FindAttr("T") != nullptr && !inputs.empty()) {
    desc.attrs.Set("T", inputs[0].dtype());
  }
  NABLA_ASSIGN_OR_RETURN(Node* const node, graph.AddNode(std::move(desc)));
  for (size_t i = 0; i < options.output_shapes.size(); ++i) {
    NABLA_RETURN_IF_ERROR(graph.RefineShape(node->output(static_cast<int>(i)), options.output_shapes[i]));
  }
  NABLA_ASSIGN_OR_RETURN(const std::unique_ptr<Kernel> kernel, KernelRegistry::Global().Create(*node));

  static auto* const pools = new std::map<int, std::unique_ptr<ThreadPool>>;
  std::unique_ptr<ThreadPool>& pool = (*pools)[options.threads];
  if (pool == nullptr && options.threads > 1) pool = std::make_unique<ThreadPool>(options.threads);
  ResourceContainer resources;
  KernelContext::Environment environment;
  environment.pool = pool.get();
  environment.resources = &resources;

  std::vector<Tensor> values;
  values.reserve(inputs.size());
  for (const Tensor& input : inputs) values.push_back(options.in_place ? input.Clone() : input);
  std::vector<Tensor*> pointers;
  pointers.reserve(values.size());
  for (Tensor& value : values) pointers.push_back(&value);
  std::vector<Tensor> outputs(node->num_outputs());
  KernelContext ctx(environment, node, pointers.data(), static_cast<int>(pointers.size()), outputs.data(),
                    static_cast<int>(outputs.size()), options.in_place ? ~uint64_t{0} : 0);
  NABLA_RETURN_IF_ERROR(kernel->Compute(ctx));
  return outputs;
}

Tensor RunOp1(const std::string& op, const std::vector<Tensor>& inputs, const AttrMap& attrs,
              const RunOpOptions& options) {
  absl::StatusOr<std::vector<Tensor>> outputs = RunOp(op, inputs, attrs, options);
  EXPECT_TRUE(outputs.ok()) << op << ": " << outputs.status();
  if (!outputs.ok() || outputs->size() != 1) return Tensor::Scalar(0.0f);
  return std::move((*outputs)[0]);
}

AttrMap Attrs(std::initializer_list<std::pair<const char*, Attr>> attrs) {
  AttrMap map;
  for (const auto& [name, value] : attrs) map.Set(name, value);
  return map;
}

}  // namespace nabla

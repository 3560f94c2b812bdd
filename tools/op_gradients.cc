#include "nabla/tools/op_gradients.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "nabla/gradients/between.h"
#include "nabla/gradients/gradients.h"
#include "nabla/graph/control_flow.h"
#include "nabla/graph/function_library.h"
#include "nabla/graph/status_macros.h"
#include "nabla/ops/ops.h"
#include "nabla/proto/function.pb.h"

namespace nabla::tools {
namespace {

bool IsReal(DType dtype) { return dtype == DType::kFloat || dtype == DType::kDouble; }
bool IsNarrow(DType dtype) { return dtype == DType::kFloat || dtype == DType::kHalf || dtype == DType::kBFloat16; }

DType WideType(DType dtype) { return IsNarrow(dtype) ? DType::kDouble : dtype; }

Attr WideAttr(const Attr& attr) {
  if (const DType* dtype = attr.As<DType>()) return WideType(*dtype);
  if (attr.kind() == Attr::Kind::kListType) {
    DTypes dtypes = *attr.As<DTypes>();
    for (DType& dtype : dtypes) dtype = WideType(dtype);
    return dtypes;
  }
  return attr;
}

template <typename T>
void Widen(const Tensor& from, Tensor* to) {
  for (int64_t i = 0; i < from.num_elements(); ++i) {
    to->data<double>()[i] = static_cast<double>(static_cast<float>(from.data<T>()[i]));
  }
}

Tensor WideTensor(const Tensor& tensor) {
  if (!IsNarrow(tensor.dtype())) return tensor;
  Tensor wide(DType::kDouble, tensor.shape());
  if (tensor.dtype() == DType::kFloat) Widen<float>(tensor, &wide);
  if (tensor.dtype() == DType::kHalf) Widen<Half>(tensor, &wide);
  if (tensor.dtype() == DType::kBFloat16) Widen<BFloat16>(tensor, &wide);
  return wide;
}

// One op in a graph of its own: the inputs on the path are fed, the others are constants.
class LoneOp {
 public:
  // With `wide`, every narrower floating type is double.
  static absl::StatusOr<std::unique_ptr<LoneOp>> Make(const Node& op, const Path& path,
                                                      const std::vector<Tensor>& inputs, bool wide) {
    auto result = std::make_unique<LoneOp>(&op.graph()->registry());
    NABLA_RETURN_IF_ERROR(result->Build(op, path, inputs, wide));
    return result;
  }
  explicit LoneOp(const OpRegistry* registry) : graph_(registry), session_(&graph_) {}

  absl::StatusOr<OpVerdict> Check(const DifferenceOptions& options) {
    Outputs ys;
    for (int i = 0; i < node_->num_outputs(); ++i) {
      if (IsReal(node_->output_dtype(i))) ys.push_back(node_->output(i));
    }
    if (ys.empty()) return OpVerdict{OpVerdict::kSkipped, "has no output of type float or double"};
    std::vector<Tensor> values;
    NABLA_RETURN_IF_ERROR(session_.Run(feeds_, ys, &values));
    // Weights tell elements apart that a plain sum would let cancel, as in a softmax.
    Scope scope(&graph_);
    std::mt19937 random(2);
    GradientOptions gradient_options;
    Outputs weighted;
    for (size_t i = 0; i < ys.size(); ++i) {
      Tensor weights(values[i].dtype(), values[i].shape());
      FillWithNormal(&weights, &random);
      Output constant = ops::Const(scope, weights);
      weighted.push_back(ops::Mul(scope, ys[i], constant));
      gradient_options.grad_ys.push_back(Gradient(constant));
    }
    Output sum = SumInDouble(scope, weighted);
    NABLA_ASSIGN_OR_RETURN(const Grads grads, Gradients(scope, ys, xs_, gradient_options));
    OpVerdict verdict{OpVerdict::kAgrees, ""};
    for (size_t i = 0; i < xs_.size(); ++i) {
      Output gradient = ToDense(scope, grads[i]);
      NABLA_RETURN_IF_ERROR(scope.status());
      NABLA_ASSIGN_OR_RETURN(const Difference difference,
                             CompareWithDifferences(&session_, feeds_, xs_[i], gradient, sum, options));
      if (!difference.agrees) {
        // The first input that differs is the one to name.
        verdict.kind = gradient ? OpVerdict::kDiffers : OpVerdict::kStops;
        verdict.detail = absl::StrCat("input ", index_[i], ": ", difference.ToString());
        return verdict;
      }
      if (difference.worst >= worst_) {
        worst_ = difference.worst;
        verdict.detail = difference.ToString();
      }
    }
    return verdict;
  }

 private:
  absl::Status Build(const Node& op, const Path& path, const std::vector<Tensor>& inputs, bool wide) {
    Scope scope(&graph_);
    NodeDesc desc;
    desc.name = op.name();
    desc.op = op.op();
    bool calls = false;
    for (const auto& [name, attr] : op.attrs()) {
      if (absl::StartsWith(name, "_") && name != "_gradient_op_type") continue;
      calls = calls || attr.kind() == Attr::Kind::kFunc || attr.kind() == Attr::Kind::kListFunc;
      desc.attrs.Set(name, wide ? WideAttr(attr) : attr);
    }
    if (calls) {
      FunctionDefLibrary library;
      op.graph()->functions().ToProto(&library);
      NABLA_RETURN_IF_ERROR(graph_.functions().AddLibrary(std::move(library)));
    }
    for (int i = 0; i < op.num_inputs(); ++i) {
      const Tensor value = wide ? WideTensor(inputs[i]) : inputs[i];
      if (path.tensors.contains(op.input(i)) && IsReal(value.dtype())) {
        Output x = ops::Placeholder(scope.Named(graph_.UniqueName("input")), value.dtype(), {.shape = value.shape()});
        xs_.push_back(x);
        index_.push_back(i);
        feeds_.emplace_back(x, value);
        desc.inputs.push_back(x);
      } else {
        desc.inputs.push_back(ops::Const(scope.Named(graph_.UniqueName("constant")), value));
      }
    }
    NABLA_RETURN_IF_ERROR(scope.status());
    if (graph_.FindNode(desc.name) != nullptr) desc.name = graph_.UniqueName(desc.name);
    NABLA_ASSIGN_OR_RETURN(node_, graph_.AddNode(std::move(desc)));
    return absl::OkStatus();
  }

  Graph graph_;
  Session session_;
  Node* node_ = nullptr;
  Feeds feeds_;
  Outputs xs_;
  std::vector<int> index_;  // of the op's input that an x is
  double worst_ = 0;
};

}  // namespace

Path FindPath(const Outputs& ys, const Outputs& xs) {
  Path path;
  if (ys.empty()) return path;
  Graph* const graph = ys[0].graph();
  const auto lock = graph->Lock();
  // Forward from xs, a node once.
  absl::flat_hash_set<const Node*> reached;
  std::vector<Output> stack(xs.begin(), xs.end());
  const absl::flat_hash_set<Output> starts(xs.begin(), xs.end());
  while (!stack.empty()) {
    const Output tensor = stack.back();
    stack.pop_back();
    if (!path.tensors.insert(tensor).second) continue;
    for (const Edge& edge : tensor.node()->consumers()) {
      if (edge.IsControl() || edge.source_index != tensor.index() || !reached.insert(edge.consumer).second) continue;
      for (int i = 0; i < edge.consumer->num_outputs(); ++i) {
        if (IsBackpropagatable(edge.consumer->output_dtype(i))) stack.push_back(edge.consumer->output(i));
      }
    }
  }
  // Back from ys, as far as xs.
  absl::flat_hash_set<const Node*> needed;
  std::vector<Node*> waiting;
  const auto visit = [&](Output tensor) {
    if (!tensor || starts.contains(tensor) || !path.tensors.contains(tensor)) return;
    if (needed.insert(tensor.node()).second) waiting.push_back(tensor.node());
  };
  for (Output y : ys) visit(y);
  while (!waiting.empty()) {
    Node* const node = waiting.back();
    waiting.pop_back();
    for (int i = 0; i < node->num_inputs(); ++i) visit(node->input(i));
  }
  for (Node* node : graph->TopologicalOrder()) {
    if (needed.contains(node)) path.ops.push_back(node);
  }
  return path;
}

std::string WhyNotAlone(const Node& op, const Path& path, const std::string& frame) {
  if (IsSwitch(op) || IsMerge(op) || IsEnter(op) || IsExit(op) || IsNextIteration(op) || IsLoopCond(op)) {
    return "is control flow";
  }
  if (!frame.empty()) return absl::StrCat("is inside the loop '", frame, "'");
  bool varies = false;
  for (int i = 0; i < op.num_inputs(); ++i) {
    const DType dtype = op.input(i).dtype();
    if (dtype == DType::kResource || dtype == DType::kVariant || IsRef(dtype)) {
      return absl::StrCat("input ", i, " is of type ", DTypeName(dtype));
    }
    varies = varies || (path.tensors.contains(op.input(i)) && IsReal(WideType(dtype)));
  }
  if (!varies) return "no input on the path is of a real type";
  if (op.graph()->registry().Find(op.op()) == nullptr) return "is the call of a function";
  if (op.spec().is_stateful()) return "is stateful";
  return "";
}

OpVerdict CheckOp(const Node& op, const Path& path, const std::vector<Tensor>& inputs,
                  const DifferenceOptions& options) {
  // Not every op takes doubles, nor every kernel.
  absl::Status status;
  for (const bool wide : {true, false}) {
    absl::StatusOr<std::unique_ptr<LoneOp>> lone = LoneOp::Make(op, path, inputs, wide);
    absl::StatusOr<OpVerdict> verdict = lone.ok() ? (*lone)->Check(options) : lone.status();
    if (verdict.ok()) return *std::move(verdict);
    status = verdict.status();
  }
  return {OpVerdict::kSkipped, std::string(status.message())};
}

}  // namespace nabla::tools

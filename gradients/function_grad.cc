// Calls of functions with a gradient of their own (the engine meets no others, see expand_calls.h), and
// SymbolicGradient, the gradient of a function as a node of older graphs.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nabla/gradients/between.h"
#include "nabla/gradients/custom_gradient.h"
#include "nabla/gradients/gradients.h"
#include "nabla/gradients/registration.h"
#include "nabla/graph/call_expander.h"
#include "nabla/graph/function_instance.h"
#include "nabla/graph/function_library.h"
#include "nabla/graph/inline.h"
#include "nabla/graph/status_macros.h"
#include "nabla/ops/ops.h"

namespace nabla {
namespace {

class SymbolicGradient {
 public:
  SymbolicGradient(Graph* graph, Node* node, bool among_control_flow)
      : graph_(graph),
        node_(node),
        among_control_flow_(among_control_flow),
        scope_(Scope(graph).Absolute(node->name()).WithDevice(node->device())) {}

  absl::Status Expand() {
    const int first_new = graph_->num_node_ids();
    absl::Status status = Build();
    if (status.ok()) status = graph_->Morph(node_, std::move(desc_));
    if (status.ok()) return status;
    std::vector<Node*> added;
    for (int id = first_new; id < graph_->num_node_ids(); ++id) {
      if (graph_->node(id) != nullptr) added.push_back(graph_->node(id));
    }
    RemoveNodes(graph_, added);
    return status;
  }

 private:
  // The inputs are f's and then the gradients of f's outputs.
  absl::Status CheckTypes(const OpSpec& spec, const FunctionRef& f) {
    AttrMap attrs;
    if (f.attrs != nullptr) {
      for (const auto& [name, value] : *f.attrs) {
        if (spec.FindAttr(name) != nullptr) attrs.Set(name, value);
      }
    }
    DTypes takes, gives;
    NABLA_RETURN_IF_ERROR(CompleteAttrs(spec, &attrs));
    NABLA_RETURN_IF_ERROR(ArgDTypes(spec.inputs(), attrs, &takes));
    NABLA_RETURN_IF_ERROR(ArgDTypes(spec.outputs(), attrs, &gives));
    num_xs_ = static_cast<int>(takes.size());
    const int expected = static_cast<int>(takes.size() + gives.size());
    if (node_->num_inputs() != expected || node_->num_outputs() != num_xs_) {
      return absl::InvalidArgumentError(absl::StrCat(
          "has ", node_->num_inputs(), " inputs and ", node_->num_outputs(), " outputs, expected ", expected, " and ",
          num_xs_, " for a function of ", num_xs_, " inputs and ", gives.size(), " outputs"));
    }
    attrs_ = std::move(attrs);
    return absl::OkStatus();
  }

  absl::Status Build() {
    const FunctionRef& f = node_->GetAttr<FunctionRef>("f");
    NABLA_ASSIGN_OR_RETURN(const Function function, Function::Find(*graph_, f.name));
    NABLA_RETURN_IF_ERROR(CheckTypes(*graph_->functions().FindSpec(f.name), f));
    // Identities tell inputs apart that are the same tensor, and carry the waiting.
    Outputs xs;
    for (int i = 0; i < num_xs_; ++i) {
      xs.push_back(ops::Identity(scope_.WithControl(node_->control_inputs()).Named("x"), node_->input(i)));
    }
    if (!node_->control_inputs().empty()) {
      scope_ = scope_.WithControl(node_->control_inputs());
    } else if (among_control_flow_ && !xs.empty() && xs[0]) {
      scope_ = scope_.WithControl({xs[0].node()});  // into the node's frame and branch
    }
    const Outputs results =
        function.Call(scope_.Named("call"), Inputs(xs.begin(), xs.end()), Function::CallOp::kPartitionedCall, attrs_);
    NABLA_RETURN_IF_ERROR(scope_.status());
    Outputs ys;
    GradientOptions options;
    for (size_t i = 0; i < results.size(); ++i) {
      if (!IsBackpropagatable(results[i].dtype()) || results[i].dtype() == DType::kResource) continue;
      ys.push_back(results[i]);
      options.grad_ys.push_back(node_->input(num_xs_ + static_cast<int>(i)));
    }
    Grads grads(xs.size());
    if (!ys.empty() && !xs.empty()) NABLA_RETURN_IF_ERROR(Differentiate(ys, xs, options, &grads));
    desc_.op = "IdentityN";
    const std::vector<DType>& types = node_->GetAttr<std::vector<DType>>("Tout");
    for (size_t i = 0; i < xs.size(); ++i) {
      const Output grad = grads[i].none() ? Zeros(xs[i], types[i]) : ToDense(scope_, grads[i]);
      NABLA_RETURN_IF_ERROR(scope_.status());
      desc_.inputs.push_back(grad);
    }
    desc_.attrs.Set("T", types);
    desc_.control_inputs = node_->control_inputs();
    return absl::OkStatus();
  }

  absl::Status Differentiate(const Outputs& ys, const Outputs& xs, const GradientOptions& options, Grads* grads) {
    NABLA_ASSIGN_OR_RETURN(*grads, Gradients(scope_, ys, xs, options));
    return absl::OkStatus();
  }

  Output Zeros(Output x, DType dtype) const {
    return ops::ZerosLike(scope_, x.dtype() == DType::kResource ? ops::ReadVariableOp(scope_, x, dtype) : x);
  }

  Graph* graph_;
  Node* node_;
  bool among_control_flow_;
  Scope scope_;
  int num_xs_ = 0;
  AttrMap attrs_;
  NodeDesc desc_;
};

absl::Status ExpandSymbolicGradient(Graph* graph, Node* node, bool among_control_flow) {
  return SymbolicGradient(graph, node, among_control_flow).Expand();
}

}  // namespace

void RegisterFunctionGradients(GradientRegistry& registry) {
  registry.Add("PartitionedCall", CallGradient);
  registry.Add("StatefulPartitionedCall", CallGradient);
  CallExpanders::Global().Add("SymbolicGradient", ExpandSymbolicGradient);
}

}  // namespace nabla

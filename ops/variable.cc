#include "nabla/ops/variable.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "nabla/graph/resource_handle.h"
#include "nabla/ops/builders.h"
#include "nabla/ops/const.h"

namespace nabla::ops {
namespace {

constexpr char kTrainable[] = "_trainable";
constexpr char kAssign[] = "Assign";

template <typename Keep>
Outputs CollectVariables(const Graph& graph, Keep keep) {
  Outputs handles;
  graph.ForEachNode([&](Node* node) {
    if (node->op() == "VarHandleOp" && keep(*node)) handles.push_back(node->output(0));
  });
  return handles;
}

}  // namespace

Output NewVariable(const Scope& scope, absl::string_view name, Input initial_value, const NewVariableAttrs& attrs) {
  if (!scope.ok()) return Output();
  const std::string full_name = scope.NodeName(name);
  const Scope inner = scope.Absolute(full_name);
  Output value = initial_value.output();
  if (initial_value.is_constant()) {
    const Scope at = inner.Named("initial_value");
    value = initial_value.is_weak() ? Const(at, initial_value, attrs.dtype) : Const(at, initial_value);
  }
  if (!value) return Output();
  const Scope root = scope.Absolute("");
  const Output handle = VarHandleOp((attrs.trainable ? root : root.WithAttr(kTrainable, false)).Named(full_name),
                                    value.dtype(), attrs.shape.value_or(value.shape()), {.shared_name = full_name});
  AssignVariableOp(inner.Named(kAssign), handle, value);
  return handle;
}

Output ReadVariable(const Scope& scope, Output handle) {
  if (!handle) return Output();
  const ResourceInfo info = FindResource(handle);
  if (info.node == nullptr) {
    scope.RecordError(absl::InvalidArgumentError(
        absl::StrCat("ReadVariable: the graph does not show which variable '", handle.name(), "' is")));
    return Output();
  }
  return ReadVariableOp(scope, handle, info.dtype);
}

bool IsTrainableVariable(const Node& node) {
  if (node.op() != "VarHandleOp") return false;
  const bool* trainable = node.attr<bool>(kTrainable);
  return trainable == nullptr || *trainable;
}

Outputs Variables(const Graph& graph) {
  return CollectVariables(graph, [](const Node&) { return true; });
}

Outputs TrainableVariables(const Graph& graph) { return CollectVariables(graph, IsTrainableVariable); }

Node* VariableInitializer(const Node& variable) {
  Node* const assign = variable.graph()->FindNode(absl::StrCat(variable.name(), "/", kAssign));
  return assign != nullptr && assign->op() == "AssignVariableOp" ? assign : nullptr;
}

Node* InitializeVariables(const Scope& scope, const Outputs& handles) {
  if (!scope.ok()) return nullptr;
  std::vector<Node*> assigns;
  for (const Output& handle : handles.empty() ? Variables(*scope.graph()) : handles) {
    Node* const variable = FindResource(handle).node;
    Node* const assign = variable == nullptr ? nullptr : VariableInitializer(*variable);
    if (assign != nullptr) {
      assigns.push_back(assign);
    } else if (!handles.empty()) {
      scope.RecordError(absl::InvalidArgumentError(absl::StrCat(
          "InitializeVariables: there is no initialiser '", handle ? handle.node()->name() : "", "/", kAssign, "'")));
      return nullptr;
    }
  }
  return NoOp(scope.WithControl(assigns));
}

}  // namespace nabla::ops

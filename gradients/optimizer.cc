#include "nabla/gradients/optimizer.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "nabla/graph/resource_handle.h"
#include "nabla/graph/status_macros.h"
#include "nabla/ops/ops.h"
#include "nabla/ops/variable.h"

namespace nabla {
namespace {

void AddNodes(const Gradient& gradient, std::vector<Node*>* nodes) {
  if (gradient.is_dense()) nodes->push_back(gradient.dense().node());
  if (gradient.is_slices()) {
    nodes->push_back(gradient.slices().values.node());
    nodes->push_back(gradient.slices().indices.node());
  }
}

// Tells a variable's name, or that of whatever was given in its place.
std::string NameOf(Output handle) {
  const Node* const variable = FindResource(handle).node;
  return variable != nullptr ? variable->name() : handle ? handle.name() : "";
}

absl::Status CheckHandle(const Graph* graph, Output handle, const char* what) {
  if (handle && handle.graph() == graph && handle.dtype() == DType::kResource && FindResource(handle).node != nullptr) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(what, " '", NameOf(handle), "' is not the handle of a variable of this graph"));
}

}  // namespace

absl::StatusOr<VariableGradients> Optimizer::ComputeGradients(const Scope& scope, Output loss, const Outputs& variables,
                                                              const GradientOptions& options) const {
  const Outputs xs = variables.empty() ? ops::TrainableVariables(*scope.graph()) : variables;
  if (xs.empty()) return absl::InvalidArgumentError(absl::StrCat(name_, ": there are no variables to train"));
  NABLA_ASSIGN_OR_RETURN(Grads grads, Gradients(scope, {loss}, xs, options));
  VariableGradients result;
  for (size_t i = 0; i < xs.size(); ++i) result.push_back({std::move(grads[i]), xs[i]});
  return result;
}

absl::StatusOr<Node*> Optimizer::Minimize(const Scope& scope, Output loss, const Outputs& variables,
                                          Output global_step) {
  NABLA_ASSIGN_OR_RETURN(VariableGradients gradients, ComputeGradients(scope, loss, variables));
  return ApplyGradients(scope, gradients, global_step);
}

absl::Status Optimizer::Check(const Scope& scope, const VariableGradients& gradients, Output global_step) const {
  NABLA_RETURN_IF_ERROR(scope.status());
  if (graph_ != nullptr && graph_ != scope.graph()) {
    return absl::InvalidArgumentError(absl::StrCat(name_, ": the optimizer's slots are in another graph"));
  }
  absl::flat_hash_set<const Node*> seen;
  bool any = false;
  for (const VariableGradient& g : gradients) {
    NABLA_RETURN_IF_ERROR(CheckHandle(scope.graph(), g.variable, "variable"));
    const ResourceInfo variable = FindResource(g.variable);
    if (!seen.insert(variable.node).second) {
      return absl::InvalidArgumentError(absl::StrCat(name_, ": variable '", variable.node->name(), "' occurs twice"));
    }
    if (g.gradient.none()) continue;
    any = true;
    if (g.gradient.dtype() != variable.dtype) {
      return absl::InvalidArgumentError(absl::StrCat(name_, ": the gradient of variable '", variable.node->name(),
                                                     "' is of type ", DTypeName(g.gradient.dtype()),
                                                     ", the variable of type ", DTypeName(variable.dtype)));
    }
  }
  if (!any) {
    const auto add_name = [](std::string* out, const VariableGradient& g) { out->append(NameOf(g.variable)); };
    return absl::InvalidArgumentError(
        absl::StrCat(name_, ": no gradient for any variable: ", absl::StrJoin(gradients, ", ", add_name)));
  }
  return global_step ? CheckHandle(scope.graph(), global_step, "global_step") : absl::OkStatus();
}

absl::StatusOr<Node*> Optimizer::ApplyGradients(const Scope& scope, const VariableGradients& gradients,
                                                Output global_step) {
  NABLA_RETURN_IF_ERROR(Check(scope, gradients, global_step));
  const auto lock = scope.graph()->Lock();
  // The last node gets the very name of the scope that holds the others.
  const std::string full_name = scope.NodeName(name_);
  const Scope inner = scope.Absolute(full_name);
  if (graph_ == nullptr) {
    graph_ = scope.graph();
    CreateShared(scope.WithoutControl().Absolute(""));
  }
  std::vector<Node*> arrived;
  for (const VariableGradient& g : gradients) AddNodes(g.gradient, &arrived);
  const Scope gated = inner.WithControl({ops::NoOp(inner.Named("gradients").WithControl(arrived))});
  Prepare(inner);
  Numbers numbers(inner);
  std::vector<Node*> updates;
  for (const VariableGradient& g : gradients) {
    if (!g.gradient.none()) updates.push_back(ApplyOne(gated, g, &numbers));
  }
  NABLA_RETURN_IF_ERROR(scope.status());
  for (Node* node : Finish(inner.WithControl(updates))) updates.push_back(node);
  Node* last = nullptr;
  if (global_step) {
    const Scope after = inner.WithControl({ops::NoOp(inner.Named("update").WithControl(updates))});
    const Output one = ops::Const(inner.Named("one"), 1, FindResource(global_step).dtype);
    last = ops::AssignAddVariableOp(after.Absolute("").Named(full_name), global_step, one);
  } else {
    last = ops::NoOp(scope.Absolute("").Named(full_name).WithControl(updates));
  }
  NABLA_RETURN_IF_ERROR(scope.status());
  return last;
}

Node* Optimizer::ApplyOne(const Scope& scope, const VariableGradient& g, Numbers* numbers) {
  Node* const variable = FindResource(g.variable).node;
  const Outputs& slots = SlotsOf(scope.WithoutControl(), variable);
  const Scope at = scope.Absolute(absl::StrCat(scope.name(), "/update_", variable->name()));
  const Step step{at, g.variable, FindResource(g.variable).dtype, slots, numbers};
  const ScopeGuard guard(at);
  return g.gradient.is_dense() ? ApplyDense(step, g.gradient.dense()) : ApplySparse(step, g.gradient.slices());
}

const Outputs& Optimizer::SlotsOf(const Scope& scope, Node* variable) {
  Outputs& handles = slots_[variable];
  if (!handles.empty()) return handles;
  const Scope root = scope.Absolute("").WithDevice(variable->device());
  const ResourceInfo info = FindResource(variable->output(0));
  for (const SlotSpec& slot : slots()) {
    const std::string name = root.NodeName(absl::StrCat(variable->name(), "/", name_));
    Scope inner = root.Absolute(name);
    // A variable whose shape only its first value tells is initialised before its slots.
    if (Node* const assign = ops::VariableInitializer(*variable); assign != nullptr && !info.shape.IsFullyDefined()) {
      inner = inner.WithControl({assign});
    }
    const Input dims = info.shape.IsFullyDefined()
                           ? Input(info.shape)
                           : Input(ops::VariableShape(inner.Named("dims"), variable->output(0)));
    const Output initial =
        ops::Fill(inner.Named("initial_value"), dims, ops::Const(inner.Named("element"), slot.initial, info.dtype));
    handles.push_back(ops::NewVariable(root, name, initial, {.shape = info.shape, .trainable = false}));
  }
  return handles;
}

std::vector<std::string> Optimizer::SlotNames() const {
  std::vector<std::string> names;
  for (const SlotSpec& slot : slots()) names.push_back(slot.name);
  return names;
}

Output Optimizer::Slot(Output variable, absl::string_view slot_name) const {
  const auto it = slots_.find(FindResource(variable).node);
  if (it == slots_.end()) return Output();
  const std::vector<SlotSpec> specs = slots();
  for (size_t i = 0; i < it->second.size(); ++i) {
    if (specs[i].name == slot_name) return it->second[i];
  }
  return Output();
}

Output Optimizer::Numbers::Get(const char* name, const Input& value, DType dtype) {
  Output& node = nodes_[{name, dtype}];
  if (node) return node;
  const Scope at = scope_.Named(name);
  if (value.is_constant() && value.is_weak()) {
    node = ops::Const(at, value, dtype);
  } else {
    node = value.is_constant() ? ops::Const(at, value) : value.output();
    if (node && node.dtype() != dtype) node = ops::Cast(at, node, dtype);
  }
  return node;
}

IndexedSlices Optimizer::SumDuplicates(const Scope& scope, const IndexedSlices& slices) {
  const ops::UniqueOutputs unique = ops::Unique(scope, slices.indices);
  IndexedSlices sums = slices;
  sums.values = ops::UnsortedSegmentSum(scope, slices.values, unique.idx, ops::Size(scope, unique.y));
  sums.indices = unique.y;
  return sums;
}

Output Optimizer::Dense(const Step& step, IndexedSlices slices) {
  if (!slices.dense_shape) slices.dense_shape = ops::VariableShape(step.scope, step.variable);
  return ToDense(step.scope, slices);
}

}  // namespace nabla

// Variables as nodes: a handle, the node that gives it its first value, and what the graph says about both.
//
//   Output w = ops::NewVariable(scope, "w", ops::Const(scope, 0.0, DType::kFloat, {784, 10}));
//   Output y = ops::MatMul(scope, x, ops::ReadVariable(scope, w));
//   Node* initialize = ops::InitializeVariables(scope.Named("initialize"));
//   session.Run({}, {}, {initialize}, nullptr);
//
// There is no list of variables beside the graph: variable "w" is the VarHandleOp of that name, its initialiser the
// AssignVariableOp "w/Assign", as in graphs that TensorFlow writes, so loaded graphs are initialised the same way.
#ifndef NABLA_OPS_VARIABLE_H_
#define NABLA_OPS_VARIABLE_H_

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "nabla/graph/scope.h"

namespace nabla::ops {

struct NewVariableAttrs {
  // Of a number as initial value; other values have theirs.
  DType dtype = DType::kFloat;
  // What all values must be compatible with. Absent: the initial value's static shape.
  absl::optional<nabla::Shape> shape;
  // Whether optimizers and gradient tapes take it for a parameter. Counters and an optimizer's own variables are not.
  bool trainable = true;
};

// The handle of a new variable `name` (made unique) in the scope. A number given as initial value becomes a scalar.
Output NewVariable(const Scope& scope, absl::string_view name, Input initial_value, const NewVariableAttrs& attrs = {});

// The value of a variable, whose dtype the graph must show (InvalidArgument in the scope for a fed handle).
Output ReadVariable(const Scope& scope, Output handle);

// Whether `node` is the VarHandleOp of a variable that may be trained: one that was not made with trainable = false,
// which leaves an attr `_trainable` that other readers of the graph ignore.
bool IsTrainableVariable(const Node& node);

// The handles of all variables of the graph, in order of creation.
Outputs Variables(const Graph& graph);
Outputs TrainableVariables(const Graph& graph);

// The node that gives the variable its first value, "<variable>/Assign"; nullptr if there is none.
Node* VariableInitializer(const Node& variable);

// A NoOp after which every one of `handles` (all variables of the graph that have initialisers, if there are none) has
// its first value. InvalidArgument in the scope for a handle without initialiser.
Node* InitializeVariables(const Scope& scope, const Outputs& handles = {});

}  // namespace nabla::ops

#endif  // NABLA_OPS_VARIABLE_H_

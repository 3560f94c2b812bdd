// What transforms of graphs share: the ops between tensors in an order to visit them, copies of ops, and clearing away
// what a transform built only to take it apart.
#ifndef NABLA_GRADIENTS_TRANSFORM_UTIL_H_
#define NABLA_GRADIENTS_TRANSFORM_UTIL_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/types/optional.h"
#include "nabla/graph/attr.h"
#include "nabla/graph/graph.h"
#include "nabla/graph/scope.h"

namespace nabla {

// The ops that depend on a source through data edges and that a result depends on, inputs first (back edges of loops
// aside). An op that gives a source is among them only if it depends on another source. Requires the graph's lock; the
// cost is that of the ops that depend on the sources.
std::vector<Node*> OpsBetween(const Outputs& sources, const Outputs& results);

// Whether `op` belongs to a loop's or a conditional's machinery.
bool BelongsToControlFlow(const Node& op);

// Whether input i of `op`, or any, closes a loop: a Merge's from a NextIteration.
bool ClosesLoop(const Node& op, int i);
bool ClosesLoop(const Node& op);

// Adds an op like `op`, its attrs save the `changed` ones included, with other inputs, as many as it has. nullptr, and
// the scope has the error, if that fails.
Node* CopyOp(const Scope& scope, const Node* op, const Outputs& inputs,
             const std::vector<std::pair<std::string, Attr>>& changed = {});

// Removes what was added since the graph had `first_id` node ids, save what `keep` or older nodes depend on. Requires
// the graph's lock since then.
void RemoveUnused(Graph* graph, int first_id, const Outputs& keep);

// The elements of an integer tensor that the graph alone determines.
absl::optional<std::vector<int64_t>> ConstantInts(Output tensor);

// A vector of int32 or int64.
Tensor IntVector(const std::vector<int64_t>& values, DType dtype);

// x's shape as an operand; for the handle of a variable, that of its value.
Input ValueShapeOperand(const Scope& scope, Output x);
// What is known of it.
Shape ValueShape(Output x);

}  // namespace nabla

#endif  // NABLA_GRADIENTS_TRANSFORM_UTIL_H_

// Symbolic gradients: appends to a graph the nodes that compute derivatives.
//
//   Outputs ys = {loss}, xs = {w, b};
//   NABLA_ASSIGN_OR_RETURN(Grads g, Gradients(scope, ys, xs));
//   g[0].dense();  // d loss / d w
//
// The method is reverse accumulation over the ops between xs and ys: count for
// each the uses whose gradient is still to come, visit an op when its count
// reaches zero, add up what arrived at its outputs, apply its rule. The rules
// compose public ops, so the result can be differentiated again.
#ifndef NABLA_GRADIENTS_GRADIENTS_H_
#define NABLA_GRADIENTS_GRADIENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nabla/gradients/gradient.h"
#include "nabla/gradients/indexed_slices.h"
#include "nabla/graph/scope.h"

namespace nabla {

// How several gradients of one tensor are added up.
enum class AggregationMethod {
  kAddN,         // one AddN when all have arrived (with devices: partial sums on
                 // each, then one of these)
  kTree,         // pairwise, as they come: lower peak memory
  kAccumulateN,  // AccumulateNV2 where the shape is static and there are more
                 // than two, else kTree
};

// What an x gets that no y depends on.
enum class UnconnectedGradients { kNone, kZero };

// What the gradient of a loop keeps of the loop's trips.
enum class Checkpoint {
  kNone,         // of every trip, all that it reads: no trip is made twice
  kEveryK,       // the loop's variables at every k-th trip
  kSqrt,         // the loop's variables at about sqrt(2 n) of n trips
  kBudgetBytes,  // what fits into so many bytes
};

// With checkpoints, the gradient of a loop computes the trips between those that are kept again, a segment at a time,
// and saves what it reads of one segment only. kEveryK and kSqrt make every trip once more (kSqrt holds about sqrt(2 n)
// trips where their number is known before the loop begins, as that of `while (i < n)` is, else twice as many).
// kBudgetBytes makes them as often as the memory asks for: half of the budget is for checkpoints, half for the segment,
// by the sizes of tensors; a segment is one trip where these are unknown, and at least one checkpoint and one trip are
// held whatever the budget. What a trip needs while it runs, and what is no tensor, comes on top.
//
// It goes for the loops that the gradient passes through, not for those in their bodies, which are part of a trip. A
// body is computed again with its conditionals and loops. What it would do or give differently the second time (random
// numbers, assignments, TensorArrays, Print) cannot be checkpointed; variables may be read if nothing in the loop
// writes to them and whatever else does waits for the gradients.
struct LoopGradientOptions {
  Checkpoint checkpoint = Checkpoint::kNone;
  int64_t every_k = 0;
  int64_t budget_bytes = 0;
};

struct GradientOptions {
  // The incoming gradient of each y; empty, or one per y where none means ones.
  // Complex ys demand one.
  Grads grad_ys;
  // The name scope of what is appended.
  std::string name = "gradients";
  // Gradient nodes carry _class = ["loc:@<forward op>"] and its device.
  bool colocate = false;
  // All gradients of one op are computed before any of them is used.
  bool gate_gradients = false;
  AggregationMethod aggregation = AggregationMethod::kAddN;
  // Tensors to treat as constants.
  Outputs stop_gradients;
  UnconnectedGradients unconnected = UnconnectedGradients::kNone;
  LoopGradientOptions loops;
};

// Sum over ys of dy/dx for each x: one Gradient per x, in order. An x may be a
// resource handle (of a variable): its gradient is that of the variable's
// value. What is appended for an op with the attrs _XlaCompile (true), _XlaScope
// and _XlaSeparateCompiledGradients carries _XlaCompile and _XlaScope, a scope
// of its own if the gradients are to be compiled separately. With
// NABLA_VERBOSITY=1 (graph/logging.h) each op's incoming and outgoing gradients
// are logged. Errors: InvalidArgument for ys, xs or grad_ys that do not fit;
// NotFound for an op without rule on the path ("No gradient defined for
// operation 'name' (op type: Type)"); what a rule refuses (PreventGradient). On
// error nothing useful was added. Thread safety: locks the graph.
absl::StatusOr<Grads> Gradients(const Scope& scope, const Outputs& ys, const Outputs& xs,
                                const GradientOptions& options = {});

}  // namespace nabla

#endif  // NABLA_GRADIENTS_GRADIENTS_H_

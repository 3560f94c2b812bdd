// Computes what the graph alone determines.
#ifndef NABLA_GRAPH_PASSES_CONSTANT_FOLD_H_
#define NABLA_GRAPH_PASSES_CONSTANT_FOLD_H_

#include <cstddef>

#include "absl/status/status.h"
#include "nabla/graph/passes/compilation.h"

namespace nabla {

// No folded tensor may be larger than this, unless it is no larger than the constants it is made from.
inline constexpr size_t kMaxFoldedBytes = size_t{10} << 20;
// By how much all folded tensors together may exceed the constants they are made from.
inline constexpr size_t kMaxFoldedGrowth = size_t{256} << 20;

// Replaces stateless nodes whose inputs are constants by constants, evaluated with compilation.evaluate, and Shape,
// ShapeN, Size and Rank of a tensor whose static shape is known. Control edges are kept: the constant waits for what
// the node and its inputs waited for. Nodes whose output size is unknown beforehand stay, and so do nodes that fail:
// their error belongs to the run.
absl::Status ConstantFold(Compilation& compilation);

}  // namespace nabla

#endif  // NABLA_GRAPH_PASSES_CONSTANT_FOLD_H_

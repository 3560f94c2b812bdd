// Computes once what is asked for several times.
#ifndef NABLA_GRAPH_PASSES_COMMON_SUBEXPRESSIONS_H_
#define NABLA_GRAPH_PASSES_COMMON_SUBEXPRESSIONS_H_

#include "absl/status/status.h"
#include "nabla/graph/passes/compilation.h"

namespace nabla {

// Merges stateless nodes with the same op, inputs, control inputs, attrs and device into the first of them; constants
// with the same content among them. Attrs that say nothing about the result (_class, _output_shapes) may differ.
// Operands are not reordered: a + b and b + a differ in which NaN they give.
absl::Status CommonSubexpressions(Compilation& compilation);

}  // namespace nabla

#endif  // NABLA_GRAPH_PASSES_COMMON_SUBEXPRESSIONS_H_

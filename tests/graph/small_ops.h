// A handful of op specs, enough to build graphs with in tests of the IR that should not depend on the real ones.
#ifndef NABLA_TESTS_GRAPH_SMALL_OPS_H_
#define NABLA_TESTS_GRAPH_SMALL_OPS_H_

#include <string>
#include <vector>

#include "nabla/graph/graph.h"
#include "nabla/graph/op_spec.h"

namespace nabla {

// Const, Placeholder, arithmetic, shapes and slices, Pack, ConcatV2, IdentityN, the loop primitives, …
const OpRegistry& SmallOps();

// Abort on errors, so that a test reads as the graph it builds.
Node* AddNodeOrDie(Graph& graph, NodeDesc desc);
Output AddConst(Graph& graph, const std::string& name, Tensor value);
Output AddPlaceholder(Graph& graph, const std::string& name, DType dtype, Shape shape);

}  // namespace nabla

#endif  // NABLA_TESTS_GRAPH_SMALL_OPS_H_

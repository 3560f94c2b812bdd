// Calls of functions, as the engine sees them: not at all.
#ifndef NABLA_GRADIENTS_EXPAND_CALLS_H_
#define NABLA_GRADIENTS_EXPAND_CALLS_H_

#include "absl/status/status.h"
#include "nabla/graph/graph.h"

namespace nabla {

// Expands the calls through which a gradient flows from ys back to xs (graph/inline.h), and all calls in these; calls
// of functions with a gradient of their own stay. Costs nothing in a graph without functions. Errors as for
// ExpandCalls. Requires the graph's lock.
absl::Status ExpandCallsBetween(Graph* graph, const Outputs& ys, const Outputs& xs);

}  // namespace nabla

#endif  // NABLA_GRADIENTS_EXPAND_CALLS_H_

// Removes what nothing needs any more.
#ifndef NABLA_GRAPH_PASSES_PRUNE_H_
#define NABLA_GRAPH_PASSES_PRUNE_H_

#include "absl/status/status.h"
#include "nabla/graph/passes/compilation.h"

namespace nabla {

// Keeps the fetches, the targets, every stateful node, and what these need. (What the run did not ask for in the first
// place is not in the compilation's graph to begin with; here go the nodes that other passes left unused.)
absl::Status Prune(Compilation& compilation);

}  // namespace nabla

#endif  // NABLA_GRAPH_PASSES_PRUNE_H_

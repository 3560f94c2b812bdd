// Routes tensors past the nodes that only hand them on.
#ifndef NABLA_GRAPH_PASSES_DROP_IDENTITIES_H_
#define NABLA_GRAPH_PASSES_DROP_IDENTITIES_H_

#include "absl/status/status.h"
#include "nabla/graph/passes/compilation.h"

namespace nabla {

// Identity, IdentityN, StopGradient, PreventGradient, Snapshot; AddN of one tensor; a Reshape, Squeeze, ExpandDims or
// BroadcastTo to the static shape that the input has already; a Cast to the input's own type; a Transpose by [0, 1, …].
// Order is kept: who waited for such a node waits for its source and for what the node waited for. A node for which
// that would take more edges than it saves stays, as do targets. The nodes themselves are left for Prune.
absl::Status DropIdentities(Compilation& compilation);

}  // namespace nabla

#endif  // NABLA_GRAPH_PASSES_DROP_IDENTITIES_H_

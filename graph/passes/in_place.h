// Finds the tensors whose last reader may write over them.
#ifndef NABLA_GRAPH_PASSES_IN_PLACE_H_
#define NABLA_GRAPH_PASSES_IN_PLACE_H_

#include "absl/status/status.h"
#include "nabla/graph/passes/compilation.h"

namespace nabla {

// Fills in compilation.exclusive_inputs: input i of the node at a position of compilation.order is its own if no later
// node reads that tensor, the node reads it only once, and it is neither fetched, fed nor a constant. Whether its bytes
// are really unshared (an Identity may have handed them on) the kernel context asks at run time.
absl::Status InPlace(Compilation& compilation);

}  // namespace nabla

#endif  // NABLA_GRAPH_PASSES_IN_PLACE_H_

// The first pass: calls of functions become what they compute.
#ifndef NABLA_GRAPH_PASSES_EXPAND_CALLS_H_
#define NABLA_GRAPH_PASSES_EXPAND_CALLS_H_

#include "absl/status/status.h"
#include "nabla/graph/passes/compilation.h"

namespace nabla {

// Expands all calls (see graph/inline.h), which the other passes and the executor know nothing of. Unlike other passes
// it cannot be left out, and its errors are those of the user's program: what ExpandCalls refuses, Unimplemented for an
// op that calls functions and has no expander.
absl::Status ExpandCalls(Compilation& compilation);

}  // namespace nabla

#endif  // NABLA_GRAPH_PASSES_EXPAND_CALLS_H_

// Lets AccumulateNV2 add its terms as they arrive.
#ifndef NABLA_GRAPH_PASSES_ACCUMULATE_H_
#define NABLA_GRAPH_PASSES_ACCUMULATE_H_

#include "absl/status/status.h"
#include "nabla/graph/passes/compilation.h"

namespace nabla {

// Turns every AccumulateNV2 of three or more terms into a chain of sums of two, in the order of its inputs, so that the
// bits stay the same. A term is added, in place, when it and those before it are there, and its memory is free again;
// the op itself keeps all of them to the end. So that several threads do not run ahead of the chain, a term is not
// computed before the sum up to the eighth before it is there (not in graphs with control flow). float16 and bfloat16,
// whose sum is rounded only once, are left alone.
absl::Status Accumulate(Compilation& compilation);

}  // namespace nabla

#endif  // NABLA_GRAPH_PASSES_ACCUMULATE_H_

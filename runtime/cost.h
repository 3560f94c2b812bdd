// A guess at how long a node takes, to tell what is worth handing to another thread from what is not.
#ifndef NABLA_RUNTIME_COST_H_
#define NABLA_RUNTIME_COST_H_

#include "nabla/graph/graph.h"

namespace nabla {

// Nanoseconds on one thread, from the op and the static shapes; an unknown dimension counts as 128. Only the
// order of magnitude means anything. A pure function.
double EstimateCost(const Node& node);

}  // namespace nabla

#endif  // NABLA_RUNTIME_COST_H_

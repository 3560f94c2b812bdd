// Why an x has no gradient.
#ifndef NABLA_GRADIENTS_REPORT_H_
#define NABLA_GRADIENTS_REPORT_H_

#include <string>

#include "nabla/graph/graph.h"

namespace nabla {

// For an x whose gradient is none: what cuts the paths from x to ys, where it is nearest to ys. "no path leads from
// 'x' to ys", "op ArgMax (node 'a/b') is not differentiable", "'c:0' is int32, and integers are constants", "'d' is
// among stop_gradients". One line. Thread safety: locks the graph; RegisterAllGradients() must have run.
std::string WhyNone(const Outputs& ys, Output x, const Outputs& stop_gradients);

}  // namespace nabla

#endif  // NABLA_GRADIENTS_REPORT_H_

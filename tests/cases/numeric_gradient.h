// Derivatives by differences.
#ifndef NABLA_TESTS_CASES_NUMERIC_GRADIENT_H_
#define NABLA_TESTS_CASES_NUMERIC_GRADIENT_H_

#include <vector>

#include "absl/status/statusor.h"
#include "nabla/graph/graph.h"
#include "nabla/graph/tensor.h"
#include "nabla/runtime/session.h"

namespace nabla {

// The gradient with respect to `x`, one of `feeds`, of sum(y * weights) over ys, where the floating or complex `ys`
// have the weights of that place: central differences of order 4, for double and complex128. The step is 2^-10; so
// is how smooth the function must be around the feeds.
absl::StatusOr<std::vector<double>> NumericGradient(Session& session, const Feeds& feeds, size_t x, const Outputs& ys,
                                                    const std::vector<Tensor>& weights);

}  // namespace nabla

#endif  // NABLA_TESTS_CASES_NUMERIC_GRADIENT_H_

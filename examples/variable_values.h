// What a trained network is frozen with.
#ifndef NABLA_EXAMPLES_VARIABLE_VALUES_H_
#define NABLA_EXAMPLES_VARIABLE_VALUES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "nabla/nabla.h"

namespace nabla::examples {

// The values of `variables`, handles of the session's graph.
absl::StatusOr<std::vector<Tensor>> VariableValues(Session& session, const Outputs& variables);

}  // namespace nabla::examples

#endif  // NABLA_EXAMPLES_VARIABLE_VALUES_H_

#include "nabla/examples/variable_values.h"

namespace nabla::examples {

absl::StatusOr<std::vector<Tensor>> VariableValues(Session& session, const Outputs& variables) {
  const Scope scope(session.graph());
  Outputs reads;
  for (Output variable : variables) reads.push_back(ops::ReadVariable(scope, variable));
  std::vector<Tensor> values;
  NABLA_RETURN_IF_ERROR(scope.status());
  NABLA_RETURN_IF_ERROR(session.Run({}, reads, &values));
  return values;
}

}  // namespace nabla::examples

// The gradients that ys start with: those that the caller gave, checked, and ones for the rest.
#ifndef NABLA_GRADIENTS_GRAD_YS_H_
#define NABLA_GRADIENTS_GRAD_YS_H_

#include "absl/status/statusor.h"
#include "nabla/gradients/gradient.h"
#include "nabla/graph/scope.h"

namespace nabla {

// The incoming gradient of ys[i]: an Identity named "grad_ys_<i>" of `given`, or of its parts if it is slices; ones of
// y's shape if it is none. Integer ys may have integer gradients; complex ys must be given complex ones.
// Errors: InvalidArgument for a given gradient of another graph, dtype or shape, or where a given one is needed.
absl::StatusOr<Gradient> MakeGradY(const Scope& scope, Output y, const Gradient& given, int i);

}  // namespace nabla

#endif  // NABLA_GRADIENTS_GRAD_YS_H_

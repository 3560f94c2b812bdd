// Jacobians: the derivative of every element of a tensor by every element of others.
//
//   NABLA_ASSIGN_OR_RETURN(Outputs j, Jacobian(scope, y, {x}));  // j[0]: y.shape + x.shape
//
// All rows are computed at once: one backward graph is built for a cotangent of y, and then batched over the unit
// vectors (gradients/batching.h). Where an op on the way cannot be batched, there is a backward graph for each element
// of y instead; JacobianReport and a warning say which op that was.
#ifndef NABLA_GRADIENTS_JACOBIAN_H_
#define NABLA_GRADIENTS_JACOBIAN_H_

#include <string>

#include "absl/status/statusor.h"
#include "nabla/gradients/gradients.h"
#include "nabla/graph/scope.h"

namespace nabla {

struct JacobianReport {
  bool vectorized = false;
  // If not: why, "op X (node 'n') cannot be batched: …".
  std::string why_not;
};

struct JacobianOptions {
  // The name scope of what is appended.
  std::string name = "jacobian";
  // What an x gets on which y does not depend: none, or zeros of the Jacobian's shape.
  UnconnectedGradients unconnected = UnconnectedGradients::kNone;
  // Tensors to treat as constants.
  Outputs stop_gradients;
  // false: one backward graph for each element of y.
  bool vectorize = true;
  JacobianReport* report = nullptr;  // filled in if given
};

// For each x the tensor of shape y.shape + x.shape with dy[i...] / dx[j...] at [i..., j...], dense. An x may be the
// handle of a variable. Shapes may be unknown, save that without batching the size of y must be static. Complex tensors
// have gradients as Gradients() has them. Errors: those of Gradients(); InvalidArgument for a y that is not floating or
// complex; Unimplemented if neither way is possible. Thread safety: locks the graph.
absl::StatusOr<Outputs> Jacobian(const Scope& scope, Output y, const Outputs& xs, const JacobianOptions& options = {});

// For y [b, n...] and x [b, m...] of which each row y[r] depends on x[r] alone, as is so of a batch of examples: the
// tensor [b, n..., m...] of the rows' Jacobians. It takes only the n... cotangents that are the same in each row; where
// rows do depend on others' x, the result is the sum of these derivatives. Errors as for Jacobian, and InvalidArgument
// for a scalar or first dimensions that differ.
absl::StatusOr<Output> BatchJacobian(const Scope& scope, Output y, Output x, const JacobianOptions& options = {});

}  // namespace nabla

#endif  // NABLA_GRADIENTS_JACOBIAN_H_

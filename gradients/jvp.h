// Forward mode: products of the Jacobian with a tangent.
//
//   NABLA_ASSIGN_OR_RETURN(Outputs dy, Jvp(scope, {y}, {x}, {t}));  // dy[0] = (dy/dx) t, of y's shape
//
// The ops between xs and ys are visited from xs forwards, and each gives the tangents of its outputs for those of its
// inputs, by its forward rule (gradients/forward_rule.h) or else by its gradient rule, transposed. One pass costs about
// as much as the values themselves, and needs none of them to be kept.
#ifndef NABLA_GRADIENTS_JVP_H_
#define NABLA_GRADIENTS_JVP_H_

#include <string>

#include "absl/status/statusor.h"
#include "nabla/gradients/gradients.h"
#include "nabla/graph/scope.h"

namespace nabla {

struct JvpOptions {
  // The name scope of what is appended.
  std::string name = "jvp";
  // What a y gets that depends on no x: none, or zeros.
  UnconnectedGradients unconnected = UnconnectedGradients::kNone;
  // Tensors to treat as constants.
  Outputs stop_gradients;
};

// J t: for each y, of its shape and dtype, the sum over xs of dy/dx times that x's tangent. One tangent per x, of its
// shape and dtype (for the handle of a variable, its value's), or none for zero. It is the transpose of Gradients():
// the same ops are differentiated in the same way, and an x that depends on another x adds its own tangent to what
// comes from there. Errors: InvalidArgument for arguments that do not fit; NotFound for an op without rule on the way;
// what a rule refuses. Thread safety: locks the graph.
absl::StatusOr<Outputs> Jvp(const Scope& scope, const Outputs& ys, const Outputs& xs, const Outputs& tangents,
                            const JvpOptions& options = {});

}  // namespace nabla

#endif  // NABLA_GRADIENTS_JVP_H_

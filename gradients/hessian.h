// Second derivatives.
//
//   NABLA_ASSIGN_OR_RETURN(Outputs h, Hessians(scope, {loss}, {w}));  // h[0]: w.shape + w.shape
#ifndef NABLA_GRADIENTS_HESSIAN_H_
#define NABLA_GRADIENTS_HESSIAN_H_

#include <vector>

#include "absl/status/statusor.h"
#include "nabla/gradients/gradients.h"
#include "nabla/gradients/jacobian.h"
#include "nabla/graph/scope.h"

namespace nabla {

// H v, without H: for each x, the sum over the vs of d²(sum of ys) / dx dx' times v', x' being the x of that v. One v
// per x, of its shape and dtype, or none for zero. Dense; none (or zeros, by options.unconnected) where the gradient
// does not depend on x. Costs about two gradients (B. Pearlmutter, Fast exact multiplication by the Hessian, 1994); the
// vs are constants. `options.grad_ys` weighs the ys. Errors as for Gradients().
absl::StatusOr<Outputs> HessianVectorProduct(const Scope& scope, const Outputs& ys, const Outputs& xs,
                                             const Outputs& vs, const GradientOptions& options = {});

// For each x the Hessian of the sum of ys: d² / dx[i...] dx[j...] at [i..., j...], of shape x.shape + x.shape, dense.
// It is the Jacobian of the gradient, and computed at once. None (or zeros, by options.unconnected) where ys depend on
// x linearly or not at all. Errors as for Jacobian().
absl::StatusOr<Outputs> Hessians(const Scope& scope, const Outputs& ys, const Outputs& xs,
                                 const JacobianOptions& options = {.name = "hessian"});

// The Hessian over all xs together, by blocks: [a][b] has d² / dxs[a][i...] dxs[b][j...]. Otherwise as Hessians().
absl::StatusOr<std::vector<Outputs>> HessianBlocks(const Scope& scope, const Outputs& ys, const Outputs& xs,
                                                   const JacobianOptions& options = {.name = "hessian"});

}  // namespace nabla

#endif  // NABLA_GRADIENTS_HESSIAN_H_

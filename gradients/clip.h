// Keeping gradients small. Each function appends nodes; IndexedSlices are clipped by their values and stay slices (rows
// that occur several times count as they are: sum them first if their sum is meant), none stays none.
//
//   for (VariableGradient& g : gradients) g.gradient = ClipByNorm(scope, g.gradient, 1.0);
//
// Numbers are TensorFlow's. Differentiable like everything else.
#ifndef NABLA_GRADIENTS_CLIP_H_
#define NABLA_GRADIENTS_CLIP_H_

#include <vector>

#include "nabla/gradients/gradient.h"
#include "nabla/graph/scope.h"

namespace nabla {

// Every element brought into [low, high] (scalars, or of a shape that broadcasts).
Gradient ClipByValue(const Scope& scope, const Gradient& gradient, Input low, Input high);

// gradient clip_norm / max(norm, clip_norm), where norm is the square root of the sum of squares over `axes`, all axes
// by default: the gradient itself where it is no longer than clip_norm (a scalar > 0).
Gradient ClipByNorm(const Scope& scope, const Gradient& gradient, Input clip_norm,
                    const std::vector<int64_t>& axes = {});

// The norm of all gradients taken together, a scalar: the square root of the sum of all squares. None ones do not
// count; none if all are.
Output GlobalNorm(const Scope& scope, const Grads& gradients);

// All gradients times clip_norm / max(norm, clip_norm), where norm is their global norm; NaN if that is not finite.
// `use_norm`, if given, stands for the global norm.
struct ClippedGradients {
  Grads gradients;
  Output global_norm;
};
ClippedGradients ClipByGlobalNorm(const Scope& scope, const Grads& gradients, Input clip_norm, Output use_norm = {});

}  // namespace nabla

#endif  // NABLA_GRADIENTS_CLIP_H_

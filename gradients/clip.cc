#include "nabla/gradients/clip.h"

#include "nabla/gradients/rule_util.h"
#include "nabla/ops/ops.h"

namespace nabla {
namespace {

// The elements of a gradient that is not none.
Output ValuesOf(const Gradient& gradient) { return gradient.is_dense() ? gradient.dense() : gradient.slices().values; }

// The gradient with other elements.
Gradient WithValues(const Gradient& gradient, Output values) {
  if (gradient.is_dense()) return values;
  IndexedSlices slices = gradient.slices();
  slices.values = values;
  return slices;
}

// A number as a scalar of that dtype.
Output ScalarOf(const Scope& scope, const Input& value, DType dtype) {
  if (value.is_constant()) return ops::Const(scope, value, dtype);
  const Output output = value.output();
  return output && output.dtype() != dtype ? ops::Cast(scope, output, dtype) : output;
}

}  // namespace

Gradient ClipByValue(const Scope& parent, const Gradient& gradient, Input low, Input high) {
  if (gradient.none() || !parent.ok()) return gradient;
  const Scope scope = parent.Sub("clip_by_value");
  return WithValues(gradient, ops::Maximum(scope, ops::Minimum(scope, ValuesOf(gradient), high), low));
}

Gradient ClipByNorm(const Scope& parent, const Gradient& gradient, Input clip_norm, const std::vector<int64_t>& axes) {
  if (gradient.none() || !parent.ok()) return gradient;
  const Scope scope = parent.Sub("clip_by_norm");
  const ScopeGuard guard(scope);
  const Output x = ValuesOf(gradient);
  const Output limit = ScalarOf(scope, clip_norm, x.dtype());
  const Input over = axes.empty() ? AllAxes(scope, x) : Input(axes);
  const Output squares = ops::Sum(scope, ops::Square(scope, x), over, {.keep_dims = true});
  // The square root of 0 has no finite derivative: it is taken of 1 instead, and not used.
  const Output positive = squares > 0.0;
  const Output safe = ops::SelectV2(scope, positive, squares, ops::OnesLike(scope, squares));
  const Output norm = ops::SelectV2(scope, positive, ops::Sqrt(scope, safe), squares);
  return WithValues(gradient, x * limit / ops::Maximum(scope, norm, limit));
}

Output GlobalNorm(const Scope& parent, const Grads& gradients) {
  const Scope scope = parent.Sub("global_norm");
  const ScopeGuard guard(scope);
  Inputs halves;
  for (const Gradient& gradient : gradients) {
    if (!gradient.none()) halves.push_back(ops::L2Loss(scope, ValuesOf(gradient)));
  }
  if (halves.empty()) return Output();
  const Output sum = halves.size() == 1 ? halves[0].output() : ops::AddN(scope, halves);
  return ops::Sqrt(scope.Named("global_norm"), sum * 2);
}

ClippedGradients ClipByGlobalNorm(const Scope& parent, const Grads& gradients, Input clip_norm, Output use_norm) {
  ClippedGradients clipped = {gradients, use_norm ? use_norm : GlobalNorm(parent, gradients)};
  if (!clipped.global_norm || !parent.ok()) return clipped;
  const Scope scope = parent.Sub("clip_by_global_norm");
  const ScopeGuard guard(scope);
  const Output norm = clipped.global_norm;
  const Output limit = ScalarOf(scope, clip_norm, norm.dtype());
  // Infinity less infinity: one gradient that is not finite makes all NaN.
  const Output scale = limit * ops::Minimum(scope, 1 / norm, 1 / limit) + (norm - norm);
  for (Gradient& gradient : clipped.gradients) {
    if (gradient.none()) continue;
    const Output values = ValuesOf(gradient);
    gradient = WithValues(gradient, values * ScalarOf(scope, scale, values.dtype()));
  }
  return clipped;
}

}  // namespace nabla

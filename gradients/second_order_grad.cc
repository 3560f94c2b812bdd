// Gradients of the ops that other rules emit, so that gradients can be
// differentiated again.
#include "nabla/gradients/registration.h"
#include "nabla/gradients/rule_util.h"

namespace nabla {
namespace {

// dy (1 - y^2)
Grads TanhGradGrad(RuleContext& c) {
  const Scope& scope = c.scope();
  Output y = Conjugate(scope, c.input(0)), dy = Conjugate(scope, c.input(1)), g = c.grad(0);
  return {g * -2 * dy * y, ops::TanhGrad(scope, y, g)};
}

// dy y (1 - y)
Grads SigmoidGradGrad(RuleContext& c) {
  const Scope& scope = c.scope();
  Output y = Conjugate(scope, c.input(0)), g = c.grad(0);
  Output g_dy = g * Conjugate(scope, c.input(1));
  return {g_dy - 2 * g_dy * y, ops::SigmoidGrad(scope, y, g)};
}

// The next three ops, unlike those above, conjugate y themselves. What is holomorphic in conj(y) with the derivative d
// has the gradient conj(g) * d for y.

// dy / (2 conj(y))
Grads SqrtGradGrad(RuleContext& c) {
  Output g_over_y = c.grad(0) / c.input(0);
  return {-Conjugate(c.scope(), g_over_y) * c.output(0), 0.5 * g_over_y};
}

// -dy conj(y)^3 / 2
Grads RsqrtGradGrad(RuleContext& c) {
  const Scope& scope = c.scope();
  Output conj_y = Conjugate(scope, c.input(0)), dy = c.input(1), g = c.grad(0);
  return {-1.5 * Conjugate(scope, g) * dy * ops::Square(scope, conj_y), ops::RsqrtGrad(scope, conj_y, g)};
}

// -dy conj(y)^2
Grads ReciprocalGradGrad(RuleContext& c) {
  const Scope& scope = c.scope();
  Output conj_y = Conjugate(scope, c.input(0)), dy = c.input(1), g = c.grad(0);
  return {-2 * Conjugate(scope, g) * dy * conj_y, ops::ReciprocalGrad(scope, conj_y, g)};
}

// Piecewise linear: the second argument only chooses the piece.
Grads ReluGradGrad(RuleContext& c) {
  return {ops::ReluGrad(c.scope(), c.grad(0), c.input(1)), ops::ZerosLike(c.scope(), c.input(1))};
}

Grads Relu6GradGrad(RuleContext& c) {
  return {ops::Relu6Grad(c.scope(), c.grad(0), c.input(1)), ops::ZerosLike(c.scope(), c.input(1))};
}

Grads LeakyReluGradGrad(RuleContext& c) {
  return {ops::LeakyReluGrad(c.scope(), c.grad(0), c.input(1), {.alpha = c.attr<float>("alpha")}),
          ops::ZerosLike(c.scope(), c.input(1))};
}

// dy (y + 1) where y < 0, else dy: linear in both there.
Grads EluGradGrad(RuleContext& c) {
  Output y = c.input(1);
  return {ops::EluGrad(c.scope(), c.grad(0), y), ops::SelectV2(c.scope(), y < 0, c.grad(0) * c.input(0), 0)};
}

Grads SeluGradGrad(RuleContext& c) {
  Output y = c.input(1);
  return {ops::SeluGrad(c.scope(), c.grad(0), y), ops::SelectV2(c.scope(), y < 0, c.grad(0) * c.input(0), 0)};
}

// dy sigmoid(x)
Grads SoftplusGradGrad(RuleContext& c) {
  const Scope& scope = c.scope();
  Output dy = c.input(0), x = c.input(1), g = c.grad(0);
  Output d_sigmoid = ops::SigmoidGrad(scope, ops::Sigmoid(scope, x), g * dy);
  return {ops::SoftplusGrad(scope, g, x), d_sigmoid};
}

// dy / (1 + |x|)^2
Grads SoftsignGradGrad(RuleContext& c) {
  const Scope& scope = c.scope();
  Output dy = c.input(0), x = c.input(1);
  Output d_dy = ops::SoftsignGrad(scope, c.grad(0), x);
  return {d_dy, -2 * d_dy * dy * ops::Sign(scope, x) / (1 + ops::Abs(scope, x))};
}

}  // namespace

void RegisterSecondOrderGradients(GradientRegistry& registry) {
  registry.Add("EluGrad", EluGradGrad);
  registry.Add("InvGrad", ReciprocalGradGrad);
  registry.Add("LeakyReluGrad", LeakyReluGradGrad);
  registry.Add("ReciprocalGrad", ReciprocalGradGrad);
  registry.Add("Relu6Grad", Relu6GradGrad);
  registry.Add("ReluGrad", ReluGradGrad);
  registry.Add("RsqrtGrad", RsqrtGradGrad);
  registry.Add("SeluGrad", SeluGradGrad);
  registry.Add("SigmoidGrad", SigmoidGradGrad);
  registry.Add("SoftplusGrad", SoftplusGradGrad);
  registry.Add("SoftsignGrad", SoftsignGradGrad);
  registry.Add("SqrtGrad", SqrtGradGrad);
  registry.Add("TanhGrad", TanhGradGrad);
}

}  // namespace nabla

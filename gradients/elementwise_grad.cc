// Gradients of elementwise ops. Complex ones follow the convention that the
// gradient of a holomorphic f is dy * conj(f'(x)).
#include <cmath>

#include "nabla/gradients/registration.h"
#include "nabla/gradients/rule_util.h"

namespace nabla {
namespace {

Grads NegGrad(RuleContext& c) { return {-c.grad(0)}; }

Grads ReciprocalGrad(RuleContext& c) { return {ops::ReciprocalGrad(c.scope(), c.output(0), c.grad(0))}; }

Grads SquareGrad(RuleContext& c) { return {c.grad(0) * (Conjugate(c.scope(), c.input(0)) * 2)}; }

Grads SqrtGrad(RuleContext& c) { return {ops::SqrtGrad(c.scope(), c.output(0), c.grad(0))}; }

Grads RsqrtGrad(RuleContext& c) { return {ops::RsqrtGrad(c.scope(), c.output(0), c.grad(0))}; }

Grads ExpGrad(RuleContext& c) { return {c.grad(0) * Conjugate(c.scope(), c.output(0))}; }

Grads Expm1Grad(RuleContext& c) { return {c.grad(0) * ops::Exp(c.scope(), Conjugate(c.scope(), c.input(0)))}; }

Grads LogGrad(RuleContext& c) { return {c.grad(0) / Conjugate(c.scope(), c.input(0))}; }

Grads Log1pGrad(RuleContext& c) { return {c.grad(0) / (1 + Conjugate(c.scope(), c.input(0)))}; }

Grads SinGrad(RuleContext& c) { return {c.grad(0) * ops::Cos(c.scope(), Conjugate(c.scope(), c.input(0)))}; }

Grads CosGrad(RuleContext& c) { return {-c.grad(0) * ops::Sin(c.scope(), Conjugate(c.scope(), c.input(0)))}; }

Grads TanGrad(RuleContext& c) {
  // 1 / cos^2, from the input rather than 1 + tan^2: no cancellation near the
  // poles.
  Output cosine = ops::Cos(c.scope(), Conjugate(c.scope(), c.input(0)));
  return {c.grad(0) / ops::Square(c.scope(), cosine)};
}

Grads TanhGrad(RuleContext& c) { return {ops::TanhGrad(c.scope(), Conjugate(c.scope(), c.output(0)), c.grad(0))}; }

Grads SigmoidGrad(RuleContext& c) {
  return {ops::SigmoidGrad(c.scope(), Conjugate(c.scope(), c.output(0)), c.grad(0))};
}

Grads ReluGrad(RuleContext& c) { return {ops::ReluGrad(c.scope(), c.grad(0), c.output(0))}; }

Grads Relu6Grad(RuleContext& c) { return {ops::Relu6Grad(c.scope(), c.grad(0), c.output(0))}; }

Grads LeakyReluGrad(RuleContext& c) {
  return {ops::LeakyReluGrad(c.scope(), c.grad(0), c.input(0), {.alpha = c.attr<float>("alpha")})};
}

Grads EluGrad(RuleContext& c) { return {ops::EluGrad(c.scope(), c.grad(0), c.output(0))}; }

Grads SeluGrad(RuleContext& c) { return {ops::SeluGrad(c.scope(), c.grad(0), c.output(0))}; }

Grads SoftplusGrad(RuleContext& c) { return {ops::SoftplusGrad(c.scope(), c.grad(0), c.input(0))}; }

Grads SoftsignGrad(RuleContext& c) { return {ops::SoftsignGrad(c.scope(), c.grad(0), c.input(0))}; }

Grads ErfGrad(RuleContext& c) {
  return {c.grad(0) * (M_2_SQRTPI * ops::Exp(c.scope(), -ops::Square(c.scope(), c.input(0))))};
}

Grads ErfcGrad(RuleContext& c) {
  return {c.grad(0) * (-M_2_SQRTPI * ops::Exp(c.scope(), -ops::Square(c.scope(), c.input(0))))};
}

Grads AbsGrad(RuleContext& c) { return {c.grad(0) * ops::Sign(c.scope(), c.input(0))}; }

Grads SignGrad(RuleContext& c) { return {ops::ZerosLike(c.scope(), c.input(0))}; }

Grads ConjGrad(RuleContext& c) { return {ops::Conj(c.scope(), c.grad(0))}; }

Grads RealGrad(RuleContext& c) {
  return {ops::Complex(c.scope(), c.grad(0), 0.0, {.Tout = BaseDType(c.input(0).dtype())})};
}

Grads ImagGrad(RuleContext& c) {
  return {ops::Complex(c.scope(), 0.0, c.grad(0), {.Tout = BaseDType(c.input(0).dtype())})};
}

Grads CastGrad(RuleContext& c) {
  DType from = BaseDType(c.input(0).dtype());
  DType to = BaseDType(c.output(0).dtype());
  auto differentiable = [](DType t) { return IsFloating(t) || IsComplex(t); };
  if (!differentiable(from) || !differentiable(to)) return {Gradient()};
  return {ops::Cast(c.scope(), c.grad(0), from)};
}

// ---- two arguments: gradients of the output's shape; the engine sums them
// down ----

Grads AddGrad(RuleContext& c) { return {c.grad(0), c.grad(0)}; }

Grads SubGrad(RuleContext& c) {
  Output dy = c.grad(0);
  return {dy, c.needs_input_grad(1) ? -dy : Output()};
}

Grads MulGrad(RuleContext& c) {
  Output dy = c.grad(0);
  Grads grads(2);
  if (c.needs_input_grad(0)) grads[0] = dy * Conjugate(c.scope(), c.input(1));
  if (c.needs_input_grad(1)) grads[1] = Conjugate(c.scope(), c.input(0)) * dy;
  return grads;
}

Grads MulNoNanGrad(RuleContext& c) {
  return {ops::MulNoNan(c.scope(), c.grad(0), c.input(1)), ops::MulNoNan(c.scope(), c.input(0), c.grad(0))};
}

// z = x / y: dz/dy = -(x / y) / y = -z / y.
Grads DivGrad(RuleContext& c) {
  Output dx = c.grad(0) / Conjugate(c.scope(), c.input(1));
  Grads grads = {dx, Gradient()};
  if (c.needs_input_grad(1)) grads[1] = -dx * Conjugate(c.scope(), c.output(0));
  return grads;
}

Grads DivNoNanGrad(RuleContext& c) {
  Output dx = ops::DivNoNan(c.scope(), c.grad(0), Conjugate(c.scope(), c.input(1)));
  Grads grads = {dx, Gradient()};
  if (c.needs_input_grad(1)) grads[1] = -dx * Conjugate(c.scope(), c.output(0));
  return grads;
}

// x - floor(x / y) * y
Grads FloorModGrad(RuleContext& c) {
  Grads grads = {c.grad(0), Gradient()};
  if (c.needs_input_grad(1)) {
    grads[1] = c.grad(0) * -ops::FloorDiv(c.scope(), c.input(0), c.input(1));
  }
  return grads;
}

Grads PowGrad(RuleContext& c) {
  const Scope& scope = c.scope();
  Output x = c.input(0), y = c.input(1), dz = c.grad(0);
  Output conj_x = Conjugate(scope, x), conj_y = Conjugate(scope, y);
  Grads grads(2);
  if (c.needs_input_grad(0)) grads[0] = dz * (conj_y * ops::Pow(scope, conj_x, conj_y - 1));
  if (c.needs_input_grad(1)) {
    // The logarithm is taken of 1 where it is not defined, so that neither it
    // nor its own gradient is NaN there.
    Output defined = IsComplex(x.dtype()) ? ops::NotEqual(scope, conj_x, 0) : conj_x > 0;
    Output log_x = ops::Log(scope, ops::SelectV2(scope, defined, conj_x, 1));
    grads[1] = dz * (Conjugate(scope, c.output(0)) * log_x);
  }
  return grads;
}

Grads SelectWinner(RuleContext& c, Output first_wins) {
  Grads grads(2);
  if (c.needs_input_grad(0)) grads[0] = ops::SelectV2(c.scope(), first_wins, c.grad(0), 0);
  if (c.needs_input_grad(1)) grads[1] = ops::SelectV2(c.scope(), first_wins, 0, c.grad(0));
  return grads;
}

// A tie goes to the first argument.
Grads MaximumGrad(RuleContext& c) { return SelectWinner(c, c.input(0) >= c.input(1)); }

Grads MinimumGrad(RuleContext& c) { return SelectWinner(c, c.input(0) <= c.input(1)); }

// |x - y|^2 where complex, so nothing is conjugated.
Grads SquaredDifferenceGrad(RuleContext& c) {
  Output dx = c.grad(0) * 2 * (c.input(0) - c.input(1));
  return {dx, c.needs_input_grad(1) ? -dx : Output()};
}

// x log y, 0 where x is 0.
Grads XlogyGrad(RuleContext& c) {
  const Scope& scope = c.scope();
  Output x = c.input(0), y = c.input(1), dz = c.grad(0);
  Output x_not_zero = ops::Cast(scope, ops::NotEqual(scope, x, 0), x.dtype());
  return {dz * ops::Xlogy(scope, x_not_zero, y), dz * ops::Xdivy(scope, x, y)};
}

// x / y, 0 where x is 0.
Grads XdivyGrad(RuleContext& c) {
  const Scope& scope = c.scope();
  Output x = c.input(0), y = c.input(1), dz = c.grad(0);
  Output x_not_zero = ops::Cast(scope, ops::NotEqual(scope, x, 0), x.dtype());
  return {dz * ops::Xdivy(scope, x_not_zero, y), dz * ops::Xdivy(scope, -x, ops::Square(scope, y))};
}

Grads ComplexGrad(RuleContext& c) {
  return {ops::Real(c.scope(), c.grad(0), {.Tout = c.input(0).dtype()}),
          ops::Imag(c.scope(), c.grad(0), {.Tout = c.input(1).dtype()})};
}

Grads SelectV2Grad(RuleContext& c) {
  Grads grads(3);
  if (c.needs_input_grad(1)) grads[1] = ops::SelectV2(c.scope(), c.input(0), c.grad(0), 0);
  if (c.needs_input_grad(2)) grads[2] = ops::SelectV2(c.scope(), c.input(0), 0, c.grad(0));
  return grads;
}

// Select's condition may be a vector of rows, which does not broadcast NumPy's
// way: both sides are full tensors.
Grads SelectGrad(RuleContext& c) {
  Output zeros = ops::ZerosLike(c.scope(), c.input(1));
  return {Gradient(), ops::Select(c.scope(), c.input(0), c.grad(0), zeros),
          ops::Select(c.scope(), c.input(0), zeros, c.grad(0))};
}

}  // namespace

void RegisterElementwiseGradients(GradientRegistry& registry) {
  registry.Elementwise("Abs", AbsGrad);
  registry.Elementwise("Cast", CastGrad);
  registry.Elementwise("Conj", ConjGrad);
  registry.Elementwise("Cos", CosGrad);
  registry.Elementwise("Elu", EluGrad);
  registry.Elementwise("Erf", ErfGrad);
  registry.Elementwise("Erfc", ErfcGrad);
  registry.Elementwise("Exp", ExpGrad);
  registry.Elementwise("Expm1", Expm1Grad);
  registry.Elementwise("Imag", ImagGrad);
  registry.Elementwise("Inv", ReciprocalGrad);
  registry.Elementwise("LeakyRelu", LeakyReluGrad);
  registry.Elementwise("Log", LogGrad);
  registry.Elementwise("Log1p", Log1pGrad);
  registry.Elementwise("Neg", NegGrad);
  registry.Elementwise("Real", RealGrad);
  registry.Elementwise("Reciprocal", ReciprocalGrad);
  registry.Elementwise("Relu", ReluGrad);
  registry.Elementwise("Relu6", Relu6Grad);
  registry.Elementwise("Rsqrt", RsqrtGrad);
  registry.Add("Select", SelectGrad);
  registry.Elementwise("Selu", SeluGrad);
  registry.Elementwise("Sigmoid", SigmoidGrad);
  registry.Elementwise("Sign", SignGrad);
  registry.Elementwise("Sin", SinGrad);
  registry.Elementwise("Softplus", SoftplusGrad);
  registry.Elementwise("Softsign", SoftsignGrad);
  registry.Elementwise("Sqrt", SqrtGrad);
  registry.Elementwise("Square", SquareGrad);
  registry.Elementwise("Tan", TanGrad);
  registry.Elementwise("Tanh", TanhGrad);

  registry.Broadcasting("Add", AddGrad);
  registry.Broadcasting("AddV2", AddGrad);
  registry.Broadcasting("Complex", ComplexGrad);
  registry.Broadcasting("Div", DivGrad);
  registry.Broadcasting("DivNoNan", DivNoNanGrad);
  registry.Broadcasting("FloorMod", FloorModGrad);
  registry.Broadcasting("Maximum", MaximumGrad);
  registry.Broadcasting("Minimum", MinimumGrad);
  registry.Broadcasting("Mul", MulGrad);
  registry.Broadcasting("MulNoNan", MulNoNanGrad);
  registry.Broadcasting("Pow", PowGrad);
  registry.Broadcasting("RealDiv", DivGrad);
  registry.Broadcasting("SelectV2", SelectV2Grad);
  registry.Broadcasting("SquaredDifference", SquaredDifferenceGrad);
  registry.Broadcasting("Sub", SubGrad);
  registry.Broadcasting("Xdivy", XdivyGrad);
  registry.Broadcasting("Xlogy", XlogyGrad);

  // Piecewise constant.
  registry.NotDifferentiable({"Ceil", "Floor", "FloorDiv", "Rint", "Round"});
  registry.NotDifferentiable({"Equal", "NotEqual", "ApproximateEqual", "Less", "LessEqual", "Greater", "GreaterEqual",
                              "LogicalAnd", "LogicalOr", "LogicalNot", "IsNan", "IsInf", "IsFinite", "Bitcast"});
}

}  // namespace nabla

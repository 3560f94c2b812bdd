// Batching of ops that work element by element: their axes do not matter, only that operands line up.
#include "nabla/gradients/batching.h"
#include "nabla/ops/ops.h"

namespace nabla {
namespace {

// What passes its inputs on needs no op.
std::vector<Batched> BatchPassThrough(BatchingContext& c) {
  std::vector<Batched> outputs;
  for (int i = 0; i < c.num_inputs(); ++i) outputs.push_back(c.whole_input(i));
  return outputs;
}

std::vector<Batched> BatchUnary(BatchingContext& c) { return c.Copy({c.input(0)}); }

std::vector<Batched> BatchBroadcasting(BatchingContext& c) {
  Outputs operands;
  for (int i = 0; i < c.num_inputs(); ++i) operands.push_back(c.Aligned(i));
  return c.Copy(operands);
}

// Equal and NotEqual, which may be told to give one bool for operands that do not fit each other: that would be one for
// each example.
std::vector<Batched> BatchEquality(BatchingContext& c) {
  const bool fit = c.example(0).IsFullyDefined() && c.example(1).IsFullyDefined() &&
                   BroadcastShapes(c.example(0), c.example(1)).ok();
  if (!c.attr<bool>("incompatible_shape_error") && !fit) {
    return c.Decline("its operands' shapes may be incompatible");
  }
  return BatchBroadcasting(c);
}

// Operands of one shape, which the op does not broadcast.
std::vector<Batched> BatchSameShape(BatchingContext& c) {
  Outputs operands;
  for (int i = 0; i < c.num_inputs(); ++i) operands.push_back(c.Expanded(i));
  return c.Copy(operands);
}

// f(a, b), linear in the operand number `kLinear`: if only that one is batched, the other's part of the work is done
// once, f(a, 1) being the factor.
template <int kLinear>
std::vector<Batched> BatchLinear(BatchingContext& c) {
  const int other = 1 - kLinear;
  if (c.batched(other)) return BatchSameShape(c);
  Outputs operands(2);
  operands[other] = c.input(other);
  operands[kLinear] = ops::OnesLike(c.scope(), c.input(other));
  const std::vector<Batched> factor = c.Copy(operands);
  if (factor.empty()) return {};
  return {ops::Mul(c.scope(), c.input(kLinear), factor[0].value)};
}

// The gradient where `passes` says so, exactly 0 elsewhere, even where it is infinite.
std::vector<Batched> BatchGate(BatchingContext& c, Output (*passes)(const Scope& scope, Output features)) {
  if (c.batched(1)) return BatchSameShape(c);
  return {ops::SelectV2(c.scope(), passes(c.scope(), c.input(1)), c.input(0), 0)};
}

std::vector<Batched> BatchReluGrad(BatchingContext& c) {
  return BatchGate(c, [](const Scope& scope, Output x) -> Output { return ops::Greater(scope, x, 0); });
}

std::vector<Batched> BatchRelu6Grad(BatchingContext& c) {
  return BatchGate(c, [](const Scope& scope, Output x) -> Output {
    return ops::LogicalAnd(scope, ops::Greater(scope, x, 0), ops::Less(scope, x, 6));
  });
}

// What all examples share is added up apart from what is each one's own.
std::vector<Batched> BatchAddN(BatchingContext& c) {
  Inputs own, shared;
  for (int i = 0; i < c.num_inputs(); ++i) (c.batched(i) ? own : shared).push_back(c.input(i));
  const auto sum = [&](const Inputs& terms) {
    return terms.size() == 1 ? terms[0].output() : ops::AddN(c.scope(), terms);
  };
  if (shared.empty()) return {sum(own)};
  return {ops::AddV2(c.scope(), sum(own), sum(shared))};
}

// ---- loops and conditionals (loop variables aside, which Batch() sees to) ----

std::vector<Batched> BatchSwitch(BatchingContext& c) {
  if (c.batched(1)) return c.Decline("the way taken differs from example to example");
  return c.Copy({c.input(0), c.input(1)});
}

std::vector<Batched> BatchMerge(BatchingContext& c) {
  Outputs inputs;
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (!c.batched(i) && c.input(i).dtype() == DType::kVariant) return c.Decline("a list would have to be repeated");
    inputs.push_back(c.Expanded(i));
  }
  std::vector<Batched> outputs = c.Copy(inputs);
  if (outputs.size() == 2) outputs[1].has_batch_axis = false;  // which input it was
  return outputs;
}

// The condition may be a scalar, a vector that chooses rows, or of the operands' shape; SelectV2 takes all of them with
// as many dimensions of size 1 behind as the operands have more.
std::vector<Batched> BatchSelect(BatchingContext& c) {
  const Scope& scope = c.scope();
  Output condition = c.input(0);
  const int rank = c.example(1).has_rank() ? c.example(1).rank() : c.example(2).rank();
  if (c.example(0).has_rank() && rank != kUnknownRank) {
    for (int i = c.example(0).rank(); i < rank; ++i) condition = ops::ExpandDims(scope, condition, -1);
  } else {
    const Output operand = c.batched(1) ? c.input(1) : c.input(2);
    Output missing = ops::Sub(scope, ops::Rank(scope, operand), ops::Rank(scope, condition));
    const int operand_axes = c.batched(1) || c.batched(2) ? 1 : 0, condition_axes = c.batched(0) ? 1 : 0;
    missing = ops::Sub(scope, missing, operand_axes - condition_axes);
    const Output ones = ops::Fill(scope, ops::ExpandDims(scope, missing, 0), ops::Const(scope, 1, DType::kInt32));
    condition = ops::Reshape(scope, condition, ops::ConcatV2(scope, {ops::Shape(scope, condition), ones}, 0));
  }
  return {ops::SelectV2(scope, condition, c.input(1), c.input(2))};
}

}  // namespace

void RegisterElementwiseBatching(BatchingRegistry& registry) {
  registry.Add({"Identity", "IdentityN", "Snapshot", "GuaranteeConst"}, BatchPassThrough);
  registry.Add({"Abs",          "Bitcast",    "Cast",     "Ceil",      "CheckNumerics",
                "Conj",         "Cos",        "Elu",      "Erf",       "Erfc",
                "Exp",          "Expm1",      "Floor",    "Imag",      "Inv",
                "IsFinite",     "IsInf",      "IsNan",    "LeakyRelu", "Log",
                "Log1p",        "LogicalNot", "Neg",      "OnesLike",  "PreventGradient",
                "Real",         "Reciprocal", "Relu",     "Relu6",     "Rint",
                "Round",        "Rsqrt",      "Selu",     "Sigmoid",   "Sign",
                "Sin",          "Softplus",   "Softsign", "Sqrt",      "Square",
                "StopGradient", "Tan",        "Tanh",     "ZerosLike"},
               BatchUnary);
  registry.Add(
      {"Add",          "AddV2", "Complex",   "Div",        "DivNoNan",          "FloorDiv", "FloorMod", "Greater",
       "GreaterEqual", "Less",  "LessEqual", "LogicalAnd", "LogicalOr",         "Maximum",  "Minimum",  "Mul",
       "MulNoNan",     "Pow",   "RealDiv",   "SelectV2",   "SquaredDifference", "Sub",      "Xdivy",    "Xlogy"},
      BatchBroadcasting);
  registry.Add({"Equal", "NotEqual"}, BatchEquality);
  registry.Add("ApproximateEqual", BatchSameShape);
  registry.Add({"EluGrad", "LeakyReluGrad", "SeluGrad", "SoftplusGrad", "SoftsignGrad"}, BatchLinear<0>);
  registry.Add({"InvGrad", "ReciprocalGrad", "RsqrtGrad", "SigmoidGrad", "SqrtGrad", "TanhGrad"}, BatchLinear<1>);
  registry.Add({"Enter", "Exit", "NextIteration"}, BatchUnary);
  registry.Add("Merge", BatchMerge);
  registry.Add("Switch", BatchSwitch);
  registry.Add("ReluGrad", BatchReluGrad);
  registry.Add("Relu6Grad", BatchRelu6Grad);
  registry.Add({"AccumulateNV2", "AddN"}, BatchAddN);
  registry.Add("Select", BatchSelect);
}

}  // namespace nabla

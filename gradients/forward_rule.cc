#include "nabla/gradients/forward_rule.h"

#include "nabla/gradients/apply_rule.h"
#include "nabla/gradients/between.h"
#include "nabla/gradients/rule_util.h"
#include "nabla/gradients/transform_util.h"
#include "nabla/ops/ops.h"

namespace nabla {

Output ForwardContext::TangentOrZeros(int i) const {
  return tangents_[i] ? tangents_[i] : ops::ZerosLike(scope_, input(i));
}

Outputs ForwardContext::Copy(const Outputs& inputs) const {
  Node* const copy = CopyOp(scope_, op_, inputs);
  Outputs outputs;
  for (int i = 0; copy != nullptr && i < copy->num_outputs(); ++i) outputs.push_back(copy->output(i));
  return outputs;
}

Outputs ForwardContext::Inputs() const {
  Outputs inputs;
  for (int i = 0; i < num_inputs(); ++i) inputs.push_back(input(i));
  return inputs;
}

ForwardRegistry& ForwardRegistry::Global() {
  static auto* const registry = new ForwardRegistry();
  return *registry;
}

namespace {

// Lists of tensors change with their elements.
bool CanChange(Output tensor) { return IsBackpropagatable(tensor.dtype()) && tensor.dtype() != DType::kResource; }

Output Sum(const Scope& scope, const Outputs& terms) {
  if (terms.size() < 2) return terms.empty() ? Output() : terms[0];
  return ops::AddN(scope, Inputs(terms.begin(), terms.end()));
}

// Ops that hand their inputs on.
Outputs PassThrough(ForwardContext& c) {
  Outputs tangents;
  for (int i = 0; i < c.op()->num_outputs(); ++i) tangents.push_back(c.tangent(i));
  return tangents;
}

// Linear in one input: f(t).
template <int kInput>
Outputs Linear(ForwardContext& c) {
  if (!c.tangent(kInput)) return {};
  Outputs inputs = c.Inputs();
  inputs[kInput] = c.tangent(kInput);
  return c.Copy(inputs);
}

// Linear in all floating inputs together: f(ta, tb).
Outputs JointlyLinear(ForwardContext& c) {
  Outputs inputs = c.Inputs();
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (CanChange(inputs[i])) inputs[i] = c.TangentOrZeros(i);
  }
  return c.Copy(inputs);
}

// Linear in each of its inputs: f(ta, b) + f(a, tb).
Outputs Multilinear(ForwardContext& c) {
  Outputs terms;
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (!c.tangent(i)) continue;
    Outputs inputs = c.Inputs();
    inputs[i] = c.tangent(i);
    for (Output term : c.Copy(inputs)) terms.push_back(term);
  }
  return {Sum(c.scope(), terms)};
}

// ---- sums: what does not change has no part in them ----

Outputs AddNForward(ForwardContext& c) {
  Outputs terms;
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (c.tangent(i)) terms.push_back(c.tangent(i));
  }
  return {Sum(c.scope(), terms)};
}

Outputs AddForward(ForwardContext& c) {
  const Output a = c.tangent(0), b = c.tangent(1);
  if (a && b) return c.Copy({a, b});
  return {BroadcastLike(c.scope(), a ? a : b, c.output(0))};
}

Outputs SubForward(ForwardContext& c) {
  const Output a = c.tangent(0), b = c.tangent(1);
  if (a && b) return c.Copy({a, b});
  return {BroadcastLike(c.scope(), a ? a : ops::Neg(c.scope(), b), c.output(0))};
}

Outputs BiasAddForward(ForwardContext& c) {
  if (!c.tangent(1)) return {c.tangent(0)};
  return c.Copy({c.TangentOrZeros(0), c.tangent(1)});
}

// ---- element by element ----

// The Jacobian by each (broadcast) operand is diagonal, so that the gradient rule, given the operand's tangent instead
// of the output's cotangent, gives the output's tangent. Complex numbers would need conjugates around it.
Outputs Elementwise(ForwardContext& c) {
  const GradientRegistry::Entry* const entry = FindGradientRule(*c.op());
  Outputs terms;
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (!c.tangent(i)) continue;
    const Output tangent = c.num_inputs() == 1 ? c.tangent(i) : BroadcastLike(c.scope(), c.tangent(i), c.output(0));
    RuleContext context(c.scope(), c.op(), {tangent});
    std::vector<bool> needed(c.num_inputs());
    needed[i] = true;
    context.set_needed(needed);
    const Grads grads = entry->rule(context);
    if (static_cast<int>(grads.size()) == c.num_inputs() && grads[i].is_dense()) terms.push_back(grads[i].dense());
  }
  return {Sum(c.scope(), terms)};
}

// ---- variables: the tangent of a handle is that of the value ----

Outputs ResourceGatherForward(ForwardContext& c) {
  return {ops::GatherV2(c.scope(), c.tangent(0), c.input(1), 0, {.batch_dims = c.attr<int64_t>("batch_dims")})};
}

Outputs ResourceGatherNdForward(ForwardContext& c) { return {ops::GatherNd(c.scope(), c.tangent(0), c.input(1))}; }

}  // namespace

void RegisterAllForward(ForwardRegistry& registry) {
  registry.Add(
      {"GuaranteeConst", "Identity", "IdentityN", "PlaceholderWithDefault", "Print", "ReadVariableOp", "Snapshot"},
      PassThrough);
  registry.Add({"BiasAddGrad",  "BroadcastTo", "Cast",       "CheckNumerics", "Conj",     "ConjugateTranspose",
                "Cumsum",       "EnsureShape", "ExpandDims", "Gather",        "GatherNd", "GatherV2",
                "Imag",         "Mean",        "Neg",        "Pad",           "Real",     "Reshape",
                "Reverse",      "ReverseV2",   "SegmentSum", "Slice",         "SplitV",   "Squeeze",
                "StridedSlice", "Sum",         "Tile",       "Transpose",     "Unpack",   "UnsortedSegmentSum"},
               Linear<0>);
  registry.Add({"Enter", "Exit", "NextIteration", "Switch"}, Linear<0>);
  registry.Add({"Merge"}, JointlyLinear);  // of a conditional; the walk sees to those of loops
  registry.Add({"Fill", "ScatterNd", "Split"}, Linear<1>);
  registry.Add({"StridedSliceGrad"}, Linear<4>);
  registry.Add({"Complex", "Concat", "ConcatV2", "Pack", "PadV2", "Select", "SelectV2", "TensorScatterAdd",
                "TensorScatterSub", "TensorScatterUpdate"},
               JointlyLinear);
  // A list's tangent is the list of its elements' tangents (of elements that are integers, anything).
  registry.Add({"TensorListConcat", "TensorListConcatV2", "TensorListFromTensor", "TensorListGather",
                "TensorListGetItem", "TensorListPopBack", "TensorListResize", "TensorListScatter",
                "TensorListScatterV2", "TensorListSplit", "TensorListStack"},
               Linear<0>);
  registry.Add({"TensorListConcatLists", "TensorListPushBack", "TensorListPushBackBatch",
                "TensorListScatterIntoExistingList", "TensorListSetItem"},
               JointlyLinear);
  registry.Add({"BatchMatMul", "BatchMatMulV2", "MatMul", "Mul"}, Multilinear);
  registry.Add({"AccumulateNV2", "AddN"}, AddNForward);
  registry.Add({"Add", "AddV2"}, AddForward);
  registry.Add({"Sub"}, SubForward);
  registry.Add({"BiasAdd", "BiasAddV1"}, BiasAddForward);
  registry.AddReal({"Abs",          "Cos",           "Elu",
                    "Erf",          "Erfc",          "Exp",
                    "Expm1",        "Inv",           "LeakyRelu",
                    "Log",          "Log1p",         "Reciprocal",
                    "Relu",         "Relu6",         "Rsqrt",
                    "Selu",         "Sigmoid",       "Sin",
                    "Softplus",     "Softsign",      "Sqrt",
                    "Square",       "Tan",           "Tanh",
                    "Div",          "DivNoNan",      "FloorMod",
                    "Maximum",      "Minimum",       "MulNoNan",
                    "Pow",          "RealDiv",       "SquaredDifference",
                    "Xdivy",        "Xlogy",         "EluGrad",
                    "InvGrad",      "LeakyReluGrad", "ReciprocalGrad",
                    "Relu6Grad",    "ReluGrad",      "RsqrtGrad",
                    "SeluGrad",     "SigmoidGrad",   "SoftplusGrad",
                    "SoftsignGrad", "SqrtGrad",      "TanhGrad"},
                   Elementwise);
  registry.Add({"ResourceGather"}, ResourceGatherForward);
  registry.Add({"ResourceGatherNd"}, ResourceGatherNdForward);
}

}  // namespace nabla

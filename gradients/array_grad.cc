// Gradients of ops that move elements: identities, shapes, concatenation,
// slicing, padding.
#include "absl/strings/str_cat.h"
#include "nabla/gradients/registration.h"
#include "nabla/gradients/rule_util.h"
#include "nabla/gradients/unbroadcast.h"
#include "nabla/graph/constant_value.h"

namespace nabla {
namespace {

// Passes gradients on as they come, slices included; inputs without an output
// of their own (Print's data) get none.
Grads PassThrough(RuleContext& c) {
  Grads grads(c.num_inputs());
  for (int i = 0; i < c.num_outputs() && i < c.num_inputs(); ++i) grads[i] = c.gradient(i);
  return grads;
}

Grads PreventGradientGrad(RuleContext& c) {
  return c.Fail(
      absl::UnimplementedError(absl::StrCat("gradient explicitly disabled. Reason: ", c.attr<std::string>("message"))));
}

Grads CheckNumericsGrad(RuleContext& c) {
  return {ops::CheckNumerics(c.scope(), c.grad(0), c.attr<std::string>("message"))};
}

// The same elements under another shape.
Grads ReshapeGrad(RuleContext& c) {
  Grads grads(c.num_inputs());
  grads[0] = ReshapeLike(c.scope(), c.grad(0), c.input(0));
  return grads;
}

Grads TransposeGrad(RuleContext& c) {
  return {ops::Transpose(c.scope(), c.grad(0), ops::InvertPermutation(c.scope(), c.input(1))), Gradient()};
}

Grads ConjugateTransposeGrad(RuleContext& c) {
  Output inverse = ops::InvertPermutation(c.scope(), c.input(1));
  return {Conjugate(c.scope(), ops::Transpose(c.scope(), c.grad(0), inverse)), Gradient()};
}

// Repeats become axes of their own, which are summed away.
Grads TileGrad(RuleContext& c) {
  const Scope& scope = c.scope();
  Output x = c.input(0);
  Shape multiples = ConstantValueAsShape(c.input(1));
  if (multiples.IsFullyDefined() && x.shape().IsFullyDefined() && x.shape().rank() == multiples.rank()) {
    std::vector<int64_t> split, axes;
    for (int i = 0; i < x.shape().rank(); ++i) {
      if (multiples.dim(i) != 1) {
        axes.push_back(static_cast<int64_t>(split.size()));
        split.push_back(multiples.dim(i));
      }
      split.push_back(x.shape().dim(i));
    }
    if (axes.empty()) return {c.grad(0), Gradient()};
    return {ops::Sum(scope, ops::Reshape(scope, c.grad(0), split), axes), Gradient()};
  }
  DType index = c.input(1).dtype();
  Output pairs = ops::Pack(scope, {c.input(1), ops::Shape(scope, x, {.out_type = index})}, {.axis = 1});
  Output split = ops::Reshape(scope, pairs, {-1});
  Output axes = ops::Range(scope, 0, ops::Size(scope, split), 2);
  return {ReshapeLike(scope, ops::Sum(scope, ops::Reshape(scope, c.grad(0), split), axes), x), Gradient()};
}

Grads FillGrad(RuleContext& c) { return {Gradient(), SumAll(c.scope(), c.grad(0))}; }

Grads BroadcastToGrad(RuleContext& c) { return {UnbroadcastTo(c.scope(), c.grad(0), c.input(0)), Gradient()}; }

// ---- concatenation: `first` is the position of the first value among the
// inputs, `axis` that of the axis ----

Grads ConcatenationGrad(RuleContext& c, int first, int count, Output axis) {
  const Scope& scope = c.scope();
  Grads grads(c.num_inputs());
  if (count == 1) {
    grads[first] = c.grad(0);
    return grads;
  }
  absl::optional<Tensor> axis_value = ConstantValue(axis);
  int rank = c.output(0).shape().rank();
  std::vector<int64_t> sizes;
  if (axis_value && rank != kUnknownRank) {
    int64_t at = axis_value->dtype() == DType::kInt64 ? axis_value->scalar<int64_t>() : axis_value->scalar<int32_t>();
    if (at < 0) at += rank;
    for (int i = 0; i < count; ++i) {
      const Shape& shape = c.input(first + i).shape();
      if (shape.rank() == rank && shape.dim(static_cast<int>(at)) != kUnknownDim) {
        sizes.push_back(shape.dim(static_cast<int>(at)));
      }
    }
  }
  if (static_cast<int>(sizes.size()) == count) {
    Output axis32 = axis.dtype() == DType::kInt32 ? axis : ops::Cast(scope, axis, DType::kInt32);
    Outputs parts = ops::SplitV(scope, c.grad(0), sizes, axis32, count);
    for (int i = 0; i < count && i < static_cast<int>(parts.size()); ++i) grads[first + i] = parts[i];
    return grads;
  }
  Inputs values;
  for (int i = 0; i < count; ++i) values.push_back(c.input(first + i));
  Outputs shapes = ops::ShapeN(scope, values);
  Output axis32 = ops::Cast(scope, axis, DType::kInt32);
  // A negative axis counts from the end, which ConcatOffset does not do.
  Output wrapped = ops::FloorMod(scope, axis32, ops::Rank(scope, c.grad(0)));
  Outputs offsets = ops::ConcatOffset(scope, wrapped, Inputs(shapes.begin(), shapes.end()));
  for (int i = 0; i < count && i < static_cast<int>(offsets.size()); ++i) {
    if (c.needs_input_grad(first + i)) grads[first + i] = ops::Slice(scope, c.grad(0), offsets[i], shapes[i]);
  }
  return grads;
}

Grads ConcatGrad(RuleContext& c) { return ConcatenationGrad(c, 1, c.num_inputs() - 1, c.input(0)); }

Grads ConcatV2Grad(RuleContext& c) {
  int count = c.num_inputs() - 1;
  return ConcatenationGrad(c, 0, count, c.input(count));
}

Inputs AllGrads(RuleContext& c) {
  Inputs all;
  for (int i = 0; i < c.num_outputs(); ++i) all.push_back(c.grad(i));
  return all;
}

Grads PackGrad(RuleContext& c) {
  Outputs parts = ops::Unpack(c.scope(), c.grad(0), c.num_inputs(), {.axis = c.attr<int64_t>("axis")});
  return Grads(parts.begin(), parts.end());
}

Grads UnpackGrad(RuleContext& c) { return {ops::Pack(c.scope(), AllGrads(c), {.axis = c.attr<int64_t>("axis")})}; }

// A single part is not concatenated with anything.
Output JoinGrads(RuleContext& c, Output axis) {
  return c.num_outputs() == 1 ? c.grad(0) : ops::ConcatV2(c.scope(), AllGrads(c), axis);
}

Grads SplitGrad(RuleContext& c) { return {Gradient(), JoinGrads(c, c.input(0))}; }

Grads SplitVGrad(RuleContext& c) { return {JoinGrads(c, c.input(2)), Gradient(), Gradient()}; }

// ---- slices and padding ----

// Zeros around the slice's gradient.
Grads SliceGrad(RuleContext& c) {
  const Scope& scope = c.scope();
  Output x = c.input(0), begin = c.input(1), dy = c.grad(0);
  DType index = begin.dtype();
  Output before = begin;
  Output after =
      ops::Sub(scope, ops::Sub(scope, ShapeOperand(scope, x, index), ShapeOperand(scope, c.output(0), index)), begin);
  return {ops::Pad(scope, dy, ops::Pack(scope, {before, after}, {.axis = 1})), Gradient(), Gradient()};
}

Grads StridedSliceGradRule(RuleContext& c) {
  Output begin = c.input(1);
  Output dx = ops::StridedSliceGrad(c.scope(), ShapeOperand(c.scope(), c.input(0), begin.dtype()), begin, c.input(2),
                                    c.input(3), c.grad(0),
                                    {.begin_mask = c.attr<int64_t>("begin_mask"),
                                     .end_mask = c.attr<int64_t>("end_mask"),
                                     .ellipsis_mask = c.attr<int64_t>("ellipsis_mask"),
                                     .new_axis_mask = c.attr<int64_t>("new_axis_mask"),
                                     .shrink_axis_mask = c.attr<int64_t>("shrink_axis_mask")});
  return {dx, Gradient(), Gradient(), Gradient()};
}

Grads StridedSliceGradGrad(RuleContext& c) {
  Output ddy = ops::StridedSlice(c.scope(), c.grad(0), c.input(1), c.input(2), c.input(3),
                                 {.begin_mask = c.attr<int64_t>("begin_mask"),
                                  .end_mask = c.attr<int64_t>("end_mask"),
                                  .ellipsis_mask = c.attr<int64_t>("ellipsis_mask"),
                                  .new_axis_mask = c.attr<int64_t>("new_axis_mask"),
                                  .shrink_axis_mask = c.attr<int64_t>("shrink_axis_mask")});
  return {Gradient(), Gradient(), Gradient(), Gradient(), ddy};
}

// The part of dy that is not padding.
Output Unpadded(RuleContext& c) {
  const Scope& scope = c.scope();
  Output before = ops::StridedSlice(scope, c.input(1), {0, 0}, {0, 1}, {1, 1},
                                    {.begin_mask = 1, .end_mask = 1, .shrink_axis_mask = 2});
  return ops::Slice(scope, c.grad(0), before, ShapeOperand(scope, c.input(0), c.input(1).dtype()));
}

Grads PadGrad(RuleContext& c) { return {Unpadded(c), Gradient()}; }

Grads PadV2Grad(RuleContext& c) {
  Grads grads = {Unpadded(c), Gradient(), Gradient()};
  if (c.needs_input_grad(2)) {  // the padding value is everywhere else
    grads[2] = SumAll(c.scope(), c.grad(0)) - SumAll(c.scope(), grads[0].dense());
  }
  return grads;
}

Grads ReverseGrad(RuleContext& c) { return {ops::Reverse(c.scope(), c.grad(0), c.input(1)), Gradient()}; }

Grads ReverseV2Grad(RuleContext& c) { return {ops::ReverseV2(c.scope(), c.grad(0), c.input(1)), Gradient()}; }

}  // namespace

void RegisterArrayGradients(GradientRegistry& registry) {
  registry.Add("BroadcastTo", BroadcastToGrad);
  registry.Add("CheckNumerics", CheckNumericsGrad);
  registry.Add("Concat", ConcatGrad);
  registry.Add("ConcatV2", ConcatV2Grad);
  registry.Add("ConjugateTranspose", ConjugateTransposeGrad);
  registry.Add("EnsureShape", PassThrough);
  registry.Add("ExpandDims", ReshapeGrad);
  registry.Add("Fill", FillGrad);
  registry.Add("GuaranteeConst", PassThrough);
  registry.Add("Identity", PassThrough);
  registry.Add("IdentityN", PassThrough);
  registry.Add("Pack", PackGrad);
  registry.Add("Pad", PadGrad);
  registry.Add("PadV2", PadV2Grad);
  registry.Add("PlaceholderWithDefault", PassThrough);
  registry.Add("PreventGradient", PreventGradientGrad);
  registry.Add("Print", PassThrough);
  registry.Add("Reshape", ReshapeGrad);
  registry.Add("Reverse", ReverseGrad);
  registry.Add("ReverseV2", ReverseV2Grad);
  registry.Add("Slice", SliceGrad);
  registry.Add("Snapshot", PassThrough);
  registry.Add("Split", SplitGrad);
  registry.Add("SplitV", SplitVGrad);
  registry.Add("Squeeze", ReshapeGrad);
  registry.Add("StridedSlice", StridedSliceGradRule);
  registry.Add("StridedSliceGrad", StridedSliceGradGrad);
  registry.Add("Tile", TileGrad);
  registry.Add("Transpose", TransposeGrad);
  registry.Add("Unpack", UnpackGrad);
  registry.NotDifferentiable({"Assert", "BroadcastArgs", "BroadcastGradientArgs", "ConcatOffset", "Const",
                              "InvertPermutation", "NoOp", "OnesLike", "Placeholder", "PlaceholderV2", "PrintV2",
                              "Range", "Rank", "Shape", "ShapeN", "Size", "StopGradient", "ZerosLike"});
}

}  // namespace nabla

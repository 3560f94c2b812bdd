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

// Whether a reshape keeps the first dimension, so that rows stay rows.
bool KeepsRows(const Shape& x, const Shape& y) {
  if (x.rank() < 1 || y.rank() < 1) return false;
  if (x.dim(0) != kUnknownDim) return x.dim(0) == y.dim(0);
  Shape x_row = x, y_row = y;
  x_row.RemoveDim(0);
  y_row.RemoveDim(0);
  if (!x_row.IsFullyDefined() || !y_row.IsFullyDefined()) return false;
  return x_row.num_elements() > 0 && x_row.num_elements() == y_row.num_elements();
}

// The same elements under another shape.
Grads ReshapeGrad(RuleContext& c) {
  Grads grads(c.num_inputs());
  Shape rows = c.input(0).shape();
  if (c.gradient(0).is_slices() && KeepsRows(rows, c.output(0).shape())) {
    rows.RemoveDim(0);
    if (rows.IsFullyDefined() && rows.num_elements() > 0) {
      std::vector<int64_t> dims(rows.dims().begin(), rows.dims().end());
      dims.insert(dims.begin(), -1);
      IndexedSlices slices = c.gradient(0).slices();
      slices.values = ops::Reshape(c.scope(), slices.values, dims);
      slices.dense_shape = ShapeTensor(c.scope(), c.input(0));
      grads[0] = std::move(slices);
      return grads;
    }
  }
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
  registry.Elementwise("CheckNumerics", CheckNumericsGrad);
  registry.Add("ConjugateTranspose", ConjugateTransposeGrad);
  registry.Add("EnsureShape", PassThrough);
  registry.Add("ExpandDims", ReshapeGrad);
  registry.Add("Fill", FillGrad);
  registry.Add("GuaranteeConst", PassThrough);
  registry.Add("Identity", PassThrough);
  registry.Add("IdentityN", PassThrough);
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
  registry.Add("Squeeze", ReshapeGrad);
  registry.Add("StridedSlice", StridedSliceGradRule);
  registry.Add("StridedSliceGrad", StridedSliceGradGrad);
  registry.Add("Tile", TileGrad);
  registry.Add("Transpose", TransposeGrad);
  registry.NotDifferentiable({"Assert", "BroadcastArgs", "BroadcastGradientArgs", "ConcatOffset", "Const",
                              "InvertPermutation", "NoOp", "OnesLike", "Placeholder", "PlaceholderV2", "PrintV2",
                              "Range", "Rank", "Shape", "ShapeN", "Size", "StopGradient", "ZerosLike"});
}

}  // namespace nabla

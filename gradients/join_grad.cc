// Gradients of ops that join tensors and cut them apart: concatenation, packing, splitting.
#include <algorithm>

#include "nabla/gradients/registration.h"
#include "nabla/gradients/rule_util.h"
#include "nabla/graph/constant_value.h"

namespace nabla {
namespace {

// An axis as a nonnegative number, if the graph determines it and the rank is known.
absl::optional<int64_t> StaticAxis(Output axis, int rank) {
  absl::optional<Tensor> value = ConstantValue(axis);
  if (!value || rank == kUnknownRank) return absl::nullopt;
  const int64_t at = value->dtype() == DType::kInt64 ? value->scalar<int64_t>() : value->scalar<int32_t>();
  return at < 0 ? at + rank : at;
}

// ---- concatenation: `first` is the position of the first value among the inputs, `axis` that of the axis ----

// The gradient of the rows from `start` on of what was concatenated: those of the slices that lie in them.
IndexedSlices RowsFrom(const Scope& scope, const IndexedSlices& all, Output start, Output part) {
  IndexedSlices slices;
  slices.dense_shape = ShapeTensor(scope, part);
  Output size = ops::Cast(scope, Index(slices.dense_shape, 0), all.indices.dtype());
  Output indices = all.indices - start;
  Output inside = And(indices >= 0, indices < size);
  Output at = ops::Reshape(scope, ops::Where(scope, inside), {-1});
  slices.values = ops::GatherV2(scope, all.values, at, 0);
  slices.indices = ops::GatherV2(scope, indices, at, 0);
  return slices;
}

// The inputs' sizes along the axis, or fewer numbers than inputs if some are not static.
std::vector<int64_t> StaticSizes(RuleContext& c, int first, int count, int64_t axis) {
  std::vector<int64_t> sizes;
  const int rank = c.output(0).shape().rank();
  for (int i = 0; i < count; ++i) {
    const Shape& shape = c.input(first + i).shape();
    if (shape.rank() == rank && shape.dim(static_cast<int>(axis)) != kUnknownDim) {
      sizes.push_back(shape.dim(static_cast<int>(axis)));
    }
  }
  return sizes;
}

// Sparse gradients along the first axis are dealt out by index, along another one cut as the values are.
Grads SparseConcatenationGrad(RuleContext& c, int first, int count, int64_t axis) {
  const Scope& scope = c.scope();
  const IndexedSlices all = c.gradient(0).slices();
  Grads grads(c.num_inputs());
  if (axis == 0) {
    Output start = ops::Const(scope, 0, all.indices.dtype());
    for (int i = 0; i < count; ++i) {
      Output part = c.input(first + i);
      if (c.needs_input_grad(first + i)) grads[first + i] = RowsFrom(scope, all, start, part);
      if (i + 1 < count) start = start + ops::Cast(scope, Index(ShapeTensor(scope, part), 0), all.indices.dtype());
    }
    return grads;
  }
  Outputs parts = ops::SplitV(scope, all.values, StaticSizes(c, first, count, axis), axis, count);
  for (int i = 0; i < count && i < static_cast<int>(parts.size()); ++i) {
    grads[first + i] = IndexedSlices{parts[i], all.indices, ShapeTensor(scope, c.input(first + i))};
  }
  return grads;
}

Grads ConcatenationGrad(RuleContext& c, int first, int count, Output axis) {
  const Scope& scope = c.scope();
  Grads grads(c.num_inputs());
  if (count == 1) {
    grads[first] = c.gradient(0);
    return grads;
  }
  std::vector<int64_t> sizes;
  if (const absl::optional<int64_t> at = StaticAxis(axis, c.output(0).shape().rank())) {
    sizes = StaticSizes(c, first, count, *at);
    if (c.gradient(0).is_slices() && (*at == 0 || static_cast<int>(sizes.size()) == count)) {
      return SparseConcatenationGrad(c, first, count, *at);
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

// ---- several outputs: those without a gradient at the ends are padded with zeros, rather than joined as tensors of
// zeros ----

// The outputs from the first to the last one that has a gradient.
struct Span {
  int first = 0;
  int last = 0;
};

Span SpanOfGrads(RuleContext& c) {
  if (c.op()->output_dtype(0) == DType::kVariant) return {0, c.num_outputs() - 1};  // lists cannot be padded with
  Span span{c.num_outputs(), -1};
  for (int i = 0; i < c.num_outputs(); ++i) {
    if (!c.has_grad(i)) continue;
    span.first = std::min(span.first, i);
    span.last = i;
  }
  return span;
}

Inputs GradsOf(RuleContext& c, Span span) {
  Inputs grads;
  for (int i = span.first; i <= span.last; ++i) grads.push_back(c.grad(i));
  return grads;
}

// x, which has `rank` dimensions.
Output PadAxis(const Scope& scope, Output x, int rank, int axis, int64_t before, int64_t after) {
  if (!x || (before == 0 && after == 0)) return x;
  Tensor paddings(DType::kInt64, {rank, 2});
  std::fill_n(paddings.data<int64_t>(), paddings.num_elements(), 0);
  paddings.data<int64_t>()[2 * axis] = before;
  paddings.data<int64_t>()[2 * axis + 1] = after;
  return ops::Pad(scope, x, paddings);
}

Grads PackGrad(RuleContext& c) {
  Outputs parts = ops::Unpack(c.scope(), c.grad(0), c.num_inputs(), {.axis = c.attr<int64_t>("axis")});
  return Grads(parts.begin(), parts.end());
}

Grads UnpackGrad(RuleContext& c) {
  const int count = c.num_outputs();
  const int rank = c.input(0).shape().rank();
  int64_t axis = c.attr<int64_t>("axis");
  if (rank == kUnknownRank) {
    return {ops::Pack(c.scope(), GradsOf(c, {0, count - 1}), {.axis = axis})};
  }
  if (axis < 0) axis += rank;
  const Span span = SpanOfGrads(c);
  Output packed = ops::Pack(c.scope(), GradsOf(c, span), {.axis = axis});
  return {PadAxis(c.scope(), packed, rank, static_cast<int>(axis), span.first, count - 1 - span.last)};
}

// The sum of the sizes along the axis of the outputs in [begin, end), or -1 if one is unknown until the run.
int64_t SizeOfOutputs(RuleContext& c, int begin, int end, int axis) {
  int64_t size = 0;
  for (int i = begin; i < end; ++i) {
    const Shape& shape = c.output(i).shape();
    if (shape.rank() <= axis || shape.dim(axis) == kUnknownDim) return -1;
    size += shape.dim(axis);
  }
  return size;
}

// The gradients of parts of the input along `axis`, joined.
Output JoinGrads(RuleContext& c, Output axis) {
  const int count = c.num_outputs();
  if (count == 1) return c.grad(0);
  const absl::optional<int64_t> at = StaticAxis(axis, c.output(0).shape().rank());
  Span span = SpanOfGrads(c);
  int64_t before = -1, after = -1;
  if (at && *at >= 0 && c.output(0).shape().rank() > *at) {
    before = SizeOfOutputs(c, 0, span.first, static_cast<int>(*at));
    after = SizeOfOutputs(c, span.last + 1, count, static_cast<int>(*at));
  }
  if (before < 0 || after < 0) span = {0, count - 1};
  Inputs grads = GradsOf(c, span);
  Output joined = grads.size() == 1 ? grads[0].output() : ops::ConcatV2(c.scope(), grads, axis);
  if (span.last - span.first + 1 == count) return joined;
  return PadAxis(c.scope(), joined, c.output(0).shape().rank(), static_cast<int>(*at), before, after);
}

Grads SplitGrad(RuleContext& c) { return {Gradient(), JoinGrads(c, c.input(0))}; }

Grads SplitVGrad(RuleContext& c) { return {JoinGrads(c, c.input(2)), Gradient(), Gradient()}; }

}  // namespace

void RegisterJoinGradients(GradientRegistry& registry) {
  registry.Add("Concat", ConcatGrad);
  registry.Add("ConcatV2", ConcatV2Grad);
  registry.Add("Pack", PackGrad);
  registry.Add("Split", SplitGrad);
  registry.Add("SplitV", SplitVGrad);
  registry.Add("Unpack", UnpackGrad);
}

}  // namespace nabla

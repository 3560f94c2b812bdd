// Gradients of gathering and scattering. Along the first axis they are
// IndexedSlices: as large as what was gathered, not as what it was gathered
// from.
#include <algorithm>

#include "nabla/gradients/indexed_slices.h"
#include "nabla/gradients/registration.h"
#include "nabla/gradients/rule_util.h"
#include "nabla/graph/constant_value.h"
#include "nabla/graph/resource_handle.h"

namespace nabla {
namespace {

// The dimensions of params around the one that is gathered along.
struct GatheredAxis {
  Output outer, inner;  // before it and behind it: vectors
  Output depth;         // its own
  Output batch;         // the first batch_dims of outer
};

GatheredAxis StaticAxis(const Scope& scope, Output shape, int rank, int axis, int batch_dims) {
  return {SliceRows(shape, 0, axis),
          axis + 1 == rank ? ops::Const(scope, Tensor(DType::kInt32, {0})) : SliceRows(shape, axis + 1, rank),
          Index(shape, axis), SliceRows(shape, 0, batch_dims)};
}

// Where the axis, or a rank that it counts from, is known at run time only.
GatheredAxis DynamicAxis(const Scope& scope, Output shape, Output indices, Output axis, int64_t batch_dims) {
  const auto slice = [&](Output begin, Output end) {
    return ops::StridedSlice(scope, shape, ops::Reshape(scope, begin, {1}), ops::Reshape(scope, end, {1}),
                             Tensor::Vector<int32_t>({1}));
  };
  Output zero = ops::Const(scope, 0, DType::kInt32), rank = ops::Size(scope, shape);
  Output at = ops::Reshape(scope, ops::Cast(scope, axis, DType::kInt32), std::vector<int64_t>{});
  at = ops::FloorMod(scope, at, rank);
  Output batch_end = ops::Const(scope, static_cast<int32_t>(batch_dims), DType::kInt32);
  if (batch_dims < 0) batch_end = ops::Rank(scope, indices) + batch_end;
  return {slice(zero, at), slice(at + 1, rank), ops::GatherV2(scope, shape, at, 0), slice(zero, batch_end)};
}

// Along another axis than the first, or with batch dimensions: dy is brought to [everything before the axis, indices,
// rest] and added up by one segment sum whose segment ids count through the dimensions before the axis.
Output GatheredAlongAxis(const Scope& scope, Output params_shape, Output indices, Output dy, const GatheredAxis& axis) {
  Output outer = ops::Prod(scope, axis.outer, {0});
  // How many outer positions, and how many indices each of them has. Nothing is left for Reshape to work out: it could
  // not where one of them is 0.
  Output batch = ops::Prod(scope, axis.batch, {0});
  Output batch_or_one = ops::Maximum(scope, batch, 1);
  Output each = ops::FloorDiv(scope, ops::Size(scope, indices), batch_or_one);
  Output flat_indices =
      ops::Cast(scope, ops::Reshape(scope, indices, ops::Pack(scope, {batch, 1, each})), DType::kInt64);
  Output repeats = ops::FloorDiv(scope, outer, batch_or_one);
  Output tiled = ops::Tile(scope, flat_indices, ops::Pack(scope, {1, repeats, 1}));
  Output by_outer = ops::Reshape(scope, tiled, ops::Pack(scope, {outer, each}));
  Output depth64 = ops::Cast(scope, axis.depth, DType::kInt64);
  Output outer64 = ops::Cast(scope, outer, DType::kInt64);
  Output positions =
      ops::Range(scope, ops::Const(scope, 0, DType::kInt64), outer64, ops::Const(scope, 1, DType::kInt64));
  Output offsets = ops::ExpandDims(scope, positions, -1) * depth64;
  Output segment_ids = ops::Reshape(scope, by_outer + offsets, {-1});
  Output rows = ops::ExpandDims(scope, ops::Size(scope, segment_ids), 0);
  Output values = ops::Reshape(scope, dy, ops::ConcatV2(scope, {rows, axis.inner}, 0));
  Output sums = ops::UnsortedSegmentSum(scope, values, segment_ids, outer64 * depth64);
  return ops::Reshape(scope, sums, params_shape);
}

Gradient GatheredRows(RuleContext& c) {
  return GatheredSlices(c.scope(), ShapeTensor(c.scope(), c.input(0)), c.input(1), c.gradient(0));
}

Grads GatherGrad(RuleContext& c) { return {GatheredRows(c), Gradient()}; }

Grads GatherV2Grad(RuleContext& c) {
  const Scope& scope = c.scope();
  Output params = c.input(0), indices = c.input(1);
  int64_t batch_dims = c.attr<int64_t>("batch_dims");
  int rank = params.shape().rank();
  absl::optional<Tensor> axis_value = ConstantValue(c.input(2));
  absl::optional<int64_t> axis;
  if (axis_value) {
    axis = axis_value->dtype() == DType::kInt64 ? axis_value->scalar<int64_t>() : axis_value->scalar<int32_t>();
    if (*axis < 0 && rank != kUnknownRank) *axis += rank;
  }
  if (batch_dims < 0 && indices.shape().has_rank()) batch_dims += indices.shape().rank();
  if (axis == 0 && batch_dims == 0) {
    return {GatheredRows(c), Gradient(), Gradient()};
  }
  Output shape = ShapeTensor(scope, params);
  GatheredAxis at = axis && rank != kUnknownRank && batch_dims >= 0
                        ? StaticAxis(scope, shape, rank, static_cast<int>(*axis), static_cast<int>(batch_dims))
                        : DynamicAxis(scope, shape, indices, c.input(2), batch_dims);
  return {GatheredAlongAxis(scope, shape, indices, c.grad(0), at), Gradient(), Gradient()};
}

// The shape of the variable behind a handle.
Output VariableShape(RuleContext& c) {
  Shape shape = FindResource(c.input(0)).shape;
  return shape.IsFullyDefined() ? ops::Const(c.scope(), Input(shape)) : ops::VariableShape(c.scope(), c.input(0));
}

// Gathers along the axis behind the batch dimensions.
Grads ResourceGatherGrad(RuleContext& c) {
  const Scope& scope = c.scope();
  Output shape = VariableShape(c), indices = c.input(1);
  int64_t batch_dims = c.attr<int64_t>("batch_dims");
  if (batch_dims < 0 && indices.shape().has_rank()) batch_dims += indices.shape().rank();
  if (batch_dims == 0) return {GatheredSlices(scope, shape, indices, c.gradient(0)), Gradient()};
  const int rank = FindResource(c.input(0)).shape.rank();
  if (rank != kUnknownRank && batch_dims > 0) {
    const int axis = static_cast<int>(batch_dims);
    return {GatheredAlongAxis(scope, shape, indices, c.grad(0), StaticAxis(scope, shape, rank, axis, axis)),
            Gradient()};
  }
  Output axis = ops::Const(scope, static_cast<int32_t>(batch_dims), DType::kInt32);
  if (batch_dims < 0) axis = ops::Rank(scope, indices) + axis;
  return {GatheredAlongAxis(scope, shape, indices, c.grad(0), DynamicAxis(scope, shape, indices, axis, batch_dims)),
          Gradient()};
}

Grads ResourceGatherNdGrad(RuleContext& c) {
  Output shape = ops::Cast(c.scope(), VariableShape(c), c.input(1).dtype());
  return {ops::ScatterNd(c.scope(), c.input(1), c.grad(0), shape), Gradient()};
}

Grads GatherNdGrad(RuleContext& c) {
  const Scope& scope = c.scope();
  Output params = c.input(0), indices = c.input(1);
  if (indices.shape().rank() == 2 && indices.shape().dim(1) == 1) {  // single rows
    Output rows = ops::Squeeze(scope, indices, {.squeeze_dims = {-1}});
    return {GatheredSlices(scope, ShapeTensor(scope, params), rows, c.gradient(0)), Gradient()};
  }
  return {ops::ScatterNd(scope, indices, c.grad(0), ShapeOperand(scope, params, indices.dtype())), Gradient()};
}

Grads ScatterNdGrad(RuleContext& c) {
  return {Gradient(), ops::GatherNd(c.scope(), c.grad(0), c.input(0)), Gradient()};
}

Grads TensorScatterUpdateGrad(RuleContext& c) {
  const Scope& scope = c.scope();
  Output zeros = ops::ZerosLike(scope, c.input(2));
  return {ops::TensorScatterUpdate(scope, c.grad(0), c.input(1), zeros), Gradient(),
          ops::GatherNd(scope, c.grad(0), c.input(1))};
}

Grads TensorScatterAddGrad(RuleContext& c) {
  return {c.grad(0), Gradient(), ops::GatherNd(c.scope(), c.grad(0), c.input(1))};
}

Grads TensorScatterSubGrad(RuleContext& c) {
  return {c.grad(0), Gradient(), -ops::GatherNd(c.scope(), c.grad(0), c.input(1))};
}

// dy with a row of zeros behind it.
Output WithZeroRow(const Scope& scope, Output dy) {
  if (dy.shape().has_rank()) {
    Tensor paddings(DType::kInt32, {dy.shape().rank(), 2});
    std::fill_n(paddings.data<int32_t>(), paddings.num_elements(), 0);
    paddings.data<int32_t>()[1] = 1;
    return ops::Pad(scope, dy, paddings);
  }
  Output shape = ops::Pack(scope, {ops::Rank(scope, dy), Input(2)});
  Output paddings = ops::ScatterNd(scope, Tensor::Of<int32_t>({1, 2}, {0, 1}), Tensor::Vector<int32_t>({1}), shape);
  return ops::Pad(scope, dy, paddings);
}

// Each element gets its segment's gradient; those with a negative id belong to none and get zero.
Grads UnsortedSegmentSumGrad(RuleContext& c) {
  const Scope& scope = c.scope();
  Output ids = c.input(1), dy = c.grad(0);
  if (dy && dy.shape().rank() > 0 && dy.shape().dim(0) == 0) {
    return {ops::ZerosLike(scope, c.input(0)), Gradient(), Gradient()};
  }
  const int data_rank = c.input(0).shape().rank(), ids_rank = ids.shape().rank();
  if (dy && dy.shape().rank() > 0 && dy.shape().dim(0) > 0 && data_rank != kUnknownRank && ids_rank != kUnknownRank) {
    Output gathered = ops::GatherV2(scope, dy, ops::Maximum(scope, ids, 0), 0);
    Output belongs = ids >= 0;
    for (int i = ids_rank; i < data_rank; ++i) belongs = ops::ExpandDims(scope, belongs, -1);
    return {ops::SelectV2(scope, belongs, gathered, 0), Gradient(), Gradient()};
  }
  // There may be no segment to gather from.
  Output count = ops::Cast(scope, c.input(2), ids.dtype());
  Output rows = ops::SelectV2(scope, ids >= 0, ids, count);
  return {ops::GatherV2(scope, WithZeroRow(scope, dy), rows, 0), Gradient(), Gradient()};
}

Grads SegmentSumGrad(RuleContext& c) { return {ops::GatherV2(c.scope(), c.grad(0), c.input(1), 0), Gradient()}; }

}  // namespace

void RegisterGatherGradients(GradientRegistry& registry) {
  registry.Add("Gather", GatherGrad);
  registry.Add("GatherNd", GatherNdGrad);
  registry.Add("GatherV2", GatherV2Grad);
  registry.Add("ResourceGather", ResourceGatherGrad);
  registry.Add("ResourceGatherNd", ResourceGatherNdGrad);
  registry.Add("ScatterNd", ScatterNdGrad);
  registry.Add("SegmentSum", SegmentSumGrad);
  registry.Add("TensorScatterAdd", TensorScatterAddGrad);
  registry.Add("TensorScatterSub", TensorScatterSubGrad);
  registry.Add("TensorScatterUpdate", TensorScatterUpdateGrad);
  registry.Add("UnsortedSegmentSum", UnsortedSegmentSumGrad);
  registry.NotDifferentiable({"OneHot", "Where", "Unique", "UniqueV2"});
}

}  // namespace nabla

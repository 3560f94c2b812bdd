// Gradients of reductions, scans and sums of several tensors.
#include <algorithm>
#include <numeric>

#include "absl/types/optional.h"
#include "nabla/gradients/registration.h"
#include "nabla/gradients/rule_util.h"
#include "nabla/graph/constant_value.h"

namespace nabla {
namespace {

// The reduced axes, nonnegative, sorted, each once; nullopt unless the axes are
// constant and the rank is known.
absl::optional<std::vector<int64_t>> StaticAxes(Node* reduction) {
  const Shape& shape = reduction->input(0).shape();
  absl::optional<Tensor> axes = ConstantValue(reduction->input(1));
  if (!shape.has_rank() || !axes) return absl::nullopt;
  std::vector<int64_t> result;
  for (int64_t i = 0; i < axes->num_elements(); ++i) {
    int64_t axis = axes->dtype() == DType::kInt64 ? axes->data<int64_t>()[i] : axes->data<int32_t>()[i];
    result.push_back(axis < 0 ? axis + shape.rank() : axis);
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

// The input's shape with 1 for each reduced dimension, at run time.
Output KeptShape(RuleContext& c) {
  const Scope& scope = c.scope();
  Output shape = ops::Shape(scope, c.input(0));
  Output axes = ops::Reshape(scope, ops::Cast(scope, c.input(1), DType::kInt32), {-1});
  Output rank = ops::Size(scope, shape);
  Output wrapped = ops::FloorMod(scope, axes + rank,
                                 rank);  // negative ones count from the end
  return ops::TensorScatterUpdate(scope, shape, ops::ExpandDims(scope, wrapped, -1),
                                  ops::Fill(scope, ops::Shape(scope, wrapped), ops::Const(scope, 1, DType::kInt32)));
}

// A value of the reduction's output shape, reshaped so that it broadcasts
// against the input: with a dimension of size 1 for each reduced one, save
// where broadcasting supplies it anyway (leading axes).
Output AlignWithInput(RuleContext& c, Output value) {
  const Scope& scope = c.scope();
  if (c.attr<bool>("keep_dims") || value.shape().IsScalar()) return value;
  absl::optional<std::vector<int64_t>> axes = StaticAxes(c.op());
  if (!axes) return ops::Reshape(scope, value, KeptShape(c));
  if (axes->empty() || axes->back() == static_cast<int64_t>(axes->size()) - 1) return value;
  if (axes->size() == 1) return ops::ExpandDims(scope, value, static_cast<int>(axes->front()));
  Shape kept = c.input(0).shape();
  for (int64_t axis : *axes) kept.set_dim(static_cast<int>(axis), 1);
  int unknown = static_cast<int>(std::count(kept.dims().begin(), kept.dims().end(), kUnknownDim));
  bool empty = std::count(kept.dims().begin(), kept.dims().end(), 0) > 0;
  if (unknown == 0 || (unknown == 1 && !empty)) return ops::Reshape(scope, value, kept);
  return ops::Reshape(scope, value, KeptShape(c));
}

// A sparse gradient, divided and spread over the axes that were summed away: still as sparse, if the first is not one
// of them.
absl::optional<IndexedSlices> SpreadRows(RuleContext& c, double divisor) {
  if (!c.gradient(0).is_slices()) return absl::nullopt;
  absl::optional<std::vector<int64_t>> axes = StaticAxes(c.op());
  if (!axes || (!axes->empty() && axes->front() == 0)) return absl::nullopt;
  const Scope& scope = c.scope();
  IndexedSlices slices = c.gradient(0).slices();
  if (divisor != 1) slices.values = slices.values / divisor;
  if (!c.attr<bool>("keep_dims")) {
    for (int64_t axis : *axes) slices.values = ops::ExpandDims(scope, slices.values, static_cast<int>(axis));
  }
  if (!slices.values) return absl::nullopt;  // its error is recorded
  slices.dense_shape = ShapeTensor(scope, c.input(0));
  Shape rows = c.input(0).shape();
  rows.set_dim(0, slices.values.shape().has_rank() ? slices.values.shape().dim(0) : kUnknownDim);
  if (rows.IsFullyDefined()) {
    slices.values = ops::BroadcastTo(scope, slices.values, rows);
  } else {
    Output count = SliceRows(ops::Shape(scope, slices.values), 0, 1);
    Output row_shape = SliceRows(slices.dense_shape, 1, INT64_MAX);
    slices.values = ops::BroadcastTo(scope, slices.values, ops::ConcatV2(scope, {count, row_shape}, 0));
  }
  return slices;
}

Grads SumGrad(RuleContext& c) {
  if (absl::optional<IndexedSlices> rows = SpreadRows(c, 1)) return {*rows, Gradient()};
  return {BroadcastLike(c.scope(), AlignWithInput(c, c.grad(0)), c.input(0)), Gradient()};
}

// How many elements each mean was taken over, where static; else 0.
int64_t StaticMeanCount(RuleContext& c) {
  absl::optional<std::vector<int64_t>> axes = StaticAxes(c.op());
  if (!axes) return 0;
  int64_t count = 1;
  for (int64_t axis : *axes) {
    int64_t dim = c.input(0).shape().dim(static_cast<int>(axis));
    if (dim == kUnknownDim) return 0;
    count *= dim;
  }
  return std::max<int64_t>(count, 1);  // of nothing: the gradient is empty
}

Grads MeanGrad(RuleContext& c) {
  const Scope& scope = c.scope();
  const int64_t count = StaticMeanCount(c);
  if (count > 0) {
    if (absl::optional<IndexedSlices> rows = SpreadRows(c, static_cast<double>(count))) return {*rows, Gradient()};
  }
  Output dy = c.grad(0), scaled;
  if (count > 0) {
    scaled = count == 1 ? dy : dy / static_cast<double>(count);
  } else {
    Output per_mean = ops::Size(scope, c.input(0), {.out_type = DType::kInt64}) /
                      ops::Maximum(scope, ops::Size(scope, c.output(0), {.out_type = DType::kInt64}), 1);
    // Of nothing, the gradient is empty; of zero elements per mean, dividing by
    // 1 keeps it finite.
    scaled = dy / ops::Cast(scope, ops::Maximum(scope, per_mean, 1), dy.dtype());
  }
  return {BroadcastLike(scope, AlignWithInput(c, scaled), c.input(0)), Gradient()};
}

// Shared evenly by all elements that attain the extremum.
Grads MaxGrad(RuleContext& c) {
  const Scope& scope = c.scope();
  Output x = c.input(0);
  Output attained = ops::Cast(scope, ops::Equal(scope, x, AlignWithInput(c, c.output(0))), x.dtype());
  Output count = ops::Sum(scope, attained, c.input(1), {.keep_dims = c.attr<bool>("keep_dims")});
  return {attained * AlignWithInput(c, c.grad(0) / count), Gradient()};
}

// For each element the product of those before and behind it along an axis: right where elements are zero, too.
Output ProductOfOthers(const Scope& scope, Output x, int axis) {
  Output before = ops::Cumprod(scope, x, axis, {.exclusive = true});
  Output after = ops::Cumprod(scope, x, axis, {.exclusive = true, .reverse = true});
  return Conjugate(scope, before) * Conjugate(scope, after);
}

Grads ProdGrad(RuleContext& c) {
  const Scope& scope = c.scope();
  Output x = c.input(0);
  absl::optional<std::vector<int64_t>> static_axes = StaticAxes(c.op());
  if (static_axes && static_axes->size() == 1) {
    Output others = ProductOfOthers(scope, x, static_cast<int>(static_axes->front()));
    return {others * AlignWithInput(c, c.grad(0)), Gradient()};
  }
  if (static_axes && static_cast<int>(static_axes->size()) == x.shape().rank()) {
    Output others = ProductOfOthers(scope, ops::Reshape(scope, x, {-1}), 0);
    return {ReshapeLike(scope, others, x) * AlignWithInput(c, c.grad(0)), Gradient()};
  }
  // The reduced axes to the front, as one; the others behind, as one.
  Output rank = ops::Rank(scope, x);
  Output axes = ops::Reshape(scope, ops::Cast(scope, c.input(1), DType::kInt32), {-1});
  Output wrapped = ops::FloorMod(scope, axes + rank, rank);
  Output all = ops::Range(scope, 0, rank, 1);
  Output is_reduced =
      ops::TensorScatterUpdate(scope, ops::ZerosLike(scope, all), ops::ExpandDims(scope, wrapped, -1),
                               ops::Fill(scope, ops::Shape(scope, wrapped), ops::Const(scope, 1, DType::kInt32)));
  auto where = [&](int value) {
    return ops::Cast(scope, ops::Reshape(scope, ops::Where(scope, ops::Equal(scope, is_reduced, value)), {-1}),
                     DType::kInt32);
  };
  Output reduced = where(1), kept = where(0);
  Output permutation = ops::ConcatV2(scope, {reduced, kept}, 0);
  Output permuted = ops::Transpose(scope, x, permutation);
  Output shape = ops::Shape(scope, x);
  Output reduced_size = ops::Prod(scope, ops::GatherV2(scope, shape, reduced, 0), 0);
  Output kept_size = ops::Prod(scope, ops::GatherV2(scope, shape, kept, 0), 0);
  Output matrix = ops::Reshape(scope, permuted, ops::Pack(scope, {reduced_size, kept_size}));
  Output others =
      ops::Transpose(scope, ops::Reshape(scope, ProductOfOthers(scope, matrix, 0), ops::Shape(scope, permuted)),
                     ops::InvertPermutation(scope, permutation));
  return {ReshapeLike(scope, others * AlignWithInput(c, c.grad(0)), x), Gradient()};
}

Grads CumsumGrad(RuleContext& c) {
  return {ops::Cumsum(c.scope(), c.grad(0), c.input(1),
                      {.exclusive = c.attr<bool>("exclusive"), .reverse = !c.attr<bool>("reverse")}),
          Gradient()};
}

// Of y[k] = x[0] … x[k], the sum over k of dy[k] y[k] is divided by x[i]. Where x[i] is the first zero, the products
// are taken without it instead; behind that zero, and where x[i] is another, they are all zero.
Grads CumprodGrad(RuleContext& c) {
  const Scope& scope = c.scope();
  const bool exclusive = c.attr<bool>("exclusive"), reverse = c.attr<bool>("reverse");
  Output x = c.input(0), axis = c.input(1), dy = c.grad(0);
  auto sums = [&](Output products) {
    return ops::Cumsum(scope, Conjugate(scope, products) * dy, axis, {.exclusive = exclusive, .reverse = !reverse});
  };
  Output is_zero = ops::Equal(scope, x, 0);
  Output zeros_before =
      ops::Cumsum(scope, ops::Cast(scope, is_zero, DType::kInt32), axis, {.exclusive = true, .reverse = reverse});
  Output is_first = And(is_zero, ops::Equal(scope, zeros_before, 0));
  Output others =
      ops::Cumprod(scope, ops::SelectV2(scope, is_first, 1, x), axis, {.exclusive = exclusive, .reverse = reverse});
  Output quotient = ops::DivNoNan(scope, sums(c.output(0)), Conjugate(scope, x));
  return {ops::SelectV2(scope, is_first, sums(others), quotient), Gradient()};
}

Grads AddNGrad(RuleContext& c) { return Grads(c.num_inputs(), c.gradient(0)); }

Grads L2LossGrad(RuleContext& c) { return {c.input(0) * c.grad(0)}; }

}  // namespace

void RegisterReductionGradients(GradientRegistry& registry) {
  registry.Add("AccumulateNV2", AddNGrad);
  registry.Add("AddN", AddNGrad);
  registry.Add("Cumprod", CumprodGrad);
  registry.Add("Cumsum", CumsumGrad);
  registry.Add("L2Loss", L2LossGrad);
  registry.Add("Max", MaxGrad);
  registry.Add("Mean", MeanGrad);
  registry.Add("Min", MaxGrad);
  registry.Add("Prod", ProdGrad);
  registry.Add("Sum", SumGrad);
  registry.NotDifferentiable({"All", "Any", "ArgMax", "ArgMin"});
}

}  // namespace nabla

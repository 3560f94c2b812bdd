#include "nabla/gradients/indexed_slices.h"

#include "absl/strings/str_cat.h"
#include "nabla/graph/constant_value.h"
#include "nabla/graph/logging.h"
#include "nabla/ops/ops.h"

namespace nabla {
namespace {

// Making this many elements out of slices is worth a warning.
constexpr int64_t kLargeDenseElements = 100000000;

}  // namespace

Output ToDense(const Scope& scope, const Gradient& gradient) {
  if (!gradient.is_slices()) return gradient.dense();
  const IndexedSlices& slices = gradient.slices();
  if (!slices.dense_shape) {
    scope.RecordError(absl::InvalidArgumentError(
        absl::StrCat("IndexedSlices '", slices.values.name(), "' cannot be made dense: they have no dense_shape")));
    return Output();
  }
  Shape shape = ConstantValueAsShape(slices.dense_shape);
  if (!shape.IsFullyDefined()) {
    NABLA_LOG(WARNING) << "making IndexedSlices '" << slices.values.name()
                       << "' dense with a shape unknown until the run; it may take much memory";
  } else if (shape.num_elements() >= kLargeDenseElements) {
    NABLA_LOG(WARNING) << "making IndexedSlices '" << slices.values.name() << "' a dense tensor of "
                       << shape.num_elements() << " elements; it may take much memory";
  }
  bool rows_known = shape.rank() > 0 && shape.dim(0) != kUnknownDim;
  Output rows = rows_known ? ops::Const(scope, Tensor::Scalar<int64_t>(shape.dim(0)))
                           : ops::StridedSlice(scope, slices.dense_shape, {0}, {1}, {1}, {.shrink_axis_mask = 1});
  return ops::UnsortedSegmentSum(scope, slices.values, slices.indices, rows);
}

IndexedSlices ConcatenateSlices(const Scope& scope, const std::vector<IndexedSlices>& terms) {
  if (terms.size() == 1) return terms[0];
  bool mixed_indices = false;
  Inputs values, indices;
  IndexedSlices sum;
  for (const IndexedSlices& term : terms) {
    mixed_indices |= term.indices.dtype() != terms[0].indices.dtype();
    if (!sum.dense_shape) sum.dense_shape = term.dense_shape;
  }
  for (const IndexedSlices& term : terms) {
    values.push_back(term.values);
    bool widen = mixed_indices && term.indices.dtype() != DType::kInt64;
    indices.push_back(widen ? ops::Cast(scope, term.indices, DType::kInt64) : term.indices);
  }
  sum.values = ops::ConcatV2(scope, values, 0);
  sum.indices = ops::ConcatV2(scope, indices, 0);
  return sum;
}

IndexedSlices GatheredSlices(const Scope& scope, Output params_shape, Output indices, const Gradient& grad) {
  Output values = grad.dense();
  if (grad.is_slices()) {
    values = grad.slices().values;
    indices = ops::GatherV2(scope, indices, grad.slices().indices, 0);
  }
  IndexedSlices slices;
  slices.dense_shape = params_shape;
  if (indices && indices.shape().rank() == 1) {
    slices.values = values;
    slices.indices = indices;
    return slices;
  }
  slices.indices = ops::Reshape(scope, indices, {-1});
  if (!slices.indices || !values) return slices;
  const Shape params = ConstantValueAsShape(params_shape);
  if (indices.shape().IsFullyDefined() && params.IsFullyDefined() && params.rank() > 0) {
    Shape rows = params;
    rows.set_dim(0, indices.shape().num_elements());
    slices.values = ops::Reshape(scope, values, rows);
    return slices;
  }
  Output rows = ops::ExpandDims(scope, ops::Size(scope, indices), 0);
  Output row_shape = SliceRows(params_shape, 1, INT64_MAX);
  slices.values = ops::Reshape(scope, values, ops::ConcatV2(scope, {rows, row_shape}, 0));
  return slices;
}

absl::Status CheckSlices(const IndexedSlices& slices, const Shape& shape) {
  if (!slices.indices) return absl::InvalidArgumentError("the slices have no indices");
  const DType dtype = slices.indices.dtype();
  if (dtype != DType::kInt32 && dtype != DType::kInt64) {
    return absl::InvalidArgumentError(
        absl::StrCat("the slices' indices have type ", DTypeName(dtype), ", expected int32 or int64"));
  }
  const Shape& indices = slices.indices.shape();
  const Shape& values = slices.values.shape();
  Shape rows = shape;
  if (rows.has_rank() && rows.rank() > 0) {
    rows.set_dim(0, indices.rank() == 1 ? indices.dim(0) : kUnknownDim);
  }
  if ((indices.has_rank() && indices.rank() != 1) || shape.IsScalar() || !values.IsCompatibleWith(rows)) {
    return absl::InvalidArgumentError(absl::StrCat("the slices have values of shape ", values.ToString(),
                                                   " and indices of shape ", indices.ToString(),
                                                   ", which are no rows of a tensor of shape ", shape.ToString()));
  }
  return absl::OkStatus();
}

}  // namespace nabla

#include "nabla/ops/index_rules.h"

#include "absl/strings/str_cat.h"
#include "nabla/graph/shape_inference.h"
#include "nabla/ops/rule_util.h"

namespace nabla {

absl::StatusOr<Shape> GatherResult(const Shape& params, const Shape& indices, absl::optional<int64_t> axis,
                                   int64_t batch_dims) {
  if (params.IsScalar()) return absl::InvalidArgumentError("params must have rank 1 or more, is a scalar");
  if (!indices.has_rank()) {
    if (batch_dims < 0 || !axis.has_value() || !params.has_rank()) return Shape();
    return ShapeContext::ResolveAxis(*axis, params.rank()).ok()
               ? absl::StatusOr<Shape>(Shape())
               : absl::InvalidArgumentError(
                     absl::StrCat("axis ", *axis, " is out of range for params of shape ", params.ToString()));
  }
  const int64_t batch = batch_dims < 0 ? batch_dims + indices.rank() : batch_dims;
  if (batch < 0 || batch > indices.rank()) {
    return absl::InvalidArgumentError(absl::StrCat("batch_dims ", batch_dims, " is not in [", -indices.rank(), ", ",
                                                   indices.rank(), "] for indices of shape ", indices.ToString()));
  }
  if (!params.has_rank()) return Shape();
  if (batch >= params.rank()) {
    return absl::InvalidArgumentError(
        absl::StrCat("batch_dims ", batch_dims, " must be less than the rank of params, ", params.rank()));
  }
  Shape prefix = Shape::Scalar();
  for (int i = 0; i < batch; ++i) {
    if (params.dim(i) != kUnknownDim && indices.dim(i) != kUnknownDim && params.dim(i) != indices.dim(i)) {
      return absl::InvalidArgumentError(absl::StrCat("params ", params.ToString(), " and indices ", indices.ToString(),
                                                     " must agree in their first ", batch, " dimensions"));
    }
    prefix.AddDim(params.dim(i) != kUnknownDim ? params.dim(i) : indices.dim(i));
  }
  const Shape picked = SubShape(indices, static_cast<int>(batch), indices.rank());
  if (!axis.has_value()) {
    return ConcatShapes(prefix, Shape::UnknownOfRank(params.rank() - 1 + indices.rank() - 2 * static_cast<int>(batch)));
  }
  NABLA_ASSIGN_OR_RETURN(const int at, ShapeContext::ResolveAxis(*axis, params.rank()));
  if (at < batch) {
    return absl::InvalidArgumentError(absl::StrCat("axis ", *axis, " must not be less than batch_dims ", batch));
  }
  prefix = ConcatShapes(prefix, SubShape(params, static_cast<int>(batch), at));
  return ConcatShapes(ConcatShapes(prefix, picked), SubShape(params, at + 1, params.rank()));
}

absl::StatusOr<Shape> GatherNdResult(const Shape& params, const Shape& indices) {
  if (!indices.has_rank()) return Shape();
  if (indices.rank() == 0) return absl::InvalidArgumentError("indices must have rank 1 or more, is a scalar");
  const int64_t depth = indices.DimFromEnd(1);
  if (!params.has_rank() || depth == kUnknownDim) return Shape();
  if (depth > params.rank()) {
    return absl::InvalidArgumentError(absl::StrCat("indices ", indices.ToString(), " have tuples of ", depth,
                                                   ", but params has only ", params.rank(), " dimensions"));
  }
  return ConcatShapes(SubShape(indices, 0, indices.rank() - 1),
                      SubShape(params, static_cast<int>(depth), params.rank()));
}

absl::Status CheckScatterNd(const Shape& indices, const Shape& updates, const Shape& output) {
  NABLA_ASSIGN_OR_RETURN(const Shape expected, GatherNdResult(output, indices));
  if (!updates.IsCompatibleWith(expected)) {
    return absl::InvalidArgumentError(absl::StrCat("updates must have shape indices.shape[:-1] + output.shape[K:] = ",
                                                   expected.ToString(), ", got ", updates.ToString()));
  }
  return absl::OkStatus();
}

absl::Status CheckScatterRows(const Shape& params, const Shape& indices, const Shape& updates) {
  if (updates.IsScalar()) return absl::OkStatus();
  NABLA_ASSIGN_OR_RETURN(const Shape expected, GatherResult(params, indices, 0, 0));
  if (!updates.IsCompatibleWith(expected)) {
    return absl::InvalidArgumentError(
        absl::StrCat("updates must have shape ", expected.ToString(), " or be a scalar, got ", updates.ToString()));
  }
  return absl::OkStatus();
}

}  // namespace nabla

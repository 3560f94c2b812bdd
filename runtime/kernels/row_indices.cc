#include "nabla/runtime/kernels/row_indices.h"

#include "absl/strings/str_cat.h"

namespace nabla {

absl::StatusOr<RowIndices> RowIndices::Check(const Tensor& indices, const Shape& shape) {
  if (shape.rank() < 1) return absl::InvalidArgumentError("a scalar has no rows to index");
  if (indices.dtype() != DType::kInt32 && indices.dtype() != DType::kInt64) {
    return absl::InvalidArgumentError(
        absl::StrCat("indices are of type ", DTypeName(indices.dtype()), ", expected int32 or int64"));
  }
  RowIndices rows;
  rows.data_ = indices.raw_data();
  rows.wide_ = indices.dtype() == DType::kInt64;
  rows.count_ = indices.num_elements();
  rows.indices_shape_ = indices.shape();
  rows.row_shape_ = Shape(shape.dims().subspan(1));
  rows.row_size_ = rows.row_shape_.num_elements();
  for (int64_t i = 0; i < rows.count_; ++i) {
    if (rows[i] < 0 || rows[i] >= shape.dim(0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("indices[", i, "] = ", rows[i], " is not in [0, ", shape.dim(0), ")"));
    }
  }
  return rows;
}

Shape RowIndices::GatheredShape() const {
  Shape shape = indices_shape_;
  for (int64_t dim : row_shape_.dims()) shape.AddDim(dim);
  return shape;
}

absl::Status RowIndices::CheckUpdates(const Shape& shape) const {
  if (shape == GatheredShape()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("updates have shape ", shape.ToString(), ", expected ",
                                                 GatheredShape().ToString(), " (indices' shape, then a row's)"));
}

}  // namespace nabla

// Indices that name rows (along the first dimension) of a tensor.
#ifndef NABLA_RUNTIME_KERNELS_ROW_INDICES_H_
#define NABLA_RUNTIME_KERNELS_ROW_INDICES_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nabla/graph/shape.h"
#include "nabla/graph/tensor.h"

namespace nabla {

// A view of an index tensor of any shape, all of whose elements are rows of a tensor; lives as long as that does.
class RowIndices {
 public:
  // InvalidArgument if `shape` is a scalar's, the indices are not int32 or int64, or one is out of range:
  // "indices[2] = 7 is not in [0, 5)".
  static absl::StatusOr<RowIndices> Check(const Tensor& indices, const Shape& shape);

  // The shape of what rows of that tensor, one per index, are together: indices' shape and then a row's.
  Shape GatheredShape() const;
  // InvalidArgument unless `shape` is that shape.
  absl::Status CheckUpdates(const Shape& shape) const;

  int64_t count() const { return count_; }
  // Elements of a row.
  int64_t row_size() const { return row_size_; }
  int64_t operator[](int64_t i) const {
    return wide_ ? static_cast<const int64_t*>(data_)[i] : static_cast<const int32_t*>(data_)[i];
  }

 private:
  const void* data_ = nullptr;
  bool wide_ = false;
  int64_t count_ = 0;
  int64_t row_size_ = 1;
  Shape indices_shape_, row_shape_;
};

}  // namespace nabla

#endif  // NABLA_RUNTIME_KERNELS_ROW_INDICES_H_

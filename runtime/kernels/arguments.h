// Reading the small integer tensors that tell a kernel axes, shapes and sizes. They are input like any other, so
// everything is checked.
#ifndef NABLA_RUNTIME_KERNELS_ARGUMENTS_H_
#define NABLA_RUNTIME_KERNELS_ARGUMENTS_H_

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nabla/graph/shape.h"
#include "nabla/graph/tensor.h"

namespace nabla {

using Integers = absl::InlinedVector<int64_t, 6>;

// The elements of an integer vector (of any integer dtype but uint64). InvalidArgument, calling it `what`, if it is no
// vector or has more than `max_length` elements.
absl::StatusOr<Integers> IntegerVector(const Tensor& tensor, absl::string_view what, int64_t max_length = kMaxRank);
// The element of an integer scalar, or of a vector of one element.
absl::StatusOr<int64_t> IntegerScalar(const Tensor& tensor, absl::string_view what);

// An integer vector as the shape of a tensor to make: no negative sizes, no overflow.
absl::StatusOr<Shape> ShapeFromVector(const Tensor& tensor, absl::string_view what);

// `axis` in [0, rank), counted from the end if negative.
absl::StatusOr<int> ResolveAxis(int64_t axis, int rank, absl::string_view what = "axis");

// The product of dims [begin, end) of a fully defined shape.
int64_t DimProduct(const Shape& shape, int begin, int end);

// Writes `values` into the elements of a tensor of dtype int32 or int64. InvalidArgument if one does not fit.
absl::Status WriteIntegers(absl::Span<const int64_t> values, Tensor* tensor);

}  // namespace nabla

#endif  // NABLA_RUNTIME_KERNELS_ARGUMENTS_H_

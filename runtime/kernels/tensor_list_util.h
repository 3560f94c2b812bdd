// What the kernels of the TensorList ops share.
#ifndef NABLA_RUNTIME_KERNELS_TENSOR_LIST_UTIL_H_
#define NABLA_RUNTIME_KERNELS_TENSOR_LIST_UTIL_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nabla/runtime/kernel.h"
#include "nabla/runtime/tensor_list.h"

namespace nabla {

// The list that input `i` holds, a scalar. InvalidArgument if there is none, or its elements are of another dtype than
// `dtype` (kInvalid: of any).
absl::StatusOr<const TensorList*> ListInput(const KernelContext& ctx, int i, DType dtype = DType::kInvalid);
// Input `i`, a tensor of variants, for the kernel to change: the input itself if nobody else reads it, else a copy.
Tensor TakeVariants(KernelContext& ctx, int i);

// An integer operand that must be a scalar.
absl::StatusOr<int64_t> ReadScalar(const Tensor& operand, absl::string_view what);
// An element shape operand: a vector with -1 for unknown dimensions, or the scalar -1 for any shape.
absl::StatusOr<Shape> ReadElementShape(const Tensor& operand);
// What is known of the elements of `list` that fit `wanted`: from both, and if that leaves something open, from the
// elements that are set, which must then have one shape.
absl::StatusOr<Shape> CommonElementShape(const TensorList& list, const Shape& wanted);
// Element `i`; zeros if it is not set. InvalidArgument if it does not fit `wanted`, or is not set and its shape
// unknown.
absl::StatusOr<Tensor> ReadElement(KernelContext& ctx, const TensorList& list, int64_t i, const Shape& wanted);
// InvalidArgument unless `tensor` may become an element of `list`.
absl::Status CheckNewElement(const TensorList& list, const Tensor& tensor);
// ResourceExhausted if no memory would do for so many elements.
absl::Status CheckRoom(KernelContext& ctx, int64_t num_elements);

absl::StatusOr<Tensor> ZeroTensor(KernelContext& ctx, DType dtype, const Shape& shape);
// A tensor of shape `shape` with what begins at element `at` of `from`.
absl::StatusOr<Tensor> CutOut(KernelContext& ctx, const Tensor& from, int64_t at, const Shape& shape);

// Where a tensor's elements go in a larger one.
struct Piece {
  int64_t at;
  const Tensor* tensor;
};
// Fills `output` with the pieces, which must not overlap, and with zeros elsewhere.
absl::Status Assemble(KernelContext& ctx, const std::vector<Piece>& pieces, Tensor* output);

}  // namespace nabla

#endif  // NABLA_RUNTIME_KERNELS_TENSOR_LIST_UTIL_H_

// Index tensors: to a common width, and their errors.
#ifndef NABLA_RUNTIME_KERNELS_INDICES_H_
#define NABLA_RUNTIME_KERNELS_INDICES_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nabla/graph/tensor.h"
#include "nabla/runtime/kernel.h"

namespace nabla {

// int32 and int64 as they are, narrower integers as int32.
absl::StatusOr<Tensor> WideIndices(const Tensor& indices);

// "3,1" for element 13 of a tensor of shape [_,4]: where an element is.
std::string PositionOf(const Shape& shape, int64_t element);

// OK if every element (int32 or int64) is in [0, bound); else the error "indices[3,1] = 7 is not in [0, 5)" about the
// first that is not. With `negative_ok`, negative ones pass.
absl::Status CheckIndices(KernelContext& ctx, const Tensor& indices, int64_t bound, absl::string_view what = "indices",
                          bool negative_ok = false);

// offsets[i] = the first element of the slice that tuple i of `indices` [..., K], int32 or int64, names in a tensor of
// shape `shape`; -1 for a bad tuple if `ignore_bad`, else an error about the first bad one. K must be at most the rank.
absl::Status TupleOffsets(KernelContext& ctx, const Tensor& indices, const Shape& shape, bool ignore_bad,
                          int64_t* offsets);

}  // namespace nabla

#endif  // NABLA_RUNTIME_KERNELS_INDICES_H_

// Lists as the vectors of a vector space: what gradients need of them.
#ifndef NABLA_RUNTIME_KERNELS_TENSOR_LIST_MATH_H_
#define NABLA_RUNTIME_KERNELS_TENSOR_LIST_MATH_H_

#include "absl/status/status.h"
#include "nabla/runtime/kernel.h"

namespace nabla {

// Output 0 = the sum of all inputs, tensors of variants of one shape. Lists are added element by element; an element
// that is not set, and a variant that holds nothing, count as zero. Takes time for the elements that are set on both
// sides. InvalidArgument for lists that differ in length, dtype or shapes.
absl::Status AddVariants(KernelContext& ctx);

// Output 0 = input 0, a tensor of variants, with zeros for the elements that are set; the others stay unset.
absl::Status ZerosLikeVariants(KernelContext& ctx);

}  // namespace nabla

#endif  // NABLA_RUNTIME_KERNELS_TENSOR_LIST_MATH_H_

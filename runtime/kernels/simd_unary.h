// Float and double loops of elementwise ops of one argument, in the widest instructions that this machine has.
#ifndef NABLA_RUNTIME_KERNELS_SIMD_UNARY_H_
#define NABLA_RUNTIME_KERNELS_SIMD_UNARY_H_

#include "absl/types/span.h"
#include "nabla/runtime/kernels/elementwise.h"

namespace nabla {

absl::Span<const SimdUnaryRow> SimdUnaryRows();

}  // namespace nabla

#endif  // NABLA_RUNTIME_KERNELS_SIMD_UNARY_H_

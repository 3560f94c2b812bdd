// Float and double loops of elementwise ops of two arguments, in the widest instructions that this machine has.
#ifndef NABLA_RUNTIME_KERNELS_SIMD_BINARY_H_
#define NABLA_RUNTIME_KERNELS_SIMD_BINARY_H_

#include "absl/types/span.h"
#include "nabla/runtime/kernels/elementwise.h"

namespace nabla {

// Ops that broadcast.
absl::Span<const SimdBinaryRow> SimdBinaryRows();
// The *Grad ops of elementwise ops, whose arguments have one shape.
absl::Span<const SimdBinaryRow> SimdGradRows();

}  // namespace nabla

#endif  // NABLA_RUNTIME_KERNELS_SIMD_BINARY_H_

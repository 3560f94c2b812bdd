// The matrix product of doubles on one thread, in the widest instructions that this machine has.
#ifndef NABLA_RUNTIME_KERNELS_SIMD_GEMM_H_
#define NABLA_RUNTIME_KERNELS_SIMD_GEMM_H_

#include <cstdint>

#include "nabla/runtime/kernels/gemm.h"

namespace nabla {

// c[i * ldc + j] += alpha * sum over p < depth of A(i, p) B(p, j), for i < rows and j < columns.
void SimdGemm(const GemmOperand<double>& a, const GemmOperand<double>& b, int64_t depth, double alpha, double* c,
              int64_t ldc, int64_t rows, int64_t columns);

}  // namespace nabla

#endif  // NABLA_RUNTIME_KERNELS_SIMD_GEMM_H_

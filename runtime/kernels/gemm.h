// Products of two matrices of one dtype: oneDNN for float, vector code of our own for double, plain loops for
// integers; complex numbers by their parts, half and bfloat16 by way of float (matmul_kernels.cc).
//
// Bits do not depend on the number of threads: what oneDNN computes is cut in a way that depends on the shape and the
// machine only.
#ifndef NABLA_RUNTIME_KERNELS_GEMM_H_
#define NABLA_RUNTIME_KERNELS_GEMM_H_

#include <cstdint>

#include "absl/status/status.h"
#include "nabla/runtime/kernel.h"

namespace nabla {

// A matrix in memory, row-major or its transpose: element (i, j) is data[i * row_stride + j * column_stride], one of
// the strides is 1.
template <typename T>
struct GemmOperand {
  const T* data;
  int64_t row_stride;
  int64_t column_stride;
};

// C [m, n] = alpha * A [m, k] B [k, n] + (accumulate ? C : 0), C row-major and contiguous. alpha is 1 or -1. On the
// pool of ctx if `parallel`, else on this thread; the bits are the same. Internal or ResourceExhausted if oneDNN fails.
absl::Status Gemm(KernelContext& ctx, bool parallel, int64_t m, int64_t n, int64_t k, float alpha,
                  const GemmOperand<float>& a, const GemmOperand<float>& b, bool accumulate, float* c);
absl::Status Gemm(KernelContext& ctx, bool parallel, int64_t m, int64_t n, int64_t k, double alpha,
                  const GemmOperand<double>& a, const GemmOperand<double>& b, bool accumulate, double* c);

}  // namespace nabla

#endif  // NABLA_RUNTIME_KERNELS_GEMM_H_

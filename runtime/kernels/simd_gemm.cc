#include "nabla/runtime/kernels/simd_gemm.h"

#include "nabla/runtime/kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "nabla/runtime/kernels/simd_gemm-inl.h"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes it for the other instruction sets.
#include "nabla/runtime/kernels/simd_gemm-inl.h"

#if HWY_ONCE
namespace nabla {

HWY_EXPORT(GemmBlock);

void SimdGemm(const GemmOperand<double>& a, const GemmOperand<double>& b, int64_t depth, double alpha, double* c,
              int64_t ldc, int64_t rows, int64_t columns) {
  HWY_DYNAMIC_DISPATCH(GemmBlock)(a, b, depth, alpha, c, ldc, rows, columns);
}

}  // namespace nabla
#endif  // HWY_ONCE

#include "nabla/runtime/kernels/narrow.h"

#include "nabla/runtime/kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "nabla/runtime/kernels/simd_narrow-inl.h"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes it for the other instruction sets.
#include "nabla/runtime/kernels/simd_narrow-inl.h"

#if HWY_ONCE
namespace nabla {

HWY_EXPORT(HalvesToFloats);
HWY_EXPORT(FloatsToHalves);

void NarrowToFloat(DType dtype, const void* x, float* y, int64_t n) {
  if (dtype == DType::kHalf) {
    HWY_DYNAMIC_DISPATCH(HalvesToFloats)(static_cast<const Half*>(x), y, n);
    return;
  }
  const BFloat16* from = static_cast<const BFloat16*>(x);
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<float>(from[i]);
}

void FloatToNarrow(DType dtype, const float* x, void* y, int64_t n) {
  if (dtype == DType::kHalf) {
    HWY_DYNAMIC_DISPATCH(FloatsToHalves)(x, static_cast<Half*>(y), n);
    return;
  }
  BFloat16* to = static_cast<BFloat16*>(y);
  for (int64_t i = 0; i < n; ++i) to[i] = BFloat16(x[i]);
}

}  // namespace nabla
#endif  // HWY_ONCE

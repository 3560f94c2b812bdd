// Conversion of half to float and back; compiled once per instruction set.
#if defined(NABLA_RUNTIME_KERNELS_SIMD_NARROW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NABLA_RUNTIME_KERNELS_SIMD_NARROW_INL_H_
#undef NABLA_RUNTIME_KERNELS_SIMD_NARROW_INL_H_
#else
#define NABLA_RUNTIME_KERNELS_SIMD_NARROW_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"
#include "nabla/graph/float16.h"

HWY_BEFORE_NAMESPACE();
namespace nabla {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Only where the processor converts by itself (F16C, which comes with AVX2); Highway's emulation flushes denormals.
#if HWY_TARGET <= HWY_AVX2
#define NABLA_CONVERT_HALVES_IN_VECTORS 1
#else
#define NABLA_CONVERT_HALVES_IN_VECTORS 0
#endif

void HalvesToFloats(const Half* x, float* y, int64_t n) {
  int64_t i = 0;
#if NABLA_CONVERT_HALVES_IN_VECTORS
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> dh;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const hwy::float16_t* from = reinterpret_cast<const hwy::float16_t*>(x);
  for (; i + lanes <= n; i += lanes) hn::StoreU(hn::PromoteTo(d, hn::LoadU(dh, from + i)), d, y + i);
#endif
  for (; i < n; ++i) y[i] = static_cast<float>(x[i]);
}

void FloatsToHalves(const float* x, Half* y, int64_t n) {
  int64_t i = 0;
#if NABLA_CONVERT_HALVES_IN_VECTORS
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> dh;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  hwy::float16_t* to = reinterpret_cast<hwy::float16_t*>(y);
  for (; i + lanes <= n; i += lanes) hn::StoreU(hn::DemoteTo(dh, hn::LoadU(d, x + i)), dh, to + i);
#endif
  for (; i < n; ++i) y[i] = Half(x[i]);
}
#undef NABLA_CONVERT_HALVES_IN_VECTORS

}  // namespace HWY_NAMESPACE
}  // namespace nabla
HWY_AFTER_NAMESPACE();

#endif  // per-target guard

// Copying past the caches; compiled once per instruction set.
#if defined(NABLA_RUNTIME_KERNELS_SIMD_STREAM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NABLA_RUNTIME_KERNELS_SIMD_STREAM_INL_H_
#undef NABLA_RUNTIME_KERNELS_SIMD_STREAM_INL_H_
#else
#define NABLA_RUNTIME_KERNELS_SIMD_STREAM_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace nabla {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void StreamBytes(char* to, const char* from, int64_t bytes) {
  const hn::ScalableTag<float> d;
  const int64_t step = static_cast<int64_t>(hn::Lanes(d) * sizeof(float));
  const int64_t misaligned = static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) % static_cast<uintptr_t>(step));
  const int64_t head = misaligned == 0 ? 0 : std::min(bytes, step - misaligned);
  std::memcpy(to, from, head);
  int64_t i = head;
  for (; i + step <= bytes; i += step) {
    hn::Stream(hn::LoadU(d, reinterpret_cast<const float*>(from + i)), d, reinterpret_cast<float*>(to + i));
  }
  std::memcpy(to + i, from + i, bytes - i);
}

}  // namespace HWY_NAMESPACE
}  // namespace nabla
HWY_AFTER_NAMESPACE();

#endif  // per-target guard

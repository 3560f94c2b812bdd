// Loops that apply a vector functor to arrays; compiled once per instruction set (so no ordinary include guard).
//
// A functor is a struct with `V operator()(D d, V x, V param) const`. What is left at the end of an array goes through
// the same vector code as the rest, so that an element's bits do not depend on where an array was cut.
#if defined(NABLA_RUNTIME_KERNELS_SIMD_LOOPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NABLA_RUNTIME_KERNELS_SIMD_LOOPS_INL_H_
#undef NABLA_RUNTIME_KERNELS_SIMD_LOOPS_INL_H_
#else
#define NABLA_RUNTIME_KERNELS_SIMD_LOOPS_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "nabla/runtime/kernels/elementwise.h"

HWY_BEFORE_NAMESPACE();
namespace nabla {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Loads the first n < Lanes(d) elements; the other lanes are 1, a harmless operand for every functor.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> LoadFirst(D d, const T* HWY_RESTRICT p, size_t n) {
  HWY_ALIGN T buffer[HWY_MAX_BYTES / sizeof(T)];
  hn::Store(hn::Set(d, T(1)), d, buffer);
  std::memcpy(buffer, p, n * sizeof(T));
  return hn::Load(d, buffer);
}

template <class D, typename T = hn::TFromD<D>>
HWY_INLINE void StoreFirst(hn::Vec<D> v, D d, T* HWY_RESTRICT p, size_t n) {
  HWY_ALIGN T buffer[HWY_MAX_BYTES / sizeof(T)];
  hn::Store(v, d, buffer);
  std::memcpy(p, buffer, n * sizeof(T));
}

// How many of the n elements at p lie before the first place where a vector is aligned, as streaming must be.
template <class D, typename T = hn::TFromD<D>>
HWY_INLINE size_t ElementsToAlignment(D d, const T* p, size_t n) {
  const size_t lanes = hn::Lanes(d);
  return std::min(n, (lanes - reinterpret_cast<uintptr_t>(p) / sizeof(T) % lanes) % lanes);
}

template <class Op, typename T>
void RunUnary(const void* x_bytes, void* y_bytes, int64_t n, double param) {
  const hn::ScalableTag<T> d;
  const T* x = static_cast<const T*>(x_bytes);
  T* y = static_cast<T*>(y_bytes);
  const size_t count = static_cast<size_t>(n);
  const size_t lanes = hn::Lanes(d);
  const auto p = hn::Set(d, static_cast<T>(param));
  const Op op{};
  if (count == 1) {
    *y = hn::GetLane(op(d, hn::Set(d, *x), p));
    return;
  }
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(op(d, hn::LoadU(d, x + i), p), d, y + i);
  if (i < count) StoreFirst(op(d, LoadFirst(d, x + i, count - i), p), d, y + i, count - i);
}

// The same past the caches (stream.h). The argument is asked for a page ahead: the processor's own prefetching stops at
// the end of every page, and the arithmetic would wait at each.
template <class Op, typename T>
void StreamUnary(const void* x_bytes, void* y_bytes, int64_t n, double param) {
  constexpr uintptr_t kAhead = 4096;
  const hn::ScalableTag<T> d;
  const T* x = static_cast<const T*>(x_bytes);
  T* y = static_cast<T*>(y_bytes);
  const size_t count = static_cast<size_t>(n);
  const size_t lanes = hn::Lanes(d);
  const auto p = hn::Set(d, static_cast<T>(param));
  const Op op{};
  size_t i = ElementsToAlignment(d, y, count);
  RunUnary<Op, T>(x, y, static_cast<int64_t>(i), param);
  for (; i + lanes <= count; i += lanes) {
    hwy::Prefetch(reinterpret_cast<const T*>(reinterpret_cast<uintptr_t>(x + i) + kAhead));
    hn::Stream(op(d, hn::LoadU(d, x + i), p), d, y + i);
  }
  RunUnary<Op, T>(x + i, y + i, static_cast<int64_t>(count - i), param);
}

template <class Op, typename T>
void RunBinary(const void* a_bytes, const void* b_bytes, void* y_bytes, int64_t n, BinaryKind kind, double param) {
  const hn::ScalableTag<T> d;
  const T* a = static_cast<const T*>(a_bytes);
  const T* b = static_cast<const T*>(b_bytes);
  T* y = static_cast<T*>(y_bytes);
  const size_t count = static_cast<size_t>(n);
  const size_t lanes = hn::Lanes(d);
  const auto p = hn::Set(d, static_cast<T>(param));
  const Op op{};
  if (count == 1) {
    *y = hn::GetLane(op(d, hn::Set(d, *a), hn::Set(d, *b), p));
    return;
  }
  size_t i = 0;
  switch (kind) {
    case BinaryKind::kVectorVector:
      for (; i + lanes <= count; i += lanes) {
        hn::StoreU(op(d, hn::LoadU(d, a + i), hn::LoadU(d, b + i), p), d, y + i);
      }
      if (i < count) {
        const auto va = LoadFirst(d, a + i, count - i);
        StoreFirst(op(d, va, LoadFirst(d, b + i, count - i), p), d, y + i, count - i);
      }
      return;
    case BinaryKind::kVectorScalar: {
      const auto vb = hn::Set(d, *b);
      for (; i + lanes <= count; i += lanes) hn::StoreU(op(d, hn::LoadU(d, a + i), vb, p), d, y + i);
      if (i < count) StoreFirst(op(d, LoadFirst(d, a + i, count - i), vb, p), d, y + i, count - i);
      return;
    }
    case BinaryKind::kScalarVector: {
      const auto va = hn::Set(d, *a);
      for (; i + lanes <= count; i += lanes) hn::StoreU(op(d, va, hn::LoadU(d, b + i), p), d, y + i);
      if (i < count) StoreFirst(op(d, va, LoadFirst(d, b + i, count - i), p), d, y + i, count - i);
      return;
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace nabla
HWY_AFTER_NAMESPACE();

#endif  // per-target guard

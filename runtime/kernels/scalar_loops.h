// Loops that apply a scalar functor to arrays, for the dtypes that have no vector code of their own (the compiler
// vectorizes the simple ones). A functor has a static `Apply(T x, double param)` or `Apply(T a, T b, double param)`.
#ifndef NABLA_RUNTIME_KERNELS_SCALAR_LOOPS_H_
#define NABLA_RUNTIME_KERNELS_SCALAR_LOOPS_H_

#include <complex>
#include <cstdint>
#include <type_traits>

#include "nabla/runtime/kernels/elementwise.h"

namespace nabla {

template <typename... Ts>
struct Types {};

using SignedTypes = Types<int32_t, int64_t, int8_t, int16_t>;
using IntegerTypes = Types<int32_t, int64_t, int8_t, int16_t, uint8_t, uint16_t, uint32_t, uint64_t>;
using RealTypes = Types<float, double>;
using ComplexTypes = Types<std::complex<float>, std::complex<double>>;

template <typename T>
inline constexpr bool kIsComplex = false;
template <typename T>
inline constexpr bool kIsComplex<std::complex<T>> = true;

// A copy where that is cheap (so that the compiler need not fear that writing y changes it), else a reference.
template <typename T>
using ByValue = std::conditional_t<std::is_trivially_copyable_v<T>, T, const T&>;

// Where signed arithmetic is done so that it wraps: at least as wide as int, since narrower types promote to int.
template <typename T>
using Wrapping = std::common_type_t<std::make_unsigned_t<T>, unsigned>;

template <class F, typename T>
void RunScalarUnary(const void* x_bytes, void* y_bytes, int64_t n, double param) {
  using R = decltype(F::Apply(T(), param));
  const T* x = static_cast<const T*>(x_bytes);
  R* y = static_cast<R*>(y_bytes);
  for (int64_t i = 0; i < n; ++i) y[i] = F::Apply(x[i], param);
}

template <class F, typename T>
void RunScalarBinary(const void* a_bytes, const void* b_bytes, void* y_bytes, int64_t n, BinaryKind kind,
                     double param) {
  using R = decltype(F::Apply(T(), T(), param));
  const T* a = static_cast<const T*>(a_bytes);
  const T* b = static_cast<const T*>(b_bytes);
  R* y = static_cast<R*>(y_bytes);
  switch (kind) {
    case BinaryKind::kVectorVector:
      for (int64_t i = 0; i < n; ++i) y[i] = F::Apply(a[i], b[i], param);
      return;
    case BinaryKind::kVectorScalar: {
      const ByValue<T> scalar = *b;
      for (int64_t i = 0; i < n; ++i) y[i] = F::Apply(a[i], scalar, param);
      return;
    }
    case BinaryKind::kScalarVector: {
      const ByValue<T> scalar = *a;
      for (int64_t i = 0; i < n; ++i) y[i] = F::Apply(scalar, b[i], param);
      return;
    }
  }
}

template <class F, typename... Ts>
void SetScalarUnary(Types<Ts...>, LoopsByDType<UnaryLoop>& loops) {
  (loops.Set(kDTypeOf<Ts>, &RunScalarUnary<F, Ts>), ...);
}

template <class F, typename... Ts>
void SetScalarBinary(Types<Ts...>, LoopsByDType<BinaryLoop>& loops) {
  (loops.Set(kDTypeOf<Ts>, &RunScalarBinary<F, Ts>), ...);
}

}  // namespace nabla

#endif  // NABLA_RUNTIME_KERNELS_SCALAR_LOOPS_H_

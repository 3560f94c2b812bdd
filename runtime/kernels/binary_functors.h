// Scalar functors of the elementwise ops of two arguments, for the dtypes that simd_binary-inl.h does not do, and the
// comparisons of all dtypes. Integer arithmetic wraps; a divisor of 0 and a negative exponent are the kernel's to
// refuse beforehand (here they only must not trap).
#ifndef NABLA_RUNTIME_KERNELS_BINARY_FUNCTORS_H_
#define NABLA_RUNTIME_KERNELS_BINARY_FUNCTORS_H_

#include <cmath>
#include <complex>
#include <string>
#include <type_traits>

#include "nabla/runtime/kernels/scalar_loops.h"

namespace nabla {
namespace binary_functors {

#define NABLA_FUNCTOR(name, expression)                          \
  struct name {                                                  \
    template <typename T>                                        \
    static auto Apply(T a, T b, [[maybe_unused]] double param) { \
      return expression;                                         \
    }                                                            \
  };
// The same with strings by reference.
#define NABLA_COMPARISON(name, expression)              \
  struct name {                                         \
    template <typename T>                               \
    static bool Apply(const T& a, const T& b, double) { \
      return expression;                                \
    }                                                   \
  };

NABLA_COMPARISON(EqualTo, a == b)
NABLA_COMPARISON(NotEqualTo, !(a == b))
NABLA_COMPARISON(LessThan, a < b)
NABLA_COMPARISON(LessOrEqual, a <= b)
NABLA_COMPARISON(GreaterThan, a > b)
NABLA_COMPARISON(GreaterOrEqual, a >= b)
NABLA_FUNCTOR(CloseTo, std::abs(a - b) < static_cast<decltype(std::abs(a - b))>(param))

// On bytes that are 0 or 1.
NABLA_FUNCTOR(And, static_cast<T>(a& b))
NABLA_FUNCTOR(Or, static_cast<T>(a | b))

// ---- integers ----
NABLA_FUNCTOR(IntAdd, static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b)))
NABLA_FUNCTOR(IntSub, static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b)))
NABLA_FUNCTOR(IntMul, static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b)))
NABLA_FUNCTOR(IntMaximum, a > b ? a : b)
NABLA_FUNCTOR(IntMinimum, a < b ? a : b)
NABLA_FUNCTOR(IntReluGrad, b > 0 ? a : T(0))
NABLA_FUNCTOR(IntRelu6Grad, b > 0 && b < 6 ? a : T(0))

struct IntSquaredDifference {
  template <typename T>
  static T Apply(T a, T b, double param) {
    const T difference = IntSub::Apply(a, b, param);
    return IntMul::Apply(difference, difference, param);
  }
};

// Rounds toward zero.
struct IntTruncateDiv {
  template <typename T>
  static T Apply(T a, T b, double param) {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return IntSub::Apply(T(0), a, param);  // the least value over -1 traps
    }
    return static_cast<T>(a / b);
  }
};

struct IntTruncateMod {
  template <typename T>
  static T Apply(T a, T b, double) {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return 0;
    }
    return static_cast<T>(a % b);
  }
};

struct IntFloorDiv {
  template <typename T>
  static T Apply(T a, T b, double param) {
    const T quotient = IntTruncateDiv::Apply(a, b, param);
    if constexpr (std::is_signed_v<T>) {
      const T rest = IntTruncateMod::Apply(a, b, param);
      if (rest != 0 && (rest < 0) != (b < 0)) return static_cast<T>(quotient - 1);
    }
    return quotient;
  }
};

struct IntFloorMod {
  template <typename T>
  static T Apply(T a, T b, double param) {
    const T rest = IntTruncateMod::Apply(a, b, param);
    if constexpr (std::is_signed_v<T>) {
      if (rest != 0 && (rest < 0) != (b < 0)) return static_cast<T>(rest + b);
    }
    return rest;
  }
};

// By squaring; wraps.
struct IntPow {
  template <typename T>
  static T Apply(T base, T exponent, double) {
    Wrapping<T> result = 1;
    Wrapping<T> factor = static_cast<Wrapping<T>>(base);
    for (std::make_unsigned_t<T> e = exponent < 0 ? 0 : exponent; e != 0; e >>= 1) {
      if ((e & 1) != 0) result *= factor;
      factor *= factor;
    }
    return static_cast<T>(result);
  }
};

// ---- float and double ----
NABLA_FUNCTOR(RealPow, std::pow(a, b))

struct RealFloorMod {
  template <typename T>
  static T Apply(T a, T b, double) {
    const T rest = std::fmod(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
};

// ---- complex ----
NABLA_FUNCTOR(ComplexAdd, a + b)
NABLA_FUNCTOR(ComplexSub, a - b)
NABLA_FUNCTOR(ComplexMul, a* b)
NABLA_FUNCTOR(ComplexDiv, a / b)
NABLA_FUNCTOR(ComplexPow, a == T(0) && b == T(0) ? T(1) : std::pow(a, b))
NABLA_FUNCTOR(ComplexSquaredDifference, std::conj(a - b) * (a - b))
NABLA_FUNCTOR(ComplexDivNoNan, b == T(0) ? T(0) : a / b)
NABLA_FUNCTOR(ComplexMulNoNan, b == T(0) ? T(0) : a * b)
NABLA_FUNCTOR(ComplexXdivy, a == T(0) ? T(0) : a / b)
NABLA_FUNCTOR(ComplexXlogy, a == T(0) ? T(0) : a * std::log(b))
// Gradients in terms of the forward op's result a. Whether a is conjugated here or by the caller is TensorFlow's
// choice.
NABLA_FUNCTOR(ComplexTanhGrad, b*(T(1) - a * a))
NABLA_FUNCTOR(ComplexSigmoidGrad, b* a*(T(1) - a))
NABLA_FUNCTOR(ComplexSqrtGrad, b* T(0.5) / std::conj(a))
NABLA_FUNCTOR(ComplexRsqrtGrad, T(-0.5) * b * (std::conj(a) * std::conj(a) * std::conj(a)))
NABLA_FUNCTOR(ComplexReciprocalGrad, -b*(std::conj(a) * std::conj(a)))

// The complex number of two parts.
struct MakeComplex {
  template <typename T>
  static std::complex<T> Apply(T a, T b, double) {
    return {a, b};
  }
};

// ---- strings ----
struct Concatenate {
  static std::string Apply(const std::string& a, const std::string& b, double) { return a + b; }
};

#undef NABLA_FUNCTOR
#undef NABLA_COMPARISON

}  // namespace binary_functors
}  // namespace nabla

#endif  // NABLA_RUNTIME_KERNELS_BINARY_FUNCTORS_H_

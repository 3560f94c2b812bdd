// Which loops do which reduction; those of integers, bools and complex numbers.
#include <algorithm>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "nabla/runtime/kernels/reduce.h"
#include "nabla/runtime/kernels/scalar_loops.h"
#include "nabla/runtime/kernels/simd_reduce.h"

namespace nabla {
namespace {

// Where T is accumulated. Integer arithmetic wraps, and wrapping to T at the end gives what wrapping all along would.
template <typename T>
using Accumulator = std::conditional_t<kIsComplex<T>, std::complex<double>,
                                       std::conditional_t<std::is_unsigned_v<T>, uint64_t, int64_t>>;

struct Sum {
  template <typename T>
  static Accumulator<T> Neutral() {
    return 0;
  }
  template <typename A>
  static A Combine(A a, A b) {
    if constexpr (std::is_integral_v<A>)
      return static_cast<A>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    else
      return a + b;
  }
};

struct Prod {
  template <typename T>
  static Accumulator<T> Neutral() {
    return 1;
  }
  template <typename A>
  static A Combine(A a, A b) {
    if constexpr (std::is_integral_v<A>)
      return static_cast<A>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    else
      return a * b;
  }
};

struct Max {
  template <typename T>
  static Accumulator<T> Neutral() {
    return std::numeric_limits<T>::lowest();
  }
  template <typename A>
  static A Combine(A a, A b) {
    return std::max(a, b);
  }
};

struct Min {
  template <typename T>
  static Accumulator<T> Neutral() {
    return std::numeric_limits<T>::max();
  }
  template <typename A>
  static A Combine(A a, A b) {
    return std::min(a, b);
  }
};

template <typename T>
Accumulator<T> Widen(T x) {
  if constexpr (kIsComplex<T>)
    return {static_cast<double>(x.real()), static_cast<double>(x.imag())};
  else
    return static_cast<Accumulator<T>>(x);
}

template <typename T>
T Narrow(Accumulator<T> a) {
  if constexpr (kIsComplex<T>) {
    using Part = typename T::value_type;
    return {static_cast<Part>(a.real()), static_cast<Part>(a.imag())};
  } else {
    return static_cast<T>(a);
  }
}

template <class R, typename T>
void Init(void* accumulators, int64_t n) {
  Accumulator<T>* acc = static_cast<Accumulator<T>*>(accumulators);
  std::fill(acc, acc + n, R::template Neutral<T>());
}

template <class R, typename T>
void Row(const void* x_bytes, int64_t n, void* accumulator) {
  const T* x = static_cast<const T*>(x_bytes);
  Accumulator<T> acc = *static_cast<Accumulator<T>*>(accumulator);
  for (int64_t i = 0; i < n; ++i) acc = R::Combine(acc, Widen(x[i]));
  *static_cast<Accumulator<T>*>(accumulator) = acc;
}

template <class R, typename T>
void Columns(const void* x_bytes, int64_t rows, int64_t stride, int64_t columns, void* accumulators) {
  const T* x = static_cast<const T*>(x_bytes);
  Accumulator<T>* acc = static_cast<Accumulator<T>*>(accumulators);
  for (int64_t r = 0; r < rows; ++r, x += stride) {
    for (int64_t c = 0; c < columns; ++c) acc[c] = R::Combine(acc[c], Widen(x[c]));
  }
}

template <class R, typename T>
void Combine(void* accumulators, const void* others, int64_t n) {
  Accumulator<T>* acc = static_cast<Accumulator<T>*>(accumulators);
  const Accumulator<T>* other = static_cast<const Accumulator<T>*>(others);
  for (int64_t i = 0; i < n; ++i) acc[i] = R::Combine(acc[i], other[i]);
}

template <typename T, bool kMean>
void Finish(const void* accumulators, void* y_bytes, int64_t n, int64_t count) {
  const Accumulator<T>* acc = static_cast<const Accumulator<T>*>(accumulators);
  T* y = static_cast<T*>(y_bytes);
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (!kMean) {
      y[i] = Narrow<T>(acc[i]);
    } else if constexpr (kIsComplex<T>) {
      y[i] = Narrow<T>(acc[i] / static_cast<double>(count));
    } else {
      // Integers round toward zero; the mean of nothing is 0.
      y[i] = count == 0 ? T(0) : Narrow<T>(acc[i] / static_cast<Accumulator<T>>(count));
    }
  }
}

template <class R, typename T, bool kMean = false>
const ReduceLoops* Loops() {
  static constexpr ReduceLoops kLoops = {sizeof(Accumulator<T>), &Init<R, T>,    &Row<R, T>,
                                         &Columns<R, T>,         &Combine<R, T>, &Finish<T, kMean>};
  return &kLoops;
}

template <typename T>
const ReduceLoops* LoopsFor(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return Loops<Sum, T>();
    case ReduceOp::kMean:
      return Loops<Sum, T, true>();
    case ReduceOp::kProd:
      return Loops<Prod, T>();
    case ReduceOp::kMax:
      if constexpr (!kIsComplex<T>) return Loops<Max, T>();
      break;
    case ReduceOp::kMin:
      if constexpr (!kIsComplex<T>) return Loops<Min, T>();
      break;
    default:
      break;
  }
  return nullptr;
}

template <typename... Ts>
const ReduceLoops* FindAmong(ReduceOp op, DType dtype, Types<Ts...>) {
  const ReduceLoops* loops = nullptr;
  ((dtype == kDTypeOf<Ts> ? void(loops = LoopsFor<Ts>(op)) : void()), ...);
  return loops;
}

}  // namespace

const ReduceLoops* FindReduceLoops(ReduceOp op, DType dtype) {
  if (dtype == DType::kFloat || dtype == DType::kDouble) return SimdReduceLoops(op, dtype);
  if (dtype == DType::kBool) {
    if (op == ReduceOp::kAll) return Loops<Min, bool>();
    if (op == ReduceOp::kAny) return Loops<Max, bool>();
    return nullptr;
  }
  if (IsComplex(dtype)) return FindAmong(op, dtype, ComplexTypes());
  return FindAmong(op, dtype, IntegerTypes());
}

}  // namespace nabla

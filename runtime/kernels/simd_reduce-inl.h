// The loops of float and double reductions; compiled once per instruction set.
#if defined(NABLA_RUNTIME_KERNELS_SIMD_REDUCE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NABLA_RUNTIME_KERNELS_SIMD_REDUCE_INL_H_
#undef NABLA_RUNTIME_KERNELS_SIMD_REDUCE_INL_H_
#else
#define NABLA_RUNTIME_KERNELS_SIMD_REDUCE_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "hwy/highway.h"
#include "nabla/runtime/kernels/reduce.h"

HWY_BEFORE_NAMESPACE();
namespace nabla {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// A reducer knows its neutral element, how to take an element in (vectors), and how to combine two accumulators.
struct SumReducer {
  template <typename T>
  static constexpr T Neutral() {
    return 0;
  }
  template <class D, class V>
  static HWY_INLINE V TakeIn(D, V acc, V x) {
    return hn::Add(acc, x);
  }
  template <class D, class V>
  static HWY_INLINE V Merge(D, V a, V b) {
    return hn::Add(a, b);
  }
  static double Combine(double a, double b) { return a + b; }
  static double TakeInOne(double acc, double x) { return acc + x; }
};

struct SumOfSquaresReducer : SumReducer {
  template <class D, class V>
  static HWY_INLINE V TakeIn(D, V acc, V x) {
    return hn::MulAdd(x, x, acc);
  }
  static double TakeInOne(double acc, double x) { return acc + x * x; }
};

struct ProdReducer {
  template <typename T>
  static constexpr T Neutral() {
    return 1;
  }
  template <class D, class V>
  static HWY_INLINE V TakeIn(D, V acc, V x) {
    return hn::Mul(acc, x);
  }
  template <class D, class V>
  static HWY_INLINE V Merge(D, V a, V b) {
    return hn::Mul(a, b);
  }
  static double Combine(double a, double b) { return a * b; }
  static double TakeInOne(double acc, double x) { return acc * x; }
};

// A NaN anywhere is the result.
struct MaxReducer {
  template <typename T>
  static constexpr T Neutral() {
    return -std::numeric_limits<T>::infinity();
  }
  template <class D, class V>
  static HWY_INLINE V TakeIn(D, V acc, V x) {
    return hn::IfThenElse(hn::Or(hn::IsNaN(x), hn::Gt(x, acc)), x, acc);
  }
  template <class D, class V>
  static HWY_INLINE V Merge(D d, V a, V b) {
    return TakeIn(d, a, b);
  }
  static double Combine(double a, double b) { return b != b || b > a ? b : a; }
  static double TakeInOne(double acc, double x) { return Combine(acc, x); }
};

struct MinReducer {
  template <typename T>
  static constexpr T Neutral() {
    return std::numeric_limits<T>::infinity();
  }
  template <class D, class V>
  static HWY_INLINE V TakeIn(D, V acc, V x) {
    return hn::IfThenElse(hn::Or(hn::IsNaN(x), hn::Lt(x, acc)), x, acc);
  }
  template <class D, class V>
  static HWY_INLINE V Merge(D d, V a, V b) {
    return TakeIn(d, a, b);
  }
  static double Combine(double a, double b) { return b != b || b < a ? b : a; }
  static double TakeInOne(double acc, double x) { return Combine(acc, x); }
};

// Elements that are accumulated in T before the result goes on in double.
constexpr int64_t kRowBlock = 4096;
constexpr int64_t kColumnBlock = 64;

template <class R, typename T>
void InitAccumulators(void* accumulators, int64_t n) {
  double* acc = static_cast<double*>(accumulators);
  std::fill(acc, acc + n, R::template Neutral<double>());
}

template <class R, typename T>
void ReduceRow(const void* x_bytes, int64_t n, void* accumulator) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const T* x = static_cast<const T*>(x_bytes);
  double result = *static_cast<double*>(accumulator);
  if (n < lanes) {
    for (int64_t i = 0; i < n; ++i) result = R::TakeInOne(result, static_cast<double>(x[i]));
    *static_cast<double*>(accumulator) = result;
    return;
  }
  const auto neutral = hn::Set(d, R::template Neutral<T>());
  for (int64_t begin = 0; begin < n; begin += kRowBlock) {
    const int64_t end = std::min(n, begin + kRowBlock);
    auto a0 = neutral, a1 = neutral, a2 = neutral, a3 = neutral;
    int64_t i = begin;
    for (; i + 4 * lanes <= end; i += 4 * lanes) {
      a0 = R::TakeIn(d, a0, hn::LoadU(d, x + i));
      a1 = R::TakeIn(d, a1, hn::LoadU(d, x + i + lanes));
      a2 = R::TakeIn(d, a2, hn::LoadU(d, x + i + 2 * lanes));
      a3 = R::TakeIn(d, a3, hn::LoadU(d, x + i + 3 * lanes));
    }
    for (; i + lanes <= end; i += lanes) a0 = R::TakeIn(d, a0, hn::LoadU(d, x + i));
    HWY_ALIGN T buffer[HWY_MAX_BYTES / sizeof(T)];
    hn::Store(R::Merge(d, R::Merge(d, a0, a1), R::Merge(d, a2, a3)), d, buffer);
    for (int64_t l = 0; l < lanes; ++l) result = R::Combine(result, static_cast<double>(buffer[l]));
    for (; i < end; ++i) result = R::TakeInOne(result, static_cast<double>(x[i]));
  }
  *static_cast<double*>(accumulator) = result;
}

template <class R, typename T>
void ReduceColumns(const void* x_bytes, int64_t rows, int64_t stride, int64_t columns, void* accumulators) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const T* x = static_cast<const T*>(x_bytes);
  double* acc = static_cast<double*>(accumulators);
  HWY_ALIGN T sums[kReduceColumns];
  const int64_t whole = columns - columns % lanes;
  for (int64_t r0 = 0; r0 < rows; r0 += kColumnBlock) {
    const int64_t r1 = std::min(rows, r0 + kColumnBlock);
    std::fill(sums, sums + columns, R::template Neutral<T>());
    int64_t r = r0;
    for (; r + 4 <= r1; r += 4) {
      const T* p0 = x + r * stride;
      const T* p1 = p0 + stride;
      const T* p2 = p1 + stride;
      const T* p3 = p2 + stride;
      for (int64_t c = 0; c < whole; c += lanes) {
        auto v = hn::Load(d, sums + c);
        v = R::TakeIn(d, v, hn::LoadU(d, p0 + c));
        v = R::TakeIn(d, v, hn::LoadU(d, p1 + c));
        v = R::TakeIn(d, v, hn::LoadU(d, p2 + c));
        v = R::TakeIn(d, v, hn::LoadU(d, p3 + c));
        hn::Store(v, d, sums + c);
      }
    }
    for (; r < r1; ++r) {
      const T* p = x + r * stride;
      for (int64_t c = 0; c < whole; c += lanes) {
        hn::Store(R::TakeIn(d, hn::Load(d, sums + c), hn::LoadU(d, p + c)), d, sums + c);
      }
    }
    for (int64_t c = 0; c < whole; ++c) acc[c] = R::Combine(acc[c], static_cast<double>(sums[c]));
    for (r = r0; r < r1; ++r) {
      const T* p = x + r * stride;
      for (int64_t c = whole; c < columns; ++c) acc[c] = R::TakeInOne(acc[c], static_cast<double>(p[c]));
    }
  }
}

template <class R>
void CombineAccumulators(void* accumulators, const void* others, int64_t n) {
  double* acc = static_cast<double*>(accumulators);
  const double* other = static_cast<const double*>(others);
  for (int64_t i = 0; i < n; ++i) acc[i] = R::Combine(acc[i], other[i]);
}

template <typename T, bool kMean>
void Finish(const void* accumulators, void* y_bytes, int64_t n, int64_t count) {
  const double* acc = static_cast<const double*>(accumulators);
  T* y = static_cast<T*>(y_bytes);
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<T>(kMean ? acc[i] / static_cast<double>(count) : acc[i]);
}

template <class R, typename T, bool kMean = false>
const ReduceLoops* Loops() {
  static constexpr ReduceLoops kLoops = {sizeof(double),       &InitAccumulators<R, T>, &ReduceRow<R, T>,
                                         &ReduceColumns<R, T>, &CombineAccumulators<R>, &Finish<T, kMean>};
  return &kLoops;
}

template <typename T>
const ReduceLoops* LoopsFor(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return Loops<SumReducer, T>();
    case ReduceOp::kMean:
      return Loops<SumReducer, T, true>();
    case ReduceOp::kProd:
      return Loops<ProdReducer, T>();
    case ReduceOp::kMax:
      return Loops<MaxReducer, T>();
    case ReduceOp::kMin:
      return Loops<MinReducer, T>();
    case ReduceOp::kSumOfSquares:
      return Loops<SumOfSquaresReducer, T>();
    default:
      return nullptr;
  }
}

// `is_double`: else float.
const ReduceLoops* RealReduceLoops(ReduceOp op, bool is_double) {
  return is_double ? LoopsFor<double>(op) : LoopsFor<float>(op);
}

}  // namespace HWY_NAMESPACE
}  // namespace nabla
HWY_AFTER_NAMESPACE();

#endif  // per-target guard

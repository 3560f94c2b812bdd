// Softmax and cross-entropies of single rows; compiled once per instruction set.
#if defined(NABLA_RUNTIME_KERNELS_SIMD_SOFTMAX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NABLA_RUNTIME_KERNELS_SIMD_SOFTMAX_INL_H_
#undef NABLA_RUNTIME_KERNELS_SIMD_SOFTMAX_INL_H_
#else
#define NABLA_RUNTIME_KERNELS_SIMD_SOFTMAX_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "nabla/runtime/kernels/simd_loops-inl.h"
#include "nabla/runtime/kernels/simd_math-inl.h"
#include "nabla/runtime/kernels/simd_softmax.h"

HWY_BEFORE_NAMESPACE();
namespace nabla {
namespace HWY_NAMESPACE {

// The first n elements, the other lanes `fill`.
template <class D, typename T>
HWY_INLINE hn::Vec<D> LoadFirstOr(D d, const T* p, size_t n, T fill) {
  HWY_ALIGN T buffer[HWY_MAX_BYTES / sizeof(T)];
  hn::Store(hn::Set(d, fill), d, buffer);
  std::memcpy(buffer, p, n * sizeof(T));
  return hn::Load(d, buffer);
}

// NaN is not looked for: it shows in the sum.
template <typename T>
T RowMax(const T* x, int64_t n) {
  const hn::ScalableTag<T> d;
  const size_t count = static_cast<size_t>(n);
  const size_t lanes = hn::Lanes(d);
  constexpr T kLeast = -std::numeric_limits<T>::infinity();
  auto most = hn::Set(d, kLeast);
  auto most2 = most;
  auto most3 = most;
  auto most4 = most;
  size_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    most = hn::Max(hn::LoadU(d, x + i), most);
    most2 = hn::Max(hn::LoadU(d, x + i + lanes), most2);
    most3 = hn::Max(hn::LoadU(d, x + i + 2 * lanes), most3);
    most4 = hn::Max(hn::LoadU(d, x + i + 3 * lanes), most4);
  }
  most = hn::Max(hn::Max(most, most2), hn::Max(most3, most4));
  for (; i + lanes <= count; i += lanes) most = hn::Max(hn::LoadU(d, x + i), most);
  if (i < count) most = hn::Max(LoadFirstOr(d, x + i, count - i, kLeast), most);
  return hn::GetLane(hn::MaxOfLanes(d, most));
}

// Rows of up to so many bytes fit the first-level cache with the next row, which is asked for while one is worked on:
// the processor's own prefetching stops at the end of every page.
constexpr int64_t kShortRow = 8192;

// The sum of e^(x - most); each term goes to y if `kStore`.
template <typename T, bool kStore>
T RowExpSum(const T* x, T most, T* y, int64_t n) {
  const hn::ScalableTag<T> d;
  const size_t count = static_cast<size_t>(n);
  const size_t lanes = hn::Lanes(d);
  const auto shift = hn::Set(d, most);
  const uintptr_t ahead = count * sizeof(T) <= kShortRow ? count * sizeof(T) : 0;
  auto sum = hn::Zero(d);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hwy::Prefetch(reinterpret_cast<const T*>(reinterpret_cast<uintptr_t>(x + i) + ahead));
    const auto e = SafeExp(d, hn::Sub(hn::LoadU(d, x + i), shift));
    if (kStore) hn::StoreU(e, d, y + i);
    sum = hn::Add(sum, e);
  }
  if (i < count) {
    constexpr T kNothing = -std::numeric_limits<T>::infinity();
    const auto v = LoadFirstOr(d, x + i, count - i, kNothing);
    // Lanes beyond the end stay -inf, whatever the maximum is.
    const auto shifted = hn::IfThenElse(hn::FirstN(d, count - i), hn::Sub(v, shift), v);
    const auto e = SafeExp(d, shifted);
    if (kStore) StoreFirst(e, d, y + i, count - i);
    sum = hn::Add(sum, e);
  }
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

// y = f(x), x being a vector of T.
template <typename T, class F>
void MapRow(const T* x, T* y, int64_t n, bool stream, F f) {
  const hn::ScalableTag<T> d;
  const size_t count = static_cast<size_t>(n);
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  if (stream) {
    i = ElementsToAlignment(d, y, count);
    if (i > 0) StoreFirst(f(LoadFirst(d, x, i)), d, y, i);
    for (; i + lanes <= count; i += lanes) hn::Stream(f(hn::LoadU(d, x + i)), d, y + i);
  } else {
    for (; i + lanes <= count; i += lanes) hn::StoreU(f(hn::LoadU(d, x + i)), d, y + i);
  }
  if (i < count) StoreFirst(f(LoadFirst(d, x + i, count - i)), d, y + i, count - i);
}

template <typename T>
void Scale(const T* x, T factor, T* y, int64_t n, bool stream) {
  const auto f = hn::Set(hn::ScalableTag<T>(), factor);
  MapRow(x, y, n, stream, [f](auto v) { return hn::Mul(v, f); });
}

template <typename T>
void SoftmaxRow(const T* x, T* y, int64_t n, bool stream) {
  const T most = RowMax(x, n);
  // The exponentials stay in the cache, if they fit.
  HWY_ALIGN T buffer[kShortRow / sizeof(T)];
  const bool is_short = n * static_cast<int64_t>(sizeof(T)) <= kShortRow;
  T* const exponentials = stream && is_short ? buffer : y;
  const T sum = RowExpSum<T, true>(x, most, exponentials, n);
  Scale(exponentials, 1 / sum, y, n, stream && is_short);
}

template <typename T>
void LogSoftmaxRow(const T* x, T* y, int64_t n, bool stream) {
  const T most = RowMax(x, n);
  const T log_sum = std::log(RowExpSum<T, false>(x, most, nullptr, n));
  const hn::ScalableTag<T> d;
  const auto shift = hn::Set(d, most);
  const auto log_sums = hn::Set(d, log_sum);
  MapRow(x, y, n, stream, [shift, log_sums](auto v) { return hn::Sub(hn::Sub(v, shift), log_sums); });
}

template <typename T>
T CrossEntropyRow(const T* x, const T* labels, T* backprop, int64_t n) {
  const T most = RowMax(x, n);
  const T sum = RowExpSum<T, false>(x, most, nullptr, n);
  const T log_sum = std::log(sum);
  const hn::ScalableTag<T> d;
  const size_t count = static_cast<size_t>(n);
  const size_t lanes = hn::Lanes(d);
  const auto shift = hn::Set(d, most);
  const auto log_sums = hn::Set(d, log_sum);
  const auto factor = hn::Set(d, 1 / sum);
  auto loss = hn::Zero(d);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto shifted = hn::Sub(hn::LoadU(d, x + i), shift);
    const auto label = hn::LoadU(d, labels + i);
    loss = hn::Add(loss, hn::Mul(label, hn::Sub(log_sums, shifted)));
    hn::StoreU(hn::Sub(hn::Mul(SafeExp(d, shifted), factor), label), d, backprop + i);
  }
  if (i < count) {
    const auto shifted = hn::Sub(LoadFirstOr(d, x + i, count - i, T(0)), shift);
    const auto label = LoadFirstOr(d, labels + i, count - i, T(0));
    const auto terms = hn::Mul(label, hn::Sub(log_sums, shifted));
    loss = hn::Add(loss, hn::IfThenElseZero(hn::FirstN(d, count - i), terms));
    StoreFirst(hn::Sub(hn::Mul(SafeExp(d, shifted), factor), label), d, backprop + i, count - i);
  }
  return hn::GetLane(hn::SumOfLanes(d, loss));
}

template <typename T>
T SparseCrossEntropyRow(const T* x, int64_t label, T* backprop, int64_t n) {
  const T most = RowMax(x, n);
  const T shifted = x[label] - most;
  const T sum = RowExpSum<T, true>(x, most, backprop, n);
  Scale(backprop, 1 / sum, backprop, n, false);
  backprop[label] -= 1;
  return std::log(sum) - shifted;
}

template <typename T>
const SoftmaxRows<T>& RowsFor() {
  static constexpr SoftmaxRows<T> kRows = {&SoftmaxRow<T>, &LogSoftmaxRow<T>, &CrossEntropyRow<T>,
                                           &SparseCrossEntropyRow<T>};
  return kRows;
}

const SoftmaxRows<float>& FloatSoftmaxRows() { return RowsFor<float>(); }
const SoftmaxRows<double>& DoubleSoftmaxRows() { return RowsFor<double>(); }

}  // namespace HWY_NAMESPACE
}  // namespace nabla
HWY_AFTER_NAMESPACE();

#endif  // per-target guard

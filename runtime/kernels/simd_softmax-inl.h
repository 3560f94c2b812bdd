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
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) most = hn::Max(hn::LoadU(d, x + i), most);
  if (i < count) most = hn::Max(LoadFirstOr(d, x + i, count - i, kLeast), most);
  return hn::GetLane(hn::MaxOfLanes(d, most));
}

// The sum of e^(x - most); each term goes to y if `kStore`.
template <typename T, bool kStore>
T RowExpSum(const T* x, T most, T* y, int64_t n) {
  const hn::ScalableTag<T> d;
  const size_t count = static_cast<size_t>(n);
  const size_t lanes = hn::Lanes(d);
  const auto shift = hn::Set(d, most);
  auto sum = hn::Zero(d);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
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

template <typename T>
void Scale(T* y, T factor, int64_t n) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto f = hn::Set(d, factor);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(hn::Mul(hn::LoadU(d, y + i), f), d, y + i);
  for (; i < n; ++i) y[i] *= factor;
}

template <typename T>
void SoftmaxRow(const T* x, T* y, int64_t n) {
  const T most = RowMax(x, n);
  const T sum = RowExpSum<T, true>(x, most, y, n);
  Scale(y, 1 / sum, n);
}

template <typename T>
void LogSoftmaxRow(const T* x, T* y, int64_t n) {
  const T most = RowMax(x, n);
  const T log_sum = std::log(RowExpSum<T, false>(x, most, nullptr, n));
  for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - most) - log_sum;
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
  Scale(backprop, 1 / sum, n);
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

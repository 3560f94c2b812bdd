// ArgMax and ArgMin: where along an axis the largest or smallest element stands; the first of equals. NaN is never
// it, unless there is nothing else (then 0).
#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nabla/runtime/dtype_switch.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/kernels/narrow.h"
#include "nabla/runtime/kernels/reduction_parts.h"

namespace nabla {
namespace {

template <typename T>
T Least() {
  if constexpr (std::numeric_limits<T>::has_infinity) return -std::numeric_limits<T>::infinity();
  return std::numeric_limits<T>::lowest();
}
template <typename T>
T Greatest() {
  if constexpr (std::numeric_limits<T>::has_infinity) return std::numeric_limits<T>::infinity();
  return std::numeric_limits<T>::max();
}

template <typename T, bool kMax>
bool Beats(T challenger, T best) {
  return kMax ? challenger > best : challenger < best;
}

// Of x[0], x[stride], …, x[(n - 1) * stride].
template <typename T, bool kMax>
int64_t ArgBest(const T* x, int64_t n, int64_t stride) {
  T best = kMax ? Least<T>() : Greatest<T>();
  int64_t at = 0;
  for (int64_t i = 0; i < n; ++i) {
    const T v = x[i * stride];
    if (Beats<T, kMax>(v, best)) {
      best = v;
      at = i;
    }
  }
  return at;
}

void StoreIndex(Tensor* y, int64_t at, int64_t value) {
  switch (y->dtype()) {
    case DType::kInt32:
      y->data<int32_t>()[at] = static_cast<int32_t>(value);
      return;
    case DType::kInt16:
      y->data<int16_t>()[at] = static_cast<int16_t>(value);
      return;
    case DType::kUInt16:
      y->data<uint16_t>()[at] = static_cast<uint16_t>(value);
      return;
    default:
      y->data<int64_t>()[at] = value;
  }
}

// x seen as [outer, n, inner], y as [outer, inner].
template <typename T, bool kMax>
void ArgBestAll(KernelContext& ctx, const T* x, int64_t outer, int64_t n, int64_t inner, Tensor* y) {
  if (inner == 1) {
    ctx.ParallelFor(outer, static_cast<double>(n), [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) StoreIndex(y, o, ArgBest<T, kMax>(x + o * n, n, 1));
    });
    return;
  }
  // Whole rows at a time, in chunks of columns, so that memory is read in order.
  constexpr int64_t kChunk = 256;
  const int64_t chunks = (inner + kChunk - 1) / kChunk;
  ctx.ParallelFor(outer * chunks, static_cast<double>(n * std::min(inner, kChunk)), [&](int64_t begin, int64_t end) {
    T best[kChunk];
    int64_t at[kChunk];
    for (int64_t i = begin; i < end; ++i) {
      const int64_t column = i % chunks * kChunk;
      const int64_t count = std::min(kChunk, inner - column);
      const T* rows = x + i / chunks * n * inner + column;
      std::fill(best, best + count, kMax ? Least<T>() : Greatest<T>());
      std::fill(at, at + count, 0);
      for (int64_t r = 0; r < n; ++r) {
        for (int64_t c = 0; c < count; ++c) {
          const T v = rows[r * inner + c];
          const bool better = Beats<T, kMax>(v, best[c]);
          best[c] = better ? v : best[c];
          at[c] = better ? r : at[c];
        }
      }
      for (int64_t c = 0; c < count; ++c) StoreIndex(y, i / chunks * inner + column + c, at[c]);
    }
  });
}

template <bool kMax>
absl::Status ArgMinMax(KernelContext& ctx) {
  const Tensor& x = ctx.input(0);
  const Tensor& dimension = ctx.input(1);
  if (dimension.num_elements() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("dimension must be a scalar, not of shape ", dimension.shape().ToString()));
  }
  int64_t axis = dimension.dtype() == DType::kInt64   ? *dimension.data<int64_t>()
                 : dimension.dtype() == DType::kInt16 ? *dimension.data<int16_t>()
                                                      : *dimension.data<int32_t>();
  if (axis < -x.rank() || axis >= x.rank()) {
    return absl::InvalidArgumentError(absl::StrCat("dimension ", axis, " is not in [", -x.rank(), ", ", x.rank(), ")"));
  }
  if (axis < 0) axis += x.rank();
  const int64_t n = x.dim(axis);
  int64_t outer = 1;
  int64_t inner = 1;
  for (int i = 0; i < x.rank(); ++i) {
    if (i < axis) outer *= x.dim(i);
    if (i > axis) inner *= x.dim(i);
  }
  if (n == 0) {
    return absl::InvalidArgumentError(absl::StrCat("axis ", axis, " of ", x.shape().ToString(), " is empty"));
  }
  Shape shape = x.shape();
  shape.RemoveDim(static_cast<int>(axis));
  NABLA_ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, shape));
  if (y->num_elements() == 0) return absl::OkStatus();
  if (x.dtype() == DType::kBool) {
    ArgBestAll<uint8_t, kMax>(ctx, x.data<uint8_t>(), outer, n, inner, y);
    return absl::OkStatus();
  }
  if (IsNarrow(x.dtype())) {
    NABLA_ASSIGN_OR_RETURN(Tensor wide, ctx.AllocateTemp(DType::kFloat, x.shape()));
    NarrowToFloat(x.dtype(), x.raw_data(), wide.data<float>(), x.num_elements());
    ArgBestAll<float, kMax>(ctx, wide.data<float>(), outer, n, inner, y);
    return absl::OkStatus();
  }
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    ArgBestAll<T, kMax>(ctx, x.data<T>(), outer, n, inner, y);
    return absl::OkStatus();
  };
  return IsInteger(x.dtype()) ? SwitchInteger(x.dtype(), run) : SwitchFloatDouble(x.dtype(), run);
}

}  // namespace

void RegisterArgMinMaxKernels(KernelRegistry& registry) {
  registry.Add("ArgMax", &ArgMinMax<true>);
  registry.Add("ArgMin", &ArgMinMax<false>);
}

}  // namespace nabla

#include "nabla/runtime/kernels/indices.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "nabla/runtime/dtype_switch.h"
#include "nabla/runtime/kernels/copy.h"

namespace nabla {
namespace {

constexpr int64_t kNone = std::numeric_limits<int64_t>::max();

// Keeps the smallest value that any thread reports, so that the error does not depend on which came first.
void KeepSmallest(std::atomic<int64_t>* smallest, int64_t value) {
  int64_t seen = smallest->load(std::memory_order_relaxed);
  while (value < seen && !smallest->compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
  }
}

template <typename T>
absl::StatusOr<Tensor> Widen(const Tensor& indices) {
  NABLA_ASSIGN_OR_RETURN(Tensor wide, Tensor::Allocate(DType::kInt32, indices.shape()));
  const absl::Span<const T> values = indices.flat<T>();
  std::copy(values.begin(), values.end(), wide.data<int32_t>());
  return wide;
}

}  // namespace

absl::StatusOr<Tensor> WideIndices(const Tensor& indices) {
  switch (indices.dtype()) {
    case DType::kInt32:
    case DType::kInt64:
      return indices;
    case DType::kInt16:
      return Widen<int16_t>(indices);
    case DType::kUInt16:
      return Widen<uint16_t>(indices);
    case DType::kInt8:
      return Widen<int8_t>(indices);
    case DType::kUInt8:
      return Widen<uint8_t>(indices);
    default:
      return UnsupportedDType(indices.dtype());
  }
}

std::string PositionOf(const Shape& shape, int64_t element) {
  absl::InlinedVector<int64_t, 8> position(shape.rank());
  for (int i = shape.rank() - 1; i >= 0; --i) {
    position[i] = element % shape.dim(i);
    element /= shape.dim(i);
  }
  return absl::StrJoin(position, ",");
}

absl::Status CheckIndices(KernelContext& ctx, const Tensor& indices, int64_t bound, absl::string_view what,
                          bool negative_ok) {
  return SwitchIndex(indices.dtype(), [&](auto zero) -> absl::Status {
    using T = decltype(zero);
    const T* const values = indices.data<T>();
    const auto is_bad = [bound, negative_ok](T value) { return value >= bound || (value < 0 && !negative_ok); };
    std::atomic<int64_t> first{kNone};
    ctx.ParallelFor(indices.num_elements(), 0.3, [&](int64_t begin, int64_t end) {
      bool bad = false;
      for (int64_t i = begin; i < end; ++i) bad |= is_bad(values[i]);
      if (bad) KeepSmallest(&first, std::find_if(values + begin, values + end, is_bad) - values);
    });
    if (first == kNone) return absl::OkStatus();
    const std::string at = indices.rank() == 0 ? "" : absl::StrCat("[", PositionOf(indices.shape(), first), "]");
    return absl::InvalidArgumentError(absl::StrCat(what, at, " = ", values[first], " is not in [0, ", bound, ")"));
  });
}

absl::Status TupleOffsets(KernelContext& ctx, const Tensor& indices, const Shape& shape, bool ignore_bad,
                          int64_t* offsets) {
  return SwitchIndex(indices.dtype(), [&](auto zero) -> absl::Status {
    using T = decltype(zero);
    const int depth = static_cast<int>(indices.dim(indices.rank() - 1));
    const int64_t count = depth == 0 ? 0 : indices.num_elements() / depth;
    const T* const values = indices.data<T>();
    const auto strides = StridesOf(shape);
    std::atomic<int64_t> first{kNone};
    ctx.ParallelFor(count, 0.5 + depth, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* const tuple = values + i * depth;
        int64_t offset = 0;
        bool good = true;
        for (int k = 0; k < depth; ++k) {
          good &= tuple[k] >= 0 && tuple[k] < shape.dim(k);
          offset = good ? offset + tuple[k] * strides[k] : 0;
        }
        offsets[i] = good ? offset : -1;
        if (!good && !ignore_bad) KeepSmallest(&first, i);
      }
    });
    if (first == kNone) return absl::OkStatus();
    Shape outer = indices.shape();
    outer.RemoveDim(outer.rank() - 1);
    const std::string at = outer.rank() == 0 ? "" : absl::StrCat("[", PositionOf(outer, first), "]");
    return absl::InvalidArgumentError(
        absl::StrCat("indices", at, " = [", absl::StrJoin(absl::MakeConstSpan(values + first * depth, depth), ", "),
                     "] does not index into shape ", shape.ToString()));
  });
}

}  // namespace nabla

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "nabla/runtime/dtype_switch.h"
#include "nabla/runtime/kernels/arguments.h"
#include "nabla/runtime/kernels/binary_functors.h"
#include "nabla/runtime/kernels/copy.h"
#include "nabla/runtime/kernels/gather_scatter.h"
#include "nabla/runtime/kernels/indices.h"

namespace nabla {
namespace {

// Slices of this many bytes are divided among threads by columns, shorter ones by the part of the target they go to.
constexpr int64_t kWideSlice = 2048;

struct Update {
  template <typename T>
  static void Apply(T& target, const T& value) {
    target = value;
  }
};
struct Add {
  template <typename T>
  static void Apply(T& target, const T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      target = target || value;
    } else if constexpr (std::is_same_v<T, std::string>) {
      target += value;
    } else if constexpr (std::is_integral_v<T>) {
      using U = std::make_unsigned_t<T>;
      target = static_cast<T>(static_cast<U>(target) + static_cast<U>(value));
    } else {
      using C = ComputeType<T>;
      target = static_cast<T>(static_cast<C>(target) + static_cast<C>(value));
    }
  }
};
struct Sub {
  template <typename T>
  static void Apply(T& target, const T& value) {
    if constexpr (std::is_integral_v<T>) {
      using U = std::make_unsigned_t<T>;
      target = static_cast<T>(static_cast<U>(target) - static_cast<U>(value));
    } else {
      using C = ComputeType<T>;
      target = static_cast<T>(static_cast<C>(target) - static_cast<C>(value));
    }
  }
};
// The elementwise ops' functions of one element, narrow types by way of float.
template <typename ForIntegers, typename ForOthers>
struct Combine {
  template <typename T>
  static void Apply(T& target, const T& value) {
    if constexpr (std::is_integral_v<T>) {
      target = ForIntegers::Apply(target, value, 0.0);
    } else {
      using C = ComputeType<T>;
      target = static_cast<T>(ForOthers::Apply(static_cast<C>(target), static_cast<C>(value), 0.0));
    }
  }
};
struct Times {
  template <typename C>
  static C Apply(C a, C b, double) {
    return a * b;
  }
};
struct Over {
  template <typename C>
  static C Apply(C a, C b, double) {
    return a / b;
  }
};
// A NaN on either side stays.
struct Lesser {
  template <typename C>
  static C Apply(C a, C b, double) {
    return b < a || b != b ? b : a;
  }
};
struct Greater {
  template <typename C>
  static C Apply(C a, C b, double) {
    return a < b || b != b ? b : a;
  }
};
using Mul = Combine<binary_functors::IntMul, Times>;
using Div = Combine<binary_functors::IntTruncateDiv, Over>;
using Min = Combine<binary_functors::IntMinimum, Lesser>;
using Max = Combine<binary_functors::IntMaximum, Greater>;

// `count` slices of `slice` elements, the i-th of which goes to target + offsets[i] (negative: nowhere). A
// `repeated` update is one element for all.
template <typename Op, typename T>
void ApplySlices(KernelContext& ctx, const int64_t* offsets, int64_t count, int64_t slice, const T* updates,
                 bool repeated, T* target, int64_t target_size) {
  const auto apply = [&](int64_t i, int64_t begin, int64_t end) {
    T* const to = target + offsets[i];
    if (repeated) {
      for (int64_t k = begin; k < end; ++k) Op::Apply(to[k], *updates);
    } else {
      const T* const from = updates + i * slice;
      for (int64_t k = begin; k < end; ++k) Op::Apply(to[k], from[k]);
    }
  };
  const double slice_cost = 2 + 0.5 * static_cast<double>(slice);
  const double cost = slice_cost * static_cast<double>(count);
  // Whatever the division of labour, each element of the target sees its updates in order.
  if (ctx.num_threads() == 1 || cost < 40'000) {
    for (int64_t i = 0; i < count; ++i) {
      if (offsets[i] >= 0) apply(i, 0, slice);
    }
  } else if (slice * static_cast<int64_t>(sizeof(T)) >= kWideSlice) {
    constexpr int64_t kColumns = std::max<int64_t>(1, 256 / sizeof(T));
    const int64_t parts = (slice + kColumns - 1) / kColumns;
    ctx.ParallelFor(parts, cost / static_cast<double>(parts), [&](int64_t begin, int64_t end) {
      for (int64_t i = 0; i < count; ++i) {
        if (offsets[i] >= 0) apply(i, begin * kColumns, std::min(slice, end * kColumns));
      }
    });
  } else {
    const int64_t parts = ctx.num_threads();
    ctx.ParallelFor(parts, cost / static_cast<double>(parts), [&](int64_t begin, int64_t end) {
      // Every thread walks over all the offsets and does those in its part of the target.
      const auto bound = [&](int64_t part) {
        return static_cast<int64_t>(static_cast<__int128>(target_size) * part / parts);
      };
      const int64_t from = std::max<int64_t>(0, bound(begin)), to = bound(end);
      for (int64_t i = 0; i < count; ++i) {
        if (offsets[i] >= from && offsets[i] < to) apply(i, 0, slice);
      }
    });
  }
}

absl::Status CheckDivisors(const Tensor& divisors) {
  if (!IsInteger(divisors.dtype())) return absl::OkStatus();
  return SwitchInteger(divisors.dtype(), [&](auto zero) -> absl::Status {
    const auto values = divisors.flat<decltype(zero)>();
    if (std::find(values.begin(), values.end(), zero) == values.end()) return absl::OkStatus();
    return absl::InvalidArgumentError("updates divide by an integer 0");
  });
}

absl::Status Apply(KernelContext& ctx, ScatterMode mode, const int64_t* offsets, int64_t count, int64_t slice,
                   const Tensor& updates, bool repeated, Tensor* target) {
  if (count == 0 || slice == 0) return absl::OkStatus();
  const auto apply = [&](auto op, auto zero) -> absl::Status {
    using T = decltype(zero);
    ApplySlices<decltype(op), T>(ctx, offsets, count, slice, updates.data<T>(), repeated, target->data<T>(),
                                 target->num_elements());
    return absl::OkStatus();
  };
  switch (mode) {
    case ScatterMode::kUpdate:
      return SwitchMovable(target->dtype(), [&](auto zero) { return apply(Update(), zero); });
    case ScatterMode::kAdd:
      if (target->dtype() == DType::kBool) return apply(Add(), false);
      if (target->dtype() == DType::kString) return apply(Add(), std::string());
      return SwitchNumeric(target->dtype(), [&](auto zero) { return apply(Add(), zero); });
    case ScatterMode::kSub:
      return SwitchNumeric(target->dtype(), [&](auto zero) { return apply(Sub(), zero); });
    case ScatterMode::kMul:
      return SwitchNumeric(target->dtype(), [&](auto zero) { return apply(Mul(), zero); });
    case ScatterMode::kDiv:
      NABLA_RETURN_IF_ERROR(CheckDivisors(updates));
      return SwitchNumeric(target->dtype(), [&](auto zero) { return apply(Div(), zero); });
    case ScatterMode::kMin:
      return SwitchReal(target->dtype(), [&](auto zero) { return apply(Min(), zero); });
    case ScatterMode::kMax:
      return SwitchReal(target->dtype(), [&](auto zero) { return apply(Max(), zero); });
  }
  return absl::InternalError("unknown scatter mode");
}

// What `updates` must have as shape: indices' dimensions but the last `drop`, then target's from `from` on.
absl::Status CheckUpdates(const Shape& indices, int drop, const Shape& target, int from, const Shape& updates) {
  Shape expected = Shape::Scalar();
  for (int i = 0; i < indices.rank() - drop; ++i) expected.AddDim(indices.dim(i));
  for (int i = from; i < target.rank(); ++i) expected.AddDim(target.dim(i));
  if (updates == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("updates must have shape ", expected.ToString(), ", has ", updates.ToString()));
}

// Offsets of whole rows; negative rows stay negative.
absl::StatusOr<Tensor> RowOffsets(KernelContext& ctx, const Tensor& rows, int64_t slice) {
  NABLA_ASSIGN_OR_RETURN(Tensor offsets, ctx.AllocateTemp(DType::kInt64, Shape({rows.num_elements()})));
  int64_t* const out = offsets.data<int64_t>();
  NABLA_RETURN_IF_ERROR(SwitchIndex(rows.dtype(), [&](auto zero) -> absl::Status {
    using T = decltype(zero);
    const T* const in = rows.data<T>();
    ctx.ParallelFor(rows.num_elements(), 0.5, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) out[i] = in[i] < 0 ? -1 : in[i] * slice;
    });
    return absl::OkStatus();
  }));
  return offsets;
}

}  // namespace

absl::Status ScatterTuples(KernelContext& ctx, ScatterMode mode, const Tensor& narrow_indices, const Tensor& updates,
                           bool ignore_bad_indices, Tensor* target) {
  NABLA_ASSIGN_OR_RETURN(const Tensor indices, WideIndices(narrow_indices));
  if (indices.rank() == 0) return absl::InvalidArgumentError("indices must have rank 1 or more, is a scalar");
  const int64_t depth = indices.dim(indices.rank() - 1);
  if (depth > target->rank()) {
    return absl::InvalidArgumentError(absl::StrCat("indices ", indices.shape().ToString(), " have tuples of ", depth,
                                                   ", but the target has only ", target->rank(), " dimensions"));
  }
  NABLA_RETURN_IF_ERROR(CheckUpdates(indices.shape(), 1, target->shape(), static_cast<int>(depth), updates.shape()));
  const int64_t count = DimProduct(indices.shape(), 0, indices.rank() - 1);
  const int64_t slice = DimProduct(target->shape(), static_cast<int>(depth), target->rank());
  NABLA_ASSIGN_OR_RETURN(Tensor offsets, ctx.AllocateTemp(DType::kInt64, Shape({count})));
  int64_t* const offset = offsets.data<int64_t>();
  if (depth > 0) {
    NABLA_RETURN_IF_ERROR(TupleOffsets(ctx, indices, target->shape(), ignore_bad_indices, offset));
  } else {
    std::fill(offset, offset + count, 0);
  }
  return Apply(ctx, mode, offset, count, slice, updates, /*repeated=*/false, target);
}

absl::Status ScatterRows(KernelContext& ctx, ScatterMode mode, const Tensor& narrow_indices, const Tensor& updates,
                         Tensor* target) {
  NABLA_ASSIGN_OR_RETURN(const Tensor indices, WideIndices(narrow_indices));
  if (target->rank() == 0) return absl::InvalidArgumentError("the variable must have rank 1 or more, is a scalar");
  const bool repeated = updates.rank() == 0;
  if (!repeated) {
    NABLA_RETURN_IF_ERROR(CheckUpdates(indices.shape(), 0, target->shape(), 1, updates.shape()));
  }
  NABLA_RETURN_IF_ERROR(CheckIndices(ctx, indices, target->dim(0)));
  const int64_t slice = DimProduct(target->shape(), 1, target->rank());
  NABLA_ASSIGN_OR_RETURN(const Tensor offsets, RowOffsets(ctx, indices, slice));
  return Apply(ctx, mode, offsets.data<int64_t>(), indices.num_elements(), slice, updates, repeated, target);
}

absl::Status AddSegments(KernelContext& ctx, const Tensor& segments, const Tensor& data, Tensor* target) {
  NABLA_RETURN_IF_ERROR(CheckIndices(ctx, segments, target->dim(0), "segment_ids", /*negative_ok=*/true));
  const int64_t slice = DimProduct(target->shape(), 1, target->rank());
  NABLA_ASSIGN_OR_RETURN(const Tensor offsets, RowOffsets(ctx, segments, slice));
  return Apply(ctx, ScatterMode::kAdd, offsets.data<int64_t>(), segments.num_elements(), slice, data,
               /*repeated=*/false, target);
}

}  // namespace nabla

// Select and SelectV2: one tensor's elements or another's, by a condition.
#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "nabla/runtime/dtype_switch.h"
#include "nabla/runtime/kernels/broadcast.h"
#include "nabla/runtime/kernels/kernels.h"

namespace nabla {
namespace {

constexpr double kCost = 0.5;

// y[i] = condition[i * c] ? t[i * ts] : e[i * es]; steps are 0 or 1.
template <typename T>
void Choose(const bool* condition, int64_t c, const T* t, int64_t ts, const T* e, int64_t es, T* y, int64_t n) {
  if (c == 0) {
    const T* from = *condition ? t : e;
    const int64_t step = *condition ? ts : es;
    if (step == 1) {
      if (from != y) std::copy(from, from + n, y);
    } else {
      const T value = *from;
      std::fill(y, y + n, value);
    }
    return;
  }
  if (ts == 1 && es == 1) {
    for (int64_t i = 0; i < n; ++i) y[i] = condition[i] ? t[i] : e[i];
    return;
  }
  for (int64_t i = 0; i < n; ++i) y[i] = condition[i] ? t[i * ts] : e[i * es];
}

// The output: in the buffer of whichever of t (input 1) and e (input 2) has its shape.
absl::StatusOr<Tensor*> AllocateLike(KernelContext& ctx, const Shape& shape) {
  const bool t = ctx.input(1).shape() == shape;
  const bool e = ctx.input(2).shape() == shape;
  if (t && e) return ctx.ForwardOrAllocateOutput({1, 2}, 0, shape);
  if (t) return ctx.ForwardOrAllocateOutput({1}, 0, shape);
  if (e) return ctx.ForwardOrAllocateOutput({2}, 0, shape);
  return ctx.AllocateOutput(0, shape);
}

// `rows` conditions, each for `row` elements.
template <typename T>
absl::Status ChooseRows(KernelContext& ctx, int64_t rows, int64_t row) {
  NABLA_ASSIGN_OR_RETURN(Tensor* const y, AllocateLike(ctx, ctx.input(1).shape()));
  const bool* condition = ctx.input(0).data<bool>();
  const T* t = ctx.input(1).data<T>();
  const T* e = ctx.input(2).data<T>();
  T* out = y->data<T>();
  if (row == 1) {
    ctx.ParallelFor(rows, kCost, [&](int64_t begin, int64_t end) {
      Choose(condition + begin, 1, t + begin, 1, e + begin, 1, out + begin, end - begin);
    });
    return absl::OkStatus();
  }
  ctx.ParallelFor(rows, kCost * static_cast<double>(row), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Choose(condition + i, 0, t + i * row, 1, e + i * row, 1, out + i * row, row);
    }
  });
  return absl::OkStatus();
}

// The condition is a scalar, has the shape of both others, or is a vector that chooses among their rows.
absl::Status Select(KernelContext& ctx) {
  const Shape& condition = ctx.input(0).shape();
  const Shape& shape = ctx.input(1).shape();
  if (shape != ctx.input(2).shape()) {
    return absl::InvalidArgumentError(absl::StrCat("the values to select from must have one shape, but have ",
                                                   shape.ToString(), " and ", ctx.input(2).shape().ToString()));
  }
  const int64_t n = ctx.input(1).num_elements();
  int64_t rows = 0;
  if (condition == shape) {
    rows = n;
  } else if (condition.rank() == 0) {
    rows = 1;
  } else if (condition.rank() == 1 && shape.rank() >= 1 && condition.dim(0) == shape.dim(0)) {
    rows = shape.dim(0);
  } else {
    return absl::InvalidArgumentError(absl::StrCat(
        "the condition must be a scalar, have the shape of the values, or be a vector of as many elements as they have "
        "rows; it has the shape ",
        condition.ToString(), ", they have ", shape.ToString()));
  }
  return SwitchMovable(ctx.input(1).dtype(),
                       [&](auto zero) { return ChooseRows<decltype(zero)>(ctx, rows, rows == 0 ? 0 : n / rows); });
}

template <typename T>
absl::Status ChooseBroadcast(KernelContext& ctx, const Broadcast& broadcast) {
  NABLA_ASSIGN_OR_RETURN(Tensor* const y, AllocateLike(ctx, broadcast.shape()));
  const bool* condition = ctx.input(0).data<bool>();
  const T* t = ctx.input(1).data<T>();
  const T* e = ctx.input(2).data<T>();
  T* out = y->data<T>();
  const int64_t steps[] = {broadcast.is_scalar(0) ? 0 : 1, broadcast.is_scalar(1) ? 0 : 1,
                           broadcast.is_scalar(2) ? 0 : 1};
  const double cost = kCost + 5.0 / static_cast<double>(std::max<int64_t>(broadcast.run_length(), 1));
  ctx.ParallelFor(broadcast.num_elements(), cost, [&](int64_t begin, int64_t end) {
    broadcast.ForEachRun(begin, end, [&](const int64_t* at, int64_t to, int64_t n) {
      Choose(condition + at[0], steps[0], t + at[1], steps[1], e + at[2], steps[2], out + to, n);
    });
  });
  return absl::OkStatus();
}

absl::Status SelectV2(KernelContext& ctx) {
  const Shape& shape = ctx.input(1).shape();
  const int64_t n = ctx.input(1).num_elements();
  if (ctx.input(0).shape() == shape && ctx.input(2).shape() == shape) {
    return SwitchMovable(ctx.input(1).dtype(), [&](auto zero) { return ChooseRows<decltype(zero)>(ctx, n, 1); });
  }
  NABLA_ASSIGN_OR_RETURN(const Broadcast broadcast,
                         Broadcast::Make({&ctx.input(0).shape(), &shape, &ctx.input(2).shape()}));
  return SwitchMovable(ctx.input(1).dtype(),
                       [&](auto zero) { return ChooseBroadcast<decltype(zero)>(ctx, broadcast); });
}

}  // namespace

void RegisterSelectKernels(KernelRegistry& registry) {
  registry.Add("Select", &Select);
  registry.Add("SelectV2", &SelectV2);
}

}  // namespace nabla

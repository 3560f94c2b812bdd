// Cumsum and Cumprod: running sums and products along an axis.
#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "nabla/runtime/dtype_switch.h"
#include "nabla/runtime/kernels/binary_functors.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/kernels/reduction_parts.h"

namespace nabla {
namespace {

template <typename T, bool kProduct>
T Combine(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if constexpr (kProduct) return binary_functors::IntMul::Apply(a, b, 0);
    return binary_functors::IntAdd::Apply(a, b, 0);
  } else {
    if constexpr (kProduct) return a * b;
    return a + b;
  }
}

struct ScanOptions {
  bool exclusive;  // element i gathers those before i, not i itself
  bool reverse;    // from the end
};

// Along x[0], x[stride], …, for `columns` neighbours at once.
template <typename T, bool kProduct>
void Scan(const T* x, T* y, int64_t n, int64_t stride, int64_t columns, ScanOptions options) {
  using C = ComputeType<T>;
  for (int64_t c = 0; c < columns; ++c) {
    C running = kProduct ? C(1) : C(0);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t at = (options.reverse ? n - 1 - i : i) * stride + c;
      const C next = Combine<C, kProduct>(running, static_cast<C>(x[at]));
      y[at] = static_cast<T>(options.exclusive ? running : next);
      running = next;
    }
  }
}

template <bool kProduct>
class ScanKernel : public Kernel {
 public:
  explicit ScanKernel(const KernelInit& init) : options_{init.attr<bool>("exclusive"), init.attr<bool>("reverse")} {}

  absl::Status Compute(KernelContext& ctx) const override {
    const Tensor& x = ctx.input(0);
    const Tensor& axis_tensor = ctx.input(1);
    if (axis_tensor.rank() != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("axis must be a scalar, not of shape ", axis_tensor.shape().ToString()));
    }
    int64_t axis = axis_tensor.dtype() == DType::kInt64 ? *axis_tensor.data<int64_t>() : *axis_tensor.data<int32_t>();
    if (axis < -x.rank() || axis >= x.rank()) {
      return absl::InvalidArgumentError(absl::StrCat("axis ", axis, " is not in [", -x.rank(), ", ", x.rank(), ")"));
    }
    if (axis < 0) axis += x.rank();
    const int64_t n = x.dim(axis);
    int64_t inner = 1;
    for (int i = static_cast<int>(axis) + 1; i < x.rank(); ++i) inner *= x.dim(i);
    NABLA_ASSIGN_OR_RETURN(Tensor* const y, ctx.ForwardOrAllocateOutput({0}, 0, x.shape()));
    if (x.num_elements() == 0) return absl::OkStatus();
    const int64_t outer = x.num_elements() / n / inner;
    return SwitchNumeric(x.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const T* from = x.data<T>();
      T* to = y->data<T>();
      ctx.ParallelFor(outer * inner, static_cast<double>(n), [&](int64_t begin, int64_t end) {
        while (begin < end) {  // columns of one outer index at a time
          const int64_t o = begin / inner;
          const int64_t c = begin % inner;
          const int64_t columns = std::min(inner - c, end - begin);
          const int64_t at = o * n * inner + c;
          Scan<T, kProduct>(from + at, to + at, n, inner, columns, options_);
          begin += columns;
        }
      });
      return absl::OkStatus();
    });
  }

 private:
  ScanOptions options_;
};

}  // namespace

void RegisterScanKernels(KernelRegistry& registry) {
  registry.Add<ScanKernel<false>>("Cumsum");
  registry.Add<ScanKernel<true>>("Cumprod");
}

}  // namespace nabla

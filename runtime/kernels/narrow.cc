#include "nabla/runtime/kernels/narrow.h"

namespace nabla {
namespace {

template <typename From, typename To>
void Convert(const void* x_bytes, void* y_bytes, int64_t n) {
  const From* x = static_cast<const From*>(x_bytes);
  To* y = static_cast<To*>(y_bytes);
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<To>(x[i]);
}

}  // namespace

void NarrowToFloat(DType dtype, const void* x, float* y, int64_t n) {
  dtype == DType::kHalf ? Convert<Half, float>(x, y, n) : Convert<BFloat16, float>(x, y, n);
}

void FloatToNarrow(DType dtype, const float* x, void* y, int64_t n) {
  dtype == DType::kHalf ? Convert<float, Half>(x, y, n) : Convert<float, BFloat16>(x, y, n);
}

}  // namespace nabla

// half and bfloat16 are computed in float: arrays are converted a block at a time. Thread-safe, no state.
#ifndef NABLA_RUNTIME_KERNELS_NARROW_H_
#define NABLA_RUNTIME_KERNELS_NARROW_H_

#include <cstdint>

#include "nabla/graph/dtype.h"

namespace nabla {

// A block to convert at a time: small enough for the first-level cache with its float copies.
inline constexpr int64_t kNarrowBlock = 512;

inline bool IsNarrow(DType dtype) { return dtype == DType::kHalf || dtype == DType::kBFloat16; }

// `dtype` is kHalf or kBFloat16. Converting to it rounds to nearest even.
void NarrowToFloat(DType dtype, const void* x, float* y, int64_t n);
void FloatToNarrow(DType dtype, const float* x, void* y, int64_t n);

}  // namespace nabla

#endif  // NABLA_RUNTIME_KERNELS_NARROW_H_

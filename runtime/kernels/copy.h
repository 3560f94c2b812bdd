// Moving elements about: the one engine behind Slice, Concat, Transpose, Tile, Pad and their kin.
#ifndef NABLA_RUNTIME_KERNELS_COPY_H_
#define NABLA_RUNTIME_KERNELS_COPY_H_

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "nabla/graph/dtype.h"
#include "nabla/graph/shape.h"
#include "nabla/runtime/kernel.h"

namespace nabla {

// A nest of loops over elements: for each index vector i within `sizes`, element src[sum i*src_stride] goes to
// dst[sum i*dst_stride]. Strides count elements; a source stride may be 0 (repeats) or negative (goes back). No two
// iterations may write one element.
struct CopyLoops {
  struct Loop {
    int64_t size;
    int64_t src_stride;
    int64_t dst_stride;
  };
  absl::InlinedVector<Loop, 6> loops;  // outermost first

  void Add(int64_t size, int64_t src_stride, int64_t dst_stride) { loops.push_back({size, src_stride, dst_stride}); }
};

// Runs the loops for elements of `dtype` (any that can be stored), on the pool where that is worth it. `src` and
// `dst` point at the elements of the all-zero index; the buffers must not overlap. Fails only for an unknown dtype.
// Loops of size 1 and those that continue each other are merged first; runs are copied with memcpy, transposing pairs
// of loops in blocks that fit the cache.
absl::Status CopyElements(KernelContext& ctx, DType dtype, CopyLoops loops, const void* src, void* dst);

// `count` consecutive elements.
absl::Status CopyRun(KernelContext& ctx, DType dtype, int64_t count, const void* src, void* dst);

// Sets `count` consecutive elements to *value.
absl::Status FillElements(KernelContext& ctx, DType dtype, int64_t count, const void* value, void* dst);
// Sets them to 0, false or "".
absl::Status ZeroElements(KernelContext& ctx, DType dtype, int64_t count, void* dst);

inline const void* ElementAt(DType dtype, const void* base, int64_t index) {
  return static_cast<const char*>(base) + index * static_cast<int64_t>(DTypeSize(dtype));
}
inline void* ElementAt(DType dtype, void* base, int64_t index) {
  return static_cast<char*>(base) + index * static_cast<int64_t>(DTypeSize(dtype));
}

// Row-major strides of a fully defined shape.
absl::InlinedVector<int64_t, 6> StridesOf(const Shape& shape);

}  // namespace nabla

#endif  // NABLA_RUNTIME_KERNELS_COPY_H_

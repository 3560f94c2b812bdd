// The meaning of a StridedSlice: five bit masks and three index vectors, resolved against an input shape. Shape rules,
// constant folding and kernels share it.
#ifndef NABLA_GRAPH_STRIDED_SLICE_H_
#define NABLA_GRAPH_STRIDED_SLICE_H_

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "nabla/graph/attr.h"
#include "nabla/graph/shape.h"

namespace nabla {

// Bit i of each mask is about entry i of the index vectors.
struct StridedSliceMasks {
  int64_t begin = 0;        // begin[i] is ignored: as far as it goes
  int64_t end = 0;          // the same for end[i]
  int64_t ellipsis = 0;     // entry i stands for all dimensions that no other entry names; at most one bit
  int64_t new_axis = 0;     // entry i inserts a dimension of 1
  int64_t shrink_axis = 0;  // entry i is one index, and its dimension disappears
};

// From the attrs begin_mask, end_mask, …; absent ones are 0.
StridedSliceMasks MasksFromAttrs(const AttrMap& attrs);

struct ResolvedSlice {
  // What is taken from each dimension of the input: indices begin, begin + stride, …, `size` of them. Where the size
  // cannot be known it is kUnknownDim; where begin cannot be known, begins_known is false and the begins mean nothing.
  struct Dimension {
    int64_t begin = 0;
    int64_t stride = 1;
    int64_t size = kUnknownDim;
  };
  absl::InlinedVector<Dimension, 4> dims;
  bool begins_known = true;
  // The shape of the result, with axes inserted and dropped. Its elements are those of `dims` in the same order.
  Shape output;
  // Every dimension is taken whole and in order, so the result has the input's elements.
  bool is_whole = false;
};

// `begin` and `end` may be empty while `strides` is not, if their values are unknown. The input's rank must be known,
// its dimensions need not be. InvalidArgument for lengths that differ, more than 32 entries or more entries than
// dimensions, a zero stride, two ellipses, a shrunk index that is out of range or has a negative stride.
absl::StatusOr<ResolvedSlice> ResolveStridedSlice(const Shape& input, absl::Span<const int64_t> begin,
                                                  absl::Span<const int64_t> end, absl::Span<const int64_t> strides,
                                                  const StridedSliceMasks& masks);

}  // namespace nabla

#endif  // NABLA_GRAPH_STRIDED_SLICE_H_

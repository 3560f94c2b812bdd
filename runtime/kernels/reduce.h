// Reductions: which elements meet in an output element, and in what order they are combined.
//
// The order depends on the shape only, never on the number of threads: rows are cut into blocks of a fixed size, each
// block is accumulated in vector lanes, the blocks' results are combined in double (or int64) from the first to the
// last. Besides making results reproducible this keeps float sums accurate: an error grows with the block, not with
// the row.
#ifndef NABLA_RUNTIME_KERNELS_REDUCE_H_
#define NABLA_RUNTIME_KERNELS_REDUCE_H_

#include <cstddef>
#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "nabla/graph/dtype.h"
#include "nabla/graph/shape.h"
#include "nabla/runtime/kernel.h"

namespace nabla {

// The longest row of accumulators that ReduceLoops::columns is called with.
inline constexpr int64_t kReduceColumns = 1024;

// One reduction of one dtype, on arrays. Accumulators are double (for float and double), int64_t, uint64_t or
// complex<double>.
struct ReduceLoops {
  size_t accumulator_size;
  // The value of an empty reduction.
  void (*init)(void* accumulators, int64_t n);
  // *accumulator combined with x[0 … n)
  void (*row)(const void* x, int64_t n, void* accumulator);
  // accumulators[c] combined with x[r * stride + c] for all r < rows, c < columns <= kReduceColumns
  void (*columns)(const void* x, int64_t rows, int64_t stride, int64_t columns, void* accumulators);
  // accumulators[i] combined with others[i]
  void (*combine)(void* accumulators, const void* others, int64_t n);
  // y[i] = accumulators[i], or for a mean that over `count`, the number of elements that were combined
  void (*finish)(const void* accumulators, void* y, int64_t n, int64_t count);
};

enum class ReduceOp : uint8_t { kSum, kMean, kProd, kMax, kMin, kAll, kAny, kSumOfSquares };

// nullptr if the op does not do that dtype. half and bfloat16 have none: Reduce converts them to float.
const ReduceLoops* FindReduceLoops(ReduceOp op, DType dtype);

// Dimensions of a tensor to reduce over.
using ReduceAxes = absl::InlinedVector<bool, 8>;

// Writes the reduction of x over the axes into output 0 of ctx, whose shape is `output_shape` (that of x without the
// axes, or with 1 there). UnsupportedDType's error for a dtype that the op does not do.
absl::Status Reduce(KernelContext& ctx, ReduceOp op, const Tensor& x, const ReduceAxes& axes,
                    const Shape& output_shape);

}  // namespace nabla

#endif  // NABLA_RUNTIME_KERNELS_REDUCE_H_

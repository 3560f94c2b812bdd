// The sum of any number of tensors of one shape.
#ifndef NABLA_RUNTIME_KERNELS_TENSOR_SUM_H_
#define NABLA_RUNTIME_KERNELS_TENSOR_SUM_H_

#include <cstdint>

#include "absl/types/span.h"
#include "nabla/runtime/kernel.h"
#include "nabla/runtime/kernels/elementwise.h"

namespace nabla {

// Adds tensors of one dtype, from the first to the last. Immutable.
class TensorSum {
 public:
  explicit TensorSum(DType dtype);
  // Whether tensors of the dtype can be added.
  bool supported() const { return loop_ != nullptr; }

  // out = inputs[0] + inputs[1] + …: two tensors or more, each of `n` elements. `out` may be one of the first two.
  void Run(KernelContext& ctx, absl::Span<const char* const> inputs, int64_t n, char* out) const;

 private:
  // Elements that are summed over all inputs before the next ones: they stay in the first-level cache.
  static constexpr int64_t kBlock = 2048;

  void AddBlock(absl::Span<const char* const> inputs, int64_t at, int64_t n, char* out) const;

  BinaryLoop loop_;
  int64_t size_;
  DType narrow_;  // half or bfloat16, which are added as float; else kInvalid
};

}  // namespace nabla

#endif  // NABLA_RUNTIME_KERNELS_TENSOR_SUM_H_

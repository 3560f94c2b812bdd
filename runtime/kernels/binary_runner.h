// Runs an op's binary loop over ranges of tensors' bytes.
#ifndef NABLA_RUNTIME_KERNELS_BINARY_RUNNER_H_
#define NABLA_RUNTIME_KERNELS_BINARY_RUNNER_H_

#include <algorithm>
#include <cstdint>

#include "nabla/runtime/kernel.h"
#include "nabla/runtime/kernels/elementwise.h"
#include "nabla/runtime/kernels/narrow.h"

namespace nabla {

// One op's loop for one node, with its attrs; converts half and bfloat16 on the way. Immutable.
class BinaryRunner {
 public:
  BinaryRunner() = default;
  // Fails init if there is no loop for the dtype.
  BinaryRunner(const KernelInit& init, const LoopsByDType<BinaryLoop>& loops) {
    const DType in = init.input_dtype(0);
    const DType out = init.output_dtype(0);
    if (IsNarrow(in)) narrow_ = in;
    loop_ = loops.Get(IsNarrow(in) ? DType::kFloat : in);
    if (loop_ == nullptr) {
      init.Fail(UnsupportedDType(in));
      return;
    }
    in_size_ = DTypeSize(in);
    out_size_ = DTypeSize(out);
    narrow_output_ = narrow_ != DType::kInvalid && out == narrow_;
    if (const float* alpha = init.find_attr<float>("alpha")) param_ = *alpha;
    if (const float* tolerance = init.find_attr<float>("tolerance")) param_ = *tolerance;
  }

  // Offsets in elements.
  void Run(const char* a, int64_t a_at, const char* b, int64_t b_at, char* y, int64_t y_at, int64_t n,
           BinaryKind kind) const {
    a += a_at * in_size_;
    b += b_at * in_size_;
    y += y_at * out_size_;
    if (narrow_ == DType::kInvalid) {
      loop_(a, b, y, n, kind, param_);
    } else {
      RunNarrow(a, b, y, n, kind);
    }
  }

 private:
  void RunNarrow(const char* a, const char* b, char* y, int64_t n, BinaryKind kind) const {
    float wide_a[kNarrowBlock];
    float wide_b[kNarrowBlock];
    if (kind == BinaryKind::kScalarVector) NarrowToFloat(narrow_, a, wide_a, 1);
    if (kind == BinaryKind::kVectorScalar) NarrowToFloat(narrow_, b, wide_b, 1);
    for (int64_t i = 0; i < n; i += kNarrowBlock) {
      const int64_t count = std::min(kNarrowBlock, n - i);
      if (kind != BinaryKind::kScalarVector) NarrowToFloat(narrow_, a + i * in_size_, wide_a, count);
      if (kind != BinaryKind::kVectorScalar) NarrowToFloat(narrow_, b + i * in_size_, wide_b, count);
      if (narrow_output_) {
        float wide_y[kNarrowBlock];
        loop_(wide_a, wide_b, wide_y, count, kind, param_);
        FloatToNarrow(narrow_, wide_y, y + i * out_size_, count);
      } else {
        loop_(wide_a, wide_b, y + i * out_size_, count, kind, param_);
      }
    }
  }

  BinaryLoop loop_ = nullptr;
  double param_ = 0;
  int64_t in_size_ = 0;
  int64_t out_size_ = 0;
  DType narrow_ = DType::kInvalid;  // kHalf or kBFloat16, if the arguments are
  bool narrow_output_ = false;      // the result is of that type too (else bool)
};

// The loops of addition, for ops that add as part of what they do.
const LoopsByDType<BinaryLoop>& AddLoops();

}  // namespace nabla

#endif  // NABLA_RUNTIME_KERNELS_BINARY_RUNNER_H_

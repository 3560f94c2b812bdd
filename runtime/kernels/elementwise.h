// Loops over contiguous arrays, the currency of the elementwise kernels: an op is a row with its name and one loop
// per dtype. Rows come from simd_unary.h and simd_binary.h (float and double) and from the scalar functors in
// unary_kernels.cc and binary_kernels.cc (all other dtypes); the kernels there choose a row's loop once, when a plan is
// made.
//
// Each element of a result depends only on its operands, never on its place in the array, so that an array may be cut
// anywhere. x and y may be the same array, but must not overlap otherwise.
#ifndef NABLA_RUNTIME_KERNELS_ELEMENTWISE_H_
#define NABLA_RUNTIME_KERNELS_ELEMENTWISE_H_

#include <array>
#include <cstdint>

#include "nabla/graph/dtype.h"

namespace nabla {

// y[i] = f(x[i]) for i in [0, n). `param` is the op's number, for ops that have one (LeakyRelu's alpha).
using UnaryLoop = void (*)(const void* x, void* y, int64_t n, double param);

// Which operands of a binary loop are arrays; the other one is a single element.
enum class BinaryKind : uint8_t { kVectorVector, kVectorScalar, kScalarVector };

// y[i] = f(a[i], b[i]) for i in [0, n).
using BinaryLoop = void (*)(const void* a, const void* b, void* y, int64_t n, BinaryKind kind, double param);

// A row of float and double loops. `cost` is about the nanoseconds that one element takes.
struct SimdUnaryRow {
  const char* op;
  double cost;
  UnaryLoop float_loop;
  UnaryLoop double_loop;
  UnaryLoop float_stream_loop;  // writes past the caches: see stream.h
};
struct SimdBinaryRow {
  const char* op;
  double cost;
  BinaryLoop float_loop;
  BinaryLoop double_loop;
};

// Loops by dtype; nullptr where there is none.
template <typename Loop>
class LoopsByDType {
 public:
  Loop Get(DType dtype) const {
    const size_t i = static_cast<size_t>(dtype);
    return i < loops_.size() ? loops_[i] : nullptr;
  }
  void Set(DType dtype, Loop loop) { loops_[static_cast<size_t>(dtype)] = loop; }

 private:
  std::array<Loop, 32> loops_ = {};
};

}  // namespace nabla

#endif  // NABLA_RUNTIME_KERNELS_ELEMENTWISE_H_

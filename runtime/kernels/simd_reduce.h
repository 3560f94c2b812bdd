// Loops of float and double reductions, in the widest instructions that this machine has.
#ifndef NABLA_RUNTIME_KERNELS_SIMD_REDUCE_H_
#define NABLA_RUNTIME_KERNELS_SIMD_REDUCE_H_

#include "nabla/graph/dtype.h"
#include "nabla/runtime/kernels/reduce.h"

namespace nabla {

// `dtype` is kFloat or kDouble. nullptr for ops of bools.
const ReduceLoops* SimdReduceLoops(ReduceOp op, DType dtype);

}  // namespace nabla

#endif  // NABLA_RUNTIME_KERNELS_SIMD_REDUCE_H_

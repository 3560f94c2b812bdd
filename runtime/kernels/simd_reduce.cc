#include "nabla/runtime/kernels/simd_reduce.h"

#include "nabla/runtime/kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "nabla/runtime/kernels/simd_reduce-inl.h"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes it for the other instruction sets.
#include "nabla/runtime/kernels/simd_reduce-inl.h"

#if HWY_ONCE
namespace nabla {

HWY_EXPORT(RealReduceLoops);

const ReduceLoops* SimdReduceLoops(ReduceOp op, DType dtype) {
  return HWY_DYNAMIC_DISPATCH(RealReduceLoops)(op, dtype == DType::kDouble);
}

}  // namespace nabla
#endif  // HWY_ONCE

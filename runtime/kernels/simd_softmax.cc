#include "nabla/runtime/kernels/simd_softmax.h"

#include "nabla/runtime/kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "nabla/runtime/kernels/simd_softmax-inl.h"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes it for the other instruction sets.
#include "nabla/runtime/kernels/simd_softmax-inl.h"

#if HWY_ONCE
namespace nabla {

HWY_EXPORT(FloatSoftmaxRows);
HWY_EXPORT(DoubleSoftmaxRows);

const SoftmaxRows<float>& SimdSoftmaxRows(float) { return HWY_DYNAMIC_DISPATCH(FloatSoftmaxRows)(); }
const SoftmaxRows<double>& SimdSoftmaxRows(double) { return HWY_DYNAMIC_DISPATCH(DoubleSoftmaxRows)(); }

}  // namespace nabla
#endif  // HWY_ONCE

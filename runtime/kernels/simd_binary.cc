#include "nabla/runtime/kernels/simd_binary.h"

#include "nabla/runtime/kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "nabla/runtime/kernels/simd_binary-inl.h"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes it for the other instruction sets.
#include "nabla/runtime/kernels/simd_binary-inl.h"

#if HWY_ONCE
namespace nabla {

HWY_EXPORT(BinaryRows);
HWY_EXPORT(GradRows);

absl::Span<const SimdBinaryRow> SimdBinaryRows() { return HWY_DYNAMIC_DISPATCH(BinaryRows)(); }
absl::Span<const SimdBinaryRow> SimdGradRows() { return HWY_DYNAMIC_DISPATCH(GradRows)(); }

}  // namespace nabla
#endif  // HWY_ONCE

#include "nabla/runtime/kernels/simd_unary.h"

#include "nabla/runtime/kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "nabla/runtime/kernels/simd_unary-inl.h"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes it for the other instruction sets.
#include "nabla/runtime/kernels/simd_unary-inl.h"

#if HWY_ONCE
namespace nabla {

HWY_EXPORT(UnaryRows);

absl::Span<const SimdUnaryRow> SimdUnaryRows() { return HWY_DYNAMIC_DISPATCH(UnaryRows)(); }

}  // namespace nabla
#endif  // HWY_ONCE

#include "nabla/runtime/kernels/stream.h"

#include "hwy/cache_control.h"

#include "nabla/runtime/kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "nabla/runtime/kernels/simd_stream-inl.h"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes it for the other instruction sets.
#include "nabla/runtime/kernels/simd_stream-inl.h"

#if HWY_ONCE
namespace nabla {

HWY_EXPORT(StreamBytes);

void StreamCopy(char* to, const char* from, int64_t bytes) { HWY_DYNAMIC_DISPATCH(StreamBytes)(to, from, bytes); }

void FinishStreaming() { hwy::FlushStream(); }

}  // namespace nabla
#endif  // HWY_ONCE

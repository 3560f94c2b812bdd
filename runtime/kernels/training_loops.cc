#include "nabla/runtime/kernels/training_loops.h"

#include <algorithm>

#include "nabla/runtime/kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "nabla/runtime/kernels/training_loops-inl.h"
#include "hwy/foreach_target.h"
// After foreach_target.h, which includes it for the other instruction sets.
#include "nabla/runtime/kernels/training_loops-inl.h"

#if HWY_ONCE
namespace nabla {

HWY_EXPORT(OptimizerLoops);

OptimizerLoop FindOptimizerLoop(OptimizerRule rule, bool is_double) {
  return HWY_DYNAMIC_DISPATCH(OptimizerLoops)(rule, is_double);
}

int NumOptimizerArrays(OptimizerRule rule) {
  switch (rule) {
    case OptimizerRule::kGradientDescent:
    case OptimizerRule::kProximalGradientDescent:
      return 1;
    case OptimizerRule::kMomentum:
    case OptimizerRule::kNesterovMomentum:
    case OptimizerRule::kKerasMomentum:
    case OptimizerRule::kKerasNesterovMomentum:
    case OptimizerRule::kAdagrad:
    case OptimizerRule::kAdagradFrozen:
    case OptimizerRule::kProximalAdagrad:
      return 2;
    case OptimizerRule::kAdadelta:
    case OptimizerRule::kRmsProp:
    case OptimizerRule::kAdam:
    case OptimizerRule::kNesterovAdam:
    case OptimizerRule::kAdaMax:
    case OptimizerRule::kFtrl:
    case OptimizerRule::kFtrlScaledLinear:
      return 3;
    case OptimizerRule::kCenteredRmsProp:
    case OptimizerRule::kAmsgrad:
      return 4;
  }
  return 0;
}

namespace {

// Narrow types are widened a block at a time, updated as floats and rounded back.
template <typename T>
void RunNarrow(OptimizerRule rule, void* const* arrays, const void* grad, int64_t n, const OptimizerParams& params) {
  constexpr int64_t kBlock = 256;
  const int num_arrays = NumOptimizerArrays(rule);
  const OptimizerLoop loop = FindOptimizerLoop(rule, /*is_double=*/false);
  float wide[kMaxOptimizerArrays][kBlock], wide_grad[kBlock];
  void* wide_arrays[kMaxOptimizerArrays];
  for (int k = 0; k < num_arrays; ++k) wide_arrays[k] = wide[k];
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t size = std::min(kBlock, n - begin);
    for (int k = 0; k < num_arrays; ++k) {
      const T* from = static_cast<const T*>(arrays[k]) + begin;
      for (int64_t i = 0; i < size; ++i) wide[k][i] = static_cast<float>(from[i]);
    }
    const T* g = static_cast<const T*>(grad) + begin;
    for (int64_t i = 0; i < size; ++i) wide_grad[i] = static_cast<float>(g[i]);
    loop(wide_arrays, wide_grad, size, params);
    for (int k = 0; k < num_arrays; ++k) {
      T* to = static_cast<T*>(arrays[k]) + begin;
      for (int64_t i = 0; i < size; ++i) to[i] = T(wide[k][i]);
    }
  }
}

}  // namespace

void RunOptimizer(OptimizerRule rule, DType dtype, void* const* arrays, const void* grad, int64_t n,
                  const OptimizerParams& params) {
  if (dtype == DType::kHalf) {
    RunNarrow<Half>(rule, arrays, grad, n, params);
  } else if (dtype == DType::kBFloat16) {
    RunNarrow<BFloat16>(rule, arrays, grad, n, params);
  } else {
    FindOptimizerLoop(rule, dtype == DType::kDouble)(arrays, grad, n, params);
  }
}

}  // namespace nabla
#endif  // HWY_ONCE

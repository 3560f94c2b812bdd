// The arithmetic of the optimizers on contiguous arrays: what ResourceApply… does to a whole variable and
// ResourceSparseApply… to each row. Vector code, chosen for the machine at run time; an element's bits do not depend on
// where an array is cut.
#ifndef NABLA_RUNTIME_KERNELS_TRAINING_LOOPS_H_
#define NABLA_RUNTIME_KERNELS_TRAINING_LOOPS_H_

#include <cstdint>

#include "nabla/graph/dtype.h"

namespace nabla {

enum class OptimizerRule {
  kGradientDescent,          // arrays: var
  kProximalGradientDescent,  // var
  kMomentum,                 // var, accum
  kNesterovMomentum,         // var, accum
  kKerasMomentum,            // var, accum: the learning rate is inside the accumulator
  kKerasNesterovMomentum,    // var, accum
  kAdagrad,                  // var, accum
  kAdagradFrozen,            // var, accum, which stays as it is
  kProximalAdagrad,          // var, accum
  kAdadelta,                 // var, accum, accum_update
  kRmsProp,                  // var, ms, mom
  kCenteredRmsProp,          // var, mg, ms, mom
  kAdam,                     // var, m, v
  kNesterovAdam,             // var, m, v
  kAmsgrad,                  // var, m, v, vhat
  kAdaMax,                   // var, m, v
  kFtrl,                     // var, accum, linear
  kFtrlScaledLinear,         // var, accum, linear, which is multiplied by the learning rate
};

// The numbers that a rule uses; the others do not matter.
struct OptimizerParams {
  double rate = 0;  // the learning rate; Adam's and its kin's includes the bias correction
  double momentum = 0, rho = 0, epsilon = 0;
  double beta1 = 0, beta2 = 0;
  double l1 = 0, l2 = 0, l2_shrinkage = 0, rate_power = 0;
};

inline constexpr int kMaxOptimizerArrays = 4;

// arrays[0..]: the variable and its slots, updated in place by the gradient; each of n elements of T, float or double.
using OptimizerLoop = void (*)(void* const* arrays, const void* grad, int64_t n, const OptimizerParams& params);

// The loop for float or double.
OptimizerLoop FindOptimizerLoop(OptimizerRule rule, bool is_double);

// How many arrays the rule updates.
int NumOptimizerArrays(OptimizerRule rule);

// Updates `n` elements of dtype half, bfloat16, float or double.
void RunOptimizer(OptimizerRule rule, DType dtype, void* const* arrays, const void* grad, int64_t n,
                  const OptimizerParams& params);

}  // namespace nabla

#endif  // NABLA_RUNTIME_KERNELS_TRAINING_LOOPS_H_

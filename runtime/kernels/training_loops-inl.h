// The optimizers' loops; compiled once per instruction set (so no ordinary include guard).
#if defined(NABLA_RUNTIME_KERNELS_TRAINING_LOOPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NABLA_RUNTIME_KERNELS_TRAINING_LOOPS_INL_H_
#undef NABLA_RUNTIME_KERNELS_TRAINING_LOOPS_INL_H_
#else
#define NABLA_RUNTIME_KERNELS_TRAINING_LOOPS_INL_H_
#endif

#include <cstdint>

#include "hwy/highway.h"
#include "nabla/runtime/kernels/simd_loops-inl.h"
#include "nabla/runtime/kernels/training_loops.h"

HWY_BEFORE_NAMESPACE();
namespace nabla {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Each rule: a struct made from the params once per loop, whose call updates one vector of each array.

template <class D>
struct GradientDescentRule {
  static constexpr int kArrays = 1;
  using V = hn::Vec<D>;
  GradientDescentRule(D d, const OptimizerParams& p) : rate(hn::Set(d, static_cast<hn::TFromD<D>>(p.rate))) {}
  HWY_INLINE void operator()(V* a, V g) const { a[0] = hn::Sub(a[0], hn::Mul(rate, g)); }
  V rate;
};

template <class D, bool kNesterov, bool kKeras>
struct MomentumRule {
  static constexpr int kArrays = 2;
  using V = hn::Vec<D>;
  MomentumRule(D d, const OptimizerParams& p)
      : rate(hn::Set(d, static_cast<hn::TFromD<D>>(p.rate))),
        momentum(hn::Set(d, static_cast<hn::TFromD<D>>(p.momentum))) {}
  HWY_INLINE void operator()(V* a, V g) const {
    const V step = hn::Mul(rate, g);
    if (kKeras) {
      a[1] = hn::Sub(hn::Mul(a[1], momentum), step);
      a[0] = kNesterov ? hn::Add(a[0], hn::Sub(hn::Mul(a[1], momentum), step)) : hn::Add(a[0], a[1]);
    } else {
      a[1] = hn::Add(hn::Mul(a[1], momentum), g);
      const V scaled = hn::Mul(a[1], rate);
      a[0] = kNesterov ? hn::Sub(a[0], hn::Add(step, hn::Mul(scaled, momentum))) : hn::Sub(a[0], scaled);
    }
  }
  V rate, momentum;
};

// D. P. Kingma, J. Ba, "Adam: A Method for Stochastic Optimization", 2015; with the bias correction moved into the
// rate, and with Nesterov's look-ahead (T. Dozat, 2016) if asked for.
template <class D, bool kNesterov>
struct AdamRule {
  static constexpr int kArrays = 3;
  using V = hn::Vec<D>;
  using T = hn::TFromD<D>;
  AdamRule(D d, const OptimizerParams& p)
      : rate(hn::Set(d, static_cast<T>(p.rate))),
        beta1(hn::Set(d, static_cast<T>(p.beta1))),
        one_minus_beta1(hn::Set(d, T(1) - static_cast<T>(p.beta1))),
        one_minus_beta2(hn::Set(d, T(1) - static_cast<T>(p.beta2))),
        epsilon(hn::Set(d, static_cast<T>(p.epsilon))) {}
  HWY_INLINE void operator()(V* a, V g) const {
    a[1] = hn::Add(a[1], hn::Mul(hn::Sub(g, a[1]), one_minus_beta1));
    a[2] = hn::Add(a[2], hn::Mul(hn::Sub(hn::Mul(g, g), a[2]), one_minus_beta2));
    const V direction = kNesterov ? hn::Add(hn::Mul(g, one_minus_beta1), hn::Mul(beta1, a[1])) : a[1];
    a[0] = hn::Sub(a[0], hn::Div(hn::Mul(direction, rate), hn::Add(hn::Sqrt(a[2]), epsilon)));
  }
  V rate, beta1, one_minus_beta1, one_minus_beta2, epsilon;
};

// J. Duchi, E. Hazan, Y. Singer, "Adaptive Subgradient Methods", 2011.
template <class D, bool kUpdateSlots>
struct AdagradRule {
  static constexpr int kArrays = 2;
  using V = hn::Vec<D>;
  AdagradRule(D d, const OptimizerParams& p) : rate(hn::Set(d, static_cast<hn::TFromD<D>>(p.rate))) {}
  HWY_INLINE void operator()(V* a, V g) const {
    if (kUpdateSlots) a[1] = hn::Add(a[1], hn::Mul(g, g));
    a[0] = hn::Sub(a[0], hn::Div(hn::Mul(g, rate), hn::Sqrt(a[1])));
  }
  V rate;
};

template <class Rule, typename T>
void RunRule(void* const* arrays, const void* grad, int64_t n, const OptimizerParams& params) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const Rule rule(d, params);
  T* out[Rule::kArrays];
  for (int k = 0; k < Rule::kArrays; ++k) out[k] = static_cast<T*>(arrays[k]);
  const T* g = static_cast<const T*>(grad);
  const size_t count = static_cast<size_t>(n), lanes = hn::Lanes(d);
  V a[Rule::kArrays];
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    for (int k = 0; k < Rule::kArrays; ++k) a[k] = hn::LoadU(d, out[k] + i);
    rule(a, hn::LoadU(d, g + i));
    for (int k = 0; k < Rule::kArrays; ++k) hn::StoreU(a[k], d, out[k] + i);
  }
  if (i == count) return;
  for (int k = 0; k < Rule::kArrays; ++k) a[k] = LoadFirst(d, out[k] + i, count - i);
  rule(a, LoadFirst(d, g + i, count - i));
  for (int k = 0; k < Rule::kArrays; ++k) StoreFirst(a[k], d, out[k] + i, count - i);
}

template <typename T>
OptimizerLoop OptimizerLoopOf(OptimizerRule rule) {
  using D = hn::ScalableTag<T>;
  switch (rule) {
    case OptimizerRule::kGradientDescent:
      return RunRule<GradientDescentRule<D>, T>;
    case OptimizerRule::kMomentum:
      return RunRule<MomentumRule<D, false, false>, T>;
    case OptimizerRule::kNesterovMomentum:
      return RunRule<MomentumRule<D, true, false>, T>;
    case OptimizerRule::kKerasMomentum:
      return RunRule<MomentumRule<D, false, true>, T>;
    case OptimizerRule::kKerasNesterovMomentum:
      return RunRule<MomentumRule<D, true, true>, T>;
    case OptimizerRule::kAdam:
      return RunRule<AdamRule<D, false>, T>;
    case OptimizerRule::kNesterovAdam:
      return RunRule<AdamRule<D, true>, T>;
    case OptimizerRule::kAdagrad:
      return RunRule<AdagradRule<D, true>, T>;
    case OptimizerRule::kAdagradFrozen:
      return RunRule<AdagradRule<D, false>, T>;
  }
  return nullptr;
}

OptimizerLoop OptimizerLoops(OptimizerRule rule, bool is_double) {
  return is_double ? OptimizerLoopOf<double>(rule) : OptimizerLoopOf<float>(rule);
}

}  // namespace HWY_NAMESPACE
}  // namespace nabla
HWY_AFTER_NAMESPACE();

#endif  // NABLA_RUNTIME_KERNELS_TRAINING_LOOPS_INL_H_

// The optimizers' loops; compiled once per instruction set (so no ordinary include guard).
#if defined(NABLA_RUNTIME_KERNELS_TRAINING_LOOPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NABLA_RUNTIME_KERNELS_TRAINING_LOOPS_INL_H_
#undef NABLA_RUNTIME_KERNELS_TRAINING_LOOPS_INL_H_
#else
#define NABLA_RUNTIME_KERNELS_TRAINING_LOOPS_INL_H_
#endif

#include <cmath>
#include <cstdint>

#include "hwy/highway.h"
#include "nabla/runtime/kernels/simd_loops-inl.h"
#include "nabla/runtime/kernels/simd_math-inl.h"
#include "nabla/runtime/kernels/training_loops.h"

HWY_BEFORE_NAMESPACE();
namespace nabla {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Each rule: a struct made from the params once per loop, whose call updates one vector of each array.

template <class D>
HWY_INLINE hn::Vec<D> Fill(D d, double value) {
  return hn::Set(d, static_cast<hn::TFromD<D>>(value));
}

// 1 - value, rounded as T's arithmetic does.
template <class D>
HWY_INLINE hn::Vec<D> OneMinus(D d, double value) {
  using T = hn::TFromD<D>;
  return hn::Set(d, T(1) - static_cast<T>(value));
}

template <class V>
HWY_INLINE V Square(V x) {
  return hn::Mul(x, x);
}

// The step from x to y that covers the share `part` of the way.
template <class V>
HWY_INLINE V Toward(V x, V y, V part) {
  return hn::Add(x, hn::Mul(hn::Sub(y, x), part));
}

template <class D>
struct GradientDescentRule {
  static constexpr int kArrays = 1;
  using V = hn::Vec<D>;
  GradientDescentRule(D d, const OptimizerParams& p) : rate(Fill(d, p.rate)) {}
  HWY_INLINE void operator()(V* a, V g) const { a[0] = hn::Sub(a[0], hn::Mul(rate, g)); }
  V rate;
};

// J. Duchi, Y. Singer, "Efficient Online and Batch Learning Using Forward Backward Splitting", 2009: what is left of x
// under penalties l1 |x| and l2 x^2 / 2 for a step of that rate.
template <class D>
struct Shrinkage {
  using V = hn::Vec<D>;
  Shrinkage(D d, const OptimizerParams& p) : l1(Fill(d, p.l1)), l2(Fill(d, p.l2)), zero(hn::Zero(d)), one(Fill(d, 1)) {}
  HWY_INLINE V operator()(V x, V rate) const {
    const V size = hn::Max(hn::Sub(hn::Abs(x), hn::Mul(rate, l1)), zero);
    return hn::Div(hn::CopySignToAbs(size, x), hn::Add(one, hn::Mul(rate, l2)));
  }
  V l1, l2, zero, one;
};

template <class D>
struct ProximalGradientDescentRule {
  static constexpr int kArrays = 1;
  using V = hn::Vec<D>;
  ProximalGradientDescentRule(D d, const OptimizerParams& p) : rate(Fill(d, p.rate)), shrink(d, p) {}
  HWY_INLINE void operator()(V* a, V g) const { a[0] = shrink(hn::Sub(a[0], hn::Mul(rate, g)), rate); }
  V rate;
  Shrinkage<D> shrink;
};

template <class D, bool kNesterov, bool kKeras>
struct MomentumRule {
  static constexpr int kArrays = 2;
  using V = hn::Vec<D>;
  MomentumRule(D d, const OptimizerParams& p) : rate(Fill(d, p.rate)), momentum(Fill(d, p.momentum)) {}
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

// J. Duchi, E. Hazan, Y. Singer, "Adaptive Subgradient Methods", 2011.
template <class D, bool kUpdateSlots>
struct AdagradRule {
  static constexpr int kArrays = 2;
  using V = hn::Vec<D>;
  AdagradRule(D d, const OptimizerParams& p) : rate(Fill(d, p.rate)), epsilon(Fill(d, p.epsilon)) {}
  HWY_INLINE void operator()(V* a, V g) const {
    if (kUpdateSlots) a[1] = hn::Add(a[1], Square(g));
    a[0] = hn::Sub(a[0], hn::Div(hn::Mul(g, rate), hn::Add(hn::Sqrt(a[1]), epsilon)));
  }
  V rate, epsilon;
};

template <class D>
struct ProximalAdagradRule {
  static constexpr int kArrays = 2;
  using V = hn::Vec<D>;
  ProximalAdagradRule(D d, const OptimizerParams& p) : rate(Fill(d, p.rate)), shrink(d, p) {}
  HWY_INLINE void operator()(V* a, V g) const {
    a[1] = hn::Add(a[1], Square(g));
    const V adapted = hn::Div(rate, hn::Sqrt(a[1]));
    a[0] = shrink(hn::Sub(a[0], hn::Mul(adapted, g)), adapted);
  }
  V rate;
  Shrinkage<D> shrink;
};

// M. D. Zeiler, "ADADELTA: An Adaptive Learning Rate Method", 2012.
template <class D>
struct AdadeltaRule {
  static constexpr int kArrays = 3;
  using V = hn::Vec<D>;
  AdadeltaRule(D d, const OptimizerParams& p)
      : rate(Fill(d, p.rate)), rho(Fill(d, p.rho)), rest(OneMinus(d, p.rho)), epsilon(Fill(d, p.epsilon)) {}
  HWY_INLINE void operator()(V* a, V g) const {
    a[1] = hn::Add(hn::Mul(a[1], rho), hn::Mul(Square(g), rest));
    const V scale = hn::Div(hn::Sqrt(hn::Add(a[2], epsilon)), hn::Sqrt(hn::Add(a[1], epsilon)));
    const V update = hn::Mul(scale, g);
    a[2] = hn::Add(hn::Mul(a[2], rho), hn::Mul(Square(update), rest));
    a[0] = hn::Sub(a[0], hn::Mul(rate, update));
  }
  V rate, rho, rest, epsilon;
};

// T. Tieleman, G. Hinton, "Lecture 6.5: rmsprop", 2012; centred: A. Graves, "Generating Sequences With Recurrent Neural
// Networks", 2013.
template <class D, bool kCentered>
struct RmsPropRule {
  static constexpr int kArrays = kCentered ? 4 : 3;
  using V = hn::Vec<D>;
  RmsPropRule(D d, const OptimizerParams& p)
      : rate(Fill(d, p.rate)), rest(OneMinus(d, p.rho)), momentum(Fill(d, p.momentum)), epsilon(Fill(d, p.epsilon)) {}
  HWY_INLINE void operator()(V* a, V g) const {
    V& square = a[kCentered ? 2 : 1];
    V& velocity = a[kCentered ? 3 : 2];
    square = Toward(square, Square(g), rest);
    V variance = square;
    if (kCentered) {
      a[1] = Toward(a[1], g, rest);
      variance = hn::Sub(variance, Square(a[1]));
    }
    const V step = hn::Div(hn::Mul(rate, g), hn::Sqrt(hn::Add(variance, epsilon)));
    velocity = hn::Add(hn::Mul(momentum, velocity), step);
    a[0] = hn::Sub(a[0], velocity);
  }
  V rate, rest, momentum, epsilon;
};

enum class AdamKind { kPlain, kNesterov, kAmsgrad };

// D. P. Kingma, J. Ba, "Adam: A Method for Stochastic Optimization", 2015; with the bias correction moved into the
// rate, and with Nesterov's look-ahead (T. Dozat, 2016) or the largest second moment so far (S. J. Reddi, S. Kale, S.
// Kumar, "On the Convergence of Adam and Beyond", 2018) if asked for.
template <class D, AdamKind kKind>
struct AdamRule {
  static constexpr int kArrays = kKind == AdamKind::kAmsgrad ? 4 : 3;
  using V = hn::Vec<D>;
  AdamRule(D d, const OptimizerParams& p)
      : rate(Fill(d, p.rate)),
        beta1(Fill(d, p.beta1)),
        rest1(OneMinus(d, p.beta1)),
        rest2(OneMinus(d, p.beta2)),
        epsilon(Fill(d, p.epsilon)) {}
  HWY_INLINE void operator()(V* a, V g) const {
    a[1] = Toward(a[1], g, rest1);
    a[2] = Toward(a[2], Square(g), rest2);
    V second = a[2];
    if (kKind == AdamKind::kAmsgrad) second = a[kArrays - 1] = hn::Max(a[kArrays - 1], second);
    const V direction = kKind == AdamKind::kNesterov ? hn::Add(hn::Mul(g, rest1), hn::Mul(beta1, a[1])) : a[1];
    a[0] = hn::Sub(a[0], hn::Div(hn::Mul(direction, rate), hn::Add(hn::Sqrt(second), epsilon)));
  }
  V rate, beta1, rest1, rest2, epsilon;
};

// Kingma and Ba, section 7.1: Adam by the infinity norm.
template <class D>
struct AdaMaxRule {
  static constexpr int kArrays = 3;
  using V = hn::Vec<D>;
  AdaMaxRule(D d, const OptimizerParams& p)
      : rate(Fill(d, p.rate)), rest1(OneMinus(d, p.beta1)), beta2(Fill(d, p.beta2)), epsilon(Fill(d, p.epsilon)) {}
  HWY_INLINE void operator()(V* a, V g) const {
    a[1] = Toward(a[1], g, rest1);
    a[2] = hn::Max(hn::Mul(beta2, a[2]), hn::Abs(g));
    a[0] = hn::Sub(a[0], hn::Mul(rate, hn::Div(a[1], hn::Add(a[2], epsilon))));
  }
  V rate, rest1, beta2, epsilon;
};

// H. B. McMahan and others, "Ad Click Prediction: a View from the Trenches", 2013.
template <class D, bool kScaledLinear>
struct FtrlRule {
  static constexpr int kArrays = 3;
  using V = hn::Vec<D>;
  using T = hn::TFromD<D>;
  FtrlRule(D tag, const OptimizerParams& p)
      : d(tag),
        rate(Fill(d, p.rate)),
        l1(Fill(d, kScaledLinear ? p.l1 * p.rate : p.l1)),
        twice_l2(Fill(d, 2 * (kScaledLinear ? p.l2 * p.rate : p.l2))),
        twice_shrinkage(Fill(d, 2 * p.l2_shrinkage)),
        power(static_cast<T>(-p.rate_power)) {}
  HWY_INLINE V Power(V x) const {
    if (HWY_LIKELY(power == T(0.5))) return hn::Sqrt(x);
    return PerLane(d, x, [this](T v) { return std::pow(v, power); });
  }
  HWY_INLINE void operator()(V* a, V g) const {
    const V shrunk = hn::Add(g, hn::Mul(twice_shrinkage, a[0]));
    const V accum = hn::Add(a[1], Square(g));
    const V scale = Power(accum);
    const V change = hn::Mul(hn::Sub(scale, Power(a[1])), a[0]);
    const V linear = kScaledLinear ? hn::Add(a[2], hn::Sub(hn::Mul(shrunk, rate), change))
                                   : hn::Add(a[2], hn::Sub(shrunk, hn::Div(change, rate)));
    const V quadratic = hn::Add(kScaledLinear ? scale : hn::Div(scale, rate), twice_l2);
    const V kept = hn::Div(hn::Sub(hn::CopySignToAbs(l1, linear), linear), quadratic);
    a[0] = hn::IfThenElseZero(hn::Gt(hn::Abs(linear), l1), kept);
    a[1] = accum;
    a[2] = linear;
  }
  D d;
  V rate, l1, twice_l2, twice_shrinkage;
  T power;
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
    case OptimizerRule::kProximalGradientDescent:
      return RunRule<ProximalGradientDescentRule<D>, T>;
    case OptimizerRule::kMomentum:
      return RunRule<MomentumRule<D, false, false>, T>;
    case OptimizerRule::kNesterovMomentum:
      return RunRule<MomentumRule<D, true, false>, T>;
    case OptimizerRule::kKerasMomentum:
      return RunRule<MomentumRule<D, false, true>, T>;
    case OptimizerRule::kKerasNesterovMomentum:
      return RunRule<MomentumRule<D, true, true>, T>;
    case OptimizerRule::kAdagrad:
      return RunRule<AdagradRule<D, true>, T>;
    case OptimizerRule::kAdagradFrozen:
      return RunRule<AdagradRule<D, false>, T>;
    case OptimizerRule::kProximalAdagrad:
      return RunRule<ProximalAdagradRule<D>, T>;
    case OptimizerRule::kAdadelta:
      return RunRule<AdadeltaRule<D>, T>;
    case OptimizerRule::kRmsProp:
      return RunRule<RmsPropRule<D, false>, T>;
    case OptimizerRule::kCenteredRmsProp:
      return RunRule<RmsPropRule<D, true>, T>;
    case OptimizerRule::kAdam:
      return RunRule<AdamRule<D, AdamKind::kPlain>, T>;
    case OptimizerRule::kNesterovAdam:
      return RunRule<AdamRule<D, AdamKind::kNesterov>, T>;
    case OptimizerRule::kAmsgrad:
      return RunRule<AdamRule<D, AdamKind::kAmsgrad>, T>;
    case OptimizerRule::kAdaMax:
      return RunRule<AdaMaxRule<D>, T>;
    case OptimizerRule::kFtrl:
      return RunRule<FtrlRule<D, false>, T>;
    case OptimizerRule::kFtrlScaledLinear:
      return RunRule<FtrlRule<D, true>, T>;
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

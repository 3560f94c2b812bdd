// Elementary functions of a vector, defined for every argument; compiled once per instruction set.
//
// Highway's functions give their accuracy inside a range only; these add what lies outside it: NaN, infinities,
// overflow, large angles.
#if defined(NABLA_RUNTIME_KERNELS_SIMD_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NABLA_RUNTIME_KERNELS_SIMD_MATH_INL_H_
#undef NABLA_RUNTIME_KERNELS_SIMD_MATH_INL_H_
#else
#define NABLA_RUNTIME_KERNELS_SIMD_MATH_INL_H_
#endif

#include <cmath>
#include <limits>

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace nabla {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The largest x whose exponential is finite.
HWY_INLINE float MaxExpArgument(float) { return 88.7228317f; }
HWY_INLINE double MaxExpArgument(double) { return 709.78271289338397; }

// f of each lane through scalar code, for the rare arguments that the vector code does not do.
template <class D, class V, class F>
HWY_NOINLINE V PerLane(D d, V x, F f) {
  using T = hn::TFromD<D>;
  HWY_ALIGN T lanes[HWY_MAX_BYTES / sizeof(T)];
  hn::Store(x, d, lanes);
  for (size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = f(lanes[i]);
  return hn::Load(d, lanes);
}

template <class D, class V>
HWY_INLINE V SafeExp(D d, V x) {
  using T = hn::TFromD<D>;
  const V limit = hn::Set(d, MaxExpArgument(T()));
  const V y = hn::Exp(d, hn::Min(limit, x));
  const V inf_or_y = hn::IfThenElse(hn::Gt(x, limit), hn::Inf(d), y);
  return hn::IfThenElse(hn::IsNaN(x), x, inf_or_y);
}

template <class D, class V>
HWY_INLINE V SafeExpm1(D d, V x) {
  using T = hn::TFromD<D>;
  const V limit = hn::Set(d, MaxExpArgument(T()));
  const V y = hn::Expm1(d, hn::Min(limit, x));
  const V inf_or_y = hn::IfThenElse(hn::Gt(x, limit), hn::Inf(d), y);
  // Tiny arguments are their own result: keeps denormals and the sign of zero; and so is NaN.
  const V tiny = hn::Set(d, std::numeric_limits<T>::epsilon() / 4);
  return hn::IfThenElse(hn::Or(hn::IsNaN(x), hn::Lt(hn::Abs(x), tiny)), x, inf_or_y);
}

template <class D, class V>
HWY_INLINE V SafeLog(D d, V x) {
  using T = hn::TFromD<D>;
  const V zero = hn::Zero(d);
  const V inf = hn::Inf(d);
  V y = hn::Log(d, x);
  y = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(inf), y);
  y = hn::IfThenElse(hn::Lt(x, zero), hn::Set(d, std::numeric_limits<T>::quiet_NaN()), y);
  // inf and NaN
  return hn::IfThenElse(hn::Lt(x, inf), y, x);
}

// By Kahan's method (in D. Goldberg, "What every computer scientist should know about floating-point arithmetic"):
// the error in u = 1 + x cancels in log(u) * x / (u - 1).
template <class D, class V>
HWY_INLINE V SafeLog1p(D d, V x) {
  const V one = hn::Set(d, hn::TFromD<D>(1));
  const V u = hn::Add(one, x);
  const V log_u = SafeLog(d, u);
  const V y = hn::Mul(log_u, hn::Div(x, hn::Sub(u, one)));
  const auto exact = hn::Or(hn::Eq(u, one), hn::IsNaN(x));
  // At -1, below, and at infinity the logarithm says it all.
  const auto plain = hn::Or(hn::Le(u, hn::Zero(d)), hn::Eq(u, hn::Inf(d)));
  return hn::IfThenElse(exact, x, hn::IfThenElse(plain, log_u, y));
}

// Where Highway's argument reduction holds.
template <class D, class V>
HWY_INLINE bool AnglesAreModest(D d, V x) {
  return hn::AllTrue(d, hn::Le(hn::Abs(x), hn::Set(d, hn::TFromD<D>(30000))));
}

template <class D, class V>
HWY_INLINE V SafeSin(D d, V x) {
  using T = hn::TFromD<D>;
  if (HWY_UNLIKELY(!AnglesAreModest(d, x))) {
    const V modest = hn::IfThenElseZero(hn::Le(hn::Abs(x), hn::Set(d, T(30000))), x);
    const V y = hn::Sin(d, modest);
    const V slow = PerLane(d, x, [](T v) { return std::sin(v); });
    return hn::IfThenElse(hn::Le(hn::Abs(x), hn::Set(d, T(30000))), y, slow);
  }
  // Tiny arguments are their own sines, which keeps the sign of zero.
  const V tiny = hn::Set(d, std::numeric_limits<T>::epsilon());
  return hn::IfThenElse(hn::Lt(hn::Abs(x), tiny), x, hn::Sin(d, x));
}

template <class D, class V>
HWY_INLINE V SafeCos(D d, V x) {
  using T = hn::TFromD<D>;
  if (HWY_UNLIKELY(!AnglesAreModest(d, x))) {
    const V modest = hn::IfThenElseZero(hn::Le(hn::Abs(x), hn::Set(d, T(30000))), x);
    const V y = hn::Cos(d, modest);
    const V slow = PerLane(d, x, [](T v) { return std::cos(v); });
    return hn::IfThenElse(hn::Le(hn::Abs(x), hn::Set(d, T(30000))), y, slow);
  }
  return hn::Cos(d, x);
}

template <class D, class V>
HWY_INLINE V SafeTanh(D d, V x) {
  using T = hn::TFromD<D>;
  // tanh(x) is x to the last bit below, and 1 to the last bit above.
  const V tiny = hn::Set(d, sizeof(T) == 4 ? T(1e-4) : T(1e-8));
  const V abs_x = hn::Abs(x);
  const V large = hn::Set(d, sizeof(T) == 4 ? T(10) : T(20));
  // (e^2|x| - 1) / (e^2|x| + 1)
  const V e = hn::Expm1(d, hn::Add(hn::Min(abs_x, large), hn::Min(abs_x, large)));
  const V t = hn::Div(e, hn::Add(e, hn::Set(d, T(2))));
  const V y = hn::IfThenElse(hn::Gt(abs_x, large), hn::Set(d, T(1)), t);
  return hn::IfThenElse(hn::Or(hn::IsNaN(x), hn::Lt(abs_x, tiny)), x, hn::CopySignToAbs(y, x));
}

// By the exponential of -|x|, so that neither tail loses digits.
template <class D, class V>
HWY_INLINE V SafeSigmoid(D d, V x) {
  const V one = hn::Set(d, hn::TFromD<D>(1));
  const V e = SafeExp(d, hn::Neg(hn::Abs(x)));
  const V numerator = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), e, one);
  return hn::Div(numerator, hn::Add(one, e));
}

// max(x, 0) + log1p(e^-|x|)
template <class D, class V>
HWY_INLINE V SafeSoftplus(D d, V x) {
  const V e = SafeExp(d, hn::Neg(hn::Abs(x)));
  const V positive = hn::IfThenZeroElse(hn::Le(x, hn::Zero(d)), x);
  return hn::Add(positive, SafeLog1p(d, e));
}

}  // namespace HWY_NAMESPACE
}  // namespace nabla
HWY_AFTER_NAMESPACE();

#endif  // per-target guard

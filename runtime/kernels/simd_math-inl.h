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
#include <utility>

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
  // Beyond the limit infinity; NaN stays, and no other sum with infinity is one.
  return hn::IfThenElse(hn::Le(x, limit), hn::Exp(d, x), hn::Add(x, hn::Inf(d)));
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

// c[0] + c[1] x + c[2] x^2 + …
template <class D, class V, size_t kCount, size_t... kIndex>
HWY_INLINE V PolynomialTerms(D d, V x, const hn::TFromD<D> (&c)[kCount], std::index_sequence<kIndex...>) {
  V y = hn::Set(d, c[kCount - 1]);
  ((y = hn::MulAdd(y, x, hn::Set(d, c[kCount - 2 - kIndex]))), ...);
  return y;
}
template <class D, class V, size_t kCount>
HWY_INLINE V Polynomial(D d, V x, const hn::TFromD<D> (&c)[kCount]) {
  return PolynomialTerms(d, x, c, std::make_index_sequence<kCount - 1>());
}

// Interpolation at Chebyshev's nodes, to the type's precision: erf(x) / x as a polynomial in x^2 on [0, 1], and
// -log(erfc(x)) as one in t on [1, kLimit], where t runs from -1 to 1. Beyond the limit erf is 1.
template <typename T>
struct ErfCoefficients;
template <>
struct ErfCoefficients<float> {
  static constexpr float kLimit = 4;
  static constexpr float kSmall[] = {1.128379166f,    -0.3761262667f,    0.1128359472f,  -0.02685421201f,
                                     0.005189087423f, -0.0008016864287f, 7.875875063e-5f};
  static constexpr float kLarge[] = {7.806815277f,     8.029021124f,    2.1237607f,        0.03664613116f,
                                     -0.01096117247f,  0.003195386597f, -0.0008814931726f, 0.0002208476318f,
                                     -4.140557777e-5f, 2.91503768e-6f};
};
template <>
struct ErfCoefficients<double> {
  static constexpr double kLimit = 6;
  static constexpr double kSmall[] = {1.12837916709551257,     -0.376126389031837481,     0.112837916709548787,
                                      -0.0268661706450767932,  0.00522397762481801447,    -0.000854832698083378991,
                                      0.000120553311116427109, -0.0000149255952668311816, 1.6461000484121368e-6,
                                      -1.6350312701054695e-7,  1.46597752740474358e-8,    -1.13728488567916737e-9,
                                      5.9571761477489114e-11};
  static constexpr double kLarge[] = {
      14.1124374021481738,      18.1652489709129767,     6.04220659213893843,       0.0816509097178571971,
      -0.0341284110797196764,   0.0143845483288884217,   -0.00595370447714158398,   0.00237399730067949878,
      -0.000893576571688031881, 0.000307819401590724464, -0.0000909010155159717539, 0.0000184752898600081074,
      1.47807371183118419e-6,   -4.5683976219076298e-6,  3.42042466596669451e-6,    -1.91269798607734025e-6,
      9.1655075925352764e-7,    -3.91892328852792411e-7, 1.2999681259733388e-7,     -1.88488300890338367e-8,
      2.1580142736303588e-9,    -4.7108405270992657e-9,  -4.52141620458365112e-9,   7.24082497451532732e-9,
      -2.24727635210743867e-9};
};

template <class D, class V>
HWY_INLINE V SafeErf(D d, V x) {
  using T = hn::TFromD<D>;
  using C = ErfCoefficients<T>;
  const V one = hn::Set(d, T(1));
  const V abs_x = hn::Abs(x);
  const V small = hn::Mul(x, Polynomial(d, hn::Mul(x, x), C::kSmall));
  // erf = 1 - e^(-p)
  const V within = hn::Min(abs_x, hn::Set(d, C::kLimit));
  const V t = hn::MulAdd(within, hn::Set(d, T(2) / (C::kLimit - 1)), hn::Set(d, -(C::kLimit + 1) / (C::kLimit - 1)));
  const V large = hn::Sub(one, hn::Exp(d, hn::Neg(Polynomial(d, t, C::kLarge))));
  const V y = hn::IfThenElse(hn::Lt(abs_x, one), small, hn::CopySignToAbs(large, x));
  return hn::IfThenElse(hn::IsNaN(x), x, y);
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

// Elementary functions of a vector, defined for every argument; compiled once per instruction set.
//
// Highway's functions give their accuracy inside a range only; these add what lies outside it: NaN, infinities,
// overflow, large angles. For floats, the exponential and its kin are our own (simd_exp-inl.h).
#if defined(NABLA_RUNTIME_KERNELS_SIMD_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NABLA_RUNTIME_KERNELS_SIMD_MATH_INL_H_
#undef NABLA_RUNTIME_KERNELS_SIMD_MATH_INL_H_
#else
#define NABLA_RUNTIME_KERNELS_SIMD_MATH_INL_H_
#endif

#include <cmath>
#include <limits>
#include <type_traits>

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "nabla/runtime/kernels/simd_exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nabla {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The largest x whose exponential is finite, of doubles.
inline constexpr double kMaxExpArgument = 709.78271289338397;

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
  if constexpr (std::is_same_v<hn::TFromD<D>, float>) {
    return FloatExp(d, x);
  } else {
    // Beyond the limit infinity; NaN stays, and no other sum with infinity is one.
    return hn::IfThenElse(hn::Le(x, hn::Set(d, kMaxExpArgument)), hn::Exp(d, x), hn::Add(x, hn::Inf(d)));
  }
}

template <class D, class V>
HWY_INLINE V SafeExpm1(D d, V x) {
  if constexpr (std::is_same_v<hn::TFromD<D>, float>) {
    return FloatExpm1(d, x);
  } else {
    const V limit = hn::Set(d, kMaxExpArgument);
    const V y = hn::Expm1(d, hn::Min(limit, x));
    const V inf_or_y = hn::IfThenElse(hn::Gt(x, limit), hn::Inf(d), y);
    // Tiny arguments are their own result: keeps denormals and the sign of zero; and so is NaN.
    const V tiny = hn::Set(d, std::numeric_limits<double>::epsilon() / 4);
    return hn::IfThenElse(hn::Or(hn::IsNaN(x), hn::Lt(hn::Abs(x), tiny)), x, inf_or_y);
  }
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
  if constexpr (std::is_same_v<hn::TFromD<D>, float>) {
    return FloatTanh(d, x);
  } else {
    // tanh(x) is x to the last bit below, and 1 to the last bit above.
    const V tiny = hn::Set(d, 1e-8);
    const V abs_x = hn::Abs(x);
    const V large = hn::Set(d, 20.0);
    // (e^2|x| - 1) / (e^2|x| + 1)
    const V e = hn::Expm1(d, hn::Add(hn::Min(abs_x, large), hn::Min(abs_x, large)));
    const V t = hn::Div(e, hn::Add(e, hn::Set(d, 2.0)));
    const V y = hn::IfThenElse(hn::Gt(abs_x, large), hn::Set(d, 1.0), t);
    return hn::IfThenElse(hn::Or(hn::IsNaN(x), hn::Lt(abs_x, tiny)), x, hn::CopySignToAbs(y, x));
  }
}

// By the exponential of -|x|, so that neither tail loses digits.
template <class D, class V>
HWY_INLINE V SafeSigmoid(D d, V x) {
  if constexpr (std::is_same_v<hn::TFromD<D>, float>) {
    return FloatSigmoid(d, x);
  } else {
    const V one = hn::Set(d, 1.0);
    const V e = SafeExp(d, hn::Neg(hn::Abs(x)));
    const V numerator = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), e, one);
    return hn::Div(numerator, hn::Add(one, e));
  }
}

// For doubles, by interpolation at Chebyshev's nodes: erf(x) / x as a polynomial in x^2 on [0, 1], and -log(erfc(x)) as
// one in t on [1, kErfLimit], where t runs from -1 to 1. Beyond the limit erf is 1.
inline constexpr double kErfLimit = 6;
inline constexpr double kErfSmall[] = {1.12837916709551257,     -0.376126389031837481,     0.112837916709548787,
                                       -0.0268661706450767932,  0.00522397762481801447,    -0.000854832698083378991,
                                       0.000120553311116427109, -0.0000149255952668311816, 1.6461000484121368e-6,
                                       -1.6350312701054695e-7,  1.46597752740474358e-8,    -1.13728488567916737e-9,
                                       5.9571761477489114e-11};
inline constexpr double kErfLarge[] = {
    14.1124374021481738,      18.1652489709129767,     6.04220659213893843,       0.0816509097178571971,
    -0.0341284110797196764,   0.0143845483288884217,   -0.00595370447714158398,   0.00237399730067949878,
    -0.000893576571688031881, 0.000307819401590724464, -0.0000909010155159717539, 0.0000184752898600081074,
    1.47807371183118419e-6,   -4.5683976219076298e-6,  3.42042466596669451e-6,    -1.91269798607734025e-6,
    9.1655075925352764e-7,    -3.91892328852792411e-7, 1.2999681259733388e-7,     -1.88488300890338367e-8,
    2.1580142736303588e-9,    -4.7108405270992657e-9,  -4.52141620458365112e-9,   7.24082497451532732e-9,
    -2.24727635210743867e-9};

template <class D, class V>
HWY_INLINE V SafeErf(D d, V x) {
  if constexpr (std::is_same_v<hn::TFromD<D>, float>) {
    return FloatErf(d, x);
  } else {
    const V one = hn::Set(d, 1.0);
    const V abs_x = hn::Abs(x);
    const V small = hn::Mul(x, Polynomial(d, hn::Mul(x, x), kErfSmall));
    // erf = 1 - e^(-p)
    const V within = hn::Min(abs_x, hn::Set(d, kErfLimit));
    const V t = hn::MulAdd(within, hn::Set(d, 2 / (kErfLimit - 1)), hn::Set(d, -(kErfLimit + 1) / (kErfLimit - 1)));
    const V large = hn::Sub(one, hn::Exp(d, hn::Neg(Polynomial(d, t, kErfLarge))));
    const V y = hn::IfThenElse(hn::Lt(abs_x, one), small, hn::CopySignToAbs(large, x));
    return hn::IfThenElse(hn::IsNaN(x), x, y);
  }
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

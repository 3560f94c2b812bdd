// The exponential of vectors of floats and what is made of it, for every argument; compiled once per instruction set.
//
// With k the integer next to x / ln 2 and r = x - k ln 2, e^x = 2^k e^r. ln 2 is taken in two parts, the first so short
// that its product with k is exact (W. Cody and W. Waite, "Software manual for the elementary functions"). e^r is
// 1 + r + r^2 kExpTail(r), where the tail's coefficients keep the largest relative error for |r| <= ln(2) / 2 least.
#if defined(NABLA_RUNTIME_KERNELS_SIMD_EXP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NABLA_RUNTIME_KERNELS_SIMD_EXP_INL_H_
#undef NABLA_RUNTIME_KERNELS_SIMD_EXP_INL_H_
#else
#define NABLA_RUNTIME_KERNELS_SIMD_EXP_INL_H_
#endif

#include <utility>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace nabla {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

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

// a / b, to the last bit but one in 2^28, of what is neither huge nor tiny. Division of the widest vectors takes as
// long as fifteen other operations: there an estimate of 14 bits is corrected.
template <class D, class V>
HWY_INLINE V FloatQuotient(D d, V a, V b) {
  (void)d;
#if HWY_TARGET <= HWY_AVX3
  const V estimate = hn::ApproximateReciprocal(b);
  const V q = hn::Mul(a, estimate);
  return hn::MulAdd(hn::NegMulAdd(q, b, a), estimate, q);
#else
  return hn::Div(a, b);
#endif
}

inline constexpr float kExpTail[] = {0.4999999404f, 0.1666651964f, 0.04166839272f, 0.008368780836f, 0.001381446724f};

// Adding this to a number below 2^22 rounds it to an integer n, which then is found in the sum's lowest bits, as the
// exponent field of 2^n.
inline constexpr float kExponentMagic = 12582912.0f + 127.0f;  // 1.5 * 2^23, and the exponent's bias

// Where 2^k is a normal number.
inline constexpr float kModestExponent = 87.3f;

template <class V>
struct ExpParts {
  V power;  // k + kExponentMagic
  V k;
  V r;
};

template <class D, class V>
HWY_INLINE ExpParts<V> SplitExponent(D d, V x) {
  const V magic = hn::Set(d, kExponentMagic);
  ExpParts<V> parts;
  parts.power = hn::MulAdd(x, hn::Set(d, 1.44269504f), magic);
  parts.k = hn::Sub(parts.power, magic);
  const V r = hn::NegMulAdd(parts.k, hn::Set(d, 0.693359375f), x);
  parts.r = hn::MulAdd(parts.k, hn::Set(d, 2.12194440e-4f), r);
  return parts;
}

// 2^k, if that is a normal number.
template <class D, class V>
HWY_INLINE V PowerOfTwo(D d, V power) {
  const hn::RebindToUnsigned<D> bits;
  return hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(bits, power)));
}

template <class D, class V>
HWY_INLINE V ReducedExp(D d, V r) {
  const V one = hn::Set(d, 1.0f);
  return hn::MulAdd(hn::MulAdd(Polynomial(d, r, kExpTail), r, one), r, one);
}

template <class D, class V>
HWY_INLINE bool ExponentsAreModest(D d, V x) {
  return hn::AllTrue(d, hn::Le(hn::Abs(x), hn::Set(d, kModestExponent)));
}

// e^x for every x: the result may be denormal, 0, infinite or NaN. 2^k is multiplied in two steps, of which only the
// second rounds.
template <class D, class V>
HWY_NOINLINE V AnyFloatExp(D d, V x) {
  const hn::RebindToSigned<D> integers;
  const V within = hn::Min(hn::Max(x, hn::Set(d, -106.0f)), hn::Set(d, 104.0f));
  const ExpParts<V> parts = SplitExponent(d, within);
  const auto k = hn::NearestInt(parts.k);
  const auto half = hn::ShiftRight<1>(k);
  const auto bias = hn::Set(integers, 127);
  const V first = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(half, bias)));
  const V second = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(hn::Sub(k, half), bias)));
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Mul(hn::Mul(ReducedExp(d, parts.r), first), second));
}

template <class D, class V>
HWY_INLINE V FloatExp(D d, V x) {
  if (HWY_UNLIKELY(!ExponentsAreModest(d, x))) return AnyFloatExp(d, x);
  const ExpParts<V> parts = SplitExponent(d, x);
  return hn::Mul(ReducedExp(d, parts.r), PowerOfTwo(d, parts.power));
}

// e^x - 1 where |x| <= kModestExponent; for small x, to its own precision. Loses the sign of -0.
template <class D, class V>
HWY_INLINE V ModestFloatExpm1(D d, V x) {
  const ExpParts<V> parts = SplitExponent(d, x);
  // e^r - 1
  const V y = hn::MulAdd(hn::Mul(parts.r, parts.r), Polynomial(d, parts.r, kExpTail), parts.r);
  const V power = PowerOfTwo(d, parts.power);
  return hn::MulAdd(power, y, hn::Sub(power, hn::Set(d, 1.0f)));
}

template <class D, class V>
HWY_INLINE V FloatExpm1(D d, V x) {
  const V limit = hn::Set(d, kModestExponent);
  const V y = ModestFloatExpm1(d, hn::Min(hn::Max(x, hn::Neg(limit)), limit));
  if (HWY_UNLIKELY(!hn::AllTrue(d, hn::Le(x, limit)))) {
    return hn::IfThenElse(hn::Le(x, limit), hn::CopySign(y, x), AnyFloatExp(d, x));
  }
  return hn::CopySign(y, x);
}

// 1 / (1 + e^-x) where |x| <= kModestExponent.
template <class D, class V>
HWY_INLINE V ModestFloatSigmoid(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  const ExpParts<V> parts = SplitExponent(d, hn::Neg(x));
  const V sum = hn::MulAdd(ReducedExp(d, parts.r), PowerOfTwo(d, parts.power), one);
#if HWY_TARGET <= HWY_AVX3
  const V estimate = hn::ApproximateReciprocal(sum);
  return hn::MulAdd(hn::NegMulAdd(sum, estimate, one), estimate, estimate);
#else
  return hn::Div(one, sum);
#endif
}

// Beyond, where 1 and e^x are all that is left of it. A lane's bits must not depend on the others.
template <class D, class V>
HWY_INLINE V FloatSigmoid(D d, V x) {
  const V y = ModestFloatSigmoid(d, x);
  if (HWY_LIKELY(ExponentsAreModest(d, x))) return y;
  const V far = hn::Min(hn::Set(d, 1.0f), AnyFloatExp(d, x));
  return hn::IfThenElse(hn::Le(hn::Abs(x), hn::Set(d, kModestExponent)), y, hn::IfThenElse(hn::IsNaN(x), x, far));
}

// (1 - e^-2|x|) / (1 + e^-2|x|), with the sign of x.
template <class D, class V>
HWY_INLINE V FloatTanh(D d, V x) {
  // In this order NaN passes. Beyond 10 the result is 1.
  const V magnitude = hn::Min(hn::Set(d, 10.0f), hn::Abs(x));
  const V e = ModestFloatExpm1(d, hn::Mul(magnitude, hn::Set(d, -2.0f)));
  return hn::CopySign(FloatQuotient(d, e, hn::Add(e, hn::Set(d, 2.0f))), x);
}

// log(erfc(x)) / x on [0, 4], without kErfFirst, as a polynomial that keeps erf's largest relative error least. The
// first coefficient stands apart, in two parts.
inline constexpr float kErfFirst = -1.128379226f;
inline constexpr float kErfTail[] = {5.89e-8f,        -0.6366193891f,   -0.1027778313f,
                                     0.01915307529f,  1.603700221e-4f,  -0.001666998258f,
                                     6.328194868e-4f, -1.176360674e-4f, 9.255652003e-6f};

// 1 - e^log(erfc(|x|)), with the sign of x.
template <class D, class V>
HWY_INLINE V FloatErf(D d, V x) {
  // In this order NaN passes. Beyond 4 the result is 1.
  const V magnitude = hn::Min(hn::Set(d, 4.0f), hn::Abs(x));
  const V tail = hn::Mul(magnitude, Polynomial(d, magnitude, kErfTail));
  return hn::CopySign(ModestFloatExpm1(d, hn::MulAdd(magnitude, hn::Set(d, kErfFirst), tail)), x);
}

}  // namespace HWY_NAMESPACE
}  // namespace nabla
HWY_AFTER_NAMESPACE();

#endif  // per-target guard

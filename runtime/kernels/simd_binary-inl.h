// The float and double loops of elementwise ops of two arguments; compiled once per instruction set.
#if defined(NABLA_RUNTIME_KERNELS_SIMD_BINARY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NABLA_RUNTIME_KERNELS_SIMD_BINARY_INL_H_
#undef NABLA_RUNTIME_KERNELS_SIMD_BINARY_INL_H_
#else
#define NABLA_RUNTIME_KERNELS_SIMD_BINARY_INL_H_
#endif

#include "absl/types/span.h"
#include "nabla/runtime/kernels/simd_loops-inl.h"
#include "nabla/runtime/kernels/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nabla {
namespace HWY_NAMESPACE {

#define NABLA_BINARY_FUNCTOR(name, expression)          \
  struct name {                                         \
    template <class D, class V>                         \
    HWY_INLINE V operator()(D d, V a, V b, V p) const { \
      using T [[maybe_unused]] = hn::TFromD<D>;         \
      (void)d;                                          \
      (void)p;                                          \
      return expression;                                \
    }                                                   \
  };

NABLA_BINARY_FUNCTOR(AddOp, hn::Add(a, b))
NABLA_BINARY_FUNCTOR(SubOp, hn::Sub(a, b))
NABLA_BINARY_FUNCTOR(MulOp, hn::Mul(a, b))
NABLA_BINARY_FUNCTOR(DivOp, hn::Div(a, b))
NABLA_BINARY_FUNCTOR(FloorDivOp, hn::Floor(hn::Div(a, b)))
NABLA_BINARY_FUNCTOR(SquaredDifferenceOp, hn::Mul(hn::Sub(a, b), hn::Sub(a, b)))
// NaN in either argument wins.
NABLA_BINARY_FUNCTOR(MaximumOp, hn::IfThenElse(hn::Or(hn::IsNaN(a), hn::Gt(a, b)), a, b))
NABLA_BINARY_FUNCTOR(MinimumOp, hn::IfThenElse(hn::Or(hn::IsNaN(a), hn::Lt(a, b)), a, b))
// What is 0 whatever the other argument, NaN included.
NABLA_BINARY_FUNCTOR(DivNoNanOp, hn::IfThenZeroElse(hn::Eq(b, hn::Zero(d)), hn::Div(a, b)))
NABLA_BINARY_FUNCTOR(MulNoNanOp, hn::IfThenZeroElse(hn::Eq(b, hn::Zero(d)), hn::Mul(a, b)))
NABLA_BINARY_FUNCTOR(XdivyOp, hn::IfThenZeroElse(hn::Eq(a, hn::Zero(d)), hn::Div(a, b)))
NABLA_BINARY_FUNCTOR(XlogyOp, hn::IfThenZeroElse(hn::Eq(a, hn::Zero(d)), hn::Mul(a, SafeLog(d, b))))

// Gradients in terms of the forward op's result: a is the result, b the incoming gradient.
NABLA_BINARY_FUNCTOR(TanhGradOp, hn::Mul(b, hn::Sub(hn::Set(d, T(1)), hn::Mul(a, a))))
NABLA_BINARY_FUNCTOR(SigmoidGradOp, hn::Mul(hn::Mul(b, a), hn::Sub(hn::Set(d, T(1)), a)))
NABLA_BINARY_FUNCTOR(SqrtGradOp, hn::Div(hn::Mul(b, hn::Set(d, T(0.5))), a))
NABLA_BINARY_FUNCTOR(RsqrtGradOp, hn::Mul(hn::Mul(hn::Set(d, T(-0.5)), b), hn::Mul(hn::Mul(a, a), a)))
NABLA_BINARY_FUNCTOR(ReciprocalGradOp, hn::Mul(hn::Neg(b), hn::Mul(a, a)))

// Gradients of activations: a is the incoming gradient, b the forward op's argument or (Elu, Selu) its result. The
// masks are factors 0 and 1, so that a NaN or infinite gradient is not hidden.
NABLA_BINARY_FUNCTOR(ReluGradOp, hn::Mul(a, hn::IfThenElseZero(hn::Gt(b, hn::Zero(d)), hn::Set(d, T(1)))))
NABLA_BINARY_FUNCTOR(Relu6GradOp,
                     hn::Mul(a, hn::IfThenElseZero(hn::And(hn::Gt(b, hn::Zero(d)), hn::Lt(b, hn::Set(d, T(6)))),
                                                   hn::Set(d, T(1)))))
NABLA_BINARY_FUNCTOR(LeakyReluGradOp, hn::IfThenElse(hn::Gt(b, hn::Zero(d)), a, hn::Mul(a, p)))
NABLA_BINARY_FUNCTOR(EluGradOp, hn::IfThenElse(hn::Lt(b, hn::Zero(d)), hn::Mul(hn::Add(b, hn::Set(d, T(1))), a), a))
NABLA_BINARY_FUNCTOR(SeluGradOp,
                     hn::Mul(a, hn::IfThenElse(hn::Lt(b, hn::Zero(d)), hn::Add(b, hn::Set(d, T(1.7580993408473768599))),
                                               hn::Set(d, T(1.0507009873554804934)))))
NABLA_BINARY_FUNCTOR(SoftplusGradOp, hn::Div(a, hn::Add(SafeExp(d, hn::Neg(b)), hn::Set(d, T(1)))))
struct SoftsignGradOp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b, V) const {
    const V s = hn::Add(hn::Abs(b), hn::Set(d, hn::TFromD<D>(1)));
    return hn::Div(a, hn::Mul(s, s));
  }
};
#undef NABLA_BINARY_FUNCTOR

#define NABLA_ROW(op, cost, functor) \
  SimdBinaryRow { op, cost, &RunBinary<functor, float>, &RunBinary<functor, double> }

absl::Span<const SimdBinaryRow> BinaryRows() {
  static constexpr SimdBinaryRow kRows[] = {
      NABLA_ROW("Add", 0.1, AddOp),           NABLA_ROW("AddV2", 0.1, AddOp),
      NABLA_ROW("Sub", 0.1, SubOp),           NABLA_ROW("Mul", 0.1, MulOp),
      NABLA_ROW("Div", 0.3, DivOp),           NABLA_ROW("RealDiv", 0.3, DivOp),
      NABLA_ROW("FloorDiv", 0.4, FloorDivOp), NABLA_ROW("SquaredDifference", 0.1, SquaredDifferenceOp),
      NABLA_ROW("Maximum", 0.1, MaximumOp),   NABLA_ROW("Minimum", 0.1, MinimumOp),
      NABLA_ROW("DivNoNan", 0.3, DivNoNanOp), NABLA_ROW("MulNoNan", 0.1, MulNoNanOp),
      NABLA_ROW("Xdivy", 0.3, XdivyOp),       NABLA_ROW("Xlogy", 0.9, XlogyOp),
  };
  return kRows;
}

absl::Span<const SimdBinaryRow> GradRows() {
  static constexpr SimdBinaryRow kRows[] = {
      NABLA_ROW("TanhGrad", 0.1, TanhGradOp),
      NABLA_ROW("SigmoidGrad", 0.1, SigmoidGradOp),
      NABLA_ROW("SqrtGrad", 0.3, SqrtGradOp),
      NABLA_ROW("RsqrtGrad", 0.1, RsqrtGradOp),
      NABLA_ROW("ReciprocalGrad", 0.1, ReciprocalGradOp),
      NABLA_ROW("InvGrad", 0.1, ReciprocalGradOp),
      NABLA_ROW("ReluGrad", 0.1, ReluGradOp),
      NABLA_ROW("Relu6Grad", 0.1, Relu6GradOp),
      NABLA_ROW("LeakyReluGrad", 0.1, LeakyReluGradOp),
      NABLA_ROW("EluGrad", 0.1, EluGradOp),
      NABLA_ROW("SeluGrad", 0.1, SeluGradOp),
      NABLA_ROW("SoftplusGrad", 0.8, SoftplusGradOp),
      NABLA_ROW("SoftsignGrad", 0.4, SoftsignGradOp),
  };
  return kRows;
}
#undef NABLA_ROW

}  // namespace HWY_NAMESPACE
}  // namespace nabla
HWY_AFTER_NAMESPACE();

#endif  // per-target guard

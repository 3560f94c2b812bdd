// The float and double loops of elementwise ops of one argument; compiled once per instruction set.
#if defined(NABLA_RUNTIME_KERNELS_SIMD_UNARY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NABLA_RUNTIME_KERNELS_SIMD_UNARY_INL_H_
#undef NABLA_RUNTIME_KERNELS_SIMD_UNARY_INL_H_
#else
#define NABLA_RUNTIME_KERNELS_SIMD_UNARY_INL_H_
#endif

#include <cmath>

#include "absl/types/span.h"
#include "nabla/runtime/kernels/simd_loops-inl.h"
#include "nabla/runtime/kernels/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nabla {
namespace HWY_NAMESPACE {

#define NABLA_UNARY_FUNCTOR(name, expression)      \
  struct name {                                    \
    template <class D, class V>                    \
    HWY_INLINE V operator()(D d, V x, V p) const { \
      using T [[maybe_unused]] = hn::TFromD<D>;    \
      (void)d;                                     \
      (void)p;                                     \
      return expression;                           \
    }                                              \
  };

NABLA_UNARY_FUNCTOR(NegOp, hn::Neg(x))
NABLA_UNARY_FUNCTOR(AbsOp, hn::Abs(x))
NABLA_UNARY_FUNCTOR(SquareOp, hn::Mul(x, x))
NABLA_UNARY_FUNCTOR(SqrtOp, hn::Sqrt(x))
NABLA_UNARY_FUNCTOR(RsqrtOp, hn::Div(hn::Set(d, T(1)), hn::Sqrt(x)))
NABLA_UNARY_FUNCTOR(ReciprocalOp, hn::Div(hn::Set(d, T(1)), x))
// Zeros of either sign give +0; NaN stays.
NABLA_UNARY_FUNCTOR(SignOp, hn::IfThenElse(hn::Gt(hn::Abs(x), hn::Zero(d)), hn::CopySign(hn::Set(d, T(1)), x),
                                           hn::Add(x, hn::Zero(d))))
NABLA_UNARY_FUNCTOR(FloorOp, hn::Floor(x))
NABLA_UNARY_FUNCTOR(CeilOp, hn::Ceil(x))
NABLA_UNARY_FUNCTOR(RoundOp, hn::Round(x))
// Comparisons with NaN are false: written so that NaN passes.
NABLA_UNARY_FUNCTOR(ReluOp, hn::IfThenZeroElse(hn::Le(x, hn::Zero(d)), x))
NABLA_UNARY_FUNCTOR(Relu6Op, hn::IfThenElse(hn::Gt(x, hn::Set(d, T(6))), hn::Set(d, T(6)),
                                            hn::IfThenZeroElse(hn::Le(x, hn::Zero(d)), x)))
NABLA_UNARY_FUNCTOR(LeakyReluOp, hn::IfThenElse(hn::Gt(x, hn::Zero(d)), x, hn::Mul(x, p)))
NABLA_UNARY_FUNCTOR(SoftsignOp, hn::Div(x, hn::Add(hn::Abs(x), hn::Set(d, T(1)))))

NABLA_UNARY_FUNCTOR(ExpOp, SafeExp(d, x))
NABLA_UNARY_FUNCTOR(Expm1Op, SafeExpm1(d, x))
NABLA_UNARY_FUNCTOR(LogOp, SafeLog(d, x))
NABLA_UNARY_FUNCTOR(Log1pOp, SafeLog1p(d, x))
NABLA_UNARY_FUNCTOR(SinOp, SafeSin(d, x))
NABLA_UNARY_FUNCTOR(CosOp, SafeCos(d, x))
NABLA_UNARY_FUNCTOR(TanhOp, SafeTanh(d, x))
NABLA_UNARY_FUNCTOR(SigmoidOp, SafeSigmoid(d, x))
NABLA_UNARY_FUNCTOR(EluOp, hn::IfThenElse(hn::Lt(x, hn::Zero(d)), SafeExpm1(d, x), x))
// S. Klambauer et al., "Self-normalizing neural networks": scale, and scale times alpha.
NABLA_UNARY_FUNCTOR(SeluOp, hn::IfThenElse(hn::Lt(x, hn::Zero(d)),
                                           hn::Mul(hn::Set(d, T(1.7580993408473768599)), SafeExpm1(d, x)),
                                           hn::Mul(hn::Set(d, T(1.0507009873554804934)), x)))
NABLA_UNARY_FUNCTOR(SoftplusOp, SafeSoftplus(d, x))
NABLA_UNARY_FUNCTOR(ErfOp, SafeErf(d, x))
#undef NABLA_UNARY_FUNCTOR

#define NABLA_ROW(op, cost, functor) \
  SimdUnaryRow { op, cost, &RunUnary<functor, float>, &RunUnary<functor, double>, &StreamUnary<functor, float> }

absl::Span<const SimdUnaryRow> UnaryRows() {
  static constexpr SimdUnaryRow kRows[] = {
      NABLA_ROW("Neg", 0.1, NegOp),
      NABLA_ROW("Abs", 0.1, AbsOp),
      NABLA_ROW("Square", 0.1, SquareOp),
      NABLA_ROW("Sqrt", 0.4, SqrtOp),
      NABLA_ROW("Rsqrt", 0.6, RsqrtOp),
      NABLA_ROW("Reciprocal", 0.3, ReciprocalOp),
      NABLA_ROW("Inv", 0.3, ReciprocalOp),
      NABLA_ROW("Sign", 0.1, SignOp),
      NABLA_ROW("Floor", 0.1, FloorOp),
      NABLA_ROW("Ceil", 0.1, CeilOp),
      NABLA_ROW("Round", 0.1, RoundOp),
      NABLA_ROW("Rint", 0.1, RoundOp),
      NABLA_ROW("Relu", 0.1, ReluOp),
      NABLA_ROW("Relu6", 0.1, Relu6Op),
      NABLA_ROW("LeakyRelu", 0.1, LeakyReluOp),
      NABLA_ROW("Softsign", 0.3, SoftsignOp),
      NABLA_ROW("Exp", 0.3, ExpOp),
      NABLA_ROW("Expm1", 0.4, Expm1Op),
      NABLA_ROW("Log", 0.8, LogOp),
      NABLA_ROW("Log1p", 1.0, Log1pOp),
      NABLA_ROW("Sin", 0.7, SinOp),
      NABLA_ROW("Cos", 0.7, CosOp),
      NABLA_ROW("Tanh", 0.5, TanhOp),
      NABLA_ROW("Sigmoid", 0.4, SigmoidOp),
      NABLA_ROW("Elu", 0.4, EluOp),
      NABLA_ROW("Selu", 0.4, SeluOp),
      NABLA_ROW("Softplus", 1.2, SoftplusOp),
      NABLA_ROW("Erf", 0.6, ErfOp),
  };
  return kRows;
}
#undef NABLA_ROW

}  // namespace HWY_NAMESPACE
}  // namespace nabla
HWY_AFTER_NAMESPACE();

#endif  // per-target guard

// Elementwise ops of one argument. An op is a row: in simd_unary-inl.h for float and double, below for the rest.
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <type_traits>

#include "nabla/runtime/kernels/elementwise.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/kernels/narrow.h"
#include "nabla/runtime/kernels/scalar_loops.h"
#include "nabla/runtime/kernels/simd_unary.h"
#include "nabla/runtime/kernels/stream.h"

namespace nabla {
namespace {

struct UnaryOp {
  double cost = 1;
  LoopsByDType<UnaryLoop> loops;
  LoopsByDType<UnaryLoop> stream_loops;  // of the same dtypes or fewer
};

class UnaryKernel : public Kernel {
 public:
  UnaryKernel(const KernelInit& init, const UnaryOp& op) : cost_(op.cost) {
    const DType in = init.input_dtype(0);
    const DType out = init.output_dtype(0);
    if (IsNarrow(in)) narrow_ = in;
    loop_ = op.loops.Get(IsNarrow(in) ? DType::kFloat : in);
    if (loop_ == nullptr) {
      init.Fail(UnsupportedDType(in));
      return;
    }
    in_size_ = DTypeSize(in);
    out_size_ = DTypeSize(out);
    stream_loop_ = op.stream_loops.Get(in);
    narrow_output_ = narrow_ != DType::kInvalid && out == narrow_;
    if (const float* alpha = init.find_attr<float>("alpha")) param_ = *alpha;
  }

  absl::Status Compute(KernelContext& ctx) const override {
    const Tensor& x = ctx.input(0);
    const int64_t n = x.num_elements();
    NABLA_ASSIGN_OR_RETURN(Tensor* const y, ctx.ForwardOrAllocateOutput({0}, 0, x.shape()));
    const char* from = static_cast<const char*>(x.raw_data());
    char* to = static_cast<char*>(y->raw_data());
    if (n * cost_ < kWorthSharing) {
      Run(from, to, n);
    } else {
      const bool stream = n * out_size_ >= kStreamBytes && from != to;
      ctx.StoppableParallelFor(n, cost_, [&](int64_t begin, int64_t end) {
        if (stream && stream_loop_ != nullptr) {
          stream_loop_(from + begin * in_size_, to + begin * out_size_, end - begin, param_);
          FinishStreaming();
          return;
        }
        ProduceElements(to, begin, end, out_size_, stream, [&](char* out, int64_t first, int64_t last) {
          Run(from + first * in_size_, out, last - first);
        });
      });
    }
    return absl::OkStatus();
  }

 private:
  // Nanoseconds of work below which cutting it up is not worth a thought.
  static constexpr double kWorthSharing = 5000;

  void Run(const char* x, char* y, int64_t n) const {
    if (narrow_ == DType::kInvalid) {
      loop_(x, y, n, param_);
      return;
    }
    float buffer[kNarrowBlock];
    for (int64_t i = 0; i < n; i += kNarrowBlock) {
      const int64_t count = std::min(kNarrowBlock, n - i);
      NarrowToFloat(narrow_, x + i * in_size_, buffer, count);
      if (narrow_output_) {
        loop_(buffer, buffer, count, param_);
        FloatToNarrow(narrow_, buffer, y + i * out_size_, count);
      } else {
        loop_(buffer, y + i * out_size_, count, param_);
      }
    }
  }

  UnaryLoop loop_ = nullptr;
  UnaryLoop stream_loop_ = nullptr;
  double cost_;
  double param_ = 0;
  int64_t in_size_ = 0;
  int64_t out_size_ = 0;
  DType narrow_ = DType::kInvalid;  // kHalf or kBFloat16, if the argument is one
  bool narrow_output_ = false;      // the result is of that type too (else bool)
};

// ---- functors for the dtypes that simd_unary-inl.h does not do ----

#define NABLA_FUNCTOR(name, expression)                     \
  struct name {                                             \
    template <typename T>                                   \
    static auto Apply(T x, [[maybe_unused]] double param) { \
      return expression;                                    \
    }                                                       \
  };

NABLA_FUNCTOR(IntNeg, static_cast<T>(Wrapping<T>(0) - static_cast<Wrapping<T>>(x)))
NABLA_FUNCTOR(IntAbs, x < 0 ? IntNeg::Apply(x, 0) : x)
NABLA_FUNCTOR(IntSign, static_cast<T>((x > 0) - (x < 0)))
NABLA_FUNCTOR(IntSquare, static_cast<T>(static_cast<Wrapping<T>>(x) * static_cast<Wrapping<T>>(x)))
NABLA_FUNCTOR(IntRelu, x > 0 ? x : T(0))
NABLA_FUNCTOR(IntRelu6, x < 0 ? T(0) : (x > 6 ? T(6) : x))
NABLA_FUNCTOR(Same, x)

// Not vectorized by hand.
NABLA_FUNCTOR(Tan, std::tan(x))
NABLA_FUNCTOR(Erfc, std::erfc(x))

NABLA_FUNCTOR(IsNan, x != x)
NABLA_FUNCTOR(IsInf, std::abs(x) == std::numeric_limits<T>::infinity())
NABLA_FUNCTOR(IsFinite, std::abs(x) < std::numeric_limits<T>::infinity())
NABLA_FUNCTOR(LogicalNot, !x)

// T is std::complex<…> from here on.
NABLA_FUNCTOR(ComplexNeg, -x)
NABLA_FUNCTOR(ComplexReciprocal, T(1) / x)
NABLA_FUNCTOR(ComplexSquare, x* x)
NABLA_FUNCTOR(ComplexSqrt, std::sqrt(x))
NABLA_FUNCTOR(ComplexRsqrt, T(1) / std::sqrt(x))
NABLA_FUNCTOR(ComplexExp, std::exp(x))
NABLA_FUNCTOR(ComplexLog, std::log(x))
NABLA_FUNCTOR(ComplexSin, std::sin(x))
NABLA_FUNCTOR(ComplexCos, std::cos(x))
NABLA_FUNCTOR(ComplexTan, std::tan(x))
NABLA_FUNCTOR(ComplexTanh, std::tanh(x))
NABLA_FUNCTOR(ComplexSigmoid, T(1) / (T(1) + std::exp(-x)))
NABLA_FUNCTOR(ComplexSign, x == T(0) ? T(0) : x / std::abs(x))
NABLA_FUNCTOR(ComplexConj, std::conj(x))
NABLA_FUNCTOR(ComplexReal, x.real())
NABLA_FUNCTOR(ComplexImag, x.imag())
#undef NABLA_FUNCTOR

// e^(a+bi) - 1 without cancellation for small arguments: e^a cos b - 1 = expm1(a) cos b - 2 sin(b/2)^2.
struct ComplexExpm1 {
  template <typename T>
  static std::complex<T> Apply(std::complex<T> x, double) {
    const T half_sine = std::sin(x.imag() / 2);
    return {std::expm1(x.real()) * std::cos(x.imag()) - 2 * half_sine * half_sine,
            std::exp(x.real()) * std::sin(x.imag())};
  }
};

// log|1+x| = log1p(a(2+a) + b^2) / 2.
struct ComplexLog1p {
  template <typename T>
  static std::complex<T> Apply(std::complex<T> x, double) {
    const T a = x.real();
    const T b = x.imag();
    if (std::abs(a) < T(0.5) && std::abs(b) < T(0.5)) {
      return {std::log1p(a * (2 + a) + b * b) / 2, std::atan2(b, 1 + a)};
    }
    return std::log(std::complex<T>(1 + a, b));
  }
};

using UnaryOps = std::map<std::string, UnaryOp>;

template <class F, class TypeList>
void Row(UnaryOps& ops, const char* op, double cost) {
  UnaryOp& entry = ops[op];
  // The vector code's cost stands.
  if (entry.loops.Get(DType::kFloat) == nullptr) entry.cost = cost;
  SetScalarUnary<F>(TypeList(), entry.loops);
}

UnaryOps AllUnaryOps() {
  UnaryOps ops;
  for (const SimdUnaryRow& row : SimdUnaryRows()) {
    UnaryOp& op = ops[row.op];
    op.cost = row.cost;
    op.loops.Set(DType::kFloat, row.float_loop);
    op.loops.Set(DType::kDouble, row.double_loop);
    op.stream_loops.Set(DType::kFloat, row.float_stream_loop);
  }
  Row<IntNeg, SignedTypes>(ops, "Neg", 0.2);
  Row<IntAbs, SignedTypes>(ops, "Abs", 0.2);
  Row<IntSign, SignedTypes>(ops, "Sign", 0.2);
  Row<IntSquare, IntegerTypes>(ops, "Square", 0.2);
  Row<IntRelu, IntegerTypes>(ops, "Relu", 0.2);
  Row<IntRelu6, IntegerTypes>(ops, "Relu6", 0.2);
  Row<Same, SignedTypes>(ops, "Round", 0.2);

  Row<Tan, RealTypes>(ops, "Tan", 12);
  Row<Erfc, RealTypes>(ops, "Erfc", 12);

  Row<IsNan, RealTypes>(ops, "IsNan", 0.2);
  Row<IsInf, RealTypes>(ops, "IsInf", 0.2);
  Row<IsFinite, RealTypes>(ops, "IsFinite", 0.2);
  Row<LogicalNot, Types<bool>>(ops, "LogicalNot", 0.1);

  Row<ComplexNeg, ComplexTypes>(ops, "Neg", 1);
  Row<ComplexReciprocal, ComplexTypes>(ops, "Reciprocal", 5);
  Row<ComplexReciprocal, ComplexTypes>(ops, "Inv", 5);
  Row<ComplexSquare, ComplexTypes>(ops, "Square", 2);
  Row<ComplexSqrt, ComplexTypes>(ops, "Sqrt", 20);
  Row<ComplexRsqrt, ComplexTypes>(ops, "Rsqrt", 30);
  Row<ComplexExp, ComplexTypes>(ops, "Exp", 40);
  Row<ComplexExpm1, ComplexTypes>(ops, "Expm1", 50);
  Row<ComplexLog, ComplexTypes>(ops, "Log", 40);
  Row<ComplexLog1p, ComplexTypes>(ops, "Log1p", 40);
  Row<ComplexSin, ComplexTypes>(ops, "Sin", 50);
  Row<ComplexCos, ComplexTypes>(ops, "Cos", 50);
  Row<ComplexTan, ComplexTypes>(ops, "Tan", 60);
  Row<ComplexTanh, ComplexTypes>(ops, "Tanh", 60);
  Row<ComplexSigmoid, ComplexTypes>(ops, "Sigmoid", 50);
  Row<ComplexSign, ComplexTypes>(ops, "Sign", 15);
  Row<ComplexConj, ComplexTypes>(ops, "Conj", 1);
  Row<ComplexReal, ComplexTypes>(ops, "Real", 0.5);
  Row<ComplexImag, ComplexTypes>(ops, "Imag", 0.5);
  return ops;
}

}  // namespace

void RegisterUnaryKernels(KernelRegistry& registry) {
  for (const auto& [name, op] : AllUnaryOps()) {
    registry.AddFactory(name, [op = op](const KernelInit& init) -> std::unique_ptr<Kernel> {
      return std::make_unique<UnaryKernel>(init, op);
    });
  }
}

}  // namespace nabla

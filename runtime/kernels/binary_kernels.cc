// Elementwise ops of two arguments, broadcasting; comparisons, logic, and the *Grad ops of elementwise ops. An op is a
// row: in simd_binary-inl.h for float and double, below for the rest.
#include <algorithm>
#include <complex>
#include <cstdint>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "nabla/runtime/dtype_switch.h"
#include "nabla/runtime/kernels/binary_functors.h"
#include "nabla/runtime/kernels/binary_runner.h"
#include "nabla/runtime/kernels/broadcast.h"
#include "nabla/runtime/kernels/elementwise.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/kernels/scalar_loops.h"
#include "nabla/runtime/kernels/simd_binary.h"
#include "nabla/runtime/kernels/stream.h"

namespace nabla {
namespace {

namespace f = binary_functors;

// Looks for second operands that the op cannot take.
using OperandCheck = absl::Status (*)(const Tensor& b);

struct BinaryOp {
  double cost = 1;
  bool broadcasts = true;
  OperandCheck check = nullptr;
  LoopsByDType<BinaryLoop> loops;
};

class BinaryKernel : public Kernel {
 public:
  BinaryKernel(const KernelInit& init, const BinaryOp& op)
      : runner_(init, op.loops),
        out_size_(static_cast<int64_t>(DTypeSize(init.output_dtype(0)))),
        streamable_(IsPod(init.output_dtype(0))),
        cost_(op.cost),
        broadcasts_(op.broadcasts) {
    if (IsInteger(init.input_dtype(0))) check_ = op.check;
    if (const bool* error = init.find_attr<bool>("incompatible_shape_error")) {
      compare_shapes_ = !*error;
      unequal_ = init.node().op() == "NotEqual";
    }
  }

  absl::Status Compute(KernelContext& ctx) const override {
    const Tensor& a = ctx.input(0);
    const Tensor& b = ctx.input(1);
    const int64_t n_a = a.num_elements();
    const int64_t n_b = b.num_elements();
    if (a.shape() == b.shape()) return Flat(ctx, BinaryKind::kVectorVector, a.shape(), n_a);
    if (!broadcasts_) {
      return absl::InvalidArgumentError(absl::StrCat("the arguments must have one shape, but have ",
                                                     a.shape().ToString(), " and ", b.shape().ToString()));
    }
    if (n_b == 1 && b.rank() <= a.rank()) return Flat(ctx, BinaryKind::kVectorScalar, a.shape(), n_a);
    if (n_a == 1 && a.rank() <= b.rank()) return Flat(ctx, BinaryKind::kScalarVector, b.shape(), n_b);
    return General(ctx);
  }

 private:
  // Nanoseconds of work below which cutting it up is not worth a thought.
  static constexpr double kWorthSharing = 5000;

  // Operands that are arrays of n elements or single elements.
  absl::Status Flat(KernelContext& ctx, BinaryKind kind, const Shape& shape, int64_t n) const {
    const Tensor& a = ctx.input(0);
    const Tensor& b = ctx.input(1);
    if (check_ != nullptr && n > 0) NABLA_RETURN_IF_ERROR(check_(b));
    absl::StatusOr<Tensor*> allocated =
        kind == BinaryKind::kVectorVector   ? ctx.ForwardOrAllocateOutput({0, 1}, 0, shape)
        : kind == BinaryKind::kVectorScalar ? ctx.ForwardOrAllocateOutput({0}, 0, shape)
                                            : ctx.ForwardOrAllocateOutput({1}, 0, shape);
    if (!allocated.ok()) return allocated.status();
    const char* pa = static_cast<const char*>(a.raw_data());
    const char* pb = static_cast<const char*>(b.raw_data());
    char* py = static_cast<char*>((*allocated)->raw_data());
    if (n * cost_ < kWorthSharing) {
      runner_.Run(pa, 0, pb, 0, py, 0, n, kind);
      return absl::OkStatus();
    }
    const bool stream = streamable_ && n * out_size_ >= kStreamBytes && py != pa && py != pb;
    ctx.StoppableParallelFor(n, cost_, [&](int64_t begin, int64_t end) {
      ProduceElements(py, begin, end, out_size_, stream, [&](char* out, int64_t first, int64_t last) {
        runner_.Run(pa, kind == BinaryKind::kScalarVector ? 0 : first, pb,
                    kind == BinaryKind::kVectorScalar ? 0 : first, out, 0, last - first, kind);
      });
    });
    return absl::OkStatus();
  }

  absl::Status General(KernelContext& ctx) const {
    const Tensor& a = ctx.input(0);
    const Tensor& b = ctx.input(1);
    absl::StatusOr<Broadcast> broadcast = Broadcast::Make({&a.shape(), &b.shape()});
    if (!broadcast.ok()) {
      if (!compare_shapes_) return broadcast.status();
      NABLA_ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, Shape::Scalar()));
      *y->data<bool>() = unequal_;
      return absl::OkStatus();
    }
    const int64_t n = broadcast->num_elements();
    if (check_ != nullptr && n > 0) NABLA_RETURN_IF_ERROR(check_(b));
    // An operand that is not broadcast has the output's elements in the output's order, so its buffer may be taken.
    absl::StatusOr<Tensor*> allocated =
        a.shape() == broadcast->shape()   ? ctx.ForwardOrAllocateOutput({0}, 0, broadcast->shape())
        : b.shape() == broadcast->shape() ? ctx.ForwardOrAllocateOutput({1}, 0, broadcast->shape())
                                          : ctx.AllocateOutput(0, broadcast->shape());
    if (!allocated.ok()) return allocated.status();
    const char* pa = static_cast<const char*>(a.raw_data());
    const char* pb = static_cast<const char*>(b.raw_data());
    char* py = static_cast<char*>((*allocated)->raw_data());
    const BinaryKind kind = broadcast->is_scalar(0)   ? BinaryKind::kScalarVector
                            : broadcast->is_scalar(1) ? BinaryKind::kVectorScalar
                                                      : BinaryKind::kVectorVector;
    // A run costs a few nanoseconds however short it is.
    const double cost = cost_ + 5.0 / static_cast<double>(std::max<int64_t>(broadcast->run_length(), 1));
    const bool stream = streamable_ && n * out_size_ >= kStreamBytes && py != pa && py != pb;
    ctx.StoppableParallelFor(n, cost, [&](int64_t begin, int64_t end) {
      ProduceElements(py, begin, end, out_size_, stream, [&](char* out, int64_t first, int64_t last) {
        broadcast->ForEachRun(first, last, [&](const int64_t* offsets, int64_t at, int64_t count) {
          runner_.Run(pa, offsets[0], pb, offsets[1], out, at - first, count, kind);
        });
      });
    });
    return absl::OkStatus();
  }

  BinaryRunner runner_;
  int64_t out_size_;
  bool streamable_;
  double cost_;
  bool broadcasts_;
  OperandCheck check_ = nullptr;
  // Equal and NotEqual with incompatible_shape_error = false: shapes that don't broadcast are simply unequal.
  bool compare_shapes_ = false;
  bool unequal_ = false;
};

// ---- checks of integer operands ----

template <typename Predicate>
bool AnyInteger(const Tensor& b, Predicate predicate) {
  bool found = false;
  absl::Status ignored = SwitchInteger(b.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* p = b.data<T>();
    unsigned any = 0;
    for (int64_t i = 0; i < b.num_elements(); ++i) any |= static_cast<unsigned>(predicate(p[i]));
    found = any != 0;
    return absl::OkStatus();
  });
  return found && ignored.ok();
}

absl::Status CheckDivisor(const Tensor& b) {
  if (!AnyInteger(b, [](auto v) { return v == 0; })) return absl::OkStatus();
  return absl::InvalidArgumentError("integer division by zero");
}

absl::Status CheckExponent(const Tensor& b) {
  if (!AnyInteger(b, [](auto v) { return v < 0; })) return absl::OkStatus();
  return absl::InvalidArgumentError("integers to negative integer powers are not allowed");
}

// ---- rows ----

using BinaryOps = std::map<std::string, BinaryOp>;

template <class F, class TypeList>
void Row(BinaryOps& ops, const char* op, double cost, OperandCheck check = nullptr) {
  BinaryOp& entry = ops[op];
  // The vector code's cost stands.
  if (entry.loops.Get(DType::kFloat) == nullptr) entry.cost = cost;
  if (check != nullptr) entry.check = check;
  SetScalarBinary<F>(TypeList(), entry.loops);
}

void AddIntegerRows(BinaryOps& ops) {
  for (const char* add : {"Add", "AddV2"}) Row<f::IntAdd, IntegerTypes>(ops, add, 0.2);
  Row<f::IntSub, IntegerTypes>(ops, "Sub", 0.2);
  Row<f::IntMul, IntegerTypes>(ops, "Mul", 0.3);
  Row<f::IntMaximum, IntegerTypes>(ops, "Maximum", 0.2);
  Row<f::IntMinimum, IntegerTypes>(ops, "Minimum", 0.2);
  Row<f::IntSquaredDifference, IntegerTypes>(ops, "SquaredDifference", 0.3);
  for (const char* div : {"Div", "RealDiv"}) {
    Row<f::IntTruncateDiv, IntegerTypes>(ops, div, 2, &CheckDivisor);
  }
  Row<f::IntFloorDiv, IntegerTypes>(ops, "FloorDiv", 3, &CheckDivisor);
  Row<f::IntFloorMod, IntegerTypes>(ops, "FloorMod", 2, &CheckDivisor);
  Row<f::IntPow, IntegerTypes>(ops, "Pow", 5, &CheckExponent);
}

void AddRealRows(BinaryOps& ops) {
  Row<f::RealPow, RealTypes>(ops, "Pow", 20);
  Row<f::RealFloorMod, RealTypes>(ops, "FloorMod", 10);
  Row<f::CloseTo, RealTypes>(ops, "ApproximateEqual", 0.3);
  Row<f::MakeComplex, RealTypes>(ops, "Complex", 0.5);
}

void AddComplexRows(BinaryOps& ops) {
  for (const char* add : {"Add", "AddV2"}) Row<f::ComplexAdd, ComplexTypes>(ops, add, 1);
  Row<f::ComplexSub, ComplexTypes>(ops, "Sub", 1);
  Row<f::ComplexMul, ComplexTypes>(ops, "Mul", 2);
  for (const char* div : {"Div", "RealDiv"}) Row<f::ComplexDiv, ComplexTypes>(ops, div, 8);
  Row<f::ComplexPow, ComplexTypes>(ops, "Pow", 100);
  Row<f::ComplexSquaredDifference, ComplexTypes>(ops, "SquaredDifference", 3);
  Row<f::ComplexDivNoNan, ComplexTypes>(ops, "DivNoNan", 8);
  Row<f::ComplexMulNoNan, ComplexTypes>(ops, "MulNoNan", 3);
  Row<f::ComplexXdivy, ComplexTypes>(ops, "Xdivy", 8);
  Row<f::ComplexXlogy, ComplexTypes>(ops, "Xlogy", 40);
}

void AddComparisonRows(BinaryOps& ops) {
  Row<f::EqualTo, RealTypes>(ops, "Equal", 0.2);
  Row<f::EqualTo, IntegerTypes>(ops, "Equal", 0.2);
  Row<f::EqualTo, ComplexTypes>(ops, "Equal", 1);
  Row<f::EqualTo, Types<bool, std::string>>(ops, "Equal", 1);
  Row<f::NotEqualTo, RealTypes>(ops, "NotEqual", 0.2);
  Row<f::NotEqualTo, IntegerTypes>(ops, "NotEqual", 0.2);
  Row<f::NotEqualTo, ComplexTypes>(ops, "NotEqual", 1);
  Row<f::NotEqualTo, Types<bool, std::string>>(ops, "NotEqual", 1);
  Row<f::LessThan, RealTypes>(ops, "Less", 0.2);
  Row<f::LessThan, IntegerTypes>(ops, "Less", 0.2);
  Row<f::LessOrEqual, RealTypes>(ops, "LessEqual", 0.2);
  Row<f::LessOrEqual, IntegerTypes>(ops, "LessEqual", 0.2);
  Row<f::GreaterThan, RealTypes>(ops, "Greater", 0.2);
  Row<f::GreaterThan, IntegerTypes>(ops, "Greater", 0.2);
  Row<f::GreaterOrEqual, RealTypes>(ops, "GreaterEqual", 0.2);
  Row<f::GreaterOrEqual, IntegerTypes>(ops, "GreaterEqual", 0.2);
  Row<f::And, Types<bool>>(ops, "LogicalAnd", 0.1);
  Row<f::Or, Types<bool>>(ops, "LogicalOr", 0.1);
}

void AddGradRows(BinaryOps& ops) {
  BinaryOps grads;
  for (const SimdBinaryRow& row : SimdGradRows()) {
    BinaryOp& op = grads[row.op];
    op.cost = row.cost;
    op.loops.Set(DType::kFloat, row.float_loop);
    op.loops.Set(DType::kDouble, row.double_loop);
  }
  Row<f::IntReluGrad, IntegerTypes>(grads, "ReluGrad", 0.2);
  Row<f::IntRelu6Grad, IntegerTypes>(grads, "Relu6Grad", 0.2);
  Row<f::ComplexTanhGrad, ComplexTypes>(grads, "TanhGrad", 4);
  Row<f::ComplexSigmoidGrad, ComplexTypes>(grads, "SigmoidGrad", 4);
  Row<f::ComplexSqrtGrad, ComplexTypes>(grads, "SqrtGrad", 8);
  Row<f::ComplexRsqrtGrad, ComplexTypes>(grads, "RsqrtGrad", 6);
  Row<f::ComplexReciprocalGrad, ComplexTypes>(grads, "ReciprocalGrad", 4);
  Row<f::ComplexReciprocalGrad, ComplexTypes>(grads, "InvGrad", 4);
  for (auto& [name, op] : grads) {
    op.broadcasts = false;
    ops[name] = op;
  }
}

BinaryOps AllBinaryOps() {
  BinaryOps ops;
  for (const SimdBinaryRow& row : SimdBinaryRows()) {
    BinaryOp& op = ops[row.op];
    op.cost = row.cost;
    op.loops.Set(DType::kFloat, row.float_loop);
    op.loops.Set(DType::kDouble, row.double_loop);
  }
  AddIntegerRows(ops);
  AddRealRows(ops);
  AddComplexRows(ops);
  AddComparisonRows(ops);
  AddGradRows(ops);
  ops["ApproximateEqual"].broadcasts = false;
  Row<f::Concatenate, Types<std::string>>(ops, "Add", 50);
  return ops;
}

}  // namespace

void RegisterBinaryKernels(KernelRegistry& registry) {
  for (const auto& [name, op] : AllBinaryOps()) {
    registry.AddFactory(name, [op = op](const KernelInit& init) -> std::unique_ptr<Kernel> {
      return std::make_unique<BinaryKernel>(init, op);
    });
  }
}

}  // namespace nabla

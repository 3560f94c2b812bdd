// Reductions over axes that are an input: Sum, Mean, Prod, Max, Min, All, Any; and L2Loss.
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "nabla/runtime/dtype_switch.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/kernels/reduce.h"
#include "nabla/runtime/kernels/reduction_parts.h"

namespace nabla {
namespace {

// The axes that input 1 names.
absl::StatusOr<ReduceAxes> ReadAxes(const Tensor& indices, int rank) {
  ReduceAxes axes(rank, false);
  NABLA_RETURN_IF_ERROR(SwitchIndex(indices.dtype(), [&](auto zero) -> absl::Status {
    for (int64_t axis : indices.flat<decltype(zero)>()) {
      if (axis < -rank || axis >= rank) {
        return absl::InvalidArgumentError(
            absl::StrCat("reduction axis ", axis, " is not in [", -rank, ", ", rank, ")"));
      }
      const int64_t at = axis < 0 ? axis + rank : axis;
      if (axes[at]) return absl::InvalidArgumentError(absl::StrCat("reduction axis ", at, " is named twice"));
      axes[at] = true;
    }
    return absl::OkStatus();
  }));
  return axes;
}

template <ReduceOp kOp>
class ReductionKernel : public Kernel {
 public:
  explicit ReductionKernel(const KernelInit& init) : keep_dims_(init.attr<bool>("keep_dims")) {
    const DType dtype = init.input_dtype(0);
    if (FindReduceLoops(kOp, dtype) == nullptr && dtype != DType::kHalf && dtype != DType::kBFloat16) {
      init.Fail(UnsupportedDType(dtype));
    }
  }

  absl::Status Compute(KernelContext& ctx) const override {
    const Tensor& x = ctx.input(0);
    NABLA_ASSIGN_OR_RETURN(const ReduceAxes axes, ReadAxes(ctx.input(1), x.rank()));
    Shape shape = Shape::Scalar();
    int64_t count = 1;
    for (int i = 0; i < x.rank(); ++i) {
      if (!axes[i]) {
        shape.AddDim(x.dim(i));
      } else {
        if (keep_dims_) shape.AddDim(1);
        count = count == 1 && x.dim(i) == 1 ? 1 : 0;
      }
    }
    if (count == 1) {  // one element each: nothing to combine
      ctx.SetOutput(0, x.Reshaped(shape));
      return absl::OkStatus();
    }
    return Reduce(ctx, kOp, x, axes, shape);
  }

 private:
  bool keep_dims_;
};

// Half the sum of squares.
absl::Status L2Loss(KernelContext& ctx) {
  const Tensor& x = ctx.input(0);
  NABLA_RETURN_IF_ERROR(Reduce(ctx, ReduceOp::kSumOfSquares, x, ReduceAxes(x.rank(), true), Shape::Scalar()));
  return SwitchFloating(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* y = ctx.output(0)->data<T>();
    *y = static_cast<T>(static_cast<ComputeType<T>>(*y) / 2);
    return absl::OkStatus();
  });
}

}  // namespace

void RegisterReductionKernels(KernelRegistry& registry) {
  registry.Add<ReductionKernel<ReduceOp::kSum>>("Sum");
  registry.Add<ReductionKernel<ReduceOp::kMean>>("Mean");
  registry.Add<ReductionKernel<ReduceOp::kProd>>("Prod");
  registry.Add<ReductionKernel<ReduceOp::kMax>>("Max");
  registry.Add<ReductionKernel<ReduceOp::kMin>>("Min");
  registry.Add<ReductionKernel<ReduceOp::kAll>>("All");
  registry.Add<ReductionKernel<ReduceOp::kAny>>("Any");
  registry.Add("L2Loss", &L2Loss);
  RegisterAddNKernels(registry);
  RegisterArgMinMaxKernels(registry);
  RegisterScanKernels(registry);
}

}  // namespace nabla

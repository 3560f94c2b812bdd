// The optimizers' ops: they update variables and their slots in place.
#include <algorithm>
#include <cmath>
#include <mutex>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nabla/runtime/dtype_switch.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/kernels/row_indices.h"
#include "nabla/runtime/kernels/training_loops.h"
#include "nabla/runtime/resources.h"

namespace nabla {
namespace {

// The variable and slots of one update, locked together (in the order of their addresses, so that two updates that
// share some cannot wait for each other) and made exclusively owned.
class LockedVariables {
 public:
  static absl::StatusOr<LockedVariables> Lock(KernelContext& ctx, int count) {
    LockedVariables locked;
    for (int i = 0; i < count; ++i) {
      NABLA_ASSIGN_OR_RETURN(Variable * variable, VariableFromHandle(ctx.input(i)));
      if (std::count(locked.variables_.begin(), locked.variables_.end(), variable) > 0) {
        return absl::InvalidArgumentError(absl::StrCat("inputs '", ctx.node().spec().inputs()[i].name,
                                                       "' and an earlier one are the same variable '",
                                                       ctx.input(i).data<ResourceHandle>()->name(), "'"));
      }
      locked.variables_.push_back(variable);
    }
    std::vector<Variable*> order = locked.variables_;
    std::sort(order.begin(), order.end());
    for (Variable* variable : order) locked.locks_.emplace_back(variable->mutex());
    for (int i = 0; i < count; ++i) {
      Variable* variable = locked.variables_[i];
      const std::string& name = ctx.input(i).data<ResourceHandle>()->name();
      if (!variable->value().valid()) {
        return absl::FailedPreconditionError(absl::StrCat("variable '", name, "' is uninitialized"));
      }
      if (variable->value().shape() != locked.value(0).shape() ||
          variable->value().dtype() != locked.value(0).dtype()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "slot '", name, "' is ", DTypeName(variable->value().dtype()), " ", variable->value().shape().ToString(),
            ", the variable is ", DTypeName(locked.value(0).dtype()), " ", locked.value(0).shape().ToString()));
      }
      NABLA_RETURN_IF_ERROR(variable->MakeExclusive());
    }
    return locked;
  }

  Tensor& value(int i) { return variables_[i]->mutable_value(); }

 private:
  std::vector<Variable*> variables_;
  std::vector<std::unique_lock<std::shared_mutex>> locks_;
};

absl::StatusOr<double> ScalarInput(KernelContext& ctx, absl::string_view name) {
  const int i = ctx.node().spec().FindInput(name);
  const Tensor& tensor = ctx.input(i);
  if (tensor.num_elements() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", name, "' must be a scalar, got shape ", tensor.shape().ToString()));
  }
  double value = 0;
  NABLA_RETURN_IF_ERROR(SwitchFloating(tensor.dtype(), [&](auto zero) -> absl::Status {
    using T = decltype(zero);
    value = static_cast<double>(static_cast<ComputeType<T>>(*tensor.data<T>()));
    return absl::OkStatus();
  }));
  return value;
}

absl::Status CheckGradient(const Tensor& grad, const Tensor& variable) {
  if (grad.dtype() == variable.dtype()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the gradient is of type ", DTypeName(grad.dtype()),
                                                 ", the variable of type ", DTypeName(variable.dtype())));
}

// Nanoseconds per element: the loops are bound by memory, or by a square root and a division.
constexpr double kCost = 1.0;

class OptimizerKernel : public Kernel {
 public:
  OptimizerKernel(const KernelInit& init, absl::string_view grad_name)
      : grad_(init.node().spec().FindInput(grad_name)) {
    const DType dtype = init.node().GetAttr<DType>("T");
    if (!IsFloating(dtype) || DTypeSize(dtype) == 1) init.Fail(UnsupportedDType(dtype));
  }

 protected:
  absl::Status Update(KernelContext& ctx, OptimizerRule rule, const OptimizerParams& params) const {
    const int num_arrays = NumOptimizerArrays(rule);
    NABLA_ASSIGN_OR_RETURN(LockedVariables locked, LockedVariables::Lock(ctx, num_arrays));
    const Tensor& grad = ctx.input(grad_);
    NABLA_RETURN_IF_ERROR(CheckGradient(grad, locked.value(0)));
    const int indices = ctx.node().spec().FindInput("indices");
    return indices < 0 ? UpdateAll(ctx, rule, params, num_arrays, locked, grad)
                       : UpdateRows(ctx, rule, params, num_arrays, locked, grad, ctx.input(indices));
  }

 private:
  static absl::Status UpdateAll(KernelContext& ctx, OptimizerRule rule, const OptimizerParams& params, int num_arrays,
                                LockedVariables& locked, const Tensor& grad) {
    if (grad.shape() != locked.value(0).shape()) {
      return absl::InvalidArgumentError(absl::StrCat("the gradient has shape ", grad.shape().ToString(),
                                                     ", the variable ", locked.value(0).shape().ToString()));
    }
    const size_t size = DTypeSize(grad.dtype());
    ctx.ParallelFor(grad.num_elements(), kCost, [&](int64_t begin, int64_t end) {
      void* arrays[kMaxOptimizerArrays] = {};
      for (int k = 0; k < num_arrays; ++k) arrays[k] = locked.value(k).data<char>() + begin * size;
      RunOptimizer(rule, grad.dtype(), arrays, grad.data<char>() + begin * size, end - begin, params);
    });
    return absl::OkStatus();
  }

  // Row after row in the order of the indices, so that one that occurs twice is updated twice.
  static absl::Status UpdateRows(KernelContext& ctx, OptimizerRule rule, const OptimizerParams& params, int num_arrays,
                                 LockedVariables& locked, const Tensor& grad, const Tensor& indices) {
    NABLA_ASSIGN_OR_RETURN(RowIndices rows, RowIndices::Check(indices, locked.value(0).shape()));
    NABLA_RETURN_IF_ERROR(rows.CheckUpdates(grad.shape()));
    const size_t row_bytes = rows.row_size() * DTypeSize(grad.dtype());
    for (int64_t i = 0; i < rows.count(); ++i) {
      void* arrays[kMaxOptimizerArrays] = {};
      for (int k = 0; k < num_arrays; ++k) arrays[k] = locked.value(k).data<char>() + rows[i] * row_bytes;
      RunOptimizer(rule, grad.dtype(), arrays, grad.data<char>() + i * row_bytes, rows.row_size(), params);
    }
    return absl::OkStatus();
  }

  const int grad_;
};

class GradientDescentKernel : public OptimizerKernel {
 public:
  explicit GradientDescentKernel(const KernelInit& init) : OptimizerKernel(init, "delta") {}
  absl::Status Compute(KernelContext& ctx) const override {
    OptimizerParams params;
    NABLA_ASSIGN_OR_RETURN(params.rate, ScalarInput(ctx, "alpha"));
    return Update(ctx, OptimizerRule::kGradientDescent, params);
  }
};

template <bool kKeras>
class MomentumKernel : public OptimizerKernel {
 public:
  explicit MomentumKernel(const KernelInit& init) : OptimizerKernel(init, "grad") {
    const bool nesterov = init.attr<bool>("use_nesterov");
    rule_ = kKeras ? (nesterov ? OptimizerRule::kKerasNesterovMomentum : OptimizerRule::kKerasMomentum)
                   : (nesterov ? OptimizerRule::kNesterovMomentum : OptimizerRule::kMomentum);
  }
  absl::Status Compute(KernelContext& ctx) const override {
    OptimizerParams params;
    NABLA_ASSIGN_OR_RETURN(params.rate, ScalarInput(ctx, "lr"));
    NABLA_ASSIGN_OR_RETURN(params.momentum, ScalarInput(ctx, "momentum"));
    return Update(ctx, rule_, params);
  }

 private:
  OptimizerRule rule_;
};

class AdamKernel : public OptimizerKernel {
 public:
  explicit AdamKernel(const KernelInit& init)
      : OptimizerKernel(init, "grad"),
        rule_(init.attr<bool>("use_nesterov") ? OptimizerRule::kNesterovAdam : OptimizerRule::kAdam) {}
  absl::Status Compute(KernelContext& ctx) const override {
    OptimizerParams params;
    NABLA_ASSIGN_OR_RETURN(double rate, ScalarInput(ctx, "lr"));
    NABLA_ASSIGN_OR_RETURN(double beta1_power, ScalarInput(ctx, "beta1_power"));
    NABLA_ASSIGN_OR_RETURN(double beta2_power, ScalarInput(ctx, "beta2_power"));
    NABLA_ASSIGN_OR_RETURN(params.beta1, ScalarInput(ctx, "beta1"));
    NABLA_ASSIGN_OR_RETURN(params.beta2, ScalarInput(ctx, "beta2"));
    NABLA_ASSIGN_OR_RETURN(params.epsilon, ScalarInput(ctx, "epsilon"));
    params.rate = rate * std::sqrt(1 - beta2_power) / (1 - beta1_power);
    return Update(ctx, rule_, params);
  }

 private:
  const OptimizerRule rule_;
};

class AdagradKernel : public OptimizerKernel {
 public:
  explicit AdagradKernel(const KernelInit& init)
      : OptimizerKernel(init, "grad"),
        rule_(init.attr<bool>("update_slots") ? OptimizerRule::kAdagrad : OptimizerRule::kAdagradFrozen) {}
  absl::Status Compute(KernelContext& ctx) const override {
    OptimizerParams params;
    NABLA_ASSIGN_OR_RETURN(params.rate, ScalarInput(ctx, "lr"));
    return Update(ctx, rule_, params);
  }

 private:
  const OptimizerRule rule_;
};

}  // namespace

void RegisterTrainingKernels(KernelRegistry& registry) {
  registry.Add<GradientDescentKernel>("ResourceApplyGradientDescent");
  registry.Add<MomentumKernel<false>>("ResourceApplyMomentum");
  registry.Add<MomentumKernel<false>>("ResourceSparseApplyMomentum");
  registry.Add<MomentumKernel<true>>("ResourceApplyKerasMomentum");
  registry.Add<MomentumKernel<true>>("ResourceSparseApplyKerasMomentum");
  registry.Add<AdamKernel>("ResourceApplyAdam");
  registry.Add<AdagradKernel>("ResourceApplyAdagrad");
  registry.Add<AdagradKernel>("ResourceSparseApplyAdagrad");
}

}  // namespace nabla

// The optimizers' ops: they update variables and their slots in place.
#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <utility>
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

absl::StatusOr<double> ScalarValue(const Tensor& tensor, absl::string_view name) {
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

// What the scalar inputs are called, and which number of the rule each is. The powers correct the rate.
struct Scalars : OptimizerParams {
  double beta1_power = 0, beta2_power = 0;
};
constexpr std::pair<const char*, double Scalars::*> kScalars[] = {
    {"lr", &Scalars::rate},
    {"alpha", &Scalars::rate},
    {"momentum", &Scalars::momentum},
    {"rho", &Scalars::rho},
    {"epsilon", &Scalars::epsilon},
    {"beta1", &Scalars::beta1},
    {"beta2", &Scalars::beta2},
    {"beta1_power", &Scalars::beta1_power},
    {"beta2_power", &Scalars::beta2_power},
    {"l1", &Scalars::l1},
    {"l2", &Scalars::l2},
    {"l2_shrinkage", &Scalars::l2_shrinkage},
    {"lr_power", &Scalars::rate_power},
};

class OptimizerKernel : public Kernel {
 public:
  OptimizerKernel(const KernelInit& init, OptimizerRule rule) : rule_(rule) {
    const DType dtype = init.attr<DType>("T");
    if (!IsFloating(dtype) || DTypeSize(dtype) == 1) init.Fail(UnsupportedDType(dtype));
    const OpSpec& spec = init.node().spec();
    grad_ = std::max(spec.FindInput("grad"), spec.FindInput("delta"));
    indices_ = spec.FindInput("indices");
    for (const auto& [name, number] : kScalars) {
      const int input = spec.FindInput(name);
      if (input >= 0) scalars_.push_back({input, number});
    }
  }

  absl::Status Compute(KernelContext& ctx) const override {
    Scalars params;
    for (const auto& [input, number] : scalars_) {
      NABLA_ASSIGN_OR_RETURN(params.*number, ScalarValue(ctx.input(input), ctx.node().spec().inputs()[input].name));
    }
    params.rate *= std::sqrt(1 - params.beta2_power) / (1 - params.beta1_power);
    const int num_arrays = NumOptimizerArrays(rule_);
    NABLA_ASSIGN_OR_RETURN(LockedVariables locked, LockedVariables::Lock(ctx, num_arrays));
    const Tensor& grad = ctx.input(grad_);
    NABLA_RETURN_IF_ERROR(CheckGradient(grad, locked.value(0)));
    return indices_ < 0 ? UpdateAll(ctx, rule_, params, num_arrays, locked, grad)
                        : UpdateRows(ctx, rule_, params, num_arrays, locked, grad, ctx.input(indices_));
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

  const OptimizerRule rule_;
  int grad_ = -1, indices_ = -1;
  std::vector<std::pair<int, double Scalars::*>> scalars_;
};

// An op's rule, and the other one that it has if the attr `flag` is true.
struct OptimizerOp {
  const char* name;
  OptimizerRule rule;
  const char* flag = nullptr;
  OptimizerRule flagged_rule = rule;
};
constexpr OptimizerOp kDense[] = {
    {"GradientDescent", OptimizerRule::kGradientDescent},
    {"Adam", OptimizerRule::kAdam, "use_nesterov", OptimizerRule::kNesterovAdam},
    {"AdamWithAmsgrad", OptimizerRule::kAmsgrad},
    {"AdaMax", OptimizerRule::kAdaMax},
};
constexpr OptimizerOp kDenseAndSparse[] = {
    {"ProximalGradientDescent", OptimizerRule::kProximalGradientDescent},
    {"Momentum", OptimizerRule::kMomentum, "use_nesterov", OptimizerRule::kNesterovMomentum},
    {"KerasMomentum", OptimizerRule::kKerasMomentum, "use_nesterov", OptimizerRule::kKerasNesterovMomentum},
    {"Adagrad", OptimizerRule::kAdagradFrozen, "update_slots", OptimizerRule::kAdagrad},
    {"AdagradV2", OptimizerRule::kAdagradFrozen, "update_slots", OptimizerRule::kAdagrad},
    {"ProximalAdagrad", OptimizerRule::kProximalAdagrad},
    {"Adadelta", OptimizerRule::kAdadelta},
    {"RMSProp", OptimizerRule::kRmsProp},
    {"CenteredRMSProp", OptimizerRule::kCenteredRmsProp},
    {"Ftrl", OptimizerRule::kFtrl, "multiply_linear_by_lr", OptimizerRule::kFtrlScaledLinear},
    {"FtrlV2", OptimizerRule::kFtrl, "multiply_linear_by_lr", OptimizerRule::kFtrlScaledLinear},
};

void AddOptimizer(KernelRegistry& registry, absl::string_view prefix, const OptimizerOp& op) {
  registry.AddFactory(absl::StrCat(prefix, op.name), [op](const KernelInit& init) -> std::unique_ptr<Kernel> {
    const bool flagged = op.flag != nullptr && init.attr<bool>(op.flag);
    return std::make_unique<OptimizerKernel>(init, flagged ? op.flagged_rule : op.rule);
  });
}

}  // namespace

void RegisterTrainingKernels(KernelRegistry& registry) {
  for (const OptimizerOp& op : kDense) AddOptimizer(registry, "ResourceApply", op);
  for (const OptimizerOp& op : kDenseAndSparse) {
    AddOptimizer(registry, "ResourceApply", op);
    AddOptimizer(registry, "ResourceSparseApply", op);
  }
}

}  // namespace nabla

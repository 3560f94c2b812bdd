// Variables: handles, reading, assigning, and updates that touch some rows.
#include <mutex>
#include <shared_mutex>
#include <string>

#include "absl/strings/str_cat.h"
#include "nabla/runtime/dtype_switch.h"
#include "nabla/runtime/kernels/arguments.h"
#include "nabla/runtime/kernels/gather_scatter.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/kernels/row_indices.h"
#include "nabla/runtime/resources.h"

namespace nabla {
namespace {

const std::string& NameOf(const Tensor& handle) { return handle.data<ResourceHandle>()->name(); }

class VarHandleKernel : public Kernel {
 public:
  explicit VarHandleKernel(const KernelInit& init)
      : container_(init.attr<std::string>("container")), name_(init.attr<std::string>("shared_name")) {
    if (name_.empty()) name_ = init.node().name();
  }
  absl::Status Compute(KernelContext& ctx) const override {
    std::shared_ptr<Resource> variable =
        ctx.resources().LookupOrCreate(container_, name_, [] { return std::make_shared<Variable>(); });
    ctx.SetOutput(0, Tensor::Scalar(ResourceHandle(container_, name_, std::move(variable))));
    return absl::OkStatus();
  }

 private:
  const std::string container_;
  std::string name_;
};

absl::Status ReadCompute(KernelContext& ctx) {
  NABLA_ASSIGN_OR_RETURN(Variable * variable, VariableFromHandle(ctx.input(0)));
  NABLA_ASSIGN_OR_RETURN(Tensor value, variable->Read(NameOf(ctx.input(0))));
  if (value.dtype() != ctx.output_dtype(0)) {
    return absl::InvalidArgumentError(absl::StrCat("variable '", NameOf(ctx.input(0)), "' is of type ",
                                                   DTypeName(value.dtype()), ", read as ",
                                                   DTypeName(ctx.output_dtype(0))));
  }
  ctx.SetOutput(0, std::move(value));
  return absl::OkStatus();
}

absl::Status AssignCompute(KernelContext& ctx) {
  NABLA_ASSIGN_OR_RETURN(Variable * variable, VariableFromHandle(ctx.input(0)));
  const bool validate_shape = ctx.node().GetAttr<bool>("validate_shape");
  Tensor value = ctx.input(1);
  std::unique_lock<std::shared_mutex> lock(variable->mutex());
  const Tensor& old = variable->value();
  if (old.valid() && old.dtype() != value.dtype()) {
    return absl::InvalidArgumentError(absl::StrCat("variable '", NameOf(ctx.input(0)), "' is of type ",
                                                   DTypeName(old.dtype()), ", assigned a value of type ",
                                                   DTypeName(value.dtype())));
  }
  if (validate_shape && old.valid() && old.shape() != value.shape()) {
    return absl::InvalidArgumentError(absl::StrCat("variable '", NameOf(ctx.input(0)), "' has shape ",
                                                   old.shape().ToString(), ", assigned a value of shape ",
                                                   value.shape().ToString()));
  }
  std::swap(variable->mutable_value(), value);
  lock.unlock();  // the old value dies outside
  return absl::OkStatus();
}

// Under the exclusive lock, with bytes of its own: what updates in place start with.
absl::Status PrepareUpdate(Variable* variable, const Tensor& handle, DType dtype) {
  if (!variable->value().valid()) {
    return absl::FailedPreconditionError(absl::StrCat("variable '", NameOf(handle), "' is uninitialized"));
  }
  if (variable->value().dtype() != dtype) {
    return absl::InvalidArgumentError(absl::StrCat("variable '", NameOf(handle), "' is of type ",
                                                   DTypeName(variable->value().dtype()), ", updated with type ",
                                                   DTypeName(dtype)));
  }
  return variable->MakeExclusive();
}

struct AddTo {
  template <typename T>
  static void Apply(T& x, const T& y) {
    if constexpr (std::is_integral_v<T>) {
      using U = std::make_unsigned_t<T>;  // wraps
      x = static_cast<T>(static_cast<U>(x) + static_cast<U>(y));
    } else {
      x = T(static_cast<ComputeType<T>>(x) + static_cast<ComputeType<T>>(y));
    }
  }
};
struct SubtractFrom {
  template <typename T>
  static void Apply(T& x, const T& y) {
    if constexpr (std::is_integral_v<T>) {
      using U = std::make_unsigned_t<T>;
      x = static_cast<T>(static_cast<U>(x) - static_cast<U>(y));
    } else {
      x = T(static_cast<ComputeType<T>>(x) - static_cast<ComputeType<T>>(y));
    }
  }
};

template <typename Op>
absl::Status UpdateCompute(KernelContext& ctx) {
  NABLA_ASSIGN_OR_RETURN(Variable * variable, VariableFromHandle(ctx.input(0)));
  const Tensor& value = ctx.input(1);
  std::unique_lock<std::shared_mutex> lock(variable->mutex());
  NABLA_RETURN_IF_ERROR(PrepareUpdate(variable, ctx.input(0), value.dtype()));
  Tensor& target = variable->mutable_value();
  if (target.shape() != value.shape()) {
    return absl::InvalidArgumentError(absl::StrCat("variable '", NameOf(ctx.input(0)), "' has shape ",
                                                   target.shape().ToString(), ", updated with shape ",
                                                   value.shape().ToString()));
  }
  return SwitchNumeric(value.dtype(), [&](auto zero) -> absl::Status {
    using T = decltype(zero);
    T* x = target.data<T>();
    const T* y = value.data<T>();
    ctx.ParallelFor(value.num_elements(), 0.5, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) Op::Apply(x[i], y[i]);
    });
    return absl::OkStatus();
  });
}

absl::Status IsInitializedCompute(KernelContext& ctx) {
  NABLA_ASSIGN_OR_RETURN(Variable * variable, VariableFromHandle(ctx.input(0)));
  std::shared_lock<std::shared_mutex> lock(variable->mutex());
  ctx.SetOutput(0, Tensor::Scalar(variable->value().valid()));
  return absl::OkStatus();
}

absl::Status VariableShapeCompute(KernelContext& ctx) {
  NABLA_ASSIGN_OR_RETURN(Variable * variable, VariableFromHandle(ctx.input(0)));
  NABLA_ASSIGN_OR_RETURN(Tensor value, variable->Read(NameOf(ctx.input(0))));
  NABLA_ASSIGN_OR_RETURN(Tensor * shape, ctx.AllocateOutput(0, {value.rank()}));
  return WriteIntegers(value.shape().dims(), shape);
}

absl::Status DestroyCompute(KernelContext& ctx) {
  const bool ignore_missing = ctx.node().GetAttr<bool>("ignore_lookup_error");
  if (ctx.input(0).num_elements() < 1) return absl::InvalidArgumentError("the handle is empty");
  const ResourceHandle& handle = *ctx.input(0).data<ResourceHandle>();
  absl::Status status = ctx.resources().Remove(handle.container(), handle.name());
  // Handles made earlier may still refer to it; they find it uninitialized.
  if (auto* variable = handle.get<Variable>()) variable->Assign(Tensor());
  return ignore_missing ? absl::OkStatus() : status;
}

// ---- rows ----

// The variable's value as the op's output type. It is shared, not copied: a later update finds it shared and leaves it
// to us.
absl::StatusOr<Tensor> ReadTable(KernelContext& ctx) {
  NABLA_ASSIGN_OR_RETURN(Variable * variable, VariableFromHandle(ctx.input(0)));
  NABLA_ASSIGN_OR_RETURN(Tensor table, variable->Read(NameOf(ctx.input(0))));
  if (table.dtype() != ctx.output_dtype(0)) {
    return absl::InvalidArgumentError(absl::StrCat("variable '", NameOf(ctx.input(0)), "' is of type ",
                                                   DTypeName(table.dtype()), ", gathered as ",
                                                   DTypeName(ctx.output_dtype(0))));
  }
  return table;
}

absl::Status GatherCompute(KernelContext& ctx) {
  NABLA_ASSIGN_OR_RETURN(const Tensor table, ReadTable(ctx));
  const int64_t batch_dims = ctx.node().GetAttr<int64_t>("batch_dims");
  const int64_t axis = batch_dims < 0 ? batch_dims + ctx.input(1).rank() : batch_dims;
  return GatherSlices(ctx, table, ctx.input(1), axis, batch_dims, 0);
}

absl::Status GatherNdCompute(KernelContext& ctx) {
  NABLA_ASSIGN_OR_RETURN(const Tensor table, ReadTable(ctx));
  return GatherTuples(ctx, table, ctx.input(1), /*ignore_bad_indices=*/false, 0);
}

// ResourceScatterAdd and kin. Updates may be a scalar, for all elements.
template <ScatterMode mode>
absl::Status ScatterCompute(KernelContext& ctx) {
  NABLA_ASSIGN_OR_RETURN(Variable * variable, VariableFromHandle(ctx.input(0)));
  std::unique_lock<std::shared_mutex> lock(variable->mutex());
  NABLA_RETURN_IF_ERROR(PrepareUpdate(variable, ctx.input(0), ctx.input(2).dtype()));
  return ScatterRows(ctx, mode, ctx.input(1), ctx.input(2), &variable->mutable_value());
}

template <ScatterMode mode>
absl::Status ScatterNdCompute(KernelContext& ctx) {
  NABLA_ASSIGN_OR_RETURN(const bool ignore, IgnoresBadIndices(ctx.node()));
  NABLA_ASSIGN_OR_RETURN(Variable * variable, VariableFromHandle(ctx.input(0)));
  std::unique_lock<std::shared_mutex> lock(variable->mutex());
  NABLA_RETURN_IF_ERROR(PrepareUpdate(variable, ctx.input(0), ctx.input(2).dtype()));
  return ScatterTuples(ctx, mode, ctx.input(1), ctx.input(2), ignore, &variable->mutable_value());
}

}  // namespace

void RegisterVariableKernels(KernelRegistry& registry) {
  registry.Add<VarHandleKernel>("VarHandleOp");
  registry.Add("ReadVariableOp", ReadCompute);
  registry.Add("AssignVariableOp", AssignCompute);
  registry.Add("AssignAddVariableOp", UpdateCompute<AddTo>);
  registry.Add("AssignSubVariableOp", UpdateCompute<SubtractFrom>);
  registry.Add("VarIsInitializedOp", IsInitializedCompute);
  registry.Add("VariableShape", VariableShapeCompute);
  registry.Add("DestroyResourceOp", DestroyCompute);
  registry.Add("ResourceGather", GatherCompute);
  registry.Add("ResourceGatherNd", GatherNdCompute);
  registry.Add("ResourceScatterAdd", ScatterCompute<ScatterMode::kAdd>);
  registry.Add("ResourceScatterSub", ScatterCompute<ScatterMode::kSub>);
  registry.Add("ResourceScatterMul", ScatterCompute<ScatterMode::kMul>);
  registry.Add("ResourceScatterDiv", ScatterCompute<ScatterMode::kDiv>);
  registry.Add("ResourceScatterMin", ScatterCompute<ScatterMode::kMin>);
  registry.Add("ResourceScatterMax", ScatterCompute<ScatterMode::kMax>);
  registry.Add("ResourceScatterUpdate", ScatterCompute<ScatterMode::kUpdate>);
  registry.Add("ResourceScatterNdUpdate", ScatterNdCompute<ScatterMode::kUpdate>);
  registry.Add("ResourceScatterNdAdd", ScatterNdCompute<ScatterMode::kAdd>);
  registry.Add("ResourceScatterNdSub", ScatterNdCompute<ScatterMode::kSub>);
  registry.Add("ResourceScatterNdMin", ScatterNdCompute<ScatterMode::kMin>);
  registry.Add("ResourceScatterNdMax", ScatterNdCompute<ScatterMode::kMax>);
}

}  // namespace nabla

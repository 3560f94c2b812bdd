// StackV2 and its kin: where loops that TensorFlow 1 differentiated keep what their gradients need.
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nabla/runtime/kernels/arguments.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/resources.h"

namespace nabla {
namespace {

// Lives as long as handles to it do, that is, at most as long as the run that made it. Thread-safe.
class Stack : public Resource {
 public:
  Stack(std::string name, DType dtype, int64_t max_size) : name_(std::move(name)), dtype_(dtype), max_size_(max_size) {}

  ~Stack() override {
    if (!IsPod(dtype_)) DestroyInTurn(std::move(elements_));
  }

  absl::string_view TypeName() const override { return "Stack"; }
  const std::string& name() const { return name_; }

  absl::Status Push(Tensor element) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (closed_) return Error("is closed");
    if (element.dtype() != dtype_) {
      return Error(absl::StrCat("is of type ", DTypeName(dtype_), ", but the element of ", DTypeName(element.dtype())));
    }
    if (max_size_ >= 0 && static_cast<int64_t>(elements_.size()) >= max_size_) {
      return Error(absl::StrCat("is full: max_size is ", max_size_));
    }
    elements_.push_back(std::move(element));
    return absl::OkStatus();
  }

  absl::StatusOr<Tensor> Pop(DType dtype) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (closed_) return Error("is closed");
    if (dtype != dtype_) return Error(absl::StrCat("is of type ", DTypeName(dtype_), ", read as ", DTypeName(dtype)));
    if (elements_.empty()) return Error("is empty, so nothing can be popped");
    Tensor last = std::move(elements_.back());
    elements_.pop_back();
    return last;
  }

  void Close() {
    std::vector<Tensor> gone;
    std::lock_guard<std::mutex> lock(mutex_);
    closed_ = true;
    gone.swap(elements_);
  }

 private:
  absl::Status Error(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat("the stack '", name_, "' ", what));
  }

  const std::string name_;
  const DType dtype_;
  const int64_t max_size_;  // negative: any
  std::mutex mutex_;
  bool closed_ = false;
  std::vector<Tensor> elements_;
};

absl::StatusOr<Stack*> StackInput(const KernelContext& ctx) {
  const Tensor& handle = ctx.input(0);
  if (handle.num_elements() > 0) {
    if (auto* stack = handle.data<ResourceHandle>()->get<Stack>()) return stack;
  }
  return absl::InvalidArgumentError("the handle is not that of a stack");
}

class StackKernel : public Kernel {
 public:
  explicit StackKernel(const KernelInit& init)
      : name_(init.attr<std::string>("stack_name")), dtype_(init.attr<DType>("elem_type")) {
    if (name_.empty()) name_ = init.node().name();
  }
  absl::Status Compute(KernelContext& ctx) const override {
    NABLA_ASSIGN_OR_RETURN(const int64_t max_size, IntegerScalar(ctx.input(0), "max_size"));
    const ResourceHandle handle("", name_, std::make_shared<Stack>(name_, dtype_, max_size));
    ctx.SetOutput(0, Tensor::Vector<ResourceHandle>({handle, handle}));
    return absl::OkStatus();
  }

 private:
  std::string name_;
  const DType dtype_;
};

absl::Status PushCompute(KernelContext& ctx) {
  NABLA_ASSIGN_OR_RETURN(Stack * stack, StackInput(ctx));
  NABLA_RETURN_IF_ERROR(stack->Push(ctx.input(1)));
  ctx.SetOutput(0, ctx.input(1));
  return absl::OkStatus();
}

absl::Status PopCompute(KernelContext& ctx) {
  NABLA_ASSIGN_OR_RETURN(Stack * stack, StackInput(ctx));
  NABLA_ASSIGN_OR_RETURN(Tensor element, stack->Pop(ctx.output_dtype(0)));
  ctx.SetOutput(0, std::move(element));
  return absl::OkStatus();
}

absl::Status CloseCompute(KernelContext& ctx) {
  NABLA_ASSIGN_OR_RETURN(Stack * stack, StackInput(ctx));
  stack->Close();
  return absl::OkStatus();
}

}  // namespace

void RegisterStackKernels(KernelRegistry& registry) {
  registry.Add<StackKernel>("StackV2");
  registry.Add("StackPushV2", PushCompute);
  registry.Add("StackPopV2", PopCompute);
  registry.Add("StackCloseV2", CloseCompute);
}

}  // namespace nabla

#include "nabla/runtime/kernel.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "nabla/graph/check.h"
#include "nabla/runtime/thread_pool.h"
#include "nabla/runtime/trace.h"

namespace nabla {
namespace {

// A part of a loop should take about this long: shorter ones do not pay for being handed to another thread.
constexpr double kPartNanoseconds = 20'000;
// Fixed parts must not depend on the number of threads; so many keep any machine busy.
constexpr int64_t kMaxParts = 256;
// Parts per thread otherwise, so that a thread that was late or slow does not hold up the others.
constexpr int64_t kPartsPerThread = 4;

class FunctionKernel : public Kernel {
 public:
  explicit FunctionKernel(KernelFunction function) : function_(function) {}
  absl::Status Compute(KernelContext& ctx) const override { return function_(ctx); }

 private:
  const KernelFunction function_;
};

int64_t NumParts(int64_t n, double cost, int64_t limit) {
  const double parts = static_cast<double>(n) * cost / kPartNanoseconds;
  if (!(parts >= 2)) return 1;
  return std::min({n, limit, parts >= static_cast<double>(limit) ? limit : static_cast<int64_t>(parts)});
}

}  // namespace

absl::StatusOr<Tensor*> KernelContext::AllocateOutput(int i, const Shape& shape) {
  const DType dtype = node_->output_dtype(i);
  if (shape.IsScalar() && IsPod(dtype)) {
    // Lives inside the Tensor: nothing to allocate, nothing to fail.
    outputs_[i] = Tensor(dtype, shape);
    return &outputs_[i];
  }
  absl::StatusOr<Tensor> tensor = Tensor::Allocate(dtype, shape);
  if (!tensor.ok()) return std::move(tensor).status();
  outputs_[i] = *std::move(tensor);
  return &outputs_[i];
}

absl::StatusOr<Tensor*> KernelContext::ForwardOrAllocateOutput(std::initializer_list<int> inputs, int output,
                                                               const Shape& shape) {
  if (exclusive_inputs_ != 0) {
    const DType dtype = node_->output_dtype(output);
    for (int i : inputs) {
      if (i >= 64 || (exclusive_inputs_ >> i & 1) == 0) continue;
      const Tensor& input = *inputs_[i];
      // A tensor without a buffer keeps its bytes in itself: a new one costs nothing and leaves input(i) readable.
      if (!input.SharesBufferWith(input) || !input.IsExclusive()) continue;
      if (!shape.IsFullyDefined() || shape.num_elements() != input.num_elements()) continue;
      const DType from = input.dtype();
      if (from == dtype) {
        outputs_[output] = input.shape() == shape ? input : input.Reshaped(shape);
      } else if (IsPod(from) && IsPod(dtype) && DTypeSize(from) == DTypeSize(dtype)) {
        outputs_[output] = input.BitcastTo(dtype).Reshaped(shape);
      } else {
        continue;
      }
      return &outputs_[output];
    }
  }
  return AllocateOutput(output, shape);
}

Tensor KernelContext::TakeInput(int i) {
  if (i >= 64 || (exclusive_inputs_ >> i & 1) == 0 || !inputs_[i]->IsExclusive()) return Tensor();
  return std::move(*inputs_[i]);
}

int KernelContext::num_threads() const { return env_.pool == nullptr ? 1 : env_.pool->num_threads(); }

void KernelContext::RunParts(int64_t n, double cost, absl::FunctionRef<void(int64_t begin, int64_t end)> fn,
                             bool fixed_parts, bool stoppable) {
  // A run that nobody can stop needs no parts to stop between.
  stoppable = stoppable && (env_.cancelled != nullptr || env_.expired != nullptr);
  if (n <= 0 || (stoppable && cancelled())) return;
  const int threads = num_threads();
  const int64_t limit = fixed_parts || stoppable ? kMaxParts : threads == 1 ? 1 : threads * kPartsPerThread;
  const int64_t parts = NumParts(n, cost, limit);
  if (parts == 1) {
    fn(0, n);
    return;
  }
  // The first n % parts parts get one unit more.
  const int64_t size = n / parts, larger = n % parts;
  auto run = [&](int64_t part) {
    if (stoppable && cancelled()) return;
    const int64_t begin = part * size + std::min(part, larger);
    const int64_t end = begin + size + (part < larger ? 1 : 0);
    if (env_.trace == nullptr) {
      fn(begin, end);
    } else {
      const Trace::Clock::time_point start = Trace::Clock::now();
      fn(begin, end);
      env_.trace->AddPart(*node_, start, Trace::Clock::now());
    }
  };
  if (threads == 1) {
    for (int64_t part = 0; part < parts; ++part) run(part);
  } else {
    env_.pool->ParallelFor(parts, run);
  }
}

KernelRegistry& KernelRegistry::Global() {
  static KernelRegistry* registry = new KernelRegistry;
  return *registry;
}

void KernelRegistry::AddFactory(absl::string_view op, Factory factory) {
  NABLA_CHECK(factories_.try_emplace(std::string(op), std::move(factory)).second);
}

void KernelRegistry::Add(absl::string_view op, KernelFunction function) {
  AddFactory(op, [function](const KernelInit&) -> std::unique_ptr<Kernel> {
    return std::make_unique<FunctionKernel>(function);
  });
}

bool KernelRegistry::Has(absl::string_view op) const { return factories_.contains(op); }

absl::StatusOr<std::unique_ptr<Kernel>> KernelRegistry::Create(const Node& node) const {
  auto it = factories_.find(node.op());
  if (it == factories_.end()) {
    return NodeError(node, absl::NotFoundError("this op has no kernel, so it cannot be run"));
  }
  KernelInit init(node);
  std::unique_ptr<Kernel> kernel = it->second(init);
  if (!init.status().ok()) return NodeError(node, init.status());
  return kernel;
}

absl::Status NodeError(const Node& node, const absl::Status& status) {
  if (status.ok()) return status;
  absl::Status named(status.code(), absl::StrCat("node '", node.name(), "' (op: ", node.op(), "): ", status.message()));
  status.ForEachPayload([&](absl::string_view type, const absl::Cord& payload) { named.SetPayload(type, payload); });
  return named;
}

absl::Status UnsupportedDType(DType dtype) {
  return absl::UnimplementedError(absl::StrCat("type ", DTypeName(dtype), " is not supported by this kernel"));
}

}  // namespace nabla

// What executes an operation.
//
//   // A kernel with state prepared once per plan:
//   class TransposeKernel : public Kernel {
//    public:
//     explicit TransposeKernel(const KernelInit& init) { … init.attr<bool>("…") … }
//     absl::Status Compute(KernelContext& ctx) const override {
//       NABLA_ASSIGN_OR_RETURN(Tensor* y, ctx.AllocateOutput(0, shape));
//       …
//       return absl::OkStatus();
//     }
//   };
//   registry.Add<TransposeKernel>("Transpose");
//
//   // or just a function:
//   registry.Add("Shape", [](KernelContext& ctx) -> absl::Status { … });
//
// A Kernel is shared by all concurrent runs of its plan, hence const; what changes lives in resources. Errors need
// not name the node: the executor adds name and op.
#ifndef NABLA_RUNTIME_KERNEL_H_
#define NABLA_RUNTIME_KERNEL_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nabla/graph/graph.h"
#include "nabla/graph/status_macros.h"
#include "nabla/graph/tensor.h"

namespace nabla {

class ResourceContainer;  // runtime/resources.h
class ThreadPool;         // runtime/thread_pool.h
class Trace;              // runtime/trace.h

class KernelContext {
 public:
  // What a run provides; the executor fills one in per worker and points it at node after node.
  struct Environment {
    ThreadPool* pool = nullptr;  // nullptr: one thread
    ResourceContainer* resources = nullptr;
    // Two flags that stop the run: its Cancellation's and its deadline's.
    const std::atomic<bool>* cancelled = nullptr;
    const std::atomic<bool>* expired = nullptr;
    Trace* trace = nullptr;
    bool stopped() const {
      return (cancelled != nullptr && cancelled->load(std::memory_order_relaxed)) ||
             (expired != nullptr && expired->load(std::memory_order_relaxed));
    }
  };

  KernelContext(const Environment& env, const Node* node, Tensor* const* inputs, int num_inputs, Tensor* outputs,
                int num_outputs, uint64_t exclusive_inputs)
      : env_(env),
        node_(node),
        inputs_(inputs),
        outputs_(outputs),
        num_inputs_(num_inputs),
        num_outputs_(num_outputs),
        exclusive_inputs_(exclusive_inputs) {}

  const Node& node() const { return *node_; }
  int num_inputs() const { return num_inputs_; }
  int num_outputs() const { return num_outputs_; }
  const Tensor& input(int i) const { return *inputs_[i]; }

  // A new tensor of the node's output dtype, uninitialised (PODs). ResourceExhausted if there is no memory.
  absl::StatusOr<Tensor*> AllocateOutput(int i, const Shape& shape);
  // A scratch tensor.
  absl::StatusOr<Tensor> AllocateTemp(DType dtype, const Shape& shape) const { return Tensor::Allocate(dtype, shape); }
  // The buffer of the first of these inputs that nobody will read again and whose dtype size and byte count fit, as
  // the output; else a new one. The kernel may then write in place, reading each element before it writes it.
  absl::StatusOr<Tensor*> ForwardOrAllocateOutput(std::initializer_list<int> inputs, int output, const Shape& shape);
  // Takes input i over for good if nobody else reads it (to modify it and set it as an output); invalid otherwise.
  Tensor TakeInput(int i);
  void SetOutput(int i, Tensor value) { outputs_[i] = std::move(value); }
  Tensor* output(int i) { return &outputs_[i]; }
  DType output_dtype(int i) const { return node_->output_dtype(i); }

  // Calls fn(begin, end) over parts of [0, n), on the pool if it is worth it, else here. `cost` is about the
  // nanoseconds that one unit takes. The parts depend on n and cost only if `fixed_parts`, else on the number of
  // threads too: reductions that combine partial results across parts must ask for fixed ones (or cut blocks
  // themselves), so that results are the same bits on any number of threads. `fn` must not fail or throw.
  void ParallelFor(int64_t n, double cost, absl::FunctionRef<void(int64_t begin, int64_t end)> fn,
                   bool fixed_parts = false) {
    RunParts(n, cost, fn, fixed_parts, /*stoppable=*/false);
  }
  // The same, but once the run is cancelled or late the parts not yet begun are left out. For long loops that only
  // write values: nobody will see them, but what this kernel itself goes on to use as an index, a size or a verdict
  // ("all indices are good") must come from a plain ParallelFor.
  void StoppableParallelFor(int64_t n, double cost, absl::FunctionRef<void(int64_t begin, int64_t end)> fn,
                            bool fixed_parts = false) {
    RunParts(n, cost, fn, fixed_parts, /*stoppable=*/true);
  }
  int num_threads() const;

  ResourceContainer& resources() const { return *env_.resources; }
  bool cancelled() const { return env_.stopped(); }

 private:
  void RunParts(int64_t n, double cost, absl::FunctionRef<void(int64_t begin, int64_t end)> fn, bool fixed_parts,
                bool stoppable);

  const Environment& env_;
  const Node* node_;
  Tensor* const* inputs_;
  Tensor* outputs_;
  int num_inputs_;
  int num_outputs_;
  uint64_t exclusive_inputs_;  // bit i: input i (of the first 64) has no later reader
};

// What a kernel's constructor sees.
class KernelInit {
 public:
  explicit KernelInit(const Node& node) : node_(node) {}
  const Node& node() const { return node_; }
  template <typename T>
  const T& attr(absl::string_view name) const {
    return node_.GetAttr<T>(name);
  }
  template <typename T>
  const T* find_attr(absl::string_view name) const {
    return node_.attr<T>(name);
  }
  DType input_dtype(int i) const { return node_.input(i).dtype(); }
  DType output_dtype(int i) const { return node_.output_dtype(i); }
  // A constructor that finds its node unusable records it here; the plan fails with it.
  void Fail(absl::Status status) const {
    if (status_.ok()) status_ = std::move(status);
  }
  const absl::Status& status() const { return status_; }

 private:
  const Node& node_;
  mutable absl::Status status_;
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual absl::Status Compute(KernelContext& ctx) const = 0;
};

using KernelFunction = absl::Status (*)(KernelContext& ctx);

// Kernels by op. Filled once by RegisterAllKernels() (runtime/kernels/kernels.h), read from any thread afterwards.
class KernelRegistry {
 public:
  using Factory = std::function<std::unique_ptr<Kernel>(const KernelInit& init)>;

  static KernelRegistry& Global();

  void AddFactory(absl::string_view op, Factory factory);
  template <typename K>
  void Add(absl::string_view op) {
    AddFactory(op, [](const KernelInit& init) -> std::unique_ptr<Kernel> { return std::make_unique<K>(init); });
  }
  void Add(absl::string_view op, KernelFunction function);

  bool Has(absl::string_view op) const;
  // NotFound if the op has no kernel; what the constructor recorded with Fail; Unimplemented, naming op and dtype,
  // for a dtype that the kernel does not do. Errors name the node.
  absl::StatusOr<std::unique_ptr<Kernel>> Create(const Node& node) const;

 private:
  absl::flat_hash_map<std::string, Factory> factories_;
};

// The same status with the node named before its message: "node 'a/b' (op: MatMul): …". OK stays OK.
absl::Status NodeError(const Node& node, const absl::Status& status);

// The error for a dtype that a kernel does not do.
absl::Status UnsupportedDType(DType dtype);

}  // namespace nabla

#endif  // NABLA_RUNTIME_KERNEL_H_

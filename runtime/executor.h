// Runs plans. Those of graphs with loops and branches have a program, which frame_executor.h runs; what follows is
// about the others.
//
// On one thread a run is a loop over the plan's steps: no counters, no atomics. On several, every step counts down what
// it waits for (task_graph.h). Plans in which nothing can run side by side take the plain loop in any case; the loops
// inside kernels use all threads either way.
//
// What a run needs besides its plan, the tensors' slots and the counters, is kept from run to run, so that a run
// allocates nothing but what its kernels ask for.
#ifndef NABLA_RUNTIME_EXECUTOR_H_
#define NABLA_RUNTIME_EXECUTOR_H_

#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "nabla/graph/tensor.h"
#include "nabla/runtime/kernel.h"
#include "nabla/runtime/plan.h"
#include "nabla/runtime/trace.h"

namespace nabla {

// Thread-safe: a plan may be run by several threads at once.
class Executor {
 public:
  explicit Executor(std::shared_ptr<const Plan> plan);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  const Plan& plan() const { return *plan_; }

  // `feeds` in the plan's order, checked (Plan::CheckFeed). `outputs` gets a tensor per fetch, unless it is nullptr.
  // Errors: of the nodes that fail, the first in the plan's order, whatever the number of threads, with its name;
  // Cancelled or DeadlineExceeded when one of the environment's flags rises.
  absl::Status Run(absl::Span<const Tensor* const> feeds, const KernelContext::Environment& environment,
                   std::vector<Tensor>* outputs);

 private:
  struct State;
  struct ParallelRun;

  std::unique_ptr<State> TakeState();
  void ReturnState(std::unique_ptr<State> state);
  absl::Status RunInOrder(State& state, const KernelContext::Environment& environment);
  absl::Status RunParallel(State& state, const KernelContext::Environment& environment);

  const std::shared_ptr<const Plan> plan_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<State>> states_;  // of runs that are over
};

}  // namespace nabla

#endif  // NABLA_RUNTIME_EXECUTOR_H_

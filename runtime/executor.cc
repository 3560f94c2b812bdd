#include "nabla/runtime/executor.h"

#include <atomic>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/types/optional.h"
#include "nabla/graph/check.h"
#include "nabla/runtime/execute_step.h"
#include "nabla/runtime/frame_executor.h"
#include "nabla/runtime/task_graph.h"
#include "nabla/runtime/thread_pool.h"

namespace nabla {
namespace {

// A plan's steps as a task graph.
struct StepGraph {
  const Plan& plan;
  int32_t size() const { return static_cast<int32_t>(plan.steps().size()); }
  const Plan::ParallelStep& task(int32_t i) const { return plan.parallel_steps()[i]; }
  int32_t successor(int32_t i) const { return plan.successors()[i]; }
};

}  // namespace

// What a run changes.
struct Executor::State {
  explicit State(const Plan& plan) : slots(new Tensor[plan.num_slots()]), inputs(plan.input_sources().size()) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const int32_t source = plan.input_sources()[i];
      // Kernels write only to inputs that are theirs, and constants never are.
      inputs[i] = source >= 0 ? &slots[source] : const_cast<Tensor*>(&plan.constants()[~source]);
    }
    if (plan.frames() == nullptr) return;
    flags.resize(plan.frames()->num_flags);
    regions = std::vector<TaskCounters>(plan.frames()->regions.size());
  }

  void PrepareParallel(const Plan& plan) {
    if (readers != nullptr) return;
    readers.reset(new std::atomic<int32_t>[plan.num_slots()]);
    for (int i = 0; i < plan.num_slots(); ++i) readers[i].store(plan.slot_readers()[i], std::memory_order_relaxed);
  }

  std::unique_ptr<Tensor[]> slots;
  std::vector<Tensor*> inputs;
  std::vector<uint8_t> flags;         // of a program with frames
  std::vector<TaskCounters> regions;  // of the same
  // For several threads. Counters are wound back by whoever takes them to zero, so they are right at the start of a
  // run.
  TaskCounters steps;
  std::unique_ptr<std::atomic<int32_t>[]> readers;  // by slot
};

Executor::Executor(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)) {}
Executor::~Executor() = default;

std::unique_ptr<Executor::State> Executor::TakeState() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!states_.empty()) {
      std::unique_ptr<State> state = std::move(states_.back());
      states_.pop_back();
      return state;
    }
  }
  return std::make_unique<State>(*plan_);
}

void Executor::ReturnState(std::unique_ptr<State> state) {
  std::lock_guard<std::mutex> lock(mutex_);
  states_.push_back(std::move(state));
}

absl::Status Executor::Run(absl::Span<const Tensor* const> feeds, const KernelContext::Environment& environment,
                           std::vector<Tensor>* outputs) {
  NABLA_CHECK(feeds.size() == plan_->feeds().size());
  std::unique_ptr<State> state = TakeState();
  Tensor* slots = state->slots.get();
  for (size_t i = 0; i < feeds.size(); ++i) {
    const int32_t slot = plan_->feeds()[i].slot;
    if (slot >= 0) slots[slot] = *feeds[i];
  }
  absl::Status status;
  {
    absl::optional<ThreadPool::Guest> guest;
    if (environment.pool != nullptr) guest.emplace(environment.pool);
    if (plan_->frames() != nullptr) {
      status = RunFrames(*plan_, state->inputs.data(), slots, state->flags.data(), state->regions.data(), environment);
    } else if (plan_->parallel() && environment.pool != nullptr) {
      status = RunParallel(*state, environment);
    } else {
      status = RunInOrder(*state, environment);
    }
  }
  if (!status.ok()) {
    for (int i = 0; i < plan_->num_slots(); ++i) Release(slots[i]);
    ReturnState(std::move(state));
    return status;
  }
  if (outputs != nullptr) outputs->resize(plan_->fetches().size());
  for (size_t i = 0; i < plan_->fetches().size(); ++i) {
    const Plan::Fetch& fetch = plan_->fetches()[i];
    switch (fetch.kind) {
      case Plan::Fetch::Kind::kSlot:
        if (outputs == nullptr) {
          Release(slots[fetch.index]);
        } else if (fetch.last) {
          (*outputs)[i] = std::move(slots[fetch.index]);
        } else {
          (*outputs)[i] = slots[fetch.index];
        }
        break;
      case Plan::Fetch::Kind::kConstant:
        if (outputs != nullptr) (*outputs)[i] = plan_->constants()[fetch.index];
        break;
      case Plan::Fetch::Kind::kFeed:
        if (outputs != nullptr) (*outputs)[i] = *feeds[fetch.index];
        break;
    }
  }
  for (const Plan::Feed& feed : plan_->feeds()) {
    if (feed.slot >= 0) Release(slots[feed.slot]);
  }
  if (plan_->frames() != nullptr) {
    // What was left where a branch was not taken.
    for (int i = 0; i < plan_->num_slots(); ++i) Release(slots[i]);
  }
  ReturnState(std::move(state));
  return absl::OkStatus();
}

absl::Status Executor::RunInOrder(State& state, const KernelContext::Environment& environment) {
  Tensor* const slots = state.slots.get();
  Tensor* const* const inputs = state.inputs.data();
  const int32_t* const releases = plan_->releases().data();
  const bool traced = environment.trace != nullptr;
  for (const Plan::Step& step : plan_->steps()) {
    if (ABSL_PREDICT_FALSE(environment.stopped())) return StoppedError(environment, step.node);
    absl::Status status = ABSL_PREDICT_FALSE(traced)
                              ? ExecuteTraced(step, step.exclusive_inputs, inputs, slots, environment)
                              : Execute(step, step.exclusive_inputs, inputs, slots, environment);
    if (ABSL_PREDICT_FALSE(!status.ok())) {
      return environment.stopped() ? StoppedError(environment, nullptr) : NodeError(*step.node, status);
    }
    for (int32_t i = 0; i < step.num_releases; ++i) Release(slots[releases[step.first_release + i]]);
  }
  // A kernel that the flag caught has left parts of its outputs out.
  return environment.stopped() ? StoppedError(environment, nullptr) : absl::OkStatus();
}

// A run on several threads.
struct Executor::ParallelRun {
  ParallelRun(const Plan& plan, State& state, const KernelContext::Environment& environment)
      : plan(plan), state(state), environment(environment) {}

  void operator()(int32_t index) {
    const Plan::Step& step = plan.steps()[index];
    const Plan::ParallelStep& parallel = plan.parallel_steps()[index];
    Tensor* const slots = state.slots.get();
    if (failure.IsAfter(index)) {
      if (ABSL_PREDICT_FALSE(environment.stopped())) {
        failure.Record(-1, absl::OkStatus());  // RunParallel says why
      } else {
        const uint64_t exclusive = ExclusiveInputs(step, parallel);
        absl::Status status = environment.trace != nullptr
                                  ? ExecuteTraced(step, exclusive, state.inputs.data(), slots, environment)
                                  : Execute(step, exclusive, state.inputs.data(), slots, environment);
        if (ABSL_PREDICT_FALSE(!status.ok())) failure.Record(index, NodeError(*step.node, status));
      }
    }
    for (int32_t i = 0; i < parallel.num_reads; ++i) {
      const int32_t slot = plan.reads()[parallel.first_read + i];
      const int32_t readers = plan.slot_readers()[slot];
      if (readers == Plan::kKept) continue;
      if (readers > 1) {
        if (state.readers[slot].fetch_sub(1, std::memory_order_acq_rel) > 1) continue;
        state.readers[slot].store(readers, std::memory_order_relaxed);
      }
      Release(slots[slot]);
    }
    for (int32_t i = 0; i < step.num_outputs; ++i) {
      if (plan.slot_readers()[step.first_output + i] == 0) Release(slots[step.first_output + i]);
    }
  }

  // Of the inputs that this step reads last in the plan's order, those that others have in fact read by now.
  uint64_t ExclusiveInputs(const Plan::Step& step, const Plan::ParallelStep& parallel) const {
    uint64_t exclusive = parallel.single_reader_inputs;
    uint64_t shared = step.exclusive_inputs & ~exclusive;
    for (; shared != 0; shared &= shared - 1) {
      const int i = __builtin_ctzll(shared);
      const int32_t slot = plan.input_sources()[step.first_input + i];
      if (state.readers[slot].load(std::memory_order_acquire) == 1) exclusive |= uint64_t{1} << i;
    }
    return exclusive;
  }

  const Plan& plan;
  State& state;
  const KernelContext::Environment& environment;
  FirstFailure failure;
};

absl::Status Executor::RunParallel(State& state, const KernelContext::Environment& environment) {
  state.PrepareParallel(*plan_);
  ParallelRun run(*plan_, state, environment);
  const StepGraph graph{*plan_};
  TaskRun(graph, state.steps, environment.pool, run).Run(plan_->roots());
  return environment.stopped() ? StoppedError(environment, nullptr) : run.failure.status();
}

}  // namespace nabla

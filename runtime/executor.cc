#include "nabla/runtime/executor.h"

#include <atomic>
#include <limits>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/types/optional.h"
#include "nabla/graph/check.h"
#include "nabla/runtime/execute_step.h"
#include "nabla/runtime/frame_executor.h"
#include "nabla/runtime/thread_pool.h"

namespace nabla {
struct Executor::StepTask : ThreadPool::Task {
  State* state = nullptr;
  int32_t step = 0;
};

// What a run changes.
struct Executor::State {
  explicit State(const Plan& plan) : slots(new Tensor[plan.num_slots()]), inputs(plan.input_sources().size()) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const int32_t source = plan.input_sources()[i];
      // Kernels write only to inputs that are theirs, and constants never are.
      inputs[i] = source >= 0 ? &slots[source] : const_cast<Tensor*>(&plan.constants()[~source]);
    }
    if (plan.frames() != nullptr) flags.resize(plan.frames()->num_flags);
  }

  void PrepareParallel(const Plan& plan) {
    if (pending != nullptr) return;
    const size_t num_steps = plan.steps().size();
    pending.reset(new std::atomic<int32_t>[num_steps]);
    tasks.reset(new StepTask[num_steps]);
    for (size_t i = 0; i < num_steps; ++i)
      pending[i].store(plan.parallel_steps()[i].pending, std::memory_order_relaxed);
    readers.reset(new std::atomic<int32_t>[plan.num_slots()]);
    for (int i = 0; i < plan.num_slots(); ++i) readers[i].store(plan.slot_readers()[i], std::memory_order_relaxed);
  }

  std::unique_ptr<Tensor[]> slots;
  std::vector<Tensor*> inputs;
  std::vector<uint8_t> flags;  // of a program with frames
  // For several threads. Counters are wound back by whoever takes them to zero, so they are right at the start of a
  // run.
  std::unique_ptr<std::atomic<int32_t>[]> pending;  // by step
  std::unique_ptr<std::atomic<int32_t>[]> readers;  // by slot
  std::unique_ptr<StepTask[]> tasks;
  ParallelRun* run = nullptr;
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
      status = RunFrames(*plan_, state->inputs.data(), slots, state->flags.data(), environment);
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
  // Steps that one thread has made ready and not handed out, the next one last.
  using Ready = absl::InlinedVector<int32_t, 64>;

  ParallelRun(const Plan& plan, State& state, const KernelContext::Environment& environment)
      : plan(plan), state(state), environment(environment), remaining(static_cast<int64_t>(plan.steps().size())) {}

  // Runs the ready steps and whatever becomes ready through them, but for what other threads take.
  void Process(Ready ready) {
    int64_t executed = 0;
    HandOut(ready, 0);
    while (!ready.empty()) {
      const int32_t step = ready.back();
      ready.pop_back();
      RunStep(step);
      ++executed;
      const size_t first_new = ready.size();
      const Plan::ParallelStep& parallel = plan.parallel_steps()[step];
      // Backwards, so that the first successor comes next.
      for (int32_t i = parallel.num_successors; i-- > 0;) {
        const int32_t successor = plan.successors()[parallel.first_successor + i];
        const int32_t pending = plan.parallel_steps()[successor].pending;
        if (pending > 1) {
          if (state.pending[successor].fetch_sub(1, std::memory_order_acq_rel) > 1) continue;
          state.pending[successor].store(pending, std::memory_order_relaxed);
        }
        ready.push_back(successor);
      }
      HandOut(ready, first_new);
    }
    // The run may be over, and this object gone, as soon as the last step is counted.
    ThreadPool* pool = environment.pool;
    if (remaining.fetch_sub(executed, std::memory_order_acq_rel) == executed) pool->WakeAll();
  }

  // Puts the expensive ones of the steps from `first` on where other threads find them. If one is all there is to do,
  // it stays.
  void HandOut(Ready& ready, size_t first) {
    size_t kept = first;
    for (size_t i = first; i < ready.size(); ++i) {
      const int32_t step = ready[i];
      if (plan.parallel_steps()[step].expensive && ready.size() - i + kept > 1) {
        StepTask& task = state.tasks[step];
        task.state = &state;
        task.step = step;
        task.run = [](ThreadPool::Task* t) {
          const StepTask* self = static_cast<StepTask*>(t);
          self->state->run->Process({self->step});
        };
        if (environment.pool->Push(&task)) continue;
      }
      ready[kept++] = step;
    }
    ready.resize(kept);
  }

  void RunStep(int32_t index) {
    const Plan::Step& step = plan.steps()[index];
    const Plan::ParallelStep& parallel = plan.parallel_steps()[index];
    Tensor* const slots = state.slots.get();
    // Once a step has failed, those before it in the plan's order still run, for the first of all failures is the one
    // to report; those after it are only counted. What runs has all its inputs, because these come before it.
    if (index < first_failed.load(std::memory_order_relaxed)) {
      if (ABSL_PREDICT_FALSE(environment.stopped())) {
        Fail(-1, absl::OkStatus());  // RunParallel says why
      } else {
        const uint64_t exclusive = ExclusiveInputs(step, parallel);
        absl::Status status = environment.trace != nullptr
                                  ? ExecuteTraced(step, exclusive, state.inputs.data(), slots, environment)
                                  : Execute(step, exclusive, state.inputs.data(), slots, environment);
        if (ABSL_PREDICT_FALSE(!status.ok())) Fail(index, NodeError(*step.node, status));
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

  void Fail(int32_t index, absl::Status error) {
    std::lock_guard<std::mutex> lock(mutex);
    if (index >= first_failed.load(std::memory_order_relaxed)) return;
    first_failed.store(index, std::memory_order_relaxed);
    status = std::move(error);
  }

  const Plan& plan;
  State& state;
  const KernelContext::Environment& environment;
  std::atomic<int64_t> remaining;
  std::atomic<int32_t> first_failed{std::numeric_limits<int32_t>::max()};
  std::mutex mutex;
  absl::Status status;
};

absl::Status Executor::RunParallel(State& state, const KernelContext::Environment& environment) {
  state.PrepareParallel(*plan_);
  ParallelRun run(*plan_, state, environment);
  state.run = &run;
  run.Process(ParallelRun::Ready(plan_->roots().rbegin(), plan_->roots().rend()));
  environment.pool->RunUntil([&run] { return run.remaining.load(std::memory_order_acquire) == 0; });
  state.run = nullptr;
  std::lock_guard<std::mutex> lock(run.mutex);
  if (environment.stopped()) return StoppedError(environment, nullptr);
  return run.status;
}

}  // namespace nabla

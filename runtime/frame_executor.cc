#include "nabla/runtime/frame_executor.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "nabla/runtime/execute_step.h"

namespace nabla {
namespace {

inline bool Holds(const FrameProgram& program, int32_t guard, const uint8_t* flags) {
  const FrameProgram::Guard& literals = program.guards[guard];
  const FrameProgram::Literal* const first = program.literals.data() + literals.first;
  for (const FrameProgram::Literal* literal = first; literal != first + literals.count; ++literal) {
    if (flags[literal->flag] != literal->value) return false;
  }
  return true;
}

// Small tensors have nothing to give back.
inline void ReleaseBytes(Tensor& tensor) {
  if (tensor.SharesBufferWith(tensor)) Release(tensor);
}

absl::Status RunStep(const Plan& plan, const Plan::Step& step, Tensor* const* inputs, Tensor* slots,
                     const KernelContext::Environment& environment) {
  if (ABSL_PREDICT_FALSE(environment.stopped())) return StoppedError(environment, step.node);
  absl::Status status = ABSL_PREDICT_FALSE(environment.trace != nullptr)
                            ? ExecuteTraced(step, step.exclusive_inputs, inputs, slots, environment)
                            : Execute(step, step.exclusive_inputs, inputs, slots, environment);
  if (ABSL_PREDICT_FALSE(!status.ok())) {
    return environment.stopped() ? StoppedError(environment, nullptr) : NodeError(*step.node, status);
  }
  const int32_t* const releases = plan.releases().data() + step.first_release;
  for (int32_t i = 0; i < step.num_releases; ++i) ReleaseBytes(slots[releases[i]]);
  return absl::OkStatus();
}

absl::Status NotABool(const Node& node, const Tensor& predicate) {
  return NodeError(node,
                   absl::InvalidArgumentError(absl::StrCat("the predicate is ", DTypeName(predicate.dtype()), " ",
                                                           predicate.shape().ToString(), ", expected a scalar bool")));
}

absl::Status CheckFetches(const Plan& plan, const uint8_t* flags) {
  const FrameProgram& program = *plan.frames();
  for (size_t i = 0; i < program.fetch_guards.size(); ++i) {
    const int32_t guard = program.fetch_guards[i];
    if (guard == FrameProgram::kAlways || Holds(program, guard, flags)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("the fetch '", program.fetch_names[i], "' is dead: it comes from a branch that was not taken"));
  }
  return absl::OkStatus();
}

class FrameRun {
 public:
  FrameRun(const Plan& plan, Tensor* const* inputs, Tensor* slots, uint8_t* flags, TaskCounters* regions,
           const KernelContext::Environment& environment)
      : plan_(plan), inputs_(inputs), slots_(slots), flags_(flags), regions_(regions), environment_(environment) {}

  // From an instruction to the end of the program or of a task.
  absl::Status Run(int32_t first) { return Run(first, nullptr); }

 private:
  // A task that runs. It gives up once one before it has failed: its loop might go on for long, or for ever.
  struct Task {
    const FirstFailure* failure;
    int32_t number;
    const Task* around;
  };
  static bool GivesUp(const Task* task) {
    for (; task != nullptr; task = task->around) {
      if (!task->failure->IsAfter(task->number)) return true;
    }
    return false;
  }

  absl::Status Run(int32_t first, const Task* task);

  absl::Status RunRegion(int32_t index, const Task* around) {
    const FrameProgram::Region& region = plan_.frames()->regions[index];
    if (environment_.pool == nullptr) {
      for (const int32_t first : region.first) NABLA_RETURN_IF_ERROR(Run(first, around));
      return absl::OkStatus();
    }
    FirstFailure failure;
    const auto body = [&](int32_t number) {
      if (!failure.IsAfter(number)) return;
      const Task task = {&failure, number, around};
      absl::Status status = Run(region.first[number], &task);
      if (ABSL_PREDICT_FALSE(!status.ok())) failure.Record(environment_.stopped() ? -1 : number, std::move(status));
    };
    TaskRun(region.graph, regions_[index], environment_.pool, body, /*long_tasks=*/true).Run(region.graph.roots);
    return failure.status();
  }

  const Plan& plan_;
  Tensor* const* const inputs_;
  Tensor* const slots_;
  uint8_t* const flags_;
  TaskCounters* const regions_;
  const KernelContext::Environment& environment_;
};

absl::Status FrameRun::Run(int32_t first, const Task* task) {
  // What the loop below reads all the time, out of this object's memory.
  const Plan& plan = plan_;
  const FrameProgram& program = *plan.frames();
  const Plan::Step* const steps = plan.steps().data();
  Tensor* const* const inputs = inputs_;
  Tensor* const slots = slots_;
  uint8_t* const flags = flags_;
  const KernelContext::Environment& environment = environment_;
  const auto tensor = [&](int32_t source) -> const Tensor& {
    return source >= 0 ? slots[source] : plan.constants()[~source];
  };
  const FrameProgram::Instruction* instruction = program.instructions.data() + first;
  for (;; ++instruction) {
    switch (instruction->op) {
      case FrameProgram::Op::kRun:
        for (int32_t i = instruction->a; i < instruction->b; ++i) {
          NABLA_RETURN_IF_ERROR(RunStep(plan, steps[i], inputs, slots, environment));
        }
        break;
      case FrameProgram::Op::kTest: {
        const Tensor& predicate = tensor(instruction->source);
        if (ABSL_PREDICT_FALSE(!predicate.shape().IsScalar() || predicate.dtype() != DType::kBool)) {
          return NotABool(*instruction->node, predicate);
        }
        flags[instruction->a] = predicate.scalar<bool>() ? 1 : 0;
        break;
      }
      case FrameProgram::Op::kSet:
        flags[instruction->a] = static_cast<uint8_t>(instruction->b);
        break;
      case FrameProgram::Op::kSkipUnless:
        // One before, for the loop goes on to the next.
        if (!Holds(program, instruction->a, flags)) {
          instruction = program.instructions.data() + instruction->b - 1;
        }
        break;
      case FrameProgram::Op::kJump:
        if (ABSL_PREDICT_FALSE(environment.stopped())) return StoppedError(environment, nullptr);
        if (ABSL_PREDICT_FALSE(GivesUp(task))) return absl::CancelledError("what came before has failed");
        instruction = program.instructions.data() + instruction->b - 1;
        break;
      case FrameProgram::Op::kCheck:
        if (ABSL_PREDICT_FALSE(!Holds(program, instruction->a, flags))) {
          return NodeError(*instruction->node,
                           absl::InvalidArgumentError("is dead while its loop goes on, so a loop variable is missing "
                                                      "in the next iteration"));
        }
        break;
      case FrameProgram::Op::kCopy:
        slots[instruction->a] = tensor(instruction->source);
        break;
      case FrameProgram::Op::kMove:
        slots[instruction->a] = std::move(slots[instruction->source]);
        break;
      case FrameProgram::Op::kClear:
        ReleaseBytes(slots[instruction->a]);
        break;
      case FrameProgram::Op::kRegion:
        NABLA_RETURN_IF_ERROR(RunRegion(instruction->a, task));
        instruction = program.instructions.data() + instruction->b - 1;
        break;
      case FrameProgram::Op::kTaskEnd:
        return absl::OkStatus();
      case FrameProgram::Op::kEnd:
        // A kernel that the flag caught has left parts of its outputs out.
        if (environment.stopped()) return StoppedError(environment, nullptr);
        return CheckFetches(plan, flags);
    }
  }
}

}  // namespace

absl::Status RunFrames(const Plan& plan, Tensor* const* inputs, Tensor* slots, uint8_t* flags, TaskCounters* regions,
                       const KernelContext::Environment& environment) {
  return FrameRun(plan, inputs, slots, flags, regions, environment).Run(0);
}

}  // namespace nabla

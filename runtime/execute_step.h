// What every executor does with a step of a plan.
#ifndef NABLA_RUNTIME_EXECUTE_STEP_H_
#define NABLA_RUNTIME_EXECUTE_STEP_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "nabla/runtime/kernel.h"
#include "nabla/runtime/plan.h"
#include "nabla/runtime/trace.h"

namespace nabla {

// Gives the bytes back and leaves the slot invalid, which shows a kernel that sets no output.
inline void Release(Tensor& tensor) { Tensor gone = std::move(tensor); }

inline absl::Status StoppedError(const KernelContext::Environment& environment, const Node* next) {
  const std::string where =
      next == nullptr ? "" : absl::StrCat(" before node '", next->name(), "' (op: ", next->op(), ")");
  if (environment.cancelled != nullptr && environment.cancelled->load()) {
    return absl::CancelledError(absl::StrCat("the run was cancelled", where));
  }
  return absl::DeadlineExceededError(absl::StrCat("the run's deadline passed", where));
}

inline absl::Status BadOutput(const Plan::Step& step, const Tensor* outputs) {
  for (int i = 0; i < step.num_outputs; ++i) {
    const DType expected = BaseDType(step.node->output_dtype(i));
    if (outputs[i].dtype() != expected) {
      return absl::InternalError(absl::StrCat("the kernel gave output ", i, " the type ", DTypeName(outputs[i].dtype()),
                                              ", expected ", DTypeName(expected)));
    }
  }
  return absl::OkStatus();
}

// Computes one step.
inline absl::Status Execute(const Plan::Step& step, uint64_t exclusive_inputs, Tensor* const* inputs, Tensor* slots,
                            const KernelContext::Environment& environment) {
  Tensor* outputs = slots + step.first_output;
  KernelContext context(environment, step.node, inputs + step.first_input, step.num_inputs, outputs, step.num_outputs,
                        exclusive_inputs);
  absl::Status status = step.kernel->Compute(context);
  // A kernel that left an output out would show another step's leavings to its readers.
  if (ABSL_PREDICT_TRUE(status.ok()) && step.num_outputs > 0 &&
      ABSL_PREDICT_FALSE(step.num_outputs > 1 || outputs[0].dtype() != step.output_dtype)) {
    return BadOutput(step, outputs);
  }
  return status;
}

inline absl::Status ExecuteTraced(const Plan::Step& step, uint64_t exclusive_inputs, Tensor* const* inputs,
                                  Tensor* slots, const KernelContext::Environment& environment) {
  std::string input_types = Trace::Describe(inputs + step.first_input, step.num_inputs);
  const Trace::Clock::time_point start = Trace::Clock::now();
  absl::Status status = Execute(step, exclusive_inputs, inputs, slots, environment);
  const Trace::Clock::time_point end = Trace::Clock::now();
  absl::InlinedVector<const Tensor*, 4> outputs;
  for (int i = 0; i < step.num_outputs; ++i) outputs.push_back(slots + step.first_output + i);
  environment.trace->AddNode(*step.node, start, end, std::move(input_types),
                             Trace::Describe(outputs.data(), step.num_outputs));
  return status;
}

}  // namespace nabla

#endif  // NABLA_RUNTIME_EXECUTE_STEP_H_

// Runs plans of graphs with control flow (frame_program.h).
//
// One thread runs the steps, save for what lies in the program's regions; the loops inside kernels use all of them.
// Iterations follow one another, whatever parallel_iterations allows, so results do not depend on it. Checks the
// environment's flags at every step and jump, so a loop that never ends can be stopped.
#ifndef NABLA_RUNTIME_FRAME_EXECUTOR_H_
#define NABLA_RUNTIME_FRAME_EXECUTOR_H_

#include <cstdint>

#include "absl/status/status.h"
#include "nabla/graph/tensor.h"
#include "nabla/runtime/kernel.h"
#include "nabla/runtime/plan.h"
#include "nabla/runtime/task_graph.h"

namespace nabla {

// `inputs` by the plan's input_sources, `flags` and `regions` as many as the program has. Fed slots are filled in;
// fetched ones are when this returns. Errors: the first failing node's, with its name; InvalidArgument for a fetch that
// is dead and a predicate that is no scalar; Cancelled or DeadlineExceeded.
absl::Status RunFrames(const Plan& plan, Tensor* const* inputs, Tensor* slots, uint8_t* flags, TaskCounters* regions,
                       const KernelContext::Environment& environment);

}  // namespace nabla

#endif  // NABLA_RUNTIME_FRAME_EXECUTOR_H_

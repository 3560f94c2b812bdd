// Plans a graph with loops and branches: the steps in the order of OrderFrames, and the program that jumps among them
// (frame_program.h).
//
// What TensorFlow's executor finds out while it runs, by tagging tensors with frames and iterations and passing dead
// ones on (Yu et al., Dynamic Control Flow in Large-Scale Machine Learning, 2018), is settled here for runs that make
// one iteration after another:
// - A node is dead if any data or control input is; a Merge only if all its data inputs are; a ControlTrigger never.
//   So a node's guard is the conjunction of its inputs' guards, a Switch adds its predicate's literal, and a Merge
//   takes away what its inputs contradict each other in (or gets a flag of its own).
// - A loop goes on while its LoopCond is alive and true. Guards inside of it are relative to what all of its Enters
//   have in common, which the loop as a whole is skipped by.
// - An Exit hands out what it has when the loop ends.
#ifndef NABLA_RUNTIME_FRAME_PLANNER_H_
#define NABLA_RUNTIME_FRAME_PLANNER_H_

#include "absl/status/status.h"
#include "nabla/graph/passes/compilation.h"
#include "nabla/runtime/plan.h"

namespace nabla {

// Whether the graph needs PlanFrames.
bool HasControlFlow(const Compilation& compilation);

// Fills in steps, slots, constants, feeds, fetches and program of `plan`. Errors: InvalidArgument for malformed frames
// and fetches inside of loops, naming the node; what making the kernels says.
// `parallel`: several threads will run it.
absl::Status PlanFrames(Plan* plan, const KernelRegistry& kernels, const Compilation& compilation, bool parallel);

}  // namespace nabla

#endif  // NABLA_RUNTIME_FRAME_PLANNER_H_

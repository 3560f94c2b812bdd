// What a run of a graph with control flow executes: a Plan's steps, and between them jumps.
//
// A loop is a jump backwards. An iteration's tensors live in the same slots as the last one's, so a loop allocates
// nothing but what its kernels ask for, however many trips it makes. Switch, Enter, Exit, NextIteration and Identity
// are not executed at all: their outputs are other names for the slots of their inputs. A Merge, and the end of an
// iteration, moves tensors from slot to slot.
//
// Nor are dead tensors passed around. Whether a node is alive depends on the predicates of the Switches above it; each
// predicate sets a flag when it is known, and a jump skips the nodes whose flags say that they are dead. See
// frame_planner.h for how a graph becomes a program.
//
// Iterations follow one another, as they share their slots. What several threads can gain from lies within one: where
// the estimated costs promise it, the program's top level (with a loop as one task) or else the body of a loop is cut
// into tasks with counters, as other plans are (frame_regions.h).
#ifndef NABLA_RUNTIME_FRAME_PROGRAM_H_
#define NABLA_RUNTIME_FRAME_PROGRAM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "nabla/graph/graph.h"
#include "nabla/runtime/task_graph.h"

namespace nabla {

struct FrameProgram {
  enum class Op : uint8_t {
    kRun,         // steps a to b - 1
    kTest,        // flag a = the scalar bool in `source`; `node` is the Switch or LoopCond that asks
    kSet,         // flag a = b
    kSkipUnless,  // to instruction b unless guard a holds
    kJump,        // to instruction b, the head of a loop
    kCheck,       // fails with `node` unless guard a holds
    kCopy,        // slot a = source
    kMove,        // slot a = source, a slot that nobody reads any more
    kClear,       // slot a
    kRegion,      // the tasks of region a, side by side; then to instruction b
    kTaskEnd,     // of a task of a region
    kEnd,
  };

  struct Instruction {
    Op op = Op::kEnd;
    int32_t a = 0;
    int32_t b = 0;
    int32_t source = 0;  // a slot, or ~index of a constant
    const Node* node = nullptr;
  };

  // A flag and the value it must have.
  struct Literal {
    int32_t flag;
    uint8_t value;
  };

  // Holds if all its literals do.
  struct Guard {
    int32_t first;  // into literals
    int32_t count;
  };

  // A part of the program, all of it or the body of a loop, of which some pieces need not wait for others.
  struct Region {
    TaskGraph graph;
    std::vector<int32_t> first;  // by task: the instruction that it begins with
  };

  static constexpr int32_t kAlways = -1;

  std::vector<Instruction> instructions;
  std::vector<Literal> literals;
  std::vector<Guard> guards;
  std::vector<Region> regions;  // none inside another
  int32_t num_flags = 0;
  // By the plan's fetches: the guard without which the fetched tensor is dead, or kAlways.
  std::vector<int32_t> fetch_guards;
  std::vector<std::string> fetch_names;
};

}  // namespace nabla

#endif  // NABLA_RUNTIME_FRAME_PROGRAM_H_

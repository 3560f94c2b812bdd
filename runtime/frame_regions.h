// Which parts of a program with frames may run side by side, and whether that pays.
//
// The order of the actions is one that is right; two of them must keep it if one changes a slot or a flag that the
// other touches, or if a control edge says so. Between all others threads may choose: the results are the same bits, as
// each action sees what it would have seen on one thread.
#ifndef NABLA_RUNTIME_FRAME_REGIONS_H_
#define NABLA_RUNTIME_FRAME_REGIONS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "nabla/runtime/frame_actions.h"
#include "nabla/runtime/task_graph.h"

namespace nabla {

// What an action touches: twice the number of a slot or flag (as the caller counts them), plus 1 if it changes it.
struct ActionAccesses {
  std::vector<int32_t> first;  // by action, and the end: into accesses
  std::vector<int32_t> accesses;
};

// The whole program or the body of a loop, cut into tasks: an action each, or a loop with all that is in it.
struct FrameRegion {
  using Tasks = absl::InlinedVector<int32_t, 4>;

  int32_t begin = 0;  // actions
  int32_t end = 0;
  std::vector<int32_t> first;   // by task: its first action
  std::vector<Tasks> before;    // by task: those that must end before it begins, in order
  std::vector<bool> expensive;  // by task
  // Further tasks, which too have entries in the two above: each clears a slot if the guard holds.
  std::vector<std::pair<int32_t, GuardId>> clears;

  int32_t EndOf(size_t task) const { return task + 1 < first.size() ? first[task + 1] : end; }
  // The task waits for the other, which comes before it in the order of the actions.
  void Wait(size_t task, int32_t other);
  // False if the two, should they differ, may run side by side, as far as a short search can tell.
  bool InOrder(int32_t task, int32_t other) const;
};

// The outermost parts in which threads can gain something, by the costs in nanoseconds, one by action; none inside
// another, in order. Takes linear time but for the depth of nested loops.
std::vector<FrameRegion> FindRegions(const FrameActions& program, const ActionAccesses& accesses,
                                     const std::vector<double>& costs);

TaskGraph MakeTaskGraph(const FrameRegion& region);

}  // namespace nabla

#endif  // NABLA_RUNTIME_FRAME_REGIONS_H_

// Which ops a gradient passes through, and how many of their uses it has to
// wait for.
#ifndef NABLA_GRADIENTS_BETWEEN_H_
#define NABLA_GRADIENTS_BETWEEN_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "nabla/gradients/control_state.h"
#include "nabla/graph/graph.h"

namespace nabla {

// Whether a gradient can exist for such a tensor: floating, complex, resource
// (of a variable) and variant types.
bool IsBackpropagatable(DType dtype);

// How loops look from a frame of the graph: each loop in it is one op, and what enters the frame itself has nothing
// before it.
struct FrameView {
  const ControlState* control = nullptr;  // nullptr: there are no loops
  int frame = kRootFrame;

  // Whether `op` hands values from outside, or from the trip before, to the frame.
  bool IsEntry(const Node* op) const;
  // The node that stands for the loop in which `op` is; `op` itself if that is in the frame.
  const Node* Unit(const Node* op) const;
};

// The ops on a path from xs to ys along which a gradient can flow back, and for
// each the number of uses by other such ops. Requires the graph's lock while it
// is made; the cost is that of the ops that ys depend on.
class BetweenOps {
 public:
  BetweenOps(const Outputs& ys, const Outputs& xs, const FrameView& view = {});

  bool Contains(const Node* op) const { return between_.contains(op); }
  // Whether there are loops or conditionals among them.
  bool HasControlFlow() const;
  // One use of `op` has delivered its gradient: true if that was the last of its unit's.
  bool Arrived(const Node* op) { return --pending_[view_.Unit(op)] == 0; }
  // Of the op's unit.
  int pending(const Node* op) const;
  // An op that still waits, nullptr if none does: after the walk, one of a cycle or behind it. The first by name.
  const Node* FindWaiting() const;

 private:
  FrameView view_;
  absl::flat_hash_set<const Node*> between_;
  absl::flat_hash_map<const Node*, int> pending_;  // by unit
};

}  // namespace nabla

#endif  // NABLA_GRADIENTS_BETWEEN_H_

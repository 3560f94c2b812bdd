// Which ops a gradient passes through, and how many of their uses it has to wait for.
#ifndef NABLA_GRADIENTS_BETWEEN_H_
#define NABLA_GRADIENTS_BETWEEN_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "nabla/gradients/control_state.h"
#include "nabla/graph/graph.h"

namespace nabla {

// Whether a gradient can exist for such a tensor: floating, complex, resource (of a variable) and variant types.
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

// The ops on a path from xs to ys along which a gradient can flow back, and for each the number of uses by other such
// ops. Requires the graph's lock while it is made. The cost is about that of the smaller of two cones, what ys depend
// on and what depends on xs, of nodes added between the first of xs and the last of ys: whoever asks for a small part
// of a large graph does not pay for the rest.
class BetweenOps {
 public:
  BetweenOps(const Outputs& ys, const Outputs& xs, const FrameView& view = {});

  // Breadth first from ys. An op's index is its place here.
  const std::vector<Node*>& ops() const { return ops_; }
  // -1 if it is none of them.
  int IndexOf(const Node* op) const {
    auto it = index_.find(op);
    return it == index_.end() ? -1 : it->second;
  }
  bool Contains(const Node* op) const { return index_.contains(op); }
  // The indices of the ops that the inputs of the op of that index come from, one for each input.
  absl::Span<const int> InputsOf(int index) const {
    return absl::MakeConstSpan(inputs_).subspan(first_input_[index], ops_[index]->num_inputs());
  }
  // Whether there are loops or conditionals among them.
  bool HasControlFlow() const;

  // Uses of the op's unit whose gradient is still to come; 0 for an op that is none of these.
  int pending(const Node* op) const;
  // One use of the op of that index has delivered its gradient: true if that was the last of its unit's.
  bool Arrived(int index) { return --pending_[units_.empty() ? index : units_[index]] == 0; }
  // An op that still waits, nullptr if none does: after the walk, one of a cycle or behind it. The first by name.
  const Node* FindWaiting() const;

 private:
  FrameView view_;
  std::vector<Node*> ops_;
  std::vector<int> inputs_;          // of all ops one after the other
  std::vector<size_t> first_input_;  // by index: into inputs_
  absl::flat_hash_map<const Node*, int> index_;
  // By unit. Without loops an op's index is that of its unit, and the next two are empty.
  std::vector<int> pending_;
  std::vector<int> units_;  // by the op's index
  absl::flat_hash_map<const Node*, int> unit_index_;
};

}  // namespace nabla

#endif  // NABLA_GRADIENTS_BETWEEN_H_

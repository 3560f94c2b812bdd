// While a program with frames is planned: what control edges, also by way of nodes that are no actions, put before the
// actions of a node. (What reads and writes put there is seen from the slots.)
#ifndef NABLA_RUNTIME_FRAME_WAITS_H_
#define NABLA_RUNTIME_FRAME_WAITS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "nabla/graph/graph.h"
#include "nabla/runtime/frame_actions.h"

namespace nabla {

// Thread-compatible.
class FrameWaits {
 public:
  // Adds to the waits of `program`, which must outlive it; does nothing unless several threads will run it.
  FrameWaits(FrameActions* program, int num_node_ids, bool parallel);

  // From here on, actions wait for what the nodes' inputs have done. May add an action of its own.
  void Begin(absl::Span<Node* const> nodes);
  // Of an action that is being added.
  void Mark(FrameAction* action) const;
  // The actions added since Begin are the node's; one without any has done what its inputs have. Those that follow wait
  // for nothing.
  void Finish(const Node& node);
  // The same for the Enters of a loop, whose last action is its kBegin: they have done that.
  void FinishEnters(absl::Span<Node* const> enters);
  // Those that follow wait for nothing.
  void End() { num_waits_ = 0; }

 private:
  using Actions = absl::InlinedVector<int32_t, 2>;

  // Adds an action that does nothing but wait.
  int32_t Keep();
  void WaitForOne(int32_t action);

  FrameActions& program_;
  std::vector<Actions> done_;  // by node id: what has happened when it is done; empty unless parallel
  // Of the nodes that are being added.
  int32_t first_wait_ = 0;
  int32_t num_waits_ = 0;
  size_t first_action_ = 0;
};

}  // namespace nabla

#endif  // NABLA_RUNTIME_FRAME_WAITS_H_

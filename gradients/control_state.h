// What one call of Gradients knows of the graph's loops and conditionals.
#ifndef NABLA_GRADIENTS_CONTROL_STATE_H_
#define NABLA_GRADIENTS_CONTROL_STATE_H_

#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/optional.h"
#include "nabla/graph/branch_contexts.h"
#include "nabla/graph/control_flow.h"
#include "nabla/graph/scope.h"

namespace nabla {

// A picture of the graph as it was before the call added anything, and what the call then added to its loops. Requires
// the graph's lock.
class ControlState {
 public:
  // `forward`: where nodes that extend the differentiated graph go, such as those that save a loop's values.
  explicit ControlState(const Scope& forward)
      : forward_(forward), flow_(AnalyzeControlFlow(*forward.graph())), contexts_(flow_) {}

  const Scope& forward() const { return forward_; }
  const ControlFlow& flow() const { return flow_; }
  const BranchContexts& contexts() const { return contexts_; }
  const Frame& frame(int f) const { return flow_.frames[f]; }

  static constexpr int kUnknownFrame = -2;
  // The frame in which a node is, an Enter or Exit in that of its loop; kUnknownFrame for what was added since.
  int FrameOf(const Node* node) const {
    return node->id() < static_cast<int>(flow_.frame_of.size()) ? flow_.frame_of[node->id()] : kUnknownFrame;
  }
  // The frame in which a tensor can be used, that around the loop for an Exit's.
  int FrameOf(Output tensor) const;
  BranchContexts::Context ContextOf(Output tensor) const;
  // Whether `frame` is `ancestor` or inside it. Everything is inside kRootFrame.
  bool IsInside(int frame, int ancestor) const;
  // The frame directly inside `level` in which `frame` is; `level` itself if it is that.
  int ChildOf(int level, int frame) const;

  // A value of that loop's body is saved in every trip.
  void NoteSaved(int frame, Output value);
  // The bytes that all saved values take in a trip; nullopt if the graph does not tell, or if a loop inside another one
  // saves some.
  absl::optional<int64_t> saved_bytes() const { return saved_bytes_; }

  // Of a node that extends the forward graph.
  void NoteAdded(const Node* node, int frame, BranchContexts::Context context) { added_[node] = {frame, context}; }

 private:
  Scope forward_;
  ControlFlow flow_;
  BranchContexts contexts_;
  absl::flat_hash_map<const Node*, std::pair<int, BranchContexts::Context>> added_;
  absl::optional<int64_t> saved_bytes_ = 0;
  int saving_frame_ = kUnknownFrame;
};

}  // namespace nabla

#endif  // NABLA_GRADIENTS_CONTROL_STATE_H_

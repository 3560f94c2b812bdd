// Adding nodes to the bodies of loops that exist already: scopes that know in which frame their nodes are, and carry in
// what comes from frames around.
#ifndef NABLA_GRADIENTS_FRAME_SCOPES_H_
#define NABLA_GRADIENTS_FRAME_SCOPES_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "nabla/graph/control_flow.h"
#include "nabla/graph/scope.h"

namespace nabla {

// The loops of a graph as it was when this was made. Thread-compatible; requires the graph's lock while it lives, and
// must live as long as the scopes that it gives.
class FrameScopes {
 public:
  explicit FrameScopes(const Scope& scope);
  FrameScopes(const FrameScopes&) = delete;
  FrameScopes& operator=(const FrameScopes&) = delete;

  // The frame in which a node's outputs are: an Enter's that of its loop, an Exit's the one around it.
  int FrameOf(const Node* node) const;
  // The frame in which a node's inputs are.
  int InputFrameOf(const Node* node) const;
  // `scope`, adding to that frame. What its nodes take from frames around comes in by an Enter, once for each tensor;
  // those without inputs wait for the iteration to begin.
  Scope In(int frame, const Scope& scope);
  // An Enter or Exit that was added has its outputs in that frame, and not where its inputs are.
  void Note(const Node* node, int frame) { added_[node] = frame; }

 private:
  class FrameCapture;
  int Parent(int frame) const { return frame == kRootFrame ? kRootFrame : flow_.frames[frame].parent; }
  absl::StatusOr<Output> CarryIn(Output source, int frame);

  const Scope scope_;
  const ControlFlow flow_;
  absl::flat_hash_map<const Node*, int> added_;
  absl::flat_hash_map<std::pair<Output, int>, Output> carried_;  // a tensor and a frame that it was carried into
};

}  // namespace nabla

#endif  // NABLA_GRADIENTS_FRAME_SCOPES_H_

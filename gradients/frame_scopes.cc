#include "nabla/gradients/frame_scopes.h"

#include "absl/strings/str_cat.h"
#include "nabla/graph/capture.h"
#include "nabla/ops/ops.h"

namespace nabla {

class FrameScopes::FrameCapture : public Capture {
 public:
  FrameCapture(FrameScopes* frames, int frame) : frames_(frames), frame_(frame) {}

  absl::StatusOr<Output> CaptureInput(Output source) override { return frames_->CarryIn(source, frame_); }
  // What is around the loop has run before the loop begins if anything of it is used.
  absl::StatusOr<Node*> CaptureControl(Node* source) override {
    return frames_->FrameOf(source) == frame_ ? source : nullptr;
  }
  void Added(Node* node, bool innermost) override {
    if (!innermost) return;
    frames_->added_[node] = frame_;
    if (node->num_inputs() == 0 && node->num_control_inputs() == 0) {
      node->graph()->AddControlEdge(frames_->flow_.frames[frame_].variables[0].merge, node);
    }
  }

 private:
  FrameScopes* frames_;
  int frame_;
};

FrameScopes::FrameScopes(const Scope& scope) : scope_(scope), flow_(AnalyzeControlFlow(*scope.graph())) {}

int FrameScopes::FrameOf(const Node* node) const {
  if (const auto it = added_.find(node); it != added_.end()) return it->second;
  if (node->id() >= static_cast<int>(flow_.frame_of.size())) return kRootFrame;
  const int frame = flow_.frame_of[node->id()];
  return IsExit(*node) ? Parent(frame) : frame;
}

int FrameScopes::InputFrameOf(const Node* node) const {
  const int frame = node->id() < static_cast<int>(flow_.frame_of.size()) ? flow_.frame_of[node->id()] : kRootFrame;
  return IsEnter(*node) ? Parent(frame) : frame;
}

Scope FrameScopes::In(int frame, const Scope& scope) {
  // A loop that nothing enters has no iteration to wait for, and never runs.
  if (frame == kRootFrame || flow_.frames[frame].variables.empty()) return scope;
  return scope.WithCapture(std::make_shared<FrameCapture>(this, frame));
}

absl::StatusOr<Output> FrameScopes::CarryIn(Output source, int frame) {
  const int from = FrameOf(source.node());
  // The frames to enter, innermost first.
  std::vector<int> path;
  int outer = frame;
  for (; outer != from && outer != kRootFrame; outer = Parent(outer)) path.push_back(outer);
  if (outer != from) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", source.name(), "' is in a loop, and cannot be used in another or around it"));
  }
  for (; !path.empty(); path.pop_back()) {
    Output& inside = carried_[{source, path.back()}];
    if (!inside) {
      const Frame& loop = flow_.frames[path.back()];
      inside =
          ops::Enter(scope_, source, loop.name, {.is_constant = true, .parallel_iterations = loop.parallel_iterations});
      if (!inside) return scope_.status();
      Note(inside.node(), path.back());
    }
    source = inside;
  }
  return source;
}

}  // namespace nabla

#include "nabla/ops/branch_capture.h"

#include "nabla/ops/ops.h"

namespace nabla {

BranchCapture::BranchCapture(const Scope& outer, Output predicate, bool side)
    : outer_(outer), predicate_(predicate), side_(side) {}

Output BranchCapture::Take(Output tensor) {
  Output& taken = taken_[tensor];
  if (taken) return taken;
  auto sides = ops::Switch(outer_, tensor, predicate_);
  Output side = side_ ? sides.output_true : sides.output_false;
  if (side) mine_.insert(side.node()->id());
  return taken = side;
}

Node* BranchCapture::pivot() {
  if (!pivot_) pivot_ = ops::Identity(outer_.Named("pivot"), Take(predicate_));
  return pivot_.node();
}

absl::StatusOr<Output> BranchCapture::CaptureInput(Output source) {
  if (mine_.contains(source.node()->id())) return source;
  Output taken = Take(source);
  if (!taken) return outer_.status();
  return taken;
}

absl::StatusOr<Node*> BranchCapture::CaptureControl(Node* source) { return source; }

void BranchCapture::Added(Node* node, bool innermost) {
  mine_.insert(node->id());
  if (!innermost || node->num_inputs() > 0) return;
  if (Node* wait = pivot()) node->graph()->AddControlEdge(wait, node);
}

}  // namespace nabla

#include "nabla/gradients/control_state.h"

namespace nabla {

int ControlState::FrameOf(Output tensor) const {
  if (const auto it = added_.find(tensor.node()); it != added_.end()) return it->second.first;
  const int frame = FrameOf(tensor.node());
  return frame >= 0 && IsExit(*tensor.node()) ? flow_.frames[frame].parent : frame;
}

BranchContexts::Context ControlState::ContextOf(Output tensor) const {
  const auto it = added_.find(tensor.node());
  return it != added_.end() ? it->second.second : contexts_.Of(tensor);
}

bool ControlState::IsInside(int frame, int ancestor) const {
  if (frame == kUnknownFrame) return false;
  while (frame > ancestor) frame = flow_.frames[frame].parent;  // a frame's number is above its parent's
  return frame == ancestor;
}

int ControlState::ChildOf(int level, int frame) const {
  if (frame == level) return level;
  while (frame >= 0 && flow_.frames[frame].parent != level) frame = flow_.frames[frame].parent;
  return frame;
}

void ControlState::NoteSaved(int frame, Output value) {
  const DType dtype = BaseDType(value.dtype());
  const bool known = value.shape().IsFullyDefined() && dtype != DType::kVariant && dtype != DType::kString;
  if (!known || (saving_frame_ != kUnknownFrame && saving_frame_ != frame)) saved_bytes_.reset();
  saving_frame_ = frame;
  if (saved_bytes_) *saved_bytes_ += value.shape().num_elements() * static_cast<int64_t>(DTypeSize(dtype));
}

}  // namespace nabla

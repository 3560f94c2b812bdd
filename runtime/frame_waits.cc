#include "nabla/runtime/frame_waits.h"

#include <algorithm>

namespace nabla {
namespace {

// Of a node that waits for more, or does more, others wait by way of an action of its own.
constexpr size_t kMaxWaits = 16;

}  // namespace

FrameWaits::FrameWaits(FrameActions* program, int num_node_ids, bool parallel)
    : program_(*program), done_(parallel ? num_node_ids : 0) {}

void FrameWaits::Begin(absl::Span<Node* const> nodes) {
  num_waits_ = 0;
  if (done_.empty()) return;
  Actions before;
  const auto add = [&](const Node* node) {
    before.insert(before.end(), done_[node->id()].begin(), done_[node->id()].end());
  };
  for (const Node* node : nodes) {
    for (int i = 0; i < node->num_inputs(); ++i) add(node->input(i).node());
    if (node->num_control_inputs() == 0) continue;
    for (const Node* control : node->control_inputs()) add(control);
  }
  std::sort(before.begin(), before.end());
  before.erase(std::unique(before.begin(), before.end()), before.end());
  first_wait_ = static_cast<int32_t>(program_.waits.size());
  num_waits_ = static_cast<int32_t>(before.size());
  program_.waits.insert(program_.waits.end(), before.begin(), before.end());
  first_action_ = program_.actions.size();
  if (before.size() > kMaxWaits) WaitForOne(Keep());
}

void FrameWaits::Mark(FrameAction* action) const {
  action->first_wait = first_wait_;
  action->num_waits = num_waits_;
}

void FrameWaits::Finish(const Node& node) {
  if (!done_.empty()) {
    Actions& done = done_[node.id()];
    if (program_.actions.size() > first_action_) {
      for (size_t i = first_action_; i < program_.actions.size(); ++i) done.push_back(static_cast<int32_t>(i));
    } else {
      done.assign(program_.waits.begin() + first_wait_, program_.waits.begin() + first_wait_ + num_waits_);
    }
    if (done.size() > kMaxWaits) {
      first_wait_ = static_cast<int32_t>(program_.waits.size());
      num_waits_ = static_cast<int32_t>(done.size());
      program_.waits.insert(program_.waits.end(), done.begin(), done.end());
      done = {Keep()};
    }
  }
  End();
}

int32_t FrameWaits::Keep() {
  FrameAction keep;
  keep.kind = FrameAction::Kind::kKeep;
  Mark(&keep);
  program_.actions.push_back(keep);
  return static_cast<int32_t>(program_.actions.size()) - 1;
}

void FrameWaits::WaitForOne(int32_t action) {
  first_wait_ = static_cast<int32_t>(program_.waits.size());
  num_waits_ = 1;
  program_.waits.push_back(action);
}

void FrameWaits::FinishEnters(absl::Span<Node* const> enters) {
  if (done_.empty()) return;
  for (const Node* node : enters) done_[node->id()].push_back(static_cast<int32_t>(program_.actions.size()) - 1);
}

}  // namespace nabla

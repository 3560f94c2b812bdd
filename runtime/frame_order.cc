#include "nabla/runtime/frame_order.h"

#include <functional>
#include <queue>
#include <utility>

#include "absl/strings/str_cat.h"
#include "nabla/graph/error_text.h"
#include "nabla/graph/status_macros.h"
#include "nabla/runtime/kernel.h"

namespace nabla {
namespace {

// Nodes and loops are units: a node is its id, the loop of frame f is num_ids + f.
class Orderer {
 public:
  Orderer(const std::vector<Node*>& nodes, const ControlFlow& flow)
      : nodes_(nodes),
        flow_(flow),
        num_ids_(static_cast<int>(flow.frame_of.size())),
        pending_(num_ids_ + flow.frames.size()),
        successors_(num_ids_ + flow.frames.size()),
        priority_(num_ids_ + flow.frames.size(), -1),
        regions_(flow.frames.size() + 1) {}

  absl::StatusOr<std::vector<FrameItem>> Run() {
    for (Node* node : nodes_) {
      by_id_.resize(std::max<size_t>(by_id_.size(), node->id() + 1));
      by_id_[node->id()] = node;
      const int frame = flow_.frame_of[node->id()];
      if (IsEnter(*node)) {
        int& priority = priority_[num_ids_ + frame];
        if (priority < 0) {
          priority = node->id();
          AddUnit(flow_.frames[frame].parent, num_ids_ + frame);
        }
      } else {
        // Constants cost nothing and hold up their readers.
        priority_[node->id()] = node->op() == "Const" ? -1 : node->id();
        AddUnit(frame, node->id());
      }
      NABLA_RETURN_IF_ERROR(AddEdges(node));
    }
    NABLA_RETURN_IF_ERROR(Emit());
    return std::move(items_);
  }

 private:
  using Entry = std::pair<int, int>;  // priority, unit
  struct Region {
    std::vector<int> units;
    size_t num_left = 0;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> ready;
  };

  Region& RegionOf(int frame) { return regions_[frame + 1]; }
  int Parent(int frame) const { return flow_.frames[frame].parent; }

  void AddUnit(int frame, int unit) { RegionOf(frame).units.push_back(unit); }

  absl::Status AddEdges(Node* node) {
    for (int i = 0; i < node->num_inputs(); ++i) {
      const Node* source = node->input(i).node();
      if (IsMerge(*node) && IsNextIteration(*source)) continue;
      NABLA_RETURN_IF_ERROR(AddEdge(*source, *node));
    }
    for (const Node* source : node->control_inputs()) NABLA_RETURN_IF_ERROR(AddEdge(*source, *node));
    return absl::OkStatus();
  }

  absl::Status AddEdge(const Node& source, const Node& node) {
    int from_region = flow_.frame_of[source.id()];
    int from = source.id();
    if (IsEnter(source)) {
      // There from the beginning of its frame on.
      from = -1;
    } else if (IsExit(source)) {
      from = num_ids_ + from_region;
      from_region = Parent(from_region);
    }
    int to_region = flow_.frame_of[node.id()];
    int to = node.id();
    if (IsEnter(node)) {
      to = num_ids_ + to_region;
      to_region = Parent(to_region);
    }
    // From outside: the loop around the node waits.
    while (to_region != from_region && to_region != kRootFrame) {
      to = num_ids_ + to_region;
      to_region = Parent(to_region);
    }
    if (to_region != from_region) {
      return NodeError(node, absl::InvalidArgumentError(absl::StrCat(
                                 "waits for '", source.name(), "' inside of the loop ",
                                 Quoted(flow_.frames[from_region].name), ", expected a value that an Exit hands out")));
    }
    if (from < 0) return absl::OkStatus();
    if (from == to) return OwnResult(to);
    successors_[from].push_back(to);
    ++pending_[to];
    return absl::OkStatus();
  }

  absl::Status OwnResult(int unit) const {
    return absl::InvalidArgumentError(
        absl::StrCat("the loop ", Quoted(flow_.frames[unit - num_ids_].name), " waits for a result of its own"));
  }

  void Open(int frame) {
    Region& region = RegionOf(frame);
    region.num_left = region.units.size();
    for (const int unit : region.units) {
      if (pending_[unit] == 0) region.ready.emplace(priority_[unit], unit);
    }
    open_.push_back(frame);
  }

  void Done(int frame, int unit) {
    for (const int successor : successors_[unit]) {
      if (--pending_[successor] == 0) RegionOf(frame).ready.emplace(priority_[successor], successor);
    }
  }

  absl::Status Emit() {
    Open(kRootFrame);
    while (!open_.empty()) {
      const int frame = open_.back();
      Region& region = RegionOf(frame);
      if (region.ready.empty()) {
        if (region.num_left > 0) return Stuck(region);
        open_.pop_back();
        if (frame == kRootFrame) break;
        items_.push_back({FrameItem::Kind::kEnd, frame, nullptr});
        Done(Parent(frame), num_ids_ + frame);
        continue;
      }
      const int unit = region.ready.top().second;
      region.ready.pop();
      --region.num_left;
      if (unit < num_ids_) {
        items_.push_back({FrameItem::Kind::kNode, frame, by_id_[unit]});
        Done(frame, unit);
      } else {
        items_.push_back({FrameItem::Kind::kBegin, unit - num_ids_, nullptr});
        Open(unit - num_ids_);
      }
    }
    return absl::OkStatus();
  }

  // Nodes alone make no cycle, so a loop is part of this one.
  absl::Status Stuck(const Region& region) const {
    for (const int unit : region.units) {
      if (unit >= num_ids_ && pending_[unit] > 0) return OwnResult(unit);
    }
    return absl::InvalidArgumentError("the graph has a cycle that no NextIteration closes");
  }

  const std::vector<Node*>& nodes_;
  const ControlFlow& flow_;
  const int num_ids_;
  std::vector<Node*> by_id_;
  std::vector<int> pending_;  // by unit, as are the next two
  std::vector<std::vector<int>> successors_;
  std::vector<int> priority_;
  std::vector<Region> regions_;  // by frame, the root first
  std::vector<int> open_;        // frames, the innermost last
  std::vector<FrameItem> items_;
};

}  // namespace

absl::StatusOr<std::vector<FrameItem>> OrderFrames(const std::vector<Node*>& nodes, const ControlFlow& flow) {
  return Orderer(nodes, flow).Run();
}

}  // namespace nabla

#include "nabla/gradients/between.h"

#include <algorithm>
#include <climits>
#include <utility>

#include "absl/container/flat_hash_set.h"

namespace nabla {
namespace {

using NodeSet = absl::flat_hash_set<const Node*>;

// A walk over the nodes with ids in a range that goes edge by edge, so that two can take turns.
class Walk {
 public:
  NodeSet& seen() { return seen_; }

 protected:
  explicit Walk(std::pair<int, int> ids) : ids_(ids) {}

  void Visit(const Node* node) {
    if (node == nullptr || node->id() < ids_.first || node->id() > ids_.second) return;
    if (seen_.insert(node).second) stack_.push_back(node);
  }
  // The node whose edges come next, nullptr if there is none.
  const Node* Next() {
    if (stack_.empty()) return nullptr;
    const Node* node = stack_.back();
    stack_.pop_back();
    return node;
  }

 private:
  std::pair<int, int> ids_;
  NodeSet seen_;
  std::vector<const Node*> stack_;
};

// To everything that ys depend on through data edges, their ops included.
class BackwardWalk : public Walk {
 public:
  BackwardWalk(const Outputs& ys, std::pair<int, int> ids, const FrameView& view) : Walk(ids), view_(view) {
    for (Output y : ys) Visit(y.node());
  }

  // Follows an edge; false if none is left.
  bool Step() {
    while (input_ == num_inputs_) {
      node_ = Next();
      if (node_ == nullptr) return false;
      input_ = 0;
      num_inputs_ = view_.IsEntry(node_) ? 0 : node_->num_inputs();
    }
    Visit(node_->input(input_++).node());
    return true;
  }

 private:
  const FrameView& view_;
  const Node* node_ = nullptr;
  int input_ = 0;
  int num_inputs_ = 0;
};

// To everything that xs' ops reach through tensors that can have gradients.
class ForwardWalk : public Walk {
 public:
  ForwardWalk(const Outputs& xs, std::pair<int, int> ids, const FrameView& view) : Walk(ids), view_(view) {
    for (Output x : xs) Visit(x.node());
  }

  // Follows an edge; false if none is left.
  bool Step() {
    while (!(edge_ != EdgeRange::Iterator(nullptr))) {
      const Node* node = Next();
      if (node == nullptr) return false;
      edge_ = node->consumers().begin();
    }
    const Edge& edge = *edge_;
    ++edge_;
    if (!edge.IsControl() && !view_.IsEntry(edge.consumer) &&
        IsBackpropagatable(edge.source->output_dtype(edge.source_index))) {
      Visit(edge.consumer);
    }
    return true;
  }

 private:
  const FrameView& view_;
  EdgeRange::Iterator edge_{nullptr};
};

// Those of the ancestors that xs' ops reach through tensors that can have gradients. Looks at the ancestors' inputs
// only: an x may have many more consumers than these.
NodeSet ReachedAmong(const NodeSet& ancestors, const Outputs& xs, const FrameView& view) {
  struct Use {
    const Node* consumer;
    int next;  // of the same source, -1 if there is none
  };
  std::vector<Use> uses;
  absl::flat_hash_map<const Node*, int> first_use;
  for (const Node* node : ancestors) {
    if (view.IsEntry(node)) continue;
    for (int i = 0; i < node->num_inputs(); ++i) {
      Output input = node->input(i);
      if (!input || !IsBackpropagatable(input.dtype())) continue;
      auto [it, added] = first_use.try_emplace(input.node(), -1);
      uses.push_back({node, it->second});
      it->second = static_cast<int>(uses.size()) - 1;
    }
  }
  NodeSet reached;
  std::vector<const Node*> stack;
  auto visit = [&](const Node* node) {
    if (reached.insert(node).second) stack.push_back(node);
  };
  for (Output x : xs) {
    if (ancestors.contains(x.node())) visit(x.node());
  }
  while (!stack.empty()) {
    auto it = first_use.find(stack.back());
    stack.pop_back();
    if (it == first_use.end()) continue;
    for (int use = it->second; use >= 0; use = uses[use].next) visit(uses[use].consumer);
  }
  return reached;
}

// The ids of nodes that can be on a path from xs to ys. A version that equals the number of nodes says that nothing was
// done to the graph but to add them, each after its inputs: then paths keep to the ids between those of xs and ys.
std::pair<int, int> PathIds(const Outputs& ys, const Outputs& xs) {
  const Graph& graph = *ys[0].graph();
  if (graph.version() != static_cast<uint64_t>(graph.num_node_ids())) return {0, INT_MAX};
  int first_x = INT_MAX, last_y = 0;
  for (Output x : xs) first_x = std::min(first_x, x.node()->id());
  for (Output y : ys) last_y = std::max(last_y, y.node()->id());
  return {first_x, last_y};
}

// A set of ops that xs reach, with all of those among them that ys depend on.
NodeSet Reached(const Outputs& ys, const Outputs& xs, const FrameView& view) {
  const std::pair<int, int> ids = PathIds(ys, xs);
  BackwardWalk backward(ys, ids, view);
  ForwardWalk forward(xs, ids, view);
  while (true) {
    if (!forward.Step()) return std::move(forward.seen());
    if (!backward.Step()) return ReachedAmong(backward.seen(), xs, view);
  }
}

}  // namespace

bool IsBackpropagatable(DType dtype) {
  switch (BaseDType(dtype)) {
    case DType::kHalf:
    case DType::kBFloat16:
    case DType::kFloat:
    case DType::kDouble:
    case DType::kComplex64:
    case DType::kComplex128:
    case DType::kResource:
    case DType::kVariant:
      return true;
    default:
      return false;
  }
}

bool FrameView::IsEntry(const Node* op) const {
  if (control == nullptr || frame == kRootFrame || control->FrameOf(op) != frame) return false;
  return IsEnter(*op) || (IsMerge(*op) && !IsBranchMerge(*op));
}

const Node* FrameView::Unit(const Node* op) const {
  if (control == nullptr) return op;
  const int of = control->FrameOf(op);
  if (of == frame || !control->IsInside(of, frame)) return op;
  return control->frame(control->ChildOf(frame, of)).nodes.front();
}

BetweenOps::BetweenOps(const Outputs& ys, const Outputs& xs, const FrameView& view) : view_(view) {
  const NodeSet reached = Reached(ys, xs, view);
  auto visit = [&](Node* node) {
    if (reached.contains(node) && index_.try_emplace(node, static_cast<int>(ops_.size())).second) ops_.push_back(node);
  };
  for (Output y : ys) visit(y.node());
  for (size_t next = 0; next < ops_.size(); ++next) {
    const Node* node = ops_[next];
    if (view.IsEntry(node)) continue;
    for (int i = 0; i < node->num_inputs(); ++i) visit(node->input(i).node());
  }
  if (view.control != nullptr) {
    for (const Node* node : ops_) {
      units_.push_back(unit_index_.try_emplace(view.Unit(node), static_cast<int>(unit_index_.size())).first->second);
    }
  }
  pending_.resize(units_.empty() ? ops_.size() : unit_index_.size());
  for (size_t i = 0; i < ops_.size(); ++i) {
    first_input_.push_back(inputs_.size());
    const bool is_entry = view.IsEntry(ops_[i]);
    for (int k = 0; k < ops_[i]->num_inputs(); ++k) {
      const int input = IndexOf(ops_[i]->input(k).node());
      inputs_.push_back(input);
      if (input < 0 || is_entry) continue;
      if (units_.empty()) {
        ++pending_[input];
      } else if (units_[input] != units_[i]) {
        ++pending_[units_[input]];
      }
    }
  }
}

bool BetweenOps::HasControlFlow() const {
  return std::any_of(ops_.begin(), ops_.end(),
                     [](const Node* op) { return IsEnter(*op) || IsExit(*op) || IsMerge(*op) || IsSwitch(*op); });
}

int BetweenOps::pending(const Node* op) const {
  if (units_.empty()) {
    const int index = IndexOf(op);
    return index < 0 ? 0 : pending_[index];
  }
  auto it = unit_index_.find(view_.Unit(op));
  return it == unit_index_.end() ? 0 : pending_[it->second];
}

const Node* BetweenOps::FindWaiting() const {
  const Node* first = nullptr;
  for (const Node* op : ops_) {
    if (pending(op) > 0 && (first == nullptr || op->name() < first->name())) first = op;
  }
  return first;
}

}  // namespace nabla

#include "nabla/gradients/between.h"

#include <algorithm>
#include <utility>

namespace nabla {
namespace {

using NodeSet = absl::flat_hash_set<const Node*>;

// Everything that ys depend on through data edges, ys' ops included.
NodeSet Ancestors(const Outputs& ys, const FrameView& view) {
  NodeSet ancestors;
  std::vector<const Node*> stack;
  auto visit = [&](const Node* node) {
    if (node != nullptr && ancestors.insert(node).second) stack.push_back(node);
  };
  for (Output y : ys) visit(y.node());
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    if (view.IsEntry(node)) continue;
    for (int i = 0; i < node->num_inputs(); ++i) visit(node->input(i).node());
  }
  return ancestors;
}

// The ancestors that xs' ops reach through tensors that can have gradients.
NodeSet Reached(const Outputs& xs, const NodeSet& ancestors, const FrameView& view) {
  NodeSet reached;
  std::vector<const Node*> stack;
  auto visit = [&](const Node* node) {
    if (ancestors.contains(node) && reached.insert(node).second) stack.push_back(node);
  };
  for (Output x : xs) visit(x.node());
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    for (const Edge& edge : node->consumers()) {
      if (edge.IsControl() || view.IsEntry(edge.consumer)) continue;
      if (IsBackpropagatable(node->output_dtype(edge.source_index))) visit(edge.consumer);
    }
  }
  return reached;
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
  NodeSet reached = Reached(xs, Ancestors(ys, view), view);
  std::vector<const Node*> between;
  auto visit = [&](const Node* node) {
    if (reached.erase(node) > 0) {
      pending_.emplace(view.Unit(node), 0);
      between_.insert(node);
      between.push_back(node);
    }
  };
  for (Output y : ys) visit(y.node());
  for (size_t next = 0; next < between.size(); ++next) {
    const Node* node = between[next];
    if (view.IsEntry(node)) continue;
    for (int i = 0; i < node->num_inputs(); ++i) visit(node->input(i).node());
  }
  for (const Node* node : between) {
    if (view.IsEntry(node)) continue;
    for (int i = 0; i < node->num_inputs(); ++i) {
      const Node* input = node->input(i).node();
      if (between_.contains(input) && view.Unit(input) != view.Unit(node)) ++pending_[view.Unit(input)];
    }
  }
}

bool BetweenOps::HasControlFlow() const {
  return std::any_of(between_.begin(), between_.end(),
                     [](const Node* op) { return IsEnter(*op) || IsExit(*op) || IsMerge(*op) || IsSwitch(*op); });
}

const Node* BetweenOps::FindWaiting() const {
  const Node* first = nullptr;
  for (const auto& [node, pending] : pending_) {
    if (pending > 0 && (first == nullptr || node->name() < first->name())) first = node;
  }
  return first;
}

int BetweenOps::pending(const Node* op) const {
  auto it = pending_.find(view_.Unit(op));
  return it == pending_.end() ? 0 : it->second;
}

}  // namespace nabla

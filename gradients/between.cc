#include "nabla/gradients/between.h"

#include <utility>

namespace nabla {
namespace {

using NodeSet = absl::flat_hash_set<const Node*>;

// Everything that ys depend on through data edges, ys' ops included.
NodeSet Ancestors(const Outputs& ys) {
  NodeSet ancestors;
  std::vector<const Node*> stack;
  auto visit = [&](const Node* node) {
    if (node != nullptr && ancestors.insert(node).second) stack.push_back(node);
  };
  for (Output y : ys) visit(y.node());
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    for (int i = 0; i < node->num_inputs(); ++i) visit(node->input(i).node());
  }
  return ancestors;
}

// The ancestors that xs' ops reach through tensors that can have gradients.
NodeSet Reached(const Outputs& xs, const NodeSet& ancestors) {
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
      if (!edge.IsControl() && IsBackpropagatable(node->output_dtype(edge.source_index))) visit(edge.consumer);
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

BetweenOps::BetweenOps(const Outputs& ys, const Outputs& xs) {
  NodeSet reached = Reached(xs, Ancestors(ys));
  std::vector<const Node*> between;
  auto visit = [&](const Node* node) {
    if (reached.erase(node) > 0) {
      pending_.emplace(node, 0);
      between.push_back(node);
    }
  };
  for (Output y : ys) visit(y.node());
  for (size_t next = 0; next < between.size(); ++next) {
    const Node* node = between[next];
    for (int i = 0; i < node->num_inputs(); ++i) visit(node->input(i).node());
  }
  for (const Node* node : between) {
    for (int i = 0; i < node->num_inputs(); ++i) {
      auto it = pending_.find(node->input(i).node());
      if (it != pending_.end()) ++it->second;
    }
  }
}

const Node* BetweenOps::FindWaiting() const {
  const Node* first = nullptr;
  for (const auto& [node, pending] : pending_) {
    if (pending > 0 && (first == nullptr || node->name() < first->name())) first = node;
  }
  return first;
}

int BetweenOps::pending(const Node* op) const {
  auto it = pending_.find(op);
  return it == pending_.end() ? 0 : it->second;
}

}  // namespace nabla

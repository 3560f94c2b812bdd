// Walking a graph.
#include <functional>
#include <queue>
#include <vector>

#include "nabla/graph/graph.h"

namespace nabla {
namespace {

bool IsBackEdge(const Edge& edge) {
  if (edge.IsControl() || edge.source == nullptr) return false;
  const std::string& from = edge.source->op();
  const std::string& to = edge.consumer->op();
  return (from == "NextIteration" || from == "RefNextIteration") && (to == "Merge" || to == "RefMerge");
}

}  // namespace

int Graph::num_nodes() const {
  const auto lock = Lock();
  return num_live_;
}

int Graph::num_node_ids() const {
  const auto lock = Lock();
  return static_cast<int>(nodes_.size());
}

Node* Graph::node(int id) const {
  const auto lock = Lock();
  return nodes_[id].get();
}

void Graph::ForEachNode(const std::function<void(Node*)>& visit) const {
  const auto lock = Lock();
  for (size_t i = 0; i < nodes_.size(); ++i) {  // `visit` may make it longer
    if (nodes_[i] != nullptr) visit(nodes_[i].get());
  }
}

std::vector<Node*> Graph::Nodes() const {
  const auto lock = Lock();
  std::vector<Node*> nodes;
  nodes.reserve(num_live_);
  for (const std::unique_ptr<Node>& node : nodes_) {
    if (node != nullptr) nodes.push_back(node.get());
  }
  return nodes;
}

std::vector<Node*> Graph::TopologicalOrder() const {
  const auto lock = Lock();
  std::vector<Node*> order = Nodes();
  // Ids are in such an order already, unless a pass has redirected an edge to a later node.
  std::vector<int> pending(nodes_.size(), 0);
  bool ordered = true;
  const auto count = [&](const Edge& edge) {
    if (edge.source == nullptr || IsBackEdge(edge)) return;
    ++pending[edge.consumer->id()];
    if (edge.source->id() >= edge.consumer->id()) ordered = false;
  };
  for (const Node* node : order) {
    for (const Edge& edge : node->consumers()) count(edge);
  }
  if (ordered) return order;

  std::priority_queue<int, std::vector<int>, std::greater<int>> ready;
  for (const Node* node : order) {
    if (pending[node->id()] == 0) ready.push(node->id());
  }
  constexpr int kDone = -1;
  size_t next_cut = 0;
  const std::vector<Node*> by_id = std::move(order);
  order.clear();
  order.reserve(by_id.size());
  while (order.size() < by_id.size()) {
    int id;
    if (!ready.empty()) {
      id = ready.top();
      ready.pop();
      if (pending[id] == kDone) continue;
    } else {
      while (pending[by_id[next_cut]->id()] == kDone) ++next_cut;
      id = by_id[next_cut]->id();
    }
    pending[id] = kDone;
    order.push_back(nodes_[id].get());
    for (const Edge& edge : nodes_[id]->consumers()) {
      if (IsBackEdge(edge)) continue;
      int& waits = pending[edge.consumer->id()];
      if (waits != kDone && --waits == 0) ready.push(edge.consumer->id());
    }
  }
  return order;
}

}  // namespace nabla

#include "nabla/graph/passes/prune.h"

#include <vector>

#include "nabla/graph/control_flow.h"
#include "nabla/graph/status_macros.h"

namespace nabla {

absl::Status Prune(Compilation& compilation) {
  Graph* graph = compilation.graph;
  std::vector<bool> needed(graph->num_node_ids());
  std::vector<Node*> stack;
  auto need = [&](Node* node) {
    if (node == nullptr || needed[node->id()]) return;
    needed[node->id()] = true;
    stack.push_back(node);
  };
  for (const Output& fetch : compilation.fetches) need(fetch.node());
  for (Node* target : compilation.targets) need(target);
  const std::vector<Node*> order = graph->TopologicalOrder();
  for (Node* node : order) {
    if (node->spec().is_stateful()) need(node);
  }
  while (!stack.empty()) {
    Node* node = stack.back();
    stack.pop_back();
    for (int i = 0; i < node->num_inputs(); ++i) need(node->input(i).node());
    for (Node* control : node->control_inputs()) need(control);
  }
  // A loop that is not needed is opened first.
  for (Node* node : order) {
    if (needed[node->id()] || !IsMerge(*node)) continue;
    for (int i = 0; i < node->num_inputs(); ++i) {
      if (!IsNextIteration(*node->input(i).node())) continue;
      NABLA_RETURN_IF_ERROR(graph->SetBackEdge(node, i, Output()));
    }
  }
  // Backwards, so that a node goes after its consumers.
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    if (!needed[(*it)->id()]) NABLA_RETURN_IF_ERROR(graph->RemoveNode(*it));
  }
  return absl::OkStatus();
}

}  // namespace nabla

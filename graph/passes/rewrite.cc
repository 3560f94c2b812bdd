#include "nabla/graph/passes/rewrite.h"

#include <string>
#include <vector>

#include "nabla/graph/status_macros.h"

namespace nabla {

bool IsControlFlow(const Node& node) {
  static const auto* ops = new absl::flat_hash_set<std::string>{
      "Switch",  "RefSwitch", "Merge",         "RefMerge",         "Enter",    "RefEnter",      "Exit",
      "RefExit", "LoopCond",  "NextIteration", "RefNextIteration", "_SwitchN", "ControlTrigger"};
  return ops->contains(node.op());
}

bool IsFreeConstant(const Node& node) { return node.op() == "Const" && node.num_control_inputs() == 0; }

absl::Status ReplaceTensor(Compilation& compilation, Output from, Output to) {
  NABLA_RETURN_IF_ERROR(compilation.graph->ReplaceUses(from, to));
  for (Output& fetch : compilation.fetches) {
    if (fetch == from) fetch = to;
  }
  return absl::OkStatus();
}

void MoveControlConsumers(Graph* graph, Node* from, Node* to) {
  std::vector<Node*> consumers;
  for (const Edge& edge : from->consumers()) {
    if (edge.IsControl()) consumers.push_back(edge.consumer);
  }
  for (Node* consumer : consumers) {
    graph->RemoveControlEdge(from, consumer);
    if (to != nullptr) graph->AddControlEdge(to, consumer);
  }
}

absl::flat_hash_set<const Node*> TargetSet(const Compilation& compilation) {
  return absl::flat_hash_set<const Node*>(compilation.targets.begin(), compilation.targets.end());
}

}  // namespace nabla

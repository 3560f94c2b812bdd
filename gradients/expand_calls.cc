#include "nabla/gradients/expand_calls.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "nabla/gradients/between.h"
#include "nabla/gradients/custom_gradient.h"
#include "nabla/graph/function_library.h"
#include "nabla/graph/inline.h"

namespace nabla {

absl::Status ExpandCallsBetween(Graph* graph, const Outputs& ys, const Outputs& xs) {
  if (graph->functions().empty()) return absl::OkStatus();
  std::vector<Node*> calls;
  const BetweenOps between(ys, xs);
  for (Node* op : between.ops()) {
    if (IsCall(*op) && !HasCustomGradient(*op)) calls.push_back(op);
  }
  std::sort(calls.begin(), calls.end(), [](const Node* a, const Node* b) { return a->id() < b->id(); });
  return ExpandCalls(graph, std::move(calls), HasCustomGradient);
}

}  // namespace nabla

#include "nabla/gradients/report.h"

#include <deque>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "nabla/gradients/between.h"
#include "nabla/gradients/rule.h"

namespace nabla {
namespace {

// Data edges on the shortest way to ys, for every node that ys depend on.
absl::flat_hash_map<const Node*, int> DistancesTo(const Outputs& ys) {
  absl::flat_hash_map<const Node*, int> distances;
  std::deque<const Node*> queue;
  auto visit = [&](const Node* node, int distance) {
    if (node != nullptr && distances.emplace(node, distance).second) queue.push_back(node);
  };
  for (Output y : ys) visit(y.node(), 0);
  while (!queue.empty()) {
    const Node* node = queue.front();
    queue.pop_front();
    for (int i = 0; i < node->num_inputs(); ++i) visit(node->input(i).node(), distances[node] + 1);
  }
  return distances;
}

// What stops a gradient at the edge from `node` into `consumer`, or "".
std::string CutAt(const Edge& edge, const absl::flat_hash_set<const Node*>& stops) {
  Output tensor(edge.source, edge.source_index);
  if (!IsBackpropagatable(tensor.dtype())) {
    return absl::StrCat("'", tensor.name(), "' is ", DTypeName(tensor.dtype()), ", through which no gradient flows");
  }
  const Node* op = edge.consumer;
  if (stops.contains(op)) return absl::StrCat("'", op->name(), "' is among stop_gradients");
  const GradientRegistry::Entry* entry = GradientRegistry::Global().Find(op->op());
  if (entry == nullptr || entry->rule == nullptr) {
    return absl::StrCat("op ", op->op(), " (node '", op->name(), "') is not differentiable");
  }
  return "";
}

}  // namespace

std::string WhyNone(const Outputs& ys, Output x, const Outputs& stop_gradients) {
  auto lock = x.graph()->Lock();
  const absl::flat_hash_map<const Node*, int> distances = DistancesTo(ys);
  if (!distances.contains(x.node())) return absl::StrCat("no path leads from '", x.name(), "' to ys");
  absl::flat_hash_set<const Node*> stops, reached = {x.node()};
  for (Output stop : stop_gradients) stops.insert(stop.node());
  // Follow the paths towards ys as far as gradients come; the cut that is nearest to ys is the answer.
  std::vector<const Node*> stack = {x.node()};
  std::string nearest, last_passed;
  int nearest_distance = INT32_MAX, last_distance = INT32_MAX;
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    for (const Edge& edge : node->consumers()) {
      auto it = distances.find(edge.consumer);
      if (edge.IsControl() || it == distances.end()) continue;
      if (node == x.node() && edge.source_index != x.index()) continue;
      std::string cut = CutAt(edge, stops);
      if (cut.empty()) {
        if (reached.insert(edge.consumer).second) stack.push_back(edge.consumer);
        if (it->second < last_distance) {
          last_distance = it->second;
          last_passed = absl::StrCat("op ", edge.consumer->op(), " (node '", edge.consumer->name(),
                                     "') gives its input ", edge.input, " no gradient");
        }
      } else if (it->second < nearest_distance) {
        nearest_distance = it->second;
        nearest = std::move(cut);
      }
    }
  }
  if (!nearest.empty()) return nearest;
  if (!last_passed.empty()) return last_passed;
  return absl::StrCat("no path leads from '", x.name(), "' to ys");
}

}  // namespace nabla

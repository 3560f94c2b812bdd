#include "nabla/gradients/report.h"

#include <algorithm>
#include <memory>
#include <queue>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "nabla/gradients/apply_rule.h"
#include "nabla/gradients/between.h"
#include "nabla/graph/control_flow.h"
#include "nabla/ops/ops.h"

namespace nabla {
namespace {

using NodeSet = absl::flat_hash_set<const Node*>;

// What ys depend on through data edges of any type.
NodeSet Ancestors(const Outputs& ys) {
  NodeSet seen;
  std::vector<const Node*> stack;
  auto visit = [&](const Node* node) {
    if (node != nullptr && seen.insert(node).second) stack.push_back(node);
  };
  for (Output y : ys) visit(y.node());
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    for (int i = 0; i < node->num_inputs(); ++i) visit(node->input(i).node());
  }
  return seen;
}

// The consumers of the xs, and theirs, among the given nodes.
NodeSet DependingOn(const Outputs& xs, const NodeSet& among) {
  NodeSet seen;
  std::vector<const Node*> stack;
  auto visit = [&](const Edge& edge) {
    if (edge.IsControl() || !among.contains(edge.consumer)) return;
    if (seen.insert(edge.consumer).second) stack.push_back(edge.consumer);
  };
  for (Output x : xs) {
    for (const Edge& edge : x.node()->consumers()) {
      if (edge.source_index == x.index()) visit(edge);
    }
  }
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    for (const Edge& edge : node->consumers()) visit(edge);
  }
  return seen;
}

// The inputs to which the rule of `op` gives a gradient when the outputs in `reached` have one: asked of a copy of the
// op in a graph of its own. All of them if the copy cannot be made, as of a function's call.
std::vector<bool> InputsWithGradient(Node* op, const absl::flat_hash_set<Output>& reached) {
  std::vector<bool> result(op->num_inputs(), true);
  Graph scratch;
  Scope scope(&scratch);
  auto stand_in = [&](DType dtype, const Shape& shape) {
    return ops::Placeholder(scope, BaseDType(dtype), {.shape = shape});
  };
  NodeDesc desc;
  desc.name = "op";
  desc.op = op->op();
  desc.attrs = op->attrs();
  for (int i = 0; i < op->num_inputs(); ++i) {
    Node* source = op->input(i).node();
    if (source != nullptr && source->op() == "Const") {  // axes and the like, which rules look at
      desc.inputs.push_back(ops::Const(scope, source->GetAttr<Tensor>("value")));
    } else {
      desc.inputs.push_back(source == nullptr ? Output() : stand_in(op->input(i).dtype(), op->input(i).shape()));
    }
  }
  absl::StatusOr<Node*> copy = scratch.AddNode(std::move(desc));
  if (!copy.ok() || !scope.ok()) return result;
  Grads out_grads;
  for (int i = 0; i < op->num_outputs(); ++i) {
    const bool may = IsBackpropagatable(op->output_dtype(i)) && reached.contains(op->output(i));
    out_grads.push_back(may ? Gradient(stand_in(op->output_dtype(i), op->output_shape(i))) : Gradient());
  }
  absl::StatusOr<Grads> grads = ApplyGradientRule(scope, *copy, std::move(out_grads), {});
  if (!grads.ok()) return result;
  for (int i = 0; i < op->num_inputs(); ++i) result[i] = !(*grads)[i].none();
  return result;
}

// The engine itself takes gradients through these.
bool IsControlFlow(const Node& op) {
  return IsEnter(op) || IsExit(op) || IsMerge(op) || IsSwitch(op) || IsNextIteration(op);
}

bool HasRule(const Node& op) {
  const GradientRegistry::Entry* entry = FindGradientRule(op);
  return entry != nullptr && entry->rule != nullptr;
}

// Follows gradients from ys backwards, through ops that depend on xs, and notes where they are cut.
class Backtrace {
 public:
  Backtrace(const Outputs& ys, const Outputs& stop_gradients, const NodeSet& depending) : depending_(depending) {
    for (Output stop : stop_gradients) stops_.insert(stop.node());
    PlaceNodes(ys);
    for (Output y : ys) Reach(y);
    while (!queue_.empty()) {
      Node* const op = queue_.top().second;
      queue_.pop();
      places_[op].queued = false;
      Visit(op);
    }
    CollectCuts();
  }

  bool Reached(Output x) const { return reached_.contains(x); }
  // By distance to ys.
  const std::vector<GradientCut>& cuts() const { return cuts_; }

 private:
  struct Place {
    int order = -1;    // below that of all consumers, but for loops
    int distance = 0;  // from ys
    bool queued = false;
    bool visited = false;
  };

  void PlaceNodes(const Outputs& ys) {
    std::vector<Node*> queue;
    const auto find = [&](Node* node, int distance) {
      if (node != nullptr && depending_.contains(node) &&
          places_.try_emplace(node, Place{.distance = distance}).second) {
        queue.push_back(node);
      }
    };
    for (Output y : ys) find(y.node(), 0);
    for (size_t next = 0; next < queue.size(); ++next) {
      for (int i = 0; i < queue[next]->num_inputs(); ++i) {
        find(queue[next]->input(i).node(), places_[queue[next]].distance + 1);
      }
    }
    // Depth first, in which a node ends behind its inputs.
    constexpr int kOpen = -2;
    int ended = 0;
    std::vector<Node*> stack(queue.rbegin(), queue.rend());
    while (!stack.empty()) {
      Node* const node = stack.back();
      int& order = places_[node].order;
      if (order != -1) {
        stack.pop_back();
        if (order == kOpen) order = ended++;
        continue;
      }
      order = kOpen;
      for (int i = 0; i < node->num_inputs(); ++i) {
        Node* const source = node->input(i).node();
        const auto place = places_.find(source);
        if (place != places_.end() && place->second.order == -1) stack.push_back(source);
      }
    }
  }

  void Reach(Output tensor) {
    Node* const node = tensor.node();
    if (!reached_.insert(tensor).second || !depending_.contains(node)) return;
    Place& place = places_[node];
    if (!place.queued) queue_.emplace(place.order, node);
    place.queued = true;
    if (!place.visited) visited_.push_back(node);
    place.visited = true;
  }

  // Again when another output is reached, which only loops lead to.
  void Visit(Node* op) {
    const bool by_engine = IsControlFlow(*op);
    if (stops_.contains(op) || (!by_engine && !HasRule(*op))) return;
    std::vector<bool> has_gradient;
    for (int i = 0; i < op->num_inputs(); ++i) {
      Output input = op->input(i);
      if (!input || !IsBackpropagatable(input.dtype()) || reached_.contains(input)) continue;
      if (!by_engine && has_gradient.empty()) has_gradient = InputsWithGradient(op, reached_);
      if (by_engine || has_gradient[i]) Reach(input);
    }
  }

  void CollectCuts() {
    using Kind = GradientCut::Kind;
    std::stable_sort(visited_.begin(), visited_.end(),
                     [this](Node* a, Node* b) { return places_[a].distance < places_[b].distance; });
    for (Node* op : visited_) {
      const bool may_pass = IsControlFlow(*op) || HasRule(*op);
      for (int i = 0; i < op->num_inputs(); ++i) {
        Output input = op->input(i);
        if (!input) continue;
        if (stops_.contains(op)) {
          cuts_.push_back({Kind::kStopped, input, op, i});
        } else if (!may_pass) {
          cuts_.push_back({Kind::kOp, input, op, i});
        } else if (!IsBackpropagatable(input.dtype())) {
          cuts_.push_back({Kind::kDType, input, op, i});
        } else if (!reached_.contains(input)) {
          cuts_.push_back({Kind::kInput, input, op, i});
        }
      }
    }
  }

  const NodeSet& depending_;
  NodeSet stops_;
  std::vector<Node*> visited_;
  absl::flat_hash_set<Output> reached_;
  absl::flat_hash_map<const Node*, Place> places_;
  // Consumers before what they read: then it is known which of its outputs have a gradient.
  std::priority_queue<std::pair<int, Node*>> queue_;
  std::vector<GradientCut> cuts_;
};

}  // namespace

std::string GradientCut::ToString() const {
  switch (kind) {
    case Kind::kDType:
      return absl::StrCat("'", tensor.name(), "' is ", DTypeName(tensor.dtype()), ", through which no gradient flows");
    case Kind::kOp:
      return absl::StrCat("op ", consumer->op(), " (node '", consumer->name(), "') is not differentiable");
    case Kind::kInput:
      return absl::StrCat("op ", consumer->op(), " (node '", consumer->name(), "') gives its input ", input, ", '",
                          tensor.name(), "', no gradient");
    case Kind::kStopped:
      return absl::StrCat("'", consumer->name(), "' is among stop_gradients");
  }
  return "";
}

std::string GradientReport::Reason() const {
  if (has_gradient) return "the ops on its paths are differentiable";
  if (cuts.empty()) return absl::StrCat("no path leads from '", x.name(), "' to ys");
  constexpr size_t kShown = 4;
  std::vector<std::string> reasons;
  for (const GradientCut& cut : cuts) {
    std::string reason = cut.ToString();
    if (std::find(reasons.begin(), reasons.end(), reason) == reasons.end()) reasons.push_back(std::move(reason));
  }
  std::string text;
  for (size_t i = 0; i < reasons.size() && i < kShown; ++i) absl::StrAppend(&text, i == 0 ? "" : "; ", reasons[i]);
  if (reasons.size() > kShown) absl::StrAppend(&text, "; and ", reasons.size() - kShown, " more");
  return text;
}

std::string GradientReport::ToString() const {
  return has_gradient ? absl::StrCat(x.name(), " has a gradient")
                      : absl::StrCat(x.name(), " has no gradient: ", Reason());
}

std::vector<GradientReport> ExplainGradients(const Outputs& ys, const Outputs& xs, const Outputs& stop_gradients) {
  std::vector<GradientReport> reports;
  if (xs.empty()) return reports;
  auto lock = xs[0].graph()->Lock();
  const NodeSet ancestors = Ancestors(ys);
  const NodeSet depending = DependingOn(xs, ancestors);
  const Backtrace trace(ys, stop_gradients, depending);
  for (Output x : xs) {
    GradientReport report;
    report.x = x;
    report.has_gradient = trace.Reached(x);
    const NodeSet on_paths = DependingOn({x}, depending);
    report.connected = !on_paths.empty() || std::find(ys.begin(), ys.end(), x) != ys.end();
    if (!report.has_gradient) {
      for (const GradientCut& cut : trace.cuts()) {
        if (cut.tensor == x || on_paths.contains(cut.tensor.node())) report.cuts.push_back(cut);
      }
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace nabla

#include "nabla/runtime/subgraph.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "nabla/graph/control_flow.h"
#include "nabla/graph/passes/rewrite.h"
#include "nabla/graph/shape_inference.h"
#include "nabla/graph/status_macros.h"

namespace nabla {
namespace {

absl::Status FeedShape(ShapeContext& c) {
  c.SetOutput(0, c.attr<Shape>("shape"));
  return absl::OkStatus();
}

const OpSpec& FeedSpec() {
  static const OpRegistry* registry = [] {
    auto* specs = new OpRegistry;
    specs->Add(kFeedOp).Output("output: dtype").Attr("dtype: type").Attr("shape: shape").Stateful().Shape(FeedShape);
    return specs;
  }();
  return *registry->Find(kFeedOp);
}

absl::Status CheckNode(const Graph& graph, const Node* node, absl::string_view what) {
  if (node == nullptr) return absl::InvalidArgumentError(absl::StrCat("a ", what, " is none"));
  if (node->graph() != &graph) {
    return absl::InvalidArgumentError(
        absl::StrCat("the ", what, " '", node->name(), "' is not in the graph of this session"));
  }
  return absl::OkStatus();
}

absl::Status CheckTensor(const Graph& graph, Output output, absl::string_view what) {
  NABLA_RETURN_IF_ERROR(CheckNode(graph, output.node(), what));
  if (output.index() < 0 || output.index() >= output.node()->num_outputs()) {
    return absl::InvalidArgumentError(absl::StrCat("the ", what, " '", output.name(), "' does not exist: node '",
                                                   output.node()->name(), "' has ", output.node()->num_outputs(),
                                                   " outputs"));
  }
  return absl::OkStatus();
}

class Copier {
 public:
  Copier(const Graph& graph, const PlanRequest& request) : graph_(graph), request_(request) {}

  absl::Status Run(Graph* copy, Compilation* compilation) {
    copy_ = copy;
    NABLA_RETURN_IF_ERROR(CheckRequest());
    FindNeeded();
    NABLA_RETURN_IF_ERROR(AddFeeds(compilation));
    NABLA_RETURN_IF_ERROR(Order());
    for (Node* node : order_) NABLA_RETURN_IF_ERROR(CopyNode(*node));
    NABLA_RETURN_IF_ERROR(CloseLoops());
    for (const Output& fetch : request_.fetches) {
      compilation->fetches.push_back(fed_.contains(fetch) ? Output() : CopyOf(fetch));
    }
    for (Node* target : request_.targets) {
      if (needed_[target->id()]) compilation->targets.push_back(copies_[target->id()]);
    }
    return absl::OkStatus();
  }

 private:
  absl::Status CheckRequest() {
    for (size_t i = 0; i < request_.feeds.size(); ++i) {
      const Output& feed = request_.feeds[i];
      NABLA_RETURN_IF_ERROR(CheckTensor(graph_, feed, "feed"));
      if (!fed_.emplace(feed, static_cast<int>(i)).second) {
        return absl::InvalidArgumentError(absl::StrCat("the tensor '", feed.name(), "' is fed twice"));
      }
      fed_nodes_.insert(feed.node());
    }
    for (const Output& fetch : request_.fetches) NABLA_RETURN_IF_ERROR(CheckTensor(graph_, fetch, "fetch"));
    for (const Node* target : request_.targets) NABLA_RETURN_IF_ERROR(CheckNode(graph_, target, "target"));
    return absl::OkStatus();
  }

  void FindNeeded() {
    needed_.resize(graph_.num_node_ids());
    feed_needed_.resize(request_.feeds.size());
    std::vector<Node*> stack;
    auto need_node = [&](Node* node) {
      if (needed_[node->id()]) return;
      needed_[node->id()] = true;
      stack.push_back(node);
    };
    auto need = [&](Output output) {
      auto it = fed_.find(output);
      if (it != fed_.end()) {
        feed_needed_[it->second] = true;
      } else {
        need_node(output.node());
      }
    };
    for (const Output& fetch : request_.fetches) {
      if (!fed_.contains(fetch)) need(fetch);
    }
    for (Node* target : request_.targets) {
      if (!AllOutputsFed(target)) need_node(target);
    }
    while (!stack.empty()) {
      Node* node = stack.back();
      stack.pop_back();
      order_.push_back(node);
      for (int i = 0; i < node->num_inputs(); ++i) {
        if (node->input(i)) need(node->input(i));
      }
      for (Node* control : node->control_inputs()) {
        if (!fed_nodes_.contains(control)) need_node(control);
      }
    }
  }

  bool AllOutputsFed(Node* node) const {
    if (!fed_nodes_.contains(node)) return false;
    for (int i = 0; i < node->num_outputs(); ++i) {
      if (!fed_.contains(node->output(i))) return false;
    }
    return true;
  }

  absl::Status AddFeeds(Compilation* compilation) {
    copy_->AddLocalSpec(std::make_unique<OpSpec>(FeedSpec()));
    for (size_t i = 0; i < request_.feeds.size(); ++i) {
      const Output& feed = request_.feeds[i];
      // Another value for, say, a constant that shapes were inferred from makes the graph's static shapes wrong.
      if (feed.node()->op() != "Placeholder" && feed.node()->op() != "PlaceholderWithDefault") shapes_hold_ = false;
      Node* node = nullptr;
      if (feed_needed_[i]) {
        NodeDesc desc;
        desc.name = absl::StrCat("_feed_", i);
        while (graph_.FindNode(desc.name) != nullptr) desc.name += "_";
        desc.op = std::string(kFeedOp);
        desc.attrs.Set("dtype", feed.dtype());
        desc.attrs.Set("shape", feed.shape());
        NABLA_ASSIGN_OR_RETURN(node, copy_->AddNode(std::move(desc)));
      }
      feeds_.push_back(node);
      compilation->feeds.push_back(node == nullptr ? Output() : node->output(0));
    }
    return absl::OkStatus();
  }

  // Sorts order_: sources first, ties by id.
  absl::Status Order() {
    std::sort(order_.begin(), order_.end(), [](const Node* a, const Node* b) { return a->id() < b->id(); });
    copies_.resize(graph_.num_node_ids());
    std::vector<int> pending(graph_.num_node_ids());
    bool sorted = true;
    auto visit_sources = [&](Node* node, auto&& visit) {
      for (int i = 0; i < node->num_inputs(); ++i) {
        if (!fed_.contains(node->input(i)) && !ClosesLoop(*node, i)) visit(node->input(i).node());
      }
      for (Node* control : node->control_inputs()) {
        if (!fed_nodes_.contains(control)) visit(control);
      }
    };
    for (Node* node : order_) {
      for (int i = 0; i < node->num_inputs(); ++i) {
        if (!node->input(i)) {
          return NodeError(*node, absl::InvalidArgumentError(absl::StrCat("input ", i, " is not connected")));
        }
      }
      visit_sources(node, [&](Node* source) {
        ++pending[node->id()];
        sorted = sorted && source->id() < node->id();
      });
    }
    if (sorted) return absl::OkStatus();
    std::priority_queue<int, std::vector<int>, std::greater<int>> ready;
    absl::flat_hash_map<int, std::vector<Node*>> consumers;
    for (Node* node : order_) {
      if (pending[node->id()] == 0) ready.push(node->id());
      visit_sources(node, [&](Node* source) { consumers[source->id()].push_back(node); });
    }
    std::vector<Node*> sorted_order;
    while (!ready.empty()) {
      Node* node = graph_.node(ready.top());
      ready.pop();
      sorted_order.push_back(node);
      for (Node* consumer : consumers[node->id()]) {
        if (--pending[consumer->id()] == 0) ready.push(consumer->id());
      }
    }
    if (sorted_order.size() != order_.size()) {
      auto stuck = std::find_if(order_.begin(), order_.end(), [&](Node* node) { return pending[node->id()] > 0; });
      return NodeError(**stuck, absl::InvalidArgumentError("the node is part of a cycle, or waits for one"));
    }
    order_ = std::move(sorted_order);
    return absl::OkStatus();
  }

  // Whether input i comes back from the end of a loop's body.
  static bool ClosesLoop(const Node& node, int i) {
    return IsMerge(node) && node.input(i) && IsNextIteration(*node.input(i).node());
  }

  Output CopyOf(Output output) const {
    auto it = fed_.find(output);
    if (it != fed_.end()) return feeds_[it->second]->output(0);
    return copies_[output.node()->id()]->output(output.index());
  }

  absl::Status CopyNode(const Node& node) {
    if (node.op() == "Placeholder") {
      return NodeError(node, absl::InvalidArgumentError(absl::StrCat("needs to be fed a tensor of type ",
                                                                     DTypeName(node.output_dtype(0)), " and shape ",
                                                                     node.output_shape(0).ToString())));
    }
    if (node.spec().is_opaque()) {
      return NodeError(node, absl::UnimplementedError("this op is not known, so it cannot be run"));
    }
    NodeDesc desc;
    desc.name = node.name();
    desc.op = node.op();
    desc.attrs = node.attrs();
    desc.device = node.device();
    for (int i = 0; i < node.num_inputs(); ++i) {
      desc.inputs.push_back(ClosesLoop(node, i) ? Output() : CopyOf(node.input(i)));
    }
    for (Node* control : node.control_inputs()) {
      if (!fed_nodes_.contains(control)) desc.control_inputs.push_back(copies_[control->id()]);
    }
    NABLA_ASSIGN_OR_RETURN(Node * copy, copy_->AddNode(std::move(desc)));
    copies_[node.id()] = copy;
    if (shapes_hold_) {
      for (int i = 0; i < node.num_outputs(); ++i) {
        if (copy->output_shape(i) != node.output_shape(i)) {
          NABLA_RETURN_IF_ERROR(copy_->RefineShape(copy->output(i), node.output_shape(i)));
        }
      }
    }
    return absl::OkStatus();
  }

  // Connects the back edges, now that both of their ends are there, and refuses malformed frames.
  absl::Status CloseLoops() {
    bool control_flow = false;
    for (const Node* node : order_) {
      control_flow = control_flow || IsControlFlow(*node);
      for (int i = 0; i < node->num_inputs(); ++i) {
        if (!ClosesLoop(*node, i)) continue;
        NABLA_RETURN_IF_ERROR(copy_->SetBackEdge(copies_[node->id()], i, CopyOf(node->input(i))));
      }
    }
    if (!control_flow) return absl::OkStatus();
    const std::vector<std::string> problems = AnalyzeControlFlow(*copy_).problems;
    return problems.empty() ? absl::OkStatus() : absl::InvalidArgumentError(problems[0]);
  }

  const Graph& graph_;
  const PlanRequest& request_;
  Graph* copy_ = nullptr;
  absl::flat_hash_map<Output, int> fed_;
  absl::flat_hash_set<const Node*> fed_nodes_;
  std::vector<bool> needed_;  // by id, as are the others
  std::vector<bool> feed_needed_;
  std::vector<Node*> feeds_;
  std::vector<Node*> order_;
  std::vector<Node*> copies_;
  // What the user's graph knows of shapes (it may have been told more than can be inferred) is true of this run too.
  bool shapes_hold_ = true;
};

}  // namespace

absl::Status CopySubgraph(const Graph& graph, const PlanRequest& request, std::unique_ptr<Graph>* copy,
                          Compilation* compilation) {
  auto lock = graph.Lock();
  *copy = Graph::SharingFunctions(graph);
  compilation->graph = copy->get();
  return Copier(graph, request).Run(copy->get(), compilation);
}

}  // namespace nabla

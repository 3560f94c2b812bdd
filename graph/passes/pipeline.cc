#include "nabla/graph/passes/pipeline.h"

#include <algorithm>
#include <queue>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "nabla/graph/control_flow.h"
#include "nabla/graph/passes/accumulate.h"
#include "nabla/graph/passes/common_subexpressions.h"
#include "nabla/graph/passes/constant_fold.h"
#include "nabla/graph/passes/drop_identities.h"
#include "nabla/graph/passes/expand_calls.h"
#include "nabla/graph/passes/in_place.h"
#include "nabla/graph/passes/prune.h"
#include "nabla/graph/status_macros.h"

namespace nabla {
namespace {

struct Pass {
  absl::string_view name;
  absl::Status (*run)(Compilation& compilation);
  // What runs in any case, and may find errors that are the user's. Not worth mentioning where it has nothing to do.
  bool required = false;
};

constexpr Pass kPasses[] = {
    {"expand_calls", &ExpandCalls, /*required=*/true},
    {"drop_identities", &DropIdentities},
    {"constant_fold", &ConstantFold},
    {"common_subexpressions", &CommonSubexpressions},
    {"accumulate", &Accumulate},
    {"prune", &Prune},
    // Last: it speaks of the final order.
    {"in_place", &InPlace},
};

bool Contains(const std::vector<std::string>& names, absl::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

using NodeSet = absl::flat_hash_set<const Node*>;

absl::Status CheckTensor(const NodeSet& live, Output output, absl::string_view what) {
  if (!output) return absl::OkStatus();
  if (!live.contains(output.node()) || output.index() < 0 || output.index() >= output.node()->num_outputs()) {
    return absl::InternalError(absl::StrCat(what, " is not a tensor of the graph"));
  }
  return absl::OkStatus();
}

// The order in which one thread runs the nodes: as they were added, as far as edges allow. What passes have made, which
// has the highest ids, from `first_made` on, would hold up its readers: it comes as early as it can, as do constants.
std::vector<Node*> ExecutionOrder(const Graph& graph, int first_made) {
  // Later ones first; then by id.
  struct Entry {
    bool early;
    Node* node;
    bool operator<(const Entry& other) const { return early != other.early ? !early : node->id() > other.node->id(); }
  };
  std::priority_queue<Entry> ready;
  std::vector<int> pending(graph.num_node_ids());
  auto push = [&](Node* node) { ready.push({node->op() == "Const" || node->id() >= first_made, node}); };
  graph.ForEachNode([&](Node* node) {
    pending[node->id()] = node->num_inputs() + node->num_control_inputs();
    if (IsMerge(*node)) {
      for (int i = 0; i < node->num_inputs(); ++i)
        pending[node->id()] -= IsNextIteration(*node->input(i).node()) ? 1 : 0;
    }
    if (pending[node->id()] == 0) push(node);
  });
  std::vector<Node*> order;
  order.reserve(graph.num_nodes());
  while (!ready.empty()) {
    Node* node = ready.top().node;
    ready.pop();
    order.push_back(node);
    for (const Edge& edge : node->consumers()) {
      if (!IsBackEdge(edge) && --pending[edge.consumer->id()] == 0) push(edge.consumer);
    }
  }
  return order;
}

}  // namespace

std::vector<absl::string_view> PassNames() {
  std::vector<absl::string_view> names;
  for (const Pass& pass : kPasses) {
    if (!pass.required) names.push_back(pass.name);
  }
  return names;
}

absl::Status RunPasses(const PipelineOptions& options, Compilation& compilation, std::vector<PassRecord>* records) {
  const std::vector<absl::string_view> names = PassNames();
  for (const std::string& name : options.disabled) {
    if (name != "all" && std::find(names.begin(), names.end(), name) == names.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("no pass is called '", name, "'; passes are ", absl::StrJoin(names, ", "), " and all"));
    }
  }
  const bool none = Contains(options.disabled, "all");
  // What required passes make is the program itself, in another form.
  int first_made = compilation.graph->num_node_ids();
  if (options.dump) options.dump("input", DumpCompilation(compilation));
  for (const Pass& pass : kPasses) {
    if (!pass.required && (none || Contains(options.disabled, pass.name))) continue;
    PassRecord record;
    record.name = std::string(pass.name);
    record.start = absl::Now();
    record.nodes_before = compilation.graph->num_nodes();
    if (pass.run == &InPlace) compilation.order = ExecutionOrder(*compilation.graph, first_made);
    const uint64_t version = compilation.graph->version();
    absl::Status status = pass.run(compilation);
    if (pass.required) first_made = compilation.graph->num_node_ids();
    if (status.ok() && pass.required && compilation.graph->version() == version) continue;
    if (status.ok() && options.verify) status = VerifyCompilation(compilation);
    if (!status.ok() && pass.required) return status;
    if (!status.ok()) return absl::InternalError(absl::StrCat("pass ", pass.name, ": ", status.message()));
    record.nodes_after = compilation.graph->num_nodes();
    record.duration = absl::Now() - record.start;
    if (records != nullptr) records->push_back(std::move(record));
    if (options.dump) options.dump(pass.name, DumpCompilation(compilation));
  }
  if (compilation.order.empty()) compilation.order = ExecutionOrder(*compilation.graph, first_made);
  return absl::OkStatus();
}

std::string DumpCompilation(const Compilation& compilation) {
  std::string dump;
  for (const Node* node : compilation.graph->TopologicalOrder()) absl::StrAppend(&dump, node->ToString(), "\n");
  for (const Output& fetch : compilation.fetches)
    absl::StrAppend(&dump, "fetch ", fetch ? fetch.name() : "(fed)", "\n");
  return dump;
}

absl::Status VerifyCompilation(const Compilation& compilation) {
  const Graph& graph = *compilation.graph;
  const std::vector<Node*> order = graph.TopologicalOrder();
  if (static_cast<int>(order.size()) != graph.num_nodes()) return absl::InternalError("the graph has a cycle");
  const NodeSet live(order.begin(), order.end());
  std::vector<int> position(graph.num_node_ids(), -1);
  for (size_t i = 0; i < order.size(); ++i) position[order[i]->id()] = static_cast<int>(i);
  // An order of all nodes that no cycle allows breaks somewhere.
  auto check_order = [&](const Node* source, const Node* node) {
    if (position[source->id()] < position[node->id()]) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("node '", node->name(), "' waits for '", source->name(), "' in a cycle"));
  };
  for (const Node* node : order) {
    for (int i = 0; i < node->num_inputs(); ++i) {
      NABLA_RETURN_IF_ERROR(
          CheckTensor(live, node->input(i), absl::StrCat("input ", i, " of node '", node->name(), "'")));
      if (IsMerge(*node) && IsNextIteration(*node->input(i).node())) continue;
      NABLA_RETURN_IF_ERROR(check_order(node->input(i).node(), node));
    }
    for (const Node* control : node->control_inputs()) NABLA_RETURN_IF_ERROR(check_order(control, node));
  }
  for (const Output& fetch : compilation.fetches) NABLA_RETURN_IF_ERROR(CheckTensor(live, fetch, "a fetch"));
  for (const Output& feed : compilation.feeds) NABLA_RETURN_IF_ERROR(CheckTensor(live, feed, "a feed"));
  for (const Node* target : compilation.targets) {
    if (!live.contains(target)) return absl::InternalError("a target is not in the graph");
  }
  return absl::OkStatus();
}

}  // namespace nabla

#include "nabla/graph/verifier.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "nabla/graph/control_flow.h"
#include "nabla/graph/control_flow_problems.h"
#include "nabla/graph/error_text.h"
#include "nabla/graph/function_library.h"
#include "nabla/graph/similar_names.h"
#include "nabla/proto/function.pb.h"

namespace nabla {
namespace {

std::string Label(const Node& node) { return absl::StrCat("node '", node.name(), "' (op ", node.op(), ")"); }

class Verifier {
 public:
  Verifier(const Graph& graph, const VerifyOptions& options) : graph_(graph), options_(options) {}

  std::vector<std::string> Run() {
    const int num_ids = graph_.num_node_ids();
    int live = 0;
    for (int id = 0; id < num_ids; ++id) {
      const Node* node = graph_.node(id);
      if (node == nullptr) continue;
      ++live;
      CheckIdentity(*node, id);
      CheckInputs(*node);
    }
    if (live != graph_.num_nodes()) {
      Add(absl::StrCat("the graph counts ", graph_.num_nodes(), " nodes, but has ", live));
    }
    // What follows walks along edges, which must lead somewhere.
    if (edges_are_sound_) CheckConsumers();
    if (!edges_are_sound_) return std::move(problems_);
    for (int id = 0; id < num_ids && !Full(); ++id) {
      const Node* node = graph_.node(id);
      if (node == nullptr) continue;
      CheckSignature(*node);
      CheckReferences(*node);
    }
    CheckFunctions();
    if (CheckCycles()) {
      for (std::string& problem : FindControlFlowProblems(graph_)) Add(std::move(problem));
    }
    return std::move(problems_);
  }

 private:
  bool Full() const { return problems_.size() >= options_.max_problems; }
  void Add(std::string problem) {
    if (!Full()) problems_.push_back(std::move(problem));
  }
  void Add(const Node& node, absl::string_view problem) { Add(absl::StrCat(Label(node), ": ", problem)); }

  bool IsLive(const Node* node) const {
    return node != nullptr && node->graph() == &graph_ && node->id() >= 0 && node->id() < graph_.num_node_ids() &&
           graph_.node(node->id()) == node;
  }

  void CheckIdentity(const Node& node, int id) {
    if (node.id() != id) Add(node, absl::StrCat("has id ", node.id(), ", but stands at ", id));
    if (!IsValidNodeName(node.name())) Add(absl::StrCat("node ", Quoted(node.name()), " has a malformed name"));
    if (!names_.insert(node.name()).second) Add(node, "another node has the same name");
    if (graph_.FindNode(node.name()) != &node) Add(node, "is not found by its name");
  }

  void CheckInputs(const Node& node) {
    for (int i = 0; i < node.num_inputs(); ++i) {
      const Output input = node.input(i);
      if (!input) {
        Add(node, absl::StrCat("input ", i, " is not connected"));
      } else if (!IsLive(input.node())) {
        Add(node, absl::StrCat("input ", i, " comes from a node that is not in the graph"));
        edges_are_sound_ = false;
      } else {
        ++num_edges_;
        if (input.index() < 0 || input.index() >= input.node()->num_outputs()) {
          Add(node, absl::StrCat("input ", i, " is '", input.name(), "', but that node has ",
                                 input.node()->num_outputs(), " outputs"));
          edges_are_sound_ = false;
        }
      }
    }
    if (node.num_control_inputs() == 0) return;
    for (const Node* control : node.control_inputs()) {
      ++num_edges_;
      if (IsLive(control)) continue;
      Add(node, "a control input comes from a node that is not in the graph");
      edges_are_sound_ = false;
    }
  }

  // Every edge that its consumer has must be in its source's list, and no other.
  void CheckConsumers() {
    int64_t listed = 0;
    for (int id = 0; id < graph_.num_node_ids(); ++id) {
      const Node* node = graph_.node(id);
      if (node == nullptr) continue;
      for (const Edge& edge : node->consumers()) {
        const bool sound =
            edge.source == node && IsLive(edge.consumer) &&
            (edge.IsControl() || (edge.input < edge.consumer->num_inputs() &&
                                  edge.consumer->input(edge.input) == Output(edge.source, edge.source_index)));
        if (!sound || ++listed > num_edges_) {
          Add(*node, "its list of consumers does not agree with their inputs");
          edges_are_sound_ = false;
          return;
        }
      }
    }
    if (listed == num_edges_) return;
    Add(absl::StrCat("the nodes have ", num_edges_, " inputs, but are listed as consumers ", listed, " times"));
    edges_are_sound_ = false;
  }

  void CheckSignature(const Node& node) {
    const OpSpec& spec = node.spec();
    if (spec.is_opaque()) {
      if (!options_.allow_unsupported) {
        Add(node, absl::StrCat("unknown op", DidYouMean(graph_.registry().Similar(spec.name()))));
      }
      return;
    }
    AttrMap attrs = node.attrs();
    if (options_.allow_unsupported) {
      for (const auto& [name, value] : node.attrs()) {
        if (!absl::StartsWith(name, "_") && spec.FindAttr(name) == nullptr) attrs.Erase(name);
      }
    }
    DTypes inputs, outputs;
    absl::Status status = CompleteAttrs(spec, &attrs);
    if (status.ok()) status = ArgDTypes(spec.inputs(), attrs, &inputs);
    if (status.ok()) status = ArgDTypes(spec.outputs(), attrs, &outputs);
    if (!status.ok()) return Add(node, status.message());
    if (static_cast<int>(inputs.size()) != node.num_inputs()) {
      return Add(node, absl::StrCat("has ", node.num_inputs(), " inputs, expected ", inputs.size()));
    }
    for (int i = 0; i < node.num_inputs(); ++i) {
      if (!node.input(i)) continue;
      const DType given = node.input(i).dtype();
      if (given == inputs[i] || given == MakeRef(inputs[i]) || given == DType::kInvalid) continue;
      Add(node, absl::StrCat("input ", i, " is '", node.input(i).name(), "' of dtype ", DTypeName(given), ", expected ",
                             DTypeName(inputs[i])));
    }
    if (static_cast<int>(outputs.size()) != node.num_outputs()) {
      return Add(node, absl::StrCat("has ", node.num_outputs(), " outputs, expected ", outputs.size()));
    }
    for (int i = 0; i < node.num_outputs(); ++i) {
      if (node.output_dtype(i) == outputs[i]) continue;
      Add(node, absl::StrCat("output ", i, " has dtype ", DTypeName(node.output_dtype(i)), ", expected ",
                             DTypeName(outputs[i])));
    }
  }

  bool IsFunctionOrOp(absl::string_view name) const {
    return graph_.functions().Find(name) != nullptr || graph_.FindSpec(name) != nullptr;
  }

  void CheckReferences(const Node& node) {
    if (!IsValidDeviceName(node.device())) {
      Add(node, absl::StrCat("device ", Quoted(node.device()), ", expected the form '/device:CPU:0'"));
    }
    if (const auto* classes = node.attr<std::vector<std::string>>("_class")) {
      for (const absl::string_view text : *classes) {
        absl::string_view name = text;
        if (absl::ConsumePrefix(&name, "loc:@") && graph_.FindNode(name) == nullptr) {
          Add(node, absl::StrCat("is colocated with ", Quoted(name), ", which the graph does not have"));
        }
      }
    }
    const auto check = [&](const std::string& attr, const FunctionRef& function) {
      if (function.name.empty() || IsFunctionOrOp(function.name) || options_.allow_unsupported) return;
      Add(node, absl::StrCat("attr '", attr, "' names the function ", Quoted(function.name),
                             ", which the graph does not have"));
    };
    for (const auto& [attr, value] : node.attrs()) {
      if (const auto* function = value.As<FunctionRef>()) check(attr, *function);
      if (value.kind() == Attr::Kind::kListFunc) {
        for (const FunctionRef& function : *value.As<std::vector<FunctionRef>>()) check(attr, function);
      }
    }
  }

  // That the inputs of a body's nodes are there. (Signatures were checked when the functions were added.)
  void CheckFunctions() {
    for (const std::string& name : graph_.functions().Names()) {
      const FunctionDef& function = *graph_.functions().Find(name);
      absl::flat_hash_set<absl::string_view> known;
      for (const OpDef::ArgDef& arg : function.signature().input_arg()) known.insert(arg.name());
      for (const NodeDef& node : function.node_def()) known.insert(node.name());
      for (const NodeDef& node : function.node_def()) {
        const std::string where =
            absl::StrCat("function ", Quoted(name), ": node ", Quoted(node.name()), " (op ", Quoted(node.op()), "): ");
        if (!options_.allow_unsupported && !IsFunctionOrOp(node.op())) {
          Add(absl::StrCat(where, "unknown op", DidYouMean(graph_.registry().Similar(node.op()))));
        }
        for (const std::string& input : node.input()) {
          absl::string_view source = input;
          absl::ConsumePrefix(&source, "^");
          source = source.substr(0, source.find(':'));
          if (!known.contains(source)) {
            Add(absl::StrCat(where, "input ", Quoted(input), " is neither an argument nor of a node of the function"));
          }
        }
        if (Full()) return;
      }
    }
  }

  // Takes away nodes without inputs until only cycles, and what hangs on them, remain.
  bool CheckCycles() {
    std::vector<int> waiting(graph_.num_node_ids(), 0);
    std::vector<const Node*> ready;
    int left = 0;
    for (int id = 0; id < graph_.num_node_ids(); ++id) {
      const Node* node = graph_.node(id);
      if (node == nullptr) continue;
      ++left;
      for (const Edge& edge : node->consumers()) waiting[edge.consumer->id()] += IsBackEdge(edge) ? 0 : 1;
    }
    for (int id = 0; id < graph_.num_node_ids(); ++id) {
      if (graph_.node(id) != nullptr && waiting[id] == 0) ready.push_back(graph_.node(id));
    }
    while (!ready.empty()) {
      const Node* node = ready.back();
      ready.pop_back();
      --left;
      for (const Edge& edge : node->consumers()) {
        if (!IsBackEdge(edge) && --waiting[edge.consumer->id()] == 0) ready.push_back(edge.consumer);
      }
    }
    if (left == 0) return true;
    const Node* node = nullptr;
    for (int id = 0; node == nullptr; ++id) {
      if (graph_.node(id) != nullptr && waiting[id] > 0) node = graph_.node(id);
    }
    // Up from any of the rest leads into a cycle.
    std::vector<char> seen(graph_.num_node_ids(), 0);
    while (!seen[node->id()]) {
      seen[node->id()] = 1;
      const Node* up = nullptr;
      for (int i = 0; i < node->num_inputs() && up == nullptr; ++i) {
        const Node* source = node->input(i).node();
        if (source != nullptr && waiting[source->id()] > 0 && !(IsMerge(*node) && IsNextIteration(*source)))
          up = source;
      }
      if (up == nullptr) {
        for (const Node* source : node->control_inputs()) {
          if (waiting[source->id()] > 0) up = source;
        }
      }
      node = up;
    }
    Add(*node, "is part of a cycle, expected only cycles from a NextIteration to a Merge");
    return false;
  }

  const Graph& graph_;
  const VerifyOptions& options_;
  std::vector<std::string> problems_;
  absl::flat_hash_set<absl::string_view> names_;
  int64_t num_edges_ = 0;
  bool edges_are_sound_ = true;
};

}  // namespace

bool IsValidDeviceName(absl::string_view device) {
  if (device.empty()) return true;
  if (!absl::ConsumePrefix(&device, "/")) return false;
  for (const absl::string_view part : absl::StrSplit(device, '/')) {
    const size_t colon = part.find(':');
    if (colon == absl::string_view::npos || colon == 0 || colon + 1 == part.size()) return false;
    for (const char c : part) {
      if (c <= ' ' || c >= 0x7f) return false;
    }
  }
  return true;
}

std::vector<std::string> FindProblems(const Graph& graph, const VerifyOptions& options) {
  const auto lock = graph.Lock();
  return Verifier(graph, options).Run();
}

absl::Status VerifyGraph(const Graph& graph, const VerifyOptions& options) {
  const std::vector<std::string> problems = FindProblems(graph, options);
  if (problems.empty()) return absl::OkStatus();
  if (problems.size() == 1) return absl::InvalidArgumentError(problems[0]);
  return absl::InvalidArgumentError(absl::StrCat(problems[0], " (and ", problems.size() - 1, " more problems)"));
}

}  // namespace nabla

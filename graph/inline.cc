#include "nabla/graph/inline.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "nabla/graph/aliveness.h"
#include "nabla/graph/call_expander.h"
#include "nabla/graph/control_flow.h"
#include "nabla/graph/error_text.h"
#include "nabla/graph/function_body.h"
#include "nabla/graph/function_instance.h"
#include "nabla/graph/function_library.h"
#include "nabla/graph/status_macros.h"

namespace nabla {
namespace {

// Attrs that say of a call how what it computes is to be compiled, and so hold for its body.
constexpr const char* kBodyAttrs[] = {"_XlaCompile", "_XlaScope", "_XlaSeparateCompiledGradients"};
// Attrs that stay true of what a call becomes.
constexpr const char* kKeptAttrs[] = {"_class", "_output_shapes"};

// Of a call whose inputs take more to be alive, each is taken to take something else.
constexpr int kMaxConditions = 64;

std::string Label(const Node& node) { return absl::StrCat("node ", Quoted(node.name()), " (op ", node.op(), ")"); }

bool IsPartitionedCall(const Node& node) {
  return node.op() == "PartitionedCall" || node.op() == "StatefulPartitionedCall";
}

// What the functions that are called come to, before anything is done: they must end, and not be too large.
class CallGraph {
 public:
  explicit CallGraph(const FunctionLibrary& library) : library_(library) {}

  // The number of nodes that a call of `root` expands to, or kMaxExpandedNodes + 1 for more.
  absl::StatusOr<int64_t> ExpandedSize(const std::string& root) {
    NABLA_RETURN_IF_ERROR(Enter(root));
    // Functions may call each other very deeply, so the way down is a stack of our own.
    while (!path_.empty()) {
      Step& step = path_.back();
      if (step.next == step.body->callees.size()) {
        Function& function = functions_[step.name];
        function.size = step.size;
        function.open = false;
        const int64_t size = step.size;
        path_.pop_back();
        if (!path_.empty()) path_.back().size = Add(path_.back().size, size);
        continue;
      }
      const std::string& callee = step.body->callees[step.next++];
      const auto known = functions_.find(callee);
      if (known == functions_.end()) {
        if (library_.Find(callee) != nullptr) NABLA_RETURN_IF_ERROR(Enter(callee));
      } else if (known->second.open) {
        return Recursion(callee);
      } else {
        step.size = Add(step.size, known->second.size);
      }
    }
    return functions_[root].size;
  }

 private:
  struct Function {
    bool open = true;  // on the path
    int64_t size = 0;
  };
  struct Step {
    std::string name;
    const FunctionBody* body;
    size_t next;  // callee
    int64_t size;
  };

  static int64_t Add(int64_t a, int64_t b) { return std::min<int64_t>(a + b, kMaxExpandedNodes + 1); }

  absl::Status Enter(const std::string& name) {
    if (functions_.contains(name)) return absl::OkStatus();
    NABLA_ASSIGN_OR_RETURN(const FunctionBody* body, library_.Body(name));
    functions_.emplace(name, Function());
    path_.push_back({name, body, 0, Add(0, static_cast<int64_t>(body->nodes.size()))});
    return absl::OkStatus();
  }

  absl::Status Recursion(const std::string& name) const {
    const auto first = std::find_if(path_.begin(), path_.end(), [&](const Step& step) { return step.name == name; });
    constexpr ptrdiff_t kShown = 6;
    const ptrdiff_t length = path_.end() - first;
    std::string chain;
    for (auto step = first; step != path_.end(); ++step) {
      if (length > kShown && step - first == kShown) {
        absl::StrAppend(&chain, "... (", length - kShown, " more) -> ");
        break;
      }
      absl::StrAppend(&chain, Quoted(step->name), " -> ");
    }
    return absl::InvalidArgumentError(absl::StrCat("function ", Quoted(name), " calls itself: ", chain, Quoted(name)));
  }

  const FunctionLibrary& library_;
  absl::flat_hash_map<std::string, Function> functions_;
  std::vector<Step> path_;
};

// The functions that the node names, as its op or in attrs.
std::vector<std::string> FunctionsOf(const Node& node) {
  std::vector<std::string> names;
  if (node.graph()->functions().Find(node.op()) != nullptr) names.push_back(node.op());
  for (const auto& [name, value] : node.attrs()) {
    if (const auto* function = value.As<FunctionRef>()) names.push_back(function->name);
    if (value.kind() != Attr::Kind::kListFunc) continue;
    for (const FunctionRef& function : *value.As<std::vector<FunctionRef>>()) names.push_back(function.name);
  }
  return names;
}

absl::Status TooManyNodes() {
  return absl::ResourceExhaustedError(
      absl::StrCat("the calls of functions expand to more than ", kMaxExpandedNodes, " nodes"));
}

absl::Status TooManyEdges() {
  return absl::ResourceExhaustedError(
      absl::StrCat("the calls of functions expand to nodes with more than ", kMaxExpandedEdges, " inputs"));
}

absl::Status NamesTooLong() {
  return absl::ResourceExhaustedError(
      absl::StrCat("the calls of functions, which are inside each other, expand to nodes "
                   "with names of more than ",
                   kMaxExpandedNameBytes, " bytes"));
}

absl::Status CheckCalls(const Graph& graph, const std::vector<Node*>& calls) {
  CallGraph call_graph(graph.functions());
  int64_t total = 0;
  for (const Node* call : calls) {
    for (const std::string& function : FunctionsOf(*call)) {
      const absl::StatusOr<int64_t> size = call_graph.ExpandedSize(function);
      if (!size.ok()) return WithContext(Label(*call), size.status());
      total += *size;
      if (total <= kMaxExpandedNodes) continue;
      return absl::ResourceExhaustedError(
          absl::StrCat(Label(*call), ": the calls of functions expand to more than ", kMaxExpandedNodes, " nodes"));
    }
  }
  return absl::OkStatus();
}

bool IsControlFlow(const Node& node) { return IsSwitch(node) || IsEnter(node); }

bool HasControlFlow(const Graph& graph) {
  bool found = false;
  graph.ForEachNode([&found](Node* node) { found = found || IsControlFlow(*node); });
  return found;
}

// The call's name, or with a suffix if names below it are taken.
std::string FreePrefix(const Graph& graph, const std::string& name, const FunctionBody& body) {
  std::string prefix = name;
  for (int i = 1;; ++i) {
    const bool taken = std::any_of(body.nodes.begin(), body.nodes.end(), [&](const BodyNode& node) {
      return graph.FindNode(absl::StrCat(prefix, "/", node.name)) != nullptr;
    });
    if (!taken) return prefix;
    prefix = absl::StrCat(name, "_", i);
  }
}

absl::StatusOr<Node*> WaitForAll(Graph* graph, const std::string& name, std::vector<Node*> nodes) {
  NodeDesc desc;
  desc.name = graph->UniqueName(name);
  desc.op = "NoOp";
  desc.control_inputs = std::move(nodes);
  return graph->AddNode(std::move(desc));
}

// A node that has run when the argument is there, and is dead where it is: not a Switch, which runs on both sides.
// `added`, unless nullptr, gets it if it is new.
absl::StatusOr<Node*> Anchor(Graph* graph, const std::string& prefix, const Node& call, int input,
                             std::vector<Node*>* added) {
  const Output argument = call.input(input);
  if (!IsSwitch(*argument.node())) return argument.node();
  NodeDesc desc;
  desc.name = graph->UniqueName(absl::StrCat(prefix, "/entered"));
  desc.op = "Identity";
  desc.device = call.device();
  desc.inputs = {argument};
  desc.attrs.Set("T", BaseDType(argument.dtype()));
  NABLA_ASSIGN_OR_RETURN(Node * node, graph->AddNode(std::move(desc)));
  if (added != nullptr) added->push_back(node);
  return node;
}

// What a function with effects waits for: as a call does, for all arguments, even where an effect does not use them.
absl::Status WaitForArguments(Graph* graph, const std::string& prefix, const Node& call, std::vector<Node*>* waits,
                              std::vector<Node*>* added) {
  absl::flat_hash_set<const Node*> seen(waits->begin(), waits->end());
  for (int i = 0; i < call.num_inputs(); ++i) {
    const Node* source = call.input(i).node();
    if (source->num_inputs() == 0 && source->num_control_inputs() == 0) continue;  // there from the start
    NABLA_ASSIGN_OR_RETURN(Node * anchor, Anchor(graph, prefix, call, i, added));
    if (seen.insert(anchor).second) waits->push_back(anchor);
  }
  return absl::OkStatus();
}

// A call is dead if one of its inputs is. Lets the others wait for that one, so that nothing of the body runs then.
absl::Status LetInputsDieTogether(Graph* graph, Node* call, Aliveness* aliveness) {
  Aliveness::Conditions all = Aliveness::kAlways;
  std::vector<int> deciding;
  bool many = false;
  for (int i = 0; i < call->num_inputs(); ++i) {
    const Aliveness::Conditions conditions = aliveness->Of(call->input(i));
    if (!many && aliveness->Covers(all, conditions)) continue;
    if (!many) all = aliveness->Union(all, conditions);
    many = aliveness->NumConditions(all) > kMaxConditions;
    deciding.push_back(i);
  }
  std::vector<Node*> anchors;
  for (int i = 0; i < call->num_inputs(); ++i) {
    const Output input = call->input(i);
    if (!many && aliveness->Covers(aliveness->Of(input), all)) continue;
    if (anchors.empty()) {
      for (const int k : deciding) {
        NABLA_ASSIGN_OR_RETURN(Node * anchor, Anchor(graph, call->name(), *call, k, nullptr));
        anchors.push_back(anchor);
      }
      if (anchors.size() > 1) {
        NABLA_ASSIGN_OR_RETURN(Node * gate, WaitForAll(graph, absl::StrCat(call->name(), "/inputs"), anchors));
        anchors = {gate};
      }
    }
    NodeDesc desc;
    desc.name = graph->UniqueName(absl::StrCat(call->name(), "/input"));
    desc.op = "Identity";
    desc.device = call->device();
    desc.inputs = {input};
    desc.control_inputs = anchors;
    desc.attrs.Set("T", BaseDType(input.dtype()));
    NABLA_ASSIGN_OR_RETURN(Node * gated, graph->AddNode(std::move(desc)));
    NABLA_RETURN_IF_ERROR(graph->ReplaceInput(call, i, gated->output(0)));
  }
  return absl::OkStatus();
}

// `aliveness`: none if the graph has no loops or conditionals, whose nodes must depend on something in them.
absl::Status InlineCall(Graph* graph, Node* call, const FunctionRef& function, Aliveness* aliveness) {
  NABLA_ASSIGN_OR_RETURN(const FunctionBody* body, graph->functions().Body(function.name));
  if (body->MaxEdges(call->num_inputs()) > kMaxExpandedEdges) return TooManyEdges();
  InstanceOptions options;
  options.prefix = FreePrefix(*graph, call->name(), *body);
  options.device = call->device();
  options.control_inputs = call->control_inputs();
  for (const char* attr : kBodyAttrs) {
    if (const Attr* value = call->attrs().Find(attr)) options.attrs.Set(attr, *value);
  }
  std::vector<Node*> added;
  if (call->spec().is_stateful()) {
    NABLA_RETURN_IF_ERROR(WaitForArguments(graph, options.prefix, *call, &options.control_inputs, &added));
  }
  bool result_waits = call->num_outputs() == 0 || !options.control_inputs.empty();
  if (aliveness != nullptr && call->num_inputs() > 0) {
    // What has no inputs must run in the call's frame and branch all the same.
    Aliveness::Conditions conditions = Aliveness::kAlways;
    for (const Node* node : options.control_inputs) {
      if (aliveness->NumConditions(conditions) > kMaxConditions) break;
      conditions = aliveness->Union(conditions, aliveness->OfNode(node));
    }
    if (options.control_inputs.empty() || !aliveness->Covers(conditions, aliveness->Of(call->input(0)))) {
      NABLA_ASSIGN_OR_RETURN(Node * anchor, Anchor(graph, options.prefix, *call, 0, &added));
      options.control_inputs.push_back(anchor);
    }
  }
  if (options.control_inputs.size() > 1 && body->nodes.size() > 1) {
    // Spares an edge for each pair.
    NABLA_ASSIGN_OR_RETURN(Node * gate, WaitForAll(graph, absl::StrCat(options.prefix, "/control_inputs"),
                                                   std::move(options.control_inputs)));
    options.control_inputs = {gate};
    added.push_back(gate);
  }
  Outputs arguments;
  for (int i = 0; i < call->num_inputs(); ++i) arguments.push_back(call->input(i));
  absl::StatusOr<FunctionInstance> instance = InstantiateFunction(graph, function, arguments, options);
  if (!instance.ok()) {
    RemoveNodes(graph, added);
    return instance.status();
  }
  NodeDesc desc;
  if (result_waits) desc.control_inputs = options.control_inputs;
  desc.control_inputs.insert(desc.control_inputs.end(), instance->effects.begin(), instance->effects.end());
  desc.inputs = std::move(instance->results);
  for (const char* attr : kKeptAttrs) {
    if (const Attr* value = call->attrs().Find(attr)) desc.attrs.Set(attr, *value);
  }
  if (call->num_outputs() == 0) {
    desc.op = "NoOp";
  } else if (call->num_outputs() == 1) {
    desc.op = "Identity";
    desc.attrs.Set("T", call->output_dtype(0));
  } else {
    desc.op = "IdentityN";
    std::vector<DType> types;
    types.reserve(call->num_outputs());
    for (int i = 0; i < call->num_outputs(); ++i) types.push_back(call->output_dtype(i));
    desc.attrs.Set("T", std::move(types));
  }
  absl::Status status = graph->Morph(call, std::move(desc));
  if (!status.ok()) RemoveNodes(graph, instance->nodes);
  RemoveNodes(graph, added);  // those that are in use stay
  return status;
}

}  // namespace

absl::optional<FunctionRef> CalledFunction(const Node& node) {
  if (IsPartitionedCall(node)) {
    const auto* function = node.attr<FunctionRef>("f");
    if (function == nullptr) return absl::nullopt;
    return *function;
  }
  const FunctionLibrary& library = node.graph()->functions();
  if (library.FindSpec(node.op()) != &node.spec()) return absl::nullopt;
  return FunctionRef{node.op(), std::make_shared<AttrMap>(node.attrs())};
}

bool IsCall(const Node& node) {
  return CallExpanders::Global().Find(node.op()) != nullptr || CalledFunction(node).has_value();
}

std::vector<Node*> CallsIn(const Graph& graph) {
  std::vector<Node*> calls;
  if (graph.functions().empty()) return calls;
  graph.ForEachNode([&calls](Node* node) {
    if (IsCall(*node)) calls.push_back(node);
  });
  return calls;
}

absl::Status ExpandCalls(Graph* graph, std::vector<Node*> calls, const std::function<bool(const Node&)>& keep) {
  const auto lock = graph->Lock();
  NABLA_RETURN_IF_ERROR(CheckCalls(*graph, calls));
  bool among_control_flow = !calls.empty() && HasControlFlow(*graph);
  Aliveness aliveness;
  const int nodes_before = graph->num_nodes();
  int64_t name_bytes = 0, edges = 0;
  std::deque<Node*> waiting(calls.begin(), calls.end());
  while (!waiting.empty()) {
    Node* call = waiting.front();
    waiting.pop_front();
    if (!IsCall(*call) || (keep && keep(*call))) continue;
    const int first_new = graph->num_node_ids();
    const std::string label = Label(*call);
    const CallExpander expander = CallExpanders::Global().Find(call->op());
    absl::Status status;
    if (among_control_flow) status = LetInputsDieTogether(graph, call, &aliveness);
    if (status.ok() && expander != nullptr) {
      status = expander(graph, call, among_control_flow);
    } else if (status.ok()) {
      status = InlineCall(graph, call, *CalledFunction(*call), among_control_flow ? &aliveness : nullptr);
    }
    if (status.ok() && IsCall(*call)) status = absl::InternalError("is still a call after its expansion");
    if (status.ok() && graph->num_nodes() - nodes_before > kMaxExpandedNodes) status = TooManyNodes();
    if (!status.ok()) return WithContext(label, status);
    for (int id = first_new; id < graph->num_node_ids(); ++id) {
      Node* node = graph->node(id);
      if (node == nullptr) continue;
      name_bytes += static_cast<int64_t>(node->name().size());
      edges += node->num_inputs() + node->num_control_inputs();
      among_control_flow = among_control_flow || IsControlFlow(*node);
      if (IsCall(*node)) waiting.push_back(node);
    }
    if (edges > kMaxExpandedEdges) return WithContext(label, TooManyEdges());
    if (name_bytes > kMaxExpandedNameBytes) return WithContext(label, NamesTooLong());
  }
  return absl::OkStatus();
}

}  // namespace nabla

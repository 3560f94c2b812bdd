#include "nabla/graph/summary.h"

#include <algorithm>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "nabla/graph/control_flow.h"
#include "nabla/graph/error_text.h"
#include "nabla/graph/function_library.h"
#include "nabla/proto/function.pb.h"

namespace nabla {
namespace {

bool IsPlaceholder(const std::string& op) {
  return op == "Placeholder" || op == "PlaceholderWithDefault" || op == "PlaceholderV2";
}

bool IsVariable(const std::string& op) { return op == "VarHandleOp" || op == "VariableV2" || op == "Variable"; }

std::string TensorName(const Node& node, int index) {
  return index == 0 ? node.name() : absl::StrCat(node.name(), ":", index);
}

// What the attrs of a placeholder or variable say, for it may be of an op that is not known.
GraphSummary::TensorInfo DeclaredTensor(Node& node) {
  GraphSummary::TensorInfo info;
  info.name = node.name();
  info.op = node.op();
  if (node.num_outputs() > 0) {
    info.dtype = node.output_dtype(0);
    info.shape = node.output_shape(0);
  }
  const bool is_handle = node.op() == "VarHandleOp";
  const DType* dtype = node.attr<DType>("dtype");
  if (dtype != nullptr && (is_handle || info.dtype == DType::kInvalid)) info.dtype = *dtype;
  const Shape* shape = node.attr<Shape>("shape");
  if (shape != nullptr && (is_handle || !info.shape.has_rank())) info.shape = *shape;
  return info;
}

int64_t KnownElements(const Shape& shape) { return std::max<int64_t>(0, shape.num_elements()); }

std::string ArgText(const OpDef::ArgDef& arg) {
  std::string type = !arg.type_attr().empty()        ? arg.type_attr()
                     : !arg.type_list_attr().empty() ? arg.type_list_attr()
                                                     : std::string(DTypeName(static_cast<DType>(arg.type())));
  if (!arg.number_attr().empty()) type = absl::StrCat(arg.number_attr(), " * ", type);
  return absl::StrCat(OneLine(arg.name()), ": ", OneLine(type));
}

std::string SignatureText(const OpDef& signature) {
  std::string text = absl::StrCat(OneLine(signature.name()), "(");
  const char* separator = "";
  for (const OpDef::ArgDef& arg : signature.input_arg()) {
    absl::StrAppend(&text, separator, ArgText(arg));
    separator = ", ";
  }
  absl::StrAppend(&text, ") -> (");
  separator = "";
  for (const OpDef::ArgDef& arg : signature.output_arg()) {
    absl::StrAppend(&text, separator, ArgText(arg));
    separator = ", ";
  }
  return text + ")";
}

class Summarizer {
 public:
  Summarizer(const Graph& graph, const SummaryOptions& options) : graph_(graph), options_(options) {}

  GraphSummary Run() {
    summary_.num_nodes = graph_.num_nodes();
    summary_.versions = graph_.versions();
    graph_.ForEachNode([this](Node* node) { Visit(*node); });
    for (const auto& [op, use] : ops_) summary_.ops.emplace_back(op, use.count);
    std::stable_sort(summary_.ops.begin(), summary_.ops.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    AddControlFlow();
    AddFunctions();
    AddUnsupported();
    return std::move(summary_);
  }

 private:
  struct Use {
    int count = 0;
    int first_id = 0;
    std::string first;
  };

  void Visit(Node& node) {
    const std::string& op = node.op();
    Use& use = ops_[op];
    if (use.count++ == 0) {
      use.first_id = node.id();
      use.first = node.name();
    }
    summary_.num_edges += node.num_inputs() + node.num_control_inputs();
    if (op == "Const") {
      VisitConstant(node);
    } else if (IsVariable(op)) {
      VisitVariable(node);
    } else if (IsPlaceholder(op)) {
      summary_.inputs.push_back(DeclaredTensor(node));
    } else {
      VisitUses(node);
    }
    if (node.spec().is_opaque()) {
      Use& opaque_use = unsupported_ops_[op];
      if (opaque_use.count++ == 0) {
        opaque_use.first_id = node.id();
        opaque_use.first = node.name();
      }
      // Of an op that is known, a node that contradicts its spec.
      if (graph_.registry().Find(op) != nullptr) contradictions_.emplace(op, node.spec().doc());
      return;
    }
    for (const auto& [name, value] : node.attrs()) {
      if (absl::StartsWith(name, "_") || node.spec().FindAttr(name) != nullptr) continue;
      Use& attr_use = unsupported_attrs_[std::make_pair(op, name)];
      if (attr_use.count++ == 0) {
        attr_use.first_id = node.id();
        attr_use.first = node.name();
      }
    }
  }

  void VisitConstant(const Node& node) {
    const Tensor* value = node.attr<Tensor>("value");
    if (value == nullptr) return;
    ++summary_.num_constants;
    summary_.constant_bytes += static_cast<int64_t>(value->num_bytes());
    if (!IsFloating(value->dtype()) && !IsComplex(value->dtype()) && !IsQuantized(value->dtype())) return;
    if (value->num_elements() < options_.min_parameter_elements) return;
    summary_.parameters.push_back({node.name(), false, value->dtype(), value->shape(), value->num_elements(),
                                   static_cast<int64_t>(value->num_bytes())});
  }

  void VisitVariable(Node& node) {
    const GraphSummary::TensorInfo info = DeclaredTensor(node);
    const DType dtype = BaseDType(info.dtype);
    const int64_t elements = KnownElements(info.shape);
    int64_t bytes = 0;
    if (!CheckedMultiply(elements, static_cast<int64_t>(DTypeSize(dtype)), &bytes)) bytes = INT64_MAX;
    summary_.parameters.push_back({node.name(), true, dtype, info.shape, elements, bytes});
  }

  void VisitUses(Node& node) {
    std::vector<bool> used(node.num_outputs(), false);
    bool waited_for = false;
    for (const Edge& edge : node.consumers()) {
      if (edge.IsControl()) {
        waited_for = true;
      } else {
        used[edge.source_index] = true;
      }
    }
    if (node.num_outputs() == 0) {
      // Of an op that is not known, outputs are known only if something consumes them.
      if (waited_for) return;
      if (node.spec().is_opaque()) {
        summary_.outputs.push_back({node.name(), node.op(), DType::kInvalid, Shape()});
      } else {
        summary_.targets.push_back(node.name());
      }
      return;
    }
    if (std::find(used.begin(), used.end(), true) != used.end()) return;
    for (int i = 0; i < node.num_outputs(); ++i) {
      summary_.outputs.push_back({TensorName(node, i), node.op(), node.output_dtype(i), node.output_shape(i)});
    }
  }

  void AddControlFlow() {
    ControlFlow flow = AnalyzeControlFlow(graph_);
    for (const Frame& frame : flow.frames) {
      GraphSummary::FrameInfo info;
      info.name = frame.name;
      if (frame.parent != kRootFrame) info.parent = flow.frames[frame.parent].name;
      if (frame.loop_cond != nullptr && frame.loop_cond->num_inputs() > 0 && frame.loop_cond->input(0)) {
        const Output condition = frame.loop_cond->input(0);
        info.trip_condition = TensorName(*condition.node(), condition.index());
      }
      for (const LoopVariable& variable : frame.variables) {
        GraphSummary::TensorInfo tensor = {variable.enter->name(), variable.enter->op(), DType::kInvalid, Shape()};
        if (variable.merge->num_outputs() > 0) {
          tensor.dtype = variable.merge->output_dtype(0);
          tensor.shape = variable.merge->output_shape(0);
        }
        info.variables.push_back(std::move(tensor));
      }
      for (const Node* enter : frame.invariants) {
        GraphSummary::TensorInfo tensor = {enter->name(), enter->op(), DType::kInvalid, Shape()};
        if (enter->num_outputs() > 0) {
          tensor.dtype = enter->output_dtype(0);
          tensor.shape = enter->output_shape(0);
        }
        info.invariants.push_back(std::move(tensor));
      }
      info.num_body_nodes = frame.num_body_nodes;
      info.parallel_iterations = frame.parallel_iterations;
      summary_.frames.push_back(std::move(info));
    }
    for (const Conditional& conditional : flow.conditionals) {
      summary_.conditionals.push_back({TensorName(*conditional.predicate.node(), conditional.predicate.index()),
                                       static_cast<int>(conditional.switches.size())});
    }
    summary_.control_flow_problems = std::move(flow.problems);
  }

  void AddFunctions() {
    for (const std::string& name : graph_.functions().Names()) {
      const FunctionDef& def = *graph_.functions().Find(name);
      summary_.functions.push_back(
          {SignatureText(def.signature()), def.node_def_size(), graph_.functions().FindGradient(name)});
      for (const NodeDef& node : def.node_def()) {
        const OpSpec* spec = graph_.FindSpec(node.op());
        if ((spec != nullptr && !spec->is_opaque()) || graph_.functions().Find(node.op()) != nullptr) continue;
        Use& use = unsupported_in_functions_[node.op()];
        if (use.count++ == 0) use.first = name;
      }
    }
  }

  void AddUnsupported() {
    std::vector<std::pair<int, std::string>> found;  // in the order of the nodes
    for (const auto& [op, use] : unsupported_ops_) {
      std::string text = use.count == 1 ? absl::StrCat("op ", op, " (node ", use.first, ")")
                                        : absl::StrCat("op ", op, " (", use.count, " nodes, first: ", use.first, ")");
      if (const auto why = contradictions_.find(op); why != contradictions_.end()) {
        absl::StrAppend(&text, ": ", OneLine(why->second));
      }
      found.emplace_back(use.first_id, std::move(text));
    }
    for (const auto& [key, use] : unsupported_attrs_) {
      found.emplace_back(
          use.first_id,
          absl::StrCat("attr ", OneLine(key.second), " of op ", key.first, " (",
                       use.count == 1 ? "node " : absl::StrCat(use.count, " nodes, first: "), use.first, ")"));
    }
    std::sort(found.begin(), found.end());
    for (auto& [id, text] : found) summary_.unsupported.push_back(std::move(text));
    for (const auto& [op, use] : unsupported_in_functions_) {
      summary_.unsupported.push_back(
          absl::StrCat("op ", OneLine(op), " (", use.count, " in functions, first: ", OneLine(use.first), ")"));
    }
  }

  const Graph& graph_;
  const SummaryOptions& options_;
  GraphSummary summary_;
  std::map<std::string, Use> ops_;
  std::map<std::string, Use> unsupported_ops_;
  std::map<std::string, std::string> contradictions_;  // op -> what is wrong with its first such node
  std::map<std::pair<std::string, std::string>, Use> unsupported_attrs_;  // (op, attr)
  std::map<std::string, Use> unsupported_in_functions_;
};

int64_t SaturatingAdd(int64_t a, int64_t b) { return a > INT64_MAX - b ? INT64_MAX : a + b; }

}  // namespace

int64_t GraphSummary::parameter_elements() const {
  int64_t sum = 0;
  for (const Parameter& parameter : parameters) sum = SaturatingAdd(sum, parameter.elements);
  return sum;
}

int64_t GraphSummary::parameter_bytes() const {
  int64_t sum = 0;
  for (const Parameter& parameter : parameters) sum = SaturatingAdd(sum, parameter.bytes);
  return sum;
}

GraphSummary Summarize(const Graph& graph, const SummaryOptions& options) {
  const auto lock = graph.Lock();
  return Summarizer(graph, options).Run();
}

}  // namespace nabla

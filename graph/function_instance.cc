#include "nabla/graph/function_instance.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "nabla/graph/control_flow.h"
#include "nabla/graph/error_text.h"
#include "nabla/graph/function_body.h"
#include "nabla/graph/function_library.h"
#include "nabla/graph/loop_shapes.h"
#include "nabla/graph/status_macros.h"

namespace nabla {
namespace {

absl::StatusOr<Attr> ReplacePlaceholders(const Attr& attr, const AttrMap& values);

absl::StatusOr<FunctionRef> ReplacePlaceholders(const FunctionRef& function, const AttrMap& values) {
  if (function.attrs == nullptr) return function;
  auto attrs = std::make_shared<AttrMap>();
  for (const auto& [name, value] : *function.attrs) {
    NABLA_ASSIGN_OR_RETURN(Attr replaced, ReplacePlaceholders(value, values));
    attrs->Set(name, std::move(replaced));
  }
  return FunctionRef{function.name, std::move(attrs)};
}

// The attr with the function's attrs in the place of what refers to them. It nests no deeper than AttrFromProto allows.
absl::StatusOr<Attr> ReplacePlaceholders(const Attr& attr, const AttrMap& values) {
  if (const auto* placeholder = attr.As<AttrPlaceholder>()) {
    const Attr* value = values.Find(placeholder->name);
    if (value != nullptr) return *value;
    return absl::InvalidArgumentError(
        absl::StrCat("stands for the function's attr ", Quoted(placeholder->name), ", which the call does not give"));
  }
  if (const auto* function = attr.As<FunctionRef>()) {
    NABLA_ASSIGN_OR_RETURN(FunctionRef replaced, ReplacePlaceholders(*function, values));
    return Attr(std::move(replaced));
  }
  if (attr.kind() == Attr::Kind::kListFunc) {
    std::vector<FunctionRef> functions;
    for (const FunctionRef& function : *attr.As<std::vector<FunctionRef>>()) {
      NABLA_ASSIGN_OR_RETURN(FunctionRef replaced, ReplacePlaceholders(function, values));
      functions.push_back(std::move(replaced));
    }
    return Attr(std::move(functions));
  }
  return attr;
}

class Instantiation {
 public:
  Instantiation(Graph* graph, const FunctionBody& body, const Outputs& arguments, const InstanceOptions& options)
      : graph_(graph), body_(body), arguments_(arguments), options_(options) {
    for (const BodyNode& node : body.nodes) names_.insert(node.name);
  }

  absl::StatusOr<FunctionInstance> Run(const FunctionRef& function) {
    absl::Status status = Add(function);
    if (status.ok()) return std::move(instance_);
    RemoveNodes(graph_, instance_.nodes);
    return WithContext(absl::StrCat("function ", Quoted(function.name)), status);
  }

 private:
  struct BackEdge {
    Node* merge;
    int input;
    const BodyTensor* source;
  };

  absl::Status Add(const FunctionRef& function) {
    NABLA_RETURN_IF_ERROR(Bind(function));
    for (const BodyNode& node : body_.nodes) {
      const absl::Status status = AddNode(node);
      if (!status.ok()) return WithContext(absl::StrCat("node ", Quoted(node.name)), status);
    }
    for (const BackEdge& edge : back_edges_) {
      Outputs source;
      NABLA_RETURN_IF_ERROR(Resolve(*edge.source, &source));
      if (source.size() != 1) return absl::InvalidArgumentError("a back edge is a list of tensors");
      NABLA_RETURN_IF_ERROR(graph_->SetBackEdge(edge.merge, edge.input, source[0]));
    }
    if (!back_edges_.empty()) InferLoopShapes(graph_, instance_.nodes[0]->id());
    DTypes expected;
    NABLA_RETURN_IF_ERROR(ArgDTypes(body_.spec->outputs(), attrs_, &expected));
    for (const BodyTensor& result : body_.results) NABLA_RETURN_IF_ERROR(Resolve(result, &instance_.results));
    bool fits = expected.size() == instance_.results.size();
    for (size_t i = 0; i < expected.size() && fits; ++i) {
      fits = BaseDType(instance_.results[i].dtype()) == BaseDType(expected[i]);
    }
    if (!fits) return absl::InvalidArgumentError("the types of the results are not those of the signature");
    if (body_.has_effects) {
      for (const int effect : body_.effects) instance_.effects.push_back(instance_.nodes[effect]);
    } else {
      std::copy_if(instance_.nodes.begin(), instance_.nodes.end(), std::back_inserter(instance_.effects),
                   [](const Node* node) { return node->spec().is_stateful(); });
    }
    return absl::OkStatus();
  }

  // The attrs of this call, and what each formal argument is.
  absl::Status Bind(const FunctionRef& function) {
    if (function.attrs != nullptr) {
      for (const auto& [name, value] : *function.attrs) {
        if (body_.spec->FindAttr(name) != nullptr) attrs_.Set(name, value);
      }
    }
    NABLA_RETURN_IF_ERROR(CompleteAttrs(*body_.spec, &attrs_));
    size_t total = 0;
    for (const ArgSpec& formal : body_.spec->inputs()) {
      DTypes dtypes;
      NABLA_RETURN_IF_ERROR(ArgDTypes({formal}, attrs_, &dtypes));
      argument_begin_.push_back(total);
      for (size_t i = 0; i < dtypes.size() && total + i < arguments_.size(); ++i) {
        const Output& argument = arguments_[total + i];
        if (!argument) return absl::InvalidArgumentError(absl::StrCat("input ", Quoted(formal.name), " is none"));
        if (BaseDType(argument.dtype()) == BaseDType(dtypes[i]) || argument.dtype() == DType::kInvalid) continue;
        return absl::InvalidArgumentError(absl::StrCat("input ", Quoted(formal.name), " is '", argument.name(),
                                                       "' of dtype ", DTypeName(argument.dtype()), ", expected ",
                                                       DTypeName(dtypes[i])));
      }
      total += dtypes.size();
    }
    argument_begin_.push_back(total);
    if (total == arguments_.size()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("is called with ", arguments_.size(), " inputs, expected ", total));
  }

  // Appends the tensors that `tensor` is.
  absl::Status Resolve(const BodyTensor& tensor, Outputs* outputs) const {
    size_t begin = 0, end = 0;
    Node* node = nullptr;
    if (tensor.is_argument) {
      begin = argument_begin_[tensor.at];
      end = argument_begin_[tensor.at + 1];
    } else {
      node = instance_.nodes[tensor.at];
      NABLA_RETURN_IF_ERROR(FindOutputs(*node, tensor.output, &begin, &end));
    }
    if (tensor.index != BodyTensor::kAll) {
      if (static_cast<size_t>(tensor.index) >= end - begin) {
        return absl::InvalidArgumentError(absl::StrCat(
            "there is no tensor ", tensor.index, " of ",
            node == nullptr
                ? absl::StrCat("argument ", Quoted(body_.spec->inputs()[tensor.at].name))
                : absl::StrCat("output ", Quoted(tensor.output), " of node ", Quoted(body_.nodes[tensor.at].name)),
            ", only ", end - begin));
      }
      begin += tensor.index;
      end = begin + 1;
    }
    for (size_t i = begin; i < end; ++i) {
      outputs->push_back(node == nullptr ? arguments_[i] : node->output(static_cast<int>(i)));
    }
    return absl::OkStatus();
  }

  // Which of the node's outputs are the formal output `name`.
  absl::Status FindOutputs(const Node& node, const std::string& name, size_t* begin, size_t* end) const {
    const std::vector<ArgSpec>& formals = node.spec().outputs();
    *begin = 0;
    for (const ArgSpec& formal : formals) {
      size_t count = 1;
      if (formal.IsList()) {
        DTypes dtypes;
        NABLA_RETURN_IF_ERROR(ArgDTypes({formal}, node.attrs(), &dtypes));
        count = dtypes.size();
      }
      *end = *begin + count;
      if (formal.name == name) return absl::OkStatus();
      *begin = *end;
    }
    std::string known;
    for (const ArgSpec& formal : formals) absl::StrAppend(&known, known.empty() ? "; it has " : ", ", formal.name);
    return absl::InvalidArgumentError(
        absl::StrCat("node ", Quoted(node.name()), " (op ", node.op(), ") has no output ", Quoted(name), known));
  }

  // What names other nodes or must be one's own in a graph in which a function is instantiated several times.
  void RenameAttrs(const BodyNode& node, const OpSpec* spec, AttrMap* attrs) const {
    if (const auto* classes = attrs->Find<std::vector<std::string>>("_class")) {
      std::vector<std::string> renamed;
      for (const absl::string_view text : *classes) {
        absl::string_view name = text;
        if (!absl::ConsumePrefix(&name, "loc:@")) {
          renamed.emplace_back(text);
        } else if (names_.contains(name)) {
          renamed.push_back(absl::StrCat("loc:@", NameOf(name)));
        }
      }
      if (renamed.empty()) {
        attrs->Erase("_class");
      } else {
        attrs->Set("_class", std::move(renamed));
      }
    }
    if (node.op == "Enter" || node.op == "RefEnter") {
      const auto* frame = attrs->Find<std::string>("frame_name");
      if (frame != nullptr) attrs->Set("frame_name", NameOf(*frame));
    }
    // An unnamed resource goes by its node's name, which here would be another one in every instance.
    if (spec != nullptr && spec->FindAttr("shared_name") != nullptr) {
      const auto* shared = attrs->Find<std::string>("shared_name");
      if (shared == nullptr || shared->empty()) attrs->Set("shared_name", node.name);
    }
    for (const auto& [name, value] : options_.attrs) {
      if (attrs->Find(name) == nullptr) attrs->Set(name, value);
    }
  }

  std::string NameOf(absl::string_view name) const {
    return options_.prefix.empty() ? std::string(name) : absl::StrCat(options_.prefix, "/", name);
  }

  absl::Status AddNode(const BodyNode& node) {
    NodeDesc desc;
    desc.name = NameOf(node.name);
    desc.op = node.op;
    desc.device = node.device.empty() ? options_.device : node.device;
    for (const auto& [name, value] : node.attrs) {
      absl::StatusOr<Attr> replaced = ReplacePlaceholders(value, attrs_);
      if (!replaced.ok()) return WithContext(absl::StrCat("attr '", name, "'"), replaced.status());
      desc.attrs.Set(name, *std::move(replaced));
    }
    RenameAttrs(node, graph_->FindSpec(node.op), &desc.attrs);
    bool depends_on_body = false;
    const size_t first_back_edge = back_edges_.size();
    for (const BodyTensor& input : node.inputs) {
      const bool to_come = !input.is_argument && static_cast<size_t>(input.at) >= instance_.nodes.size();
      if (to_come) {
        back_edges_.push_back({nullptr, static_cast<int>(desc.inputs.size()), &input});
        desc.inputs.push_back(Output());
        continue;
      }
      depends_on_body = depends_on_body || !input.is_argument;
      NABLA_RETURN_IF_ERROR(Resolve(input, &desc.inputs));
    }
    for (const BodyTensor& input : node.control_inputs) {
      depends_on_body = depends_on_body || !input.is_argument;
      if (!input.is_argument) {
        desc.control_inputs.push_back(instance_.nodes[input.at]);
        continue;
      }
      for (size_t i = argument_begin_[input.at]; i < argument_begin_[input.at + 1]; ++i) {
        desc.control_inputs.push_back(arguments_[i].node());
      }
    }
    if (!depends_on_body) {
      desc.control_inputs.insert(desc.control_inputs.end(), options_.control_inputs.begin(),
                                 options_.control_inputs.end());
    }
    NABLA_ASSIGN_OR_RETURN(Node * added, graph_->AddNode(std::move(desc)));
    for (size_t i = first_back_edge; i < back_edges_.size(); ++i) back_edges_[i].merge = added;
    instance_.nodes.push_back(added);
    return absl::OkStatus();
  }

  Graph* graph_;
  const FunctionBody& body_;
  const Outputs& arguments_;
  const InstanceOptions& options_;
  absl::flat_hash_set<absl::string_view> names_;
  AttrMap attrs_;                       // of the function, for this call
  std::vector<size_t> argument_begin_;  // by formal argument, and the end
  std::vector<BackEdge> back_edges_;
  FunctionInstance instance_;
};

}  // namespace

absl::StatusOr<FunctionInstance> InstantiateFunction(Graph* graph, const FunctionRef& function,
                                                     const Outputs& arguments, const InstanceOptions& options) {
  const auto lock = graph->Lock();
  NABLA_ASSIGN_OR_RETURN(const FunctionBody* body, graph->functions().Body(function.name));
  return Instantiation(graph, *body, arguments, options).Run(function);
}

void RemoveNodes(Graph* graph, const std::vector<Node*>& nodes) {
  const auto lock = graph->Lock();
  for (Node* node : nodes) {
    if (!IsMerge(*node)) continue;
    for (int i = 0; i < node->num_inputs(); ++i) {
      const Node* source = node->input(i).node();
      if (source != nullptr && IsNextIteration(*source)) graph->SetBackEdge(node, i, Output()).IgnoreError();
    }
  }
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) graph->RemoveNode(*it).IgnoreError();
}

}  // namespace nabla

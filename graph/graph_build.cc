// Adding nodes.
#include <algorithm>
#include <limits>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "nabla/graph/error_text.h"
#include "nabla/graph/graph.h"
#include "nabla/graph/shape_inference.h"
#include "nabla/graph/similar_names.h"
#include "nabla/graph/status_macros.h"

namespace nabla {
namespace {

absl::Status Annotate(const absl::Status& status, const NodeDesc& desc) {
  return absl::Status(status.code(),
                      absl::StrCat("node ", Quoted(desc.name), " (op ", desc.op, "): ", status.message()));
}

// The formal input that actual input `i` belongs to, for error messages.
std::string InputLabel(const OpSpec& spec, const AttrMap& attrs, size_t i) {
  size_t first = 0;
  for (const ArgSpec& arg : spec.inputs()) {
    DTypes dtypes;
    if (!ArgDTypes({arg}, attrs, &dtypes).ok()) break;
    if (i < first + dtypes.size()) {
      return arg.IsList() ? absl::StrCat("input '", arg.name, "[", i - first, "]'")
                          : absl::StrCat("input '", arg.name, "'");
    }
    first += dtypes.size();
  }
  return absl::StrCat("input ", i);
}

bool AllowsOpenInput(absl::string_view op) { return op == "Merge" || op == "RefMerge"; }

// A reference may be read as a value. kInvalid is a type that nobody knows, after a lenient import.
bool Accepts(DType expected, DType given) {
  return given == expected || given == MakeRef(expected) || given == DType::kInvalid || expected == DType::kInvalid;
}

}  // namespace

absl::Status Graph::CheckDesc(const OpSpec* spec, NodeDesc* desc, CheckedDesc* checked) const {
  if (spec == nullptr) {
    return absl::NotFoundError(absl::StrCat("node ", Quoted(desc->name), ": unknown op ", Quoted(desc->op),
                                            DidYouMean(registry_->Similar(desc->op))));
  }
  checked->spec = spec;
  const auto error = [&](size_t input, absl::string_view what) {
    return Annotate(absl::InvalidArgumentError(absl::StrCat(InputLabel(*spec, desc->attrs, input), what)), *desc);
  };
  if (!spec->is_opaque()) {
    absl::Status status = CompleteAttrs(*spec, &desc->attrs);
    DTypes input_dtypes;
    if (status.ok()) status = ArgDTypes(spec->inputs(), desc->attrs, &input_dtypes);
    if (status.ok()) status = ArgDTypes(spec->outputs(), desc->attrs, &checked->dtypes);
    if (!status.ok()) return Annotate(status, *desc);
    if (input_dtypes.size() != desc->inputs.size()) {
      return Annotate(absl::InvalidArgumentError(
                          absl::StrCat("has ", desc->inputs.size(), " inputs, expected ", input_dtypes.size())),
                      *desc);
    }
    for (size_t i = 0; i < input_dtypes.size(); ++i) {
      const Output source = desc->inputs[i];
      if (!source || !OwnsOutput(source) || Accepts(input_dtypes[i], source.dtype())) continue;
      return error(i, absl::StrCat(" is '", source.name(), "' of dtype ", DTypeName(source.dtype()), ", expected ",
                                   DTypeName(input_dtypes[i])));
    }
  }
  for (size_t i = 0; i < desc->inputs.size(); ++i) {
    const Output source = desc->inputs[i];
    if (!source) {
      if (!AllowsOpenInput(desc->op)) return error(i, " is none, expected a tensor");
    } else if (!OwnsNode(source.node())) {
      return error(i, " belongs to another graph");
    } else if (!OwnsOutput(source)) {
      return error(i, " names an output that its node does not have");
    }
  }
  for (const Node* source : desc->control_inputs) {
    if (source != nullptr && OwnsNode(source)) continue;
    return Annotate(absl::InvalidArgumentError(source == nullptr ? "a control input is none"
                                                                 : "a control input belongs to another graph"),
                    *desc);
  }
  ShapeContext shapes(*spec, desc->attrs, desc->inputs, static_cast<int>(checked->dtypes.size()), this);
  if (spec->shape_fn() != nullptr) {
    const absl::Status status = spec->shape_fn()(shapes);
    if (!status.ok()) return Annotate(status, *desc);
  }
  checked->shapes = shapes.outputs();
  return absl::OkStatus();
}

absl::StatusOr<Node*> Graph::AddNode(NodeDesc desc) {
  const auto lock = Lock();
  const OpSpec* const spec = FindSpec(desc.op);
  return AddNodeAs(spec, std::move(desc));
}

absl::StatusOr<Node*> Graph::AddNodeAs(const OpSpec* spec, NodeDesc desc) {
  if (desc.name.empty() && spec != nullptr) desc.name = names_.Unique(desc.op);
  CheckedDesc checked;
  NABLA_RETURN_IF_ERROR(CheckDesc(spec, &desc, &checked));
  if (!IsValidNodeName(desc.name)) {
    return Annotate(absl::InvalidArgumentError("malformed name, expected letters, digits and any of _ . / - >"), desc);
  }
  if (names_.Find(desc.name) != nullptr) {
    return Annotate(absl::AlreadyExistsError("the graph has a node of that name already"), desc);
  }
  if (nodes_.size() >= static_cast<size_t>(std::numeric_limits<int>::max())) {
    return Annotate(absl::ResourceExhaustedError("the graph has too many nodes"), desc);
  }

  // From here on nothing fails.
  std::unique_ptr<Node> owned(new Node);
  Node* node = owned.get();
  node->id_ = static_cast<int>(nodes_.size());
  node->graph_ = this;
  node->spec_ = checked.spec;
  node->name_ = std::move(desc.name);
  node->attrs_ = std::move(desc.attrs);
  node->device_ = InternDevice(desc.device);
  node->outputs_.resize(checked.dtypes.size());
  for (size_t i = 0; i < checked.dtypes.size(); ++i) {
    node->outputs_[i].dtype = checked.dtypes[i];
    node->outputs_[i].shape = std::move(checked.shapes[i]);
  }
  LinkInputs(node, desc);
  nodes_.push_back(std::move(owned));
  names_.Insert(node);
  ++num_live_;
  ++version_;
  return node;
}

void Graph::LinkInputs(Node* node, const NodeDesc& desc) {
  node->num_inputs_ = static_cast<int>(desc.inputs.size());
  node->inputs_ = desc.inputs.empty() ? nullptr : std::make_unique<Edge[]>(desc.inputs.size());
  for (int i = 0; i < node->num_inputs_; ++i) {
    Edge& edge = node->inputs_[i];
    edge.source = desc.inputs[i].node();
    edge.source_index = desc.inputs[i].index();
    edge.consumer = node;
    edge.input = i;
    if (edge.source != nullptr) LinkEdge(&edge);
  }
  LinkControlInputs(node, desc.control_inputs);
}

void Graph::UnlinkInputs(Node* node) {
  for (int i = 0; i < node->num_inputs_; ++i) {
    if (node->inputs_[i].source != nullptr) UnlinkEdge(&node->inputs_[i]);
  }
  for (const std::unique_ptr<Edge>& edge : node->control_inputs_) UnlinkEdge(edge.get());
  node->control_inputs_.clear();
}

void Graph::LinkControlInputs(Node* node, const std::vector<Node*>& sources) {
  // Short lists, the rule, need no set to find repetitions.
  constexpr size_t kShort = 16;
  absl::flat_hash_set<Node*> seen;
  for (size_t i = 0; i < sources.size(); ++i) {
    const bool repeated = sources.size() <= kShort
                              ? std::find(sources.begin(), sources.begin() + i, sources[i]) != sources.begin() + i
                              : !seen.insert(sources[i]).second;
    if (!repeated) AppendControlEdge(sources[i], node);
  }
}

void Graph::AppendControlEdge(Node* source, Node* consumer) {
  auto edge = std::make_unique<Edge>();
  edge->source = source;
  edge->source_index = kControlSlot;
  edge->consumer = consumer;
  edge->input = kControlSlot;
  LinkEdge(edge.get());
  consumer->control_inputs_.push_back(std::move(edge));
}

Edge* Graph::LinkEdge(Edge* edge) {
  Node* source = edge->source;
  edge->previous = source->last_consumer_;
  edge->next = nullptr;
  (source->last_consumer_ == nullptr ? source->first_consumer_ : source->last_consumer_->next) = edge;
  source->last_consumer_ = edge;
  return edge;
}

void Graph::UnlinkEdge(Edge* edge) {
  Node* source = edge->source;
  (edge->previous == nullptr ? source->first_consumer_ : edge->previous->next) = edge->next;
  (edge->next == nullptr ? source->last_consumer_ : edge->next->previous) = edge->previous;
  edge->next = nullptr;
  edge->previous = nullptr;
}

bool Graph::OwnsNode(const Node* node) const { return node->graph_ == this; }

bool Graph::OwnsOutput(Output output) const {
  return OwnsNode(output.node()) && output.index() >= 0 && output.index() < output.node()->num_outputs();
}

}  // namespace nabla

// Changing a graph that stands: for passes and the gradients engine.
#include <utility>

#include "absl/strings/str_cat.h"
#include "nabla/graph/graph.h"
#include "nabla/graph/status_macros.h"

namespace nabla {
namespace {

std::string Label(const Node& node) { return absl::StrCat("node '", node.name(), "' (op ", node.op(), ")"); }

absl::Status CheckSameDType(const Node& consumer, int input, DType expected, Output source) {
  const DType given = source.dtype();
  if (BaseDType(given) == BaseDType(expected) || given == DType::kInvalid || expected == DType::kInvalid) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(Label(consumer), ": input ", input, " would be '", source.name(),
                                                 "' of dtype ", DTypeName(given), ", expected ", DTypeName(expected)));
}

absl::Status NoSuchInput(const Node& node, int input) {
  return absl::InvalidArgumentError(absl::StrCat(Label(node), " has no input ", input, ", only ", node.num_inputs()));
}

absl::Status NotOfThisGraph() { return absl::InvalidArgumentError("a tensor is none or belongs to another graph"); }

}  // namespace

absl::Status Graph::SetBackEdge(Node* merge, int input, Output source) {
  const auto lock = Lock();
  if (merge->op() != "Merge" && merge->op() != "RefMerge") {
    return absl::InvalidArgumentError(absl::StrCat(Label(*merge), " takes no back edge, only a Merge does"));
  }
  if (input < 0 || input >= merge->num_inputs()) return NoSuchInput(*merge, input);
  Edge& edge = merge->inputs_[input];
  if (!source) {
    if (edge.source == nullptr) return absl::OkStatus();
    UnlinkEdge(&edge);
    edge.source = nullptr;
    edge.source_index = 0;
    Edited(merge);
    return absl::OkStatus();
  }
  if (!OwnsOutput(source)) return NotOfThisGraph();
  if (edge.source != nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(Label(*merge), ": input ", input, " is connected already"));
  }
  if (source.node()->op() != "NextIteration" && source.node()->op() != "RefNextIteration") {
    return absl::InvalidArgumentError(absl::StrCat(Label(*merge), ": a back edge must come from a NextIteration, not ",
                                                   "from ", Label(*source.node())));
  }
  NABLA_RETURN_IF_ERROR(CheckSameDType(*merge, input, merge->output_dtype(0), source));
  edge.source = source.node();
  edge.source_index = source.index();
  LinkEdge(&edge);
  Edited(merge);
  return absl::OkStatus();
}

absl::Status Graph::RefineShape(Output output, const Shape& shape) {
  const auto lock = Lock();
  if (!output || !OwnsOutput(output)) return NotOfThisGraph();
  Shape& known = output.node()->outputs_[output.index()].shape;
  absl::StatusOr<Shape> merged = known.MergeWith(shape);
  if (!merged.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("tensor '", output.name(), "' has shape ", known.ToString(),
                                                   ", which contradicts ", shape.ToString()));
  }
  if (*merged != known) {
    known = *std::move(merged);
    ++version_;
  }
  return absl::OkStatus();
}

void Graph::SetShape(Output output, Shape shape) {
  const auto lock = Lock();
  output.node()->outputs_[output.index()].shape = std::move(shape);
  ++version_;
}

absl::Status Graph::ReplaceInput(Node* consumer, int i, Output source) {
  const auto lock = Lock();
  if (!source || !OwnsOutput(source)) return NotOfThisGraph();
  if (i < 0 || i >= consumer->num_inputs()) return NoSuchInput(*consumer, i);
  Edge& edge = consumer->inputs_[i];
  if (edge.source != nullptr) {
    NABLA_RETURN_IF_ERROR(CheckSameDType(*consumer, i, consumer->input(i).dtype(), source));
    UnlinkEdge(&edge);
  } else {
    NABLA_RETURN_IF_ERROR(CheckSameDType(*consumer, i, consumer->output_dtype(0), source));  // a Merge's open input
  }
  edge.source = source.node();
  edge.source_index = source.index();
  LinkEdge(&edge);
  Edited(consumer);
  return absl::OkStatus();
}

absl::Status Graph::ReplaceUses(Output from, Output to) {
  const auto lock = Lock();
  if (!from || !to || !OwnsOutput(from) || !OwnsOutput(to)) return NotOfThisGraph();
  if (from == to) return absl::OkStatus();
  for (Edge *edge = from.node()->first_consumer_, *next; edge != nullptr; edge = next) {
    next = edge->next;
    if (edge->IsControl() || edge->source_index != from.index() || edge->consumer == to.node()) continue;
    NABLA_RETURN_IF_ERROR(CheckSameDType(*edge->consumer, edge->input, from.dtype(), to));
    // With from and to outputs of one node, the edge goes to the list's end and is met again, but leaves `to` then.
    UnlinkEdge(edge);
    edge->source = to.node();
    edge->source_index = to.index();
    LinkEdge(edge);
    Edited(edge->consumer);
  }
  ++version_;
  return absl::OkStatus();
}

Edge* Graph::FindControlEdge(Node* source, Node* consumer) const {
  // Whichever list is shorter decides, so that a node with very many edges on one side costs nothing.
  Edge* outgoing = source->first_consumer_;
  size_t incoming = 0;
  while (outgoing != nullptr && incoming < consumer->control_inputs_.size()) {
    if (outgoing->IsControl() && outgoing->consumer == consumer) return outgoing;
    Edge* edge = consumer->control_inputs_[incoming].get();
    if (edge->source == source) return edge;
    outgoing = outgoing->next;
    ++incoming;
  }
  return nullptr;
}

void Graph::AddControlEdge(Node* source, Node* consumer) {
  const auto lock = Lock();
  if (FindControlEdge(source, consumer) != nullptr) return;
  AppendControlEdge(source, consumer);
  Edited(consumer);
}

void Graph::RemoveControlEdge(Node* source, Node* consumer) {
  const auto lock = Lock();
  std::vector<std::unique_ptr<Edge>>& edges = consumer->control_inputs_;
  for (auto it = edges.begin(); it != edges.end(); ++it) {
    if ((*it)->source != source) continue;
    UnlinkEdge(it->get());
    edges.erase(it);
    Edited(consumer);
    return;
  }
}

absl::Status Graph::RemoveNode(Node* node) {
  const auto lock = Lock();
  if (!OwnsNode(node)) return absl::InvalidArgumentError("the node to remove belongs to another graph");
  for (const Edge& edge : node->consumers()) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot remove ", Label(*node), ": ", Label(*edge.consumer), " consumes it"));
  }
  UnlinkInputs(node);
  node_foreign_.erase(node);
  names_.Erase(node);
  --num_live_;
  Edited(node);
  nodes_[node->id_].reset();
  return absl::OkStatus();
}

absl::Status Graph::Morph(Node* node, NodeDesc desc) {
  const auto lock = Lock();
  if (!OwnsNode(node)) return absl::InvalidArgumentError("the node to change belongs to another graph");
  desc.name = node->name();
  CheckedDesc checked;
  NABLA_RETURN_IF_ERROR(CheckDesc(FindSpec(desc.op), &desc, &checked));
  const auto error = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(Label(*node), " cannot become a ", desc.op, ": ", what));
  };
  for (const Output& input : desc.inputs) {
    if (input.node() == node) return error("it would be its own input");
  }
  for (const Node* source : desc.control_inputs) {
    if (source == node) return error("it would be its own control input");
  }
  const size_t num_outputs = node->outputs_.size();
  if (checked.dtypes.size() != num_outputs) {
    return error(absl::StrCat("that would have ", checked.dtypes.size(), " outputs, expected ", num_outputs));
  }
  for (size_t i = 0; i < num_outputs; ++i) {
    const Node::OutputInfo& output = node->outputs_[i];
    if (checked.dtypes[i] != output.dtype) {
      return error(absl::StrCat("output ", i, " would have dtype ", DTypeName(checked.dtypes[i]), ", expected ",
                                DTypeName(output.dtype)));
    }
    absl::StatusOr<Shape> merged = output.shape.MergeWith(checked.shapes[i]);
    if (!merged.ok()) {
      return error(absl::StrCat("output ", i, " has shape ", output.shape.ToString(), ", which contradicts ",
                                checked.shapes[i].ToString()));
    }
    checked.shapes[i] = *std::move(merged);
  }

  // From here on nothing fails.
  UnlinkInputs(node);
  node->spec_ = checked.spec;
  node->attrs_ = std::move(desc.attrs);
  for (size_t i = 0; i < num_outputs; ++i) node->outputs_[i].shape = std::move(checked.shapes[i]);
  LinkInputs(node, desc);
  node_foreign_.erase(node);  // which spoke of the old operation
  Edited(node);
  return absl::OkStatus();
}

}  // namespace nabla

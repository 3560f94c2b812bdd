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
    ++version_;
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
  ++version_;
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
  ++version_;
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
  ++version_;
}

void Graph::RemoveControlEdge(Node* source, Node* consumer) {
  const auto lock = Lock();
  std::vector<std::unique_ptr<Edge>>& edges = consumer->control_inputs_;
  for (auto it = edges.begin(); it != edges.end(); ++it) {
    if ((*it)->source != source) continue;
    UnlinkEdge(it->get());
    edges.erase(it);
    ++version_;
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
  for (int i = 0; i < node->num_inputs_; ++i) {
    if (node->inputs_[i].source != nullptr) UnlinkEdge(&node->inputs_[i]);
  }
  for (const std::unique_ptr<Edge>& edge : node->control_inputs_) UnlinkEdge(edge.get());
  node_foreign_.erase(node);
  names_.Erase(node);
  --num_live_;
  ++version_;
  nodes_[node->id_].reset();
  return absl::OkStatus();
}

}  // namespace nabla

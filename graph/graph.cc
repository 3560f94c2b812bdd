#include "nabla/graph/graph.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "nabla/graph/error_text.h"
#include "nabla/graph/function_library.h"
#include "nabla/graph/similar_names.h"
#include "nabla/graph/status_macros.h"
#include "nabla/graph/unknown_fields.h"

namespace nabla {
bool IsValidNodeName(absl::string_view name) {
  if (name.empty()) return false;
  if (!absl::ascii_isalnum(name[0]) && name[0] != '.' && name[0] != '_') return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '/' || c == '-' || c == '>' || c == '\\';
  });
}

absl::StatusOr<std::pair<std::string, int>> ParseTensorName(absl::string_view name) {
  const auto malformed = [&](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat(Quoted(name), " is no tensor name: ", why));
  };
  if (!name.empty() && name[0] == '^') return malformed("it names a control input");
  int index = 0;
  absl::string_view node_name = name;
  const size_t colon = name.rfind(':');
  if (colon != absl::string_view::npos) {
    const absl::string_view digits = name.substr(colon + 1);
    const bool all_digits = !digits.empty() && std::all_of(digits.begin(), digits.end(), absl::ascii_isdigit);
    if (!all_digits || !absl::SimpleAtoi(digits, &index)) return malformed("expected an output's number after ':'");
    node_name = name.substr(0, colon);
  }
  if (!IsValidNodeName(node_name)) return malformed("expected a node name, or node:number");
  return std::make_pair(std::string(node_name), index);
}

Graph::Graph(const OpRegistry* registry) : registry_(registry), functions_(std::make_shared<FunctionLibrary>()) {
  devices_.emplace_back();  // device 0: none
}

std::unique_ptr<Graph> Graph::SharingFunctions(const Graph& other) {
  auto graph = std::make_unique<Graph>(other.registry_);
  graph->functions_ = other.functions_;
  return graph;
}

// Nodes refer to each other by plain pointers, so they may die in any order and without recursion.
Graph::~Graph() = default;

Node* Graph::FindNode(absl::string_view name) const {
  const auto lock = Lock();
  return names_.Find(name);
}

absl::StatusOr<Output> Graph::FindOutput(absl::string_view tensor_name) const {
  const auto lock = Lock();
  NABLA_ASSIGN_OR_RETURN(const auto parsed, ParseTensorName(tensor_name));
  const auto& [name, index] = parsed;
  Node* node = names_.Find(name);
  if (node == nullptr) {
    SimilarNames similar(name);
    for (const std::unique_ptr<Node>& other : nodes_) {
      if (other != nullptr) similar.Consider(other->name());
    }
    return absl::NotFoundError(absl::StrCat("the graph has no node ", Quoted(name), DidYouMean(similar.Take())));
  }
  if (index >= node->num_outputs()) {
    return absl::InvalidArgumentError(absl::StrCat("there is no tensor '", name, ":", index, "': node '", name,
                                                   "' (op ", node->op(), ") has ", node->num_outputs(),
                                                   node->num_outputs() == 1 ? " output" : " outputs"));
  }
  return node->output(index);
}

std::string Graph::UniqueName(absl::string_view name) const {
  const auto lock = Lock();
  return names_.Unique(name);
}

std::string Graph::UniqueScopeName(absl::string_view name) {
  const auto lock = Lock();
  std::string unique = names_.Unique(name);
  names_.ReserveScope(unique);
  return unique;
}

uint64_t Graph::version() const {
  const auto lock = Lock();
  return version_;
}

uint64_t Graph::edits() const {
  const auto lock = Lock();
  num_planned_ids_ = static_cast<int>(nodes_.size());
  return edits_;
}

void Graph::RecordError(const absl::Status& status) {
  const auto lock = Lock();
  if (status_.ok()) status_ = status;
}

absl::Status Graph::status() const {
  const auto lock = Lock();
  return status_;
}

int Graph::InternDevice(absl::string_view device) {
  if (device.empty()) return 0;
  const auto [it, added] = device_index_.try_emplace(std::string(device), static_cast<int>(devices_.size()));
  if (added) devices_.emplace_back(device);
  return it->second;
}

void Graph::SetDevice(Node* node, absl::string_view device) {
  const auto lock = Lock();
  node->device_ = InternDevice(device);
  Edited(node);
}

void Graph::SetAttr(Node* node, absl::string_view name, Attr value) {
  const auto lock = Lock();
  if (const auto it = node_foreign_.find(node); it != node_foreign_.end()) {
    DropUnknownAttr(name, &it->second.unknown_fields);
  }
  node->attrs_.Set(name, std::move(value));
  Edited(node);
}

const OpSpec* Graph::AddLocalSpec(std::unique_ptr<OpSpec> spec) {
  const auto lock = Lock();
  std::unique_ptr<OpSpec>& slot = local_specs_[spec->name()];
  // Nodes may refer to an earlier spec of that name, so that one stays.
  if (slot == nullptr) slot = std::move(spec);
  return slot.get();
}

const OpSpec* Graph::FindSpec(absl::string_view op) const {
  if (const OpSpec* spec = registry_->Find(op)) return spec;
  const auto lock = Lock();
  const auto it = local_specs_.find(op);
  return it == local_specs_.end() ? functions_->FindSpec(op) : it->second.get();
}

const ForeignFields* Graph::foreign_fields(const Node* node) const {
  const auto lock = Lock();
  const auto it = node_foreign_.find(node);
  return it == node_foreign_.end() ? nullptr : &it->second;
}

void Graph::SetForeignFields(const Node* node, ForeignFields fields) {
  const auto lock = Lock();
  node_foreign_[node] = std::move(fields);
}

}  // namespace nabla

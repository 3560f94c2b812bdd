#include "nabla/graph/function_body.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "nabla/graph/error_text.h"
#include "nabla/graph/status_macros.h"
#include "nabla/proto/function.pb.h"

namespace nabla {
namespace {

bool ParseIndex(absl::string_view digits, int* index) {
  return !digits.empty() && digits.size() <= 9 &&
         std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; }) &&
         absl::SimpleAtoi(digits, index);
}

bool IsMergeOp(absl::string_view op) { return op == "Merge" || op == "RefMerge"; }
bool IsNextIterationOp(absl::string_view op) { return op == "NextIteration" || op == "RefNextIteration"; }

class Parser {
 public:
  Parser(const FunctionDef& function, ExpansionBudget* budget) : function_(function), budget_(*budget) {}

  absl::StatusOr<FunctionBody> Run() {
    const OpDef& signature = function_.signature();
    for (int i = 0; i < signature.input_arg_size(); ++i) arguments_[signature.input_arg(i).name()] = i;
    for (int i = 0; i < function_.node_def_size(); ++i) nodes_[function_.node_def(i).name()] = i;
    for (const NodeDef& def : function_.node_def()) {
      const absl::Status status = AddNode(def);
      if (!status.ok()) return WithContext(absl::StrCat("node ", Quoted(def.name())), status);
    }
    for (const OpDef::ArgDef& output : signature.output_arg()) {
      const auto it = function_.ret().find(output.name());
      absl::Status status;
      if (it == function_.ret().end()) {
        status = absl::InvalidArgumentError("has no entry in 'ret'");
      } else {
        status = ParseTensor(it->second, &body_.results.emplace_back());
      }
      if (!status.ok()) return WithContext(absl::StrCat("output ", Quoted(output.name())), status);
    }
    NABLA_RETURN_IF_ERROR(AddEffects());
    NABLA_RETURN_IF_ERROR(Sort());
    return std::move(body_);
  }

 private:
  absl::Status AddNode(const NodeDef& def) {
    NodeRecord record;
    NABLA_RETURN_IF_ERROR(NodeRecordFromProto(NodeDef(def), &budget_, &record));
    BodyNode& node = body_.nodes.emplace_back();
    node.name = std::move(record.name);
    node.op = std::move(record.op);
    node.device = std::move(record.device);
    node.attrs = std::move(record.attrs);
    for (const std::string& input : record.inputs) {
      absl::string_view name = input;
      if (absl::ConsumePrefix(&name, "^")) {
        NABLA_RETURN_IF_ERROR(ParseTensor(name, &node.control_inputs.emplace_back()));
      } else if (node.control_inputs.empty()) {
        NABLA_RETURN_IF_ERROR(ParseTensor(name, &node.inputs.emplace_back()));
      } else {
        return absl::InvalidArgumentError(
            absl::StrCat("input ", Quoted(input), " follows a control input, expected control inputs last"));
      }
    }
    body_.callees.push_back(node.op);
    for (const auto& [name, value] : node.attrs) {
      if (const auto* callee = value.As<FunctionRef>()) body_.callees.push_back(callee->name);
      if (value.kind() != Attr::Kind::kListFunc) continue;
      for (const FunctionRef& callee : *value.As<std::vector<FunctionRef>>()) body_.callees.push_back(callee.name);
    }
    return absl::OkStatus();
  }

  // "argument", "argument:1", "node:output", "node:output:1"; "node" alone is for control inputs.
  absl::Status ParseTensor(absl::string_view text, BodyTensor* tensor) const {
    const std::vector<absl::string_view> parts = absl::StrSplit(text, ':');
    bool fits = parts.size() <= 3;
    if (const auto argument = arguments_.find(parts[0]); argument != arguments_.end()) {
      tensor->is_argument = true;
      tensor->at = argument->second;
      fits = fits && parts.size() <= 2 && (parts.size() == 1 || ParseIndex(parts[1], &tensor->index));
    } else if (const auto node = nodes_.find(parts[0]); node != nodes_.end()) {
      tensor->at = node->second;
      if (parts.size() > 1) tensor->output = std::string(parts[1]);
      fits = fits && (parts.size() <= 2 || ParseIndex(parts[2], &tensor->index));
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat(Quoted(text), " is neither an argument nor of a node of the function"));
    }
    if (fits) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(Quoted(text), " is no tensor, expected 'argument' or 'node:output:number'"));
  }

  absl::Status AddEffects() {
    const OpDef& signature = function_.signature();
    body_.has_effects = signature.control_output_size() > 0 || function_.control_ret_size() > 0;
    // In the order of the alphabet, since a map of a message has none.
    for (const auto& [name, node] :
         std::map<std::string, std::string>(function_.control_ret().begin(), function_.control_ret().end())) {
      const auto it = nodes_.find(node);
      if (it == nodes_.end()) {
        return absl::InvalidArgumentError(
            absl::StrCat("control output ", Quoted(name), " comes from ", Quoted(node), ", which is no node"));
      }
      body_.effects.push_back(it->second);
    }
    return absl::OkStatus();
  }

  // Calls `visit` with each node of the body that node `i` has to come after.
  template <typename Visit>
  void ForEachSource(int i, const Visit& visit) const {
    const BodyNode& node = body_.nodes[i];
    for (const BodyTensor& input : node.inputs) {
      if (input.is_argument) continue;
      if (IsMergeOp(node.op) && IsNextIterationOp(body_.nodes[input.at].op)) continue;
      visit(input.at);
    }
    for (const BodyTensor& input : node.control_inputs) {
      if (!input.is_argument) visit(input.at);
    }
  }

  // Sources first, ties as they stand in the file.
  absl::Status Sort() {
    const int count = static_cast<int>(body_.nodes.size());
    std::vector<int> waiting(count), place(count, -1), order;
    std::vector<std::vector<int>> consumers(count);
    for (int i = 0; i < count; ++i) {
      ForEachSource(i, [&](int source) {
        ++waiting[i];
        consumers[source].push_back(i);
      });
    }
    std::priority_queue<int, std::vector<int>, std::greater<int>> ready;
    for (int i = 0; i < count; ++i) {
      if (waiting[i] == 0) ready.push(i);
    }
    while (!ready.empty()) {
      const int i = ready.top();
      ready.pop();
      place[i] = static_cast<int>(order.size());
      order.push_back(i);
      for (const int consumer : consumers[i]) {
        if (--waiting[consumer] == 0) ready.push(consumer);
      }
    }
    if (static_cast<int>(order.size()) < count) {
      const auto stuck = std::find_if(waiting.begin(), waiting.end(), [](int n) { return n > 0; });
      return absl::InvalidArgumentError(absl::StrCat("node ", Quoted(body_.nodes[stuck - waiting.begin()].name),
                                                     " is part of a cycle, or waits for ",
                                                     "one; expected only cycles from a NextIteration to a Merge"));
    }
    std::vector<BodyNode> sorted;
    sorted.reserve(count);
    for (const int i : order) sorted.push_back(std::move(body_.nodes[i]));
    body_.nodes = std::move(sorted);
    const auto move = [&place](std::vector<BodyTensor>& tensors) {
      for (BodyTensor& tensor : tensors) {
        if (!tensor.is_argument) tensor.at = place[tensor.at];
      }
    };
    for (BodyNode& node : body_.nodes) {
      move(node.inputs);
      move(node.control_inputs);
    }
    move(body_.results);
    for (int& effect : body_.effects) effect = place[effect];
    return absl::OkStatus();
  }

  const FunctionDef& function_;
  ExpansionBudget& budget_;
  absl::flat_hash_map<absl::string_view, int> arguments_;
  absl::flat_hash_map<absl::string_view, int> nodes_;
  FunctionBody body_;
};

}  // namespace

void SetSpec(const OpSpec* spec, FunctionBody* body) {
  body->spec = spec;
  for (const BodyNode& node : body->nodes) {
    for (const std::vector<BodyTensor>* tensors : {&node.inputs, &node.control_inputs}) {
      for (const BodyTensor& tensor : *tensors) {
        const bool is_list =
            tensor.is_argument && tensor.index == BodyTensor::kAll && spec->inputs()[tensor.at].IsList();
        ++(is_list ? body->num_list_edges : body->num_edges);
      }
    }
  }
}

absl::StatusOr<FunctionBody> ParseFunctionBody(const FunctionDef& function, ExpansionBudget* budget) {
  return Parser(function, budget).Run();
}

}  // namespace nabla

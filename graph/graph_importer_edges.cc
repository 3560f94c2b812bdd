// The edges of what is imported: from the names of inputs to nodes, and an order in which every node follows its
// inputs.
#include <algorithm>
#include <functional>
#include <map>
#include <queue>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "nabla/graph/error_text.h"
#include "nabla/graph/graph_importer.h"
#include "nabla/graph/similar_names.h"
#include "nabla/graph/status_macros.h"

namespace nabla {

GraphImporter::InputRef GraphImporter::Parse(absl::string_view input) const {
  InputRef ref = {Origin::kName, 0, 0};
  absl::string_view name = input;
  if (absl::ConsumePrefix(&name, "^")) {
    ref.index = kControlSlot;
  } else if (const size_t colon = name.rfind(':'); colon != absl::string_view::npos) {
    const absl::string_view digits = name.substr(colon + 1);
    const bool is_number = !digits.empty() && digits.size() <= 9 && (digits[0] != '0' || digits.size() == 1) &&
                           std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!is_number || !absl::SimpleAtoi(digits, &ref.index)) return ref;
    name = name.substr(0, colon);
  }
  const auto it = by_name_.find(name);
  if (it == by_name_.end()) return ref;
  ref.origin = Origin::kRecord;
  ref.at = it->second;
  return ref;
}

std::string GraphImporter::InputName(const InputRef& input) const {
  if (input.origin == Origin::kName) return names_[input.at];
  const std::string& name =
      input.origin == Origin::kRecord ? records_[input.at].name : mapped_[input.at].node()->name();
  if (input.index == kControlSlot) return absl::StrCat("^", name);
  return input.index == 0 ? name : absl::StrCat(name, ":", input.index);
}

absl::Status GraphImporter::ResolveNames() {
  for (InputRef& ref : inputs_) {
    if (ref.origin != Origin::kName) continue;
    const int32_t at = ref.at;
    ref = Parse(names_[at]);
    if (ref.origin == Origin::kName) ref.at = at;
  }
  NABLA_RETURN_IF_ERROR(ApplyInputMap());
  for (size_t r = 0; r < records_.size(); ++r) {
    const Record& record = records_[r];
    for (uint32_t i = 0; i < record.num_inputs + record.num_control; ++i) {
      const InputRef& ref = inputs_[record.first_input + i];
      if (ref.origin != Origin::kName) continue;
      const std::string& text = names_[ref.at];
      absl::string_view name = text;
      absl::ConsumePrefix(&name, "^");
      name = name.substr(0, name.rfind(':'));
      if (!IsValidNodeName(name) || by_name_.contains(name)) {
        return absl::InvalidArgumentError(
            absl::StrCat(Where(r), ": input ", i, " is ", Quoted(text), ", expected 'node', 'node:number' or '^node'"));
      }
      SimilarNames similar(name);
      for (const Record& other : records_) similar.Consider(other.name);
      return absl::InvalidArgumentError(absl::StrCat(Where(r), ": input ", i, " is ", Quoted(text),
                                                     ", but the graph has no node ", Quoted(name),
                                                     DidYouMean(similar.Take())));
    }
  }
  return absl::OkStatus();
}

absl::Status GraphImporter::ApplyInputMap() {
  if (options_.input_map.empty()) return absl::OkStatus();
  struct Target {
    int32_t at;
    bool used = false;
  };
  std::map<std::string, Target> targets;  // by the name that InputName gives
  for (const auto& [from, to] : options_.input_map) {
    const bool is_control = absl::StartsWith(from, "^");
    if (!to || to.graph() != graph_ || to.index() < 0 || (!is_control && to.index() >= to.node()->num_outputs())) {
      return absl::InvalidArgumentError(
          absl::StrCat("input_map: ", Quoted(from), " is mapped to what is no tensor of the graph"));
    }
    const std::string key(absl::StripSuffix(from, ":0"));
    targets[key] = Target{static_cast<int32_t>(mapped_.size())};
    mapped_.push_back(to);
  }
  for (InputRef& ref : inputs_) {
    const auto it = targets.find(std::string(absl::StripSuffix(InputName(ref), ":0")));
    if (it == targets.end()) continue;
    it->second.used = true;
    const bool is_control = ref.index == kControlSlot || absl::StartsWith(it->first, "^");
    ref.origin = Origin::kGraph;
    ref.at = it->second.at;
    ref.index = is_control ? kControlSlot : mapped_[ref.at].index();
  }
  for (const auto& [key, target] : targets) {
    if (!target.used && Parse(key).origin == Origin::kName) {
      return absl::InvalidArgumentError(
          absl::StrCat("input_map: the graph to import neither has nor uses ", Quoted(key)));
    }
  }
  return absl::OkStatus();
}

bool GraphImporter::IsBackEdge(int consumer, const InputRef& input) const {
  return input.origin == Origin::kRecord && input.index != kControlSlot && ops_[records_[consumer].op].is_merge &&
         ops_[records_[input.at].op].is_next_iteration;
}

absl::Status GraphImporter::Order() {
  const int32_t count = static_cast<int32_t>(records_.size());
  std::vector<int32_t> waiting(count, 0);  // inputs that are still to come
  bool in_order = true;
  for (int32_t r = 0; r < count; ++r) {
    const Record& record = records_[r];
    for (uint32_t i = record.first_input; i < record.first_input + record.num_inputs + record.num_control; ++i) {
      if (inputs_[i].origin != Origin::kRecord || IsBackEdge(r, inputs_[i])) continue;
      ++waiting[r];
      in_order = in_order && inputs_[i].at < r;
    }
  }
  if (in_order) return absl::OkStatus();

  // The consumers of each record, as ranges of one array.
  std::vector<uint32_t> end(count + 1, 0);
  for (int32_t r = 0; r < count; ++r) {
    const Record& record = records_[r];
    for (uint32_t i = record.first_input; i < record.first_input + record.num_inputs + record.num_control; ++i) {
      if (inputs_[i].origin == Origin::kRecord && !IsBackEdge(r, inputs_[i])) ++end[inputs_[i].at + 1];
    }
  }
  for (int32_t r = 0; r < count; ++r) end[r + 1] += end[r];
  std::vector<int32_t> consumers(end[count]);
  std::vector<uint32_t> next(end.begin(), end.end() - 1);
  for (int32_t r = 0; r < count; ++r) {
    const Record& record = records_[r];
    for (uint32_t i = record.first_input; i < record.first_input + record.num_inputs + record.num_control; ++i) {
      if (inputs_[i].origin == Origin::kRecord && !IsBackEdge(r, inputs_[i])) consumers[next[inputs_[i].at]++] = r;
    }
  }
  std::priority_queue<int32_t, std::vector<int32_t>, std::greater<int32_t>> ready;
  for (int32_t r = 0; r < count; ++r) {
    if (waiting[r] == 0) ready.push(r);
  }
  order_.reserve(count);
  while (!ready.empty()) {
    const int32_t r = ready.top();
    ready.pop();
    order_.push_back(r);
    for (uint32_t i = end[r]; i < end[r + 1]; ++i) {
      if (--waiting[consumers[i]] == 0) ready.push(consumers[i]);
    }
  }
  return static_cast<int32_t>(order_.size()) == count ? absl::OkStatus() : DescribeCycle(waiting);
}

absl::Status GraphImporter::DescribeCycle(const std::vector<int32_t>& waiting) const {
  // Whatever waits has an input that waits, so that going up leads into a cycle.
  int32_t r = static_cast<int32_t>(std::find_if(waiting.begin(), waiting.end(), [](int32_t w) { return w > 0; }) -
                                   waiting.begin());
  std::vector<int32_t> path;
  std::vector<int32_t> place(records_.size(), -1);  // on the path
  while (place[r] < 0) {
    place[r] = static_cast<int32_t>(path.size());
    path.push_back(r);
    const Record& record = records_[r];
    for (uint32_t i = record.first_input; i < record.first_input + record.num_inputs + record.num_control; ++i) {
      const InputRef& ref = inputs_[i];
      if (ref.origin != Origin::kRecord || IsBackEdge(r, ref) || waiting[ref.at] == 0) continue;
      r = ref.at;
      break;
    }
  }
  // The path goes against the edges.
  std::vector<int32_t> cycle(path.begin() + place[r], path.end());
  std::reverse(cycle.begin(), cycle.end());
  std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end()), cycle.end());
  std::string text = Quoted(records_[cycle[0]].name);
  constexpr size_t kShown = 6;
  for (size_t i = 1; i < cycle.size(); ++i) {
    if (cycle.size() > kShown && i == kShown - 1) {
      absl::StrAppend(&text, " -> ... (", cycle.size() - kShown, " more)");
      i = cycle.size() - 1;
    }
    absl::StrAppend(&text, " -> ", Quoted(records_[cycle[i]].name));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the nodes ", text, " -> ", Quoted(records_[cycle[0]].name),
                   " form a cycle, expected only cycles from a NextIteration to a Merge"));
}

}  // namespace nabla

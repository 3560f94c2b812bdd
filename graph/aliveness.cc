#include "nabla/graph/aliveness.h"

#include <algorithm>
#include <iterator>

#include "nabla/graph/branch_contexts.h"
#include "nabla/graph/control_flow.h"

namespace nabla {
namespace {

// A node with more is a condition of its own for what comes after it.
constexpr int kMaxConditions = 16;
// Of a node that is being looked at.
constexpr Aliveness::Conditions kOpen = -1;

// The Enter of the loop variable whose last value `exit` hands out, or nullptr.
const Node* EnterOf(const Node& exit) {
  const Output switched = BehindIdentities(exit.input(0));
  if (!IsSwitch(*switched.node())) return nullptr;
  const Output merge = BehindIdentities(switched.node()->input(0));
  if (!IsMerge(*merge.node())) return nullptr;
  for (int i = 0; i < merge.node()->num_inputs(); ++i) {
    const Node* source = merge.node()->input(i).node();
    if (source != nullptr && IsEnter(*source)) return source;
  }
  return nullptr;
}

// The node whose inputs decide: for an Exit, that through which its loop was entered. nullptr where none do, since what
// is in a frame is alive by what is there.
const Node* DecidedBy(const Node& node) {
  if (IsExit(node)) return EnterOf(node);
  if (IsEnter(node) || node.op() == "ControlTrigger" || (IsMerge(node) && !IsBranchMerge(node))) return nullptr;
  return &node;
}

}  // namespace

Aliveness::Aliveness() { Intern({}); }

Aliveness::Conditions Aliveness::Intern(std::vector<Condition> set) {
  const auto [it, added] = index_.try_emplace(set, static_cast<Conditions>(sets_.size()));
  if (added) sets_.push_back(std::move(set));
  return it->second;
}

Aliveness::Conditions Aliveness::Union(Conditions a, Conditions b) {
  if (a == b || b == kAlways) return a;
  if (a == kAlways) return b;
  std::vector<Condition> both;
  std::set_union(sets_[a].begin(), sets_[a].end(), sets_[b].begin(), sets_[b].end(), std::back_inserter(both));
  return Intern(std::move(both));
}

int Aliveness::NumConditions(Conditions conditions) const { return static_cast<int>(sets_[conditions].size()); }

bool Aliveness::Covers(Conditions all, Conditions some) const {
  return std::includes(sets_[all].begin(), sets_[all].end(), sets_[some].begin(), sets_[some].end());
}

Aliveness::Conditions Aliveness::Of(Output tensor) {
  const Conditions conditions = OfNode(tensor.node());
  if (!IsSwitch(*tensor.node())) return conditions;
  const Output predicate = BehindIdentities(tensor.node()->input(1));
  return Union(conditions, Intern({{predicate.node()->id(), 2 * predicate.index() + tensor.index()}}));
}

// Alive if one of two is: what they have in common, if they are the two sides of a Switch apart from that.
Aliveness::Conditions Aliveness::Either(Conditions a, Conditions b, Conditions otherwise) {
  std::vector<Condition> apart;
  std::set_symmetric_difference(sets_[a].begin(), sets_[a].end(), sets_[b].begin(), sets_[b].end(),
                                std::back_inserter(apart));
  const bool opposite = apart.size() == 2 && sets_[a].size() == sets_[b].size() && apart[0].first == apart[1].first &&
                        apart[0].second >= 0 && apart[0].second / 2 == apart[1].second / 2;
  if (!opposite) return otherwise;
  std::vector<Condition> common;
  std::set_intersection(sets_[a].begin(), sets_[a].end(), sets_[b].begin(), sets_[b].end(), std::back_inserter(common));
  return Intern(std::move(common));
}

void Aliveness::Place(const Node* node) {
  const Node* const by = DecidedBy(*node);
  const Conditions itself = Intern({{node->id(), -1}});
  Conditions conditions = kAlways;
  if (IsBranchMerge(*node)) {
    conditions = node->num_inputs() == 2 ? Either(Of(node->input(0)), Of(node->input(1)), itself) : itself;
  } else if (by != nullptr) {
    bool many = false;  // what has been seen is not kept for each of very many inputs
    const auto add = [&](Conditions more) {
      if (!many) conditions = Union(conditions, more);
      many = many || NumConditions(conditions) > kMaxConditions;
    };
    for (int i = 0; i < by->num_inputs(); ++i) add(Of(by->input(i)));
    if (by->num_control_inputs() > 0) {
      for (const Node* source : by->control_inputs()) add(OfNode(source));
    }
    if (many) conditions = itself;
  } else if (IsExit(*node)) {
    conditions = itself;
  }
  nodes_[node->id()] = conditions;
}

Aliveness::Conditions Aliveness::OfNode(const Node* node) {
  // Depth first; an open node counts as always alive, which only cycles that are no loops get to see.
  const auto known = nodes_.find(node->id());
  if (known != nodes_.end()) return known->second == kOpen ? kAlways : known->second;
  std::vector<const Node*> path = {node};
  while (!path.empty()) {
    const Node* const top = path.back();
    const auto [state, added] = nodes_.try_emplace(top->id(), kOpen);
    if (!added) {
      path.pop_back();
      if (state->second == kOpen) Place(top);
      continue;
    }
    const Node* const by = DecidedBy(*top);
    if (by == nullptr) continue;
    const auto visit = [&](const Node* source) {
      if (!nodes_.contains(source->id())) path.push_back(source);
    };
    for (int i = 0; i < by->num_inputs(); ++i) visit(by->input(i).node());
    if (by->num_control_inputs() == 0) continue;
    for (const Node* source : by->control_inputs()) visit(source);
  }
  return nodes_[node->id()];
}

}  // namespace nabla

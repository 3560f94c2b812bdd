#include "nabla/graph/branch_contexts.h"

#include <algorithm>

namespace nabla {
namespace {

// Steps from a branch to the one around it.
constexpr int64_t kMinSteps = int64_t{1} << 28;
constexpr int64_t kStepsPerNode = 1000;
constexpr int kMaxIdentities = 1000;

}  // namespace

Output BehindIdentities(Output tensor) {
  for (int i = 0; tensor && i < kMaxIdentities; ++i) {
    const Node& node = *tensor.node();
    // Calls of functions with several results become IdentityN.
    if ((node.op() != "Identity" && node.op() != "IdentityN") || tensor.index() >= node.num_inputs()) break;
    tensor = node.input(tensor.index());
  }
  return tensor;
}

bool IsBranchSwitch(const Node& node) {
  return IsSwitch(node) && node.num_inputs() > 1 && node.input(1) && !IsLoopCond(*node.input(1).node());
}

bool IsBranchMerge(const Node& node) {
  if (!IsMerge(node)) return false;
  for (int i = 0; i < node.num_inputs(); ++i) {
    const Node* source = node.input(i).node();
    // An open input waits for a NextIteration.
    if (source == nullptr || IsNextIteration(*source)) return false;
  }
  return true;
}

BranchContexts::BranchContexts(const ControlFlow& flow) {
  links_.push_back(Link{0, Branch(), 0});
  nodes_.assign(flow.frame_of.size(), 0);
  frames_.assign(flow.frames.size(), 0);
  const int64_t max_steps = kMinSteps + kStepsPerNode * static_cast<int64_t>(flow.order.size());
  for (const Node* node : flow.order) {
    Place(node, flow);
    if (steps_ <= max_steps) continue;
    given_up_at_ = node;
    nodes_.assign(nodes_.size(), 0);
    frames_.assign(frames_.size(), 0);
    links_.resize(1);
    interned_.clear();
    deciders_.clear();
    return;
  }
}

BranchContexts::Context BranchContexts::Extend(Context outer, const Branch& branch) {
  if (Has(outer, branch)) return outer;
  const auto key = std::make_pair(outer, std::make_pair(branch.predicate, branch.side));
  const auto [it, added] = interned_.try_emplace(key, static_cast<Context>(links_.size()));
  if (added) links_.push_back(Link{outer, branch, links_[outer].depth + 1});
  return it->second;
}

bool BranchContexts::Has(Context context, const Branch& branch) const {
  for (; context != 0; context = links_[context].outer) {
    ++steps_;
    if (links_[context].branch == branch) return true;
  }
  return false;
}

bool BranchContexts::IsIn(Output tensor, const Branch& branch) const {
  return Has(Of(tensor), Branch{BehindIdentities(branch.predicate), branch.side});
}

bool BranchContexts::Contains(Context inner, Context outer) const {
  Context at = inner;
  for (; links_[at].depth > links_[outer].depth; at = links_[at].outer) ++steps_;
  if (at == outer) return true;
  for (Context c = outer; c != 0; c = links_[c].outer) {
    if (!Has(inner, links_[c].branch)) return false;
  }
  return true;
}

BranchContexts::Context BranchContexts::Union(Context a, Context b) {
  if (a == b || b == 0) return a;
  if (a == 0) return b;
  if (links_[a].depth < links_[b].depth) std::swap(a, b);
  if (Contains(a, b)) return a;
  for (const Branch& branch : Branches(b)) a = Extend(a, branch);
  return a;
}

std::vector<Branch> BranchContexts::Branches(Context context) const {
  std::vector<Branch> branches;
  for (; context != 0; context = links_[context].outer) branches.push_back(links_[context].branch);
  std::reverse(branches.begin(), branches.end());
  return branches;
}

BranchContexts::Context BranchContexts::Of(Output tensor) const {
  const Node* node = tensor.node();
  if (node->id() >= static_cast<int>(nodes_.size())) return 0;
  const Context context = nodes_[node->id()];
  if (!IsBranchSwitch(*node)) return context;
  // Interned when the Switch was placed.
  const auto it =
      interned_.find(std::make_pair(context, std::make_pair(BehindIdentities(node->input(1)), tensor.index() == 1)));
  return it == interned_.end() ? context : it->second;
}

Branch BranchContexts::Decider(const Node* merge) const {
  const auto it = deciders_.find(merge);
  return it == deciders_.end() ? Branch() : it->second;
}

BranchContexts::Context BranchContexts::OfMerge(const Node* merge) {
  if (merge->num_inputs() != 2) return 0;
  const Context first = Of(merge->input(0));
  const Context second = Of(merge->input(1));
  // The innermost predicate on whose sides the two inputs stand.
  for (Context c = second; c != 0; c = links_[c].outer) {
    const Branch& branch = links_[c].branch;
    if (!Has(first, Branch{branch.predicate, !branch.side})) continue;
    deciders_.emplace(merge, branch);
    return links_[c].outer;
  }
  return 0;
}

void BranchContexts::Place(const Node* node, const ControlFlow& flow) {
  Context context = 0;
  const int frame = flow.frame_of[node->id()];
  if (IsBranchMerge(*node)) {
    context = OfMerge(node);
  } else if (IsExit(*node)) {
    context = frame == kRootFrame ? 0 : frames_[frame];
  } else if (!IsMerge(*node) && node->op() != "ControlTrigger") {  // which is never dead
    for (int i = 0; i < node->num_inputs(); ++i) {
      if (node->input(i)) context = Union(context, Of(node->input(i)));
    }
    if (node->num_control_inputs() > 0) {
      for (const Node* source : node->control_inputs()) context = Union(context, nodes_[source->id()]);
    }
  }
  if (IsEnter(*node)) {
    if (frame != kRootFrame) frames_[frame] = Union(frames_[frame], context);
    context = 0;
  }
  nodes_[node->id()] = context;
  if (IsBranchSwitch(*node)) {
    const Output predicate = BehindIdentities(node->input(1));
    for (const bool side : {false, true}) {
      // A Switch inside its own branch leads nowhere on the other side.
      if (!Has(context, Branch{predicate, side})) Extend(context, Branch{predicate, side});
    }
  }
}

}  // namespace nabla

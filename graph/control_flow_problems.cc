#include "nabla/graph/control_flow_problems.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "nabla/graph/branch_contexts.h"
#include "nabla/graph/control_flow.h"
#include "nabla/graph/error_text.h"

namespace nabla {
namespace {

// So many branches around a tensor are looked at to see whether it contradicts another.
constexpr int kMaxBranches = 64;

std::string Label(const Node& node) { return absl::StrCat("node '", node.name(), "' (op ", node.op(), ")"); }

// A node before `end_id` enters a frame of this name.
bool HasFrame(const Graph& graph, const std::string& name, int end_id) {
  for (int id = 0; id < end_id; ++id) {
    const Node* node = graph.node(id);
    if (node != nullptr && IsEnter(*node) && node->GetAttr<std::string>("frame_name") == name) return true;
  }
  return false;
}

// TensorFlow takes such a file, yet what was left out is hardly ever meant to be.
// What stands before `first_id` may have a part of the frame, Exits too.
void FindFramesWithoutExit(const Graph& graph, const ControlFlow& flow, int first_id,
                           std::vector<std::string>* problems) {
  for (const Frame& frame : flow.frames) {
    if (std::any_of(frame.nodes.begin(), frame.nodes.end(), [](const Node* node) { return IsExit(*node); })) continue;
    const auto enter =
        std::find_if(frame.nodes.begin(), frame.nodes.end(), [](const Node* node) { return IsEnter(*node); });
    if (enter == frame.nodes.end() || (*enter)->id() < first_id) continue;
    if (HasFrame(graph, frame.name, first_id)) continue;
    problems->push_back(absl::StrCat(Label(**enter), " opens the frame ", Quoted(frame.name),
                                     ", which nothing leaves, expected an Exit (if it is to run for its effects only, ",
                                     "import with allow_unsupported)"));
  }
}

// The predicate that one of the contexts has true and the other false, or none.
Output Contradiction(const BranchContexts& contexts, BranchContexts::Context a, BranchContexts::Context b) {
  if (a == 0 || b == 0 || a == b) return Output();
  if (contexts.Depth(a) > kMaxBranches || contexts.Depth(b) > kMaxBranches) return Output();
  if (contexts.Contains(a, b) || contexts.Contains(b, a)) return Output();
  const std::vector<Branch> first = contexts.Branches(a), second = contexts.Branches(b);
  for (const Branch& branch : first) {
    const Branch opposite{branch.predicate, !branch.side};
    if (std::find(second.begin(), second.end(), opposite) != second.end()) return branch.predicate;
  }
  return Output();
}

void CheckMerge(const Node& merge, const BranchContexts& contexts, std::vector<std::string>* problems) {
  for (int i = 1; i < merge.num_inputs(); ++i) {
    if (contexts.Of(merge.input(i)) != contexts.Of(merge.input(0))) continue;
    problems->push_back(absl::StrCat(Label(merge), " joins '", merge.input(0).name(), "' and '", merge.input(i).name(),
                                     "', which are alive together, expected the two sides of a Switch"));
    return;
  }
}

void CheckAlive(const Node& node, const ControlFlow& flow, const BranchContexts& contexts,
                std::vector<std::string>* problems) {
  for (int i = 1; i < node.num_inputs(); ++i) {
    if (!node.input(i) || !node.input(0)) continue;
    if (flow.frame_of[node.input(i).node()->id()] != flow.frame_of[node.input(0).node()->id()]) continue;
    const Output predicate = Contradiction(contexts, contexts.Of(node.input(0)), contexts.Of(node.input(i)));
    if (!predicate) continue;
    problems->push_back(absl::StrCat(Label(node), " needs both '", node.input(0).name(), "' and '",
                                     node.input(i).name(), "', the sides of a Switch by '", predicate.name(),
                                     "', expected a Merge of them"));
    return;
  }
}

}  // namespace

std::vector<std::string> FindControlFlowProblems(const Graph& graph, int first_id) {
  const auto lock = graph.Lock();
  ControlFlow flow = AnalyzeControlFlow(graph, first_id);
  std::vector<std::string> problems = std::move(flow.problems);
  FindFramesWithoutExit(graph, flow, first_id, &problems);
  const bool branches = !flow.conditionals.empty() || std::any_of(flow.order.begin(), flow.order.end(),
                                                                  [](Node* node) { return IsBranchMerge(*node); });
  // Branches are only clear where frames are.
  if (!branches || !problems.empty()) return problems;
  const BranchContexts contexts(flow);
  if (contexts.given_up_at() != nullptr) {
    return {
        absl::StrCat(Label(*contexts.given_up_at()), " is in more branches inside each other than can be told apart")};
  }
  for (int id = first_id; id < graph.num_node_ids(); ++id) {
    const Node* node = graph.node(id);
    if (node == nullptr) continue;
    if (IsBranchMerge(*node)) {
      CheckMerge(*node, contexts, &problems);
    } else if (!IsMerge(*node)) {
      CheckAlive(*node, flow, contexts, &problems);
    }
  }
  return problems;
}

}  // namespace nabla

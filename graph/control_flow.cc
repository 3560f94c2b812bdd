#include "nabla/graph/control_flow.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "nabla/graph/branch_contexts.h"
#include "nabla/graph/error_text.h"

namespace nabla {
namespace {

std::string Label(const Node& node) { return absl::StrCat("node '", node.name(), "' (op ", node.op(), ")"); }

// The nodes with ids from `first_id` on and all that they depend on, each after its inputs.
std::vector<Node*> NodesFrom(const Graph& graph, int first_id) {
  if (first_id == 0) return graph.TopologicalOrder();
  std::vector<Node*> part;
  std::vector<bool> seen(graph.num_node_ids());
  const auto visit = [&](Node* node) {
    if (node == nullptr || seen[node->id()]) return;
    seen[node->id()] = true;
    part.push_back(node);
  };
  for (int id = first_id; id < graph.num_node_ids(); ++id) visit(graph.node(id));
  bool by_id = true;
  for (size_t next = 0; next < part.size(); ++next) {
    Node* const node = part[next];
    for (int i = 0; i < node->num_inputs(); ++i) {
      Node* const source = node->input(i).node();
      visit(source);
      if (source == nullptr || (IsMerge(*node) && IsNextIteration(*source))) continue;
      by_id = by_id && source->id() < node->id();
    }
    if (node->num_control_inputs() == 0) continue;
    for (Node* source : node->control_inputs()) {
      visit(source);
      by_id = by_id && source->id() < node->id();
    }
  }
  if (by_id) {
    std::sort(part.begin(), part.end(), [](Node* a, Node* b) { return a->id() < b->id(); });
    return part;
  }
  part = graph.TopologicalOrder();  // a pass has redirected an edge to a later node
  part.erase(std::remove_if(part.begin(), part.end(), [&](Node* node) { return !seen[node->id()]; }), part.end());
  return part;
}

class Analyzer {
 public:
  Analyzer(const Graph& graph, int first_id) : graph_(graph), first_id_(first_id) {}

  ControlFlow Run() {
    flow_.order = NodesFrom(graph_, first_id_);
    flow_.frame_of.assign(graph_.num_node_ids(), kRootFrame);
    for (Node* node : flow_.order) Place(node);
    for (Frame& frame : flow_.frames) {
      std::sort(frame.nodes.begin(), frame.nodes.end(), [](Node* a, Node* b) { return a->id() < b->id(); });
      frame.num_body_nodes = static_cast<int>(frame.nodes.size());
    }
    for (size_t f = 0; f < flow_.frames.size(); ++f) FindLoop(static_cast<int>(f));
    if (!flow_.frames.empty()) FindFramesThatWaitForThemselves();
    FindConditionals();
    return std::move(flow_);
  }

 private:
  void Report(const Node& node, absl::string_view what) {
    if (node.id() >= first_id_) flow_.problems.push_back(absl::StrCat(Label(node), what));
  }

  const std::string& FrameName(int frame) const {
    static const std::string* const kRoot = new std::string("the root");
    return frame == kRootFrame ? *kRoot : flow_.frames[frame].name;
  }

  // The frame of what leaves a node.
  int OutputFrame(const Node& source) {
    const int frame = flow_.frame_of[source.id()];
    return IsExit(source) && frame != kRootFrame ? flow_.frames[frame].parent : frame;
  }

  void Place(Node* node) {
    int frame = kRootFrame;
    bool found = false;
    bool conflict = false;
    const auto consider = [&](const Node* source) {
      const int from = OutputFrame(*source);
      if (!found) {
        frame = from;
        found = true;
      } else if (from != frame) {
        if (!conflict) {
          Report(*node, absl::StrCat(" has inputs from the frames ", Quoted(FrameName(std::min(frame, from))), " and ",
                                     Quoted(FrameName(std::max(frame, from))),
                                     ", expected an Enter into a frame and an Exit out of it"));
        }
        conflict = true;
        // Frames are numbered from the outside in, so this is the inner one, if either is inside the other.
        frame = std::max(frame, from);
      }
    };
    const bool is_merge = IsMerge(*node);
    for (int i = 0; i < node->num_inputs(); ++i) {
      const Node* source = node->input(i).node();
      if (source != nullptr && !(is_merge && IsNextIteration(*source))) consider(source);
    }
    if (node->num_control_inputs() > 0) {
      for (const Node* source : node->control_inputs()) consider(source);
    }
    if (IsEnter(*node)) frame = Enter(node, frame);
    if (frame == kRootFrame) CheckOutside(*node);
    flow_.frame_of[node->id()] = frame;
    if (frame != kRootFrame) flow_.frames[frame].nodes.push_back(node);
  }

  static bool ClosesLoop(const Node& next_iteration) {
    for (const Edge& edge : next_iteration.consumers()) {
      if (IsBackEdge(edge)) return true;
    }
    return false;
  }

  // What has a meaning in frames only.
  void CheckOutside(const Node& node) {
    if (IsExit(node)) Report(node, " leaves a frame, but is in none");
    if (IsNextIteration(node) && !ClosesLoop(node)) {
      Report(node, " begins an iteration, but is in no frame, expected an Enter before it");
    }
    if (IsLoopCond(node)) Report(node, " decides on a loop, but is in no frame, expected an Enter before it");
    if (!IsMerge(node)) return;
    for (int i = 0; i < node.num_inputs(); ++i) {
      const Node* source = node.input(i).node();
      if (source != nullptr && IsNextIteration(*source)) {
        return Report(node, absl::StrCat(" closes a loop with '", source->name(),
                                         "', but is in no frame, expected an Enter before it"));
      }
    }
  }

  int Enter(Node* node, int parent) {
    const std::string* name = node->attr<std::string>("frame_name");
    if (name == nullptr || name->empty()) {
      Report(*node, " has no frame_name");
    }
    const auto [it, added] = frames_.try_emplace(std::make_pair(parent, name == nullptr ? std::string() : *name),
                                                 static_cast<int>(flow_.frames.size()));
    if (added) {
      Frame frame;
      frame.name = it->first.second;
      frame.parent = parent;
      if (const int64_t* parallel = node->attr<int64_t>("parallel_iterations")) frame.parallel_iterations = *parallel;
      flow_.frames.push_back(std::move(frame));
      const auto [other, first] = parents_.try_emplace(it->first.second, parent);
      if (!first) {
        Report(*node, absl::StrCat(" opens the frame ", Quoted(it->first.second), " inside ", Quoted(FrameName(parent)),
                                   ", but another Enter opens it inside ", Quoted(FrameName(other->second)),
                                   ", expected one parent for one name"));
      }
    }
    const bool* is_constant = node->attr<bool>("is_constant");
    if (is_constant != nullptr && *is_constant) flow_.frames[it->second].invariants.push_back(node);
    return it->second;
  }

  // An Exit's value, through Identities, comes from the side of a Switch that is taken when the loop ends.
  static bool LeavesAtEnd(const Node& exit, const Node& loop_cond) {
    const Output value = exit.num_inputs() > 0 ? BehindIdentities(exit.input(0)) : Output();
    return value && IsSwitch(*value.node()) && value.index() == 0 && value.node()->num_inputs() > 1 &&
           value.node()->input(1).node() == &loop_cond;
  }

  void FindLoop(int f) {
    Frame& frame = flow_.frames[f];
    bool malformed = false;
    const auto problem = [&](const Node& node, absl::string_view what) {
      malformed = true;
      Report(node, absl::StrCat(" in frame ", Quoted(frame.name), what));
    };
    for (Node* node : frame.nodes) {
      if (IsLoopCond(*node)) {
        if (frame.loop_cond != nullptr) problem(*node, ": the frame has another LoopCond");
        if (frame.loop_cond == nullptr) frame.loop_cond = node;
        --frame.num_body_nodes;
      } else if (IsEnter(*node) || IsExit(*node) || IsNextIteration(*node)) {
        --frame.num_body_nodes;
      }
      if (IsNextIteration(*node) && !ClosesLoop(*node)) problem(*node, " goes to no Merge");
    }
    for (Node* node : frame.nodes) {
      if (IsExit(*node) && frame.loop_cond != nullptr && !LeavesAtEnd(*node, *frame.loop_cond)) {
        problem(*node,
                " hands out a value while the loop goes on, expected the false output of a Switch by its LoopCond");
      }
      if (IsEnter(*node) && frame.loop_cond != nullptr) CheckReaders(*node, frame);
      if (!IsMerge(*node)) continue;
      LoopVariable variable;
      variable.merge = node;
      for (int i = 0; i < node->num_inputs(); ++i) {
        Node* source = node->input(i).node();
        if (source == nullptr) continue;
        if (IsEnter(*source) && flow_.frame_of[source->id()] == f) variable.enter = source;
        if (IsNextIteration(*source)) variable.next_iteration = source;
      }
      if (variable.next_iteration == nullptr) continue;  // of a conditional
      --frame.num_body_nodes;
      if (node->num_inputs() != 2) {
        problem(*node, absl::StrCat(" has ", node->num_inputs(),
                                    " inputs, expected an Enter and a NextIteration, as it closes a loop"));
        continue;
      }
      if (flow_.frame_of[variable.next_iteration->id()] != f) {
        problem(*node, absl::StrCat(": the back edge comes from frame ",
                                    Quoted(FrameName(flow_.frame_of[variable.next_iteration->id()]))));
        continue;
      }
      if (variable.enter == nullptr) {
        problem(*node, " has a back edge, but no Enter of the frame before it");
        continue;
      }
      for (const Edge& edge : node->consumers()) {
        if (edge.IsControl() || edge.source_index != 0 || edge.input != 0 || !IsSwitch(*edge.consumer)) continue;
        const Node* predicate = edge.consumer->num_inputs() > 1 ? edge.consumer->input(1).node() : nullptr;
        if (predicate == nullptr || predicate != frame.loop_cond || variable.switch_node != nullptr) continue;
        variable.switch_node = edge.consumer;
        loop_switches_.insert(edge.consumer);
        --frame.num_body_nodes;
      }
      if (variable.switch_node != nullptr) {
        for (const Edge& edge : variable.switch_node->consumers()) {
          if (edge.IsControl() || edge.source_index != 0 || !IsExit(*edge.consumer)) continue;
          if (variable.exit == nullptr) variable.exit = edge.consumer;
        }
      } else {
        problem(*node, " has a back edge, but no Switch by the frame's LoopCond after it");
      }
      frame.variables.push_back(variable);
    }
    if (frame.loop_cond != nullptr && frame.variables.empty() && !malformed) {
      problem(*frame.loop_cond, ": the frame has no loop variable, expected a Merge of an Enter and a NextIteration");
    }
  }

  // What is there in the first iteration only is for Merges, which have something else in the later ones.
  void CheckReaders(const Node& enter, const Frame& frame) {
    const bool* is_constant = enter.attr<bool>("is_constant");
    if (is_constant != nullptr && *is_constant) return;
    for (const Edge& edge : enter.consumers()) {
      if (edge.IsControl() || IsMerge(*edge.consumer)) continue;
      Report(*edge.consumer, absl::StrCat(" reads '", enter.name(), "', which only the first iteration of the loop ",
                                          Quoted(frame.name), " has, expected a Merge or is_constant"));
    }
  }

  // A frame begins when all of its Enters are there, so none of them may wait for an Exit of the same frame: takes away
  // what waits for nothing, as in a topological sort, with an edge from each Enter to its frame and from there to each
  // Exit.
  void FindFramesThatWaitForThemselves() {
    const int num_ids = graph_.num_node_ids();
    std::vector<int> waiting(num_ids, 0);
    std::vector<int> entering(flow_.frames.size(), 0);
    std::vector<std::vector<const Node*>> exits(flow_.frames.size());
    std::vector<const Node*> ready;
    for (const Node* node : flow_.order) {
      int& count = waiting[node->id()];
      const int frame = flow_.frame_of[node->id()];
      for (int i = 0; i < node->num_inputs(); ++i) {
        const Node* source = node->input(i).node();
        if (source != nullptr && !(IsMerge(*node) && IsNextIteration(*source))) ++count;
      }
      count += node->num_control_inputs();
      if (IsEnter(*node)) ++entering[frame];
      if (IsExit(*node) && frame != kRootFrame) {
        ++count;
        exits[frame].push_back(node);
      }
      if (count == 0) ready.push_back(node);
    }
    const auto done = [&](const Node* node) {
      if (--waiting[node->id()] == 0) ready.push_back(node);
    };
    size_t left = flow_.order.size();
    for (; !ready.empty(); --left) {
      const Node* node = ready.back();
      ready.pop_back();
      for (const Edge& edge : node->consumers()) {
        if (!IsBackEdge(edge)) done(edge.consumer);
      }
      const int frame = flow_.frame_of[node->id()];
      if (!IsEnter(*node) || --entering[frame] > 0) continue;
      for (const Node* exit : exits[frame]) done(exit);
    }
    if (left == 0) return;
    for (const Node* node : flow_.order) {
      if (!IsEnter(*node) || waiting[node->id()] == 0 || node->id() < first_id_) continue;
      return Report(*node,
                    absl::StrCat(" waits for what comes out of a loop that waits for it: the loop ",
                                 Quoted(FrameName(flow_.frame_of[node->id()])), " waits for a result of its own"));
    }
  }

  void FindConditionals() {
    std::vector<Node*> switches;
    for (Node* node : flow_.order) {
      if (!IsSwitch(*node) || node->num_inputs() < 2 || !node->input(1) || loop_switches_.contains(node)) continue;
      switches.push_back(node);
    }
    std::sort(switches.begin(), switches.end(), [](Node* a, Node* b) { return a->id() < b->id(); });
    absl::flat_hash_map<Output, size_t> by_predicate;
    for (Node* node : switches) {
      const auto [it, added] = by_predicate.try_emplace(node->input(1), flow_.conditionals.size());
      if (added) flow_.conditionals.push_back(Conditional{node->input(1), {}});
      flow_.conditionals[it->second].switches.push_back(node);
    }
  }

  const Graph& graph_;
  const int first_id_;
  ControlFlow flow_;
  std::map<std::pair<int, std::string>, int> frames_;  // (parent, name) -> frame
  std::map<std::string, int> parents_;                 // name -> parent of the first frame of that name
  absl::flat_hash_set<const Node*> loop_switches_;
};

}  // namespace

bool IsEnter(const Node& node) { return node.op() == "Enter" || node.op() == "RefEnter"; }
bool IsExit(const Node& node) { return node.op() == "Exit" || node.op() == "RefExit"; }
bool IsMerge(const Node& node) { return node.op() == "Merge" || node.op() == "RefMerge"; }
bool IsSwitch(const Node& node) { return node.op() == "Switch" || node.op() == "RefSwitch"; }
bool IsNextIteration(const Node& node) { return node.op() == "NextIteration" || node.op() == "RefNextIteration"; }
bool IsLoopCond(const Node& node) { return node.op() == "LoopCond"; }

bool IsBackEdge(const Edge& edge) {
  return !edge.IsControl() && edge.source != nullptr && IsMerge(*edge.consumer) && IsNextIteration(*edge.source);
}

ControlFlow AnalyzeControlFlow(const Graph& graph, int first_id) {
  const auto lock = graph.Lock();
  return Analyzer(graph, first_id).Run();
}

}  // namespace nabla

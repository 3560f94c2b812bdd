// Loops and conditionals, recovered from the graph alone.
//
//   ControlFlow flow = AnalyzeControlFlow(graph);
//   for (const Frame& frame : flow.frames) … frame.variables.size() …
//
// A frame is what Enter nodes of one frame_name open; the nodes that are reached from them, up to the Exits, are in it.
// A loop variable is the chain Enter -> Merge -> Switch -> (body) -> NextIteration -> Merge, with an Exit at the
// Switch's false side. Any graph can be analyzed, malformed ones and those with unknown ops included: what does not
// fit is described in `problems`. Takes linear time; no recursion.
#ifndef NABLA_GRAPH_CONTROL_FLOW_H_
#define NABLA_GRAPH_CONTROL_FLOW_H_

#include <cstdint>
#include <string>
#include <vector>

#include "nabla/graph/graph.h"

namespace nabla {

// "Enter" and "RefEnter", and so on.
bool IsEnter(const Node& node);
bool IsExit(const Node& node);
bool IsMerge(const Node& node);
bool IsSwitch(const Node& node);
bool IsNextIteration(const Node& node);
bool IsLoopCond(const Node& node);
// From a NextIteration to a Merge, where a loop closes.
bool IsBackEdge(const Edge& edge);

// A value that an iteration hands to the next. Only `enter` and `merge` are always there.
struct LoopVariable {
  Node* enter = nullptr;
  Node* merge = nullptr;
  Node* switch_node = nullptr;
  Node* next_iteration = nullptr;
  Node* exit = nullptr;
};

inline constexpr int kRootFrame = -1;

struct Frame {
  std::string name;
  int parent = kRootFrame;  // index into ControlFlow::frames
  int64_t parallel_iterations = 0;
  std::vector<LoopVariable> variables;
  std::vector<Node*> invariants;  // Enters with is_constant
  Node* loop_cond = nullptr;      // nullptr: runs once, or malformed
  std::vector<Node*> nodes;       // all of this frame, not of frames inside it, by id
  int num_body_nodes = 0;         // of these, the ones that are no part of the loop's machinery
};

// What one predicate switches, outside of loops' machinery.
struct Conditional {
  Output predicate;
  std::vector<Node*> switches;
};

struct ControlFlow {
  std::vector<Node*> order;               // what was analyzed, each node after its inputs, back edges aside
  std::vector<Frame> frames;              // a frame stands after its parent
  std::vector<int> frame_of;              // by node id; kRootFrame outside of all. Enter and Exit belong to their loop
  std::vector<Conditional> conditionals;  // by the id of the first Switch
  // "node 'a' (op Add) has inputs from the frames 'x' and 'y'", …; each fit for an error.
  std::vector<std::string> problems;
};

// Thread safety: locks the graph while it works; the result is valid while the graph does not change. With a
// `first_id`, only of the nodes with ids from there on and of what they depend on; the problems are those of the
// former.
ControlFlow AnalyzeControlFlow(const Graph& graph, int first_id = 0);

}  // namespace nabla

#endif  // NABLA_GRAPH_CONTROL_FLOW_H_

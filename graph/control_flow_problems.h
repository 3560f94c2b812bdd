// What is wrong with a whole graph's loops and branches: what AnalyzeControlFlow describes, and what only the whole can
// be blamed for. A part of a graph, such as one run needs, may lack a frame's Exits.
#ifndef NABLA_GRAPH_CONTROL_FLOW_PROBLEMS_H_
#define NABLA_GRAPH_CONTROL_FLOW_PROBLEMS_H_

#include <string>
#include <vector>

#include "nabla/graph/graph.h"

namespace nabla {

// One line each, naming the node, what is wrong and what was expected. Besides ControlFlow::problems:
// - a frame that no Exit leaves (it could still run, for its effects, if a run has a target in it),
// - a Merge of values that are alive together, so that none of them is the one to take,
// - a node with inputs from both sides of one Switch, which is never alive.
// Only problems of nodes with ids from `first_id` on; no more of the graph is looked at than what these depend on.
// Thread safety: locks the graph.
std::vector<std::string> FindControlFlowProblems(const Graph& graph, int first_id = 0);

}  // namespace nabla

#endif  // NABLA_GRAPH_CONTROL_FLOW_PROBLEMS_H_

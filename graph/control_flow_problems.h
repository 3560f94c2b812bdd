// What is wrong with a graph's loops and branches: what AnalyzeControlFlow describes, and what keeps branches apart. A
// frame may lack Exits: such a loop runs if a node in it is a run's target, and for its effects only.
#ifndef NABLA_GRAPH_CONTROL_FLOW_PROBLEMS_H_
#define NABLA_GRAPH_CONTROL_FLOW_PROBLEMS_H_

#include <string>
#include <vector>

#include "nabla/graph/graph.h"

namespace nabla {

// One line each, naming the node, what is wrong and what was expected. Besides ControlFlow::problems:
// - a Merge of values that are alive together, so that none of them is the one to take,
// - a node with inputs from both sides of one Switch, which is never alive.
// Only problems of nodes with ids from `first_id` on; no more of the graph is looked at than what these depend on.
// Thread safety: locks the graph.
std::vector<std::string> FindControlFlowProblems(const Graph& graph, int first_id = 0);

}  // namespace nabla

#endif  // NABLA_GRAPH_CONTROL_FLOW_PROBLEMS_H_

// Expanding calls of functions: a node that calls becomes an IdentityN over the results of the body's nodes.
//
//   NABLA_RETURN_IF_ERROR(ExpandCalls(&graph, CallsIn(graph)));
//
// The call node is changed in place (Graph::Morph), so its name, its outputs and whoever holds them stay valid: it is
// an IdentityN, an Identity if it has one output, a NoOp if it has none. The body's nodes are called
// "<call>/<name in the body>". What the call waited for, the body's nodes without inputs wait for; what has effects in
// the body, the former call waits for, so that effects keep their order. Nodes that the body does not place get the
// call's device.
//
// Ops that use functions otherwise than by calling them with their inputs have expanders (graph/call_expander.h).
// Thread safety: everything here locks the graph.
#ifndef NABLA_GRAPH_INLINE_H_
#define NABLA_GRAPH_INLINE_H_

#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "nabla/graph/graph.h"

namespace nabla {

// Whether the node stands for what functions compute: a plain call, or an op that has an expander.
bool IsCall(const Node& node);
// The function that the node calls with its inputs: PartitionedCall, StatefulPartitionedCall, or a function's name as
// the op. nullopt for all else, ops that call functions in another way (While, SymbolicGradient) among them.
absl::optional<FunctionRef> CalledFunction(const Node& node);

// In order of ids.
std::vector<Node*> CallsIn(const Graph& graph);

// Expands these calls, the calls in what they expand to, and so on; calls that `keep` holds of are left alone. Errors,
// which name the call: InvalidArgument for functions that call themselves, with the chain; ResourceExhausted for more
// than kMaxExpandedNodes nodes, kMaxExpandedEdges inputs of nodes or kMaxExpandedNameBytes of names; what the
// functions' bodies are refused for. On an error some calls may be expanded; the graph computes the same as before.
absl::Status ExpandCalls(Graph* graph, std::vector<Node*> calls, const std::function<bool(const Node&)>& keep = {});

// What calls may add to a graph, since a few functions that call each other can describe any number of nodes.
inline constexpr int kMaxExpandedNodes = 1 << 20;
// The same for their inputs, and for the length of their names, which say by which calls a node came about.
inline constexpr int64_t kMaxExpandedEdges = int64_t{1} << 23;
inline constexpr int64_t kMaxExpandedNameBytes = int64_t{1} << 28;

}  // namespace nabla

#endif  // NABLA_GRAPH_INLINE_H_

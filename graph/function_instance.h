// The nodes of a function's body, added to a graph.
//
//   NABLA_ASSIGN_OR_RETURN(FunctionInstance body, InstantiateFunction(graph, {"Cube"}, {x}, {.prefix = "call"}));
//   body.results[0];  // of a node called "call/…"
//
// What lowers an op that calls functions (a call, While, If, …) to nodes is made of this.
#ifndef NABLA_GRAPH_FUNCTION_INSTANCE_H_
#define NABLA_GRAPH_FUNCTION_INSTANCE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nabla/graph/graph.h"

namespace nabla {

struct InstanceOptions {
  // Nodes are called "<prefix>/<name in the body>"; "" for no prefix.
  std::string prefix;
  // What depends on no node of the body waits for these.
  std::vector<Node*> control_inputs;
  // Of nodes that the body does not place.
  std::string device;
  // For nodes that do not have an attr of that name.
  AttrMap attrs;
};

struct FunctionInstance {
  Outputs results;
  // What a call has to wait for beyond its results: the control outputs, or, if the signature names none, all nodes
  // with effects.
  std::vector<Node*> effects;
  std::vector<Node*> nodes;
};

// Adds the nodes of `function` to `graph`, with `arguments` in place of its inputs. Functions that it calls are called,
// not instantiated (see graph/inline.h for that). Frames and colocation are renamed as the nodes are. Errors: NotFound
// for a function that the graph's library does not have; InvalidArgument for arguments or attrs that do not fit the
// signature; what adding a node returns. On an error the graph is as it was, but for its version. Thread safety: locks
// the graph.
absl::StatusOr<FunctionInstance> InstantiateFunction(Graph* graph, const FunctionRef& function,
                                                     const Outputs& arguments, const InstanceOptions& options);

// Takes back what was added: removes `nodes`, in the order in which they were added, which nothing else may use. What
// cannot be removed stays. Locks the graph.
void RemoveNodes(Graph* graph, const std::vector<Node*>& nodes);

}  // namespace nabla

#endif  // NABLA_GRAPH_FUNCTION_INSTANCE_H_

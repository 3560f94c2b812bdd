// The ops that use functions in a way of their own (While, SymbolicGradient, …), and how a node of each is replaced, in
// place, by other nodes. Plain calls need no entry here: graph/inline.h knows them.
//
//   CallExpanders::Global().Add("If", [](Graph* graph, Node* node, bool among_control_flow) -> absl::Status { … });
//
// An expander adds the nodes it needs (graph/function_instance.h for a function's body), then makes `node` an Identity,
// IdentityN or NoOp of their results with Graph::Morph, so that whoever uses the node keeps doing so. It may leave
// other calls behind, which are expanded in turn. `among_control_flow`: there are loops or conditionals, in which a
// node without inputs must wait for something to run where `node` would (its first input will do). It finds the graph
// locked, and its functions checked: none calls itself. An error need not name the node; after one, `node` must be as
// it was.
#ifndef NABLA_GRAPH_CALL_EXPANDER_H_
#define NABLA_GRAPH_CALL_EXPANDER_H_

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "nabla/graph/graph.h"

namespace nabla {

using CallExpander = absl::Status (*)(Graph* graph, Node* node, bool among_control_flow);

// Expanders by op. Filled by nabla::Initialize() (SymbolicGradient's by RegisterAllGradients()), read from any thread
// afterwards.
class CallExpanders {
 public:
  static CallExpanders& Global();
  void Add(absl::string_view op, CallExpander expander);
  CallExpander Find(absl::string_view op) const;  // nullptr if there is none

 private:
  absl::flat_hash_map<std::string, CallExpander> expanders_;
};

}  // namespace nabla

#endif  // NABLA_GRAPH_CALL_EXPANDER_H_

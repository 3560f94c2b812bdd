// How the body of a function, a loop or a conditional takes in what was built outside it.
//
//   Scope body = scope.WithCapture(std::make_shared<LoopCapture>(…));
//   ops::Add(body, x, inside);   // asks the capture about x and `inside` first
//
// Every node that is added through such a scope has its operands and control inputs replaced by what the capture says.
// Captures nest: what the outermost one gives is what the next one is asked about, so that an operand from far outside
// is carried in one body at a time.
#ifndef NABLA_GRAPH_CAPTURE_H_
#define NABLA_GRAPH_CAPTURE_H_

#include "absl/status/statusor.h"
#include "nabla/graph/graph.h"

namespace nabla {

// Thread-compatible: a body is built by one thread at a time. Calls come before the new node has a name, so a capture
// may add nodes (through a scope without this capture).
class Capture {
 public:
  virtual ~Capture() = default;

  // What a node of the body uses in place of `source`: `source` itself if that belongs to the body. Same dtype, except
  // that a reference may become a value. An error is recorded in the scope, and the node is not added.
  virtual absl::StatusOr<Output> CaptureInput(Output source) = 0;
  // The same for a control input; nullptr if the node does not have to wait for it itself.
  virtual absl::StatusOr<Node*> CaptureControl(Node* source) = 0;
  // `node` was added to the body (`innermost`), or to a body inside it.
  virtual void Added(Node* /*node*/, bool /*innermost*/) {}

  // Whether tensors of that graph, which is not the body's, can be operands. Operators on them (ops/operators.h) then
  // add their nodes to the body. A loop's body lies in the graph around it, so it takes no other.
  virtual bool Captures(const Graph* /*graph*/) const { return false; }
};

}  // namespace nabla

#endif  // NABLA_GRAPH_CAPTURE_H_

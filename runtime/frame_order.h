// The order in which one thread runs the nodes of a graph with loops: a line in which each loop's body stands once,
// between a begin and an end.
#ifndef NABLA_RUNTIME_FRAME_ORDER_H_
#define NABLA_RUNTIME_FRAME_ORDER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "nabla/graph/control_flow.h"
#include "nabla/graph/graph.h"

namespace nabla {

struct FrameItem {
  enum class Kind : uint8_t { kNode, kBegin, kEnd };
  Kind kind;
  int frame;   // of the loop that begins or ends
  Node* node;  // of kNode
};

// All of `nodes`, each after what it waits for, as far as possible in order of ids; the nodes of a frame, and the
// frames inside it, stand between its begin and its end. Enter nodes are part of the begin and not listed. Constants
// that wait for nothing, and what is made of such alone, may be read in any frame. InvalidArgument, naming the loop, if
// a frame waits for what comes out of it, and if an edge leaves a frame other than through an Exit.
absl::StatusOr<std::vector<FrameItem>> OrderFrames(const std::vector<Node*>& nodes, const ControlFlow& flow);

}  // namespace nabla

#endif  // NABLA_RUNTIME_FRAME_ORDER_H_

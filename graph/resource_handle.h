// What the graph alone says about a resource handle: which variable it is of, and that variable's dtype and shape.
#ifndef NABLA_GRAPH_RESOURCE_HANDLE_H_
#define NABLA_GRAPH_RESOURCE_HANDLE_H_

#include "nabla/graph/graph.h"

namespace nabla {

struct ResourceInfo {
  // The VarHandleOp that made the handle; nullptr if that is unknown (the handle is fed, or comes from a function
  // argument). Two handles with the same node are of one variable.
  Node* node = nullptr;
  // Of the value. kInvalid and unknown if the node is.
  DType dtype = DType::kInvalid;
  Shape shape;
};

// Follows `handle` back through ops that pass it on (Identity, Switch, Enter, Merge, …) to the VarHandleOp. Bounded
// work, whatever the graph's depth.
ResourceInfo FindResource(Output handle);

}  // namespace nabla

#endif  // NABLA_GRAPH_RESOURCE_HANDLE_H_

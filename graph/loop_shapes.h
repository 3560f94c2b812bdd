// Static shapes in loops that were added node by node, and of what comes after them.
//
// A node's shape is inferred when it is added. A Merge that opens a loop is added before the NextIteration that closes
// it, so it gets no shape, and neither does anything that depends on it. Once the loop is closed, this finds the most
// that can be known, by iterating from an optimistic start: each loop variable is taken to keep the shape with which it
// enters, which the shape rules carry through the body; where what comes back says less or another thing, the
// variable's shape is weakened to what both have in common, and what depends on it is inferred again, until nothing
// changes.
#ifndef NABLA_GRAPH_LOOP_SHAPES_H_
#define NABLA_GRAPH_LOOP_SHAPES_H_

#include "nabla/graph/graph.h"

namespace nabla {

// Infers anew the shapes of all loop variables among the nodes with ids from `first_id` on, and of what depends on
// them. Each of these nodes must have been added after its inputs, back edges aside, and must have the shapes that its
// rule gave. What a rule refuses keeps the shape that it has. Never fails: where it would take long (a few visits to
// each node are enough for nested loops), the shapes stay as they are. Locks the graph.
void InferLoopShapes(Graph* graph, int first_id);

}  // namespace nabla

#endif  // NABLA_GRAPH_LOOP_SHAPES_H_

// The values of tensors that the graph alone determines, for shape inference and for gradients that need fewer nodes
// when shapes are static.
#ifndef NABLA_GRAPH_CONSTANT_VALUE_H_
#define NABLA_GRAPH_CONSTANT_VALUE_H_

#include "absl/types/optional.h"
#include "nabla/graph/graph.h"

namespace nabla {

// The value of `output` if it is a constant, or small integer (or bool) arithmetic on constants and static shapes:
// Shape, ShapeN, Size, Rank of a static shape; Identity, Cast, Pack, Concat(V2), Reshape, Squeeze, ExpandDims, Slice,
// StridedSlice, Gather(V2), Range, Fill, Add(V2), Sub, Mul, FloorDiv, FloorMod, Maximum, Minimum, Neg, Prod, Sum… of
// such. nullopt otherwise. Work is bounded (a depth and an element limit), not recursive on the graph's depth.
absl::optional<Tensor> ConstantValue(Output output);

// An integer vector read as a shape, unknown where an element is unknown: [?,3] for Pack([StridedSlice(Shape(x)), 3]).
// A -1 in it is unknown. Unknown rank if even the length is unknown.
Shape ConstantValueAsShape(Output output);

}  // namespace nabla

#endif  // NABLA_GRAPH_CONSTANT_VALUE_H_

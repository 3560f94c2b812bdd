// IndexedSlices as values: made dense, joined, mapped. Sparse gradients pass through rules with these.
#ifndef NABLA_GRADIENTS_INDEXED_SLICES_H_
#define NABLA_GRADIENTS_INDEXED_SLICES_H_

#include <vector>

#include "absl/status/status.h"
#include "nabla/gradients/gradient.h"
#include "nabla/graph/scope.h"

namespace nabla {

// The dense form of a gradient: UnsortedSegmentSum for slices, none for none. A warning is logged where that makes a
// tensor of 100,000,000 elements or more, or of a shape that only the run knows. Records an error for slices without
// dense_shape.
Output ToDense(const Scope& scope, const Gradient& gradient);

// All rows of all terms, duplicates kept. The indices are int64 if any term's are. Requires a term.
IndexedSlices ConcatenateSlices(const Scope& scope, const std::vector<IndexedSlices>& terms);

// The slices of params, of shape `params_shape` (an int32 vector), whose rows params[indices] have the gradient
// `grad`. Where that is slices itself, of rows of params[indices], it is flattened: no row is added up or filled in.
// `indices` may have any rank.
IndexedSlices GatheredSlices(const Scope& scope, Output params_shape, Output indices, const Gradient& grad);

// InvalidArgument unless the slices can be a gradient of a tensor of that shape: int32 or int64 indices in a vector,
// as many values, rows of the tensor's shape.
absl::Status CheckSlices(const IndexedSlices& slices, const Shape& shape);

}  // namespace nabla

#endif  // NABLA_GRADIENTS_INDEXED_SLICES_H_

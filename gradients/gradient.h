// The value of a gradient: none, a dense tensor, or IndexedSlices.
#ifndef NABLA_GRADIENTS_GRADIENT_H_
#define NABLA_GRADIENTS_GRADIENT_H_

#include <utility>
#include <vector>

#include "nabla/graph/graph.h"

namespace nabla {

// Rows of a tensor of shape `dense_shape` (an integer vector): row indices[i]
// gets values[i]; rows that occur several times add up, rows that do not occur
// are zero.
struct IndexedSlices {
  Output values;       // [n, ...]
  Output indices;      // [n], int32 or int64
  Output dense_shape;  // [rank]; none if unknown
};

// A value type, like the Outputs in it.
class Gradient {
 public:
  Gradient() = default;                                           // none: does not depend
  Gradient(Output dense) : dense_(dense) {}                       // NOLINT: rules return Outputs
  Gradient(IndexedSlices slices) : slices_(std::move(slices)) {}  // NOLINT

  bool none() const { return !dense_ && !slices_.values; }
  bool is_dense() const { return static_cast<bool>(dense_); }
  bool is_slices() const { return static_cast<bool>(slices_.values); }
  // None unless is_dense().
  Output dense() const { return dense_; }
  const IndexedSlices& slices() const { return slices_; }
  // Of the dense tensor or the slices' values; kInvalid if none.
  DType dtype() const { return is_dense() ? dense_.dtype() : is_slices() ? slices_.values.dtype() : DType::kInvalid; }

 private:
  Output dense_;
  IndexedSlices slices_;
};

using Grads = std::vector<Gradient>;

}  // namespace nabla

#endif  // NABLA_GRADIENTS_GRADIENT_H_

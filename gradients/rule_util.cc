#include "nabla/gradients/rule_util.h"

#include <numeric>

namespace nabla {

Output Conjugate(const Scope& scope, Output x) { return x && IsComplex(x.dtype()) ? ops::Conj(scope, x) : x; }

Input ShapeOperand(const Scope& scope, Output x, DType dtype) {
  if (!x.shape().IsFullyDefined()) return ops::Shape(scope, x, {.out_type = dtype});
  if (dtype == DType::kInt64) return Tensor::Vector<int64_t>(x.shape().dims());
  return Input(x.shape());
}

Output ShapeTensor(const Scope& scope, Output x) {
  Input shape = ShapeOperand(scope, x);
  return shape.is_constant() ? ops::Const(scope, shape) : shape.output();
}

Output ReshapeLike(const Scope& scope, Output value, Output x) {
  const Shape& shape = x.shape();
  if (!shape.has_rank()) return ops::Reshape(scope, value, ops::Shape(scope, x));
  if (value.shape().IsFullyDefined() && value.shape() == shape) return value;
  int unknown = 0;
  bool empty = false;
  for (int64_t dim : shape.dims()) {
    unknown += dim == kUnknownDim;
    empty |= dim == 0;
  }
  // Reshape works out one dimension from the number of elements, unless another
  // is 0.
  if (unknown == 0 || (unknown == 1 && !empty)) return ops::Reshape(scope, value, shape);
  return ops::Reshape(scope, value, ops::Shape(scope, x));
}

Output BroadcastLike(const Scope& scope, Output value, Output x) {
  if (value.shape().IsFullyDefined() && value.shape() == x.shape()) return value;
  return ops::BroadcastTo(scope, value, ShapeOperand(scope, x));
}

Input AllAxes(const Scope& scope, Output x) {
  if (!x.shape().has_rank()) return ops::Range(scope, 0, ops::Rank(scope, x), 1);
  std::vector<int64_t> axes(x.shape().rank());
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

Output SumAll(const Scope& scope, Output x) { return x.shape().IsScalar() ? x : ops::Sum(scope, x, AllAxes(scope, x)); }

}  // namespace nabla

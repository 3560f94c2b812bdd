// What several families of rules need: shapes as operands (constants where
// static), sums over everything.
#ifndef NABLA_GRADIENTS_RULE_UTIL_H_
#define NABLA_GRADIENTS_RULE_UTIL_H_

#include "nabla/gradients/rule.h"
#include "nabla/ops/ops.h"

namespace nabla {

// The complex conjugate; x itself if it is real.
Output Conjugate(const Scope& scope, Output x);

// x's shape as an integer vector operand: a constant where it is static, else a
// Shape node.
Input ShapeOperand(const Scope& scope, Output x, DType dtype = DType::kInt32);

// The same as a tensor: a Const or Shape node.
Output ShapeTensor(const Scope& scope, Output x);

// `value` with x's shape. The same number of elements is required; costs no
// Shape node if at most one of x's dimensions is unknown.
Output ReshapeLike(const Scope& scope, Output value, Output x);

// `value`, broadcastable to x's shape, broadcast to it.
Output BroadcastLike(const Scope& scope, Output value, Output x);

// A vector of all axes of x, for reductions to a scalar.
Input AllAxes(const Scope& scope, Output x);

// The sum of all elements.
Output SumAll(const Scope& scope, Output x);

}  // namespace nabla

#endif  // NABLA_GRADIENTS_RULE_UTIL_H_

// Constants: the builder of Const, which takes a value instead of an attr.
//
//   Output one = ops::Const(scope, 1);                          // int32
//   Output half = ops::Const(scope, 0.5, DType::kDouble);
//   Output axes = ops::Const(scope, {0, 2});                    // int32 [2]
//   Output w = ops::Const(scope, Tensor::Of<float>({2, 2}, {1, 2, 3, 4}));
//   Output zeros = ops::Const(scope, 0, DType::kFloat, Shape({3, 4}));
//
// Each call adds a node. On failure the scope keeps the error and none is returned.
#ifndef NABLA_OPS_CONST_H_
#define NABLA_OPS_CONST_H_

#include "nabla/graph/scope.h"

namespace nabla::ops {

// A number with a point is float, one without int32 (int64 if it needs that); tensors, strings and bools keep their
// dtype. `value` must not be an Output.
Output Const(const Scope& scope, Input value);

// The same with that dtype: numbers are converted (an error where one does not fit: 300 for uint8, 0.5 for int32),
// whatever else must have it already.
Output Const(const Scope& scope, Input value, DType dtype);

// A tensor of `shape`, which must be fully defined, whose elements all equal the one element of `value`.
Output Const(const Scope& scope, Input value, DType dtype, const nabla::Shape& shape);

}  // namespace nabla::ops

#endif  // NABLA_OPS_CONST_H_

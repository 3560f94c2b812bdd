// C++ numbers as operands: which dtype they may take, and the tensor of that dtype.
#ifndef NABLA_GRAPH_WEAK_CONSTANT_H_
#define NABLA_GRAPH_WEAK_CONSTANT_H_

#include "absl/status/statusor.h"
#include "nabla/graph/op_spec.h"
#include "nabla/graph/tensor.h"

namespace nabla {

// `value` (int64 or double, as graph/scope.h's Input keeps numbers) with that dtype. InvalidArgument where it does not
// fit: out of an integer's range, a fraction for an integer, or a dtype that is not of numbers. Floating types round.
absl::StatusOr<Tensor> ConvertWeakConstant(const Tensor& value, DType dtype);

// The dtype of a number that no other operand gives one to: float if it has a point; else int32, or int64 if it does
// not fit; or else the first that `attr`, which may be null, allows.
DType DefaultWeakDType(const Tensor& value, const AttrSpec* attr);

}  // namespace nabla

#endif  // NABLA_GRAPH_WEAK_CONSTANT_H_

// C++ numbers as operands: which dtype they may take, and the tensor of that dtype.
#ifndef NABLA_GRAPH_WEAK_CONSTANT_H_
#define NABLA_GRAPH_WEAK_CONSTANT_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "nabla/graph/op_spec.h"
#include "nabla/graph/tensor.h"

namespace nabla {

// `value` (int64 or double, as graph/scope.h's Input keeps numbers) with that dtype. InvalidArgument where it does not
// fit: out of an integer's range, a fraction for an integer, or a dtype that is not of numbers. Floating types round.
absl::StatusOr<Tensor> ConvertWeakConstant(const Tensor& value, DType dtype);

// The dtype of numbers that no other operand gives one to. `attr`, which may be null, is the attr that is to be found:
// its default if all of them fit it and none has a point while it is an integer type; else float if one of them has a
// point, int32 or else int64 if all fit; or else the first type that the attr allows.
DType DefaultWeakDType(absl::Span<const Tensor* const> values, const AttrSpec* attr);

}  // namespace nabla

#endif  // NABLA_GRAPH_WEAK_CONSTANT_H_

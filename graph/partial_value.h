// A small tensor of integers or bools of which some elements may be unknown, and the arithmetic on such: what static
// shapes are computed with (see graph/constant_value.h).
#ifndef NABLA_GRAPH_PARTIAL_VALUE_H_
#define NABLA_GRAPH_PARTIAL_VALUE_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "nabla/graph/dtype.h"
#include "nabla/graph/shape.h"
#include "nabla/graph/tensor.h"

namespace nabla {

// An element; nullopt if unknown. Bools are 0 and 1.
using PartialElement = absl::optional<int64_t>;

struct PartialValue {
  DType dtype = DType::kInvalid;
  Shape shape;  // fully defined
  std::vector<PartialElement> elements;

  // More is not worth knowing for a shape.
  static constexpr int64_t kMaxElements = 1024;
  // bool and the integers whose values all fit an int64.
  static bool Supports(DType dtype);

  // nullopt unless the dtype is supported and the shape is fully defined and small.
  static absl::optional<PartialValue> Unknown(DType dtype, const Shape& shape);
  static absl::optional<PartialValue> FromTensor(const Tensor& tensor);
  static PartialValue Scalar(DType dtype, PartialElement element) { return {dtype, Shape::Scalar(), {element}}; }
  static PartialValue Vector(DType dtype, std::vector<PartialElement> elements);

  bool IsKnown() const;
  // Requires IsKnown().
  std::vector<int64_t> Values() const;
  Tensor ToTensor() const;
};

// What a variable of that dtype holds after the assignment.
int64_t WrapToDType(DType dtype, int64_t value);

// All these give nullopt where shapes do not fit each other or too much would come out.

// op: Add Sub Mul FloorDiv … Less … LogicalAnd, as the ops are called; a division by zero is an unknown element.
absl::optional<PartialValue> PartialBinary(absl::string_view op, DType dtype, const PartialValue& a,
                                           const PartialValue& b);
// op: Neg Abs Sign Square LogicalNot Cast Identity.
absl::optional<PartialValue> PartialUnary(absl::string_view op, DType dtype, const PartialValue& a);
// op: Sum Prod Max Min All Any.
absl::optional<PartialValue> PartialReduce(absl::string_view op, const PartialValue& a,
                                           const std::vector<int64_t>& axes, bool keep_dims);
absl::optional<PartialValue> PartialReshape(PartialValue a, const Shape& shape);
absl::optional<PartialValue> PartialBroadcast(const PartialValue& a, const Shape& shape);
// Of parts that agree in all dimensions but `axis`.
absl::optional<PartialValue> PartialConcat(absl::Span<const PartialValue> parts, int64_t axis);
// Elements at `indices`, a tensor too, along `axis`.
absl::optional<PartialValue> PartialGather(const PartialValue& a, const PartialValue& indices, int64_t axis);
// From dimension d the indices begin, begin + stride, …; `shape` has as many elements in all.
struct PartialRange {
  int64_t begin;
  int64_t stride;
  int64_t size;
};
absl::optional<PartialValue> PartialTake(const PartialValue& a, absl::Span<const PartialRange> ranges,
                                         const Shape& shape);

}  // namespace nabla

#endif  // NABLA_GRAPH_PARTIAL_VALUE_H_

#include "nabla/ops/rule_util.h"

#include "absl/strings/str_cat.h"

namespace nabla {
namespace {

constexpr int64_t kMaxConstantInts = 1 << 20;

template <typename T>
std::vector<int64_t> Widen(const Tensor& tensor) {
  const absl::Span<const T> values = tensor.flat<T>();
  return std::vector<int64_t>(values.begin(), values.end());
}

}  // namespace

absl::optional<std::vector<int64_t>> ConstantInts(const ShapeContext& c, int i) {
  const absl::optional<Tensor> value = c.InputValue(i);
  if (!value.has_value() || value->num_elements() > kMaxConstantInts) return absl::nullopt;
  switch (value->dtype()) {
    case DType::kInt8:
      return Widen<int8_t>(*value);
    case DType::kInt16:
      return Widen<int16_t>(*value);
    case DType::kInt32:
      return Widen<int32_t>(*value);
    case DType::kInt64:
      return Widen<int64_t>(*value);
    case DType::kUInt8:
      return Widen<uint8_t>(*value);
    case DType::kUInt16:
      return Widen<uint16_t>(*value);
    default:
      return absl::nullopt;
  }
}

absl::StatusOr<absl::optional<int64_t>> ConstantScalar(const ShapeContext& c, int i, absl::string_view what) {
  const Shape& shape = c.input(i);
  const int64_t count = shape.num_elements();
  if ((count != kUnknownDim && count != 1) || shape.rank() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(what, " must be a scalar, got shape ", shape.ToString()));
  }
  const absl::optional<std::vector<int64_t>> values = ConstantInts(c, i);
  if (!values.has_value() || values->size() != 1) return absl::optional<int64_t>();
  return absl::optional<int64_t>((*values)[0]);
}

absl::Status SetCheckedOutput(ShapeContext& c, int i, const Shape& shape) {
  if (!shape.has_rank()) {
    c.SetOutput(i, shape);
    return absl::OkStatus();
  }
  NABLA_ASSIGN_OR_RETURN(Shape checked, Shape::FromDims(shape.dims(), /*allow_unknown=*/true));
  c.SetOutput(i, std::move(checked));
  return absl::OkStatus();
}

Shape SubShape(const Shape& shape, int begin, int end) { return Shape(shape.dims().subspan(begin, end - begin)); }

Shape ConcatShapes(const Shape& a, const Shape& b) {
  if (!a.has_rank() || !b.has_rank()) return Shape();
  Shape joined = a;
  for (int64_t dim : b.dims()) joined.AddDim(dim);
  return joined;
}

absl::StatusOr<int64_t> AddDims(int64_t a, int64_t b) {
  if (a == kUnknownDim || b == kUnknownDim) return kUnknownDim;
  int64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) {
    return absl::InvalidArgumentError(absl::StrCat("dimensions ", a, " and ", b, " add up to more than fits int64"));
  }
  return sum;
}

}  // namespace nabla

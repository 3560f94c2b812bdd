#include "nabla/graph/partial_value.h"

#include <algorithm>
#include <utility>

namespace nabla {
namespace {

template <typename T>
void ReadElements(const Tensor& tensor, std::vector<PartialElement>* elements) {
  for (T value : tensor.flat<T>()) elements->push_back(static_cast<int64_t>(value));
}

template <typename T>
Tensor WriteElements(const PartialValue& value) {
  Tensor tensor(value.dtype, value.shape);
  for (size_t i = 0; i < value.elements.size(); ++i) tensor.flat<T>()[i] = static_cast<T>(*value.elements[i]);
  return tensor;
}

int64_t Multiply(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
int64_t Add(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); }
int64_t Negate(int64_t a) { return static_cast<int64_t>(0 - static_cast<uint64_t>(a)); }

// Division by -1 is taken apart since the least integer overflows under it.
int64_t TruncateDivide(int64_t a, int64_t b) { return b == -1 ? Negate(a) : a / b; }
int64_t TruncateModulo(int64_t a, int64_t b) { return b == -1 ? 0 : a % b; }
int64_t FloorModulo(int64_t a, int64_t b) {
  const int64_t rest = TruncateModulo(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
int64_t FloorDivide(int64_t a, int64_t b) {
  const int64_t quotient = TruncateDivide(a, b);
  return TruncateModulo(a, b) != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

using BinaryFn = PartialElement (*)(int64_t, int64_t);
struct BinaryOp {
  absl::string_view name;
  BinaryFn fn;
};
template <int64_t (*kDivide)(int64_t, int64_t)>
PartialElement UnlessByZero(int64_t a, int64_t b) {
  if (b == 0) return absl::nullopt;
  return kDivide(a, b);
}
constexpr BinaryOp kBinaryOps[] = {
    {"Add", [](int64_t a, int64_t b) -> PartialElement { return Add(a, b); }},
    {"AddV2", [](int64_t a, int64_t b) -> PartialElement { return Add(a, b); }},
    {"Sub", [](int64_t a, int64_t b) -> PartialElement { return Add(a, Negate(b)); }},
    {"Mul", [](int64_t a, int64_t b) -> PartialElement { return Multiply(a, b); }},
    {"Div", UnlessByZero<TruncateDivide>},
    {"TruncateDiv", UnlessByZero<TruncateDivide>},
    {"FloorDiv", UnlessByZero<FloorDivide>},
    {"FloorMod", UnlessByZero<FloorModulo>},
    {"Mod", UnlessByZero<TruncateModulo>},
    {"TruncateMod", UnlessByZero<TruncateModulo>},
    {"Maximum", [](int64_t a, int64_t b) -> PartialElement { return std::max(a, b); }},
    {"Minimum", [](int64_t a, int64_t b) -> PartialElement { return std::min(a, b); }},
    {"Less", [](int64_t a, int64_t b) -> PartialElement { return a < b; }},
    {"LessEqual", [](int64_t a, int64_t b) -> PartialElement { return a <= b; }},
    {"Greater", [](int64_t a, int64_t b) -> PartialElement { return a > b; }},
    {"GreaterEqual", [](int64_t a, int64_t b) -> PartialElement { return a >= b; }},
    {"Equal", [](int64_t a, int64_t b) -> PartialElement { return a == b; }},
    {"NotEqual", [](int64_t a, int64_t b) -> PartialElement { return a != b; }},
    {"LogicalAnd", [](int64_t a, int64_t b) -> PartialElement { return a & b; }},
    {"LogicalOr", [](int64_t a, int64_t b) -> PartialElement { return a | b; }},
    // reductions
    {"Sum", [](int64_t a, int64_t b) -> PartialElement { return Add(a, b); }},
    {"Prod", [](int64_t a, int64_t b) -> PartialElement { return Multiply(a, b); }},
    {"Max", [](int64_t a, int64_t b) -> PartialElement { return std::max(a, b); }},
    {"Min", [](int64_t a, int64_t b) -> PartialElement { return std::min(a, b); }},
    {"All", [](int64_t a, int64_t b) -> PartialElement { return a & b; }},
    {"Any", [](int64_t a, int64_t b) -> PartialElement { return a | b; }},
};

BinaryFn FindBinary(absl::string_view op) {
  for (const BinaryOp& entry : kBinaryOps) {
    if (entry.name == op) return entry.fn;
  }
  return nullptr;
}

int64_t ApplyUnary(absl::string_view op, DType dtype, int64_t a) {
  if (op == "Neg") return Negate(a);
  if (op == "Abs") return a < 0 ? Negate(a) : a;
  if (op == "Sign") return (a > 0) - (a < 0);
  if (op == "Square") return Multiply(a, a);
  if (op == "LogicalNot") return a == 0;
  if (op == "Cast" && dtype == DType::kBool) return a != 0;
  return a;
}

bool IsSmall(const Shape& shape) {
  if (!shape.IsFullyDefined()) return false;
  // The product itself could overflow, in shapes that nobody has checked yet.
  int64_t product = 1;
  bool small = true;
  for (int64_t dim : shape.dims()) {
    if (dim == 0) return true;
    small = small && dim <= PartialValue::kMaxElements / product;
    if (small) product *= dim;
  }
  return small;
}

// Row-major strides of `a` seen under the broadcast shape `to`; 0 where a dimension is repeated.
std::vector<int64_t> BroadcastStrides(const Shape& a, const Shape& to) {
  std::vector<int64_t> strides(to.rank(), 0);
  int64_t stride = 1;
  for (int i = 1; i <= a.rank(); ++i) {
    if (a.DimFromEnd(i) != 1) strides[to.rank() - i] = stride;
    stride *= a.DimFromEnd(i);
  }
  return strides;
}

// Calls visit(i, offset) for each element i of `shape` in order, offset being what the strides give.
template <typename Visit>
void ForEachElement(const Shape& shape, const std::vector<int64_t>& strides, Visit visit) {
  std::vector<int64_t> index(shape.rank(), 0);
  int64_t offset = 0;
  const int64_t count = shape.num_elements();
  for (int64_t i = 0; i < count; ++i) {
    visit(i, offset);
    for (int d = shape.rank() - 1; d >= 0; --d) {
      offset += strides[d];
      if (++index[d] < shape.dim(d)) break;
      offset -= strides[d] * shape.dim(d);
      index[d] = 0;
    }
  }
}

int64_t Product(const Shape& shape, int first, int last) {
  int64_t product = 1;
  for (int i = first; i < last; ++i) product *= shape.dim(i);
  return product;
}

}  // namespace

bool PartialValue::Supports(DType dtype) {
  switch (dtype) {
    case DType::kUInt64:
    case DType::kInt4:
    case DType::kUInt4:
    case DType::kInt2:
    case DType::kUInt2:
      return false;
    default:
      return dtype == DType::kBool || (IsInteger(dtype) && !IsRef(dtype));
  }
}

absl::optional<PartialValue> PartialValue::Unknown(DType dtype, const Shape& shape) {
  if (!Supports(dtype) || !IsSmall(shape)) return absl::nullopt;
  return PartialValue{dtype, shape, std::vector<PartialElement>(static_cast<size_t>(shape.num_elements()))};
}

absl::optional<PartialValue> PartialValue::FromTensor(const Tensor& tensor) {
  if (!Supports(tensor.dtype()) || tensor.num_elements() > kMaxElements) return absl::nullopt;
  PartialValue value{tensor.dtype(), tensor.shape(), {}};
  value.elements.reserve(static_cast<size_t>(tensor.num_elements()));
  switch (tensor.dtype()) {
    case DType::kBool:
      ReadElements<bool>(tensor, &value.elements);
      break;
    case DType::kInt8:
      ReadElements<int8_t>(tensor, &value.elements);
      break;
    case DType::kInt16:
      ReadElements<int16_t>(tensor, &value.elements);
      break;
    case DType::kInt32:
      ReadElements<int32_t>(tensor, &value.elements);
      break;
    case DType::kInt64:
      ReadElements<int64_t>(tensor, &value.elements);
      break;
    case DType::kUInt8:
      ReadElements<uint8_t>(tensor, &value.elements);
      break;
    case DType::kUInt16:
      ReadElements<uint16_t>(tensor, &value.elements);
      break;
    case DType::kUInt32:
      ReadElements<uint32_t>(tensor, &value.elements);
      break;
    default:
      return absl::nullopt;
  }
  return value;
}

PartialValue PartialValue::Vector(DType dtype, std::vector<PartialElement> elements) {
  const Shape shape({static_cast<int64_t>(elements.size())});
  return {dtype, shape, std::move(elements)};
}

bool PartialValue::IsKnown() const {
  return std::all_of(elements.begin(), elements.end(), [](const PartialElement& e) { return e.has_value(); });
}

std::vector<int64_t> PartialValue::Values() const {
  std::vector<int64_t> values;
  values.reserve(elements.size());
  for (const PartialElement& element : elements) values.push_back(*element);
  return values;
}

Tensor PartialValue::ToTensor() const {
  switch (dtype) {
    case DType::kBool:
      return WriteElements<bool>(*this);
    case DType::kInt8:
      return WriteElements<int8_t>(*this);
    case DType::kInt16:
      return WriteElements<int16_t>(*this);
    case DType::kInt32:
      return WriteElements<int32_t>(*this);
    case DType::kUInt8:
      return WriteElements<uint8_t>(*this);
    case DType::kUInt16:
      return WriteElements<uint16_t>(*this);
    case DType::kUInt32:
      return WriteElements<uint32_t>(*this);
    default:
      return WriteElements<int64_t>(*this);
  }
}

int64_t WrapToDType(DType dtype, int64_t value) {
  switch (dtype) {
    case DType::kBool:
      return value != 0;
    case DType::kInt8:
      return static_cast<int8_t>(value);
    case DType::kInt16:
      return static_cast<int16_t>(value);
    case DType::kInt32:
      return static_cast<int32_t>(value);
    case DType::kUInt8:
      return static_cast<uint8_t>(value);
    case DType::kUInt16:
      return static_cast<uint16_t>(value);
    case DType::kUInt32:
      return static_cast<uint32_t>(value);
    default:
      return value;
  }
}

absl::optional<PartialValue> PartialBinary(absl::string_view op, DType dtype, const PartialValue& a,
                                           const PartialValue& b) {
  const BinaryFn fn = FindBinary(op);
  const absl::StatusOr<Shape> shape = BroadcastShapes(a.shape, b.shape);
  if (fn == nullptr || !shape.ok()) return absl::nullopt;
  absl::optional<PartialValue> result = PartialValue::Unknown(dtype, *shape);
  if (!result.has_value()) return absl::nullopt;
  std::vector<int64_t> right(result->elements.size());
  ForEachElement(*shape, BroadcastStrides(b.shape, *shape), [&](int64_t i, int64_t offset) { right[i] = offset; });
  ForEachElement(*shape, BroadcastStrides(a.shape, *shape), [&](int64_t i, int64_t offset) {
    const PartialElement& x = a.elements[offset];
    const PartialElement& y = b.elements[right[i]];
    if (!x.has_value() || !y.has_value()) return;
    const PartialElement z = fn(*x, *y);
    if (z.has_value()) result->elements[i] = WrapToDType(dtype, *z);
  });
  return result;
}

absl::optional<PartialValue> PartialUnary(absl::string_view op, DType dtype, const PartialValue& a) {
  absl::optional<PartialValue> result = PartialValue::Unknown(dtype, a.shape);
  if (!result.has_value()) return absl::nullopt;
  for (size_t i = 0; i < a.elements.size(); ++i) {
    if (a.elements[i].has_value()) result->elements[i] = WrapToDType(dtype, ApplyUnary(op, dtype, *a.elements[i]));
  }
  return result;
}

absl::optional<PartialValue> PartialReduce(absl::string_view op, const PartialValue& a,
                                           const std::vector<int64_t>& axes, bool keep_dims) {
  const BinaryFn fn = FindBinary(op);
  const int rank = a.shape.rank();
  std::vector<bool> reduced(rank, false);
  for (int64_t axis : axes) {
    if (axis < -rank || axis >= rank) return absl::nullopt;
    reduced[axis < 0 ? axis + rank : axis] = true;
  }
  Shape kept = Shape::Scalar();
  Shape output = Shape::Scalar();
  for (int i = 0; i < rank; ++i) {
    kept.AddDim(reduced[i] ? 1 : a.shape.dim(i));
    if (!reduced[i] || keep_dims) output.AddDim(kept.dim(i));
  }
  absl::optional<PartialValue> result = PartialValue::Unknown(a.dtype, output);
  if (fn == nullptr || !result.has_value()) return absl::nullopt;
  // The neutral elements of an empty sum and its like; an empty maximum is left unknown.
  if (a.elements.empty()) {
    if (op == "Max" || op == "Min") return result;
    const int64_t neutral = op == "Prod" || op == "All" ? 1 : 0;
    std::fill(result->elements.begin(), result->elements.end(), PartialElement(neutral));
    return result;
  }
  std::vector<bool> started(result->elements.size(), false);
  ForEachElement(a.shape, BroadcastStrides(kept, a.shape), [&](int64_t i, int64_t offset) {
    PartialElement& sum = result->elements[offset];
    const PartialElement& term = a.elements[i];
    if (!started[offset]) {
      sum = term;
      started[offset] = true;
    } else {
      sum = sum.has_value() && term.has_value() ? fn(*sum, *term) : absl::nullopt;
    }
    if (sum.has_value()) sum = WrapToDType(a.dtype, *sum);
  });
  return result;
}

absl::optional<PartialValue> PartialReshape(PartialValue a, const Shape& shape) {
  if (!IsSmall(shape) || shape.num_elements() != static_cast<int64_t>(a.elements.size())) return absl::nullopt;
  a.shape = shape;
  return a;
}

absl::optional<PartialValue> PartialBroadcast(const PartialValue& a, const Shape& shape) {
  absl::optional<PartialValue> result = PartialValue::Unknown(a.dtype, shape);
  const absl::StatusOr<Shape> both = BroadcastShapes(a.shape, shape);
  if (!result.has_value() || !both.ok() || *both != shape) return absl::nullopt;
  ForEachElement(shape, BroadcastStrides(a.shape, shape),
                 [&](int64_t i, int64_t offset) { result->elements[i] = a.elements[offset]; });
  return result;
}

absl::optional<PartialValue> PartialConcat(absl::Span<const PartialValue> parts, int64_t axis) {
  if (parts.empty()) return absl::nullopt;
  const int rank = parts[0].shape.rank();
  if (axis < -rank || axis >= rank) return absl::nullopt;
  const int dim = static_cast<int>(axis < 0 ? axis + rank : axis);
  Shape shape = parts[0].shape;
  shape.set_dim(dim, 0);
  for (const PartialValue& part : parts) {
    Shape others = part.shape;
    if (part.dtype != parts[0].dtype || others.rank() != rank) return absl::nullopt;
    others.set_dim(dim, shape.dim(dim));
    if (others != shape) return absl::nullopt;
    shape.set_dim(dim, shape.dim(dim) + part.shape.dim(dim));
  }
  absl::optional<PartialValue> result = PartialValue::Unknown(parts[0].dtype, shape);
  if (!result.has_value()) return absl::nullopt;
  const int64_t outer = Product(shape, 0, dim);
  auto to = result->elements.begin();
  for (int64_t i = 0; i < outer; ++i) {
    for (const PartialValue& part : parts) {
      const int64_t run = Product(part.shape, dim, rank);
      to = std::copy_n(part.elements.begin() + i * run, run, to);
    }
  }
  return result;
}

absl::optional<PartialValue> PartialGather(const PartialValue& a, const PartialValue& indices, int64_t axis) {
  const int rank = a.shape.rank();
  if (axis < -rank || axis >= rank) return absl::nullopt;
  const int dim = static_cast<int>(axis < 0 ? axis + rank : axis);
  Shape shape = Shape::Scalar();
  for (int i = 0; i < dim; ++i) shape.AddDim(a.shape.dim(i));
  for (int64_t d : indices.shape.dims()) shape.AddDim(d);
  for (int i = dim + 1; i < rank; ++i) shape.AddDim(a.shape.dim(i));
  absl::optional<PartialValue> result = PartialValue::Unknown(a.dtype, shape);
  if (!result.has_value() || result->elements.empty()) return result;
  const int64_t outer = Product(a.shape, 0, dim);
  const int64_t inner = Product(a.shape, dim + 1, rank);
  const int64_t length = a.shape.dim(dim);
  auto to = result->elements.begin();
  for (int64_t i = 0; i < outer; ++i) {
    for (const PartialElement& index : indices.elements) {
      if (index.has_value() && (*index < 0 || *index >= length)) return absl::nullopt;
      if (index.has_value()) std::copy_n(a.elements.begin() + (i * length + *index) * inner, inner, to);
      to += inner;
    }
  }
  return result;
}

absl::optional<PartialValue> PartialTake(const PartialValue& a, absl::Span<const PartialRange> ranges,
                                         const Shape& shape) {
  const int rank = a.shape.rank();
  absl::optional<PartialValue> result = PartialValue::Unknown(a.dtype, shape);
  if (!result.has_value() || static_cast<int>(ranges.size()) != rank) return absl::nullopt;
  Shape sizes = Shape::Scalar();
  std::vector<int64_t> strides(rank);
  int64_t first = 0;
  int64_t stride = 1;
  for (int d = rank - 1; d >= 0; --d) {
    const PartialRange& range = ranges[d];
    const int64_t dim = a.shape.dim(d);
    if (range.size < 0 || range.size > dim) return absl::nullopt;
    if (range.size > 0) {
      const auto inside = [dim](int64_t index) { return index >= 0 && index < dim; };
      // A stride longer than the dimension is never followed, since then the size is one.
      const int64_t step = std::clamp<int64_t>(range.stride, -dim, dim);
      if (!inside(range.begin) || !inside(range.begin + (range.size - 1) * step)) return absl::nullopt;
      first += range.begin * stride;
      strides[d] = step * stride;
    }
    stride *= dim;
  }
  for (const PartialRange& range : ranges) sizes.AddDim(range.size);
  if (sizes.num_elements() != shape.num_elements()) return absl::nullopt;
  ForEachElement(sizes, strides, [&](int64_t i, int64_t offset) { result->elements[i] = a.elements[first + offset]; });
  return result;
}

}  // namespace nabla

#include "nabla/runtime/kernels/arguments.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "nabla/graph/status_macros.h"

namespace nabla {
namespace {

template <typename T>
void Append(const Tensor& tensor, Integers* out) {
  const absl::Span<const T> values = tensor.flat<T>();
  out->assign(values.begin(), values.end());
}

absl::StatusOr<Integers> Widen(const Tensor& tensor, absl::string_view what) {
  Integers values;
  switch (tensor.dtype()) {
    case DType::kInt32:
      Append<int32_t>(tensor, &values);
      break;
    case DType::kInt64:
      Append<int64_t>(tensor, &values);
      break;
    case DType::kInt8:
      Append<int8_t>(tensor, &values);
      break;
    case DType::kInt16:
      Append<int16_t>(tensor, &values);
      break;
    case DType::kUInt8:
      Append<uint8_t>(tensor, &values);
      break;
    case DType::kUInt16:
      Append<uint16_t>(tensor, &values);
      break;
    case DType::kUInt32:
      Append<uint32_t>(tensor, &values);
      break;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat(what, " must be integers, is of type ", DTypeName(tensor.dtype())));
  }
  return values;
}

}  // namespace

absl::StatusOr<Integers> IntegerVector(const Tensor& tensor, absl::string_view what, int64_t max_length) {
  if (tensor.rank() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(what, " must be a vector, has shape ", tensor.shape().ToString()));
  }
  if (tensor.num_elements() > max_length) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " must have at most ", max_length, " elements, has ", tensor.num_elements()));
  }
  return Widen(tensor, what);
}

absl::StatusOr<int64_t> IntegerScalar(const Tensor& tensor, absl::string_view what) {
  if (tensor.num_elements() != 1 || tensor.rank() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(what, " must be a scalar, has shape ", tensor.shape().ToString()));
  }
  NABLA_ASSIGN_OR_RETURN(const Integers values, Widen(tensor, what));
  return values[0];
}

absl::StatusOr<Shape> ShapeFromVector(const Tensor& tensor, absl::string_view what) {
  NABLA_ASSIGN_OR_RETURN(const Integers dims, IntegerVector(tensor, what));
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0) {
      return absl::InvalidArgumentError(absl::StrCat(what, "[", i, "] is ", dims[i], ", must be at least 0"));
    }
  }
  return Shape::FromDims(dims);
}

absl::StatusOr<int> ResolveAxis(int64_t axis, int rank, absl::string_view what) {
  if (axis < -rank || axis >= rank) {
    return absl::InvalidArgumentError(absl::StrCat(what, " ", axis, " is not in [", -rank, ", ", rank, ")"));
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

int64_t DimProduct(const Shape& shape, int begin, int end) {
  // Any part of a valid shape may overflow if another dimension is 0; then the product is not used for memory.
  uint64_t product = 1;
  for (int i = begin; i < end; ++i) product *= static_cast<uint64_t>(shape.dim(i));
  return static_cast<int64_t>(product);
}

absl::Status WriteIntegers(absl::Span<const int64_t> values, Tensor* tensor) {
  if (tensor->dtype() == DType::kInt64) {
    std::copy(values.begin(), values.end(), tensor->data<int64_t>());
    return absl::OkStatus();
  }
  if (tensor->dtype() != DType::kInt32) {
    return absl::InvalidArgumentError(absl::StrCat("type ", DTypeName(tensor->dtype()), " is not int32 or int64"));
  }
  int32_t* out = tensor->data<int32_t>();
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] > std::numeric_limits<int32_t>::max() || values[i] < std::numeric_limits<int32_t>::min()) {
      return absl::InvalidArgumentError(absl::StrCat(values[i], " does not fit int32; use int64"));
    }
    out[i] = static_cast<int32_t>(values[i]);
  }
  return absl::OkStatus();
}

}  // namespace nabla

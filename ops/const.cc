#include "nabla/ops/const.h"

#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "nabla/graph/status_macros.h"
#include "nabla/graph/weak_constant.h"

namespace nabla::ops {
namespace {

// The tensor that `value` stands for; kInvalid as dtype: the value's own.
absl::StatusOr<Tensor> Resolve(const Input& value, DType dtype) {
  if (!value.is_constant()) {
    return absl::InvalidArgumentError(value.output() ? "Const takes a value, not the output of a node"
                                                     : "Const needs a value");
  }
  if (value.is_weak()) {
    if (dtype == DType::kInvalid) dtype = DefaultWeakDType({&value.value()}, nullptr);
    return ConvertWeakConstant(value.value(), dtype);
  }
  if (dtype != DType::kInvalid && dtype != value.value().dtype()) {
    return absl::InvalidArgumentError(absl::StrCat("a constant of type ", DTypeName(value.value().dtype()),
                                                   " was given where ", DTypeName(dtype), " is wanted; use Cast"));
  }
  return value.value();
}

absl::StatusOr<Tensor> Filled(const Tensor& element, const nabla::Shape& shape) {
  if (element.num_elements() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("a constant is filled with one element, but the value has shape ", element.shape().ToString()));
  }
  NABLA_ASSIGN_OR_RETURN(Tensor filled, Tensor::Allocate(element.dtype(), shape));
  if (element.dtype() == DType::kString) {
    for (std::string& s : filled.flat<std::string>()) s = element.scalar<std::string>();
    return filled;
  }
  if (!IsPod(element.dtype())) {
    return absl::InvalidArgumentError(absl::StrCat("a constant cannot be of type ", DTypeName(element.dtype())));
  }
  const size_t size = DTypeSize(element.dtype());
  char* to = static_cast<char*>(filled.raw_data());
  for (int64_t i = 0; i < filled.num_elements(); ++i) std::memcpy(to + i * size, element.raw_data(), size);
  return filled;
}

Output AddConst(const Scope& scope, absl::StatusOr<Tensor> value) {
  if (!value.ok()) {
    scope.RecordError(value.status());
    return {};
  }
  const DType dtype = value->dtype();
  return NodeBuilder(scope, "Const").Attr("dtype", dtype).Attr("value", *std::move(value)).FinishOutput();
}

}  // namespace

Output Const(const Scope& scope, Input value) { return AddConst(scope, Resolve(value, DType::kInvalid)); }

Output Const(const Scope& scope, Input value, DType dtype) { return AddConst(scope, Resolve(value, dtype)); }

Output Const(const Scope& scope, Input value, DType dtype, const nabla::Shape& shape) {
  absl::StatusOr<Tensor> element = Resolve(value, dtype);
  return AddConst(scope, element.ok() ? Filled(*element, shape) : std::move(element));
}

}  // namespace nabla::ops

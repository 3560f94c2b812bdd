#include "nabla/gradients/grad_ys.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "nabla/gradients/indexed_slices.h"
#include "nabla/graph/status_macros.h"
#include "nabla/ops/ops.h"

namespace nabla {
namespace {

bool IsReal(DType dtype) { return IsFloating(dtype) || IsInteger(dtype); }

// Whether a gradient of that dtype can be one of a tensor of the other.
absl::Status CheckDType(Output y, DType grad) {
  DType dtype = BaseDType(y.dtype());
  absl::string_view expected;
  if (IsReal(dtype)) {
    if (!IsReal(grad)) expected = "a real or integer type";
  } else if (IsComplex(dtype)) {
    if (!IsComplex(grad)) expected = "a complex type";
  } else if (dtype == DType::kVariant) {
    if (grad != DType::kVariant) expected = "variant";
  } else {
    return absl::InvalidArgumentError(absl::StrCat("Gradients: '", y.name(), "' of type ", DTypeName(dtype),
                                                   " is not numeric, so it has no gradient"));
  }
  if (expected.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("Gradients: the gradient given for '", y.name(), "' of type ",
                                                 DTypeName(dtype), " has type ", DTypeName(grad), ", expected ",
                                                 expected));
}

absl::Status CheckGraph(Output y, Output part) {
  if (!part || part.graph() == y.graph()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("Gradients: the gradient given for '", y.name(), "', '", part.name(),
                                                 "', belongs to another graph"));
}

absl::StatusOr<Gradient> Ones(const Scope& scope, Output y, const std::string& name) {
  if (IsComplex(y.dtype())) {
    return absl::InvalidArgumentError(absl::StrCat("Gradients of complex tensors must set grad_ys (y '", y.name(),
                                                   "' is ", DTypeName(y.dtype()), ")"));
  }
  // A bool passes nothing on, but may stand beside ys that do.
  const bool is_bool = BaseDType(y.dtype()) == DType::kBool;
  if (!IsReal(BaseDType(y.dtype())) && !is_bool) {
    return absl::InvalidArgumentError(absl::StrCat("Gradients: '", y.name(), "' of type ", DTypeName(y.dtype()),
                                                   " must be numeric to obtain a default gradient"));
  }
  Output one = is_bool ? ops::Const(scope.Named(name), Tensor::Scalar(true))
                       : ops::Const(scope.Named(name), 1, BaseDType(y.dtype()));
  if (y.shape().IsScalar()) return Gradient(one);
  return Gradient(ops::Fill(scope, y.shape().IsFullyDefined() ? Input(y.shape()) : ops::Shape(scope, y), one));
}

absl::StatusOr<Gradient> GivenSlices(const Scope& scope, Output y, IndexedSlices slices, const std::string& name) {
  for (Output part : {slices.values, slices.indices, slices.dense_shape}) {
    NABLA_RETURN_IF_ERROR(CheckGraph(y, part));
  }
  absl::Status status = CheckSlices(slices, y.shape());
  if (!status.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Gradients: the gradient given for '", y.name(), "': ", status.message()));
  }
  slices.indices = ops::Identity(scope.Named(name + "_indices"), slices.indices);
  slices.values = ops::Identity(scope.Named(name + "_values"), slices.values);
  if (slices.dense_shape) slices.dense_shape = ops::Identity(scope.Named(name + "_shape"), slices.dense_shape);
  return Gradient(slices);
}

}  // namespace

absl::StatusOr<Gradient> MakeGradY(const Scope& scope, Output y, const Gradient& given, int i) {
  const std::string name = absl::StrCat("grad_ys_", i);
  if (given.none()) return Ones(scope, y, name);
  NABLA_RETURN_IF_ERROR(CheckDType(y, given.dtype()));
  if (given.is_slices()) return GivenSlices(scope, y, given.slices(), name);
  NABLA_RETURN_IF_ERROR(CheckGraph(y, given.dense()));
  if (!given.dense().shape().IsCompatibleWith(y.shape())) {
    return absl::InvalidArgumentError(absl::StrCat("Gradients: the gradient given for '", y.name(), "' has shape ",
                                                   given.dense().shape().ToString(), ", expected ",
                                                   y.shape().ToString()));
  }
  return Gradient(ops::Identity(scope.Named(name), given.dense()));
}

}  // namespace nabla

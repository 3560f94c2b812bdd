#include "nabla/ops/tensor_array.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nabla/graph/constant_value.h"
#include "nabla/graph/error_text.h"
#include "nabla/ops/ops.h"

namespace nabla {
namespace ops {
namespace {

// n slices of one shape.
nabla::Shape Stacked(const nabla::Shape& element, int64_t n) {
  if (!element.has_rank()) return nabla::Shape();
  std::vector<int64_t> dims = {n};
  dims.insert(dims.end(), element.dims().begin(), element.dims().end());
  return nabla::Shape(dims);
}

int64_t FirstDim(Output value) { return value.shape().rank() > 0 ? value.shape().dim(0) : kUnknownDim; }

int64_t StaticSize(const Input& size) {
  const absl::optional<Tensor> value = size.is_constant() ? absl::make_optional(size.value())
                                       : size.output()    ? ConstantValue(size.output())
                                                          : absl::nullopt;
  if (!value.has_value() || !value->shape().IsScalar()) return kUnknownDim;
  if (value->dtype() == DType::kInt32) return value->scalar<int32_t>();
  if (value->dtype() == DType::kInt64) return value->scalar<int64_t>();
  return kUnknownDim;
}

}  // namespace

TensorArray::TensorArray(const Scope& scope, const Input& size, DType dtype, const TensorArrayOptions& options)
    : options_(options), dtype_(dtype) {
  if (!size.is_constant() && !size.output()) return;
  if (!options.dynamic_size) size_ = StaticSize(size);
  handle_ = TensorListReserve(In(scope), ShapeOperand(), size, dtype);
}

TensorArray TensorArray::At(Output handle) const {
  TensorArray array = *this;
  array.handle_ = handle;
  return array;
}

TensorArray TensorArray::With(const Scope& scope, Output handle, int64_t size) const {
  TensorArray array = *this;
  array.handle_ = scope.ok() ? handle : Output();
  array.size_ = options_.dynamic_size ? kUnknownDim : size;
  return array;
}

Scope TensorArray::In(const Scope& scope) const { return scope.Sub(options_.name); }

Input TensorArray::ShapeOperand() const {
  if (!options_.element_shape.has_rank()) return Tensor::Scalar<int32_t>(-1);
  return options_.element_shape;
}

nabla::Shape TensorArray::PartShape() const {
  const nabla::Shape& shape = options_.element_shape;
  if (!shape.has_rank() || shape.rank() == 0) return nabla::Shape();
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  dims[0] = kUnknownDim;
  return nabla::Shape(dims);
}

bool TensorArray::Check(const Scope& scope, absl::string_view operation, Output value,
                        const nabla::Shape& shape) const {
  if (!handle_ || !value) return false;
  if (value.dtype() == dtype_ && value.shape().IsCompatibleWith(shape)) return true;
  scope.RecordError(absl::InvalidArgumentError(absl::StrCat(
      "TensorArray ", Quoted(options_.name), ": ", operation, " of '", value.name(), "', which is ",
      DTypeName(value.dtype()), value.shape().ToString(), ", expected ", DTypeName(dtype_), shape.ToString())));
  return false;
}

Output TensorArray::Size(const Scope& scope) const { return handle_ ? TensorListLength(In(scope), handle_) : Output(); }

Output TensorArray::Read(const Scope& scope, const Input& index) const {
  return handle_ ? TensorListGetItem(In(scope), handle_, index, ShapeOperand(), dtype_) : Output();
}

TensorArray TensorArray::Write(const Scope& scope, const Input& index, Output value) const {
  if (!Check(scope, "Write", value, options_.element_shape)) return At(Output());
  return With(
      scope,
      TensorListSetItem(In(scope), handle_, index, value, {.resize_if_index_out_of_bounds = options_.dynamic_size}),
      size_);
}

Output TensorArray::Stack(const Scope& scope) const {
  if (!handle_) return Output();
  return TensorListStack(In(scope), handle_, ShapeOperand(), dtype_, {.num_elements = size_});
}

Output TensorArray::Gather(const Scope& scope, const Input& indices) const {
  return handle_ ? TensorListGather(In(scope), handle_, indices, ShapeOperand(), dtype_) : Output();
}

Output TensorArray::Concat(const Scope& scope) const {
  if (!handle_) return Output();
  const nabla::Shape part = PartShape();
  return TensorListConcatV2(In(scope), handle_, part.has_rank() ? Input(part) : Input(Tensor::Scalar<int32_t>(-1)),
                            Tensor(DType::kInt64, {0}), dtype_)
      .tensor;
}

TensorArray TensorArray::Unstack(const Scope& scope, Output value) const {
  if (!Check(scope, "Unstack", value, Stacked(options_.element_shape, kUnknownDim))) return At(Output());
  return With(scope, TensorListFromTensor(In(scope), value, ShapeOperand()), FirstDim(value));
}

TensorArray TensorArray::Scatter(const Scope& scope, const Input& indices, Output value) const {
  if (!Check(scope, "Scatter", value, Stacked(options_.element_shape, kUnknownDim))) return At(Output());
  return With(scope, TensorListScatterIntoExistingList(In(scope), handle_, value, indices), size_);
}

TensorArray TensorArray::Split(const Scope& scope, Output value, const Input& lengths) const {
  if (!Check(scope, "Split", value, PartShape())) return At(Output());
  const int64_t size = lengths.is_constant()
                           ? (lengths.value().shape().rank() == 1 ? lengths.value().num_elements() : kUnknownDim)
                       : lengths.output() ? FirstDim(lengths.output())
                                          : kUnknownDim;
  return With(scope, TensorListSplit(In(scope), value, ShapeOperand(), lengths), size);
}

}  // namespace ops
}  // namespace nabla

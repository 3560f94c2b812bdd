#include "nabla/runtime/kernels/tensor_array.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "nabla/graph/buffer.h"
#include "nabla/runtime/kernels/copy.h"
#include "nabla/runtime/kernels/tensor_sum.h"
#include "nabla/runtime/resources.h"

namespace nabla {
namespace {

// Growing by so many bytes asks the tensors' pool, which knows when memory runs out.
constexpr int64_t kLargeGrowth = int64_t{1} << 20;

absl::StatusOr<Tensor> Sum(KernelContext& ctx, const Tensor& a, const Tensor& b) {
  const TensorSum sum(a.dtype());
  if (!sum.supported()) return UnsupportedDType(a.dtype());
  NABLA_ASSIGN_OR_RETURN(Tensor total, ctx.AllocateTemp(a.dtype(), a.shape()));
  const char* const terms[] = {static_cast<const char*>(a.raw_data()), static_cast<const char*>(b.raw_data())};
  sum.Run(ctx, terms, total.num_elements(), static_cast<char*>(total.raw_data()));
  return total;
}

}  // namespace

absl::StatusOr<std::shared_ptr<TensorArray>> TensorArray::Make(Options options, int64_t size) {
  std::shared_ptr<TensorArray> array(new TensorArray(std::move(options)));
  if (size < 0) return absl::InvalidArgumentError(absl::StrCat("size is ", size, ", must be at least 0"));
  NABLA_RETURN_IF_ERROR(array->Grow(size));
  return array;
}

TensorArray::~TensorArray() {
  std::vector<Tensor> gone;
  if (!IsPod(options_.dtype)) {
    for (Element& element : elements_) gone.push_back(std::move(element.value));
  }
  for (auto& [source, gradient] : gradients_) {
    gone.push_back(Tensor::Scalar(ResourceHandle("", source, std::move(gradient))));
  }
  if (!gone.empty()) DestroyInTurn(std::move(gone));
}

int64_t TensorArray::size() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<int64_t>(elements_.size());
}

Shape TensorArray::element_shape() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return options_.element_shape;
}

void TensorArray::Close() {
  std::vector<Element> gone;
  std::lock_guard<std::mutex> lock(mutex_);
  closed_ = true;
  gone.swap(elements_);
}

std::string TensorArray::Label(int64_t index) const {
  return absl::StrCat("element ", index, " of the tensor array '", options_.name, "'");
}

absl::Status TensorArray::CheckOpen() const {
  if (!closed_) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the tensor array '", options_.name, "' is closed"));
}

absl::Status TensorArray::Grow(int64_t size) {
  if (size <= static_cast<int64_t>(elements_.size())) return absl::OkStatus();
  const auto capacity = static_cast<int64_t>(elements_.capacity());
  if (size > capacity) {
    const int64_t larger = std::max(size, capacity * 2);
    if (larger >= kLargeGrowth / static_cast<int64_t>(sizeof(Element))) {
      Buffer* probe = Buffer::Allocate(static_cast<size_t>(larger) * sizeof(Element));
      if (probe == nullptr) {
        return absl::ResourceExhaustedError(
            absl::StrCat("no memory for ", size, " elements of the tensor array '", options_.name, "'"));
      }
      probe->Unref();
    }
    elements_.reserve(larger);
  }
  elements_.resize(size);
  return absl::OkStatus();
}

absl::Status TensorArray::WriteOne(KernelContext& ctx, int64_t index, const Tensor& value) {
  if (value.dtype() != options_.dtype) {
    return absl::InvalidArgumentError(absl::StrCat(Label(index), " is of type ", DTypeName(options_.dtype),
                                                   ", but the value of type ", DTypeName(value.dtype())));
  }
  const auto size = static_cast<int64_t>(elements_.size());
  if (index < 0 || (index >= size && !options_.dynamic_size)) {
    return absl::InvalidArgumentError(absl::StrCat("there is no ", Label(index), ", which has ", size, " elements"));
  }
  NABLA_RETURN_IF_ERROR(Grow(index + 1));
  Element& element = elements_[index];
  if (element.cleared || (element.written && !options_.sums_writes)) {
    return absl::InvalidArgumentError(
        absl::StrCat(Label(index), " was ", element.cleared ? "read" : "written", " already, so it cannot be written"));
  }
  const Shape& expected = element.written            ? element.value.shape()
                          : element.shape.has_rank() ? element.shape
                                                     : options_.element_shape;
  if (!expected.Subsumes(value.shape())) {
    return absl::InvalidArgumentError(
        absl::StrCat(Label(index), " has shape ", expected.ToString(), ", but the value ", value.shape().ToString()));
  }
  if (element.written) {
    NABLA_ASSIGN_OR_RETURN(element.value, Sum(ctx, element.value, value));
    return absl::OkStatus();
  }
  if (options_.identical_element_shapes) options_.element_shape = value.shape();
  element.value = value;
  element.shape = value.shape();
  element.written = true;
  return absl::OkStatus();
}

absl::StatusOr<Tensor> TensorArray::ReadOne(KernelContext& ctx, int64_t index) {
  const auto size = static_cast<int64_t>(elements_.size());
  if (index < 0 || index >= size) {
    return absl::InvalidArgumentError(absl::StrCat("there is no ", Label(index), ", which has ", size, " elements"));
  }
  Element& element = elements_[index];
  if (element.cleared) {
    return absl::InvalidArgumentError(
        absl::StrCat(Label(index), " was read already, and clear_after_read is set, so it is gone"));
  }
  if (!element.written) {
    const Shape& shape = element.shape.IsFullyDefined() ? element.shape : options_.element_shape;
    if (!shape.IsFullyDefined()) {
      return absl::InvalidArgumentError(absl::StrCat(Label(index), " was never written, and of its shape only ",
                                                     shape.ToString(), " is known, so it is not zeros"));
    }
    NABLA_ASSIGN_OR_RETURN(element.value, ctx.AllocateTemp(options_.dtype, shape));
    NABLA_RETURN_IF_ERROR(ZeroElements(ctx, options_.dtype, element.value.num_elements(), element.value.raw_data()));
    element.shape = element.value.shape();
  }
  if (!options_.clear_after_read) return element.value;
  element.cleared = true;
  return std::move(element.value);
}

absl::Status TensorArray::Write(KernelContext& ctx, absl::Span<const int32_t> indices,
                                absl::Span<const Tensor> values) {
  std::lock_guard<std::mutex> lock(mutex_);
  NABLA_RETURN_IF_ERROR(CheckOpen());
  for (size_t i = 0; i < indices.size(); ++i) NABLA_RETURN_IF_ERROR(WriteOne(ctx, indices[i], values[i]));
  return absl::OkStatus();
}

absl::Status TensorArray::WriteAll(KernelContext& ctx, absl::Span<const Tensor> values) {
  std::lock_guard<std::mutex> lock(mutex_);
  NABLA_RETURN_IF_ERROR(CheckOpen());
  const size_t size = elements_.size();
  if (options_.dynamic_size ? values.size() < size : values.size() != size) {
    return absl::InvalidArgumentError(absl::StrCat("the tensor array '", options_.name, "' has ", size,
                                                   " elements, but the value is split in ", values.size()));
  }
  for (size_t i = 0; i < values.size(); ++i) {
    NABLA_RETURN_IF_ERROR(WriteOne(ctx, static_cast<int64_t>(i), values[i]));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Tensor>> TensorArray::Read(KernelContext& ctx, absl::Span<const int32_t> indices) {
  std::lock_guard<std::mutex> lock(mutex_);
  NABLA_RETURN_IF_ERROR(CheckOpen());
  std::vector<Tensor> values;
  for (const int32_t index : indices) {
    NABLA_ASSIGN_OR_RETURN(Tensor value, ReadOne(ctx, index));
    values.push_back(std::move(value));
  }
  return values;
}

absl::StatusOr<std::vector<Tensor>> TensorArray::ReadAll(KernelContext& ctx) {
  std::lock_guard<std::mutex> lock(mutex_);
  NABLA_RETURN_IF_ERROR(CheckOpen());
  std::vector<Tensor> values;
  for (size_t i = 0; i < elements_.size(); ++i) {
    NABLA_ASSIGN_OR_RETURN(Tensor value, ReadOne(ctx, static_cast<int64_t>(i)));
    values.push_back(std::move(value));
  }
  return values;
}

absl::StatusOr<std::shared_ptr<TensorArray>> TensorArray::Gradient(const std::string& source, const Shape& prefix) {
  std::lock_guard<std::mutex> lock(mutex_);
  NABLA_RETURN_IF_ERROR(CheckOpen());
  const auto known = gradients_.find(source);
  if (known != gradients_.end()) return known->second;
  const auto prefixed = [&](const Shape& shape) -> absl::StatusOr<Shape> {
    if (!shape.has_rank()) return shape;
    Shape::Dims dims(prefix.dims().begin(), prefix.dims().end());
    dims.insert(dims.end(), shape.dims().begin(), shape.dims().end());
    return Shape::FromDims(dims, /*allow_unknown=*/true);
  };
  Options options = options_;
  // Gradients of gradients do not make names longer and longer.
  if (!options_.sums_writes) options.name = absl::StrCat(options_.name, "@", source);
  NABLA_ASSIGN_OR_RETURN(options.element_shape, prefixed(options_.element_shape));
  options.dynamic_size = false;
  options.clear_after_read = true;
  options.sums_writes = true;
  NABLA_ASSIGN_OR_RETURN(const std::shared_ptr<TensorArray> gradient,
                         Make(std::move(options), static_cast<int64_t>(elements_.size())));
  for (size_t i = 0; i < elements_.size(); ++i) {
    NABLA_ASSIGN_OR_RETURN(gradient->elements_[i].shape, prefixed(elements_[i].shape));
  }
  gradients_.emplace(source, gradient);
  // It is as long as this one is now.
  options_.dynamic_size = false;
  return gradient;
}

}  // namespace nabla

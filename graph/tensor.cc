#include "nabla/graph/tensor.h"

#include <cstring>

#include "absl/base/attributes.h"
#include "absl/strings/str_cat.h"
#include "nabla/graph/check.h"

namespace nabla {
namespace {

// `count` elements of a dtype that has constructors, or nullptr.
Buffer* NewElements(DType dtype, size_t count) {
  switch (dtype) {
    case DType::kString:
      return Buffer::NewArray<std::string>(count);
    case DType::kResource:
      return Buffer::NewArray<ResourceHandle>(count);
    case DType::kVariant:
      return Buffer::NewArray<Variant>(count);
    default:
      return nullptr;
  }
}

}  // namespace

// What a tensor of `num_elements` needs besides its inline bytes. True with nullptr if those suffice.
ABSL_ATTRIBUTE_ALWAYS_INLINE static inline bool AllocateElements(DType dtype, int64_t num_elements, Buffer** buffer) {
  *buffer = nullptr;
  if (num_elements == 0) return true;
  const size_t element_size = DTypeSize(dtype);
  size_t bytes;
  if (__builtin_mul_overflow(static_cast<size_t>(num_elements), element_size, &bytes)) return false;
  if (IsPod(dtype)) {
    if (bytes <= Tensor::kInlineBytes) return true;
    *buffer = Buffer::Allocate(bytes);
  } else {
    *buffer = NewElements(dtype, static_cast<size_t>(num_elements));
  }
  return *buffer != nullptr;
}

Tensor::Tensor(DType dtype, Shape shape)
    : dtype_(dtype),
      shape_(std::move(shape)),
      num_elements_(shape_.IsScalar() ? 1 : shape_.num_elements()),
      data_(nullptr) {
  NABLA_CHECK(DTypeSize(dtype) > 0);
  NABLA_CHECK(num_elements_ >= 0);
  NABLA_CHECK(AllocateElements(dtype, num_elements_, &buffer_));
  if (buffer_ != nullptr) data_ = buffer_->data();
}

absl::StatusOr<Tensor> Tensor::Allocate(DType dtype, Shape shape) {
  if (ABSL_PREDICT_FALSE(DTypeSize(dtype) == 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("no tensor has elements of type ", DTypeName(dtype), " (", static_cast<int>(dtype), ")"));
  }
  Tensor t;
  t.num_elements_ = shape.num_elements();
  if (ABSL_PREDICT_FALSE(t.num_elements_ < 0 || !shape.IsFullyDefined())) {
    return absl::InvalidArgumentError(absl::StrCat("a tensor needs a fully defined shape, not ", shape.ToString()));
  }
  if (ABSL_PREDICT_FALSE(!AllocateElements(dtype, t.num_elements_, &t.buffer_))) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for a tensor of type ", DTypeName(dtype), " and shape ", shape.ToString()));
  }
  if (t.buffer_ != nullptr) t.data_ = t.buffer_->data();
  t.dtype_ = dtype;
  t.shape_ = std::move(shape);
  return t;
}

absl::StatusOr<Tensor> Tensor::FromBuffer(DType dtype, Shape shape, Buffer* buffer) {
  Tensor t;
  t.buffer_ = buffer;  // from here on released on every way out
  if (!IsPod(dtype)) {
    return absl::InvalidArgumentError(absl::StrCat("bytes cannot become a tensor of type ", DTypeName(dtype)));
  }
  if (!shape.IsFullyDefined()) {
    return absl::InvalidArgumentError(absl::StrCat("a tensor needs a fully defined shape, not ", shape.ToString()));
  }
  t.num_elements_ = shape.num_elements();
  size_t bytes;
  if (__builtin_mul_overflow(static_cast<size_t>(t.num_elements_), DTypeSize(dtype), &bytes) ||
      bytes != buffer->size()) {
    return absl::InvalidArgumentError(absl::StrCat("a tensor of type ", DTypeName(dtype), " and shape ",
                                                   shape.ToString(), " cannot have ", buffer->size(), " bytes"));
  }
  t.data_ = buffer->data();
  t.dtype_ = dtype;
  t.shape_ = std::move(shape);
  return t;
}

Tensor Tensor::Zeros(DType dtype, Shape shape) {
  Tensor t(dtype, std::move(shape));
  if (IsPod(dtype)) std::memset(t.raw_data(), 0, t.num_bytes());
  return t;
}

Tensor Tensor::Reshaped(Shape shape) const& {
  Tensor t(*this);
  return std::move(t).Reshaped(std::move(shape));
}

Tensor Tensor::Reshaped(Shape shape) && {
  NABLA_CHECK(shape.num_elements() == num_elements_);
  Tensor t(std::move(*this));
  t.shape_ = std::move(shape);
  return t;
}

Tensor Tensor::BitcastTo(DType dtype) const {
  NABLA_CHECK(IsPod(dtype_) && IsPod(dtype) && DTypeSize(dtype) == DTypeSize(dtype_));
  Tensor t(*this);
  t.dtype_ = dtype;
  return t;
}

Tensor Tensor::Clone() const {
  if (!valid()) return Tensor();
  Tensor t(dtype_, shape_);
  switch (dtype_) {
    case DType::kString:
      std::copy_n(data<std::string>(), num_elements_, t.data<std::string>());
      break;
    case DType::kResource:
      std::copy_n(data<ResourceHandle>(), num_elements_, t.data<ResourceHandle>());
      break;
    case DType::kVariant:
      std::copy_n(data<Variant>(), num_elements_, t.data<Variant>());
      break;
    default:
      std::memcpy(t.raw_data(), raw_data(), num_bytes());
  }
  return t;
}

bool BitwiseEqual(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  if (!a.valid() || a.SharesBufferWith(b)) return true;
  const int64_t n = a.num_elements();
  switch (a.dtype()) {
    case DType::kString:
      return std::equal(a.data<std::string>(), a.data<std::string>() + n, b.data<std::string>());
    case DType::kResource:
      return std::equal(a.data<ResourceHandle>(), a.data<ResourceHandle>() + n, b.data<ResourceHandle>(),
                        [](const ResourceHandle& x, const ResourceHandle& y) {
                          return x.resource() == y.resource() && x.container() == y.container() && x.name() == y.name();
                        });
    case DType::kVariant:
      return std::equal(a.data<Variant>(), a.data<Variant>() + n, b.data<Variant>(),
                        [](const Variant& x, const Variant& y) { return x.value() == y.value(); });
    default:
      return std::memcmp(a.raw_data(), b.raw_data(), a.num_bytes()) == 0;
  }
}

}  // namespace nabla

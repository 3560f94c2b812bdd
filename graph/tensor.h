// A typed, dense, row-major array.
//
//   Tensor t(DType::kFloat, {2, 3});            // uninitialised
//   t.flat<float>()[0] = 1.0f;
//   Tensor c = Tensor::Of<int32_t>({2}, {4, 5}); // with values
//   Tensor s = Tensor::Scalar(3.0f);
//
// Copying shares the bytes (a reference count); nothing copies on write. Values of up to kInlineBytes live inside
// the Tensor object, so scalars never touch the heap. POD elements of a new tensor are uninitialised, strings are
// empty. Whoever writes must know that nobody else reads: the runtime writes only to tensors that it just
// allocated or that IsExclusive() says are its own.
//
// Thread safety: thread-compatible; different Tensor objects that share bytes may be read from any thread.
#ifndef NABLA_GRAPH_TENSOR_H_
#define NABLA_GRAPH_TENSOR_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "nabla/graph/buffer.h"
#include "nabla/graph/dtype.h"
#include "nabla/graph/shape.h"

namespace nabla {

// Something that lives in a session's resource container and that DT_RESOURCE tensors refer to.
class Resource {
 public:
  virtual ~Resource() = default;
  // "Variable", …; for error messages.
  virtual absl::string_view TypeName() const = 0;
};

// An element of a DT_RESOURCE tensor. Holding it keeps the resource alive.
class ResourceHandle {
 public:
  ResourceHandle() = default;
  ResourceHandle(std::string container, std::string name, std::shared_ptr<Resource> resource)
      : container_(std::move(container)), name_(std::move(name)), resource_(std::move(resource)) {}
  const std::string& container() const { return container_; }
  const std::string& name() const { return name_; }
  Resource* resource() const { return resource_.get(); }
  // nullptr if the handle is empty or refers to something else.
  template <typename T>
  T* get() const {
    return dynamic_cast<T*>(resource_.get());
  }

 private:
  std::string container_;
  std::string name_;
  std::shared_ptr<Resource> resource_;
};

// The value inside a DT_VARIANT element: immutable once published.
class VariantValue {
 public:
  virtual ~VariantValue() = default;
  virtual absl::string_view TypeName() const = 0;
  virtual std::string DebugString() const = 0;
};

// An element of a DT_VARIANT tensor.
class Variant {
 public:
  Variant() = default;
  explicit Variant(std::shared_ptr<const VariantValue> value) : value_(std::move(value)) {}
  bool empty() const { return value_ == nullptr; }
  const std::shared_ptr<const VariantValue>& value() const { return value_; }
  template <typename T>
  const T* get() const {
    return dynamic_cast<const T*>(value_.get());
  }

 private:
  std::shared_ptr<const VariantValue> value_;
};

class Tensor {
 public:
  static constexpr size_t kInlineBytes = 16;

  // The invalid tensor: dtype kInvalid. A moved-from tensor is one too.
  Tensor() : data_(nullptr), buffer_(nullptr) {}
  // Of a fully defined shape that the program itself chose; aborts if memory runs out. Use Allocate for shapes that
  // come from input.
  Tensor(DType dtype, Shape shape);
  Tensor(const Tensor& other);
  Tensor(Tensor&& other) noexcept;
  Tensor& operator=(const Tensor& other);
  Tensor& operator=(Tensor&& other) noexcept;
  ~Tensor() {
    if (buffer_ != nullptr) buffer_->Unref();
  }

  // InvalidArgument if the shape is not fully defined or the dtype cannot be stored, ResourceExhausted if the byte
  // count overflows or the system has no such memory.
  static absl::StatusOr<Tensor> Allocate(DType dtype, Shape shape);
  // Over a buffer's bytes, whose reference it takes over. InvalidArgument unless the buffer holds exactly the
  // shape's bytes and the dtype is POD.
  static absl::StatusOr<Tensor> FromBuffer(DType dtype, Shape shape, Buffer* buffer);

  template <typename T>
  static Tensor Scalar(T value) {
    Tensor t(kDTypeOf<T>, Shape::Scalar());
    *t.data<T>() = std::move(value);
    return t;
  }
  // Requires values.size() == shape.num_elements().
  template <typename T>
  static Tensor Of(Shape shape, absl::Span<const T> values) {
    Tensor t(kDTypeOf<T>, std::move(shape));
    std::copy(values.begin(), values.end(), t.data<T>());
    return t;
  }
  template <typename T>
  static Tensor Of(Shape shape, std::initializer_list<T> values) {
    return Of<T>(std::move(shape), absl::MakeConstSpan(values.begin(), values.size()));
  }
  template <typename T>
  static Tensor Vector(absl::Span<const T> values) {
    return Of<T>(Shape({static_cast<int64_t>(values.size())}), values);
  }
  template <typename T>
  static Tensor Vector(std::initializer_list<T> values) {
    return Vector<T>(absl::MakeConstSpan(values.begin(), values.size()));
  }
  // All elements 0, false, "".
  static Tensor Zeros(DType dtype, Shape shape);

  bool valid() const { return dtype_ != DType::kInvalid; }
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int rank() const { return shape_.rank(); }
  int64_t dim(int i) const { return shape_.dim(i); }
  int64_t num_elements() const { return num_elements_; }
  // Bytes of the elements (for strings: of the std::string objects).
  size_t num_bytes() const { return static_cast<size_t>(num_elements_) * DTypeSize(dtype_); }

  // The elements. T must be the dtype's C++ type or, for any POD type, a type of the same size (checked only in
  // debug builds). Pointers into a Tensor of up to kInlineBytes die with the Tensor object.
  template <typename T>
  T* data() {
    return static_cast<T*>(raw_data());
  }
  template <typename T>
  const T* data() const {
    return static_cast<const T*>(raw_data());
  }
  template <typename T>
  absl::Span<T> flat() {
    return absl::MakeSpan(data<T>(), num_elements_);
  }
  template <typename T>
  absl::Span<const T> flat() const {
    return absl::MakeConstSpan(data<T>(), num_elements_);
  }
  template <typename T>
  const T& scalar() const {
    return *data<T>();
  }
  void* raw_data() { return buffer_ != nullptr ? data_ : inline_; }
  const void* raw_data() const { return buffer_ != nullptr ? data_ : inline_; }

  // No other Tensor shares these bytes, so that the holder may write to them.
  bool IsExclusive() const { return buffer_ == nullptr || buffer_->IsUnique(); }
  bool SharesBufferWith(const Tensor& other) const { return buffer_ != nullptr && buffer_ == other.buffer_; }

  // The same bytes under another shape. Requires the same number of elements.
  Tensor Reshaped(Shape shape) const&;
  Tensor Reshaped(Shape shape) &&;
  // The same bytes as another POD type of the same element size.
  Tensor BitcastTo(DType dtype) const;
  // A tensor with bytes of its own.
  Tensor Clone() const;

  // "float [2,3] [[1 2 3] [4 5 6]]", on one line. With more than `max_elements` elements only the first and last three
  // of each long dimension are shown.
  std::string ToString(int64_t max_elements = 1000) const;
  // Only the elements, as NumPy prints an array: aligned, over several lines, elided likewise.
  std::string ValuesToString(int64_t max_elements = 1000) const;

 private:
  DType dtype_ = DType::kInvalid;
  Shape shape_;
  int64_t num_elements_ = 0;
  union {
    void* data_;                                      // buffer_ != nullptr
    alignas(16) unsigned char inline_[kInlineBytes];  // buffer_ == nullptr
  };
  Buffer* buffer_;
};

// Moving and copying are inline: the executor does little else for a node with scalar operands.

inline Tensor::Tensor(const Tensor& other)
    : dtype_(other.dtype_), shape_(other.shape_), num_elements_(other.num_elements_), buffer_(other.buffer_) {
  std::memcpy(inline_, other.inline_, kInlineBytes);
  if (buffer_ != nullptr) buffer_->Ref();
}

inline Tensor::Tensor(Tensor&& other) noexcept
    : dtype_(other.dtype_),
      shape_(std::move(other.shape_)),
      num_elements_(other.num_elements_),
      buffer_(other.buffer_) {
  std::memcpy(inline_, other.inline_, kInlineBytes);
  other.dtype_ = DType::kInvalid;
  other.num_elements_ = 0;
  other.buffer_ = nullptr;
}

inline Tensor& Tensor::operator=(const Tensor& other) {
  if (other.buffer_ != nullptr) other.buffer_->Ref();
  if (buffer_ != nullptr) buffer_->Unref();
  dtype_ = other.dtype_;
  shape_ = other.shape_;
  num_elements_ = other.num_elements_;
  std::memmove(inline_, other.inline_, kInlineBytes);
  buffer_ = other.buffer_;
  return *this;
}

inline Tensor& Tensor::operator=(Tensor&& other) noexcept {
  if (this == &other) return *this;
  if (buffer_ != nullptr) buffer_->Unref();
  dtype_ = other.dtype_;
  shape_ = std::move(other.shape_);
  num_elements_ = other.num_elements_;
  std::memcpy(inline_, other.inline_, kInlineBytes);
  buffer_ = other.buffer_;
  other.dtype_ = DType::kInvalid;
  other.num_elements_ = 0;
  other.buffer_ = nullptr;
  return *this;
}

// Same dtype and shape, and elements that compare equal bit by bit (strings by content). Resources and variants are
// equal if they are the same object.
bool BitwiseEqual(const Tensor& a, const Tensor& b);

}  // namespace nabla

#endif  // NABLA_GRAPH_TENSOR_H_

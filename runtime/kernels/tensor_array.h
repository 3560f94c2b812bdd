// The arrays that the TensorArray ops work on.
//
// An array lives as long as handles to it do, that is, at most as long as the run that made it. Thread-safe.
#ifndef NABLA_RUNTIME_KERNELS_TENSOR_ARRAY_H_
#define NABLA_RUNTIME_KERNELS_TENSOR_ARRAY_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "nabla/graph/tensor.h"
#include "nabla/runtime/kernel.h"

namespace nabla {

class TensorArray : public Resource {
 public:
  struct Options {
    std::string name;
    DType dtype = DType::kInvalid;
    Shape element_shape;
    bool dynamic_size = false;
    bool clear_after_read = true;
    bool identical_element_shapes = false;
    // Of gradients: what is written to one element adds up.
    bool sums_writes = false;
  };

  // ResourceExhausted if there is no memory for so many elements.
  static absl::StatusOr<std::shared_ptr<TensorArray>> Make(Options options, int64_t size);
  ~TensorArray() override;

  absl::string_view TypeName() const override { return "TensorArray"; }
  const std::string& name() const { return options_.name; }
  DType dtype() const { return options_.dtype; }

  int64_t size() const;
  void Close();

  // Writes values[i] to element indices[i]. InvalidArgument for an index that is not in the array (and the array may
  // not grow), for one that was written or read already, and for a value of another dtype or shape.
  absl::Status Write(KernelContext& ctx, absl::Span<const int32_t> indices, absl::Span<const Tensor> values);
  // Writes to all elements, which must be as many, unless the array may grow.
  absl::Status WriteAll(KernelContext& ctx, absl::Span<const Tensor> values);

  // Reads elements; those that were never written are zeros if their shape is known. InvalidArgument for an index that
  // is not in the array, an element that was read already, or that was never written and is of unknown shape.
  absl::StatusOr<std::vector<Tensor>> Read(KernelContext& ctx, absl::Span<const int32_t> indices);
  absl::StatusOr<std::vector<Tensor>> ReadAll(KernelContext& ctx);
  // What is known of all elements' shapes.
  Shape element_shape() const;

  // The array of gradients for that source, made as long as this array is now, of elements with `prefix` before the
  // shapes that this array's have.
  absl::StatusOr<std::shared_ptr<TensorArray>> Gradient(const std::string& source, const Shape& prefix);

 private:
  struct Element {
    Tensor value;  // invalid if not written, or read and cleared
    Shape shape;   // what is known before it is written
    bool written = false;
    bool cleared = false;
  };

  explicit TensorArray(Options options) : options_(std::move(options)) {}
  std::string Label(int64_t index) const;
  // Under mutex_.
  absl::Status CheckOpen() const;
  absl::Status Grow(int64_t size);
  absl::Status WriteOne(KernelContext& ctx, int64_t index, const Tensor& value);
  absl::StatusOr<Tensor> ReadOne(KernelContext& ctx, int64_t index);

  mutable std::mutex mutex_;
  Options options_;
  bool closed_ = false;
  std::vector<Element> elements_;
  std::map<std::string, std::shared_ptr<TensorArray>> gradients_;
};

}  // namespace nabla

#endif  // NABLA_RUNTIME_KERNELS_TENSOR_ARRAY_H_

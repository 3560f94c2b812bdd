// The value of a variant that is a list of tensors.
//
//   TensorList list(DType::kFloat, Shape({kUnknownDim, 3}));
//   list.PushBack(row);
//   Tensor variant = Tensor::Scalar(TensorList::Wrap(std::move(list)));
//   const TensorList* held = TensorList::Of(variant, 0);
//
// A list in a tensor is immutable as any published value is; an op that changes it copies it, which shares all elements
// and takes constant time, and then copies no more than a path of the elements' tree. Where nobody else holds the list
// (TakeOrCopy finds out), nothing is copied at all.
//
// Lists may hold lists, to any depth. Thread safety: that of an ordinary value.
#ifndef NABLA_RUNTIME_TENSOR_LIST_H_
#define NABLA_RUNTIME_TENSOR_LIST_H_

#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "nabla/graph/tensor.h"
#include "nabla/runtime/persistent_vector.h"

namespace nabla {

class TensorList : public VariantValue {
 public:
  // Lengths and indices are int32 in graphs.
  static constexpr int64_t kMaxSize = std::numeric_limits<int32_t>::max();

  // No elements. `max_num_elements` is what pushes may lead to; -1 for any number.
  TensorList(DType element_dtype, Shape element_shape, int64_t max_num_elements = -1);
  TensorList(const TensorList&) = default;
  TensorList(TensorList&&) = default;
  TensorList& operator=(const TensorList&) = delete;
  ~TensorList() override;

  static Variant Wrap(TensorList list);
  // Element i of a tensor of variants; nullptr if it is no list.
  static const TensorList* Of(const Tensor& variants, int64_t i) {
    return variants.data<Variant>()[i].get<TensorList>();
  }
  // The list that `*variant` holds, to be changed: in place if nobody else holds it, else a copy that *variant becomes.
  // `variant` must be in a tensor that is exclusively the caller's.
  static TensorList* TakeOrCopy(Variant* variant);

  absl::string_view TypeName() const override { return "TensorList"; }
  // "TensorList of 3 float elements of shape [?,3]".
  std::string DebugString() const override;

  DType element_dtype() const { return element_dtype_; }
  const Shape& element_shape() const { return element_shape_; }
  int64_t max_num_elements() const { return max_num_elements_; }
  int64_t size() const { return elements_.size(); }

  // The tensors must be of element_dtype() and fit element_shape(), indices be in [0, size()) and sizes in
  // [0, kMaxSize]: the callers check what comes from a graph. An element that was not set is the invalid tensor.
  const Tensor& operator[](int64_t i) const { return elements_[i]; }
  void Set(int64_t i, Tensor tensor) { elements_.Mutable(i) = std::move(tensor); }
  void PushBack(Tensor tensor) { elements_.push_back(std::move(tensor)); }
  Tensor PopBack() { return elements_.pop_back(); }
  void Resize(int64_t size) { elements_.Resize(size); }

  // Calls fn(i, tensor) for the elements that are set, in order, up to the first error. Takes time for those only.
  absl::Status ForEachSet(absl::FunctionRef<absl::Status(int64_t i, const Tensor& element)> fn) const;
  // Combines the elements that are set on both sides with fn(&mine, theirs), and takes those that only `other` has.
  // Requires equal sizes.
  absl::Status Combine(const TensorList& other, absl::FunctionRef<absl::Status(Tensor* mine, const Tensor& theirs)> fn);

 private:
  DType element_dtype_;
  Shape element_shape_;
  int64_t max_num_elements_;
  PersistentVector<Tensor> elements_;
};

}  // namespace nabla

#endif  // NABLA_RUNTIME_TENSOR_LIST_H_

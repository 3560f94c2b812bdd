#include "nabla/runtime/tensor_list.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace nabla {

TensorList::TensorList(DType element_dtype, Shape element_shape, int64_t max_num_elements)
    : element_dtype_(element_dtype), element_shape_(std::move(element_shape)), max_num_elements_(max_num_elements) {}

// Lists may hold lists that hold lists …, and each level would recurse to destroy the next. So whatever dies while a
// list is being destroyed is put aside, to be destroyed by the outermost.
TensorList::~TensorList() {
  if (element_dtype_ != DType::kVariant || elements_.size() == 0) return;
  thread_local std::vector<PersistentVector<Tensor>>* put_aside = nullptr;
  if (put_aside != nullptr) {
    put_aside->push_back(std::move(elements_));
    return;
  }
  std::vector<PersistentVector<Tensor>> mine;
  put_aside = &mine;
  mine.push_back(std::move(elements_));
  while (!mine.empty()) {
    PersistentVector<Tensor> elements = std::move(mine.back());
    mine.pop_back();
    elements = {};  // may put more aside
  }
  put_aside = nullptr;
}

Variant TensorList::Wrap(TensorList list) { return Variant(std::make_shared<TensorList>(std::move(list))); }

TensorList* TensorList::TakeOrCopy(Variant* variant) {
  const VariantValue* value = variant->value().get();
  if (variant->value().use_count() == 1) {
    // The count was read without ordering. Taking one more reference, and dropping it, puts what the former holders did
    // before whatever is done here.
    std::shared_ptr<const VariantValue>(variant->value()).reset();
  } else {
    *variant = Wrap(*static_cast<const TensorList*>(value));
    value = variant->value().get();
  }
  // Wrap made it as an object that may change; it is const for readers.
  return const_cast<TensorList*>(static_cast<const TensorList*>(value));
}

std::string TensorList::DebugString() const {
  return absl::StrCat("TensorList of ", size(), " ", DTypeName(element_dtype_), " elements of shape ",
                      element_shape_.ToString());
}

absl::Status TensorList::ForEachSet(absl::FunctionRef<absl::Status(int64_t i, const Tensor& element)> fn) const {
  return elements_.ForEach([&](int64_t i, const Tensor& element) -> absl::Status {
    return element.valid() ? fn(i, element) : absl::OkStatus();
  });
}

absl::Status TensorList::Combine(const TensorList& other,
                                 absl::FunctionRef<absl::Status(Tensor* mine, const Tensor& theirs)> fn) {
  return elements_.Combine(other.elements_, [&](Tensor* mine, const Tensor& theirs) -> absl::Status {
    if (!theirs.valid()) return absl::OkStatus();
    if (mine->valid()) return fn(mine, theirs);
    *mine = theirs;
    return absl::OkStatus();
  });
}

}  // namespace nabla

#include "nabla/runtime/kernels/broadcast.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace nabla {
namespace {

absl::Status Incompatible(std::initializer_list<const Shape*> shapes) {
  std::string text;
  for (const Shape* shape : shapes) absl::StrAppend(&text, text.empty() ? "" : " vs. ", shape->ToString());
  return absl::InvalidArgumentError(absl::StrCat("incompatible shapes: ", text, " do not broadcast"));
}

}  // namespace

absl::StatusOr<Broadcast> Broadcast::Make(std::initializer_list<const Shape*> shapes) {
  int rank = 0;
  for (const Shape* shape : shapes) rank = std::max(rank, shape->rank());

  Broadcast result;
  absl::InlinedVector<int64_t, 8> dims(rank, 1);
  bool empty = false;
  for (int i = 0; i < rank; ++i) {
    for (const Shape* shape : shapes) {
      const int at = i - (rank - shape->rank());
      if (at < 0 || shape->dim(at) == 1) continue;
      if (dims[i] != 1 && dims[i] != shape->dim(at)) return Incompatible(shapes);
      dims[i] = shape->dim(at);
    }
    empty |= dims[i] == 0;
  }
  for (int64_t dim : dims) {
    if (!empty && !CheckedMultiply(result.num_elements_, dim, &result.num_elements_)) {
      return absl::InvalidArgumentError("the broadcast shape has too many elements");
    }
  }
  if (empty) result.num_elements_ = 0;
  result.shape_ = Shape(absl::MakeConstSpan(dims.data(), dims.size()));
  if (empty) return result;

  // From the innermost dimension outwards; groups are gathered in that order and turned round at the end.
  int64_t extent[kMaxOperands] = {1, 1, 1};  // elements of operand k below the current dimension
  uint32_t last_broadcast = 0;
  for (int i = rank - 1; i >= 0; --i) {
    if (dims[i] == 1) continue;
    uint32_t broadcast = 0;
    int k = 0;
    for (const Shape* shape : shapes) {
      const int at = i - (rank - shape->rank());
      if (at < 0 || shape->dim(at) == 1) broadcast |= 1u << k;
      ++k;
    }
    if (!result.groups_.empty() && broadcast == last_broadcast) {
      result.groups_.back().size *= dims[i];
    } else {
      Group group = {dims[i], {}};
      for (int j = 0; j < k; ++j) group.strides[j] = (broadcast >> j & 1) != 0 ? 0 : extent[j];
      result.groups_.push_back(group);
    }
    for (int j = 0; j < k; ++j) {
      if ((broadcast >> j & 1) == 0) extent[j] *= dims[i];
    }
    last_broadcast = broadcast;
  }
  std::reverse(result.groups_.begin(), result.groups_.end());
  return result;
}

}  // namespace nabla

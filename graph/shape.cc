#include "nabla/graph/shape.h"

#include <algorithm>
#include <limits>
#include <ostream>

#include "absl/strings/str_cat.h"

namespace nabla {

absl::StatusOr<Shape> Shape::FromDims(absl::Span<const int64_t> dims, bool allow_unknown) {
  if (dims.size() > static_cast<size_t>(kMaxRank)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a shape of ", dims.size(), " dimensions; at most ", kMaxRank, " are possible"));
  }
  Shape shape(dims);
  int64_t product = 1;
  for (int64_t dim : dims) {
    if (dim < 0 && !(allow_unknown && dim == kUnknownDim)) {
      return absl::InvalidArgumentError(
          absl::StrCat("a dimension is ", dim, "; expected at least ", allow_unknown ? "-1 (unknown)" : "0"));
    }
    // Zeros are left out, so that no product of some of the dimensions (a stride) overflows either.
    if (dim > 0 && !CheckedMultiply(product, dim, &product)) {
      return absl::InvalidArgumentError(absl::StrCat("shape ", shape.ToString(), " has more than 2^63 - 1 elements"));
    }
  }
  return shape;
}

bool Shape::IsFullyDefined() const {
  return known_rank_ && std::none_of(dims_.begin(), dims_.end(), [](int64_t dim) { return dim < 0; });
}

int64_t Shape::num_elements() const {
  if (!known_rank_) return kUnknownDim;
  bool unknown = false;
  bool overflow = false;
  int64_t product = 1;
  for (int64_t dim : dims_) {
    if (dim == 0) return 0;
    if (dim < 0) {
      unknown = true;
    } else if (!CheckedMultiply(product, dim, &product)) {
      overflow = true;
      product = 1;
    }
  }
  if (unknown) return kUnknownDim;
  return overflow ? std::numeric_limits<int64_t>::max() : product;
}

bool Shape::IsCompatibleWith(const Shape& other) const {
  if (!known_rank_ || !other.known_rank_) return true;
  if (dims_.size() != other.dims_.size()) return false;
  for (size_t i = 0; i < dims_.size(); ++i) {
    if (dims_[i] != other.dims_[i] && dims_[i] >= 0 && other.dims_[i] >= 0) return false;
  }
  return true;
}

absl::StatusOr<Shape> Shape::MergeWith(const Shape& other) const {
  if (!known_rank_) return other;
  if (!other.known_rank_) return *this;
  if (dims_.size() != other.dims_.size()) {
    return absl::InvalidArgumentError(absl::StrCat("shapes ", ToString(), " and ", other.ToString(),
                                                   " contradict each other: the ranks ", rank(), " and ", other.rank(),
                                                   " differ"));
  }
  Shape merged = *this;
  for (size_t i = 0; i < dims_.size(); ++i) {
    if (dims_[i] < 0) {
      merged.dims_[i] = other.dims_[i];
    } else if (other.dims_[i] >= 0 && other.dims_[i] != dims_[i]) {
      return absl::InvalidArgumentError(absl::StrCat("shapes ", ToString(), " and ", other.ToString(),
                                                     " contradict each other: dimension ", i, " is ", dims_[i], " or ",
                                                     other.dims_[i]));
    }
  }
  return merged;
}

bool Shape::Subsumes(const Shape& other) const {
  if (!known_rank_) return true;
  if (!other.known_rank_ || dims_.size() != other.dims_.size()) return false;
  for (size_t i = 0; i < dims_.size(); ++i) {
    if (dims_[i] >= 0 && dims_[i] != other.dims_[i]) return false;
  }
  return true;
}

std::string Shape::ToString() const {
  if (!known_rank_) return "<unknown>";
  std::string text = "[";
  for (size_t i = 0; i < dims_.size(); ++i) {
    if (i > 0) text += ',';
    if (dims_[i] < 0) {
      text += '?';
    } else {
      absl::StrAppend(&text, dims_[i]);
    }
  }
  text += ']';
  return text;
}

absl::StatusOr<Shape> BroadcastShapes(const Shape& a, const Shape& b) {
  if (!a.has_rank() || !b.has_rank()) return Shape::Unknown();
  const Shape& longer = a.rank() >= b.rank() ? a : b;
  const Shape& shorter = a.rank() >= b.rank() ? b : a;
  const int offset = longer.rank() - shorter.rank();
  Shape result = longer;
  for (int i = 0; i < shorter.rank(); ++i) {
    const int64_t x = longer.dim(offset + i);
    const int64_t y = shorter.dim(i);
    int64_t dim;
    if (x == y || y == 1) {
      dim = x;
    } else if (x == 1) {
      dim = y;
    } else if (x < 0) {
      dim = y;  // x is 1 or y
    } else if (y < 0) {
      dim = x;
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("shapes ", a.ToString(), " and ", b.ToString(), " do not broadcast: ", x, " against ", y));
    }
    result.set_dim(offset + i, dim);
  }
  // Broadcasting multiplies: two shapes of reasonable size can give one that is not.
  return Shape::FromDims(result.dims(), /*allow_unknown=*/true);
}

Shape CommonShape(const Shape& a, const Shape& b) {
  if (!a.has_rank() || !b.has_rank() || a.rank() != b.rank()) return Shape();
  Shape common = a;
  for (int i = 0; i < a.rank(); ++i) {
    if (a.dim(i) != b.dim(i)) common.set_dim(i, kUnknownDim);
  }
  return common;
}

bool CheckedMultiply(int64_t a, int64_t b, int64_t* product) { return !__builtin_mul_overflow(a, b, product); }

std::ostream& operator<<(std::ostream& os, const Shape& shape) { return os << shape.ToString(); }

}  // namespace nabla

#include "nabla/graph/strided_slice.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "nabla/graph/status_macros.h"

namespace nabla {
namespace {

constexpr int kMaxEntries = 32;

int64_t MaskAttr(const AttrMap& attrs, absl::string_view name) {
  const int64_t* mask = attrs.Find<int64_t>(name);
  return mask == nullptr ? 0 : *mask;
}

bool HasBit(int64_t mask, int i) { return (mask >> i) & 1; }

// Where a begin or end lands for a dimension of size `dim`: counted from the back if negative, then clamped to the
// positions a walk with that stride may stand at (one before the first is possible when walking backwards).
int64_t Clamp(int64_t index, int64_t dim, int64_t stride) {
  if (index < 0) index = index < -dim ? -1 : index + dim;
  return stride > 0 ? std::clamp<int64_t>(index, 0, dim) : std::clamp<int64_t>(index, -1, dim - 1);
}

int64_t CountSteps(int64_t begin, int64_t end, int64_t stride) {
  if (stride > 0) return begin >= end ? 0 : (end - begin - 1) / stride + 1;
  // -(begin - end) / stride, rounded up, without negating the smallest integer.
  return begin <= end ? 0 : -((begin - end - 1) / stride) + 1;
}

}  // namespace

StridedSliceMasks MasksFromAttrs(const AttrMap& attrs) {
  StridedSliceMasks masks;
  masks.begin = MaskAttr(attrs, "begin_mask");
  masks.end = MaskAttr(attrs, "end_mask");
  masks.ellipsis = MaskAttr(attrs, "ellipsis_mask");
  masks.new_axis = MaskAttr(attrs, "new_axis_mask");
  masks.shrink_axis = MaskAttr(attrs, "shrink_axis_mask");
  return masks;
}

absl::StatusOr<ResolvedSlice> ResolveStridedSlice(const Shape& input, absl::Span<const int64_t> begin,
                                                  absl::Span<const int64_t> end, absl::Span<const int64_t> strides,
                                                  const StridedSliceMasks& masks) {
  const bool begin_known = begin.size() == strides.size(), end_known = end.size() == strides.size();
  if ((!begin_known && !begin.empty()) || (!end_known && !end.empty())) {
    return absl::InvalidArgumentError(absl::StrCat("begin, end and strides must have the same length, got ",
                                                   begin.size(), ", ", end.size(), " and ", strides.size()));
  }
  if (strides.size() > kMaxEntries) {
    return absl::InvalidArgumentError(
        absl::StrCat("a slice may have at most ", kMaxEntries, " entries, got ", strides.size()));
  }
  const int num_entries = static_cast<int>(strides.size());
  const int rank = input.rank();

  int num_named = 0;  // dimensions that entries name one by one
  int ellipsis = -1;
  for (int i = 0; i < num_entries; ++i) {
    if (HasBit(masks.ellipsis, i)) {
      if (ellipsis >= 0) return absl::InvalidArgumentError("a slice may have at most one ellipsis");
      ellipsis = i;
    } else if (!HasBit(masks.new_axis, i)) {
      ++num_named;
    }
  }
  if (num_named > rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("the slice indexes ", num_named, " dimensions, but its input has only ", rank));
  }

  ResolvedSlice result;
  result.begins_known = begin_known;
  result.output = Shape::Scalar();
  result.is_whole = true;
  const auto take_whole = [&](int count) {
    for (int k = 0; k < count; ++k) {
      const int64_t dim = input.dim(static_cast<int>(result.dims.size()));
      result.dims.push_back({0, 1, dim});
      result.output.AddDim(dim);
    }
  };

  for (int i = 0; i < num_entries; ++i) {
    if (i == ellipsis) {
      take_whole(rank - num_named);
      continue;
    }
    if (HasBit(masks.new_axis, i)) {
      result.output.AddDim(1);
      continue;
    }
    const int axis = static_cast<int>(result.dims.size());
    const int64_t dim = input.dim(axis);
    const int64_t stride = strides[i];
    const bool shrink = HasBit(masks.shrink_axis, i);
    const bool open_begin = HasBit(masks.begin, i), open_end = HasBit(masks.end, i);
    if (stride == 0) return absl::InvalidArgumentError(absl::StrCat("strides[", i, "] must not be zero"));
    if (shrink && stride < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("strides[", i, "] is ", stride, ", but a single index needs a positive stride"));
    }
    ResolvedSlice::Dimension taken;
    taken.stride = stride;
    if (shrink) {
      taken.size = 1;
      taken.stride = 1;
      if (begin_known && dim != kUnknownDim) {
        taken.begin = begin[i] < 0 ? begin[i] + dim : begin[i];
        if (taken.begin < 0 || taken.begin >= dim) {
          return absl::InvalidArgumentError(
              absl::StrCat("slice index ", begin[i], " of dimension ", axis, " is not in [", -dim, ", ", dim, ")"));
        }
      }
    } else if (dim != kUnknownDim && (begin_known || open_begin) && (end_known || open_end)) {
      const int64_t first = stride > 0 ? 0 : dim - 1, last = stride > 0 ? dim : -1;
      taken.begin = open_begin ? first : Clamp(begin[i], dim, stride);
      const int64_t limit = open_end ? last : Clamp(end[i], dim, stride);
      taken.size = CountSteps(taken.begin, limit, stride);
    }
    if (taken.begin != 0 || taken.stride != 1 || taken.size != dim || dim == kUnknownDim) result.is_whole = false;
    if (!shrink) result.output.AddDim(taken.size);
    result.dims.push_back(taken);
  }
  if (ellipsis < 0) take_whole(rank - num_named);
  if (!begin_known) result.is_whole = false;
  return result;
}

}  // namespace nabla

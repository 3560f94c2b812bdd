// Taking parts of tensors, and putting borders around them.
#include "absl/strings/str_cat.h"
#include "nabla/graph/strided_slice.h"
#include "nabla/ops/array_ops.h"
#include "nabla/ops/rule_util.h"

namespace nabla {
namespace {

// The rank that input `i`, a vector with one element per dimension of `shape`, and shape agree on.
absl::StatusOr<Shape> WithRankFrom(const ShapeContext& c, int i, const Shape& shape, absl::string_view what) {
  NABLA_ASSIGN_OR_RETURN(const Shape vector, c.InputOfRank(i, 1));
  const int64_t length = vector.dim(0);
  if (length == kUnknownDim) return shape;
  if (!shape.has_rank()) return length > kMaxRank ? Shape() : Shape::UnknownOfRank(static_cast<int>(length));
  if (length != shape.rank()) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " has ", length, " elements, but the input has ", shape.rank(), " dimensions"));
  }
  return shape;
}

absl::Status SliceShape(ShapeContext& c) {
  NABLA_ASSIGN_OR_RETURN(Shape input, WithRankFrom(c, 1, c.input(0), "begin"));
  NABLA_ASSIGN_OR_RETURN(input, WithRankFrom(c, 2, input, "size"));
  const absl::optional<std::vector<int64_t>> begin = ConstantInts(c, 1);
  const absl::optional<std::vector<int64_t>> size = ConstantInts(c, 2);
  if (!input.has_rank()) return absl::OkStatus();
  const size_t rank = input.rank();
  Shape output = Shape::UnknownOfRank(input.rank());
  const bool begin_known = begin.has_value() && begin->size() == rank;
  const bool size_known = size.has_value() && size->size() == rank;
  if (!size_known) {
    // Single elements of `size` may be known all the same. (A -1 is unknown here too, which is right.)
    const Shape partial = c.InputAsShape(2);
    if (partial.rank() == input.rank()) output = partial;
  }
  for (size_t i = 0; i < rank; ++i) {
    const int64_t dim = input.dim(i);
    if (begin_known && ((*begin)[i] < 0 || (dim != kUnknownDim && (*begin)[i] > dim))) {
      return absl::InvalidArgumentError(absl::StrCat("begin[", i, "] = ", (*begin)[i], " is not in [0, ",
                                                     dim == kUnknownDim ? "?" : absl::StrCat(dim), "]"));
    }
    if (!size_known) continue;
    if ((*size)[i] < -1) {
      return absl::InvalidArgumentError(absl::StrCat("size[", i, "] is ", (*size)[i], ", must be at least -1"));
    }
    if ((*size)[i] == -1) {
      if (begin_known && dim != kUnknownDim) output.set_dim(i, dim - (*begin)[i]);
      continue;
    }
    if (dim != kUnknownDim && (*size)[i] > dim - (begin_known ? (*begin)[i] : 0)) {
      return absl::InvalidArgumentError(absl::StrCat("size[", i, "] = ", (*size)[i], " reaches beyond dimension ", i,
                                                     " of ", input.ToString(),
                                                     begin_known ? absl::StrCat(" from ", (*begin)[i]) : ""));
    }
    output.set_dim(i, (*size)[i]);
  }
  return SetCheckedOutput(c, 0, output);
}

// The number of entries of begin, end and strides, which must agree.
absl::StatusOr<int64_t> SliceEntries(const ShapeContext& c, int first) {
  int64_t entries = kUnknownDim;
  for (int i = first; i < first + 3; ++i) {
    NABLA_ASSIGN_OR_RETURN(const Shape vector, c.InputOfRank(i, 1));
    NABLA_ASSIGN_OR_RETURN(entries, ShapeContext::MergeDims(entries, vector.dim(0)));
  }
  return entries;
}

absl::Status StridedSliceShape(ShapeContext& c) {
  NABLA_RETURN_IF_ERROR(SliceEntries(c, 1).status());
  StridedSliceMasks masks;
  masks.begin = c.attr<int64_t>("begin_mask");
  masks.end = c.attr<int64_t>("end_mask");
  masks.ellipsis = c.attr<int64_t>("ellipsis_mask");
  masks.new_axis = c.attr<int64_t>("new_axis_mask");
  masks.shrink_axis = c.attr<int64_t>("shrink_axis_mask");
  const absl::optional<std::vector<int64_t>> begin = ConstantInts(c, 1);
  const absl::optional<std::vector<int64_t>> end = ConstantInts(c, 2);
  const absl::optional<std::vector<int64_t>> strides = ConstantInts(c, 3);
  if (!c.input(0).has_rank() || !strides.has_value()) return absl::OkStatus();
  const auto span = [](const absl::optional<std::vector<int64_t>>& values) {
    return values.has_value() ? absl::MakeConstSpan(*values) : absl::Span<const int64_t>();
  };
  NABLA_ASSIGN_OR_RETURN(const ResolvedSlice slice,
                         ResolveStridedSlice(c.input(0), span(begin), span(end), *strides, masks));
  return SetCheckedOutput(c, 0, slice.output);
}

absl::Status StridedSliceGradShape(ShapeContext& c) {
  NABLA_RETURN_IF_ERROR(c.InputOfRank(0, 1).status());
  NABLA_RETURN_IF_ERROR(SliceEntries(c, 1).status());
  return SetCheckedOutput(c, 0, c.InputAsShape(0));
}

absl::Status PadShape(ShapeContext& c) {
  NABLA_ASSIGN_OR_RETURN(const Shape paddings, c.InputOfRank(1, 2));
  NABLA_RETURN_IF_ERROR(ShapeContext::MergeDims(paddings.dim(1), 2).status());
  if (c.num_inputs() > 2) NABLA_RETURN_IF_ERROR(c.InputOfRank(2, 0).status());
  Shape input = c.input(0);
  if (!input.has_rank()) {
    if (paddings.dim(0) == kUnknownDim || paddings.dim(0) > kMaxRank) return absl::OkStatus();
    input = Shape::UnknownOfRank(static_cast<int>(paddings.dim(0)));
  }
  if (paddings.dim(0) != kUnknownDim && paddings.dim(0) != input.rank()) {
    return absl::InvalidArgumentError(
        absl::StrCat("paddings has ", paddings.dim(0), " rows, but the input has ", input.rank(), " dimensions"));
  }
  const absl::optional<std::vector<int64_t>> values = ConstantInts(c, 1);
  if (!values.has_value() || values->size() != 2 * static_cast<size_t>(input.rank())) {
    c.SetOutput(0, Shape::UnknownOfRank(input.rank()));
    return absl::OkStatus();
  }
  Shape output = input;
  for (int i = 0; i < input.rank(); ++i) {
    const int64_t before = (*values)[2 * i], after = (*values)[2 * i + 1];
    if (before < 0 || after < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("paddings[", i, "] is (", before, ", ", after, "), must not be negative"));
    }
    NABLA_ASSIGN_OR_RETURN(const int64_t border, AddDims(before, after));
    NABLA_ASSIGN_OR_RETURN(const int64_t dim, AddDims(input.dim(i), border));
    output.set_dim(i, dim);
  }
  return SetCheckedOutput(c, 0, output);
}

absl::Status ReverseShape(ShapeContext& c) {
  NABLA_ASSIGN_OR_RETURN(Shape input, WithRankFrom(c, 1, c.input(0), "dims"));
  c.SetOutput(0, std::move(input));
  return absl::OkStatus();
}

absl::Status ReverseV2Shape(ShapeContext& c) {
  NABLA_RETURN_IF_ERROR(c.InputOfRank(1, 1).status());
  const Shape& input = c.input(0);
  const absl::optional<std::vector<int64_t>> axes = ConstantInts(c, 1);
  if (axes.has_value() && input.has_rank()) {
    std::vector<bool> seen(input.rank(), false);
    for (int64_t axis : *axes) {
      NABLA_ASSIGN_OR_RETURN(const int i, ShapeContext::ResolveAxis(axis, input.rank()));
      if (seen[i]) return absl::InvalidArgumentError(absl::StrCat("axis names dimension ", i, " more than once"));
      seen[i] = true;
    }
  }
  c.SetOutput(0, input);
  return absl::OkStatus();
}

}  // namespace

void RegisterSliceArrayOps(OpRegistry& registry) {
  registry.Add("Slice")
      .Input("input: T")
      .Input("begin: Index")
      .Input("size: Index")
      .Output("output: T")
      .Attr("T: type")
      .Attr("Index: {int32, int64}")
      .Doc(R"(A box out of a tensor.

begin: the box's first index in each dimension, a vector of values of 0 or more.
size: the box's size in each dimension, a vector; -1 for all that is left. The box must lie within the input.
Gradient: padded with zeros to the input's shape.)")
      .Shape(SliceShape);

  registry.Add("StridedSlice")
      .Input("input: T")
      .Input("begin: Index")
      .Input("end: Index")
      .Input("strides: Index")
      .Output("output: T")
      .Attr("T: type")
      .Attr("Index: {int16, int32, int64}")
      .Attr("begin_mask: int = 0")
      .Attr("end_mask: int = 0")
      .Attr("ellipsis_mask: int = 0")
      .Attr("new_axis_mask: int = 0")
      .Attr("shrink_axis_mask: int = 0")
      .Doc(R"(NumPy's basic indexing: input[begin[0]:end[0]:strides[0], …].

begin, end, strides: vectors of one length, an entry for each dimension that is indexed; the rest is taken whole.
  Negative begins and ends count from the end, both are clamped to the dimension, strides may be negative, not 0.
begin_mask, end_mask: if bit i is set, begin[i] (end[i]) is ignored, as in input[:3] (input[3:]).
ellipsis_mask: the entry of the set bit is an ellipsis: it takes all dimensions that no other entry is about whole.
new_axis_mask: an entry of a set bit inserts a dimension of 1 (and wins over shrink_axis_mask).
shrink_axis_mask: an entry of a set bit is the single index begin[i]; the dimension disappears.
Gradient: StridedSliceGrad with the same arguments.)")
      .Shape(StridedSliceShape);

  registry.Add("StridedSliceGrad")
      .Input("shape: Index")
      .Input("begin: Index")
      .Input("end: Index")
      .Input("strides: Index")
      .Input("dy: T")
      .Output("output: T")
      .Attr("T: type")
      .Attr("Index: {int32, int64}")
      .Attr("begin_mask: int = 0")
      .Attr("end_mask: int = 0")
      .Attr("ellipsis_mask: int = 0")
      .Attr("new_axis_mask: int = 0")
      .Attr("shrink_axis_mask: int = 0")
      .Doc(R"(The gradient of StridedSlice: zeros of shape `shape`, with `dy` where the slice was taken from.

shape: the shape of StridedSlice's input, a vector. The other arguments are as there.
Gradient: for `dy`, StridedSlice with the same arguments.)")
      .Shape(StridedSliceGradShape);

  registry.Add("Pad")
      .Input("input: T")
      .Input("paddings: Tpaddings")
      .Output("output: T")
      .Attr("T: type")
      .Attr("Tpaddings: {int32, int64} = int32")
      .Doc(R"(The input with a border of zeros.

paddings: [rank, 2]; in each dimension, how many to add before and after, 0 or more.
Gradient: the slice of the output's gradient that the input became.)")
      .Shape(PadShape);

  registry.Add("PadV2")
      .Input("input: T")
      .Input("paddings: Tpaddings")
      .Input("constant_values: T")
      .Output("output: T")
      .Attr("T: type")
      .Attr("Tpaddings: {int32, int64} = int32")
      .Doc(R"(The input with a border of copies of the scalar `constant_values`.

paddings: [rank, 2]; in each dimension, how many to add before and after, 0 or more.
Gradient: for the input, the slice of the output's gradient that it became; for `constant_values`, the sum of the rest.)")
      .Shape(PadShape);

  registry.Add("Reverse")
      .Input("tensor: T")
      .Input("dims: bool")
      .Output("output: T")
      .Attr(
          "T: {uint8, int8, uint16, int16, uint32, int32, uint64, int64, bool, bfloat16, half, float, double, "
          "complex64, complex128, string}")
      .Doc(
          R"(The input with the order reversed along each dimension i where dims[i], a vector of rank elements, is true.

Gradient: reversed in the same way. Old files contain it; ReverseV2 takes its place.)")
      .Shape(ReverseShape);

  registry.Add("ReverseV2")
      .Input("tensor: T")
      .Input("axis: Tidx")
      .Output("output: T")
      .Attr("Tidx: {int32, int64} = int32")
      .Attr(
          "T: {uint8, int8, uint16, int16, int32, uint32, int64, uint64, bool, bfloat16, half, float, double, "
          "complex64, complex128, string}")
      .Doc(R"(The input with the order reversed along some dimensions.

axis: the dimensions, a vector of distinct values in [-rank, rank).
Gradient: reversed in the same way.)")
      .Shape(ReverseV2Shape);
}

}  // namespace nabla

// Joining tensors and taking them apart.
#include "absl/strings/str_cat.h"
#include "nabla/ops/array_ops.h"
#include "nabla/ops/rule_util.h"

namespace nabla {
namespace {

// Concatenation of inputs [first, first + count) along input `axis_input`.
absl::Status ConcatOf(ShapeContext& c, int first, int count, int axis_input) {
  NABLA_ASSIGN_OR_RETURN(const absl::optional<int64_t> axis_value, ConstantScalar(c, axis_input, "the axis"));
  int rank = kUnknownRank;
  for (int i = first; i < first + count; ++i) {
    const Shape& shape = c.input(i);
    if (!shape.has_rank()) continue;
    if (shape.rank() == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("value ", i - first, " is a scalar; only tensors of rank 1 or more can be concatenated"));
    }
    if (rank != kUnknownRank && shape.rank() != rank) {
      return absl::InvalidArgumentError(absl::StrCat("values must have one rank, but value ", i - first, " has shape ",
                                                     shape.ToString(), ", not rank ", rank));
    }
    rank = shape.rank();
  }
  if (rank == kUnknownRank) return absl::OkStatus();
  if (!axis_value.has_value()) {
    c.SetOutput(0, Shape::UnknownOfRank(rank));
    return absl::OkStatus();
  }
  NABLA_ASSIGN_OR_RETURN(const int axis, ShapeContext::ResolveAxis(*axis_value, rank));
  Shape output = Shape::UnknownOfRank(rank);
  int64_t total = 0;
  for (int i = first; i < first + count; ++i) {
    const Shape& shape = c.input(i);
    if (!shape.has_rank()) {
      total = kUnknownDim;
      continue;
    }
    NABLA_ASSIGN_OR_RETURN(total, AddDims(total, shape.dim(axis)));
    for (int d = 0; d < rank; ++d) {
      if (d == axis || shape.dim(d) == kUnknownDim) continue;
      if (output.dim(d) != kUnknownDim && output.dim(d) != shape.dim(d)) {
        return absl::InvalidArgumentError(absl::StrCat("values must agree in all dimensions but ", axis, ", but value ",
                                                       i - first, " has shape ", shape.ToString(), " and others have ",
                                                       output.dim(d), " in dimension ", d));
      }
      output.set_dim(d, shape.dim(d));
    }
  }
  output.set_dim(axis, total);
  return SetCheckedOutput(c, 0, output);
}

absl::Status ConcatShape(ShapeContext& c) { return ConcatOf(c, 1, c.num_inputs() - 1, 0); }
absl::Status ConcatV2Shape(ShapeContext& c) { return ConcatOf(c, 0, c.num_inputs() - 1, c.num_inputs() - 1); }

absl::Status ConcatOffsetShape(ShapeContext& c) {
  NABLA_RETURN_IF_ERROR(ConstantScalar(c, 0, "concat_dim").status());
  int64_t length = kUnknownDim;
  for (int i = 1; i < c.num_inputs(); ++i) {
    NABLA_ASSIGN_OR_RETURN(const Shape shape, c.InputOfRank(i, 1));
    NABLA_ASSIGN_OR_RETURN(length, ShapeContext::MergeDims(length, shape.dim(0)));
  }
  for (int i = 0; i < c.num_outputs(); ++i) c.SetOutput(i, Shape({length}));
  return absl::OkStatus();
}

absl::Status PackShape(ShapeContext& c) {
  Shape value = c.input(0);
  for (int i = 1; i < c.num_inputs(); ++i) {
    absl::StatusOr<Shape> merged = value.MergeWith(c.input(i));
    if (!merged.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("values must have one shape, but value ", i, " has ",
                                                     c.input(i).ToString(), " and others have ", value.ToString()));
    }
    value = *std::move(merged);
  }
  if (!value.has_rank()) return absl::OkStatus();
  NABLA_ASSIGN_OR_RETURN(const int axis, ShapeContext::ResolveAxis(c.attr<int64_t>("axis"), value.rank() + 1));
  value.InsertDim(axis, c.num_inputs());
  return SetCheckedOutput(c, 0, value);
}

absl::Status UnpackShape(ShapeContext& c) {
  NABLA_ASSIGN_OR_RETURN(Shape value, c.InputOfRankAtLeast(0, 1));
  if (!value.has_rank()) return absl::OkStatus();
  NABLA_ASSIGN_OR_RETURN(const int axis, ShapeContext::ResolveAxis(c.attr<int64_t>("axis"), value.rank()));
  if (value.dim(axis) != kUnknownDim && value.dim(axis) != c.num_outputs()) {
    return absl::InvalidArgumentError(absl::StrCat("attr num is ", c.num_outputs(), ", but dimension ", axis, " of ",
                                                   value.ToString(), " is ", value.dim(axis)));
  }
  value.RemoveDim(axis);
  for (int i = 0; i < c.num_outputs(); ++i) c.SetOutput(i, value);
  return absl::OkStatus();
}

absl::Status SplitShape(ShapeContext& c) {
  NABLA_ASSIGN_OR_RETURN(const absl::optional<int64_t> axis_value, ConstantScalar(c, 0, "split_dim"));
  NABLA_ASSIGN_OR_RETURN(Shape part, c.InputOfRankAtLeast(1, 1));
  if (!part.has_rank()) return absl::OkStatus();
  if (axis_value.has_value()) {
    NABLA_ASSIGN_OR_RETURN(const int axis, ShapeContext::ResolveAxis(*axis_value, part.rank()));
    const int64_t dim = part.dim(axis);
    if (dim != kUnknownDim) {
      if (dim % c.num_outputs() != 0) {
        return absl::InvalidArgumentError(absl::StrCat("dimension ", axis, " of ", part.ToString(),
                                                       " does not divide into ", c.num_outputs(), " equal parts"));
      }
      part.set_dim(axis, dim / c.num_outputs());
    }
  } else {
    part = Shape::UnknownOfRank(part.rank());
  }
  for (int i = 0; i < c.num_outputs(); ++i) c.SetOutput(i, part);
  return absl::OkStatus();
}

absl::Status SplitVShape(ShapeContext& c) {
  NABLA_ASSIGN_OR_RETURN(const Shape sizes_shape, c.InputOfRank(1, 1));
  NABLA_ASSIGN_OR_RETURN(const absl::optional<int64_t> axis_value, ConstantScalar(c, 2, "split_dim"));
  NABLA_ASSIGN_OR_RETURN(const Shape value, c.InputOfRankAtLeast(0, 1));
  if (sizes_shape.dim(0) != kUnknownDim && sizes_shape.dim(0) != c.num_outputs()) {
    return absl::InvalidArgumentError(
        absl::StrCat("size_splits has ", sizes_shape.dim(0), " elements, attr num_split is ", c.num_outputs()));
  }
  if (!value.has_rank()) return absl::OkStatus();
  if (!axis_value.has_value()) {
    for (int i = 0; i < c.num_outputs(); ++i) c.SetOutput(i, Shape::UnknownOfRank(value.rank()));
    return absl::OkStatus();
  }
  NABLA_ASSIGN_OR_RETURN(const int axis, ShapeContext::ResolveAxis(*axis_value, value.rank()));
  const int64_t dim = value.dim(axis);
  Shape part = value;
  absl::optional<std::vector<int64_t>> sizes = ConstantInts(c, 1);
  if (!sizes.has_value() || static_cast<int>(sizes->size()) != c.num_outputs()) {
    part.set_dim(axis, c.num_outputs() == 1 ? dim : kUnknownDim);
    for (int i = 0; i < c.num_outputs(); ++i) c.SetOutput(i, part);
    return absl::OkStatus();
  }
  int rest = -1;  // the output that takes what the others leave
  int64_t total = 0;
  for (int i = 0; i < c.num_outputs(); ++i) {
    const int64_t size = (*sizes)[i];
    if (size == -1 && rest < 0) {
      rest = i;
      continue;
    }
    if (size < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("size_splits[", i, "] is ", size, ", must be at least 0 (one of them may be -1)"));
    }
    NABLA_ASSIGN_OR_RETURN(total, AddDims(total, size));
  }
  if (dim != kUnknownDim && (rest < 0 ? total != dim : total > dim)) {
    return absl::InvalidArgumentError(
        absl::StrCat("size_splits add up to ", total, ", but dimension ", axis, " of ", value.ToString(), " is ", dim));
  }
  for (int i = 0; i < c.num_outputs(); ++i) {
    part.set_dim(axis, i != rest ? (*sizes)[i] : dim == kUnknownDim ? kUnknownDim : dim - total);
    c.SetOutput(i, part);
  }
  return absl::OkStatus();
}

}  // namespace

void RegisterJoinArrayOps(OpRegistry& registry) {
  registry.Add("Concat")
      .Input("concat_dim: int32")
      .Input("values: N * T")
      .Output("output: T")
      .Attr("N: int >= 2")
      .Attr("T: type")
      .Doc(R"(ConcatV2 with the axis first: tensors one after the other along dimension `concat_dim`, a scalar.

Gradient: each value's part of the output's gradient.)")
      .Shape(ConcatShape);

  registry.Add("ConcatV2")
      .Input("values: N * T")
      .Input("axis: Tidx")
      .Output("output: T")
      .Attr("N: int >= 2")
      .Attr("T: type")
      .Attr("Tidx: {int32, int64} = int32")
      .Doc(R"(Tensors one after the other along one dimension.

values: tensors that agree in all dimensions but `axis`.
axis: a scalar in [-rank, rank).
Gradient: each value's part of the output's gradient; as IndexedSlices where it comes as such and axis is 0.)")
      .Shape(ConcatV2Shape);

  registry.Add("ConcatOffset")
      .Input("concat_dim: int32")
      .Input("shape: N * shape_type")
      .Output("offset: N * shape_type")
      .Attr("N: int >= 2")
      .Attr("shape_type: {int32, int64} = int32")
      .Doc(R"(Where each tensor begins in their concatenation.

concat_dim: the dimension, a scalar in [-rank, rank).
shape: the tensors' shapes, vectors that agree elsewhere.
offset: vectors of the same length, zero but at `concat_dim`, where they have the sum of the sizes before. No gradient.)")
      .Shape(ConcatOffsetShape);

  registry.Add("Pack")
      .Input("values: N * T")
      .Output("output: T")
      .Attr("N: int >= 1")
      .Attr("T: type")
      .Attr("axis: int = 0")
      .Doc(R"(Tensors of one shape stacked along a new dimension.

axis: where the dimension of size N is inserted, in [-rank - 1, rank].
Gradient: Unpack along the same axis.)")
      .Shape(PackShape);

  registry.Add("Unpack")
      .Input("value: T")
      .Output("output: num * T")
      .Attr("num: int >= 0")
      .Attr("T: type")
      .Attr("axis: int = 0")
      .Doc(R"(The slices of a tensor along one dimension, which disappears.

num: the size of that dimension.
axis: the dimension, in [-rank, rank).
Gradient: Pack along the same axis.)")
      .Shape(UnpackShape);

  registry.Add("Split")
      .Input("split_dim: int32")
      .Input("value: T")
      .Output("output: num_split * T")
      .Attr("num_split: int >= 1")
      .Attr("T: type")
      .Doc(R"(A tensor cut into equal parts along one dimension.

split_dim: the dimension, a scalar in [-rank, rank).
num_split: how many parts; must divide the dimension.
Gradient: the concatenation of the parts' gradients.)")
      .Shape(SplitShape);

  registry.Add("SplitV")
      .Input("value: T")
      .Input("size_splits: Tlen")
      .Input("split_dim: int32")
      .Output("output: num_split * T")
      .Attr("num_split: int >= 1")
      .Attr("T: type")
      .Attr("Tlen: {int8, int32, int64} = int64")
      .Doc(R"(A tensor cut into parts of given sizes along one dimension.

size_splits: the sizes, a vector that adds up to the dimension; one of them may be -1 for what the others leave.
split_dim: the dimension, a scalar in [-rank, rank).
Gradient: the concatenation of the parts' gradients.)")
      .Shape(SplitVShape);
}

}  // namespace nabla

// Ops about the shapes of tensors, and ops that give a tensor another shape.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "nabla/ops/array_ops.h"
#include "nabla/ops/rule_util.h"

namespace nabla {
namespace {

// A vector with one element per dimension of `shape`.
Shape RankVector(const Shape& shape) { return Shape({shape.has_rank() ? shape.rank() : kUnknownDim}); }

absl::Status ShapeNShape(ShapeContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) c.SetOutput(i, RankVector(c.input(i)));
  return absl::OkStatus();
}

// The product of the known dimensions, and how many are unknown. Shapes of tensors don't overflow.
struct ElementCount {
  int64_t known = 1;
  int num_unknown = 0;
};

absl::StatusOr<ElementCount> CountElements(const Shape& shape) {
  ElementCount count;
  for (int64_t dim : shape.dims()) {
    if (dim == kUnknownDim) {
      ++count.num_unknown;
    } else if (!CheckedMultiply(count.known, dim, &count.known)) {
      return absl::InvalidArgumentError(absl::StrCat("shape ", shape.ToString(), " has too many elements"));
    }
  }
  return count;
}

int64_t NonZeroProduct(const Shape& shape) {
  int64_t product = 1;
  for (int64_t dim : shape.dims()) {
    if (dim > 0 && !CheckedMultiply(product, dim, &product)) return product;
  }
  return product;
}

absl::Status CannotReshape(const Shape& from, const Shape& to) {
  return absl::InvalidArgumentError(
      absl::StrCat("cannot reshape ", from.ToString(), " to ", to.ToString(), ": the numbers of elements differ"));
}

absl::Status ReshapeShape(ShapeContext& c) {
  NABLA_RETURN_IF_ERROR(c.InputOfRank(1, 1).status());
  const Shape& from = c.input(0);
  bool inferred = false;  // a literal -1 is in the shape
  if (const auto dims = ConstantInts(c, 1)) {
    for (size_t i = 0; i < dims->size(); ++i) {
      if ((*dims)[i] < -1) {
        return absl::InvalidArgumentError(absl::StrCat("shape[", i, "] is ", (*dims)[i], ", must be at least -1"));
      }
      if ((*dims)[i] == -1 && inferred) {
        return absl::InvalidArgumentError("only one dimension of the new shape may be -1");
      }
      inferred |= (*dims)[i] == -1;
    }
  }
  Shape to = c.InputAsShape(1);
  if (!to.has_rank()) {
    c.SetOutput(0, to);
    return absl::OkStatus();
  }
  NABLA_ASSIGN_OR_RETURN(const ElementCount target, CountElements(to));
  if (!from.has_rank()) return SetCheckedOutput(c, 0, to);
  NABLA_ASSIGN_OR_RETURN(const ElementCount source, CountElements(from));

  if (target.num_unknown == 0) {
    // The input's unknown dimensions must make up the difference.
    const bool possible = source.num_unknown == 0 ? source.known == target.known
                          : source.known == 0     ? target.known == 0
                                                  : target.known % source.known == 0;
    if (!possible) return CannotReshape(from, to);
  } else if (target.num_unknown == 1) {
    const int hole = static_cast<int>(std::find(to.dims().begin(), to.dims().end(), kUnknownDim) - to.dims().begin());
    if (source.num_unknown == 0) {
      if (target.known == 0) {
        if (source.known != 0) return CannotReshape(from, to);
        // Any size would do; by convention it is what it would be without the zeros of both shapes.
        if (inferred) to.set_dim(hole, NonZeroProduct(from) / NonZeroProduct(to));
      } else {
        if (source.known % target.known != 0) return CannotReshape(from, to);
        to.set_dim(hole, source.known / target.known);
      }
    }
  }
  return SetCheckedOutput(c, 0, to);
}

absl::Status ShapeShape(ShapeContext& c) {
  c.SetOutput(0, RankVector(c.input(0)));
  return absl::OkStatus();
}

absl::Status ExpandDimsShape(ShapeContext& c) {
  NABLA_ASSIGN_OR_RETURN(const absl::optional<int64_t> dim, ConstantScalar(c, 1, "dim"));
  const Shape& input = c.input(0);
  if (!input.has_rank()) return absl::OkStatus();
  if (!dim.has_value()) {
    c.SetOutput(0, Shape::UnknownOfRank(input.rank() + 1));
    return absl::OkStatus();
  }
  NABLA_ASSIGN_OR_RETURN(const int axis, ShapeContext::ResolveAxis(*dim, input.rank() + 1));
  Shape output = input;
  output.InsertDim(axis, 1);
  return SetCheckedOutput(c, 0, output);
}

absl::Status SqueezeShape(ShapeContext& c) {
  const Shape& input = c.input(0);
  const std::vector<int64_t>& axes = c.attr<std::vector<int64_t>>("squeeze_dims");
  if (!input.has_rank()) return absl::OkStatus();
  std::vector<bool> drop(input.rank(), false);
  for (int64_t axis : axes) {
    NABLA_ASSIGN_OR_RETURN(const int i, ShapeContext::ResolveAxis(axis, input.rank()));
    drop[i] = true;
  }
  Shape output = Shape::Scalar();
  for (int i = 0; i < input.rank(); ++i) {
    const int64_t dim = input.dim(i);
    if (axes.empty()) {
      // Whether an unknown dimension goes is unknown, and with it the rank.
      if (dim == kUnknownDim) return absl::OkStatus();
      if (dim != 1) output.AddDim(dim);
    } else if (!drop[i]) {
      output.AddDim(dim);
    } else if (dim != 1 && dim != kUnknownDim) {
      return absl::InvalidArgumentError(
          absl::StrCat("cannot squeeze dimension ", i, " of ", input.ToString(), ": it is ", dim, ", not 1"));
    }
  }
  c.SetOutput(0, output);
  return absl::OkStatus();
}

absl::Status FillShape(ShapeContext& c) {
  NABLA_RETURN_IF_ERROR(c.InputOfRank(0, 1).status());
  NABLA_RETURN_IF_ERROR(c.InputOfRank(1, 0).status());
  if (const auto dims = ConstantInts(c, 0)) {
    for (size_t i = 0; i < dims->size(); ++i) {
      if ((*dims)[i] < 0) {
        return absl::InvalidArgumentError(absl::StrCat("dims[", i, "] is ", (*dims)[i], ", must be at least 0"));
      }
    }
  }
  return SetCheckedOutput(c, 0, c.InputAsShape(0));
}

}  // namespace

void RegisterShapeArrayOps(OpRegistry& registry) {
  registry.Add("Shape")
      .Input("input: T")
      .Output("output: out_type")
      .Attr("T: type")
      .Attr("out_type: {int32, int64} = int32")
      .Doc("The input's dimensions, as a vector. No gradient.")
      .Shape(ShapeShape);

  registry.Add("ShapeN")
      .Input("input: N * T")
      .Output("output: N * out_type")
      .Attr("N: int >= 1")
      .Attr("T: type")
      .Attr("out_type: {int32, int64} = int32")
      .Doc("The dimensions of each of N tensors, as N vectors. No gradient.")
      .Shape(ShapeNShape);

  registry.Add("Size")
      .Input("input: T")
      .Output("output: out_type")
      .Attr("T: type")
      .Attr("out_type: {int32, int64} = int32")
      .Doc("The input's number of elements, as a scalar. No gradient.")
      .Shape(ScalarShape);

  registry.Add("Rank")
      .Input("input: T")
      .Output("output: int32")
      .Attr("T: type")
      .Doc("The input's number of dimensions, as a scalar. No gradient.")
      .Shape(ScalarShape);

  registry.Add("Reshape")
      .Input("tensor: T")
      .Input("shape: Tshape")
      .Output("output: T")
      .Attr("T: type")
      .Attr("Tshape: {int32, int64} = int32")
      .Doc(R"(The same elements in the same (row-major) order under another shape; no bytes are copied.

shape: the new dimensions, a vector. One of them may be -1: it becomes whatever makes the number of elements fit.
Gradient: reshaped back.)")
      .Shape(ReshapeShape);

  registry.Add("ExpandDims")
      .Input("input: T")
      .Input("dim: Tdim")
      .Output("output: T")
      .Attr("T: type")
      .Attr("Tdim: {int32, int64} = int32")
      .Doc(R"(The input with a dimension of 1 inserted.

dim: where, a scalar in [-rank - 1, rank]; negative counts from the end, so -1 appends.
Gradient: reshaped back.)")
      .Shape(ExpandDimsShape);

  registry.Add("Squeeze")
      .Input("input: T")
      .Output("output: T")
      .Attr("T: type")
      .Attr("squeeze_dims: list(int) >= 0 = []")
      .Doc(R"(The input without its dimensions of 1.

squeeze_dims: only these, which must be 1; negative counts from the end. Empty: all that are 1.
Gradient: reshaped back.)")
      .Shape(SqueezeShape);

  registry.Add("Fill")
      .Input("dims: index_type")
      .Input("value: T")
      .Output("output: T")
      .Attr("T: type")
      .Attr("index_type: {int32, int64} = int32")
      .Doc(R"(A tensor of shape `dims` whose every element is the scalar `value`.

Gradient: for `value`, the sum of the output's gradient.)")
      .Shape(FillShape);

  registry.Add("ZerosLike")
      .Input("x: T")
      .Output("y: T")
      .Attr("T: type")
      .Doc("Zeros (false, \"\") of x's type and shape. No gradient.")
      .Shape(UnchangedShape);

  registry.Add("OnesLike")
      .Input("x: T")
      .Output("y: T")
      .Attr(
          "T: {bfloat16, half, float, double, int8, uint8, int16, uint16, int32, uint32, int64, uint64, complex64, "
          "complex128, bool}")
      .Doc("Ones (true) of x's type and shape. No gradient.")
      .Shape(UnchangedShape);
}

}  // namespace nabla

// Broadcasting, tiling and permuting dimensions.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "nabla/ops/array_ops.h"
#include "nabla/ops/rule_util.h"

namespace nabla {
namespace {

absl::Status BroadcastToShape(ShapeContext& c) {
  NABLA_RETURN_IF_ERROR(c.InputOfRank(1, 1).status());
  if (const auto dims = ConstantInts(c, 1)) {
    for (size_t i = 0; i < dims->size(); ++i) {
      if ((*dims)[i] < 0) {
        return absl::InvalidArgumentError(absl::StrCat("shape[", i, "] is ", (*dims)[i], ", must be at least 0"));
      }
    }
  }
  const Shape& input = c.input(0);
  Shape output = c.InputAsShape(1);
  if (input.has_rank() && output.has_rank()) {
    const int extra = output.rank() - input.rank();
    bool possible = extra >= 0;
    for (int i = 0; possible && i < input.rank(); ++i) {
      const int64_t from = input.dim(i), to = output.dim(extra + i);
      if (from == 1 || from == kUnknownDim) continue;
      if (to == kUnknownDim) {
        output.set_dim(extra + i, from);  // a dimension that is not 1 cannot change
      } else {
        possible = from == to;
      }
    }
    if (!possible) {
      return absl::InvalidArgumentError(absl::StrCat("cannot broadcast ", input.ToString(), " to ", output.ToString()));
    }
  }
  return SetCheckedOutput(c, 0, output);
}

absl::Status BroadcastArgsShape(ShapeContext& c) {
  NABLA_ASSIGN_OR_RETURN(const Shape a, c.InputOfRank(0, 1));
  NABLA_ASSIGN_OR_RETURN(const Shape b, c.InputOfRank(1, 1));
  const bool known = a.dim(0) != kUnknownDim && b.dim(0) != kUnknownDim;
  c.SetOutput(0, Shape({known ? std::max(a.dim(0), b.dim(0)) : kUnknownDim}));
  return absl::OkStatus();
}

absl::Status BroadcastGradientArgsShape(ShapeContext& c) {
  NABLA_RETURN_IF_ERROR(c.InputOfRank(0, 1).status());
  NABLA_RETURN_IF_ERROR(c.InputOfRank(1, 1).status());
  c.SetOutput(0, Shape({kUnknownDim}));
  c.SetOutput(1, Shape({kUnknownDim}));
  return absl::OkStatus();
}

absl::Status TileShape(ShapeContext& c) {
  NABLA_ASSIGN_OR_RETURN(const Shape multiples, c.InputOfRank(1, 1));
  if (const auto values = ConstantInts(c, 1)) {
    for (size_t i = 0; i < values->size(); ++i) {
      if ((*values)[i] < 0) {
        return absl::InvalidArgumentError(absl::StrCat("multiples[", i, "] is ", (*values)[i], ", must be at least 0"));
      }
    }
  }
  Shape input = c.input(0);
  if (!input.has_rank()) {
    if (multiples.dim(0) == kUnknownDim || multiples.dim(0) > kMaxRank) return absl::OkStatus();
    input = Shape::UnknownOfRank(static_cast<int>(multiples.dim(0)));
  }
  if (multiples.dim(0) != kUnknownDim && multiples.dim(0) != input.rank()) {
    return absl::InvalidArgumentError(
        absl::StrCat("multiples has ", multiples.dim(0), " elements, but the input has ", input.rank(), " dimensions"));
  }
  const Shape factors = c.InputAsShape(1);
  Shape output = Shape::UnknownOfRank(input.rank());
  if (factors.rank() == input.rank()) {
    for (int i = 0; i < input.rank(); ++i) {
      const int64_t dim = input.dim(i), factor = factors.dim(i);
      int64_t product = 0;
      if (dim == 0 || factor == 0) {
        output.set_dim(i, 0);
      } else if (dim != kUnknownDim && factor != kUnknownDim) {
        if (!CheckedMultiply(dim, factor, &product)) {
          return absl::InvalidArgumentError(
              absl::StrCat("dimension ", i, " becomes too large: ", dim, " times ", factor));
        }
        output.set_dim(i, product);
      }
    }
  }
  return SetCheckedOutput(c, 0, output);
}

absl::Status TransposeShape(ShapeContext& c) {
  NABLA_ASSIGN_OR_RETURN(const Shape perm_shape, c.InputOfRank(1, 1));
  Shape input = c.input(0);
  const absl::optional<std::vector<int64_t>> perm = ConstantInts(c, 1);
  if (!input.has_rank()) {
    if (perm_shape.dim(0) == kUnknownDim || perm_shape.dim(0) > kMaxRank) return absl::OkStatus();
    input = Shape::UnknownOfRank(static_cast<int>(perm_shape.dim(0)));
  }
  const int rank = input.rank();
  if (perm_shape.dim(0) != kUnknownDim && perm_shape.dim(0) != rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("perm has ", perm_shape.dim(0), " elements, but the input has ", rank, " dimensions"));
  }
  if (!perm.has_value() || static_cast<int>(perm->size()) != rank) {
    c.SetOutput(0, rank <= 1 ? input : Shape::UnknownOfRank(rank));
    return absl::OkStatus();
  }
  std::vector<bool> seen(rank, false);
  Shape output = input;
  for (int i = 0; i < rank; ++i) {
    const int64_t from = (*perm)[i] < 0 ? (*perm)[i] + rank : (*perm)[i];
    if (from < 0 || from >= rank || seen[from]) {
      return absl::InvalidArgumentError(
          absl::StrCat("perm[", i, "] = ", (*perm)[i], ": perm must name each of ", rank, " dimensions once"));
    }
    seen[from] = true;
    output.set_dim(i, input.dim(static_cast<int>(from)));
  }
  c.SetOutput(0, output);
  return absl::OkStatus();
}

absl::Status InvertPermutationShape(ShapeContext& c) {
  NABLA_ASSIGN_OR_RETURN(Shape x, c.InputOfRank(0, 1));
  c.SetOutput(0, std::move(x));
  return absl::OkStatus();
}

}  // namespace

void RegisterBroadcastArrayOps(OpRegistry& registry) {
  registry.Add("BroadcastTo")
      .Input("input: T")
      .Input("shape: Tidx")
      .Output("output: T")
      .Attr("T: type")
      .Attr("Tidx: {int32, int64} = int32")
      .Doc(R"(The input repeated along dimensions of 1 (and new leading ones) until it has shape `shape`.

shape: a vector; aligned at the last dimension, each of the input's dimensions must equal it or be 1.
Gradient: the sum over what was repeated.)")
      .Shape(BroadcastToShape);

  registry.Add("BroadcastArgs")
      .Input("s0: T")
      .Input("s1: T")
      .Output("r0: T")
      .Attr("T: {int32, int64} = int32")
      .Doc("The shape that tensors of shapes `s0` and `s1` (vectors) have when broadcast together. No gradient.")
      .Shape(BroadcastArgsShape);

  registry.Add("BroadcastGradientArgs")
      .Input("s0: T")
      .Input("s1: T")
      .Output("r0: T")
      .Output("r1: T")
      .Attr("T: {int32, int64} = int32")
      .Doc(R"(The dimensions along which a gradient must be summed to undo broadcasting.

Two operands of shapes `s0` and `s1` (vectors) are broadcast together; summing the result's gradient over the
dimensions `r0` (or `r1`), and reshaping, gives the first (or second) operand's gradient. A dimension where both are 1
is listed too. No gradient.)")
      .Shape(BroadcastGradientArgsShape);

  registry.Add("Tile")
      .Input("input: T")
      .Input("multiples: Tmultiples")
      .Output("output: T")
      .Attr("T: type")
      .Attr("Tmultiples: {int32, int64} = int32")
      .Doc(R"(The input repeated multiples[i] times along each dimension i.

multiples: a vector with one element per dimension; 0 makes the output empty.
Gradient: the sum over the repetitions.)")
      .Shape(TileShape);

  registry.Add("Transpose")
      .Input("x: T")
      .Input("perm: Tperm")
      .Output("y: T")
      .Attr("T: type")
      .Attr("Tperm: {int32, int64} = int32")
      .Doc(R"(The dimensions in another order: y's dimension i is x's dimension perm[i].

perm: a permutation of [0, rank), a vector.
Gradient: transposed by the inverse permutation.)")
      .Shape(TransposeShape);

  registry.Add("ConjugateTranspose")
      .Input("x: T")
      .Input("perm: Tperm")
      .Output("y: T")
      .Attr("T: type")
      .Attr("Tperm: {int32, int64} = int32")
      .Doc(R"(Transpose, with complex elements conjugated: y's dimension i is x's dimension perm[i].

Gradient: conjugated and transposed by the inverse permutation.)")
      .Shape(TransposeShape);

  registry.Add("InvertPermutation")
      .Input("x: T")
      .Output("y: T")
      .Attr("T: {int32, int64} = int32")
      .Doc("The inverse of a permutation of [0, n), given as a vector: y[x[i]] = i. No gradient.")
      .Shape(InvertPermutationShape);
}

}  // namespace nabla

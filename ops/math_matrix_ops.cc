// Matrix products.
#include "absl/strings/str_cat.h"
#include "nabla/graph/shape_inference.h"
#include "nabla/ops/math_ops.h"
#include "nabla/ops/rule_util.h"

namespace nabla {
namespace {

// Checks the inner dimensions of a [m,k] and b [k,n] (after transposition) and sets *m and *n. Requires rank >= 2.
absl::Status ProductDims(const Shape& a, bool transpose_a, const Shape& b, bool transpose_b, int64_t* m, int64_t* n) {
  *m = a.DimFromEnd(transpose_a ? 1 : 2);
  *n = b.DimFromEnd(transpose_b ? 2 : 1);
  const int64_t ka = a.DimFromEnd(transpose_a ? 2 : 1);
  const int64_t kb = b.DimFromEnd(transpose_b ? 1 : 2);
  if (ka != kUnknownDim && kb != kUnknownDim && ka != kb) {
    return absl::InvalidArgumentError(absl::StrCat("the inner dimensions must agree, but are ", ka, " and ", kb,
                                                   ": shapes ", a.ToString(), transpose_a ? " transposed" : "", " and ",
                                                   b.ToString(), transpose_b ? " transposed" : ""));
  }
  return absl::OkStatus();
}

absl::Status MatMulShape(ShapeContext& c) {
  NABLA_ASSIGN_OR_RETURN(Shape a, c.InputOfRank(0, 2));
  NABLA_ASSIGN_OR_RETURN(Shape b, c.InputOfRank(1, 2));
  int64_t m;
  int64_t n;
  NABLA_RETURN_IF_ERROR(ProductDims(a, c.attr<bool>("transpose_a"), b, c.attr<bool>("transpose_b"), &m, &n));
  return SetCheckedOutput(c, 0, Shape({m, n}));
}

// Products of matrices in the last two axes; `merge` joins the shapes before them.
template <typename Merge>
absl::Status BatchProductShape(ShapeContext& c, Merge merge) {
  NABLA_ASSIGN_OR_RETURN(Shape x, c.InputOfRankAtLeast(0, 2));
  NABLA_ASSIGN_OR_RETURN(Shape y, c.InputOfRankAtLeast(1, 2));
  int64_t m = kUnknownDim;
  int64_t n = kUnknownDim;
  if (x.has_rank() && y.has_rank()) {
    NABLA_RETURN_IF_ERROR(ProductDims(x, c.attr<bool>("adj_x"), y, c.attr<bool>("adj_y"), &m, &n));
  } else if (x.has_rank()) {
    m = x.DimFromEnd(c.attr<bool>("adj_x") ? 1 : 2);
  } else if (y.has_rank()) {
    n = y.DimFromEnd(c.attr<bool>("adj_y") ? 2 : 1);
  }
  const Shape batch_x = x.has_rank() ? SubShape(x, 0, x.rank() - 2) : Shape();
  const Shape batch_y = y.has_rank() ? SubShape(y, 0, y.rank() - 2) : Shape();
  NABLA_ASSIGN_OR_RETURN(Shape batch, merge(batch_x, batch_y));
  return SetCheckedOutput(c, 0, ConcatShapes(batch, Shape({m, n})));
}

absl::Status BatchMatMulShape(ShapeContext& c) {
  return BatchProductShape(c, [](const Shape& x, const Shape& y) { return x.MergeWith(y); });
}

absl::Status BatchMatMulV2Shape(ShapeContext& c) { return BatchProductShape(c, BroadcastShapes); }

void BatchProduct(OpRegistry& registry, const char* name, const char* types, const char* doc, ShapeFn shape) {
  registry.Add(name)
      .Input("x: T")
      .Input("y: T")
      .Output("output: T")
      .Attr(types)
      .Attr("adj_x: bool = false")
      .Attr("adj_y: bool = false")
      .Attr("grad_x: bool = false")
      .Attr("grad_y: bool = false")
      .Doc(doc)
      .Shape(shape);
}

}  // namespace

void RegisterMathMatrixOps(OpRegistry& registry) {
  registry.Add("MatMul")
      .Input("a: T")
      .Input("b: T")
      .Output("product: T")
      .Attr("transpose_a: bool = false")
      .Attr("transpose_b: bool = false")
      .Attr("T: {bfloat16, half, float, double, int32, int64, uint8, uint16, uint32, uint64, complex64, complex128}")
      .Attr("grad_a: bool = false")
      .Attr("grad_b: bool = false")
      .Doc(
          "The matrix product of a [m,k] and b [k,n]: [m,n].\ntranspose_a, transpose_b: transpose that operand first. "
          "grad_a, grad_b: mark a product that is part of a gradient; no influence.\n"
          "Gradients: dy bᵀ, aᵀ dy (of conjugates if complex).")
      .Shape(MatMulShape);
  BatchProduct(registry, "BatchMatMul", "T: {bfloat16, half, float, double, int32, int64, complex64, complex128}",
               "Matrix products over the last two axes of x […,m,k] and y […,k,n]: […,m,n], where … is the same for "
               "both.\nadj_x, adj_y: take that operand's conjugate transpose first. Gradients: dy yᴴ, xᴴ dy.",
               BatchMatMulShape);
  BatchProduct(registry, "BatchMatMulV2",
               "T: {bfloat16, half, float, double, int16, int32, int64, uint8, uint16, uint32, uint64, complex64, "
               "complex128}",
               "Matrix products over the last two axes of x […,m,k] and y […,k,n]; the axes before them are broadcast "
               "against each other.\nadj_x, adj_y: take that operand's conjugate transpose first. Gradients: dy yᴴ, "
               "xᴴ dy, summed over broadcast axes.",
               BatchMatMulV2Shape);
}

}  // namespace nabla

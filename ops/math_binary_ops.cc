// Elementwise functions of two or three tensors, which are broadcast against each other by NumPy's rule: shapes are
// aligned at the end, and a dimension of 1 stretches.
#include <algorithm>

#include "nabla/graph/shape_inference.h"
#include "nabla/ops/math_ops.h"

namespace nabla {
namespace {

constexpr char kAllNumbers[] =
    "T: {bfloat16, half, float, double, uint8, int8, uint16, int16, int32, uint32, uint64, int64, complex64, "
    "complex128}";
constexpr char kRealNumbers[] =
    "T: {bfloat16, half, float, double, int8, uint8, int16, uint16, int32, uint32, int64, uint64}";
constexpr char kFloatingComplex[] = "T: {bfloat16, half, float, double, complex64, complex128}";

OpSpecBuilder Binary(OpRegistry& registry, const char* name, const char* types, const char* doc) {
  OpSpecBuilder builder = registry.Add(name);
  builder.Input("x: T").Input("y: T").Output("z: T").Attr(types).Doc(doc).Shape(BroadcastBinaryShape);
  return builder;
}

void RegisterArithmetic(OpRegistry& registry) {
  Binary(registry, "Add",
         "T: {bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, complex128, string}",
         "z = x + y, broadcasting; strings are concatenated. Gradients: dz, dz.");
  Binary(registry, "AddV2", kAllNumbers, "z = x + y, broadcasting. Gradients: dz, dz.").Commutative();
  Binary(registry, "Sub", kAllNumbers, "z = x - y, broadcasting. Gradients: dz, -dz.");
  Binary(registry, "Mul", kAllNumbers, "z = x y, broadcasting. Gradients: dz y, dz x (of conjugates if complex).")
      .Commutative();
  Binary(registry, "MulNoNan", kFloatingComplex,
         "z = x y, broadcasting, and 0 where y is 0 even if x is infinite or NaN. Gradients: as z's, with MulNoNan.");
  Binary(registry, "Div", kAllNumbers,
         "z = x / y, broadcasting. Integers truncate toward zero, and a zero divisor is an error for them.\n"
         "Gradients: dz / y, -dz x / y^2.");
  Binary(registry, "RealDiv", kAllNumbers,
         "z = x / y for floating and complex types, broadcasting. Gradients: dz / y, -dz x / y^2.");
  Binary(registry, "DivNoNan", kFloatingComplex,
         "z = x / y, broadcasting, and 0 where y is 0. Gradients: as RealDiv's, with DivNoNan.");
  Binary(registry, "FloorDiv", kAllNumbers,
         "The largest integer not above x / y, broadcasting. A zero divisor is an error for integers. Not "
         "differentiable.");
  Binary(registry, "FloorMod",
         "T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64, bfloat16, half, float, double}",
         "z = x - floor(x / y) y, so z has the sign of y; broadcasting. A zero divisor is an error for integers.\n"
         "Gradients: dz, -dz floor(x / y).");
  Binary(registry, "Pow", "T: {bfloat16, float, half, double, int8, int16, int32, int64, complex64, complex128}",
         "z = x^y, broadcasting. A negative exponent is an error for integers.\n"
         "Gradients: dz y x^(y - 1), dz z log(x), where log counts as 0 for x <= 0.");
  Binary(registry, "SquaredDifference", "T: {bfloat16, half, float, double, int32, int64, complex64, complex128}",
         "z = (x - y)^2 (conj(x - y) (x - y) if complex), broadcasting. Gradients: 2 dz (x - y), -2 dz (x - y).")
      .Commutative();
  Binary(registry, "Maximum", kRealNumbers,
         "The larger of x and y, broadcasting; NaN if either is. Gradients: dz to x where x >= y, else to y.");
  Binary(registry, "Minimum", kRealNumbers,
         "The smaller of x and y, broadcasting; NaN if either is. Gradients: dz to x where x <= y, else to y.");
  Binary(registry, "Xdivy", kFloatingComplex,
         "z = x / y, broadcasting, and 0 where x is 0 whatever y is. Gradients: dz xdivy(sign(x)^2, y), -dz x / y^2.");
  Binary(registry, "Xlogy", kFloatingComplex,
         "z = x log(y), broadcasting, and 0 where x is 0 whatever y is. Gradients: dz log(y), dz xdivy(x, y).");
}

// With incompatible_shape_error = false, shapes that do not broadcast make the result one scalar, so that nothing can
// be said while a dimension is unknown.
absl::Status EqualityShape(ShapeContext& c) {
  if (c.attr<bool>("incompatible_shape_error")) return BroadcastBinaryShape(c);
  const Shape& x = c.input(0);
  const Shape& y = c.input(1);
  if (!x.has_rank() || !y.has_rank()) return absl::OkStatus();
  const int common = std::min(x.rank(), y.rank());
  for (int i = 1; i <= common; ++i) {
    const int64_t a = x.DimFromEnd(i);
    const int64_t b = y.DimFromEnd(i);
    if (a == kUnknownDim || b == kUnknownDim) {
      if (a != 1 && b != 1) return absl::OkStatus();
    } else if (a != b && a != 1 && b != 1) {
      c.SetOutput(0, Shape::Scalar());
      return absl::OkStatus();
    }
  }
  return BroadcastBinaryShape(c);
}

void RegisterComparisons(OpRegistry& registry) {
  const auto ordering = [&registry](const char* name, const char* doc) {
    registry.Add(name)
        .Input("x: T")
        .Input("y: T")
        .Output("z: bool")
        .Attr("T: realnumbertype")
        .Doc(doc)
        .Shape(BroadcastBinaryShape);
  };
  ordering("Less", "Whether x < y, broadcasting; false if either is NaN. Not differentiable.");
  ordering("LessEqual", "Whether x <= y, broadcasting; false if either is NaN. Not differentiable.");
  ordering("Greater", "Whether x > y, broadcasting; false if either is NaN. Not differentiable.");
  ordering("GreaterEqual", "Whether x >= y, broadcasting; false if either is NaN. Not differentiable.");
  const auto equality = [&registry](const char* name, const char* doc) {
    registry.Add(name)
        .Input("x: T")
        .Input("y: T")
        .Output("z: bool")
        .Attr("T: type")
        .Attr("incompatible_shape_error: bool = true")
        .Doc(doc)
        .Commutative()
        .Shape(EqualityShape);
  };
  equality("Equal",
           "Whether x == y, broadcasting; NaN equals nothing. Not differentiable.\n"
           "incompatible_shape_error: if false, shapes that do not broadcast give the scalar false.");
  equality("NotEqual",
           "Whether x != y, broadcasting; NaN differs from everything. Not differentiable.\n"
           "incompatible_shape_error: if false, shapes that do not broadcast give the scalar true.");
  registry.Add("ApproximateEqual")
      .Input("x: T")
      .Input("y: T")
      .Output("z: bool")
      .Attr("T: numbertype")
      .Attr("tolerance: float = 0.00001")
      .Doc("Whether |x - y| < tolerance; x and y have one shape. Not differentiable.")
      .Commutative()
      .Shape(MergedInputsShape);
  const auto logic = [&registry](const char* name, const char* doc) {
    registry.Add(name).Input("x: bool").Input("y: bool").Output("z: bool").Doc(doc).Commutative().Shape(
        BroadcastBinaryShape);
  };
  logic("LogicalAnd", "Whether both x and y, broadcasting. Not differentiable.");
  logic("LogicalOr", "Whether x or y or both, broadcasting. Not differentiable.");
}

// condition: t's shape, a scalar, or a vector that picks rows.
absl::Status SelectShape(ShapeContext& c) {
  NABLA_ASSIGN_OR_RETURN(Shape data, c.input(1).MergeWith(c.input(2)));
  const Shape& condition = c.input(0);
  c.SetOutput(0, data);
  if (!condition.has_rank() || !data.has_rank() || condition.rank() == 0) return absl::OkStatus();
  if (condition.rank() == 1 && data.rank() > 1) {
    return c.MergeDims(condition.dim(0), data.dim(0)).status();
  }
  NABLA_ASSIGN_OR_RETURN(Shape merged, condition.MergeWith(data));
  c.SetOutput(0, merged);
  return absl::OkStatus();
}

absl::Status SelectV2Shape(ShapeContext& c) {
  NABLA_ASSIGN_OR_RETURN(Shape data, BroadcastShapes(c.input(1), c.input(2)));
  NABLA_ASSIGN_OR_RETURN(Shape output, BroadcastShapes(c.input(0), data));
  c.SetOutput(0, output);
  return absl::OkStatus();
}

void RegisterSelection(OpRegistry& registry) {
  registry.Add("Select")
      .Input("condition: bool")
      .Input("t: T")
      .Input("e: T")
      .Output("output: T")
      .Attr("T: type")
      .Doc(
          "t where condition holds, e elsewhere. t and e have one shape; condition has it too, or is a scalar, or a "
          "vector that chooses rows.\nGradients: dy where condition holds to t, elsewhere to e.")
      .Shape(SelectShape);
  registry.Add("SelectV2")
      .Input("condition: bool")
      .Input("t: T")
      .Input("e: T")
      .Output("output: T")
      .Attr("T: type")
      .Doc(
          "t where condition holds, e elsewhere, all three broadcast against each other.\n"
          "Gradients: dy where condition holds to t, elsewhere to e.")
      .Shape(SelectV2Shape);
  registry.Add("Complex")
      .Input("real: T")
      .Input("imag: T")
      .Output("out: Tout")
      .Attr("T: {float, double} = float")
      .Attr("Tout: {complex64, complex128} = complex64")
      .Doc("real + i imag, broadcasting. Tout's parts must be of type T. Gradients: Real(dy), Imag(dy).")
      .Shape(BroadcastBinaryShape);
}

}  // namespace

void RegisterMathBinaryOps(OpRegistry& registry) {
  RegisterArithmetic(registry);
  RegisterComparisons(registry);
  RegisterSelection(registry);
}

}  // namespace nabla

// Elementwise functions of one tensor: y has x's shape and (but for the tests and the parts of complex numbers) dtype.
#include "absl/strings/str_cat.h"
#include "nabla/graph/shape_inference.h"
#include "nabla/ops/math_ops.h"

namespace nabla {
namespace {

constexpr char kFloating[] = "T: {bfloat16, half, float, double}";
constexpr char kFloatingComplex[] = "T: {bfloat16, half, float, double, complex64, complex128}";
constexpr char kSigned[] = "T: {bfloat16, half, float, double, int8, int16, int32, int64}";
constexpr char kSignedComplex[] =
    "T: {bfloat16, half, float, double, int8, int16, int32, int64, complex64, complex128}";

void Unary(OpRegistry& registry, const char* name, const char* types, const char* doc) {
  registry.Add(name).Input("x: T").Output("y: T").Attr(types).Doc(doc).Shape(UnchangedShape);
}

// The gradient of a function as an op: y is the function's value (not its argument).
void UnaryGrad(OpRegistry& registry, const char* name, const char* doc) {
  registry.Add(name).Input("y: T").Input("dy: T").Output("z: T").Attr(kFloatingComplex).Doc(doc).Shape(UnchangedShape);
}

void UnaryTest(OpRegistry& registry, const char* name, const char* doc) {
  registry.Add(name).Input("x: T").Output("y: bool").Attr(kFloating).Doc(doc).Shape(UnchangedShape);
}

void RegisterPowersAndLogarithms(OpRegistry& registry) {
  Unary(registry, "Neg", kSignedComplex, "y = -x. Gradient: -dy.");
  Unary(registry, "Reciprocal", kSignedComplex,
        "y = 1 / x. Integers truncate; a zero divisor is an error for them and infinite for floating types.\n"
        "Gradient: -dy y^2, as ReciprocalGrad.");
  Unary(registry, "Inv", kSignedComplex, "y = 1 / x: the older name of Reciprocal. Gradient: -dy y^2, as InvGrad.");
  Unary(registry, "Square",
        "T: {bfloat16, half, float, double, int8, int16, int32, int64, uint8, uint16, uint32, uint64, complex64, "
        "complex128}",
        "y = x * x. Gradient: 2 x dy (conj(x) for complex types).");
  Unary(registry, "Sqrt", kFloatingComplex,
        "The square root; NaN for negative real x. Gradient: dy / (2 y), as SqrtGrad.");
  Unary(registry, "Rsqrt", kFloatingComplex, "y = x^(-1/2). Gradient: -dy y^3 / 2, as RsqrtGrad.");
  Unary(registry, "Exp", kFloatingComplex, "y = e^x. Gradient: dy y.");
  Unary(registry, "Expm1", kFloatingComplex, "y = e^x - 1, accurate for x near zero. Gradient: dy e^x.");
  Unary(registry, "Log", kFloatingComplex, "The natural logarithm; NaN for negative real x. Gradient: dy / x.");
  Unary(registry, "Log1p", kFloatingComplex, "y = log(1 + x), accurate for x near zero. Gradient: dy / (1 + x).");
  UnaryGrad(registry, "InvGrad", "z = -dy y^2: the gradient of Inv, given its value y.");
  UnaryGrad(registry, "ReciprocalGrad", "z = -dy y^2: the gradient of Reciprocal, given its value y.");
  UnaryGrad(registry, "SqrtGrad", "z = dy / (2 y): the gradient of Sqrt, given its value y.");
  UnaryGrad(registry, "RsqrtGrad", "z = -dy y^3 / 2: the gradient of Rsqrt, given its value y.");
}

void RegisterTranscendental(OpRegistry& registry) {
  Unary(registry, "Sin", kFloatingComplex, "The sine of x, in radians. Gradient: dy cos(x).");
  Unary(registry, "Cos", kFloatingComplex, "The cosine of x, in radians. Gradient: -dy sin(x).");
  Unary(registry, "Tan", kFloatingComplex, "The tangent of x, in radians. Gradient: dy / cos(x)^2.");
  Unary(registry, "Tanh", kFloatingComplex, "The hyperbolic tangent. Gradient: dy (1 - y^2), as TanhGrad.");
  Unary(registry, "Sigmoid", kFloatingComplex, "y = 1 / (1 + e^-x). Gradient: dy y (1 - y), as SigmoidGrad.");
  Unary(registry, "Erf", kFloating,
        "The error function, 2 / sqrt(pi) times the integral of e^(-t^2) from 0 to x.\n"
        "Gradient: dy 2 / sqrt(pi) e^(-x^2).");
  Unary(registry, "Erfc", kFloating, "y = 1 - erf(x), accurate for large x. Gradient: -dy 2 / sqrt(pi) e^(-x^2).");
  UnaryGrad(registry, "TanhGrad", "z = dy (1 - y^2): the gradient of Tanh, given its value y.");
  UnaryGrad(registry, "SigmoidGrad", "z = dy y (1 - y): the gradient of Sigmoid, given its value y.");
}

void RegisterRounding(OpRegistry& registry) {
  Unary(registry, "Abs", kSigned, "The absolute value. Gradient: dy sign(x).");
  Unary(registry, "Sign", kSignedComplex,
        "-1, 0 or 1 as x is negative, zero or positive; x / |x| for complex x other than 0. Gradient: zero.");
  Unary(registry, "Floor", kFloating, "The largest integer not above x. Gradient: none.");
  Unary(registry, "Ceil", kFloating, "The smallest integer not below x. Gradient: none.");
  Unary(registry, "Round", kSignedComplex, "The nearest integer, halves to the even one. Gradient: none.");
  Unary(registry, "Rint", kFloating, "The nearest integer, halves to the even one. Gradient: none.");
  UnaryTest(registry, "IsNan", "Whether x is not a number. Not differentiable.");
  UnaryTest(registry, "IsInf", "Whether x is infinite, of either sign. Not differentiable.");
  UnaryTest(registry, "IsFinite", "Whether x is neither infinite nor NaN. Not differentiable.");
  registry.Add("LogicalNot")
      .Input("x: bool")
      .Output("y: bool")
      .Doc("Whether x is false. Not differentiable.")
      .Shape(UnchangedShape);
}

void RegisterComplex(OpRegistry& registry) {
  registry.Add("Conj")
      .Input("input: T")
      .Output("output: T")
      .Attr("T: {complex64, complex128, variant} = complex64")
      .Doc("The complex conjugate. Gradient: conj(dy).")
      .Shape(UnchangedShape);
  const auto part = [&registry](const char* name, const char* doc) {
    registry.Add(name)
        .Input("input: T")
        .Output("output: Tout")
        .Attr("T: {complex64, complex128} = complex64")
        .Attr("Tout: {float, double} = float")
        .Doc(doc)
        .Shape(UnchangedShape);
  };
  part("Real", "The real part. Tout must be T's part type. Gradient: Complex(dy, 0).");
  part("Imag", "The imaginary part. Tout must be T's part type. Gradient: Complex(0, dy).");
}

// From a wider type to a narrower one each element becomes a row, and back.
absl::Status BitcastShape(ShapeContext& c) {
  const Shape& input = c.input(0);
  if (!input.has_rank()) return absl::OkStatus();
  const auto from = static_cast<int64_t>(DTypeSize(c.attr<DType>("T")));
  const auto to = static_cast<int64_t>(DTypeSize(c.attr<DType>("type")));
  if (from == 0 || to == 0) return absl::InvalidArgumentError("Bitcast needs types of fixed size");
  Shape output = input;
  if (from > to) {
    output.AddDim(from / to);
  } else if (from < to) {
    if (input.rank() == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("a scalar of ", from, " bytes cannot be read as a type of ", to, " bytes"));
    }
    const int64_t last = input.DimFromEnd(1);
    if (last != kUnknownDim && last != to / from) {
      return absl::InvalidArgumentError(absl::StrCat("the last dimension must be ", to / from,
                                                     " for this Bitcast, but the input is ", input.ToString()));
    }
    output.RemoveDim(input.rank() - 1);
  }
  c.SetOutput(0, output);
  return absl::OkStatus();
}

void RegisterCasts(OpRegistry& registry) {
  registry.Add("Cast")
      .Input("x: SrcT")
      .Output("y: DstT")
      .Attr("SrcT: type")
      .Attr("DstT: type")
      .Attr("Truncate: bool = false")
      .Doc(
          "x converted to DstT. Floating to integer drops the fraction; complex to real drops the imaginary part; to "
          "bool is x != 0.\nTruncate: drop low bits instead of rounding where DstT is a shorter floating type.\n"
          "Gradient: Cast back, between floating or complex types.")
      .Shape(UnchangedShape);
  constexpr char kTypes[] =
      "{bfloat16, half, float, double, int64, int32, uint8, uint16, uint32, uint64, int8, int16, complex64, "
      "complex128, "
      "qint8, quint8, qint16, quint16, qint32}";
  registry.Add("Bitcast")
      .Input("input: T")
      .Output("output: type")
      .Attr(absl::StrCat("T: ", kTypes))
      .Attr(absl::StrCat("type: ", kTypes))
      .Doc(
          "The same bytes read as another type. If an element of `type` is smaller by a factor k, a dimension k is "
          "added at the end; if it is larger, the last dimension must be k and goes. Not differentiable.")
      .Shape(BitcastShape);
}

}  // namespace

void RegisterMathUnaryOps(OpRegistry& registry) {
  RegisterPowersAndLogarithms(registry);
  RegisterTranscendental(registry);
  RegisterRounding(registry);
  RegisterComplex(registry);
  RegisterCasts(registry);
}

}  // namespace nabla

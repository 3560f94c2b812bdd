// Elementwise functions of one tensor, and the ops that are their gradients.
#include <cmath>

#include "nabla/tests/cases/op_case.h"
#include "nabla/tests/cases/reference.h"

namespace nabla {
namespace {

double Sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }
double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double Reciprocal(double x) { return 1 / x; }

constexpr double kInf = HUGE_VAL;

void AddFunctions(std::vector<OpCase>* rows) {
  const Shape shape{2, 3};
  const std::vector<OpCase> functions = {
      {"Abs", {.inputs = {In(shape)}, .reference = Map(std::fabs), .integers = true}},
      {"Ceil", {.inputs = {Values(shape, {-1.75, -0.5, 0.25, 1.5, 2.75, -0.25})}, .reference = Map(std::ceil)}},
      {"Cos", {.inputs = {In(shape)}, .reference = Map(std::cos)}},
      {"Erf", {.inputs = {In(shape)}, .reference = Map(std::erf)}},
      {"Erfc", {.inputs = {In(shape)}, .reference = Map(std::erfc)}},
      {"Exp", {.inputs = {In(shape)}, .reference = Map(std::exp)}},
      {"Expm1", {.inputs = {In(shape)}, .reference = Map(std::expm1)}},
      {"Floor", {.inputs = {Values(shape, {-1.75, -0.5, 0.25, 1.5, 2.75, -0.25})}, .reference = Map(std::floor)}},
      {"Inv", {.inputs = {In(shape)}, .reference = Map(Reciprocal)}},
      {"IsFinite", {.inputs = {Values({3}, {1, kInf, NAN})}, .reference = Map([](double x) -> double {
                                                               return std::isfinite(x) ? 1 : 0;
                                                             })}},
      {"IsInf", {.inputs = {Values({4}, {1, kInf, NAN, -kInf})}, .reference = Map([](double x) -> double {
                                                                   return std::isinf(x) ? 1 : 0;
                                                                 })}},
      {"IsNan", {.inputs = {Values({3}, {1, kInf, NAN})}, .reference = Map([](double x) -> double {
                                                            return std::isnan(x) ? 1 : 0;
                                                          })}},
      {"Log", {.inputs = {In(shape, 0.25, 3)}, .reference = Map(std::log)}},
      {"Log1p", {.inputs = {In(shape, -0.5, 3)}, .reference = Map(std::log1p)}},
      {"Neg", {.inputs = {In(shape)}, .reference = Map([](double x) { return -x; }), .integers = true}},
      {"Reciprocal", {.inputs = {In(shape)}, .reference = Map(Reciprocal)}},
      {"Rint",
       {.inputs = {Values(shape, {-1.75, -0.25, 0.25, 1.375, 2.75, -0.625})}, .reference = Map(std::nearbyint)}},
      {"Round",
       {.inputs = {Values(shape, {-1.75, -0.25, 0.25, 1.375, 2.75, -0.625})}, .reference = Map(std::nearbyint)}},
      {"Round",
       {.name = "halves",
        .inputs = {Values({6}, {-1.5, -0.5, 0.5, 1.5, 2.5, 3.5})},
        .reference = Map(std::nearbyint),
        .gradient = false}},
      {"Rsqrt", {.inputs = {In(shape, 0.25, 3)}, .reference = Map([](double x) { return 1 / std::sqrt(x); })}},
      {"Sigmoid", {.inputs = {In(shape)}, .reference = Map(Sigmoid)}},
      {"Sign", {.inputs = {In(shape)}, .reference = Map(Sign), .integers = true}},
      {"Sin", {.inputs = {In(shape)}, .reference = Map(std::sin)}},
      {"Sqrt", {.inputs = {In(shape, 0.25, 3)}, .reference = Map(std::sqrt)}},
      {"Square", {.inputs = {In(shape)}, .reference = Map([](double x) { return x * x; }), .integers = true}},
      {"Tan", {.inputs = {In(shape, -1.25, 1.25)}, .reference = Map(std::tan), .narrow_tolerance = 4}},
      {"Tanh", {.inputs = {In(shape)}, .reference = Map(std::tanh)}},
      {"OnesLike", {.inputs = {In(shape)}, .reference = Map([](double) { return 1.0; }), .integers = true}},
      {"ZerosLike", {.inputs = {In(shape)}, .reference = Map([](double) { return 0.0; }), .integers = true}},
      // At the kink, where only TensorFlow can say what is right.
      {"Abs", {.name = "at_zero", .inputs = {Values({3}, {-1, 0, 2})}, .at_kink = true}},
      {"Sign", {.name = "at_zero", .inputs = {Values({3}, {-1, 0, 2})}, .gradient = false}},
  };
  for (const OpCase& row : functions) {
    rows->push_back(row);
    if (!row.spec.name.empty() || !row.spec.inputs[0].values.empty()) continue;
    OpCase big = row;
    big.spec.name = "big";
    big.spec.inputs[0].shape = {123, 457};
    big.spec.big = true;
    rows->push_back(big);
    OpCase empty = row;
    empty.spec.name = "empty";
    empty.spec.inputs[0].shape = {2, 0};
    empty.spec.second_order = false;
    rows->push_back(empty);
    OpCase scalar = row;
    scalar.spec.name = "scalar";
    scalar.spec.inputs[0].shape = Shape::Scalar();
    rows->push_back(scalar);
  }
}

// z(y, dy), where y is the function's value.
void AddGradientOps(std::vector<OpCase>* rows) {
  const Shape shape{2, 3};
  const CaseInput dy = In(shape);
  for (const OpCase& row : std::vector<OpCase>{
           {"InvGrad", {.inputs = {In(shape), dy}, .reference = Zip([](double y, double g) { return -g * y * y; })}},
           {"ReciprocalGrad",
            {.inputs = {In(shape), dy}, .reference = Zip([](double y, double g) { return -g * y * y; })}},
           {"RsqrtGrad", {.inputs = {In(shape, 0.25, 2), dy}, .reference = Zip([](double y, double g) {
                                                                return -g * y * y * y / 2;
                                                              })}},
           {"SigmoidGrad", {.inputs = {In(shape, 0.125, 0.875), dy}, .reference = Zip([](double y, double g) {
                                                                       return g * y * (1 - y);
                                                                     })}},
           {"SqrtGrad",
            {.inputs = {In(shape, 0.25, 2), dy}, .reference = Zip([](double y, double g) { return g / (2 * y); })}},
           {"TanhGrad", {.inputs = {In(shape, -0.875, 0.875), dy}, .reference = Zip([](double y, double g) {
                                                                     return g * (1 - y * y);
                                                                   })}},
       }) {
    rows->push_back(row);
  }
}

// In complex128: the numbers and the convention for gradients are TensorFlow's.
void AddComplex(std::vector<OpCase>* rows) {
  for (const char* op : {"Neg", "Inv", "Reciprocal", "Square", "Sqrt", "Rsqrt", "Exp", "Expm1", "Log", "Log1p", "Sin",
                         "Cos", "Tan", "Tanh", "Sigmoid", "Conj"}) {
    rows->push_back(
        {op,
         {.name = "complex", .inputs = {In({2, 2}, 0.25, 1.25)}, .dtype = DType::kComplex128, .narrow_tolerance = 8}});
  }
  for (const char* op : {"InvGrad", "ReciprocalGrad", "RsqrtGrad", "SigmoidGrad", "SqrtGrad", "TanhGrad"}) {
    rows->push_back({op,
                     {.name = "complex",
                      .inputs = {In({2, 2}, 0.25, 1.25), In({2, 2}, 0.25, 1.25)},
                      .dtype = DType::kComplex128,
                      .narrow_tolerance = 8}});
  }
  // Not holomorphic: no gradient is taken through them as complex functions.
  rows->push_back({"Sign", {.name = "complex", .inputs = {In({3})}, .dtype = DType::kComplex128, .gradient = false}});
  for (const char* op : {"Real", "Imag"}) {
    rows->push_back(
        {op,
         {.attrs = {{"Tout", DType::kDouble}}, .inputs = {In({2, 2})}, .dtype = DType::kComplex128, .narrow = false}});
  }
}

void AddCasts(std::vector<OpCase>* rows) {
  const CaseInput x = Values({2, 3}, {-1.75, 0.5, 0, 1.25, 3, -2.5});
  for (DType to : {DType::kFloat, DType::kHalf, DType::kBFloat16, DType::kInt32, DType::kInt64, DType::kBool,
                   DType::kInt8, DType::kComplex64, DType::kComplex128}) {
    // Differences cannot be taken through types that are less precise.
    rows->push_back({"Cast",
                     {.name = "to_" + std::string(DTypeName(to)),
                      .attrs = {{"DstT", to}},
                      .inputs = {x},
                      .gradient = to == DType::kComplex128}});
  }
  rows->push_back({"Cast",
                   {.name = "from_complex",
                    .attrs = {{"DstT", DType::kDouble}},
                    .inputs = {In({2, 2})},
                    .dtype = DType::kComplex128}});
  rows->push_back(
      {"Cast", {.name = "from_int", .attrs = {{"DstT", DType::kDouble}}, .inputs = {Fed(Ints({1, -2, 7}))}}});
  rows->push_back(
      {"Cast", {.name = "from_bool", .attrs = {{"DstT", DType::kInt32}}, .inputs = {Bools({2, 2}, {1, 0, 0, 1})}}});
  rows->push_back(
      {"Bitcast", {.name = "narrower", .attrs = {{"type", DType::kInt32}}, .inputs = {In({2, 3})}, .narrow = false}});
  rows->push_back(
      {"Bitcast", {.name = "same", .attrs = {{"type", DType::kInt64}}, .inputs = {In({3})}, .narrow = false}});
  rows->push_back(
      {"Bitcast",
       {.name = "wider", .attrs = {{"type", DType::kInt64}}, .inputs = {Fed(IntsOf({2, 2}, {1, 2, -3, 4}))}}});
  rows->push_back({"LogicalNot", {.inputs = {Bools({2, 2}, {1, 0, 0, 1})}}});
}

}  // namespace

std::vector<OpCase> MathUnaryCases() {
  std::vector<OpCase> rows;
  AddFunctions(&rows);
  AddGradientOps(&rows);
  AddComplex(&rows);
  AddCasts(&rows);
  return rows;
}

}  // namespace nabla

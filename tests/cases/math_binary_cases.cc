// Elementwise functions of two or three tensors, broadcast against each other.
#include <algorithm>
#include <cmath>

#include "nabla/tests/cases/op_case.h"
#include "nabla/tests/cases/reference.h"

namespace nabla {
namespace {

double Add(double x, double y) { return x + y; }
double Subtract(double x, double y) { return x - y; }
double Multiply(double x, double y) { return x * y; }
double Divide(double x, double y) { return x / y; }
double DivideNoNan(double x, double y) { return y == 0 ? 0 : x / y; }
double MultiplyNoNan(double x, double y) { return y == 0 ? 0 : x * y; }
double FloorDivide(double x, double y) { return std::floor(x / y); }
double FloorModulo(double x, double y) { return x - std::floor(x / y) * y; }
double Larger(double x, double y) { return std::max(x, y); }
double Smaller(double x, double y) { return std::min(x, y); }
double SquaredDifference(double x, double y) { return (x - y) * (x - y); }
double Xlogy(double x, double y) { return x == 0 ? 0 : x * std::log(y); }
double Xdivy(double x, double y) { return x == 0 ? 0 : x / y; }
double Power(double x, double y) { return std::pow(x, y); }

// An op with everything that broadcasting can do to its shapes.
void AddShapes(const char* op, Reference reference, bool integers, double low_x, double high_x, double low_y,
               double high_y, std::vector<OpCase>* rows) {
  const auto add = [&](const char* name, Shape x, Shape y, bool big = false) {
    CaseSpec spec{.name = name,
                  .inputs = {In(std::move(x), low_x, high_x), In(std::move(y), low_y, high_y)},
                  .reference = reference,
                  .integers = integers,
                  .narrow_tolerance = 4,
                  .big = big};
    if (spec.inputs[0].shape.num_elements() == 0) spec.second_order = false;
    rows->push_back({op, std::move(spec)});
  };
  add("", {2, 3}, {2, 3});
  add("row", {2, 3}, {3});
  add("column", {2, 3}, {2, 1});
  add("scalar", Shape::Scalar(), {2, 3});
  add("both_ways", {2, 1, 3}, {4, 1});
  add("empty", {0, 3}, {1, 3});
  add("big", {301, 203}, {301, 203}, true);
  add("big_row", {301, 203}, {203}, true);
  add("big_scalar", {301, 203}, Shape::Scalar(), true);
}

void AddArithmetic(std::vector<OpCase>* rows) {
  AddShapes("Add", Zip(Add), true, -2, 2, -2, 2, rows);
  AddShapes("AddV2", Zip(Add), true, -2, 2, -2, 2, rows);
  AddShapes("Sub", Zip(Subtract), true, -2, 2, -2, 2, rows);
  AddShapes("Mul", Zip(Multiply), true, -2, 2, -2, 2, rows);
  AddShapes("Div", Zip(Divide), false, -2, 2, 0.5, 2, rows);
  AddShapes("RealDiv", Zip(Divide), false, -2, 2, -2, -0.5, rows);
  AddShapes("DivNoNan", Zip(DivideNoNan), false, -2, 2, 0.5, 2, rows);
  AddShapes("MulNoNan", Zip(MultiplyNoNan), false, -2, 2, -2, 2, rows);
  AddShapes("Pow", Zip(Power), false, 0.25, 2, -2, 2, rows);
  AddShapes("SquaredDifference", Zip(SquaredDifference), true, -2, 2, -2, 2, rows);
  AddShapes("Xlogy", Zip(Xlogy), false, -2, 2, 0.25, 2, rows);
  AddShapes("Xdivy", Zip(Xdivy), false, -2, 2, 0.5, 2, rows);

  // Distinct so far that no difference crosses a tie: x of odd sixteenths, y of even ones.
  const CaseInput x = Distinct({2, 3}), y = Values({2, 3}, {-0.25, 0.5, -0.125, 0.25, 0.75, 0});
  for (const auto& [op, function] : {std::make_pair("Maximum", Larger), std::make_pair("Minimum", Smaller)}) {
    rows->push_back({op, {.inputs = {x, y}, .reference = Zip(function)}});
    rows->push_back({op,
                     {.name = "integers",
                      .inputs = {In({2, 3}), In({3})},
                      .reference = Zip(function),
                      .integers = true,
                      .gradient = false}});
    rows->push_back({op, {.name = "row", .inputs = {x, Values({3}, {-0.25, 0.5, 0})}, .reference = Zip(function)}});
    rows->push_back({op, {.name = "scalar", .inputs = {x, Values(Shape::Scalar(), {0})}, .reference = Zip(function)}});
    rows->push_back(
        {op, {.name = "big", .inputs = {In({301, 203}), In({203})}, .reference = Zip(function), .big = true}});
  }
  const CaseInput tied_x = Values({2, 2}, {1, 2, 3, -1}), tied_y = Values({2, 2}, {1, 3, 2, -1});
  // FloorMod's quotients are far from whole numbers.
  const CaseInput dividend = Values({2, 3}, {1.5, -1.5, 3.25, -3.25, 0.75, 2.75});
  const CaseInput divisor = Values({2, 3}, {1, 1.25, -2, -2.25, 2, 0.75});
  rows->push_back({"FloorMod", {.inputs = {dividend, divisor}, .reference = Zip(FloorModulo)}});
  rows->push_back({"FloorMod",
                   {.name = "integers",
                    .inputs = {Values({4}, {1.75, -1.75, 1.75, -1.75}), Values({4}, {0.5, 0.5, -0.5, -0.5})},
                    .reference = Zip(FloorModulo),
                    .integers = true,
                    .gradient = false}});
  rows->push_back({"FloorDiv", {.inputs = {dividend, divisor}, .reference = Zip(FloorDivide)}});
  rows->push_back({"FloorDiv",
                   {.name = "integers",
                    .inputs = {Values({4}, {1.75, -1.75, 1.75, -1.75}), Values({4}, {0.5, 0.5, -0.5, -0.5})},
                    .reference = Zip(FloorDivide),
                    .integers = true,
                    .gradient = false}});

  // Where only TensorFlow can say what is right: ties, zeros, negative bases.
  const auto at = [&](const char* op, const char* name, CaseInput a, CaseInput b) {
    rows->push_back(
        {op, {.name = name, .inputs = {std::move(a), std::move(b)}, .narrow_tolerance = 4, .at_kink = true}});
  };
  at("Maximum", "ties", tied_x, tied_y);
  at("Minimum", "ties", tied_x, tied_y);
  at("DivNoNan", "zeros", Values({3}, {1, 0, 2}), Values({3}, {0, 0, 2}));
  at("MulNoNan", "zeros", Values({3}, {1, 0, HUGE_VAL}), Values({3}, {0, 2, 0}));
  at("Xlogy", "zeros", Values({3}, {0, 0, 2}), Values({3}, {0, 2, 3}));
  at("Xdivy", "zeros", Values({3}, {0, 0, 2}), Values({3}, {0, 2, 3}));
  at("Pow", "negative_base", Values({4}, {-2, -1.5, 0, 0}), Values({4}, {2, 3, 2, 1}));
  at("Div", "zeros", Values({3}, {1, -1, 0}), Values({3}, {0, 0, 2}));
}

void AddComplex(std::vector<OpCase>* rows) {
  for (const char* op : {"Add", "AddV2", "Sub", "Mul", "Div", "RealDiv", "Pow", "SquaredDifference", "DivNoNan",
                         "MulNoNan", "Xlogy", "Xdivy"}) {
    // Of these TensorFlow takes no conjugate where the chain rule has one, and so do we: differences say otherwise.
    const std::string name = op;
    const bool unlike = name == "SquaredDifference" || name == "MulNoNan" || name == "Xlogy" || name == "Xdivy";
    rows->push_back({op,
                     {.name = "complex",
                      .inputs = {In({2, 2}, 0.25, 1.5), In({2}, 0.25, 1.5)},
                      .dtype = DType::kComplex128,
                      .narrow_tolerance = 8,
                      .at_kink = unlike}});
  }
  rows->push_back(
      {"Complex", {.attrs = {{"Tout", DType::kComplex128}}, .inputs = {In({2, 3}), In({3})}, .narrow = false}});
}

void AddComparisons(std::vector<OpCase>* rows) {
  const CaseInput x = Values({2, 3}, {1, 2, 3, -1, 0, 2.5}), y = Values({2, 3}, {1, 3, 2, -1, 0.5, 2.5});
  const auto add = [&](const char* op, double (*fn)(double, double)) {
    rows->push_back({op, {.inputs = {x, y}, .reference = Zip(fn)}});
    rows->push_back(
        {op, {.name = "row", .inputs = {x, Values({3}, {1, 2, 3})}, .reference = Zip(fn), .integers = true}});
    rows->push_back(
        {op, {.name = "nan", .inputs = {Values({2}, {NAN, 1}), Values({2}, {NAN, NAN})}, .reference = Zip(fn)}});
    rows->push_back({op, {.name = "big", .inputs = {In({301, 203}), In({301, 1})}, .reference = Zip(fn), .big = true}});
  };
  add("Less", [](double a, double b) -> double { return a < b; });
  add("LessEqual", [](double a, double b) -> double { return a <= b; });
  add("Greater", [](double a, double b) -> double { return a > b; });
  add("GreaterEqual", [](double a, double b) -> double { return a >= b; });
  add("Equal", [](double a, double b) -> double { return a == b; });
  add("NotEqual", [](double a, double b) -> double { return a != b; });
  rows->push_back(
      {"ApproximateEqual",
       {.attrs = {{"tolerance", 0.25f}}, .inputs = {Values({4}, {1, 1, 1, -2}), Values({4}, {1.125, 1.5, 0.875, 2})}}});
  rows->push_back(
      {"Equal",
       {.name = "incompatible", .attrs = {{"incompatible_shape_error", false}}, .inputs = {In({2}), In({3})}}});
  rows->push_back({"Equal", {.name = "strings", .inputs = {Strings({2}, {"a", "b"}), Strings({2}, {"a", "c"})}}});
  const CaseInput p = Bools({2, 2}, {1, 0, 1, 0}), q = Bools({2, 1}, {1, 0});
  rows->push_back({"LogicalAnd", {.inputs = {p, q}, .reference = Zip([](double a, double b) { return a * b; })}});
  rows->push_back(
      {"LogicalOr", {.inputs = {p, q}, .reference = Zip([](double a, double b) { return std::max(a, b); })}});
}

void AddSelection(std::vector<OpCase>* rows) {
  const CaseInput t = In({2, 3}), e = In({2, 3});
  rows->push_back({"Select", {.inputs = {Bools({2, 3}, {1, 0, 0, 1, 1, 0}), t, e}}});
  rows->push_back({"Select", {.name = "rows", .inputs = {Bools({2}, {1, 0}), t, e}}});
  rows->push_back({"Select", {.name = "scalar", .inputs = {Bools(Shape::Scalar(), {0}), t, e}}});
  rows->push_back({"SelectV2", {.inputs = {Bools({2, 3}, {1, 0, 0, 1, 1, 0}), t, e}}});
  rows->push_back({"SelectV2", {.name = "broadcast", .inputs = {Bools({2, 1}, {1, 0}), In({3}), In({2, 3})}}});
  rows->push_back(
      {"SelectV2", {.name = "out_of_all", .inputs = {Bools({2, 1}, {1, 0}), In({3}), In(Shape::Scalar())}}});
}

}  // namespace

std::vector<OpCase> MathBinaryCases() {
  std::vector<OpCase> rows;
  AddArithmetic(&rows);
  AddComplex(&rows);
  AddComparisons(&rows);
  AddSelection(&rows);
  return rows;
}

}  // namespace nabla

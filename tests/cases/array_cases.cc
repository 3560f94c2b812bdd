// Constants, tensors that pass through, shapes, joining and splitting.
#include "nabla/tests/cases/op_case.h"
#include "nabla/tests/cases/reference.h"

namespace nabla {
namespace {

void AddBasics(std::vector<OpCase>* rows) {
  rows->push_back({"Const", {.attrs = {{"value", Tensor::Of<double>({2}, {1.5, -2})}, {"dtype", DType::kDouble}}}});
  rows->push_back(
      {"PlaceholderWithDefault", {.attrs = {{"shape", Shape{2, 3}}}, .inputs = {In({2, 3})}, .reference = Same()}});
  for (const std::string op : {"Identity", "Snapshot", "StopGradient", "GuaranteeConst"}) {
    // TensorFlow has no gradients for these two.
    const bool golden = op != "Snapshot" && op != "GuaranteeConst";
    rows->push_back({op, {.inputs = {In({2, 3})}, .reference = Same(), .integers = true, .golden_gradient = golden}});
    rows->push_back({op,
                     {.name = "complex",
                      .inputs = {In({2})},
                      .reference = Same(),
                      .dtype = DType::kComplex128,
                      .golden_gradient = golden}});
  }
  rows->push_back({"Identity", {.name = "strings", .inputs = {Strings({2}, {"a", "bc"})}}});
  // Its gradient is an error; see the engine's tests.
  rows->push_back({"PreventGradient", {.inputs = {In({2, 3})}, .reference = Same(), .gradient = false}});
  rows->push_back({"IdentityN", {.inputs = {In({2, 3}), In({2}), Fed(Ints({1, 2}))}, .reference = Same({0, 1, 2})}});
  rows->push_back({"CheckNumerics", {.attrs = {{"message", "bad"}}, .inputs = {In({2, 3})}, .reference = Same()}});
  rows->push_back(
      {"EnsureShape", {.attrs = {{"shape", Shape{2, kUnknownDim}}}, .inputs = {In({2, 3})}, .reference = Same()}});
  rows->push_back(
      {"Print", {.attrs = {{"first_n", 0}, {"message", "x is "}}, .inputs = {In({2}), In({2})}, .reference = Same()}});
  rows->push_back({"Assert", {.inputs = {Bools(Shape::Scalar(), {1}), In({2})}}});
  rows->push_back({"NoOp", {}});
}

void AddShapes(std::vector<OpCase>* rows) {
  const CaseInput x = In({2, 3, 1});
  for (const char* op : {"Shape", "Size"}) {
    rows->push_back({op, {.inputs = {x}}});
    rows->push_back({op, {.name = "int64", .attrs = {{"out_type", DType::kInt64}}, .inputs = {In({4, 0})}}});
    rows->push_back({op, {.name = "scalar", .inputs = {In(Shape::Scalar())}}});
  }
  rows->push_back({"Rank", {.inputs = {x}}});
  rows->push_back({"ShapeN", {.inputs = {x, In({2}), In(Shape::Scalar())}}});
  rows->push_back({"Reshape", {.inputs = {x, Ints({3, 2})}, .integers = true}});
  rows->push_back({"Reshape", {.name = "wildcard", .inputs = {x, Ints({-1, 2}, DType::kInt64)}}});
  rows->push_back({"Reshape", {.name = "to_scalar", .inputs = {In({1, 1}), Ints({})}}});
  rows->push_back({"Reshape", {.name = "fed", .inputs = {x, Fed(Ints({3, -1}))}, .dynamic_shape = true}});
  rows->push_back({"ExpandDims", {.inputs = {x, Int(1)}}});
  rows->push_back({"ExpandDims", {.name = "last", .inputs = {In({2}), Int(-1, DType::kInt64)}}});
  rows->push_back({"ExpandDims", {.name = "fed", .inputs = {In({2}), Fed(Int(0))}, .dynamic_shape = true}});
  rows->push_back({"Squeeze", {.inputs = {In({1, 2, 1})}}});
  rows->push_back(
      {"Squeeze", {.name = "one", .attrs = {{"squeeze_dims", std::vector<int64_t>{-1}}}, .inputs = {In({1, 2, 1})}}});
  rows->push_back({"Fill", {.inputs = {Ints({2, 3}), In(Shape::Scalar())}, .integers = true}});
  rows->push_back(
      {"Fill",
       {.name = "fed", .inputs = {Fed(Ints({2, 2}, DType::kInt64)), In(Shape::Scalar())}, .dynamic_shape = true}});
  rows->push_back(
      {"Range",
       {.inputs = {Values(Shape::Scalar(), {1}), Values(Shape::Scalar(), {3}), Values(Shape::Scalar(), {0.5})},
        .dynamic_shape = true}});
  rows->push_back({"Range", {.name = "down", .inputs = {Int(5), Int(0), Int(-2)}}});
  rows->push_back({"BroadcastTo", {.inputs = {In({2, 1}), Ints({3, 2, 2})}}});
  rows->push_back({"BroadcastTo", {.name = "scalar", .inputs = {In(Shape::Scalar()), Ints({2, 2})}}});
  rows->push_back({"BroadcastTo", {.name = "fed", .inputs = {In({1, 3}), Fed(Ints({2, 3}))}, .dynamic_shape = true}});
  rows->push_back({"BroadcastTo", {.name = "big", .inputs = {In({301, 1}), Ints({3, 301, 203})}, .big = true}});
  rows->push_back({"BroadcastArgs", {.inputs = {Fed(Ints({2, 1, 3})), Fed(Ints({4, 1}))}}});
  rows->push_back(
      {"BroadcastGradientArgs", {.inputs = {Fed(Ints({2, 1, 3})), Fed(Ints({4, 1}))}, .dynamic_shape = true}});
  rows->push_back({"BroadcastGradientArgs",
                   {.name = "same", .inputs = {Fed(Ints({2, 3})), Fed(Ints({2, 3}))}, .dynamic_shape = true}});
  rows->push_back({"Tile", {.inputs = {In({2, 3}), Ints({2, 1})}}});
  rows->push_back({"Tile", {.name = "both", .inputs = {In({2, 3}), Ints({3, 2}, DType::kInt64)}}});
  rows->push_back({"Tile", {.name = "fed", .inputs = {In({2, 2}), Fed(Ints({1, 3}))}, .dynamic_shape = true}});
  rows->push_back({"Tile", {.name = "big", .inputs = {In({301, 103}), Ints({2, 3})}, .big = true}});
  rows->push_back({"Transpose", {.inputs = {In({2, 3}), Ints({1, 0})}, .integers = true}});
  rows->push_back({"Transpose", {.name = "cube", .inputs = {In({2, 3, 4}), Ints({2, 0, 1}, DType::kInt64)}}});
  rows->push_back({"Transpose", {.name = "four", .inputs = {In({2, 1, 3, 2}), Ints({0, 3, 1, 2})}}});
  rows->push_back({"Transpose", {.name = "fed", .inputs = {In({2, 3}), Fed(Ints({1, 0}))}, .dynamic_shape = true}});
  rows->push_back({"Transpose", {.name = "big", .inputs = {In({301, 203}), Ints({1, 0})}, .big = true}});
  rows->push_back({"ConjugateTranspose", {.inputs = {In({2, 3}), Ints({1, 0})}}});
  rows->push_back(
      {"ConjugateTranspose", {.name = "complex", .inputs = {In({2, 3}), Ints({1, 0})}, .dtype = DType::kComplex128}});
  rows->push_back({"InvertPermutation", {.inputs = {Fed(Ints({2, 0, 3, 1}))}}});
}

void AddJoining(std::vector<OpCase>* rows) {
  rows->push_back({"ConcatV2", {.inputs = {In({2, 1}), In({2, 3}), In({2, 2}), Int(1)}, .integers = true}});
  // TensorFlow's gradient fails on an int64 axis.
  rows->push_back(
      {"ConcatV2",
       {.name = "first", .inputs = {In({1, 2}), In({3, 2}), Int(-2, DType::kInt64)}, .golden_gradient = false}});
  rows->push_back(
      {"ConcatV2", {.name = "empty_part", .inputs = {In({0, 2}), In({3, 2}), Int(0)}, .second_order = false}});
  rows->push_back(
      {"ConcatV2", {.name = "fed_axis", .inputs = {In({2, 2}), In({2, 2}), Fed(Int(1))}, .dynamic_shape = true}});
  rows->push_back({"ConcatV2", {.name = "big", .inputs = {In({301, 103}), In({301, 203}), Int(1)}, .big = true}});
  rows->push_back({"Concat", {.inputs = {Int(0), In({1, 2}), In({3, 2})}}});
  rows->push_back(
      {"ConcatOffset", {.inputs = {Int(1), Fed(Ints({2, 2, 7})), Fed(Ints({2, 3, 7})), Fed(Ints({2, 9, 7}))}}});
  rows->push_back({"Pack", {.inputs = {In({2, 3}), In({2, 3})}, .integers = true}});
  rows->push_back({"Pack", {.name = "last", .attrs = {{"axis", -1}}, .inputs = {In({2, 3}), In({2, 3}), In({2, 3})}}});
  rows->push_back({"Pack", {.name = "scalars", .inputs = {In(Shape::Scalar()), In(Shape::Scalar())}}});
  rows->push_back({"Unpack", {.attrs = {{"num", 2}}, .inputs = {In({2, 3})}}});
  rows->push_back({"Unpack", {.name = "last", .attrs = {{"num", 3}, {"axis", -1}}, .inputs = {In({2, 3})}}});
  rows->push_back({"Split", {.attrs = {{"num_split", 2}}, .inputs = {Int(1), In({2, 4})}, .integers = true}});
  rows->push_back({"Split", {.name = "first", .attrs = {{"num_split", 3}}, .inputs = {Int(-2), In({3, 2})}}});
  rows->push_back({"Split", {.name = "one", .attrs = {{"num_split", 1}}, .inputs = {Int(0), In({3, 2})}}});
  rows->push_back({"SplitV", {.attrs = {{"num_split", 3}}, .inputs = {In({2, 6}), Ints({1, 3, 2}), Int(1)}}});
  rows->push_back(
      {"SplitV",
       {.name = "rest", .attrs = {{"num_split", 2}}, .inputs = {In({5, 2}), Ints({2, -1}, DType::kInt64), Int(0)}}});
  rows->push_back({"SplitV",
                   {.name = "fed_sizes",
                    .attrs = {{"num_split", 2}},
                    .inputs = {In({5, 2}), Fed(Ints({2, 3})), Int(0)},
                    .dynamic_shape = true}});
  rows->push_back(
      {"Split", {.name = "big", .attrs = {{"num_split", 7}}, .inputs = {Int(1), In({301, 203})}, .big = true}});
}

}  // namespace

std::vector<OpCase> ArrayCases() {
  std::vector<OpCase> rows;
  AddBasics(&rows);
  AddShapes(&rows);
  AddJoining(&rows);
  return rows;
}

}  // namespace nabla

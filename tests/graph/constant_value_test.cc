#include "nabla/graph/constant_value.h"

#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nabla/graph/partial_value.h"
#include "nabla/graph/scope.h"
#include "nabla/tests/graph/small_ops.h"

namespace nabla {
namespace {

using ::testing::ElementsAre;

class ConstantValueTest : public ::testing::Test {
 protected:
  Output Op(const char* op, const Inputs& inputs) {
    NodeBuilder builder(scope_, op);
    for (const Input& input : inputs) builder.Input(input);
    Output output = builder.FinishOutput();
    EXPECT_TRUE(output) << scope_.status();
    return output;
  }
  Output Pack(const Inputs& inputs, int axis = 0) {
    return NodeBuilder(scope_, "Pack").InputList(inputs).Attr("axis", axis).FinishOutput();
  }
  Output Concat(const Inputs& inputs, int axis) {
    return NodeBuilder(scope_, "ConcatV2").InputList(inputs).Input(axis).FinishOutput();
  }
  // x[i] of a vector.
  Output At(Output x, int i) {
    return NodeBuilder(scope_, "StridedSlice")
        .Input(x)
        .Input({i})
        .Input({i + 1})
        .Input({1})
        .Attr("shrink_axis_mask", 1)
        .FinishOutput();
  }
  std::vector<int64_t> Values(Output output) {
    const absl::optional<Tensor> value = ConstantValue(output);
    if (!value.has_value()) return {-12345};
    EXPECT_EQ(value->dtype(), output.dtype());
    return PartialValue::FromTensor(*value)->Values();
  }

  Graph graph_{&SmallOps()};
  Scope scope_{&graph_};
  Output x_ = AddPlaceholder(graph_, "x", DType::kFloat, Shape({kUnknownDim, 3, 4}));
  Output known_ = AddPlaceholder(graph_, "known", DType::kFloat, Shape({2, 3, 4}));
};

TEST_F(ConstantValueTest, ConstantsOfAnyKindAndSize) {
  Output c = AddConst(graph_, "c", Tensor::Zeros(DType::kDouble, Shape({100, 100})));
  EXPECT_TRUE(ConstantValue(c)->SharesBufferWith(c.node()->GetAttr<Tensor>("value")));
  EXPECT_TRUE(ConstantValue(Op("Identity", {c})).has_value());
  EXPECT_EQ(ConstantValue(AddConst(graph_, "s", Tensor::Scalar(std::string("a"))))->scalar<std::string>(), "a");
  EXPECT_FALSE(ConstantValue(x_).has_value());
}

TEST_F(ConstantValueTest, AConstThatContradictsItselfIsNone) {
  NodeDesc desc{.name = "c", .op = "Const"};
  desc.attrs.Set("dtype", DType::kInt64);
  desc.attrs.Set("value", Tensor::Scalar<int32_t>(1));
  EXPECT_FALSE(ConstantValue(AddNodeOrDie(graph_, desc)->output(0)).has_value());
}

TEST_F(ConstantValueTest, StaticShapes) {
  EXPECT_THAT(Values(Op("Shape", {known_})), ElementsAre(2, 3, 4));
  EXPECT_FALSE(ConstantValue(Op("Shape", {x_})).has_value());
  EXPECT_THAT(Values(Op("Size", {known_})), ElementsAre(24));
  EXPECT_FALSE(ConstantValue(Op("Size", {x_})).has_value());
  EXPECT_THAT(Values(At(Op("Shape", {x_}), 1)), ElementsAre(3));
  EXPECT_FALSE(ConstantValue(At(Op("Shape", {x_}), 0)).has_value());
  // A dimension that no int32 holds.
  Output huge = AddPlaceholder(graph_, "huge", DType::kFloat, Shape({int64_t{1} << 33}));
  EXPECT_FALSE(ConstantValue(Op("Shape", {huge})).has_value());
  EXPECT_THAT(Values(NodeBuilder(scope_, "Shape").Input(huge).Attr("out_type", DType::kInt64).FinishOutput()),
              ElementsAre(int64_t{1} << 33));
}

TEST_F(ConstantValueTest, Arithmetic) {
  Output shape = Op("Shape", {known_});  // 2 3 4
  EXPECT_THAT(Values(Op("Add", {shape, 1})), ElementsAre(3, 4, 5));
  EXPECT_THAT(Values(Op("Sub", {1, shape})), ElementsAre(-1, -2, -3));
  EXPECT_THAT(Values(Op("Mul", {shape, shape})), ElementsAre(4, 9, 16));
  EXPECT_THAT(Values(Op("FloorDiv", {Op("Sub", {0, shape}), 3})), ElementsAre(-1, -1, -2));
  EXPECT_THAT(Values(Op("FloorMod", {Op("Sub", {0, shape}), 3})), ElementsAre(1, 0, 2));
  EXPECT_THAT(Values(Op("Maximum", {shape, 3})), ElementsAre(3, 3, 4));
  EXPECT_FALSE(ConstantValue(Op("FloorDiv", {shape, 0})).has_value());
  EXPECT_THAT(Values(Op("Prod", {shape, 0})), ElementsAre(24));
  EXPECT_THAT(Values(Op("Sum", {shape, {0}})), ElementsAre(9));
  EXPECT_THAT(Values(Op("Max", {shape, 0})), ElementsAre(4));
  // int32 wraps around as it does at run time, and nothing traps.
  Output big = AddConst(graph_, "big", Tensor::Vector<int32_t>({INT32_MAX, INT32_MIN}));
  EXPECT_THAT(Values(Op("Add", {big, big})), ElementsAre(-2, 0));
  Output least = AddConst(graph_, "least", Tensor::Scalar<int64_t>(INT64_MIN));
  EXPECT_THAT(Values(Op("FloorDiv", {least, -1})), ElementsAre(INT64_MIN));
  EXPECT_THAT(Values(Op("FloorMod", {least, -1})), ElementsAre(0));
  EXPECT_THAT(Values(Op("Mul", {least, least})), ElementsAre(0));
  EXPECT_THAT(Values(NodeBuilder(scope_, "Cast").Input(big).Attr("DstT", DType::kInt64).FinishOutput()),
              ElementsAre(INT32_MAX, INT32_MIN));
  EXPECT_THAT(Values(NodeBuilder(scope_, "Cast").Input(shape).Attr("DstT", DType::kBool).FinishOutput()),
              ElementsAre(1, 1, 1));
}

TEST_F(ConstantValueTest, Rearrangements) {
  Output shape = Op("Shape", {known_});  // 2 3 4
  EXPECT_THAT(Values(Pack({At(shape, 1), 7, At(shape, 2)})), ElementsAre(3, 7, 4));
  Output matrix = Pack({shape, Op("Add", {shape, 10})});  // [[2 3 4] [12 13 14]]
  EXPECT_THAT(Values(matrix), ElementsAre(2, 3, 4, 12, 13, 14));
  EXPECT_THAT(Values(Pack({shape, Op("Add", {shape, 10})}, -1)), ElementsAre(2, 12, 3, 13, 4, 14));
  EXPECT_THAT(Values(Op("Sum", {matrix, 0})), ElementsAre(14, 16, 18));
  EXPECT_THAT(Values(Op("Sum", {matrix, 1})), ElementsAre(9, 39));
  EXPECT_THAT(Values(Op("Sum", {matrix, {0, 1}})), ElementsAre(48));
  EXPECT_THAT(Values(Concat({shape, Op("Reshape", {9, {1}})}, 0)), ElementsAre(2, 3, 4, 9));
  EXPECT_THAT(Values(Concat({matrix, matrix}, 1)), ElementsAre(2, 3, 4, 2, 3, 4, 12, 13, 14, 12, 13, 14));
  EXPECT_THAT(Values(Op("GatherV2", {shape, {2, 0}, 0})), ElementsAre(4, 2));
  EXPECT_THAT(Values(Op("GatherV2", {matrix, {2, 0}, 1})), ElementsAre(4, 2, 14, 12));
  EXPECT_FALSE(ConstantValue(Op("GatherV2", {shape, {3}, 0})).has_value());
  EXPECT_THAT(Values(Op("Range", {0, At(shape, 2), 2})), ElementsAre(0, 2));
  EXPECT_THAT(Values(Op("Range", {3, 0, -1})), ElementsAre(3, 2, 1));
  EXPECT_FALSE(ConstantValue(Op("Range", {0, 1 << 30, 1})).has_value());
  EXPECT_FALSE(ConstantValue(Op("Range", {0, 1, 0})).has_value());
  EXPECT_THAT(Values(Op("Fill", {{2, 2}, 5})), ElementsAre(5, 5, 5, 5));
  EXPECT_FALSE(ConstantValue(Op("Fill", {{1 << 20, 1 << 20}, 5})).has_value());
  Output reversed = NodeBuilder(scope_, "StridedSlice")
                        .Input(shape)
                        .Input({-1})
                        .Input({0})
                        .Input({-2})
                        .Attr("end_mask", 1)
                        .FinishOutput();
  EXPECT_THAT(Values(reversed), ElementsAre(4, 2));
}

TEST_F(ConstantValueTest, LoopInvariantsAndReferences) {
  Output c = AddConst(graph_, "c", Tensor::Scalar<int32_t>(7));
  const auto enter = [&](bool constant) {
    return NodeBuilder(scope_, "Enter").Input(c).Attr("frame_name", "f").Attr("is_constant", constant).FinishOutput();
  };
  EXPECT_THAT(Values(enter(true)), ElementsAre(7));
  EXPECT_FALSE(ConstantValue(enter(false)).has_value());
  // An open Merge is unknown and harmless.
  Output merge = NodeBuilder(scope_, "Merge").InputList(Outputs{enter(false), Output()}).FinishOutput();
  EXPECT_FALSE(ConstantValue(Op("Add", {merge, 1})).has_value());
}

TEST_F(ConstantValueTest, AsShape) {
  Output shape = Op("Shape", {x_});  // ? 3 4
  EXPECT_EQ(ConstantValueAsShape(shape), Shape({kUnknownDim, 3, 4}));
  EXPECT_EQ(ConstantValueAsShape(Pack({At(shape, 0), -1, Op("Mul", {At(shape, 1), At(shape, 2)})})),
            Shape({kUnknownDim, kUnknownDim, 12}));
  EXPECT_EQ(ConstantValueAsShape(Concat({shape, {9}}, 0)), Shape({kUnknownDim, 3, 4, 9}));
  EXPECT_EQ(ConstantValueAsShape(Op("Add", {shape, 1})), Shape({kUnknownDim, 4, 5}));
  // Only the length is known, or not even that.
  EXPECT_EQ(ConstantValueAsShape(AddPlaceholder(graph_, "v", DType::kInt32, Shape({2}))), Shape::UnknownOfRank(2));
  EXPECT_EQ(ConstantValueAsShape(AddPlaceholder(graph_, "w", DType::kInt32, Shape({kUnknownDim}))), Shape());
  // What is no shape.
  EXPECT_EQ(ConstantValueAsShape(AddPlaceholder(graph_, "m", DType::kInt32, Shape({2, 2}))), Shape());
  EXPECT_EQ(ConstantValueAsShape(AddPlaceholder(graph_, "l", DType::kInt32, Shape({300}))), Shape());
  EXPECT_EQ(ConstantValueAsShape(x_), Shape());
  EXPECT_EQ(ConstantValueAsShape(AddConst(graph_, "neg", Tensor::Vector<int32_t>({-7, 2}))), Shape({kUnknownDim, 2}));
  EXPECT_EQ(ConstantValueAsShape(AddConst(graph_, "e", Tensor::Vector<int32_t>({}))), Shape::Scalar());
}

TEST_F(ConstantValueTest, WorkIsBounded) {
  // 2^100 paths, and a million nodes deep.
  Output sum = AddConst(graph_, "one", Tensor::Scalar<int32_t>(1));
  for (int i = 0; i < 40; ++i) sum = Op("Add", {sum, sum});
  EXPECT_THAT(Values(sum), ElementsAre(0));  // 2^40, wrapped
  for (int i = 0; i < 60; ++i) sum = Op("Add", {sum, sum});
  EXPECT_FALSE(ConstantValue(sum).has_value());
  Output chain = AddConst(graph_, "start", Tensor::Scalar<int32_t>(1));
  for (int i = 0; i < 200000; ++i) chain = Op("Identity", {chain});
  EXPECT_FALSE(ConstantValue(chain).has_value());
}

// Each reduction and rearrangement against naive indexing, on a value with unknown elements.
TEST(PartialValueTest, UnknownElementsSpreadNoFartherThanTheyMust) {
  const DType int32 = DType::kInt32;
  const PartialValue a{int32, Shape({2, 3}), {1, absl::nullopt, 3, 4, 5, 6}};
  const PartialElement unknown = absl::nullopt;
  EXPECT_THAT(PartialReduce("Sum", a, {0}, false)->elements, ElementsAre(5, unknown, 9));
  EXPECT_THAT(PartialReduce("Prod", a, {-1}, true)->elements, ElementsAre(unknown, 120));
  EXPECT_EQ(PartialReduce("Prod", a, {-1}, true)->shape, Shape({2, 1}));
  const PartialValue empty{int32, Shape({0, 2}), {}};
  EXPECT_THAT(PartialReduce("Prod", empty, {0}, false)->elements, ElementsAre(1, 1));
  EXPECT_THAT(PartialReduce("Max", empty, {0}, false)->elements, ElementsAre(unknown, unknown));
  EXPECT_FALSE(PartialReduce("Sum", a, {2}, false).has_value());
  const PartialValue indices = PartialValue::Vector(int32, {1, unknown});
  EXPECT_THAT(PartialGather(a, indices, 0)->elements, ElementsAre(4, 5, 6, unknown, unknown, unknown));
  EXPECT_THAT(PartialBinary("Add", int32, a, PartialValue::Scalar(int32, 1))->elements,
              ElementsAre(2, unknown, 4, 5, 6, 7));
  EXPECT_THAT(PartialTake(a, {{1, -1, 2}, {0, 2, 2}}, Shape({2, 2}))->elements, ElementsAre(4, 6, 1, 3));
  EXPECT_FALSE(PartialTake(a, {{1, 1, 2}, {0, 1, 3}}, Shape({2, 3})).has_value());  // beyond the end
  EXPECT_FALSE(PartialTake(a, {{0, INT64_MAX, 2}, {0, 1, 3}}, Shape({2, 3})).has_value());
  EXPECT_FALSE(PartialValue::Unknown(int32, Shape({int64_t{1} << 62, int64_t{1} << 62})).has_value());
  EXPECT_TRUE(PartialValue::Unknown(int32, Shape({int64_t{1} << 62, 0})).has_value());
}

}  // namespace
}  // namespace nabla

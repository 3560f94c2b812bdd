// The generated builders: arguments, attrs, results and errors; and Const, which is written by hand.
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nabla/graph/scope.h"
#include "nabla/ops/ops.h"

namespace nabla {
namespace {

using ::testing::HasSubstr;

class BuildersTest : public ::testing::Test {
 protected:
  BuildersTest() : scope_((RegisterAllOps(), &graph_)) {}

  Output Placeholder(DType dtype, const Shape& shape) { return ops::Placeholder(scope_, dtype, {.shape = shape}); }
  // The value of a Const node.
  static const Tensor& Value(const Output& output) { return output.node()->GetAttr<Tensor>("value"); }

  Graph graph_;
  Scope scope_;
};

TEST_F(BuildersTest, OptionalAttrsHaveTheSpecsDefaults) {
  const Output a = Placeholder(DType::kFloat, {2, 3});
  const Output plain = ops::MatMul(scope_, a, Placeholder(DType::kFloat, {3, 4}));
  ASSERT_TRUE(scope_.ok()) << scope_.status();
  EXPECT_FALSE(plain.node()->GetAttr<bool>("transpose_a"));
  EXPECT_EQ(plain.node()->GetAttr<DType>("T"), DType::kFloat);
  EXPECT_EQ(plain.shape(), Shape({2, 4}));
  const Output transposed = ops::MatMul(scope_, a, Placeholder(DType::kFloat, {4, 3}), {.transpose_b = true});
  ASSERT_TRUE(scope_.ok()) << scope_.status();
  EXPECT_TRUE(transposed.node()->GetAttr<bool>("transpose_b"));
  EXPECT_EQ(transposed.shape(), Shape({2, 4}));
  EXPECT_EQ(ops::LeakyReluAttrs().alpha, 0.2f);
  EXPECT_EQ(ops::BiasAddAttrs().data_format, "NHWC");
  EXPECT_FALSE(ops::PlaceholderAttrs().shape.has_rank());
}

TEST_F(BuildersTest, AttrsWithoutDefaultArePositional) {
  const Output x = Placeholder(DType::kFloat, {2, 6});
  const Output cast = ops::Cast(scope_, x, DType::kInt64);
  ASSERT_TRUE(scope_.ok()) << scope_.status();
  EXPECT_EQ(cast.dtype(), DType::kInt64);
  EXPECT_EQ(cast.node()->GetAttr<DType>("SrcT"), DType::kFloat);
  const Output random = ops::RandomUniform(scope_, Shape({2, 3}), DType::kHalf, {.seed = 7});
  ASSERT_TRUE(scope_.ok()) << scope_.status();
  EXPECT_EQ(random.dtype(), DType::kHalf);
  EXPECT_EQ(random.shape(), Shape({2, 3}));
  EXPECT_EQ(random.node()->GetAttr<int64_t>("seed"), 7);
}

TEST_F(BuildersTest, ListsInAndOut) {
  const Output x = Placeholder(DType::kFloat, {2, 6});
  const Outputs parts = ops::Split(scope_, 1, x, 3);
  ASSERT_TRUE(scope_.ok()) << scope_.status();
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[2].index(), 2);
  EXPECT_EQ(parts[2].shape(), Shape({2, 2}));
  const Output joined = ops::ConcatV2(scope_, {parts[0], parts[2]}, 1);
  ASSERT_TRUE(scope_.ok()) << scope_.status();
  EXPECT_EQ(joined.node()->GetAttr<int64_t>("N"), 2);
  EXPECT_EQ(joined.shape(), Shape({2, 4}));
  const Outputs same = ops::IdentityN(scope_, {x, Placeholder(DType::kInt32, {})});
  ASSERT_TRUE(scope_.ok()) << scope_.status();
  ASSERT_EQ(same.size(), 2u);
  EXPECT_EQ(same[1].dtype(), DType::kInt32);
}

TEST_F(BuildersTest, SeveralOutputsHaveTheirNames) {
  const ops::SparseSoftmaxCrossEntropyWithLogitsOutputs result = ops::SparseSoftmaxCrossEntropyWithLogits(
      scope_, Placeholder(DType::kFloat, {5, 3}), Placeholder(DType::kInt32, {5}));
  ASSERT_TRUE(scope_.ok()) << scope_.status();
  EXPECT_EQ(result.loss.shape(), Shape({5}));
  EXPECT_EQ(result.backprop.shape(), Shape({5, 3}));
  EXPECT_EQ(result.backprop.index(), 1);
}

TEST_F(BuildersTest, OpsWithoutOutputsReturnTheirNode) {
  static_assert(std::is_same_v<decltype(ops::NoOp(std::declval<const Scope&>())), Node*>);
  Node* node = ops::NoOp(scope_.Named("done"));
  ASSERT_NE(node, nullptr);
  EXPECT_EQ(node->name(), "done");
}

TEST_F(BuildersTest, NumbersTakeTheOtherOperandsDType) {
  const Output x = Placeholder(DType::kHalf, {2});
  const Output sum = ops::AddV2(scope_, x, 1);
  ASSERT_TRUE(scope_.ok()) << scope_.status();
  EXPECT_EQ(sum.dtype(), DType::kHalf);
  EXPECT_EQ(Value(sum.node()->input(1)).dtype(), DType::kHalf);
}

TEST_F(BuildersTest, AFailureIsKeptAndWhatFollowsIsSilent) {
  const int before = graph_.num_nodes();
  const Output bad = ops::MatMul(scope_, Placeholder(DType::kFloat, {2, 3}), Placeholder(DType::kFloat, {4, 5}));
  EXPECT_FALSE(bad);
  EXPECT_EQ(graph_.num_nodes(), before + 2);
  const std::string message = scope_.status().ToString();
  EXPECT_THAT(message, HasSubstr("MatMul"));
  EXPECT_THAT(message, HasSubstr("3 and 4"));
  EXPECT_FALSE(ops::Relu(scope_, bad));
  EXPECT_TRUE(ops::IdentityN(scope_, {bad}).empty());
  EXPECT_FALSE(ops::SparseSoftmaxCrossEntropyWithLogits(scope_, bad, bad).loss);
  EXPECT_EQ(ops::Assert(scope_, bad, {bad}), nullptr);
  EXPECT_EQ(scope_.status().ToString(), message);
  EXPECT_EQ(graph_.num_nodes(), before + 2);
}

TEST_F(BuildersTest, WrongDTypesAreRefused) {
  EXPECT_FALSE(ops::Sqrt(scope_, Placeholder(DType::kInt32, {2})));
  EXPECT_THAT(scope_.status().ToString(), HasSubstr("int32"));
}

TEST_F(BuildersTest, ConstTakesNumbersTensorsAndStrings) {
  EXPECT_EQ(Value(ops::Const(scope_, 1)).dtype(), DType::kInt32);
  EXPECT_EQ(Value(ops::Const(scope_, int64_t{1} << 40)).dtype(), DType::kInt64);
  EXPECT_EQ(Value(ops::Const(scope_, 0.5)).scalar<float>(), 0.5f);
  EXPECT_EQ(Value(ops::Const(scope_, 0.1, DType::kDouble)).scalar<double>(), 0.1);
  EXPECT_EQ(Value(ops::Const(scope_, true)).dtype(), DType::kBool);
  EXPECT_EQ(Value(ops::Const(scope_, "text")).scalar<std::string>(), "text");
  const Output axes = ops::Const(scope_, {0, -2});
  EXPECT_TRUE(BitwiseEqual(Value(axes), Tensor::Vector<int32_t>({0, -2})));
  const Tensor matrix = Tensor::Of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Output constant = ops::Const(scope_, matrix);
  EXPECT_EQ(constant.shape(), Shape({2, 3}));
  EXPECT_TRUE(Value(constant).SharesBufferWith(matrix)) << "large values are not copied";
  EXPECT_TRUE(scope_.ok()) << scope_.status();
}

TEST_F(BuildersTest, ConstFillsShapes) {
  const Output threes = ops::Const(scope_, 3, DType::kInt64, Shape({2, 2}));
  ASSERT_TRUE(scope_.ok()) << scope_.status();
  EXPECT_TRUE(BitwiseEqual(Value(threes), Tensor::Of<int64_t>({2, 2}, {3, 3, 3, 3})));
  const Output texts = ops::Const(scope_, "a", DType::kString, Shape({2}));
  ASSERT_TRUE(scope_.ok()) << scope_.status();
  EXPECT_TRUE(BitwiseEqual(Value(texts), Tensor::Vector<std::string>({"a", "a"})));
  EXPECT_EQ(ops::Const(scope_, 0.0, DType::kFloat, Shape({0, 3})).shape(), Shape({0, 3}));
}

// Each in a scope of its own, since only the first error is kept.
std::string ErrorOf(const std::function<Output(const Scope& scope)>& build) {
  Graph graph;
  Scope scope(&graph);
  EXPECT_FALSE(build(scope));
  return scope.status().ToString();
}

TEST_F(BuildersTest, ConstRefusesWhatDoesNotFit) {
  EXPECT_THAT(ErrorOf([](const Scope& s) { return ops::Const(s, 300, DType::kUInt8); }), HasSubstr("300"));
  EXPECT_THAT(ErrorOf([](const Scope& s) { return ops::Const(s, 0.5, DType::kInt32); }), HasSubstr("0.5"));
  EXPECT_THAT(ErrorOf([](const Scope& s) { return ops::Const(s, Tensor::Scalar(1.0f), DType::kDouble); }),
              HasSubstr("use Cast"));
  EXPECT_THAT(ErrorOf([](const Scope& s) {
                return ops::Const(s, 1, DType::kFloat, Shape({2, kUnknownDim}));
              }),
              HasSubstr("[2,?]"));
  EXPECT_THAT(ErrorOf([](const Scope& s) {
                return ops::Const(s, {1, 2}, DType::kFloat, Shape({2}));
              }),
              HasSubstr("one element"));
  EXPECT_THAT(ErrorOf([](const Scope& s) { return ops::Const(s, ops::Const(s, 1)); }), HasSubstr("output of a node"));
  EXPECT_THAT(ErrorOf([](const Scope& s) {
                return ops::Const(s, 0, DType::kFloat, Shape({int64_t{1} << 31, int64_t{1} << 31}));
              }),
              HasSubstr("RESOURCE_EXHAUSTED"));
}

}  // namespace
}  // namespace nabla

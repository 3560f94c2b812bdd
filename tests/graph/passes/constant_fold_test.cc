#include "nabla/graph/passes/constant_fold.h"

#include "gmock/gmock.h"
#include "nabla/tests/graph/passes/pass_fixture.h"

namespace nabla {
namespace {

using ::nabla::testing::Attrs;
using ::nabla::testing::Floats;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Evaluates Neg, Add and Fill of floats, and writes down what it was asked for.
class ConstantFoldTest : public PassTest {
 protected:
  ConstantFoldTest() {
    compilation_.evaluate = [this](Node* node, absl::Span<const Tensor> inputs, std::vector<Tensor>* outputs) {
      evaluated_.push_back(node->name());
      if (node->op() == "Fill") {
        Tensor y(DType::kFloat, node->output_shape(0));
        for (float& element : y.flat<float>()) element = inputs[1].scalar<float>();
        outputs->push_back(y);
        return absl::OkStatus();
      }
      if (node->op() != "Neg" && node->op() != "Add") return absl::UnimplementedError("not here");
      Tensor y(DType::kFloat, inputs[0].shape());
      for (int64_t i = 0; i < y.num_elements(); ++i) {
        const float a = inputs[0].data<float>()[i];
        y.data<float>()[i] = node->op() == "Neg" ? -a : a + inputs[1].data<float>()[i];
      }
      outputs->push_back(y);
      return absl::OkStatus();
    };
  }
  static const Tensor* Value(Output output) { return output.node()->attr<Tensor>("value"); }

  std::vector<std::string> evaluated_;
};

TEST_F(ConstantFoldTest, FoldsTransitively) {
  const Output c = Constant("c", Tensor::Vector<float>({1, 2}));
  const Output a = Call("a", "Neg", {c});
  const Output b = Call("b", "Add", {a, c});
  const Output x = Placeholder("x", Shape({2}));
  const Output y = Call("y", "Add", {x, b});
  compilation_.fetches = {y, a};
  Apply(ConstantFold);
  ASSERT_EQ(y.node()->input(1).node()->op(), "Const");
  EXPECT_THAT(Floats(*Value(y.node()->input(1))), ElementsAre(0, 0));
  EXPECT_THAT(Floats(*Value(compilation_.fetches[1])), ElementsAre(-1, -2));
  EXPECT_THAT(evaluated_, ElementsAre("a", "b"));
}

TEST_F(ConstantFoldTest, LeavesFeedsStatefulNodesAndTargets) {
  const Output c = Constant("c", Tensor::Vector<float>({1, 2}));
  const Output x = Placeholder("x", Shape({2}));
  const Output a = Call("a", "Neg", {x});
  const Output b = Call("b", "TestCount", {c});
  const Output t = Call("t", "Neg", {c});
  compilation_.fetches = {a, b, t};
  compilation_.targets = {t.node()};
  const Outputs before = compilation_.fetches;
  Apply(ConstantFold);
  EXPECT_EQ(compilation_.fetches, before);
  EXPECT_THAT(evaluated_, IsEmpty());
}

TEST_F(ConstantFoldTest, WhatFailsIsLeftForTheRun) {
  const Output c = Constant("c", Tensor::Vector<float>({1, 2}));
  const Output a = Call("a", "TestFail", {c}, Attrs({{"message", "no"}}));
  compilation_.fetches = {a};
  Apply(ConstantFold);
  EXPECT_EQ(compilation_.fetches[0], a);
  EXPECT_THAT(evaluated_, ElementsAre("a"));
}

TEST_F(ConstantFoldTest, WithoutEvaluatorOnlyShapesFold) {
  compilation_.evaluate = nullptr;
  const Output c = Constant("c", Tensor::Vector<float>({1, 2}));
  const Output a = Call("a", "Neg", {c});
  const Output shape = Call("shape", "Shape", {a});
  compilation_.fetches = {a, shape};
  Apply(ConstantFold);
  EXPECT_EQ(compilation_.fetches[0], a);
  EXPECT_EQ(compilation_.fetches[1].node()->op(), "Const");
}

TEST_F(ConstantFoldTest, ShapeOps) {
  const Output x = Placeholder("x", Shape({2, 3}));
  const Output u = Placeholder("u", Shape({kUnknownDim, 3}));
  const Output n = Placeholder("n", Shape());
  compilation_.fetches = {
      Call("s", "Shape", {x}),          Call("s64", "Shape", {x}, Attrs({{"out_type", DType::kInt64}})),
      Call("size", "Size", {x}),        Call("rank", "Rank", {u}),
      Call("kept_shape", "Shape", {u}), Call("kept_size", "Size", {u}),
      Call("kept_rank", "Rank", {n}),
  };
  const Outputs before = compilation_.fetches;
  Apply(ConstantFold);
  const Outputs& after = compilation_.fetches;
  EXPECT_TRUE(BitwiseEqual(*Value(after[0]), Tensor::Vector<int32_t>({2, 3})));
  EXPECT_TRUE(BitwiseEqual(*Value(after[1]), Tensor::Vector<int64_t>({2, 3})));
  EXPECT_TRUE(BitwiseEqual(*Value(after[2]), Tensor::Scalar<int32_t>(6)));
  EXPECT_TRUE(BitwiseEqual(*Value(after[3]), Tensor::Scalar<int32_t>(2)));
  for (int i = 4; i < 7; ++i) EXPECT_EQ(after[i], before[i]);
}

TEST_F(ConstantFoldTest, ASizeThatDoesNotFitItsTypeIsLeft) {
  const Output x = Placeholder("x", Shape({int64_t{1} << 20, int64_t{1} << 20}));
  compilation_.fetches = {Call("size", "Size", {x})};
  Apply(ConstantFold);
  EXPECT_EQ(compilation_.fetches[0].node()->op(), "Size");
}

TEST_F(ConstantFoldTest, SizesAreLimited) {
  const Output value = Constant("value", Tensor::Scalar(1.0f));
  const int32_t limit = static_cast<int32_t>(kMaxFoldedBytes / sizeof(float));
  const Output fits = Call("fits", "Fill", {Constant("n1", Tensor::Vector<int32_t>({limit})), value});
  const Output too_large = Call("too_large", "Fill", {Constant("n2", Tensor::Vector<int32_t>({limit + 1})), value});
  // As large as the constants it is made of: nothing grows.
  const Output large = Constant("large", Tensor::Zeros(DType::kFloat, Shape({limit + 1})));
  const Output negative = Call("negative", "Neg", {large});
  compilation_.fetches = {fits, too_large, negative};
  Apply(ConstantFold);
  EXPECT_EQ(compilation_.fetches[0].node()->op(), "Const");
  EXPECT_EQ(compilation_.fetches[1], too_large);
  EXPECT_EQ(compilation_.fetches[2].node()->op(), "Const");
}

TEST_F(ConstantFoldTest, TheSumOfSizesIsLimitedToo) {
  const Output value = Constant("value", Tensor::Scalar(1.0f));
  const int32_t half = static_cast<int32_t>(kMaxFoldedBytes / sizeof(float) / 2);
  const Output dims = Constant("dims", Tensor::Vector<int32_t>({half}));
  // Evaluation itself is not what is tested here.
  Tensor shared(DType::kFloat, Shape({half}));
  compilation_.evaluate = [&](Node*, absl::Span<const Tensor>, std::vector<Tensor>* outputs) {
    outputs->push_back(shared);
    return absl::OkStatus();
  };
  const size_t count = kMaxFoldedGrowth / (kMaxFoldedBytes / 2) + 10;
  for (size_t i = 0; i < count; ++i) compilation_.fetches.push_back(testing::Call(scope_, "Fill", {dims, value}));
  Apply(ConstantFold);
  size_t folded = 0;
  for (const Output& fetch : compilation_.fetches) folded += fetch.node()->op() == "Const";
  EXPECT_LE(folded, kMaxFoldedGrowth / (kMaxFoldedBytes / 2));
  EXPECT_GE(folded, kMaxFoldedGrowth / (kMaxFoldedBytes / 2) - 1);
}

TEST_F(ConstantFoldTest, TheConstantWaitsForWhatTheNodeWaitedFor) {
  const Output x = Placeholder("x", Shape({2}));
  Node* effect = Call("effect", "TestCount", {x}).node();
  Node* effect2 = Call("effect2", "TestCount", {x}).node();
  const Output c = testing::Constant(scope_.WithControl({effect}), Tensor::Vector<float>({1, 2}));
  const Output a = testing::Call(scope_.WithControl({effect2}), "Neg", {c});
  const Output y = Call("y", "Add", {x, a});
  Node* waiting = testing::CallNode(scope_.WithControl({a.node()}), "TestCount", {x});
  Apply(ConstantFold);
  Node* folded = y.node()->input(1).node();
  EXPECT_EQ(folded->op(), "Const");
  EXPECT_THAT(ControlNames(folded), ElementsAre("effect", "effect2"));
  EXPECT_THAT(ControlNames(waiting), ElementsAre(folded->name()));
}

TEST_F(ConstantFoldTest, NobodyWaitsForAFoldedConstantThatWaitsForNothing) {
  const Output x = Placeholder("x", Shape({2}));
  const Output a = Call("a", "Neg", {Constant("c", Tensor::Vector<float>({1, 2}))});
  Node* waiting = testing::CallNode(scope_.WithControl({a.node()}), "TestCount", {x});
  Apply(ConstantFold);
  EXPECT_THAT(ControlNames(waiting), IsEmpty());
}

TEST_F(ConstantFoldTest, AShapeKeepsEffectsInOrder) {
  const Output x = Placeholder("x", Shape({2}));
  const Output before = Call("before", "TestCount", {x});
  const Output shape = Call("shape", "Shape", {before});
  const Output one = Constant("one", Tensor::Scalar(1.0f));
  const Output fill = Call("fill", "Fill", {shape, one});
  const Output after = Call("after", "TestCount", {fill});
  // Without an effect behind it, there is nothing to order.
  const Output harmless = Call("harmless", "Shape", {before}, Attrs({{"out_type", DType::kInt64}}));
  compilation_.fetches = {after, harmless};
  Apply(ConstantFold);
  Node* folded = after.node()->input(0).node();
  ASSERT_EQ(folded->op(), "Const");
  EXPECT_THAT(ControlNames(folded), ElementsAre("before"));
  ASSERT_EQ(compilation_.fetches[1].node()->op(), "Const");
  EXPECT_THAT(ControlNames(compilation_.fetches[1].node()), IsEmpty());
}

}  // namespace
}  // namespace nabla

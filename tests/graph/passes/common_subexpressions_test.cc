#include "nabla/graph/passes/common_subexpressions.h"

#include "gmock/gmock.h"
#include "nabla/tests/graph/passes/pass_fixture.h"

namespace nabla {
namespace {

using ::nabla::testing::Attrs;
using ::testing::ElementsAre;

using CommonSubexpressionsTest = PassTest;

TEST_F(CommonSubexpressionsTest, MergesEqualTrees) {
  const Output x = Placeholder("x", Shape({2}));
  const Output a = Call("a", "Neg", {x}), b = Call("b", "Neg", {x});
  const Output c = Call("c", "Add", {a, x}), d = Call("d", "Add", {b, x});
  const Output e = Call("e", "Mul", {c, d});
  compilation_.fetches = {e, d};
  Apply(CommonSubexpressions);
  EXPECT_EQ(e.node()->input(0), c);
  EXPECT_EQ(e.node()->input(1), c);
  EXPECT_EQ(c.node()->input(0), a);
  EXPECT_EQ(compilation_.fetches[1], c);
}

TEST_F(CommonSubexpressionsTest, WhatDiffersStays) {
  const Output x = Placeholder("x", Shape({2, 2})), z = Placeholder("z", Shape({2, 2}));
  Node* effect = Call("effect", "TestCount", {x}).node();
  compilation_.fetches = {
      Call("op1", "Neg", {x}),
      Call("op2", "Identity", {x}),
      Call("in1", "Sub", {x, z}),
      Call("in2", "Sub", {z, x}),
      Call("attr1", "MatMul", {x, z}, Attrs({{"transpose_a", true}})),
      Call("attr2", "MatMul", {x, z}, Attrs({{"transpose_a", false}})),
      testing::Call(scope_.WithControl({effect}).Named("control"), "Neg", {x}),
      testing::Call(scope_.WithDevice("/device:CPU:1").Named("device"), "Neg", {x}),
      Call("stateful1", "TestCount", {x}),
      Call("stateful2", "TestCount", {x}),
  };
  const Outputs before = compilation_.fetches;
  Apply(CommonSubexpressions);
  EXPECT_EQ(compilation_.fetches, before);
}

TEST_F(CommonSubexpressionsTest, OutputsByIndex) {
  const Output x = Placeholder("x", Shape({2}));
  Node* a = Call("a", "TestTwo", {x}).node();
  Node* b = Call("b", "TestTwo", {x}).node();
  const Output y = Call("y", "Add", {a->output(0), b->output(1)});
  Apply(CommonSubexpressions);
  EXPECT_EQ(y.node()->input(0), a->output(0));
  EXPECT_EQ(y.node()->input(1), a->output(1));
}

TEST_F(CommonSubexpressionsTest, ConstantsByContent) {
  const Output a = Constant("a", Tensor::Vector<float>({1, 2}));
  const Output b = Constant("b", Tensor::Vector<float>({1, 2}));
  const Output c = Constant("c", Tensor::Vector<float>({1, 3}));
  const Output d = Constant("d", Tensor::Of<float>({1, 2}, {1, 2}));
  const Output zero = Constant("zero", Tensor::Vector<float>({0.0f, 0.0f}));
  const Output minus_zero = Constant("minus_zero", Tensor::Vector<float>({-0.0f, 0.0f}));
  const Output text = Constant("text", Tensor::Scalar(std::string("a")));
  const Output text2 = Constant("text2", Tensor::Scalar(std::string("a")));
  compilation_.fetches = {a, b, c, d, zero, minus_zero, text, text2};
  Apply(CommonSubexpressions);
  EXPECT_THAT(compilation_.fetches, ElementsAre(a, a, c, d, zero, minus_zero, text, text));
}

TEST_F(CommonSubexpressionsTest, LargeConstantsAreComparedToTheEnd) {
  Tensor first = Tensor::Zeros(DType::kFloat, Shape({5000}));
  Tensor second = first.Clone();
  second.data<float>()[4999] = 1;
  const Output a = Constant("a", first), b = Constant("b", second), c = Constant("c", first.Clone());
  compilation_.fetches = {a, b, c};
  Apply(CommonSubexpressions);
  EXPECT_THAT(compilation_.fetches, ElementsAre(a, b, a));
}

TEST_F(CommonSubexpressionsTest, AttrsThatSayNothingMayDiffer) {
  const Output x = Placeholder("x", Shape({2}));
  const Output a = testing::Call(scope_.WithAttr("_class", std::vector<std::string>{"loc:@x"}), "Neg", {x});
  const Output b = Call("b", "Neg", {x});
  const Output c = testing::Call(scope_.WithAttr("_other", 1), "Neg", {x});
  compilation_.fetches = {a, b, c};
  Apply(CommonSubexpressions);
  EXPECT_THAT(compilation_.fetches, ElementsAre(a, a, c));
}

TEST_F(CommonSubexpressionsTest, WhoWaitedForTheMergedNodeWaitsForTheOther) {
  const Output x = Placeholder("x", Shape({2}));
  const Output a = Call("a", "Neg", {x}), b = Call("b", "Neg", {x});
  Node* waiting = testing::CallNode(scope_.WithControl({b.node()}), "TestCount", {x});
  Apply(CommonSubexpressions);
  EXPECT_THAT(ControlNames(waiting), ElementsAre("a"));
  EXPECT_TRUE(b.node()->consumers().empty());
  EXPECT_EQ(a.node()->name(), "a");
}

TEST_F(CommonSubexpressionsTest, TargetsStay) {
  const Output x = Placeholder("x", Shape({2}));
  Call("a", "Neg", {x});
  const Output b = Call("b", "Neg", {x});
  compilation_.targets = {b.node()};
  compilation_.fetches = {b};
  Apply(CommonSubexpressions);
  EXPECT_EQ(compilation_.fetches[0], b);
}

}  // namespace
}  // namespace nabla

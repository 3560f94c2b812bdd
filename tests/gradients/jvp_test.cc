// Forward mode, against numbers worked out by hand; that every rule agrees with reverse mode is checked by the op
// cases.
#include "nabla/gradients/jvp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "nabla/gradients/vjp.h"
#include "nabla/tests/gradients/transform_test.h"

namespace nabla {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class JvpTest : public TransformTest {
 protected:
  Output JvpOf(Output y, const Outputs& xs, const Outputs& tangents, const JvpOptions& options = {}) {
    absl::StatusOr<Outputs> result = Jvp(scope_, {y}, xs, tangents, options);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? (*result)[0] : Output();
  }

  absl::Status Refusal(const Outputs& ys, const Outputs& xs, const Outputs& tangents) {
    return Jvp(scope_, ys, xs, tangents).status();
  }
};

// d(a b) = 5 da + 3 db
TEST_F(JvpTest, ProductRule) {
  const Output a = Doubles({3}), b = Doubles({5});
  EXPECT_THAT(Values(JvpOf(a * b, {a, b}, {Doubles({10}), Doubles({100})})), ElementsAre(350));
  EXPECT_THAT(Values(JvpOf(a * b, {a, b}, {Doubles({10}), Output()})), ElementsAre(50));
}

TEST_F(JvpTest, BroadcastOperandsGiveTangentsOfTheResultsShape) {
  const Output a = Matrix(2, 1, {1, 2}), b = Doubles({3, 4, 5});
  const Output t = Matrix(2, 1, {1, 10});
  for (Output y : {a + b, a - b, a * b, b / a, ops::Maximum(scope_, a, b)}) {
    const Output jvp = JvpOf(y, {a}, {t});
    ASSERT_TRUE(jvp);
    EXPECT_EQ(Value(jvp).shape(), Shape({2, 3})) << y.node()->op();
  }
  EXPECT_THAT(Values(JvpOf(b - a, {a}, {t})), ElementsAre(-1, -1, -1, -10, -10, -10));
  EXPECT_THAT(Values(JvpOf(b / a, {a}, {t})), ElementsAre(-3, -4, -5, -7.5, -10, -12.5));
}

// Through an op without forward rule: the softmax's Jacobian is diag(p) - pp'.
TEST_F(JvpTest, TransposesGradientRules) {
  const Output x = Matrix(1, 2, {0, std::log(3.0)});
  const int before = graph_.num_nodes();
  const Output jvp = JvpOf(ops::Softmax(scope_, x), {x}, {Matrix(1, 2, {1, 0})});
  EXPECT_THAT(Values(jvp), ElementsAre(DoubleNear(0.1875, 1e-15), DoubleNear(-0.1875, 1e-15)));
  // Softmax, t, and of the rule (dy - sum(dy y)) y its transpose: no more.
  EXPECT_LE(graph_.num_nodes() - before, 11);
}

TEST_F(JvpTest, LeavesNothingUnused) {
  const Output x = ops::Placeholder(scope_, DType::kDouble, {.shape = {4, 3}});
  const Output t = ops::Placeholder(scope_, DType::kDouble, {.shape = {4, 3}});
  const Output y = ops::Max(scope_, ops::Pow(scope_, ops::Sigmoid(scope_, x), x), 1);
  const Output jvp = JvpOf(y, {x}, {t});
  graph_.ForEachNode([&](Node* node) {
    EXPECT_TRUE(!node->consumers().empty() || node == y.node() || node == jvp.node()) << node->ToString();
  });
}

// An x that depends on another moves with it, as it is for Gradients().
TEST_F(JvpTest, AnXThatDependsOnAnX) {
  const Output a = Doubles({3}), b = a * a;
  EXPECT_THAT(Values(JvpOf(10 * b, {a, b}, {Doubles({1}), Doubles({1})})), ElementsAre(70));
  EXPECT_THAT(Values(JvpOf(b, {b}, {Doubles({7})})), ElementsAre(7));
}

TEST_F(JvpTest, WhatDoesNotDependOnX) {
  const Output x = Doubles({3}), other = Doubles({1, 2});
  EXPECT_FALSE(JvpOf(other * other, {x}, {x}));
  EXPECT_FALSE(JvpOf(ops::StopGradient(scope_, x * x), {x}, {x}));
  EXPECT_FALSE(JvpOf(x * x, {x}, {Output()}));
  const Output square = x * x;
  EXPECT_THAT(Values(JvpOf(square * x, {x}, {Doubles({1})}, {.stop_gradients = {square}})), ElementsAre(9));
  EXPECT_THAT(Values(JvpOf(other, {x}, {x}, {.unconnected = UnconnectedGradients::kZero})), ElementsAre(0, 0));
}

// Row 1 of a variable, squared.
TEST_F(JvpTest, ByTheHandleOfAVariable) {
  const Output handle = ops::VarHandleOp(scope_, DType::kDouble, {2, 2});
  const Output row = ops::ResourceGather(scope_, handle, {1}, DType::kDouble);
  const Output jvp =
      JvpOf(row * row + ops::ReadVariableOp(scope_, handle, DType::kDouble), {handle}, {Matrix(2, 2, {1, 2, 3, 4})});
  ASSERT_TRUE(jvp);
  Node* assign = ops::AssignVariableOp(scope_, handle, Matrix(2, 2, {5, 6, 7, 8}));
  Session session(&graph_);
  std::vector<Tensor> out;
  ASSERT_TRUE(session.Run({}, {}, {assign}, &out).ok());
  ASSERT_TRUE(session.Run({}, {jvp}, &out).ok());
  EXPECT_THAT(out[0].flat<double>(), ElementsAre(43, 66, 45, 68));
}

// f(x) = exp(sin x), three times forwards: f''' = f (cos^3 - 3 sin cos - cos).
TEST_F(JvpTest, ThirdDerivative) {
  const Output x = Doubles({0.5}), one = Doubles({1});
  Output d = ops::Exp(scope_, ops::Sin(scope_, x));
  for (int order = 0; order < 3; ++order) d = JvpOf(d, {x}, {one});
  const double s = std::sin(0.5), c = std::cos(0.5);
  EXPECT_THAT(Values(d), ElementsAre(DoubleNear(std::exp(s) * (c * c * c - 3 * s * c - c), 1e-13)));
}

// Forward over reverse, and reverse over forward: x^3 y at (2, 5), by x and y.
TEST_F(JvpTest, MixesWithReverseMode) {
  const Output x = Doubles({2}), y = Doubles({5}), one = Doubles({1});
  const Output f = x * x * x * y;
  absl::StatusOr<Grads> grads = Gradients(scope_, {f}, {x});
  ASSERT_TRUE(grads.ok());
  EXPECT_THAT(Values(JvpOf((*grads)[0].dense(), {y}, {one})), ElementsAre(12));
  grads = Gradients(scope_, {JvpOf(f, {x}, {one})}, {y});
  ASSERT_TRUE(grads.ok());
  EXPECT_THAT(Values((*grads)[0].dense()), ElementsAre(12));
}

// u'(J t) = (u'J) t on a network, with shapes known and unknown.
TEST_F(JvpTest, IsTheTransposeOfVjp) {
  for (const Shape& shape : {Shape({3, 4}), Shape()}) {
    const Output x = ops::Placeholder(scope_, DType::kDouble, {.shape = shape});
    std::vector<double> weights(20);
    for (int i = 0; i < 20; ++i) weights[i] = std::sin(1.0 + i);
    const Output w = Matrix(4, 5, weights), b = Doubles({0.1, -0.2, 0.3, -0.4, 0.5});
    const Output hidden = ops::Tanh(scope_, ops::BiasAdd(scope_, ops::MatMul(scope_, x, w), b));
    const Output y = ops::LogSoftmax(scope_, ops::MatMul(scope_, hidden, w, {.transpose_b = true}));
    std::vector<double> at(12), u_values(12);
    std::iota(at.begin(), at.end(), -5.0);
    for (int i = 0; i < 12; ++i) u_values[i] = std::cos(i * i);
    const Output t = Matrix(3, 4, {1, 0, 2, -1, 0.5, 0.5, 1, 1, -2, 3, 0, 1}), u = Matrix(3, 4, u_values);
    const Output tw = ops::OnesLike(scope_, w), tb = Doubles({1, 2, 3, 4, 5});
    const Output jvp = JvpOf(y, {x, w, b}, {t, tw, tb});
    absl::StatusOr<Grads> vjp = Vjp(scope_, {y}, {x, w, b}, {u});
    ASSERT_TRUE(vjp.ok()) << vjp.status();
    const auto dot = [&](Output p, Output q) { return ops::Sum(scope_, ops::Reshape(scope_, p * q, {-1}), 0); };
    const Output left = dot(u, jvp);
    const Output right = dot((*vjp)[0].dense(), t) + dot((*vjp)[1].dense(), tw) + dot((*vjp)[2].dense(), tb);
    const Feeds feeds = {{x, Tensor::Of<double>({3, 4}, at)}};
    EXPECT_NEAR(Values(left, feeds)[0], Values(right, feeds)[0], 1e-12);
  }
}

TEST_F(JvpTest, RefusesWhatDoesNotFit) {
  const Output x = Doubles({1, 2});
  EXPECT_THAT(Refusal({x}, {x}, {}).ToString(), HasSubstr("Jvp: 0 tangents for 1 xs"));
  EXPECT_THAT(Refusal({}, {x}, {x}).ToString(), HasSubstr("Jvp: ys is empty"));
  EXPECT_THAT(Refusal({x}, {Output()}, {x}).ToString(), HasSubstr("Jvp: xs[0] is none"));
  EXPECT_THAT(Refusal({x}, {x}, {Doubles({1})}).ToString(), HasSubstr("is double [1], expected"));
  EXPECT_THAT(Refusal({x}, {x}, {ops::Const(scope_, {1, 2})}).ToString(), HasSubstr("is int32 [2], expected"));
  Graph other;
  EXPECT_THAT(Refusal({x}, {x}, {ops::Const(Scope(&other), 1.0)}).ToString(), HasSubstr("another graph"));
  const Output prevented = ops::PreventGradient(scope_, x, {.message = "no way"});
  EXPECT_THAT(Refusal({prevented}, {x}, {x}).ToString(), HasSubstr("no way"));
}

}  // namespace
}  // namespace nabla

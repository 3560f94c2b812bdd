// Jacobians and Hessians, vectorised and one row at a time, against numbers worked out by hand.
#include "nabla/gradients/jacobian.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>

#include "absl/strings/match.h"
#include "nabla/gradients/batching.h"
#include "nabla/gradients/hessian.h"
#include "nabla/tests/gradients/transform_test.h"

namespace nabla {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::Pointwise;

class JacobianTest : public TransformTest {
 protected:
  // Checks that the work was vectorised.
  Output JacobianOf(Output y, Output x, JacobianOptions options = {}) {
    JacobianReport report;
    options.report = &report;
    absl::StatusOr<Outputs> jacobians = Jacobian(scope_, y, {x}, options);
    EXPECT_TRUE(jacobians.ok()) << jacobians.status();
    EXPECT_EQ(report.vectorized, options.vectorize) << report.why_not;
    return jacobians.ok() ? (*jacobians)[0] : Output();
  }

  Output HessianOf(Output y, Output x) {
    JacobianReport report;
    absl::StatusOr<Outputs> hessians = Hessians(scope_, {y}, {x}, {.name = "hessian", .report = &report});
    EXPECT_TRUE(hessians.ok()) << hessians.status();
    EXPECT_TRUE(report.vectorized) << report.why_not;
    return hessians.ok() ? (*hessians)[0] : Output();
  }
};

// d(Ax)/dx = A
TEST_F(JacobianTest, OfALinearMapIsItsMatrix) {
  const Output a = Matrix(2, 3, {1, 2, 3, 4, 5, 6}), x = Matrix(3, 1, {7, 8, 9});
  for (bool vectorize : {true, false}) {
    const Output jacobian = JacobianOf(ops::MatMul(scope_, a, x), x, {.vectorize = vectorize});
    ASSERT_TRUE(jacobian);
    EXPECT_EQ(jacobian.shape(), Shape({2, 1, 3, 1}));
    EXPECT_THAT(Values(jacobian), ElementsAre(1, 2, 3, 4, 5, 6));
  }
}

TEST_F(JacobianTest, OfElementwiseFunctionsIsDiagonal) {
  const Output x = Doubles({1, 2, 3});
  EXPECT_THAT(Values(JacobianOf(x * x * x, x)), ElementsAre(3, 0, 0, 0, 12, 0, 0, 0, 27));
}

// y = (x0 x1, x1 x2): both ways along the same tensor, with slices whose gradients are padded.
TEST_F(JacobianTest, ThroughSlices) {
  const Output x = Doubles({2, 3, 5});
  const Output y = SliceRows(x, 0, 2) * SliceRows(x, 1, 3);
  EXPECT_THAT(Values(JacobianOf(y, x)), ElementsAre(3, 2, 0, 0, 5, 3));
}

TEST_F(JacobianTest, OfAScalarIsTheGradient) {
  const Output x = Doubles({1, 2});
  const Output jacobian = JacobianOf(ops::Sum(scope_, x * x, 0), x);
  ASSERT_TRUE(jacobian);
  EXPECT_EQ(jacobian.shape(), Shape({2}));
  EXPECT_THAT(Values(jacobian), ElementsAre(2, 4));
}

TEST_F(JacobianTest, ByAScalar) {
  const Output x = ops::Const(scope_, Tensor::Scalar(3.0));
  const Output jacobian = JacobianOf(Doubles({1, 2}) * x * x, x);
  ASSERT_TRUE(jacobian);
  EXPECT_EQ(jacobian.shape(), Shape({2}));
  EXPECT_THAT(Values(jacobian), ElementsAre(6, 12));
}

TEST_F(JacobianTest, SeveralXsAndUnconnectedOnes) {
  const Output a = Doubles({1, 2}), b = Doubles({3, 4}), other = Doubles({5, 6, 7});
  absl::StatusOr<Outputs> jacobians = Jacobian(scope_, a * b, {a, b, other});
  ASSERT_TRUE(jacobians.ok()) << jacobians.status();
  EXPECT_THAT(Values((*jacobians)[0]), ElementsAre(3, 0, 0, 4));
  EXPECT_THAT(Values((*jacobians)[1]), ElementsAre(1, 0, 0, 2));
  EXPECT_FALSE((*jacobians)[2]);
  jacobians = Jacobian(scope_, a * b, {other}, {.unconnected = UnconnectedGradients::kZero});
  ASSERT_TRUE(jacobians.ok()) << jacobians.status();
  EXPECT_EQ((*jacobians)[0].shape(), Shape({2, 3}));
  EXPECT_THAT(Values((*jacobians)[0]), ElementsAre(0, 0, 0, 0, 0, 0));
}

TEST_F(JacobianTest, StopGradients) {
  const Output x = Doubles({1, 2}), square = x * x;
  EXPECT_THAT(Values(JacobianOf(square * x, x, {.stop_gradients = {square}})), ElementsAre(1, 0, 0, 4));
}

// Rows 2 and 0 of a table: the gradient is made of slices.
TEST_F(JacobianTest, ThroughSparseGradients) {
  const Output table = Matrix(3, 1, {1, 2, 3});
  const Output rows = ops::GatherV2(scope_, table, {2, 0}, 0);
  const Output jacobian = JacobianOf(rows * rows, table);
  ASSERT_TRUE(jacobian);
  EXPECT_EQ(jacobian.shape(), Shape({2, 1, 3, 1}));
  EXPECT_THAT(Values(jacobian), ElementsAre(0, 0, 6, 2, 0, 0));
}

TEST_F(JacobianTest, ByTheHandleOfAVariable) {
  const Output handle = ops::VarHandleOp(scope_, DType::kDouble, {2});
  const Output value = ops::ReadVariableOp(scope_, handle, DType::kDouble);
  const Output jacobian = JacobianOf(value * value, handle);
  ASSERT_TRUE(jacobian);
  EXPECT_EQ(jacobian.shape(), Shape({2, 2}));
  Node* assign = ops::AssignVariableOp(scope_, handle, Doubles({3, 5}));
  Session session(&graph_);
  std::vector<Tensor> out;
  ASSERT_TRUE(session.Run({}, {}, {assign}, &out).ok());
  ASSERT_TRUE(session.Run({}, {jacobian}, &out).ok());
  EXPECT_THAT(out[0].flat<double>(), ElementsAre(6, 0, 0, 10));
}

// Nothing is known but that there are two dimensions, or not even that.
TEST_F(JacobianTest, OfUnknownShapes) {
  for (const Shape& shape : {Shape({kUnknownDim, 2}), Shape::UnknownOfRank(2), Shape()}) {
    SCOPED_TRACE(shape.ToString());
    const Output x = ops::Placeholder(scope_, DType::kDouble, {.shape = shape});
    const Output y = ops::Tanh(scope_, ops::MatMul(scope_, x, Matrix(2, 2, {1, 2, 3, 4})));
    const Output jacobian = JacobianOf(y, x);
    ASSERT_TRUE(jacobian);
    const Tensor at = Tensor::Of<double>({1, 2}, {0.1, -0.2});
    const double s0 = 1 - std::pow(std::tanh(-0.5), 2), s1 = 1 - std::pow(std::tanh(-0.6), 2);
    const Tensor value = Value(jacobian, {{x, at}});
    EXPECT_EQ(value.shape(), Shape({1, 2, 1, 2}));
    EXPECT_THAT(value.flat<double>(), Pointwise(DoubleNear(1e-12), {s0, 3 * s0, 2 * s1, 4 * s1}));
  }
}

TEST_F(JacobianTest, OfNothing) {
  const Output x = Matrix(0, 2, {});
  const Output jacobian = JacobianOf(ops::MatMul(scope_, x, Matrix(2, 3, {1, 2, 3, 4, 5, 6})), x);
  EXPECT_EQ(Value(jacobian).shape(), Shape({0, 3, 0, 2}));
}

// TensorFlow's tape.jacobian of z^2 and of Re(z) at 2+3i: 2 conj(z), and 1.
TEST_F(JacobianTest, OfComplexNumbers) {
  using Complex = std::complex<double>;
  const Output z = ops::Const(scope_, Tensor::Vector<Complex>({Complex(2, 3), Complex(1, -1)}));
  const Tensor square = Value(JacobianOf(z * z, z));
  EXPECT_THAT(square.flat<Complex>(), ElementsAre(Complex(4, -6), Complex(0), Complex(0), Complex(2, 2)));
  const Tensor real = Value(JacobianOf(ops::Real(scope_, z, {.Tout = DType::kDouble}), z));
  EXPECT_THAT(real.flat<Complex>(), ElementsAre(Complex(1), Complex(0), Complex(0), Complex(1)));
}

// Of the backward graph that was built for one cotangent and then batched, nothing is left over.
TEST_F(JacobianTest, LeavesNothingBehind) {
  const Output x = ops::Placeholder(scope_, DType::kDouble, {.shape = {3}});
  const Output y = ops::Tanh(scope_, x * x);
  const int before = graph_.num_nodes();
  const Output jacobian = JacobianOf(y, x);
  graph_.ForEachNode([&](Node* node) {
    EXPECT_TRUE(node->op() != "Placeholder" || node == x.node()) << node->ToString();
    EXPECT_TRUE(!node->consumers().empty() || node == y.node() || node == jacobian.node()) << node->ToString();
  });
  EXPECT_LE(graph_.num_nodes() - before, 22);
}

// The gradient of Cumprod is made of Cumsum, whose rule is taken away.
TEST_F(JacobianTest, FallsBackAndSaysWhy) {
  BatchingRegistry& registry = BatchingRegistry::Global();
  const BatchingRule rule = registry.Find("Cumsum");
  registry.Add("Cumsum", nullptr);
  const Output x = Doubles({1, 2});
  JacobianReport report;
  absl::StatusOr<Outputs> jacobians = Jacobian(scope_, ops::Cumprod(scope_, x, 0), {x}, {.report = &report});
  registry.Add("Cumsum", rule);
  ASSERT_TRUE(jacobians.ok()) << jacobians.status();
  EXPECT_FALSE(report.vectorized);
  EXPECT_THAT(report.why_not, HasSubstr("op Cumsum (node 'jacobian/"));
  EXPECT_THAT(report.why_not, HasSubstr("cannot be batched: it has no rule for that"));
  EXPECT_THAT(Values((*jacobians)[0]), ElementsAre(1, 0, 2, 1));
}

TEST_F(JacobianTest, RefusesWhatDoesNotFit) {
  const Output x = Doubles({1, 2});
  const auto refusal = [&](Output y, const Outputs& xs) { return Jacobian(scope_, y, xs).status().ToString(); };
  EXPECT_THAT(refusal(Output(), {x}), HasSubstr("Jacobian: y is none"));
  EXPECT_THAT(refusal(x, {Output()}), HasSubstr("Jacobian: an x is none"));
  EXPECT_THAT(refusal(x, {}), HasSubstr("xs is empty"));
  EXPECT_THAT(refusal(ops::Const(scope_, 1), {x}), HasSubstr("is of type int32, expected a floating"));
  Graph other;
  EXPECT_THAT(refusal(x, {ops::Const(Scope(&other), 1.0)}), HasSubstr("another graph"));
  const Output unknown = ops::Placeholder(scope_, DType::kDouble);
  EXPECT_EQ(Jacobian(scope_, unknown, {unknown}, {.vectorize = false}).status().code(),
            absl::StatusCode::kUnimplemented);
}

// Two examples, y = (x0 x1, x0^2) for each.
TEST_F(JacobianTest, OfABatch) {
  const Output x = Matrix(2, 2, {1, 2, 3, 4});
  const Output x0 = ops::Slice(scope_, x, {0, 0}, {-1, 1}), x1 = ops::Slice(scope_, x, {0, 1}, {-1, 1});
  const Output y = ops::ConcatV2(scope_, {x0 * x1, x0 * x0}, 1);
  for (bool vectorize : {true, false}) {
    absl::StatusOr<Output> jacobian = BatchJacobian(scope_, y, x, {.vectorize = vectorize});
    ASSERT_TRUE(jacobian.ok()) << jacobian.status();
    EXPECT_EQ(jacobian->shape(), Shape({2, 2, 2}));
    EXPECT_THAT(Values(*jacobian), ElementsAre(2, 1, 2, 0, 4, 3, 6, 0));
  }
}

TEST_F(JacobianTest, OfABatchOfUnknownSize) {
  for (const Shape& shape : {Shape({kUnknownDim, 2}), Shape()}) {
    const Output x = ops::Placeholder(scope_, DType::kDouble, {.shape = shape});
    absl::StatusOr<Output> jacobian = BatchJacobian(scope_, x * x, x);
    ASSERT_TRUE(jacobian.ok()) << jacobian.status();
    const Tensor value = Value(*jacobian, {{x, Tensor::Of<double>({3, 2}, {1, 2, 3, 4, 5, 6})}});
    EXPECT_EQ(value.shape(), Shape({3, 2, 2}));
    EXPECT_THAT(value.flat<double>(), ElementsAre(2, 0, 0, 4, 6, 0, 0, 8, 10, 0, 0, 12));
  }
}

TEST_F(JacobianTest, BatchesMustBeOfOneSize) {
  const Output x = Matrix(2, 1, {1, 2}), y = Matrix(1, 2, {1, 2});
  EXPECT_THAT(BatchJacobian(scope_, y, x).status().message(), HasSubstr("are not batches of one size"));
  EXPECT_THAT(BatchJacobian(scope_, ops::Const(scope_, 1.0), x).status().message(), HasSubstr("not batches"));
  const Output constant = Matrix(2, 3, {1, 2, 3, 4, 5, 6});
  absl::StatusOr<Output> none = BatchJacobian(scope_, constant, x);
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_FALSE(*none);
  none = BatchJacobian(scope_, constant, x, {.unconnected = UnconnectedGradients::kZero});
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ(Value(*none).shape(), Shape({2, 3, 1}));
}

// The Hessian of x'Ax is A + A'.
TEST_F(JacobianTest, HessianOfAQuadraticForm) {
  const Output a = Matrix(3, 3, {1, 2, 3, 4, 5, 6, 7, 8, 10}), x = Matrix(3, 1, {1, -1, 2});
  const Output form = ops::MatMul(scope_, x, ops::MatMul(scope_, a, x), {.transpose_a = true});
  const Output hessian = HessianOf(form, x);
  ASSERT_TRUE(hessian);
  EXPECT_EQ(hessian.shape(), Shape({3, 1, 3, 1}));
  EXPECT_THAT(Values(hessian), ElementsAre(2, 6, 10, 6, 10, 14, 10, 14, 20));
}

// f = a^2 b + b^3: blocks 2b, 2a; 2a, 6b.
TEST_F(JacobianTest, BlocksOfAHessian) {
  const Output a = Doubles({2}), b = Doubles({5});
  const Output f = a * a * b + b * b * b;
  absl::StatusOr<std::vector<Outputs>> blocks = HessianBlocks(scope_, {f}, {a, b});
  ASSERT_TRUE(blocks.ok()) << blocks.status();
  EXPECT_THAT(Values((*blocks)[0][0]), ElementsAre(10));
  EXPECT_THAT(Values((*blocks)[0][1]), ElementsAre(4));
  EXPECT_THAT(Values((*blocks)[1][0]), ElementsAre(4));
  EXPECT_THAT(Values((*blocks)[1][1]), ElementsAre(30));
  absl::StatusOr<Outputs> hessians = Hessians(scope_, {f}, {a, b});
  ASSERT_TRUE(hessians.ok()) << hessians.status();
  EXPECT_THAT(Values((*hessians)[0]), ElementsAre(10));
  EXPECT_THAT(Values((*hessians)[1]), ElementsAre(30));
}

TEST_F(JacobianTest, HessianOfALinearFunction) {
  const Output x = Doubles({1, 2});
  EXPECT_FALSE(HessianOf(3 * x, x));
  absl::StatusOr<Outputs> zeros =
      Hessians(scope_, {3 * x}, {x}, {.name = "hessian", .unconnected = UnconnectedGradients::kZero});
  ASSERT_TRUE(zeros.ok()) << zeros.status();
  EXPECT_THAT(Values((*zeros)[0]), ElementsAre(0, 0, 0, 0));
}

// y = sum x^5: the Jacobian of the Hessian has 60 x^2 on its diagonal.
TEST_F(JacobianTest, ThirdDerivativesByJacobianOfHessian) {
  const Output x = Doubles({1, 2});
  const Output third = JacobianOf(HessianOf(ops::Sum(scope_, x * x * x * x * x, 0), x), x);
  ASSERT_TRUE(third);
  EXPECT_EQ(third.shape(), Shape({2, 2, 2}));
  EXPECT_THAT(Values(third), ElementsAre(60, 0, 0, 0, 0, 0, 0, 240));
}

// (sin(x^2))''' = -12 x sin(x^2) - 8 x^3 cos(x^2), by Jacobians of Jacobians.
TEST_F(JacobianTest, ThirdDerivativeOfAComposition) {
  const Output x = Doubles({0.7});
  Output d = ops::Sin(scope_, x * x);
  for (int order = 0; order < 3; ++order) d = JacobianOf(d, x);
  ASSERT_TRUE(d);
  EXPECT_THAT(Values(d)[0], DoubleNear(-12 * 0.7 * std::sin(0.49) - 8 * std::pow(0.7, 3) * std::cos(0.49), 1e-11));
}

}  // namespace
}  // namespace nabla

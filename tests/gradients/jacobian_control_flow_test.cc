// Jacobians through loops and conditionals: at once as one by one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "nabla/gradients/hessian.h"
#include "nabla/gradients/jacobian.h"
#include "nabla/gradients/rule.h"
#include "nabla/graph/control_flow.h"
#include "nabla/ops/cond.h"
#include "nabla/ops/ops.h"
#include "nabla/ops/while.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/session.h"
#include "nabla/tests/gradients/control_flow_cases.h"

namespace nabla {
namespace {

class JacobianControlFlowTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    RegisterAllOps();
    RegisterAllKernels();
    RegisterAllGradients();
  }

  std::vector<double> Values(Output output, const Feeds& feeds) {
    Session session(&graph_);
    std::vector<Tensor> out;
    const absl::Status status = session.Run(feeds, {output}, &out);
    EXPECT_TRUE(status.ok()) << status;
    if (!status.ok()) return {};
    return std::vector<double>(out[0].flat<double>().begin(), out[0].flat<double>().end());
  }

  // Vectorised, unrolled, and that neither leaves the graph's loops in a bad state.
  void ExpectBothWaysAgree(Output y, const Outputs& xs, const Feeds& feeds) {
    ASSERT_TRUE(scope_.ok()) << scope_.status();
    JacobianReport report;
    const absl::StatusOr<Outputs> at_once = Jacobian(scope_, y, xs, {.report = &report});
    ASSERT_TRUE(at_once.ok()) << at_once.status();
    EXPECT_TRUE(report.vectorized) << report.why_not;
    const absl::StatusOr<Outputs> one_by_one = Jacobian(scope_, y, xs, {.vectorize = false});
    ASSERT_TRUE(one_by_one.ok()) << one_by_one.status();
    const ControlFlow flow = AnalyzeControlFlow(graph_);
    EXPECT_TRUE(flow.problems.empty()) << flow.problems[0];
    for (size_t i = 0; i < xs.size(); ++i) {
      const std::vector<double> got = Values((*at_once)[i], feeds);
      EXPECT_THAT(got, ::testing::Pointwise(::testing::DoubleNear(1e-12), Values((*one_by_one)[i], feeds)));
      EXPECT_GT(std::abs(got[0]), 1e-6);
    }
  }

  Output Vector(int64_t n) { return ops::Placeholder(scope_, DType::kDouble, {.shape = {n}}); }
  static Tensor Waves(const Shape& shape) {
    Tensor tensor(DType::kDouble, shape);
    for (int64_t i = 0; i < tensor.num_elements(); ++i) tensor.data<double>()[i] = std::sin(1.0 + i);
    return tensor;
  }

  Graph graph_;
  Scope scope_{&graph_};
};

// h <- tanh(h W + b), by the first h, by W (an invariant, whose gradients add up over the trips) and by b.
TEST_F(JacobianControlFlowTest, RecurrentNetwork) {
  const Output h = ops::Placeholder(scope_, DType::kDouble, {.shape = {2, 3}});
  const Output w = ops::Placeholder(scope_, DType::kDouble, {.shape = {3, 3}}), b = Vector(3);
  const Outputs last = ops::For(scope_, 4, {h}, [&](const Scope& s, Output, const Outputs& v) {
    return Outputs{ops::Tanh(s, ops::BiasAdd(s, ops::MatMul(s, v[0], w), b))};
  });
  ExpectBothWaysAgree(last[0], {h, w, b}, {{h, Waves({2, 3})}, {w, Waves({3, 3})}, {b, Waves({3})}});
}

TEST_F(JacobianControlFlowTest, ShapesThatOnlyTheRunKnows) {
  const Output x = ops::Placeholder(scope_, DType::kDouble, {.shape = {kUnknownDim}});
  const Outputs last = ops::While(
      scope_, {x, ops::Const(scope_, 0)}, [](const Scope& s, const Outputs& v) { return ops::Less(s, v[1], 3); },
      [&](const Scope& s, const Outputs& v) {
        return Outputs{ops::Sin(s, v[0]) * x, v[1] + 1};
      });
  const absl::StatusOr<Outputs> jacobian = Jacobian(scope_, last[0], {x});
  ASSERT_TRUE(jacobian.ok()) << jacobian.status();
  const std::vector<double> got = Values((*jacobian)[0], {{x, Tensor::Vector<double>({0.5, 1.5})}});
  // Element by element f3(x), f = sin(f) x: by differences.
  const auto f = [](double at) {
    double value = at;
    for (int i = 0; i < 3; ++i) value = std::sin(value) * at;
    return value;
  };
  const auto slope = [&](double at) { return (f(at + 1e-5) - f(at - 1e-5)) / 2e-5; };
  EXPECT_THAT(got, ::testing::Pointwise(::testing::DoubleNear(1e-8), {slope(0.5), 0.0, 0.0, slope(1.5)}));
}

TEST_F(JacobianControlFlowTest, LoopInALoop) {
  const Output x = Vector(2), y = Vector(2);
  const Outputs last = ops::For(scope_, 2, {x}, [&](const Scope& s, Output, const Outputs& v) {
    const Outputs inner = ops::For(
        s, 3, {v[0]}, [&](const Scope& t, Output, const Outputs& u) { return Outputs{ops::Sin(t, u[0] * v[0]) + y}; });
    return Outputs{inner[0] * v[0]};
  });
  ExpectBothWaysAgree(last[0], {x, y}, {{x, Waves({2})}, {y, Waves({2})}});
}

TEST_F(JacobianControlFlowTest, BothSidesOfAConditional) {
  const Output x = Vector(3), which = ops::Placeholder(scope_, DType::kBool, {.shape = Shape::Scalar()});
  const Outputs y = ops::Cond(
      scope_, which, [&](const Scope& s) { return Outputs{ops::Sin(s, x) * x}; },
      [&](const Scope& s) {
        return Outputs{ops::Const(s, Tensor::Vector<double>({1, 2, 3})) * ops::Sum(s, x, {0})};
      });
  for (bool side : {true, false}) {
    ExpectBothWaysAgree(y[0], {x}, {{x, Waves({3})}, {which, Tensor::Scalar(side)}});
  }
}

// All of the table's cases, whose results are scalars: the one row of the Jacobian is the gradient.
TEST_F(JacobianControlFlowTest, RowsAreGradients) {
  for (const auto& family : {LoopCases, ConditionalCases, MixedCases}) {
    for (const ControlFlowCase& test : family()) {
      SCOPED_TRACE(test.name);
      Graph graph;
      Scope scope(&graph);
      Outputs xs;
      Feeds feeds;
      for (const std::vector<double>& at : test.at) {
        xs.push_back(ops::Placeholder(scope, DType::kDouble, {.shape = {static_cast<int64_t>(at.size())}}));
        feeds.push_back({xs.back(), Tensor::Vector<double>(at)});
      }
      const Output y = ops::Reshape(scope, test.build(scope, xs, 10), {1});
      const absl::StatusOr<Outputs> jacobian = Jacobian(scope, y, xs, {.unconnected = UnconnectedGradients::kZero});
      ASSERT_TRUE(jacobian.ok()) << jacobian.status();
      GradientOptions options;
      options.unconnected = UnconnectedGradients::kZero;
      const absl::StatusOr<Grads> grads = Gradients(scope, {y}, xs, options);
      ASSERT_TRUE(grads.ok()) << grads.status();
      Session session(&graph);
      for (size_t i = 0; i < xs.size(); ++i) {
        std::vector<Tensor> got, want;
        absl::Status status = session.Run(feeds, {(*jacobian)[i]}, &got);
        ASSERT_TRUE(status.ok()) << status;
        status = session.Run(feeds, {ToDense(scope, (*grads)[i])}, &want);
        ASSERT_TRUE(status.ok()) << status;
        EXPECT_THAT(got[0].flat<double>(), ::testing::Pointwise(::testing::DoubleNear(1e-10), want[0].flat<double>()));
      }
    }
  }
}

}  // namespace
}  // namespace nabla

// Forward mode through loops and conditionals, once and twice, against differences along the tangent.
#include <gtest/gtest.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "nabla/gradients/jvp.h"
#include "nabla/gradients/rule.h"
#include "nabla/graph/control_flow.h"
#include "nabla/ops/ops.h"
#include "nabla/ops/while.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/session.h"
#include "nabla/tests/gradients/control_flow_cases.h"

namespace nabla {
namespace {

std::vector<ControlFlowCase> AllCases() {
  std::vector<ControlFlowCase> all;
  for (const auto& family : {LoopCases, ConditionalCases, MixedCases}) {
    for (ControlFlowCase& one : family()) all.push_back(std::move(one));
  }
  return all;
}

class JvpControlFlowTest : public ::testing::TestWithParam<ControlFlowCase> {
 protected:
  static void SetUpTestSuite() {
    RegisterAllOps();
    RegisterAllKernels();
    RegisterAllGradients();
  }

  // y at x + step t.
  static double At(Session& session, const Outputs& xs, Output y, double step) {
    const ControlFlowCase& test = GetParam();
    Feeds feeds;
    for (size_t i = 0; i < xs.size(); ++i) {
      std::vector<double> moved = test.at[i];
      for (size_t j = 0; j < moved.size(); ++j) moved[j] += step * Tangent(i, j);
      feeds.push_back({xs[i], Tensor::Vector<double>(moved)});
    }
    std::vector<Tensor> out;
    const absl::Status status = session.Run(feeds, {y}, &out);
    EXPECT_TRUE(status.ok()) << status;
    return status.ok() ? out[0].scalar<double>() : NAN;
  }

  // The xs as placeholders, with their tangents.
  static void MakeInputs(const Scope& scope, Outputs* xs, Outputs* tangents) {
    for (size_t i = 0; i < GetParam().at.size(); ++i) {
      const auto n = static_cast<int64_t>(GetParam().at[i].size());
      xs->push_back(ops::Placeholder(scope, DType::kDouble, {.shape = {n}}));
      std::vector<double> tangent;
      for (int64_t j = 0; j < n; ++j) tangent.push_back(Tangent(i, j));
      tangents->push_back(ops::Const(scope, Tensor::Vector<double>(tangent)));
    }
  }

  static double Tangent(size_t i, size_t j) { return std::cos(static_cast<double>(3 * i + j)); }
};

TEST_P(JvpControlFlowTest, MatchesDifferences) {
  const ControlFlowCase& test = GetParam();
  Graph graph;
  Scope scope(&graph);
  Outputs xs, tangents;
  MakeInputs(scope, &xs, &tangents);
  Output y = test.build(scope, xs, 10);
  ASSERT_TRUE(scope.ok()) << scope.status();
  for (int order = 1; order <= 2; ++order) {
    SCOPED_TRACE(order);
    const absl::StatusOr<Outputs> jvp = Jvp(scope, {y}, xs, tangents, {.unconnected = UnconnectedGradients::kZero});
    ASSERT_TRUE(jvp.ok()) << jvp.status();
    EXPECT_TRUE(AnalyzeControlFlow(graph).problems.empty()) << AnalyzeControlFlow(graph).problems[0];
    Session session(&graph);
    constexpr double kStep = 0x1p-12;
    const auto difference = [&](double h) { return At(session, xs, y, h) - At(session, xs, y, -h); };
    const double want = (8 * difference(kStep) - difference(2 * kStep)) / (12 * kStep);
    EXPECT_NEAR(At(session, xs, (*jvp)[0], 0), want, 1e-6 * std::max(1.0, std::abs(want)));
    y = (*jvp)[0];
  }
}

// Forward over reverse: t'H t is the second derivative along t, which forward mode alone gives as well.
TEST_P(JvpControlFlowTest, OfGradients) {
  const ControlFlowCase& test = GetParam();
  Graph graph;
  Scope scope(&graph);
  Outputs xs, tangents;
  MakeInputs(scope, &xs, &tangents);
  const Output y = test.build(scope, xs, 10);
  const JvpOptions zeros = {.unconnected = UnconnectedGradients::kZero};
  const absl::StatusOr<Outputs> once = Jvp(scope, {y}, xs, tangents, zeros);
  ASSERT_TRUE(once.ok()) << once.status();
  const absl::StatusOr<Outputs> twice = Jvp(scope, *once, xs, tangents, zeros);
  ASSERT_TRUE(twice.ok()) << twice.status();
  GradientOptions options;
  options.unconnected = UnconnectedGradients::kZero;
  const absl::StatusOr<Grads> grads = Gradients(scope, {y}, xs, options);
  ASSERT_TRUE(grads.ok()) << grads.status();
  Outputs slopes;
  for (const Gradient& grad : *grads) slopes.push_back(ToDense(scope, grad));
  const absl::StatusOr<Outputs> products = Jvp(scope, slopes, xs, tangents, zeros);
  ASSERT_TRUE(products.ok()) << products.status();
  Session session(&graph);
  const double want = At(session, xs, (*twice)[0], 0);
  double got = 0;
  for (size_t i = 0; i < xs.size(); ++i) {
    got += At(session, xs, ops::Sum(scope, (*products)[i] * tangents[i], {0}), 0);
  }
  EXPECT_NEAR(got, want, 1e-10 * std::max(1.0, std::abs(want)));
}

INSTANTIATE_TEST_SUITE_P(Cases, JvpControlFlowTest, ::testing::ValuesIn(AllCases()),
                         [](const auto& info) { return absl::StrCat(info.param.name, "_", info.index); });

// A loop around which nothing is left: what was built for a variable that turned out not to count is gone.
TEST(JvpLoopTest, LeavesNothingUnused) {
  RegisterAllOps();
  RegisterAllGradients();
  Graph graph;
  Scope scope(&graph);
  const Output x = ops::Placeholder(scope, DType::kDouble, {.shape = Shape::Scalar()});
  const Outputs last = ops::While(
      scope, {x, x}, [](const Scope& s, const Outputs& v) { return ops::Less(s, v[1], 10.0); },
      [](const Scope&, const Outputs& v) {
        return Outputs{v[0] * 2.0, v[1] + 1.0};
      });
  const int before = graph.num_node_ids();
  const absl::StatusOr<Outputs> jvp = Jvp(scope, {last[0]}, {x}, {ops::OnesLike(scope, x)});
  ASSERT_TRUE(jvp.ok()) << jvp.status();
  int merges = 0;
  for (int id = before; id < graph.num_node_ids(); ++id) {
    if (graph.node(id) != nullptr) merges += IsMerge(*graph.node(id));
  }
  EXPECT_EQ(merges, 1);
}

TEST(JvpLoopTest, RefusesTensorsInsideALoop) {
  RegisterAllOps();
  RegisterAllGradients();
  Graph graph;
  Scope scope(&graph);
  const Output x = ops::Placeholder(scope, DType::kDouble, {.shape = Shape::Scalar()});
  Output inside;
  ops::For(scope, 3, {x}, [&](const Scope&, Output, const Outputs& v) {
    inside = v[0] * v[0];
    return Outputs{inside};
  });
  EXPECT_NE(Jvp(scope, {inside}, {x}, {x}).status().message().find("is in a loop"), absl::string_view::npos);
}

}  // namespace
}  // namespace nabla

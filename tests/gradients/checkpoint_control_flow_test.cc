// Gradients with checkpoints against gradients without, which other tests compare with differences.
#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "nabla/gradients/gradients.h"
#include "nabla/gradients/rule.h"
#include "nabla/ops/ops.h"
#include "nabla/ops/scan.h"
#include "nabla/ops/while.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/session.h"
#include "nabla/tests/gradients/control_flow_cases.h"

namespace nabla {
namespace {

using Values = std::vector<std::vector<double>>;

LoopGradientOptions EveryK(int64_t k) { return {.checkpoint = Checkpoint::kEveryK, .every_k = k}; }
LoopGradientOptions Sqrt() { return {.checkpoint = Checkpoint::kSqrt}; }
LoopGradientOptions Budget(int64_t bytes) { return {.checkpoint = Checkpoint::kBudgetBytes, .budget_bytes = bytes}; }

// The gradients of y, and those of their weighted sum: the second with the same checkpoints, over the first.
absl::StatusOr<Values> Derivatives(const ControlFlowCase& c, const LoopGradientOptions& loops, bool second_order) {
  Graph graph;
  Scope scope(&graph);
  Outputs xs;
  Feeds feeds;
  for (size_t i = 0; i < c.at.size(); ++i) {
    const int64_t n = static_cast<int64_t>(c.at[i].size());
    xs.push_back(ops::Placeholder(scope.Named(absl::StrCat("x", i)), DType::kDouble, {.shape = Shape({n})}));
    feeds.emplace_back(xs[i], Tensor::Vector<double>(c.at[i]));
  }
  GradientOptions options;
  options.unconnected = UnconnectedGradients::kZero;
  options.loops = loops;
  Outputs fetches = {c.build(scope, xs, 10)};
  if (!scope.ok()) return scope.status();
  for (int order = 1; order <= (second_order ? 2 : 1); ++order) {
    const absl::StatusOr<Grads> grads = Gradients(scope, {order == 1 ? fetches[0] : fetches.back()}, xs, options);
    if (!grads.ok()) return grads.status();
    ScopeGuard guard(scope);
    Output direction;
    for (size_t i = 0; i < xs.size(); ++i) {
      fetches.push_back(ToDense(scope, (*grads)[i]));
      const Output term = ops::Sum(scope, fetches.back() * (0.7 + 0.3 * static_cast<double>(i)), 0);
      direction = direction ? direction + term : term;
    }
    fetches.push_back(direction);
  }
  if (!scope.ok()) return scope.status();
  std::vector<Tensor> fetched;
  const absl::Status status = Session(&graph).Run(feeds, fetches, &fetched);
  if (!status.ok()) return status;
  Values values;
  for (const Tensor& tensor : fetched) values.emplace_back(tensor.flat<double>().begin(), tensor.flat<double>().end());
  return values;
}

void ExpectSame(const absl::StatusOr<Values>& actual, const Values& expected, absl::string_view what) {
  ASSERT_TRUE(actual.ok()) << what << ": " << actual.status();
  ASSERT_EQ(actual->size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ((*actual)[i].size(), expected[i].size()) << what;
    for (size_t j = 0; j < expected[i].size(); ++j) {
      // Sums over the trips are taken segment by segment.
      EXPECT_NEAR((*actual)[i][j], expected[i][j], 1e-12 * std::max(1.0, std::abs(expected[i][j])))
          << what << ", " << i;
    }
  }
}

std::vector<ControlFlowCase> AllCases() {
  std::vector<ControlFlowCase> all = LoopCases();
  for (ControlFlowCase& c : MixedCases()) {
    c.name = absl::StrCat("mixed_", c.name);
    all.push_back(std::move(c));
  }
  return all;
}

class CheckpointTest : public ::testing::TestWithParam<ControlFlowCase> {
 protected:
  static void SetUpTestSuite() {
    RegisterAllOps();
    RegisterAllKernels();
    RegisterAllGradients();
  }
};

TEST_P(CheckpointTest, FirstOrder) {
  const absl::StatusOr<Values> expected = Derivatives(GetParam(), {}, false);
  ASSERT_TRUE(expected.ok()) << expected.status();
  for (int64_t k : {1, 2, 3, 100}) {
    ExpectSame(Derivatives(GetParam(), EveryK(k), false), *expected, absl::StrCat("every ", k));
  }
  ExpectSame(Derivatives(GetParam(), Sqrt(), false), *expected, "sqrt");
  for (int64_t bytes : {1, 40, 100, 1000, 1000000}) {
    ExpectSame(Derivatives(GetParam(), Budget(bytes), false), *expected, absl::StrCat("budget ", bytes));
  }
}

TEST_P(CheckpointTest, SecondOrder) {
  const absl::StatusOr<Values> expected = Derivatives(GetParam(), {}, true);
  ASSERT_TRUE(expected.ok()) << expected.status();
  ExpectSame(Derivatives(GetParam(), EveryK(2), true), *expected, "every 2");
  ExpectSame(Derivatives(GetParam(), Sqrt(), true), *expected, "sqrt");
  ExpectSame(Derivatives(GetParam(), Budget(60), true), *expected, "budget 60");
}

INSTANTIATE_TEST_SUITE_P(Cases, CheckpointTest, ::testing::ValuesIn(AllCases()),
                         [](const ::testing::TestParamInfo<ControlFlowCase>& info) { return info.param.name; });

}  // namespace
}  // namespace nabla

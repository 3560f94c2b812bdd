// Gradients of loops and conditionals to second order, against numeric differentiation; and the same bits however many
// threads and iterations are under way.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "nabla/gradients/gradients.h"
#include "nabla/gradients/rule.h"
#include "nabla/ops/ops.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/session.h"
#include "nabla/tests/gradients/control_flow_cases.h"

namespace nabla {
namespace {

std::vector<ControlFlowCase> AllCases() {
  std::vector<ControlFlowCase> all;
  const auto add = [&](absl::string_view kind, std::vector<ControlFlowCase> cases) {
    for (ControlFlowCase& c : cases) {
      c.name = absl::StrCat(kind, "_", c.name);
      all.push_back(std::move(c));
    }
  };
  add("loop", LoopCases());
  add("cond", ConditionalCases());
  add("mixed", MixedCases());
  return all;
}

// y and its first two derivatives in one graph.
class Derivatives {
 public:
  Derivatives(const ControlFlowCase& c, int64_t parallel_iterations, int threads)
      : scope_(&graph_), session_(&graph_, Options(threads)) {
    for (size_t i = 0; i < c.at.size(); ++i) {
      const int64_t n = static_cast<int64_t>(c.at[i].size());
      xs_.push_back(ops::Placeholder(scope_.Named(absl::StrCat("x", i)), DType::kDouble, {.shape = Shape({n})}));
    }
    y_ = c.build(scope_, xs_, parallel_iterations);
    status_ = scope_.status();
    if (!status_.ok()) return;
    first_ = Differentiate(y_);
    if (!status_.ok()) return;
    // Second derivatives in one direction, which is no derivative of anything simpler.
    ScopeGuard guard(scope_);
    for (size_t i = 0; i < first_.size(); ++i) {
      std::vector<double> weights;
      for (size_t j = 0; j < c.at[i].size(); ++j) weights.push_back(0.7 + 0.3 * static_cast<double>(i + 2 * j));
      const Output term = ops::Sum(scope_, first_[i] * ops::Const(scope_, Tensor::Vector<double>(weights)), 0);
      direction_ = direction_ ? direction_ + term : term;
    }
    second_ = Differentiate(direction_);
  }

  const absl::Status& status() const { return status_; }
  Output y() const { return y_; }
  Output direction() const { return direction_; }
  const Outputs& first() const { return first_; }
  const Outputs& second() const { return second_; }

  std::vector<std::vector<double>> Run(const Outputs& fetches, const std::vector<std::vector<double>>& at) {
    Feeds feeds;
    for (size_t i = 0; i < xs_.size(); ++i) feeds.emplace_back(xs_[i], Tensor::Vector<double>(at[i]));
    std::vector<Tensor> fetched;
    const absl::Status status = session_.Run(feeds, fetches, &fetched);
    EXPECT_TRUE(status.ok()) << status;
    std::vector<std::vector<double>> values;
    for (const Tensor& tensor : fetched) {
      values.emplace_back(tensor.flat<double>().begin(), tensor.flat<double>().end());
    }
    if (values.empty()) values.assign(fetches.size(), {std::nan("")});
    return values;
  }

 private:
  static SessionOptions Options(int threads) {
    SessionOptions options;
    options.num_threads = threads;
    return options;
  }

  Outputs Differentiate(Output y) {
    GradientOptions options;
    options.unconnected = UnconnectedGradients::kZero;
    absl::StatusOr<Grads> grads = Gradients(scope_, {y}, xs_, options);
    if (!grads.ok()) {
      status_ = grads.status();
      return {};
    }
    Outputs dense;
    for (const Gradient& grad : *grads) dense.push_back(ToDense(scope_, grad));
    status_ = scope_.status();
    return dense;
  }

  Graph graph_;
  Scope scope_;
  Session session_;
  Outputs xs_;
  Output y_, direction_;
  Outputs first_, second_;
  absl::Status status_;
};

class ControlFlowGradTest : public ::testing::TestWithParam<ControlFlowCase> {
 protected:
  static void SetUpTestSuite() {
    RegisterAllOps();
    RegisterAllKernels();
    RegisterAllGradients();
  }

  // The symbolic gradients of `of` against differences of fourth order.
  static void ExpectGradients(Derivatives& d, Output of, const Outputs& symbolic) {
    const std::vector<std::vector<double>>& at = GetParam().at;
    const std::vector<std::vector<double>> actual = d.Run(symbolic, at);
    constexpr double kStep = 2e-4;
    for (size_t i = 0; i < at.size(); ++i) {
      ASSERT_EQ(actual[i].size(), at[i].size());
      for (size_t j = 0; j < at[i].size(); ++j) {
        const auto moved = [&](double by) {
          std::vector<std::vector<double>> x = at;
          x[i][j] += by;
          return d.Run({of}, x)[0][0];
        };
        const double numeric =
            (8 * (moved(kStep) - moved(-kStep)) - (moved(2 * kStep) - moved(-2 * kStep))) / (12 * kStep);
        EXPECT_NEAR(actual[i][j], numeric, 2e-7 * std::max(1.0, std::abs(numeric)))
            << "derivative by x" << i << "[" << j << "]";
      }
    }
  }
};

TEST_P(ControlFlowGradTest, FirstOrder) {
  Derivatives d(GetParam(), 10, 1);
  ASSERT_TRUE(d.status().ok()) << d.status();
  ExpectGradients(d, d.y(), d.first());
}

TEST_P(ControlFlowGradTest, SecondOrder) {
  Derivatives d(GetParam(), 10, 1);
  ASSERT_TRUE(d.status().ok()) << d.status();
  ExpectGradients(d, d.direction(), d.second());
}

TEST_P(ControlFlowGradTest, SameBitsOnAnyNumberOfThreads) {
  std::vector<std::vector<double>> expected;
  for (int64_t parallel_iterations : {1, 32}) {
    for (int threads : {1, 2, 8}) {
      Derivatives d(GetParam(), parallel_iterations, threads);
      ASSERT_TRUE(d.status().ok()) << d.status();
      Outputs all = d.first();
      all.insert(all.end(), d.second().begin(), d.second().end());
      all.push_back(d.y());
      const std::vector<std::vector<double>> values = d.Run(all, GetParam().at);
      if (expected.empty()) expected = values;
      EXPECT_EQ(values, expected) << parallel_iterations << " iterations, " << threads << " threads";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, ControlFlowGradTest, ::testing::ValuesIn(AllCases()),
                         [](const ::testing::TestParamInfo<ControlFlowCase>& info) { return info.param.name; });

}  // namespace
}  // namespace nabla

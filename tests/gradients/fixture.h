// What tests of gradients share: a graph, gradients or the reason that there are none, numbers.
#ifndef NABLA_TESTS_GRADIENTS_FIXTURE_H_
#define NABLA_TESTS_GRADIENTS_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "nabla/gradients/gradients.h"
#include "nabla/gradients/rule.h"
#include "nabla/ops/ops.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/session.h"

namespace nabla {

class GradientsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    RegisterAllOps();
    RegisterAllKernels();
    RegisterAllGradients();
  }

  Grads Differentiate(const Outputs& ys, const Outputs& xs, const GradientOptions& options = {}) {
    EXPECT_TRUE(scope_.ok()) << scope_.status();
    absl::StatusOr<Grads> grads = Gradients(scope_, ys, xs, options);
    EXPECT_TRUE(grads.ok()) << grads.status();
    return grads.ok() ? *grads : Grads(xs.size());
  }

  absl::Status Refusal(const Outputs& ys, const Outputs& xs, const GradientOptions& options = {}) {
    return Gradients(scope_, ys, xs, options).status();
  }

  std::vector<double> Values(Output output, const Feeds& feeds = {}) {
    if (!output) {
      ADD_FAILURE() << "no output";
      return {};
    }
    Session session(&graph_);
    std::vector<Tensor> fetched;
    Output as_double = output.dtype() == DType::kDouble ? output : ops::Cast(scope_, output, DType::kDouble);
    absl::Status status = session.Run(feeds, {as_double}, &fetched);
    EXPECT_TRUE(status.ok()) << status;
    if (!status.ok()) return {};
    return std::vector<double>(fetched[0].flat<double>().begin(), fetched[0].flat<double>().end());
  }

  Output Double(double value) { return ops::Const(scope_, Tensor::Scalar(value)); }
  Output Doubles(const std::vector<double>& values) { return ops::Const(scope_, Tensor::Vector<double>(values)); }

  int CountOps(absl::string_view op) {
    int count = 0;
    graph_.ForEachNode([&](Node* node) { count += node->op() == op; });
    return count;
  }

  Graph graph_;
  Scope scope_{&graph_};
};

}  // namespace nabla

#endif  // NABLA_TESTS_GRADIENTS_FIXTURE_H_

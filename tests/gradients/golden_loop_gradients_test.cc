// Gradients of loops and conditionals that TensorFlow wrote, loaded with nothing but their nodes, against what
// TensorFlow computes.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "nabla/gradients/gradients.h"
#include "nabla/graph/import.h"
#include "nabla/nabla.h"
#include "nabla/runtime/session.h"
#include "nabla/tests/golden/graph_names.h"

namespace nabla {
namespace {

constexpr char kFolder[] = "tests/golden/loop_gradients/";

class GoldenLoopGradientsTest : public ::testing::TestWithParam<std::string> {
 protected:
  static void SetUpTestSuite() { Initialize(); }

  // Differentiates the graph, and compares if that succeeds.
  static absl::Status Compare(const LoopGradientOptions& loops) {
    Graph graph;
    const absl::Status imported = ImportGraphDefFile(absl::StrCat(kFolder, GetParam(), ".pb"), {}, &graph);
    EXPECT_TRUE(imported.ok()) << imported;
    if (!imported.ok()) return absl::OkStatus();
    Scope scope(&graph);
    Outputs xs, fetches = {graph.FindNode("y")->output(0)};
    std::vector<Tensor> expected = {graph.FindNode("expect/y")->GetAttr<Tensor>("value")};
    while (Node* x = graph.FindNode(absl::StrCat("x/", xs.size()))) {
      expected.push_back(graph.FindNode(absl::StrCat("expect/", xs.size()))->GetAttr<Tensor>("value"));
      xs.push_back(x->output(0));
    }
    GradientOptions options;
    options.loops = loops;
    absl::StatusOr<Grads> grads = Gradients(scope, {fetches[0]}, xs, options);
    if (!grads.ok()) return grads.status();
    for (const Gradient& grad : *grads) fetches.push_back(ToDense(scope, grad));
    EXPECT_TRUE(scope.ok()) << scope.status();
    Session session(&graph);
    std::vector<Tensor> actual;
    const absl::Status status = session.Run({}, fetches, &actual);
    EXPECT_TRUE(status.ok()) << status;
    for (size_t i = 0; i < actual.size(); ++i) {
      EXPECT_EQ(actual[i].shape(), expected[i].shape());
      EXPECT_TRUE(fetches[i].shape().Subsumes(actual[i].shape())) << fetches[i].shape();
      for (int64_t j = 0; j < expected[i].num_elements(); ++j) {
        const double want = expected[i].flat<double>()[j];
        EXPECT_NEAR(actual[i].flat<double>()[j], want, 1e-12 * std::max(1.0, std::abs(want))) << i << "[" << j << "]";
      }
    }
    return absl::OkStatus();
  }
};

TEST_P(GoldenLoopGradientsTest, AsInTensorFlow) {
  const absl::Status status = Compare({});
  EXPECT_TRUE(status.ok()) << status;
}

TEST_P(GoldenLoopGradientsTest, WithCheckpoints) {
  // TensorFlow 1 keeps elements in TensorArrays, which are not values that a trip could begin with again.
  const bool has_tensor_arrays =
      absl::StartsWith(GetParam(), "v1_") &&
      (absl::StrContains(GetParam(), "tensor_array") || absl::StrContains(GetParam(), "recurrent") ||
       absl::EndsWith(GetParam(), "mapped") || absl::EndsWith(GetParam(), "folded"));
  for (const LoopGradientOptions& loops :
       {LoopGradientOptions{.checkpoint = Checkpoint::kSqrt},
        LoopGradientOptions{.checkpoint = Checkpoint::kBudgetBytes, .budget_bytes = 100}}) {
    const absl::Status status = Compare(loops);
    EXPECT_EQ(status.ok(), !has_tensor_arrays) << status;
    if (has_tensor_arrays) {
      EXPECT_TRUE(absl::StrContains(status.message(), "cannot be checkpointed: '")) << status;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Graphs, GoldenLoopGradientsTest, ::testing::ValuesIn(GoldenGraphNames("loop_gradients")),
                         [](const ::testing::TestParamInfo<std::string>& info) { return info.param; });

// Where each trip sets another element, the gradient does without the list that the trip found: nothing hides shapes of
// its elements from the graph.
TEST(GoldenLoopGradientsTest, ListsOfResultsAreNotRead) {
  Initialize();
  for (const char* name : {"v2_recurrent", "v2_gated_recurrent", "v2_mapped", "v2_tensor_array_written"}) {
    Graph graph;
    ASSERT_TRUE(ImportGraphDefFile(absl::StrCat(kFolder, name, ".pb"), {}, &graph).ok());
    const auto count = [&] {
      int nodes = 0;
      graph.ForEachNode([&](Node* node) { nodes += node->op() == "PlaceholderWithDefault"; });
      return nodes;
    };
    const int before = count();
    const auto grads =
        Gradients(Scope(&graph), {graph.FindNode("y")->output(0)}, {graph.FindNode("x/0")->output(0)}, {});
    ASSERT_TRUE(grads.ok()) << grads.status();
    EXPECT_EQ(count(), before) << name;
  }
}

// So that an empty folder does not pass for success.
TEST(GoldenLoopGradientsTest, ThereAreGraphs) { EXPECT_GE(GoldenGraphNames("loop_gradients").size(), 40u); }

}  // namespace
}  // namespace nabla

// Gradients of loops and conditionals that TensorFlow wrote, loaded with nothing but their nodes, against what
// TensorFlow computes.
#include <dirent.h>

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

namespace nabla {
namespace {

constexpr char kFolder[] = "tests/golden/loop_gradients/";

std::vector<std::string> GraphNames() {
  std::vector<std::string> names;
  DIR* folder = opendir(kFolder);
  if (folder == nullptr) return names;
  while (const dirent* entry = readdir(folder)) {
    const std::string name = entry->d_name;
    if (absl::EndsWith(name, ".pb")) names.push_back(name.substr(0, name.size() - 3));
  }
  closedir(folder);
  std::sort(names.begin(), names.end());
  return names;
}

class GoldenLoopGradientsTest : public ::testing::TestWithParam<std::string> {};

TEST_P(GoldenLoopGradientsTest, AsInTensorFlow) {
  Initialize();
  Graph graph;
  const absl::Status imported = ImportGraphDefFile(absl::StrCat(kFolder, GetParam(), ".pb"), {}, &graph);
  ASSERT_TRUE(imported.ok()) << imported;
  Scope scope(&graph);
  Outputs xs, fetches = {graph.FindNode("y")->output(0)};
  std::vector<Tensor> expected = {graph.FindNode("expect/y")->GetAttr<Tensor>("value")};
  while (Node* x = graph.FindNode(absl::StrCat("x/", xs.size()))) {
    expected.push_back(graph.FindNode(absl::StrCat("expect/", xs.size()))->GetAttr<Tensor>("value"));
    xs.push_back(x->output(0));
  }
  absl::StatusOr<Grads> grads = Gradients(scope, {fetches[0]}, xs);
  ASSERT_TRUE(grads.ok()) << grads.status();
  for (const Gradient& grad : *grads) fetches.push_back(ToDense(scope, grad));
  ASSERT_TRUE(scope.ok()) << scope.status();
  Session session(&graph);
  std::vector<Tensor> actual;
  const absl::Status status = session.Run({}, fetches, &actual);
  ASSERT_TRUE(status.ok()) << status;
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(actual[i].shape(), expected[i].shape());
    EXPECT_TRUE(fetches[i].shape().Subsumes(actual[i].shape())) << fetches[i].shape();
    for (int64_t j = 0; j < expected[i].num_elements(); ++j) {
      const double want = expected[i].flat<double>()[j];
      EXPECT_NEAR(actual[i].flat<double>()[j], want, 1e-12 * std::max(1.0, std::abs(want))) << i << "[" << j << "]";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Graphs, GoldenLoopGradientsTest, ::testing::ValuesIn(GraphNames()),
                         [](const ::testing::TestParamInfo<std::string>& info) { return info.param; });

// So that an empty folder does not pass for success.
TEST(GoldenLoopGradientsTest, ThereAreGraphs) { EXPECT_GE(GraphNames().size(), 40u); }

}  // namespace
}  // namespace nabla

// Graphs with loops and branches that TensorFlow wrote, run and compared with what TensorFlow computed.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nabla/graph/graph.h"
#include "nabla/graph/import.h"
#include "nabla/ops/lower_functional.h"
#include "nabla/ops/registration.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/session.h"
#include "nabla/tests/golden/graph_names.h"

namespace nabla {
namespace {

constexpr char kFolder[] = "tests/golden/loops/";

void ExpectNear(const Tensor& actual, const Tensor& expected) {
  ASSERT_EQ(actual.dtype(), expected.dtype());
  ASSERT_EQ(actual.shape(), expected.shape());
  if (expected.dtype() != DType::kFloat) {
    EXPECT_TRUE(BitwiseEqual(actual, expected)) << actual.ToString() << " instead of " << expected.ToString();
    return;
  }
  for (int64_t i = 0; i < expected.num_elements(); ++i) {
    const float want = expected.flat<float>()[i];
    EXPECT_NEAR(actual.flat<float>()[i], want, 2e-5 * std::max(1.0f, std::abs(want))) << "at " << i;
  }
}

TEST(GoldenLoopsTest, RunAsInTensorFlow) {
  RegisterAllOps();
  RegisterFunctionalLowering();
  RegisterAllKernels();
  const std::vector<std::string> names = GoldenGraphNames("loops");
  ASSERT_GE(names.size(), 29u);
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    Graph graph;
    const absl::Status imported = ImportGraphDefFile(absl::StrCat(kFolder, name, ".pb"), {}, &graph);
    ASSERT_TRUE(imported.ok()) << imported;
    Outputs fetches;
    std::vector<Tensor> expected;
    while (Node* node = graph.FindNode(absl::StrCat("fetch/", fetches.size()))) {
      expected.push_back(graph.FindNode(absl::StrCat("expect/", fetches.size()))->GetAttr<Tensor>("value"));
      fetches.push_back(node->output(0));
    }
    ASSERT_FALSE(fetches.empty());
    std::vector<Tensor> first;
    for (const int threads : {1, 2, 8}) {
      for (const bool optimise : {true, false}) {
        SessionOptions options;
        options.num_threads = threads;
        if (!optimise) options.disabled_passes = {"all"};
        Session session(&graph, options);
        for (int run = 0; run < 2; ++run) {
          std::vector<Tensor> out;
          const absl::Status status = session.Run({}, fetches, &out);
          ASSERT_TRUE(status.ok()) << status;
          if (first.empty()) {
            for (size_t i = 0; i < out.size(); ++i) {
              SCOPED_TRACE(i);
              ExpectNear(out[i], expected[i]);
              EXPECT_TRUE(fetches[i].shape().Subsumes(out[i].shape())) << fetches[i].shape();
            }
            first = out;
          }
          for (size_t i = 0; i < out.size(); ++i) EXPECT_TRUE(BitwiseEqual(out[i], first[i])) << threads << " threads";
        }
      }
    }
  }
}

}  // namespace
}  // namespace nabla

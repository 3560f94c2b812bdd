// Gradients of graphs with TensorArrays that TensorFlow wrote, against what TensorFlow computed.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "nabla/gradients/gradients.h"
#include "nabla/gradients/rule.h"
#include "nabla/graph/import.h"
#include "nabla/ops/registration.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/session.h"

namespace nabla {
namespace {

// In tests/golden/loops/<graph>.pb: fetch/0 to fetch/<num_ys - 1> are differentiated by xs, and the constants from
// expect/<num_ys> on are the results.
struct GoldenGradients {
  const char* graph;
  int num_ys;
  std::vector<std::string> xs;
};

TEST(TensorArrayGradTest, LikeTensorFlows) {
  RegisterAllOps();
  RegisterAllKernels();
  RegisterAllGradients();
  const std::vector<GoldenGradients> cases = {{"gradients_of_arrays", 5, {"x"}}, {"map_and_fold", 3, {"x", "w"}}};
  for (const GoldenGradients& golden : cases) {
    SCOPED_TRACE(golden.graph);
    Graph graph;
    ASSERT_TRUE(ImportGraphDefFile(absl::StrCat("tests/golden/loops/", golden.graph, ".pb"), {}, &graph).ok());
    Outputs ys, xs;
    for (int i = 0; i < golden.num_ys; ++i) ys.push_back(graph.FindNode(absl::StrCat("fetch/", i))->output(0));
    for (const std::string& x : golden.xs) xs.push_back(graph.FindNode(x)->output(0));
    // Two passes, which must not add to each other's arrays.
    for (int pass = 0; pass < 2; ++pass) {
      const absl::StatusOr<Grads> grads = Gradients(Scope(&graph), ys, xs);
      ASSERT_TRUE(grads.ok()) << grads.status();
      Outputs fetches = ys;
      for (const Gradient& grad : *grads) fetches.push_back(grad.dense());
      Session session(&graph);
      std::vector<Tensor> out;
      const absl::Status status = session.Run({}, fetches, &out);
      ASSERT_TRUE(status.ok()) << status;
      for (size_t k = 0; k < out.size(); ++k) {
        const Tensor& expected = graph.FindNode(absl::StrCat("expect/", k))->GetAttr<Tensor>("value");
        ASSERT_EQ(out[k].shape(), expected.shape());
        for (int64_t i = 0; i < expected.num_elements(); ++i) {
          const float want = expected.flat<float>()[i];
          EXPECT_NEAR(out[k].flat<float>()[i], want, 2e-5 * std::max(1.0f, std::abs(want))) << k << " at " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace nabla

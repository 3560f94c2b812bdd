// Clipping: values worked out by hand.
#include "nabla/gradients/clip.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "nabla/gradients/gradients.h"
#include "nabla/gradients/rule.h"
#include "nabla/ops/ops.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/session.h"

namespace nabla {
namespace {

using Floats = std::vector<float>;

class ClipTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    RegisterAllOps();
    RegisterAllKernels();
    RegisterAllGradients();
  }
  Output Vector(const Floats& values) { return ops::Const(scope_, Tensor::Vector<float>(values)); }
  IndexedSlices Slices(const Floats& values) {
    return {ops::Reshape(scope_, Vector(values), {-1, 2}), ops::Const(scope_, Tensor::Vector<int32_t>({7, 7})),
            ops::Const(scope_, {9, 2})};
  }
  Floats Fetch(const Gradient& gradient) {
    EXPECT_TRUE(scope_.ok()) << scope_.status();
    std::vector<Tensor> values;
    const Output output = gradient.is_dense() ? gradient.dense() : gradient.slices().values;
    const absl::Status status = session_.Run({}, {output}, &values);
    EXPECT_TRUE(status.ok()) << status;
    return status.ok() ? Floats(values[0].flat<float>().begin(), values[0].flat<float>().end()) : Floats();
  }
  void ExpectNear(const Gradient& gradient, const Floats& want) {
    const Floats got = Fetch(gradient);
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-6) << i;
  }

  Graph graph_;
  Scope scope_{&graph_};
  Session session_{&graph_, {1}};
};

TEST_F(ClipTest, ByValue) {
  EXPECT_EQ(Fetch(ClipByValue(scope_, Vector({-3, -0.5, 0.5, 3}), -1, 2)), (Floats{-1, -0.5, 0.5, 2}));
  const Gradient slices = ClipByValue(scope_, Slices({-3, 0, 1, 5}), -1, 2);
  ASSERT_TRUE(slices.is_slices());
  EXPECT_EQ(Fetch(slices), (Floats{-1, 0, 1, 2}));
  EXPECT_TRUE(ClipByValue(scope_, Gradient(), -1, 1).none());
}

TEST_F(ClipTest, ByNorm) {
  ExpectNear(ClipByNorm(scope_, Vector({3, -4}), 1), {0.6f, -0.8f});
  EXPECT_EQ(Fetch(ClipByNorm(scope_, Vector({3, -4}), 5)), (Floats{3, -4}));
  EXPECT_EQ(Fetch(ClipByNorm(scope_, Vector({0, 0}), 1)), (Floats{0, 0}));
  // The norm of rows that occur twice is that of their values.
  const Gradient slices = ClipByNorm(scope_, Slices({1, 1, 1, -1}), 1);
  ASSERT_TRUE(slices.is_slices());
  ExpectNear(slices, {0.5f, 0.5f, 0.5f, -0.5f});
  // One norm per row.
  const Output rows = ops::Reshape(scope_, Vector({3, 4, 0, 0.5f}), {2, 2});
  ExpectNear(ClipByNorm(scope_, rows, 1, {1}), {0.6f, 0.8f, 0, 0.5f});
  EXPECT_TRUE(ClipByNorm(scope_, Gradient(), 1).none());
}

TEST_F(ClipTest, ByNormHasAGradientEverywhere) {
  for (const Floats& at : {Floats{0, 0}, Floats{3, 4}}) {
    const Output x = Vector(at);
    const Output first = Index(ClipByNorm(scope_, x, 1).dense(), 0);
    const absl::StatusOr<Grads> grads = Gradients(scope_, {first}, {x});
    ASSERT_TRUE(grads.ok()) << grads.status();
    // x / |x|: (1 - x0^2 / |x|^2) / |x| and -x0 x1 / |x|^3. At 0 nothing is clipped.
    ExpectNear((*grads)[0], at[0] == 0 ? Floats{1, 0} : Floats{(1 - 9.f / 25) / 5, -12.f / 125});
  }
}

TEST_F(ClipTest, ByGlobalNorm) {
  const Grads grads = {Vector({3}), Gradient(), Slices({0, 4, 12, 0})};
  ExpectNear(GlobalNorm(scope_, grads), {13});
  const ClippedGradients clipped = ClipByGlobalNorm(scope_, grads, 6.5);
  ExpectNear(clipped.global_norm, {13});
  ExpectNear(clipped.gradients[0], {1.5f});
  EXPECT_TRUE(clipped.gradients[1].none());
  ASSERT_TRUE(clipped.gradients[2].is_slices());
  ExpectNear(clipped.gradients[2], {0, 2, 6, 0});
  EXPECT_EQ(Fetch(ClipByGlobalNorm(scope_, grads, 26).gradients[0]), (Floats{3}));
  ExpectNear(ClipByGlobalNorm(scope_, grads, 1, ops::Const(scope_, 2.0)).gradients[0], {1.5f});
  EXPECT_FALSE(GlobalNorm(scope_, {Gradient()}));
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(std::isnan(Fetch(ClipByGlobalNorm(scope_, {Vector({infinity}), Vector({1})}, 1).gradients[1])[0]));
  EXPECT_EQ(Fetch(ClipByGlobalNorm(scope_, {Vector({0, 0})}, 1).gradients[0]), (Floats{0, 0}));
}

}  // namespace
}  // namespace nabla

// The gradient of a matrix that every trip multiplies by.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nabla/ops/while.h"
#include "nabla/tests/gradients/fixture.h"

namespace nabla {
namespace {

using ::testing::ElementsAre;

class LoopProductsTest : public GradientsTest {
 protected:
  // h w^trips, and the gradient of its sum with respect to w, [2, 2].
  Output GradientOfW(const Tensor& h, int trips) {
    const Output w = ops::Const(scope_, Tensor::Of<double>({2, 2}, {1, 1, 0, 1}));
    const Output last = ops::For(scope_, trips, {ops::Const(scope_, h)}, [&](const Scope& s, Output, const Outputs& v) {
      return Outputs{ops::MatMul(s, v[0], w)};
    })[0];
    return Differentiate({last}, {w})[0].dense();
  }
};

// h is (1, 0), (1, 1), (1, 2) at the beginning of the trips; the adjoints at their ends are (3, 1), (2, 1), (1, 1).
TEST_F(LoopProductsTest, FewRowsAreMultipliedAfterTheLoop) {
  const Output gradient = GradientOfW(Tensor::Of<double>({1, 2}, {1, 0}), 3);
  EXPECT_EQ(CountOps("MatMul"), 3);
  EXPECT_EQ(gradient.node()->op(), "MatMul");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(gradient.node()->input(i).node()->op(), "TensorListConcatV2");
  EXPECT_THAT(Values(gradient), ElementsAre(6, 3, 4, 3));
}

TEST_F(LoopProductsTest, NoTripsGiveZeros) {
  EXPECT_THAT(Values(GradientOfW(Tensor::Of<double>({1, 2}, {1, 0}), 0)), ElementsAre(0, 0, 0, 0));
}

// Saved for after the loop, three rows would be larger than the sum.
TEST_F(LoopProductsTest, ManyRowsAreMultipliedInTheLoop) {
  const Output gradient = GradientOfW(Tensor::Of<double>({3, 2}, {1, 0, 0, 0, 1, 0}), 3);
  EXPECT_EQ(gradient.node()->op(), "Exit");
  EXPECT_EQ(CountOps("TensorListConcatV2"), 0);
  EXPECT_THAT(Values(gradient), ElementsAre(12, 6, 8, 6));
}

// A batch of unknown size is taken to be small beside a large matrix only.
TEST_F(LoopProductsTest, RowsOfUnknownNumber) {
  for (const int64_t units : {32, 64}) {
    const Output w = ops::Placeholder(scope_, DType::kFloat, {.shape = {units, units}});
    const Output h = ops::Placeholder(scope_, DType::kFloat, {.shape = {kUnknownDim, units}});
    const Output last = ops::For(
        scope_, 3, {h}, [&](const Scope& s, Output, const Outputs& v) { return Outputs{ops::MatMul(s, v[0], w)}; })[0];
    EXPECT_EQ(Differentiate({last}, {w})[0].dense().node()->op(), units == 32 ? "Exit" : "MatMul");
  }
}

}  // namespace
}  // namespace nabla

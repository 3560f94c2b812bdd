// Products of vectors with Jacobians and Hessians, against numbers worked out by hand.
#include "nabla/gradients/vjp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nabla/gradients/hessian.h"
#include "nabla/tests/gradients/transform_test.h"

namespace nabla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class VjpTest : public TransformTest {};

// y = (x0 x1, x0 + x1): v'J = (v0 x1 + v1, v0 x0 + v1).
TEST_F(VjpTest, WeighsTheRowsOfTheJacobian) {
  const Output a = Doubles({3}), b = Doubles({5});
  absl::StatusOr<Grads> grads = Vjp(scope_, {a * b, a + b}, {a, b}, {Doubles({2}), Doubles({7})});
  ASSERT_TRUE(grads.ok()) << grads.status();
  EXPECT_THAT(Values((*grads)[0].dense()), ElementsAre(17));
  EXPECT_THAT(Values((*grads)[1].dense()), ElementsAre(13));
}

TEST_F(VjpTest, NoCotangentIsZero) {
  const Output x = Doubles({3});
  absl::StatusOr<Grads> grads = Vjp(scope_, {x * x, 10 * x}, {x}, {Doubles({1}), Gradient()});
  ASSERT_TRUE(grads.ok()) << grads.status();
  EXPECT_THAT(Values((*grads)[0].dense()), ElementsAre(6));
  grads = Vjp(scope_, {x * x}, {x}, {Gradient()});
  ASSERT_TRUE(grads.ok()) << grads.status();
  EXPECT_TRUE((*grads)[0].none());
  GradientOptions zeros;
  zeros.unconnected = UnconnectedGradients::kZero;
  grads = Vjp(scope_, {x * x, x}, {x}, {Gradient(), Gradient()}, zeros);
  ASSERT_TRUE(grads.ok()) << grads.status();
  EXPECT_THAT(Values((*grads)[0].dense()), ElementsAre(0));
}

TEST_F(VjpTest, RefusesWhatDoesNotFit) {
  const Output x = Doubles({3});
  EXPECT_THAT(Vjp(scope_, {x, x}, {x}, {Doubles({1})}).status().message(), HasSubstr("1 cotangents for 2 ys"));
  GradientOptions twice;
  twice.grad_ys = {x};
  EXPECT_THAT(Vjp(scope_, {x}, {x}, {x}, twice).status().message(), HasSubstr("grad_ys"));
}

TEST_F(VjpTest, APullbackIsCalledAgainAndAgain) {
  const Output x = Doubles({1, 2});
  const auto f = [](const Scope& scope, const Outputs& xs) -> Outputs { return {ops::Square(scope, xs[0])}; };
  absl::StatusOr<Linearization> square = MakeVjp(scope_, f, {x});
  ASSERT_TRUE(square.ok()) << square.status();
  EXPECT_THAT(Values(square->ys[0]), ElementsAre(1, 4));
  absl::StatusOr<Grads> once = square->pullback({Doubles({1, 1})}), again = square->pullback({Doubles({3, 5})});
  ASSERT_TRUE(once.ok() && again.ok());
  EXPECT_THAT(Values((*once)[0].dense()), ElementsAre(2, 4));
  EXPECT_THAT(Values((*again)[0].dense()), ElementsAre(6, 20));
  EXPECT_EQ(CountOps("Square"), 1);
}

// f(a, b) = a b at b = a^2: the arguments are independent, so df/da is b = 9, not 3 a^2; and what f takes from around
// it is a constant.
TEST_F(VjpTest, ArgumentsAreIndependentOfEachOther) {
  const Output a = Doubles({3}), b = a * a;
  const auto f = [&](const Scope&, const Outputs& xs) -> Outputs { return {xs[0] * xs[1] + a}; };
  absl::StatusOr<ValuesAndGradients> result = ValueAndGradients(scope_, f, {a, b});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(Values(result->values[0]), ElementsAre(30));
  EXPECT_THAT(Values(result->gradients[0].dense()), ElementsAre(9));
  EXPECT_THAT(Values(result->gradients[1].dense()), ElementsAre(3));
}

TEST_F(VjpTest, RefusesFunctionsWithoutResults) {
  const Output x = Doubles({1});
  const auto nothing = [](const Scope&, const Outputs&) -> Outputs { return {}; };
  EXPECT_THAT(ValueAndGradients(scope_, nothing, {x}).status().message(), HasSubstr("gave no outputs"));
  EXPECT_THAT(MakeVjp(scope_, nothing, {Output()}).status().message(), HasSubstr("xs[0] is none"));
  Graph other;
  const Output far = ops::Const(Scope(&other), 1.0);
  EXPECT_THAT(MakeVjp(scope_, nothing, {far}).status().message(), HasSubstr("another graph"));
}

// y = x0^3 x1: H = [[6 x0 x1, 3 x0^2], [3 x0^2, 0]] at (2, 5), so H (1, 10) = (60 + 120, 12).
TEST_F(VjpTest, HessianVectorProductWithoutAHessian) {
  const Output a = Doubles({2}), b = Doubles({5});
  absl::StatusOr<Outputs> product =
      HessianVectorProduct(scope_, {a * a * a * b}, {a, b}, {Doubles({1}), Doubles({10})});
  ASSERT_TRUE(product.ok()) << product.status();
  EXPECT_THAT(Values((*product)[0]), ElementsAre(180));
  EXPECT_THAT(Values((*product)[1]), ElementsAre(12));
  // Only b moves: the second column.
  product = HessianVectorProduct(scope_, {a * a * a * b}, {a, b}, {Output(), Doubles({1})});
  ASSERT_TRUE(product.ok()) << product.status();
  EXPECT_THAT(Values((*product)[0]), ElementsAre(12));
  EXPECT_FALSE((*product)[1]);  // b's slope, a^3, does not depend on b
}

// Rows 1 and 1 of a table, squared: the slope is made of slices, 2 x_1 twice over, so that H = 4 in row 1.
TEST_F(VjpTest, HessianVectorProductThroughSlices) {
  const Output table = ops::Const(scope_, Tensor::Of<double>({2, 2}, {1, 2, 3, 4}));
  const Output rows = ops::GatherV2(scope_, table, {1, 1}, 0);
  const Output v = ops::Const(scope_, Tensor::Of<double>({2, 2}, {1, 1, 1, 10}));
  absl::StatusOr<Outputs> product = HessianVectorProduct(scope_, {rows * rows}, {table}, {v});
  ASSERT_TRUE(product.ok()) << product.status();
  EXPECT_THAT(Values((*product)[0]), ElementsAre(0, 0, 4, 40));
}

TEST_F(VjpTest, HessianVectorProductOfALinearFunction) {
  const Output x = Doubles({1, 2});
  absl::StatusOr<Outputs> product = HessianVectorProduct(scope_, {3 * x}, {x}, {x});
  ASSERT_TRUE(product.ok()) << product.status();
  EXPECT_FALSE((*product)[0]);
  GradientOptions zeros;
  zeros.unconnected = UnconnectedGradients::kZero;
  product = HessianVectorProduct(scope_, {3 * x}, {x}, {x}, zeros);
  ASSERT_TRUE(product.ok()) << product.status();
  EXPECT_THAT(Values((*product)[0]), ElementsAre(0, 0));
  EXPECT_THAT(HessianVectorProduct(scope_, {x}, {x}, {}).status().message(), HasSubstr("0 vectors for 1 xs"));
}

}  // namespace
}  // namespace nabla

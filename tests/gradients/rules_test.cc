// Rules where one is easily wrong and the op cases do not look: complex numbers, shapes that only the run knows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <numeric>

#include "nabla/gradients/gradients.h"
#include "nabla/gradients/rule.h"
#include "nabla/ops/ops.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/session.h"

namespace nabla {
namespace {

using Complex = std::complex<double>;

class RulesTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    RegisterAllOps();
    RegisterAllKernels();
    RegisterAllGradients();
  }

  Output Gradient(Output y, Output x, Output dy = Output()) {
    GradientOptions options;
    if (dy) options.grad_ys = {dy};
    absl::StatusOr<Grads> grads = Gradients(scope_, {y}, {x}, options);
    EXPECT_TRUE(grads.ok()) << grads.status();
    return grads.ok() ? ToDense(scope_, (*grads)[0]) : Output();
  }

  Tensor Value(Output output, const Feeds& feeds = {}) {
    EXPECT_TRUE(scope_.ok()) << scope_.status();
    Session session(&graph_);
    std::vector<Tensor> fetched(1);
    absl::Status status = session.Run(feeds, {output}, &fetched);
    EXPECT_TRUE(status.ok()) << status;
    return fetched[0];
  }

  Graph graph_;
  Scope scope_{&graph_};
};

struct Holomorphic {
  const char* name;
  Output (*build)(const Scope&, Output);
  Complex (*second_derivative)(Complex);
};

// With an incoming 1 the gradient of a holomorphic f is conj(f'(x)); that of this with an incoming w, conj(w f''(x)).
TEST_F(RulesTest, SecondGradientsOfHolomorphicFunctions) {
  const Holomorphic functions[] = {
      {"Exp", [](const Scope& s, Output x) -> Output { return ops::Exp(s, x); }, [](Complex x) { return std::exp(x); }},
      {"Reciprocal", [](const Scope& s, Output x) -> Output { return ops::Reciprocal(s, x); },
       [](Complex x) { return 2.0 / (x * x * x); }},
      {"Rsqrt", [](const Scope& s, Output x) -> Output { return ops::Rsqrt(s, x); },
       [](Complex x) { return 0.75 / (x * x * std::sqrt(x)); }},
      {"Sigmoid", [](const Scope& s, Output x) -> Output { return ops::Sigmoid(s, x); },
       [](Complex x) {
         const Complex y = 1.0 / (1.0 + std::exp(-x));
         return y * (1.0 - y) * (1.0 - 2.0 * y);
       }},
      {"Sqrt", [](const Scope& s, Output x) -> Output { return ops::Sqrt(s, x); },
       [](Complex x) { return -0.25 / (x * std::sqrt(x)); }},
      {"Tanh", [](const Scope& s, Output x) -> Output { return ops::Tanh(s, x); },
       [](Complex x) { return -2.0 * std::tanh(x) * (1.0 - std::tanh(x) * std::tanh(x)); }},
  };
  const Complex at(0.8, -0.6), weight(0.3, 1.7);
  Output x = ops::Const(scope_, Tensor::Scalar(at));
  Output one = ops::Const(scope_, Tensor::Scalar(Complex(1)));
  Output w = ops::Const(scope_, Tensor::Scalar(weight));
  for (const Holomorphic& f : functions) {
    SCOPED_TRACE(f.name);
    Output second = Gradient(Gradient(f.build(scope_, x), x, one), x, w);
    ASSERT_TRUE(second);
    const Complex got = Value(second).scalar<Complex>(), expected = std::conj(weight * f.second_derivative(at));
    EXPECT_NEAR(got.real(), expected.real(), 1e-12);
    EXPECT_NEAR(got.imag(), expected.imag(), 1e-12);
  }
}

// y = Re(x)^2 + 3 Im(x)
TEST_F(RulesTest, PartsOfComplexDoubles) {
  Output x = ops::Const(scope_, Tensor::Scalar(Complex(2, 5)));
  Output real = ops::Real(scope_, x, {.Tout = DType::kDouble}), imag = ops::Imag(scope_, x, {.Tout = DType::kDouble});
  Output dx = Gradient(real * real + 3 * imag, x);
  ASSERT_TRUE(dx);
  EXPECT_EQ(Value(dx).scalar<Complex>(), Complex(4, 3));
}

// The square of complex differences is that of their absolute values.
TEST_F(RulesTest, SquaredDifferenceOfComplexNumbers) {
  Output x = ops::Const(scope_, Tensor::Scalar(Complex(2, 5))), y = ops::Const(scope_, Tensor::Scalar(Complex(1, 3)));
  Output z = ops::SquaredDifference(scope_, x, y);
  EXPECT_EQ(Value(z).scalar<Complex>(), Complex(5));
  Output one = ops::Const(scope_, Tensor::Scalar(Complex(1)));
  Output dx = Gradient(z, x, one), dy = Gradient(z, y, one);
  ASSERT_TRUE(dx && dy);
  EXPECT_EQ(Value(dx).scalar<Complex>(), Complex(2, 4));
  EXPECT_EQ(Value(dy).scalar<Complex>(), Complex(-2, -4));
}

// y[i,j] = x[i,indices[j]]^2, the axis fed: the gradient is 2 x at what was gathered, as often as it was.
TEST_F(RulesTest, GatherAlongAnAxisThatTheRunKnows) {
  Output x = ops::Placeholder(scope_, DType::kDouble);
  Output axis = ops::Placeholder(scope_, DType::kInt32, {.shape = Shape::Scalar()});
  Output rows = ops::GatherV2(scope_, x, Tensor::Vector<int32_t>({2, 0, 2}), axis);
  Output dx = Gradient(rows * rows, x);
  ASSERT_TRUE(dx);
  Tensor at(DType::kDouble, {2, 3});
  std::iota(at.flat<double>().begin(), at.flat<double>().end(), 1.0);
  Tensor value = Value(dx, {{x, at}, {axis, Tensor::Scalar<int32_t>(-1)}});
  EXPECT_EQ(value.shape(), Shape({2, 3}));
  EXPECT_THAT(value.flat<double>(), ::testing::ElementsAre(2, 0, 12, 8, 0, 24));
}

// No rows at all, or no indices: nothing to infer a dimension from.
TEST_F(RulesTest, GatherOfNothingAlongAnInnerAxis) {
  Output x = ops::Placeholder(scope_, DType::kDouble, {.shape = {kUnknownDim, 3}});
  Output columns = ops::GatherV2(scope_, x, Tensor::Vector<int32_t>({2, 0}), 1);
  Output none = ops::GatherV2(scope_, x, Tensor(DType::kInt32, {0}), 1);
  Output dx = Gradient(columns, x), zeros = Gradient(none, x);
  ASSERT_TRUE(dx && zeros);
  EXPECT_EQ(Value(dx, {{x, Tensor(DType::kDouble, {0, 3})}}).shape(), Shape({0, 3}));
  Tensor one_row = Tensor(DType::kDouble, {1, 3});
  std::fill(one_row.flat<double>().begin(), one_row.flat<double>().end(), 1.0);
  EXPECT_THAT(Value(zeros, {{x, one_row}}).flat<double>(), ::testing::ElementsAre(0, 0, 0));
}

// Of x y z with y = 0 the mixed second derivatives are those of the product of the others, and exact.
TEST_F(RulesTest, SecondGradientOfProdAtZeros) {
  for (std::vector<double> x : std::vector<std::vector<double>>{{2, 0, 5}, {0, 3, 0}, {0, 0, 0}, {2, 3, 5}}) {
    Output value = ops::Const(scope_, Tensor::Vector<double>(x));
    Output first = Gradient(ops::Prod(scope_, value, 0), value);
    for (int i = 0; i < 3; ++i) {
      std::vector<double> expected(3);
      for (int k = 0; k < 3; ++k) expected[k] = k == i ? 0 : x[3 - i - k];
      EXPECT_THAT(Value(Gradient(Index(first, i), value)).flat<double>(), ::testing::ElementsAreArray(expected));
    }
  }
}

// Sums into no segments at all, and of elements that belong to none.
TEST_F(RulesTest, UnsortedSegmentSumWithoutSegments) {
  Tensor data = Tensor::Of<double>({3, 2}, {1, 2, 3, 4, 5, 6});
  for (bool known : {false, true}) {
    Output x = ops::Placeholder(scope_, DType::kDouble, {.shape = known ? Shape({3, 2}) : Shape()});
    Output ids = ops::Placeholder(scope_, DType::kInt32, {.shape = known ? Shape({3}) : Shape()});
    Output count = ops::Placeholder(scope_, DType::kInt32, {.shape = {}});
    Output fed = Gradient(ops::UnsortedSegmentSum(scope_, x, ids, count) * 2, x);
    Feeds feeds = {{x, data}, {ids, Tensor::Vector<int32_t>({-1, -1, -2})}, {count, Tensor::Scalar<int32_t>(0)}};
    EXPECT_THAT(Value(fed, feeds).flat<double>(), ::testing::Each(0));
    feeds = {{x, data}, {ids, Tensor::Vector<int32_t>({1, -1, 0})}, {count, Tensor::Scalar<int32_t>(2)}};
    EXPECT_THAT(Value(fed, feeds).flat<double>(), ::testing::ElementsAre(2, 2, 0, 0, 2, 2));
    Output none = Gradient(ops::UnsortedSegmentSum(scope_, x, ids, 0), x);
    feeds = {{x, data}, {ids, Tensor::Vector<int32_t>({-1, -1, -1})}};
    EXPECT_THAT(Value(none, feeds).flat<double>(), ::testing::Each(0));
    EXPECT_EQ(Value(none, feeds).shape(), data.shape());
  }
}

// As gathering from the value does.
TEST_F(RulesTest, ResourceGatherWithBatchDimensions) {
  Tensor table = Tensor::Of<double>({2, 3, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  Output weights = ops::Const(scope_, Tensor::Of<double>({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}));
  Output ids = ops::Const(scope_, Tensor::Of<int32_t>({2, 2}, {2, 0, 1, 1}));
  Output handle = ops::VarHandleOp(scope_, DType::kDouble, {2, 3, 2}, {.shared_name = "t"});
  Output unknown = ops::VarHandleOp(scope_, DType::kDouble, Shape(), {.shared_name = "t"});
  Node* assign = ops::AssignVariableOp(scope_, handle, table);
  Session session(&graph_);
  ASSERT_TRUE(session.Run({}, {}, {assign}, nullptr).ok());
  for (int batch_dims : {1, -1}) {
    for (Output variable : {handle, unknown}) {
      Output rows = ops::ResourceGather(scope_, variable, ids, DType::kDouble, {.batch_dims = batch_dims});
      Output gradient = Gradient(rows * weights, variable);
      std::vector<Tensor> fetched;
      absl::Status status = session.Run({}, {gradient}, &fetched);
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_THAT(fetched[0].flat<double>(), ::testing::ElementsAre(3, 4, 0, 0, 1, 2, 0, 0, 12, 14, 0, 0));
    }
  }
}

// Zeros at the ends are padded, not joined; those in between have to be made.
TEST_F(RulesTest, PartsWithoutGradient) {
  Output x = ops::Const(scope_, Tensor::Of<double>({4, 3}, std::vector<double>(12, 1)));
  auto zeros = [&] {
    int count = 0;
    graph_.ForEachNode([&](Node* node) { count += node->op() == "ZerosLike"; });
    return count;
  };
  Outputs rows = ops::Unpack(scope_, x, 4, {.axis = 0});
  EXPECT_THAT(Value(Gradient(rows[2] * 5, x)).flat<double>(),
              ::testing::ElementsAre(0, 0, 0, 0, 0, 0, 5, 5, 5, 0, 0, 0));
  Outputs columns = ops::Unpack(scope_, x, 3, {.axis = -1});
  EXPECT_THAT(Value(Gradient(columns[2] * 5, x)).flat<double>(),
              ::testing::ElementsAre(0, 0, 5, 0, 0, 5, 0, 0, 5, 0, 0, 5));
  Outputs parts = ops::SplitV(scope_, x, {1, 0, 2}, 1, 3);
  EXPECT_THAT(Value(Gradient(parts[2] * 5, x)).flat<double>(),
              ::testing::ElementsAre(0, 5, 5, 0, 5, 5, 0, 5, 5, 0, 5, 5));
  EXPECT_THAT(Value(Gradient(parts[0] * 5, x)).flat<double>(),
              ::testing::ElementsAre(5, 0, 0, 5, 0, 0, 5, 0, 0, 5, 0, 0));
  EXPECT_EQ(zeros(), 0);
  Outputs pieces = ops::Split(scope_, 0, x, 4);
  EXPECT_THAT(Value(Gradient(ops::AddN(scope_, {pieces[0] * 2, pieces[2] * 3}), x)).flat<double>(),
              ::testing::ElementsAre(2, 2, 2, 0, 0, 0, 3, 3, 3, 0, 0, 0));
  EXPECT_EQ(zeros(), 1);
}

}  // namespace
}  // namespace nabla

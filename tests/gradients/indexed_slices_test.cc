// Where gradients of gathered rows stay sparse, and what they then are: compared with rows that were picked by a matrix
// product, whose gradients are dense.
#include "nabla/gradients/indexed_slices.h"

#include <functional>

#include "nabla/graph/constant_value.h"
#include "nabla/tests/gradients/fixture.h"

namespace nabla {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pointwise;

class IndexedSlicesTest : public GradientsTest {
 protected:
  static constexpr int kRows = 4;

  Output Table() { return ops::Const(scope_, Tensor::Of<double>({kRows, 2}, {0.5, -1, 2, 0.25, -0.75, 1.5, 3, -2})); }
  Output Ids() { return ops::Const(scope_, {2, 0, 2}); }

  // Rows Ids() of y, by Gather or without; of any rank.
  Output Pick(Output y, bool sparse) {
    if (sparse) return ops::GatherV2(scope_, y, Ids(), 0);
    Output one_hot = ops::OneHot(scope_, Ids(), y.shape().dim(0), Double(1), Double(0));
    Output flat = ops::Reshape(scope_, y, {y.shape().dim(0), -1});
    Shape shape = y.shape();
    shape.set_dim(0, 3);
    return ops::Reshape(scope_, ops::MatMul(scope_, one_hot, flat), shape);
  }

  // A different weight for every element.
  Output Weigh(Output y) {
    std::vector<double> weights;
    for (int i = 0; i < y.shape().num_elements(); ++i) weights.push_back(i * i + 1.0);
    return y * ops::Const(scope_, Tensor::Of<double>(y.shape(), weights));
  }

  // The gradient of picked rows of f(x) for each x is sparse for xs[0] and has the right numbers for all.
  void ExpectSparse(const std::function<Output(const Outputs& xs)>& f, const Outputs& xs) {
    const Grads expected = Differentiate({Weigh(Pick(f(xs), false))}, xs);
    const int segment_sums = CountOps("UnsortedSegmentSum");
    const Grads grads = Differentiate({Weigh(Pick(f(xs), true))}, xs);
    EXPECT_TRUE(grads[0].is_slices());
    EXPECT_EQ(CountOps("UnsortedSegmentSum"), segment_sums) << "made dense on the way";
    for (size_t i = 0; i < xs.size(); ++i) {
      ASSERT_FALSE(grads[i].none()) << i;
      EXPECT_THAT(Values(ToDense(scope_, grads[i])), Pointwise(DoubleNear(1e-12), Values(ToDense(scope_, expected[i]))))
          << i;
    }
    if (!grads[0].is_slices()) return;
    const IndexedSlices& slices = grads[0].slices();
    EXPECT_TRUE(CheckSlices(slices, xs[0].shape()).ok());
    EXPECT_EQ(ConstantValueAsShape(slices.dense_shape), xs[0].shape());
  }
};

TEST_F(IndexedSlicesTest, ThroughIdentity) {
  ExpectSparse([&](const Outputs& xs) { return ops::Identity(scope_, xs[0]); }, {Table()});
}

TEST_F(IndexedSlicesTest, ThroughReshapesOfRows) {
  Output cube = ops::Const(scope_, Tensor::Of<double>({2, 2, 2}, {0.5, -1, 2, 0.25, -0.75, 1.5, 3, -2}));
  ExpectSparse([&](const Outputs& xs) { return ops::ExpandDims(scope_, xs[0], 1); }, {Table()});
  ExpectSparse([&](const Outputs& xs) { return ops::Squeeze(scope_, ops::ExpandDims(scope_, xs[0], -1)); }, {Table()});
  ExpectSparse([&](const Outputs& xs) { return ops::Reshape(scope_, xs[0], {4, 1, 2, 1}); }, {Table()});
  ExpectSparse([&](const Outputs& xs) { return ops::Reshape(scope_, xs[0], {-1, 2}); }, {Table()});
  // Rows that become other rows do not stay sparse.
  Output other = ops::Reshape(scope_, cube, {4, 2});
  EXPECT_TRUE(Differentiate({Pick(other, true)}, {cube})[0].is_dense());
}

TEST_F(IndexedSlicesTest, ThroughReshapeOfUnknownRows) {
  Output x = ops::Placeholder(scope_, DType::kDouble, {.shape = {-1, 6}});
  Output y = ops::Reshape(scope_, x, {-1, 2, 3});
  Grads g = Differentiate({ops::GatherV2(scope_, y, Ids(), 0)}, {x});
  ASSERT_TRUE(g[0].is_slices());
  Feeds feeds = {{x, Tensor::Of<double>({3, 6}, std::vector<double>(18, 1))}};
  EXPECT_THAT(Values(g[0].slices().indices, feeds), ElementsAre(2, 0, 2));
  EXPECT_THAT(Values(g[0].slices().dense_shape, feeds), ElementsAre(3, 6));
  EXPECT_EQ(g[0].slices().values.shape(), Shape({3, 6}));
}

TEST_F(IndexedSlicesTest, ThroughCast) {
  Output table = ops::Cast(scope_, Table(), DType::kFloat);
  Grads g = Differentiate({Weigh(Pick(ops::Cast(scope_, table, DType::kDouble), true))}, {table});
  ASSERT_TRUE(g[0].is_slices());
  EXPECT_EQ(g[0].dtype(), DType::kFloat);
  EXPECT_THAT(Values(g[0].slices().values), ElementsAre(1, 2, 5, 10, 17, 26));
}

TEST_F(IndexedSlicesTest, ThroughElementwiseOps) {
  ExpectSparse([](const Outputs& xs) { return -xs[0]; }, {Table()});
  ExpectSparse([&](const Outputs& xs) { return ops::Tanh(scope_, xs[0]); }, {Table()});
  ExpectSparse([&](const Outputs& xs) { return ops::Square(scope_, ops::Sin(scope_, xs[0])); }, {Table()});
}

TEST_F(IndexedSlicesTest, ThroughProductsAndQuotients) {
  ExpectSparse([](const Outputs& xs) { return xs[0] * 3; }, {Table()});
  ExpectSparse([](const Outputs& xs) { return xs[0] * xs[1]; }, {Table(), Double(3)});
  ExpectSparse([](const Outputs& xs) { return xs[1] * xs[0]; }, {Table(), Double(3)});
  ExpectSparse([](const Outputs& xs) { return xs[0] / xs[1]; }, {Table(), Double(3)});
  // By a row, which every row is multiplied with, and by a table of the same shape.
  ExpectSparse([](const Outputs& xs) { return xs[0] * xs[1]; }, {Table(), Doubles({3, 5})});
  ExpectSparse([&](const Outputs& xs) { return xs[0] * xs[1]; },
               {Table(), ops::Const(scope_, Tensor::Of<double>({1, 2}, {3, 5}))});
  ExpectSparse([](const Outputs& xs) { return xs[0] * xs[1]; }, {Table(), Table()});
}

TEST_F(IndexedSlicesTest, ThroughSums) {
  ExpectSparse([](const Outputs& xs) { return xs[0] + xs[1]; }, {Table(), Table()});
  ExpectSparse([](const Outputs& xs) { return xs[0] - xs[1]; }, {Table(), Doubles({1, 2})});
  ExpectSparse([&](const Outputs& xs) { return ops::AddN(scope_, {xs[0], xs[1], xs[0]}); }, {Table(), Table()});
}

TEST_F(IndexedSlicesTest, AColumnIsMadeDense) {
  Output column = ops::Const(scope_, Tensor::Of<double>({kRows, 1}, {1, 2, 3, 4}));
  Outputs xs = {Table(), column};
  Grads g = Differentiate({Weigh(Pick(xs[0] * xs[1], true))}, xs);
  Grads expected = Differentiate({Weigh(Pick(xs[0] * xs[1], false))}, xs);
  EXPECT_EQ(Values(ToDense(scope_, g[0])), Values(expected[0].dense()));
  EXPECT_EQ(Values(ToDense(scope_, g[1])), Values(expected[1].dense()));
}

TEST_F(IndexedSlicesTest, ThroughConcatenationOfRows) {
  Output one = ops::Const(scope_, Tensor::Of<double>({1, 2}, {7, 8}));
  Output two = ops::Const(scope_, Tensor::Of<double>({2, 2}, {1, 2, 3, 4}));
  // Rows 0 and 2 of [one, two, …] are the first row of `one` and the second of `two`; the table gets none.
  Outputs xs = {two, one, Table()};
  ExpectSparse([&](const Outputs& t) { return ops::ConcatV2(scope_, {t[1], t[0], t[2]}, 0); }, xs);
  ExpectSparse([&](const Outputs& t) { return ops::ConcatV2(scope_, {t[1], t[0], t[2]}, -2); }, xs);
  ExpectSparse([&](const Outputs& t) { return ops::Concat(scope_, 0, {t[1], t[0], t[2]}); }, xs);
  Grads g = Differentiate({Pick(ops::ConcatV2(scope_, {one, two, Table()}, 0), true)}, {one, two});
  EXPECT_THAT(Values(g[0].slices().indices), ElementsAre(0));
  EXPECT_THAT(Values(g[1].slices().indices), ElementsAre(1, 1));
}

TEST_F(IndexedSlicesTest, ThroughConcatenationOfColumns) {
  Output column = ops::Const(scope_, Tensor::Of<double>({kRows, 1}, {1, 2, 3, 4}));
  ExpectSparse([&](const Outputs& xs) { return ops::ConcatV2(scope_, {xs[1], xs[0]}, 1); }, {Table(), column});
}

TEST_F(IndexedSlicesTest, ThroughReductionsOfRows) {
  Output cube = ops::Const(scope_, Tensor::Of<double>({2, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
  for (bool keep_dims : {false, true}) {
    for (std::vector<int64_t> axes : std::vector<std::vector<int64_t>>{{1}, {-1}, {2, 1}, {}}) {
      auto ids = [&](Output y, bool sparse) { return Pick(ops::ConcatV2(scope_, {y, y}, 0), sparse); };
      for (bool mean : {false, true}) {
        auto reduce = [&] {
          return mean ? ops::Mean(scope_, cube, axes, {.keep_dims = keep_dims})
                      : ops::Sum(scope_, cube, axes, {.keep_dims = keep_dims});
        };
        Grads g = Differentiate({Weigh(ids(reduce(), true))}, {cube});
        Grads expected = Differentiate({Weigh(ids(reduce(), false))}, {cube});
        ASSERT_TRUE(g[0].is_slices());
        EXPECT_EQ(g[0].slices().values.shape().rank(), 3);
        EXPECT_THAT(Values(ToDense(scope_, g[0])), Pointwise(DoubleNear(1e-12), Values(expected[0].dense())));
      }
    }
  }
  EXPECT_TRUE(Differentiate({ops::GatherV2(scope_, ops::Sum(scope_, cube, 0), {0, 1}, 0)}, {cube})[0].is_dense());
}

TEST_F(IndexedSlicesTest, NestedGathersAreFlattened) {
  Output outer = ops::Const(scope_, {3, 1, 1, 0});
  ExpectSparse([&](const Outputs& xs) { return ops::GatherV2(scope_, xs[0], outer, 0); }, {Table()});
  ExpectSparse([&](const Outputs& xs) { return ops::Gather(scope_, xs[0], outer); }, {Table()});
  Output matrix = ops::Const(scope_, Tensor::Of<int64_t>({4, 2}, {0, 1, 2, 3, 3, 3, 1, 0}));
  ExpectSparse([&](const Outputs& xs) { return ops::GatherV2(scope_, xs[0], matrix, 0); }, {Table()});
  Output table = Table();
  Grads g = Differentiate({Pick(ops::GatherV2(scope_, table, outer, 0), true)}, {table});
  EXPECT_THAT(Values(g[0].slices().indices), ElementsAre(1, 3, 1));
}

TEST_F(IndexedSlicesTest, NestedGathersOfAVariable) {
  Output handle = ops::VarHandleOp(scope_, DType::kDouble, {5, 2}, {.shared_name = "v"});
  Output rows = ops::ResourceGather(scope_, handle, ops::Const(scope_, {4, 3, 2, 1}), DType::kDouble);
  Grads g = Differentiate({Weigh(Pick(rows, true))}, {handle});
  ASSERT_TRUE(g[0].is_slices());
  EXPECT_THAT(Values(g[0].slices().indices), ElementsAre(2, 4, 2));
  EXPECT_THAT(Values(g[0].slices().values), ElementsAre(1, 2, 5, 10, 17, 26));
  EXPECT_THAT(Values(g[0].slices().dense_shape), ElementsAre(5, 2));
}

TEST_F(IndexedSlicesTest, AVariableThatIsReadAndGathered) {
  Output handle = ops::VarHandleOp(scope_, DType::kDouble, {3, 1}, {.shared_name = "v"});
  Output value = ops::ReadVariableOp(scope_, handle, DType::kDouble);
  Output gathered = ops::ResourceGather(scope_, handle, ops::Const(scope_, {1, 1}), DType::kDouble);
  Grads g = Differentiate({gathered, ops::GatherV2(scope_, value, ops::Const(scope_, {2}), 0)}, {handle});
  ASSERT_TRUE(g[0].is_slices());
  EXPECT_THAT(Values(ToDense(scope_, g[0])), ElementsAre(0, 2, 1));
  g = Differentiate({gathered, value * 3}, {handle});
  ASSERT_TRUE(g[0].is_dense());
  EXPECT_THAT(Values(g[0].dense()), ElementsAre(3, 5, 3));
}

TEST_F(IndexedSlicesTest, StopGradientStopsThem) {
  Output table = Table();
  EXPECT_TRUE(Differentiate({Pick(ops::StopGradient(scope_, table), true)}, {table})[0].none());
}

TEST_F(IndexedSlicesTest, MadeDenseOnceForSeveralUses) {
  Output table = Table();
  Output y = ops::MatMul(scope_, table, ops::Const(scope_, Tensor::Of<double>({2, 2}, {1, 0, 0, 1})));
  Output a = ops::GatherV2(scope_, y, ops::Const(scope_, {2, 0}), 0);
  Output b = ops::GatherV2(scope_, y, ops::Const(scope_, {2}), 0);
  Grads g = Differentiate({a * 2, b * 3}, {table});
  ASSERT_TRUE(g[0].is_dense());
  EXPECT_EQ(CountOps("UnsortedSegmentSum"), 1);
  EXPECT_THAT(Values(g[0].dense()), ElementsAre(2, 2, 0, 0, 5, 5, 0, 0));
}

TEST_F(IndexedSlicesTest, AsGradYs) {
  Output table = Table();
  Output y = table * 2;
  IndexedSlices given;
  given.indices = ops::Const(scope_, Tensor::Vector<int64_t>({3, 3}));
  given.values = ops::Const(scope_, Tensor::Of<double>({2, 2}, {1, 10, 100, 1000}));
  given.dense_shape = ops::Const(scope_, {kRows, 2});
  Grads g = Differentiate({y}, {table}, {.grad_ys = {given}});
  ASSERT_TRUE(g[0].is_slices());
  EXPECT_THAT(Values(g[0].slices().indices), ElementsAre(3, 3));
  EXPECT_THAT(Values(g[0].slices().values), ElementsAre(2, 20, 200, 2000));
  EXPECT_THAT(Values(ToDense(scope_, g[0])), ElementsAre(0, 0, 0, 0, 0, 0, 202, 2020));
  // x is y: the slices come back.
  g = Differentiate({y}, {y}, {.grad_ys = {given}});
  ASSERT_TRUE(g[0].is_slices());
  EXPECT_EQ(g[0].slices().indices.node()->name(), "gradients_1/grad_ys_0_indices");
  EXPECT_EQ(g[0].slices().values.node()->name(), "gradients_1/grad_ys_0_values");
  EXPECT_EQ(g[0].slices().dense_shape.node()->name(), "gradients_1/grad_ys_0_shape");
}

TEST_F(IndexedSlicesTest, GradYsThatAreNoRowsAreRefused) {
  Output table = Table();
  IndexedSlices given;
  given.indices = ops::Const(scope_, {3, 3});
  given.values = ops::Const(scope_, Tensor::Of<double>({2, 3}, {1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(Refusal({table}, {table}, {.grad_ys = {given}}).message(),
            "Gradients: the gradient given for 'Const:0': the slices have values of shape [2,3] and indices of shape "
            "[2], which are no rows of a tensor of shape [4,2]");
  given.values = ops::Const(scope_, Tensor::Of<double>({1, 2}, {1, 2}));
  EXPECT_THAT(std::string(Refusal({table}, {table}, {.grad_ys = {given}}).message()), HasSubstr("no rows of a tensor"));
  given.indices = Doubles({1});
  EXPECT_THAT(std::string(Refusal({table}, {table}, {.grad_ys = {given}}).message()),
              HasSubstr("indices have type double, expected int32 or int64"));
}

TEST_F(IndexedSlicesTest, WithoutDenseShapeTheyCannotBeMadeDense) {
  Output table = Table();
  IndexedSlices given;
  given.indices = ops::Const(scope_, {1});
  given.values = ops::Const(scope_, Tensor::Of<double>({1, 2}, {1, 2}));
  EXPECT_TRUE(Differentiate({table}, {table}, {.grad_ys = {given}})[0].is_slices());
  Output y = ops::Reshape(scope_, table, {2, 4});
  given.values = ops::Const(scope_, Tensor::Of<double>({1, 4}, {1, 2, 3, 4}));
  EXPECT_THAT(std::string(Refusal({y}, {table}, {.grad_ys = {given}}).message()),
              HasSubstr("they have no dense_shape"));
}

TEST_F(IndexedSlicesTest, LargeOrUnknownDenseShapesAreWarnedOf) {
  auto warning = [&](Output params) {
    Output rows = ops::GatherV2(scope_, params, ops::Const(scope_, {0}), 0);
    Grads g = Differentiate({rows}, {params});
    ::testing::internal::CaptureStderr();
    ToDense(scope_, g[0]);
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(warning(ops::Placeholder(scope_, DType::kFloat, {.shape = {999999, 100}})), "");
  EXPECT_THAT(warning(ops::Placeholder(scope_, DType::kFloat, {.shape = {1000000, 100}})),
              HasSubstr("dense tensor of 100000000 elements"));
  EXPECT_THAT(warning(ops::Placeholder(scope_, DType::kFloat, {.shape = {-1, 2}})),
              HasSubstr("a shape unknown until the run"));
}

// d/dt of picked rows of t^3 is sparse, and so is the derivative of that.
TEST_F(IndexedSlicesTest, SecondDerivatives) {
  Output table = Table();
  Output y = Pick(table * table * table, true);
  Grads first = Differentiate({y}, {table});
  ASSERT_TRUE(first[0].is_slices());
  Grads second = Differentiate({first[0].slices().values}, {table});
  // 6 t, twice for the row that was picked twice.
  EXPECT_THAT(Values(ToDense(scope_, second[0])), ElementsAre(3, -6, 0, 0, -9, 18, 0, 0));
}

}  // namespace
}  // namespace nabla

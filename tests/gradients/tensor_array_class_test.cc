// ops::TensorArray: values and gradients of each operation, in loops, and what is refused when a graph is built.
#include <cmath>
#include <string>
#include <vector>

#include "nabla/ops/cond.h"
#include "nabla/ops/tensor_array.h"
#include "nabla/ops/while.h"
#include "nabla/tests/gradients/fixture.h"

namespace nabla {
namespace {

using ops::TensorArray;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TensorArrayClassTest : public GradientsTest {
 protected:
  TensorArray Array(const Input& size, Shape element_shape, bool dynamic_size = false) {
    return TensorArray(scope_, size, DType::kDouble,
                       {.element_shape = std::move(element_shape), .dynamic_size = dynamic_size, .name = "a"});
  }
  Output Matrix(std::vector<double> values) {
    return ops::Const(scope_, Tensor::Of<double>({static_cast<int64_t>(values.size()) / 2, 2}, values));
  }
  // The derivative of sum(y * weights).
  std::vector<double> Gradient(Output y, std::vector<double> weights, Output x) {
    const Output flat = ops::Reshape(scope_, y, {-1});
    const Output total = ops::Sum(scope_, flat * Doubles(std::move(weights)), 0);
    const Grads grads = Differentiate({total}, {x});
    return Values(ToDense(scope_, grads[0]));
  }
};

TEST_F(TensorArrayClassTest, WritesLeaveTheOldArrayAsItWas) {
  const TensorArray empty = Array(3, Shape({2}));
  const Output x = Doubles({5, 7});
  const TensorArray one = empty.Write(scope_, 1, x);
  const TensorArray two = one.Write(scope_, 1, x * x).Write(scope_, 0, x);
  EXPECT_THAT(Values(empty.Stack(scope_)), ElementsAre(0, 0, 0, 0, 0, 0));
  EXPECT_THAT(Values(one.Stack(scope_)), ElementsAre(0, 0, 5, 7, 0, 0));
  EXPECT_THAT(Values(two.Stack(scope_)), ElementsAre(5, 7, 25, 49, 0, 0));
  EXPECT_THAT(Values(two.Read(scope_, 1)), ElementsAre(25, 49));
  EXPECT_THAT(Values(two.Size(scope_)), ElementsAre(3));
  EXPECT_EQ(two.Stack(scope_).shape(), Shape({3, 2}));
  EXPECT_EQ(two.Read(scope_, 0).shape(), Shape({2}));
  // 2x of the square, 1 of the other.
  EXPECT_THAT(Gradient(two.Stack(scope_), {1, 2, 3, 4, 5, 6}, x), ElementsAre(1 + 3 * 10, 2 + 4 * 14));
  EXPECT_THAT(Gradient(one.Stack(scope_), {1, 2, 3, 4, 5, 6}, x), ElementsAre(3, 4));
}

TEST_F(TensorArrayClassTest, UnstackGatherAndScatter) {
  const Output x = Matrix({1, 2, 3, 4, 5, 6});
  const TensorArray rows = Array(0, Shape({2})).Unstack(scope_, x);
  EXPECT_EQ(rows.Stack(scope_).shape(), Shape({3, 2}));
  EXPECT_THAT(Values(rows.Gather(scope_, {2, 0})), ElementsAre(5, 6, 1, 2));
  EXPECT_THAT(Gradient(rows.Gather(scope_, {2, 0}), {1, 2, 3, 4}, x), ElementsAre(3, 4, 0, 0, 1, 2));
  const Output y = Matrix({10, 20, 30, 40});
  const TensorArray mixed = rows.Scatter(scope_, {2, 1}, y);
  EXPECT_THAT(Values(mixed.Stack(scope_)), ElementsAre(1, 2, 30, 40, 10, 20));
  EXPECT_THAT(Gradient(mixed.Stack(scope_), {1, 2, 3, 4, 5, 6}, y), ElementsAre(5, 6, 3, 4));
  EXPECT_THAT(Gradient(mixed.Stack(scope_), {1, 2, 3, 4, 5, 6}, x), ElementsAre(1, 2, 0, 0, 0, 0));
}

TEST_F(TensorArrayClassTest, SplitAndConcat) {
  const Output x = Matrix({1, 2, 3, 4, 5, 6});
  const Tensor lengths = Tensor::Vector<int64_t>({2, 0, 1});
  const TensorArray parts = Array(0, Shape({kUnknownDim, 2})).Split(scope_, x, lengths);
  EXPECT_THAT(Values(parts.Size(scope_)), ElementsAre(3));
  EXPECT_THAT(Values(parts.Read(scope_, 0)), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(Values(parts.Read(scope_, 1)), ElementsAre());
  const TensorArray changed = parts.Write(scope_, 2, parts.Read(scope_, 2) * 10.0);
  EXPECT_THAT(Values(changed.Concat(scope_)), ElementsAre(1, 2, 3, 4, 50, 60));
  EXPECT_EQ(changed.Concat(scope_).shape(), Shape({kUnknownDim, 2}));
  EXPECT_THAT(Gradient(changed.Concat(scope_), {1, 2, 3, 4, 5, 6}, x), ElementsAre(1, 2, 3, 4, 50, 60));
}

// y[i] = sum of x[j]^2 over j <= i, so d sum(y) / dx[j] = 2 x[j] (n - j), and the second derivative 2 (n - j).
TEST_F(TensorArrayClassTest, AsALoopVariable) {
  const Output x = Doubles({1, 2, 3, 4});
  const TensorArray given = Array(0, Shape::Scalar()).Unstack(scope_, x);
  const TensorArray sums = Array(4, Shape::Scalar());
  const Outputs last = ops::For(scope_, 4, {sums.handle(), Double(0)}, [&](const Scope& s, Output i, const Outputs& v) {
    const Output element = given.Read(s, i);
    const Output sum = v[1] + element * element;
    return Outputs{sums.At(v[0]).Write(s, i, sum).handle(), sum};
  });
  const Output all = sums.At(last[0]).Stack(scope_);
  EXPECT_EQ(all.shape(), Shape({4}));
  EXPECT_THAT(Values(all), ElementsAre(1, 5, 14, 30));
  const Grads first = Differentiate({ops::Sum(scope_, all, 0)}, {x});
  EXPECT_THAT(Values(first[0].dense()), ElementsAre(8, 12, 12, 8));
  const Grads second = Differentiate({ops::Sum(scope_, first[0].dense(), 0)}, {x});
  EXPECT_THAT(Values(ToDense(scope_, second[0])), ElementsAre(8, 6, 4, 2));
}

TEST_F(TensorArrayClassTest, GrowsIfItMay) {
  const Output n = ops::Placeholder(scope_.Named("n"), DType::kInt32, {.shape = Shape::Scalar()});
  const Output x = Double(3);
  const TensorArray powers = Array(0, Shape::Scalar(), /*dynamic_size=*/true);
  const Outputs last = ops::For(scope_, n, {powers.handle(), x}, [&](const Scope& s, Output i, const Outputs& v) {
    return Outputs{powers.At(v[0]).Write(s, i * 2, v[1]).handle(), v[1] * x};
  });
  const TensorArray after = powers.At(last[0]);
  const Output all = after.Stack(scope_);
  const Grads grads = Differentiate({ops::Sum(scope_, all, 0)}, {x});
  for (const int32_t trips : {0, 1, 3}) {
    const Feeds feeds = {{n, Tensor::Scalar(trips)}};
    std::vector<double> expected;
    double slope = 0;
    for (int i = 0; i < trips; ++i) {
      if (i > 0) expected.push_back(0);
      expected.push_back(std::pow(3, i + 1));
      slope += (i + 1) * std::pow(3, i);
    }
    EXPECT_EQ(Values(all, feeds), expected);
    EXPECT_THAT(Values(ToDense(scope_, grads[0]), feeds), ElementsAre(slope));
  }
}

TEST_F(TensorArrayClassTest, InABranch) {
  const Output p = ops::Placeholder(scope_.Named("p"), DType::kBool, {.shape = Shape::Scalar()});
  const Output x = Double(3);
  const TensorArray array = Array(2, Shape::Scalar()).Write(scope_, 0, x);
  const Output handle = ops::Cond(
      scope_, p, [&](const Scope& s) { return Outputs{array.Write(s, 1, x * x).handle()}; },
      [&](const Scope&) { return Outputs{array.handle()}; })[0];
  const Output all = array.At(handle).Stack(scope_);
  const Grads grads = Differentiate({ops::Sum(scope_, all, 0)}, {x});
  for (const bool taken : {true, false}) {
    const Feeds feeds = {{p, Tensor::Scalar(taken)}};
    EXPECT_THAT(Values(all, feeds), ElementsAre(3, taken ? 9 : 0));
    EXPECT_THAT(Values(ToDense(scope_, grads[0]), feeds), ElementsAre(taken ? 7 : 1));
  }
}

TEST_F(TensorArrayClassTest, IndicesOutsideFailInTheRun) {
  Session session(&graph_);
  std::vector<Tensor> out;
  const TensorArray array = Array(3, Shape::Scalar());
  const absl::Status read = session.Run({}, {array.Read(scope_, 3)}, &out);
  EXPECT_EQ(read.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(read.message()), HasSubstr("(op: TensorListGetItem)"));
  const absl::Status written = session.Run({}, {array.Write(scope_, -1, Double(1)).Stack(scope_)}, &out);
  EXPECT_THAT(std::string(written.message()), HasSubstr("(op: TensorListSetItem)"));
}

// Each with a scope of its own, as the first error stays.
TEST_F(TensorArrayClassTest, ErrorsNameTheArrayAndTheValue) {
  const TensorArray array = Array(3, Shape({2}));
  const Output row = Doubles({1, 2});
  const auto error = [](const Scope& scope) { return std::string(scope.status().message()); };
  {
    Scope scope(&graph_);
    const TensorArray none = array.Write(scope, 0, ops::Const(scope.Named("whole"), {1, 2}));
    EXPECT_EQ(error(scope), "TensorArray 'a': Write of 'whole:0', which is int32[2], expected double[2]");
    EXPECT_FALSE(none.handle());
    EXPECT_FALSE(none.Read(scope, 0));
    EXPECT_FALSE(none.Stack(scope));
    EXPECT_FALSE(none.Write(scope, 0, row).handle());
  }
  {
    Scope scope(&graph_);
    array.Write(scope, 0, ops::Const(scope.Named("long"), Tensor::Vector<double>({1, 2, 3})));
    EXPECT_EQ(error(scope), "TensorArray 'a': Write of 'long:0', which is double[3], expected double[2]");
  }
  {
    Scope scope(&graph_);
    EXPECT_FALSE(array.Unstack(scope, row).handle());
    EXPECT_THAT(error(scope), HasSubstr("'a': Unstack of '"));
    EXPECT_THAT(error(scope), HasSubstr("double[2], expected double[?,2]"));
  }
  {
    Scope scope(&graph_);
    EXPECT_FALSE(array.Scatter(scope, {0}, row).handle());
    EXPECT_THAT(error(scope), HasSubstr("'a': Scatter of '"));
  }
  {
    Scope scope(&graph_);
    EXPECT_FALSE(array.Split(scope, ops::Const(scope, 1.5f), Tensor::Vector<int64_t>({1})).handle());
    EXPECT_THAT(error(scope), HasSubstr("'a': Split of '"));
    EXPECT_THAT(error(scope), HasSubstr("float"));
  }
}

}  // namespace
}  // namespace nabla

// Reductions against sums in double by index computation; accuracy; threads.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "nabla/tests/runtime/kernels/run_op.h"

namespace nabla {
namespace {

Tensor RandomFloats(Shape shape, uint32_t seed, float low = -1, float high = 1) {
  Tensor x(DType::kFloat, std::move(shape));
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(low, high);
  for (float& v : x.flat<float>()) v = uniform(random);
  return x;
}

// Reduces over the axes whose bit is set, keeping dimensions.
std::vector<double> Naive(const Tensor& x, unsigned axes, double start,
                          const std::function<double(double, double)>& combine) {
  int64_t outputs = 1;
  for (int i = 0; i < x.rank(); ++i) outputs *= (axes >> i & 1) != 0 ? 1 : x.dim(i);
  std::vector<double> result(outputs, start);
  for (int64_t flat = 0; flat < x.num_elements(); ++flat) {
    int64_t at = 0, stride = 1, rest = flat;
    for (int i = x.rank() - 1; i >= 0; --i) {
      const int64_t index = rest % x.dim(i);
      rest /= x.dim(i);
      if ((axes >> i & 1) == 0) at += index * stride, stride *= x.dim(i);
    }
    result[at] = combine(result[at], x.data<float>()[flat]);
  }
  return result;
}

Tensor Axes(unsigned bits, int rank) {
  std::vector<int32_t> axes;
  for (int i = 0; i < rank; ++i) {
    if ((bits >> i & 1) != 0) axes.push_back(i % 2 == 0 ? i : i - rank);
  }
  return Tensor::Vector<int32_t>(axes);
}

TEST(ReductionTest, EverySetOfAxes) {
  const Shape shapes[] = {
      {5},          {3, 70},   {70, 3},      {4, 5, 6},    {2, 300, 3},        {3, 2, 2, 5}, {2, 3, 2, 3, 2},
      {1, 9, 1, 4}, {1030, 2}, {2, 1, 2000}, {3000, 5, 1}, {2, 2, 2, 2, 2, 2}, {130, 1500},  {3, 257, 40}};
  uint32_t seed = 1;
  for (const Shape& shape : shapes) {
    const Tensor x = RandomFloats(shape, ++seed);
    for (unsigned axes = 0; axes < 1u << shape.rank(); ++axes) {
      SCOPED_TRACE(testing::Message() << shape << " axes " << axes);
      const Tensor indices = Axes(axes, shape.rank());
      const std::vector<double> sums = Naive(x, axes, 0, [](double a, double b) { return a + b; });
      const std::vector<double> most =
          Naive(x, axes, -std::numeric_limits<double>::infinity(), [](double a, double b) { return std::max(a, b); });
      const Tensor sum = RunOp1("Sum", {x, indices}, Attrs({{"keep_dims", true}}));
      const Tensor max = RunOp1("Max", {x, indices});
      const Tensor mean = RunOp1("Mean", {x, indices});
      ASSERT_EQ(sum.num_elements(), static_cast<int64_t>(sums.size()));
      ASSERT_EQ(sum.rank(), shape.rank());
      ASSERT_EQ(max.num_elements(), static_cast<int64_t>(sums.size()));
      const double count = static_cast<double>(x.num_elements()) / static_cast<double>(sums.size());
      for (size_t i = 0; i < sums.size(); ++i) {
        ASSERT_NEAR(sum.data<float>()[i], sums[i], 2e-6 * std::sqrt(count) + 1e-7 * std::abs(sums[i]));
        ASSERT_NEAR(mean.data<float>()[i], sums[i] / count, 2e-6);
        ASSERT_EQ(max.data<float>()[i], static_cast<float>(most[i]));
      }
    }
  }
}

TEST(ReductionTest, TheSameBitsOnAnyNumberOfThreads) {
  const std::pair<Shape, unsigned> cases[] = {{{3000000}, 1},   {{3, 700001}, 2},    {{400000, 7}, 1},
                                              {{5000, 300}, 1}, {{20, 30, 4001}, 5}, {{2, 100000, 3}, 2},
                                              {{600, 600}, 3},  {{64, 20, 700}, 2}};
  for (const auto& [shape, axes] : cases) {
    const Tensor x = RandomFloats(shape, 5, -3, 5);
    for (const char* op : {"Sum", "Mean", "Prod", "Max", "Min"}) {
      const Tensor indices = Axes(axes, shape.rank());
      const Tensor one = RunOp1(op, {x, indices});
      EXPECT_TRUE(BitwiseEqual(one, RunOp1(op, {x, indices}, {}, {2}))) << op << shape;
      EXPECT_TRUE(BitwiseEqual(one, RunOp1(op, {x, indices}, {}, {8}))) << op << shape;
    }
  }
}

TEST(ReductionTest, LongSumsStayAccurate) {
  Tensor x(DType::kFloat, {10000000});
  for (float& v : x.flat<float>()) v = 0.1f;
  const double exact = 1e7 * static_cast<double>(0.1f);
  EXPECT_NEAR(RunOp1("Sum", {x, Tensor::Vector<int32_t>({0})}).scalar<float>(), exact, exact * 1e-6);
  // Down a column as well.
  const Tensor columns = RunOp1("Sum", {x.Reshaped({1000000, 10}), Tensor::Vector<int32_t>({0})});
  for (float v : columns.flat<float>()) EXPECT_NEAR(v, exact / 10, exact / 10 * 1e-6);
  EXPECT_NEAR(RunOp1("L2Loss", {x}).scalar<float>(), 1e7 * 0.01 / 2, 0.1);
}

TEST(ReductionTest, NanIsFoundWhereverItIs) {
  for (int64_t n : {1, 7, 16, 33, 200, 5000}) {
    for (int64_t at : {int64_t{0}, n / 2, n - 1}) {
      Tensor x = RandomFloats({n}, 2);
      x.data<float>()[at] = std::numeric_limits<float>::quiet_NaN();
      for (const char* op : {"Max", "Min", "Sum"}) {
        EXPECT_TRUE(std::isnan(RunOp1(op, {x, Tensor::Vector<int32_t>({0})}).scalar<float>())) << op << n << " " << at;
        const Tensor column = RunOp1(op, {x.Reshaped({n, 1}), Tensor::Vector<int32_t>({0})});
        EXPECT_TRUE(std::isnan(column.data<float>()[0])) << op << n << " " << at;
      }
    }
  }
}

TEST(ReductionTest, ArgMaxOfColumnsAndRows) {
  const Tensor x = RandomFloats({50, 600}, 9);
  for (int axis : {0, 1}) {
    const Tensor max = RunOp1("Max", {x, Tensor::Vector<int32_t>({axis})});
    for (int threads : {1, 8}) {
      const Tensor at = RunOp1("ArgMax", {x, Tensor::Scalar<int32_t>(axis)}, {}, {threads});
      ASSERT_EQ(at.dtype(), DType::kInt64);
      for (int64_t i = 0; i < at.num_elements(); ++i) {
        const int64_t index = at.data<int64_t>()[i];
        const float v = axis == 0 ? x.data<float>()[index * 600 + i] : x.data<float>()[i * 600 + index];
        ASSERT_EQ(v, max.data<float>()[i]);
      }
    }
  }
}

TEST(ReductionTest, ScansAndSumsOfManyTensors) {
  const Tensor x = RandomFloats({40, 50, 30}, 4);
  const Tensor sums = RunOp1("Cumsum", {x, Tensor::Scalar<int32_t>(1)}, {}, {8});
  for (int64_t o = 0; o < 40; ++o) {
    for (int64_t c = 0; c < 30; ++c) {
      float running = 0;
      for (int64_t i = 0; i < 50; ++i) {
        running += x.data<float>()[(o * 50 + i) * 30 + c];
        ASSERT_EQ(sums.data<float>()[(o * 50 + i) * 30 + c], running);
      }
    }
  }
  const Tensor a = RandomFloats({10000}, 5), b = RandomFloats({10000}, 6), c = RandomFloats({10000}, 7);
  const Tensor sum = RunOp1("AddN", {a, b, c}, Attrs({{"N", 3}}), {8, true});
  for (int64_t i = 0; i < 10000; ++i) {
    ASSERT_EQ(sum.data<float>()[i], a.data<float>()[i] + b.data<float>()[i] + c.data<float>()[i]);
  }
  EXPECT_EQ(RunOp("AddN", {a, Tensor::Scalar(1.0f)}, Attrs({{"N", 2}})).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace nabla

// Elementwise ops: accuracy against the C library in long double, every kind of operand and length, threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "nabla/graph/shape.h"
#include "nabla/tests/runtime/kernels/run_op.h"

namespace nabla {
namespace {

// The distance in units in the last place of the correctly rounded result.
template <typename T>
double Ulps(T got, long double want) {
  const T rounded = static_cast<T>(want);
  if (std::isnan(rounded)) return std::isnan(got) ? 0 : 1e9;
  if (rounded == got) return 0;
  if (std::isinf(rounded) || std::isinf(got) || std::isnan(got)) return 1e9;
  const T magnitude = std::abs(rounded);
  const long double ulp = static_cast<long double>(std::nextafter(magnitude, std::numeric_limits<T>::infinity())) -
                          static_cast<long double>(magnitude);
  return static_cast<double>(std::abs(static_cast<long double>(got) - want) / ulp);
}

// Numbers of every size from denormal to overflowing, both signs, and what is special.
template <typename T>
std::vector<T> Arguments() {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> near(0.6, 1.4), small(-10, 10);
  std::vector<T> x;
  for (double scale :
       {1e-310, 1e-300, 1e-44, 1e-39, 1e-30, 1e-12, 1e-8,  1e-5,  1e-3,  0.01, 0.1,     0.5, 1.0,  2.0,
        5.0,    10.0,   20.0,  50.0,  88.0,  104.0, 300.0, 706.0, 745.0, 1e4,  29999.0, 1e6, 1e30, 1e300}) {
    for (int i = 0; i < 500; ++i) {
      const double v = scale * near(random);
      x.push_back(static_cast<T>(v));
      x.push_back(static_cast<T>(-v));
    }
  }
  for (int i = 0; i < 20000; ++i) x.push_back(static_cast<T>(small(random)));
  const T inf = std::numeric_limits<T>::infinity();
  for (T v : {T(0), T(-0.0), inf, -inf, std::numeric_limits<T>::quiet_NaN(), T(1), T(-1), T(0.5), T(2),
              std::numeric_limits<T>::max(), std::numeric_limits<T>::min(), std::numeric_limits<T>::denorm_min()}) {
    x.push_back(v);
  }
  return x;
}

struct Reference {
  const char* op;
  double max_ulps;
  std::function<long double(long double)> function;
};

template <typename T>
void CheckAccuracy(const Reference& reference) {
  const std::vector<T> x = Arguments<T>();
  const Tensor y = RunOp1(reference.op, {Tensor::Vector<T>(x)});
  ASSERT_EQ(y.num_elements(), static_cast<int64_t>(x.size()));
  double worst = 0;
  size_t at = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double ulps = Ulps(y.data<T>()[i], reference.function(x[i]));
    if (ulps > worst) worst = ulps, at = i;
  }
  EXPECT_LE(worst, reference.max_ulps) << reference.op << "(" << x[at] << ") = " << y.data<T>()[at] << ", not "
                                       << static_cast<double>(reference.function(x[at]));
}

// What stands beside an element in a vector may take another way through the code.
TEST(ElementwiseTest, NeighboursDoNotMatter) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const std::vector<float> far = {kInf, -kInf, std::numeric_limits<float>::quiet_NaN(), 1000, -1000, 95, -95, 1e9f};
  std::vector<float> near, mixed;
  for (int i = 0; i < 4096; ++i) {
    near.push_back(static_cast<float>(i - 2048) * 0.0425f);
    mixed.push_back(near.back());
    if (i % 3 == 0) mixed.push_back(far[i % far.size()]);
  }
  for (const char* op : {"Exp", "Expm1", "Sigmoid", "Tanh", "Erf", "Elu", "Selu", "Softplus", "Log1p", "Sin", "Cos"}) {
    const Tensor alone = RunOp1(op, {Tensor::Vector<float>(near)});
    const Tensor among = RunOp1(op, {Tensor::Vector<float>(mixed)});
    int64_t at = 0;
    for (int i = 0; i < 4096; ++i) {
      uint32_t want, got;
      std::memcpy(&want, alone.data<float>() + i, sizeof(want));
      std::memcpy(&got, among.data<float>() + at, sizeof(got));
      ASSERT_EQ(got, want) << op << "(" << near[i] << ")";
      at += 1 + (i % 3 == 0);
    }
  }
}

TEST(ElementwiseTest, FunctionsAreAccurateForEveryArgument) {
  const Reference references[] = {
      {"Exp", 1.5, [](long double x) { return std::exp(x); }},
      {"Expm1", 5, [](long double x) { return std::expm1(x); }},
      {"Log", 2, [](long double x) { return std::log(x); }},
      {"Log1p", 3, [](long double x) { return std::log1p(x); }},
      {"Sin", 3.5, [](long double x) { return std::sin(x); }},
      {"Cos", 3.5, [](long double x) { return std::cos(x); }},
      {"Tan", 2, [](long double x) { return std::tan(x); }},
      {"Tanh", 4, [](long double x) { return std::tanh(x); }},
      {"Sigmoid", 3, [](long double x) { return 1 / (1 + std::exp(-x)); }},
      {"Elu", 5, [](long double x) { return x < 0 ? std::expm1(x) : x; }},
      {"Softplus", 4,
       [](long double x) { return std::isnan(x) ? x : std::max(x, 0.0L) + std::log1p(std::exp(-std::abs(x))); }},
      {"Erf", 4, [](long double x) { return std::erf(x); }},
      {"Erfc", 6, [](long double x) { return std::erfc(x); }},
      {"Rsqrt", 2, [](long double x) { return 1 / std::sqrt(x); }},
      {"Sqrt", 0.5, [](long double x) { return std::sqrt(x); }},
      {"Reciprocal", 0.5, [](long double x) { return 1 / x; }},
  };
  for (const Reference& reference : references) {
    CheckAccuracy<float>(reference);
    CheckAccuracy<double>(reference);
  }
}

TEST(ElementwiseTest, KeepsTheSignOfZero) {
  for (const char* op : {"Exp", "Expm1", "Log1p", "Sin", "Tan", "Tanh", "Sqrt", "Floor", "Ceil", "Round", "Neg"}) {
    for (int64_t n : {1, 3, 40}) {
      const std::vector<float> zeros(n, -0.0f);
      const Tensor y = RunOp1(op, {Tensor::Vector<float>(zeros)});
      const bool negative = std::string(op) != "Exp" && std::string(op) != "Neg";
      for (float v : y.flat<float>()) EXPECT_EQ(std::signbit(v), negative) << op;
    }
  }
}

TEST(ElementwiseTest, RoundOfIntegersIsThem) {
  const Tensor x = Tensor::Vector<int32_t>({-3, 0, 7, std::numeric_limits<int32_t>::min()});
  EXPECT_TRUE(BitwiseEqual(RunOp1("Round", {x}), x));
}

// An element's bits do not depend on the array's length, its place in it, or the number of threads.
TEST(ElementwiseTest, BitsDependOnTheElementOnly) {
  std::vector<float> x(300000);
  std::mt19937 random(3);
  for (float& v : x) v = std::uniform_real_distribution<float>(-20, 20)(random);
  for (const char* op : {"Exp", "Tanh", "Log1p", "Sigmoid", "Softplus", "Sin", "Erf", "Selu"}) {
    const Tensor whole = RunOp1(op, {Tensor::Vector<float>(x)});
    EXPECT_TRUE(BitwiseEqual(whole, RunOp1(op, {Tensor::Vector<float>(x)}, {}, {8}))) << op;
    for (int n : {1, 2, 5, 15, 16, 17, 33}) {
      const Tensor part = RunOp1(op, {Tensor::Vector<float>(absl::MakeConstSpan(x).subspan(1000, n))});
      EXPECT_EQ(std::memcmp(part.raw_data(), whole.data<float>() + 1000, n * sizeof(float)), 0) << op << " " << n;
    }
  }
}

TEST(ElementwiseTest, BinaryLoopsOfEveryLengthAndKind) {
  for (int n = 0; n < 70; ++n) {
    std::vector<float> a(n), b(n);
    for (int i = 0; i < n; ++i) a[i] = 0.5f * i - 7, b[i] = 3 - 0.25f * i;
    const Tensor vv = RunOp1("Sub", {Tensor::Vector<float>(a), Tensor::Vector<float>(b)});
    const Tensor vs = RunOp1("Sub", {Tensor::Vector<float>(a), Tensor::Scalar(2.5f)});
    const Tensor sv = RunOp1("Sub", {Tensor::Scalar(2.5f), Tensor::Vector<float>(b)});
    ASSERT_EQ(vv.num_elements(), n);
    for (int i = 0; i < n; ++i) {
      EXPECT_EQ(vv.data<float>()[i], a[i] - b[i]);
      EXPECT_EQ(vs.data<float>()[i], a[i] - 2.5f);
      EXPECT_EQ(sv.data<float>()[i], 2.5f - b[i]);
    }
  }
}

// Against an index computation per element.
TEST(ElementwiseTest, BroadcastsLikeNumPy) {
  std::mt19937 random(11);
  for (int trial = 0; trial < 300; ++trial) {
    const int rank = static_cast<int>(random() % 6);
    Shape a = Shape::Scalar(), b = Shape::Scalar(), y = Shape::Scalar();
    const int skip_a = static_cast<int>(random() % (rank + 1)), skip_b = random() % 2 ? 0 : rank - skip_a;
    for (int i = 0; i < rank; ++i) {
      const int64_t size = 1 + random() % 4;
      const int64_t in_a = random() % 3 == 0 ? 1 : size, in_b = random() % 3 == 0 ? 1 : size;
      if (i >= skip_a) a.AddDim(in_a);
      if (i >= skip_b) b.AddDim(in_b);
      y.AddDim(std::max(i >= skip_a ? in_a : 1, i >= skip_b ? in_b : 1));
    }
    Shape trimmed = Shape::Scalar();
    for (int i = std::min(skip_a, skip_b); i < rank; ++i) trimmed.AddDim(y.dim(i));
    Tensor ta(DType::kInt32, a), tb(DType::kInt32, b);
    for (int64_t i = 0; i < ta.num_elements(); ++i) ta.data<int32_t>()[i] = static_cast<int32_t>(i);
    for (int64_t i = 0; i < tb.num_elements(); ++i) tb.data<int32_t>()[i] = static_cast<int32_t>(1000 * i);
    const Tensor sum = RunOp1("AddV2", {ta, tb}, {}, {1, trial % 2 == 0});
    ASSERT_EQ(sum.shape(), trimmed) << a << b;
    const auto element = [&](const Tensor& t, int64_t flat) {
      int64_t at = 0, stride = 1;
      for (int i = 1; i <= trimmed.rank(); ++i) {
        const int64_t index = flat % trimmed.DimFromEnd(i);
        flat /= trimmed.DimFromEnd(i);
        if (i <= t.rank()) {
          if (t.shape().DimFromEnd(i) != 1) at += index * stride;
          stride *= t.shape().DimFromEnd(i);
        }
      }
      return t.data<int32_t>()[at];
    };
    for (int64_t i = 0; i < sum.num_elements(); ++i) {
      ASSERT_EQ(sum.data<int32_t>()[i], element(ta, i) + element(tb, i)) << a << b << " at " << i;
    }
  }
}

TEST(ElementwiseTest, LargeBroadcastsAreTheSameOnAnyNumberOfThreads) {
  Tensor a(DType::kFloat, {300, 1, 37}), b(DType::kFloat, {41, 1});
  for (int64_t i = 0; i < a.num_elements(); ++i) a.data<float>()[i] = static_cast<float>(i % 97) - 40;
  for (int64_t i = 0; i < b.num_elements(); ++i) b.data<float>()[i] = static_cast<float>(i);
  const Tensor one = RunOp1("Mul", {a, b});
  EXPECT_EQ(one.shape(), Shape({300, 41, 37}));
  EXPECT_TRUE(BitwiseEqual(one, RunOp1("Mul", {a, b}, {}, {2})));
  EXPECT_TRUE(BitwiseEqual(one, RunOp1("Mul", {a, b}, {}, {8})));
  const Tensor condition = RunOp1("Greater", {a, b});
  const AttrMap attrs = Attrs({{"T", DType::kFloat}});
  const Tensor chosen = RunOp1("SelectV2", {condition, a, b}, attrs);
  EXPECT_TRUE(BitwiseEqual(chosen, RunOp1("SelectV2", {condition, a, b}, attrs, {8})));
  EXPECT_TRUE(BitwiseEqual(chosen, RunOp1("Maximum", {a, b}, {}, {8})));
}

// Results that no cache holds are written another way.
TEST(ElementwiseTest, ResultsOfManyMegabytes) {
  const int64_t columns = 1003;
  Tensor x(DType::kFloat, {7001, columns}), row(DType::kFloat, {columns});
  for (int64_t i = 0; i < x.num_elements(); ++i) x.data<float>()[i] = static_cast<float>(i % 5003);
  for (int64_t i = 0; i < columns; ++i) row.data<float>()[i] = 0.25f * static_cast<float>(i);
  for (int threads : {1, 3}) {
    const Tensor negative = RunOp1("Neg", {x}, {}, {threads});
    const Tensor sum = RunOp1("AddV2", {x, row}, {}, {threads});
    const Tensor difference = RunOp1("Sub", {x, sum}, {}, {threads});
    const Tensor doubled = RunOp1("Mul", {Tensor::Scalar(2.0f), x}, {}, {threads, true});
    const float *px = x.data<float>(), *pr = row.data<float>(), *pn = negative.data<float>(), *ps = sum.data<float>();
    const float *pd = difference.data<float>(), *p2 = doubled.data<float>();
    int64_t wrong = 0;
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      const float v = px[i], r = pr[i % columns];
      wrong += pn[i] != -v || ps[i] != v + r || pd[i] != v - (v + r) || p2[i] != 2 * v;
    }
    EXPECT_EQ(wrong, 0) << threads << " threads";
  }
}

TEST(ElementwiseTest, ErrorsSayWhatIsWrong) {
  const Tensor zero = Tensor::Vector<int32_t>({1, 0});
  EXPECT_THAT(RunOp("FloorDiv", {zero, zero}).status().message(), testing::HasSubstr("division by zero"));
  // Nothing is divided, so nothing is wrong.
  EXPECT_TRUE(RunOp("FloorDiv", {Tensor(DType::kInt32, {0, 2}), zero}).ok());
  EXPECT_THAT(RunOp("Pow", {zero, Tensor::Scalar<int32_t>(-1)}).status().message(),
              testing::HasSubstr("negative integer powers"));
}

}  // namespace
}  // namespace nabla

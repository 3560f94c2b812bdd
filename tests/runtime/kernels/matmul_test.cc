// Matrix products against a triple loop in double; threads.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "nabla/runtime/dtype_switch.h"
#include "nabla/tests/runtime/kernels/run_op.h"

namespace nabla {
namespace {

template <typename T>
Tensor RandomMatrix(int64_t rows, int64_t columns, uint32_t seed) {
  Tensor x(kDTypeOf<T>, {rows, columns});
  std::mt19937 random(seed);
  // Eighths: exact in every type.
  for (T& v : x.flat<T>()) {
    const float eighth = static_cast<float>(static_cast<int>(random() % 33) - 16) / 8;
    v = static_cast<T>(std::is_integral_v<T> ? eighth * 8 : eighth);
  }
  return x;
}

template <typename T>
double At(const Tensor& x, int64_t i, int64_t j, bool transpose) {
  return static_cast<double>(static_cast<ComputeType<T>>(x.data<T>()[transpose ? j * x.dim(1) + i : i * x.dim(1) + j]));
}

template <typename T>
void Check(int64_t m, int64_t n, int64_t k, bool ta, bool tb, double tolerance, int threads) {
  const Tensor a = RandomMatrix<T>(ta ? k : m, ta ? m : k, 1);
  const Tensor b = RandomMatrix<T>(tb ? n : k, tb ? k : n, 2);
  const Tensor c = RunOp1("MatMul", {a, b}, Attrs({{"transpose_a", ta}, {"transpose_b", tb}}), {threads});
  ASSERT_EQ(c.shape(), Shape({m, n}));
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double want = 0;
      for (int64_t q = 0; q < k; ++q) want += At<T>(a, i, q, ta) * At<T>(b, q, j, tb);
      ASSERT_NEAR(At<T>(c, i, j, false), want, tolerance * std::max(1.0, std::abs(want)))
          << DTypeName(kDTypeOf<T>) << " " << m << "x" << k << "x" << n << (ta ? " ta" : "") << (tb ? " tb" : "")
          << " at " << i << "," << j;
    }
  }
}

TEST(MatMulTest, EverySizeAndTranspose) {
  const int64_t sizes[][3] = {{1, 1, 1},     {1, 10, 20},  {10, 1, 20},    {3, 5, 7},     {12, 16, 256},
                              {13, 17, 257}, {64, 64, 64}, {150, 40, 300}, {30, 1100, 9}, {200, 130, 600}};
  for (const auto& [m, n, k] : sizes) {
    for (bool ta : {false, true}) {
      for (bool tb : {false, true}) {
        Check<float>(m, n, k, ta, tb, 1e-5, 1);
        Check<double>(m, n, k, ta, tb, 1e-13, 2);
        if (m * n * k < 100000) {
          Check<int32_t>(m, n, k, ta, tb, 0, 1);
          Check<int64_t>(m, n, k, ta, tb, 0, 2);
          Check<Half>(m, n, k, ta, tb, 1e-3, 1);
          Check<BFloat16>(m, n, k, ta, tb, 8e-3, 2);
        }
      }
    }
  }
}

TEST(MatMulTest, TheSameBitsOnAnyNumberOfThreads) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> uniform(-1, 1);
  const int64_t sizes[][3] = {{1024, 512, 700}, {128, 256, 784}, {784, 256, 128},  {500, 33, 2000},
                              {40, 3000, 300},  {1, 5000, 1000}, {377, 503, 1010}, {700, 700, 700}};
  for (const auto& [m, n, k] : sizes) {
    Tensor a(DType::kFloat, {m, k}), b(DType::kFloat, {k, n});
    for (float& v : a.flat<float>()) v = uniform(random);
    for (float& v : b.flat<float>()) v = uniform(random);
    const Tensor one = RunOp1("MatMul", {a, b});
    EXPECT_TRUE(BitwiseEqual(one, RunOp1("MatMul", {a, b}, {}, {2}))) << m << " " << n << " " << k;
    EXPECT_TRUE(BitwiseEqual(one, RunOp1("MatMul", {a, b}, {}, {8}))) << m << " " << n << " " << k;
    const Tensor da = RunOp1("Cast", {a}, Attrs({{"SrcT", DType::kFloat}, {"DstT", DType::kDouble}}));
    const Tensor db = RunOp1("Cast", {b}, Attrs({{"SrcT", DType::kFloat}, {"DstT", DType::kDouble}}));
    EXPECT_TRUE(BitwiseEqual(RunOp1("MatMul", {da, db}), RunOp1("MatMul", {da, db}, {}, {8})));
  }
}

TEST(MatMulTest, BatchesAreTheSameOnAnyNumberOfThreads) {
  std::mt19937 random(4);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (const Shape& shape : {Shape({2, 200, 300}), Shape({64, 20, 30})}) {
    Tensor x(DType::kFloat, shape);
    for (float& v : x.flat<float>()) v = uniform(random);
    const AttrMap attrs = Attrs({{"adj_y", true}});
    const Tensor one = RunOp1("BatchMatMulV2", {x, x}, attrs);
    EXPECT_EQ(one.shape(), Shape({shape.dim(0), shape.dim(1), shape.dim(1)}));
    EXPECT_TRUE(BitwiseEqual(one, RunOp1("BatchMatMulV2", {x, x}, attrs, {2})));
    EXPECT_TRUE(BitwiseEqual(one, RunOp1("BatchMatMulV2", {x, x}, attrs, {8})));
  }
}

TEST(MatMulTest, RefusesWhatDoesNotFit) {
  const auto code = [](const Shape& a, const Shape& b) {
    return RunOp("MatMul", {Tensor::Zeros(DType::kFloat, a), Tensor::Zeros(DType::kFloat, b)}).status().code();
  };
  EXPECT_EQ(code({2, 3}, {2, 3}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({2}, {2, 3}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({2, 0}, {0, 3}), absl::StatusCode::kOk);
  // The product would not fit any memory, though its factors are empty.
  EXPECT_FALSE(RunOp("MatMul", {Tensor::Zeros(DType::kFloat, {int64_t{1} << 40, 0}),
                                Tensor::Zeros(DType::kFloat, {0, int64_t{1} << 40})})
                   .ok());
}

}  // namespace
}  // namespace nabla

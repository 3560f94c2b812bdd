// Softmax and the cross-entropies against double; bias; threads.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "nabla/tests/runtime/kernels/run_op.h"

namespace nabla {
namespace {

Tensor RandomLogits(int64_t rows, int64_t classes) {
  Tensor x(DType::kFloat, {rows, classes});
  std::mt19937 random(8);
  std::uniform_real_distribution<float> uniform(-30, 30);
  for (float& v : x.flat<float>()) v = uniform(random);
  return x;
}

std::vector<double> LogSoftmax(const float* x, int64_t n) {
  double most = -std::numeric_limits<double>::infinity(), sum = 0;
  for (int64_t i = 0; i < n; ++i) most = std::max<double>(most, x[i]);
  for (int64_t i = 0; i < n; ++i) sum += std::exp(x[i] - most);
  std::vector<double> y(n);
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] - most - std::log(sum);
  return y;
}

TEST(NnTest, SoftmaxOfEveryWidth) {
  for (int64_t classes : {1, 2, 7, 10, 15, 16, 17, 31, 32, 33, 100, 1000, 5000}) {
    const Tensor x = RandomLogits(5, classes);
    Tensor labels(DType::kInt64, {5});
    Tensor dense = Tensor::Zeros(DType::kFloat, {5, classes});
    for (int64_t r = 0; r < 5; ++r) {
      labels.data<int64_t>()[r] = (r * 7919) % classes;
      dense.data<float>()[r * classes + labels.data<int64_t>()[r]] = 1;
    }
    const Tensor soft = RunOp1("Softmax", {x});
    const Tensor log_soft = RunOp1("LogSoftmax", {x}, {}, {1, true});
    const auto sparse = RunOp("SparseSoftmaxCrossEntropyWithLogits", {x, labels}, Attrs({{"Tlabels", DType::kInt64}}));
    const auto full = RunOp("SoftmaxCrossEntropyWithLogits", {x, dense});
    ASSERT_TRUE(sparse.ok() && full.ok());
    for (int64_t r = 0; r < 5; ++r) {
      const std::vector<double> want = LogSoftmax(x.data<float>() + r * classes, classes);
      const int64_t label = labels.data<int64_t>()[r];
      EXPECT_NEAR((*sparse)[0].data<float>()[r], -want[label], 1e-5 * (1 - want[label])) << classes;
      EXPECT_NEAR((*full)[0].data<float>()[r], -want[label], 1e-5 * (1 - want[label])) << classes;
      for (int64_t i = 0; i < classes; ++i) {
        const int64_t at = r * classes + i;
        const double p = std::exp(want[i]);
        // x - max is rounded before it is an exponent.
        ASSERT_NEAR(soft.data<float>()[at], p, 1e-6 * (1 - want[i]) * p + 1e-37) << classes;
        ASSERT_NEAR(log_soft.data<float>()[at], want[i], 1e-6 * (1 - want[i])) << classes;
        ASSERT_NEAR((*sparse)[1].data<float>()[at], p - (i == label), 1e-6) << classes;
        ASSERT_NEAR((*full)[1].data<float>()[at], p - (i == label), 1e-6) << classes;
      }
    }
  }
}

TEST(NnTest, TheSameBitsOnAnyNumberOfThreads) {
  const Tensor x = RandomLogits(3000, 37);
  Tensor bias(DType::kFloat, {37});
  for (int64_t i = 0; i < 37; ++i) bias.data<float>()[i] = static_cast<float>(i);
  for (int threads : {2, 8}) {
    EXPECT_TRUE(BitwiseEqual(RunOp1("Softmax", {x}), RunOp1("Softmax", {x}, {}, {threads})));
    EXPECT_TRUE(BitwiseEqual(RunOp1("BiasAdd", {x, bias}), RunOp1("BiasAdd", {x, bias}, {}, {threads, true})));
    EXPECT_TRUE(BitwiseEqual(RunOp1("BiasAddGrad", {x}), RunOp1("BiasAddGrad", {x}, {}, {threads})));
  }
}

TEST(NnTest, ErrorsSayWhatIsWrong) {
  const Tensor logits = Tensor::Zeros(DType::kFloat, {2, 3});
  const auto labels = RunOp("SparseSoftmaxCrossEntropyWithLogits", {logits, Tensor::Vector<int32_t>({0, 3})},
                            Attrs({{"Tlabels", DType::kInt32}}));
  EXPECT_EQ(labels.status().message(), "label 3 is not in [0, 3), the range of the classes");
  EXPECT_EQ(RunOp("Softmax", {Tensor::Scalar(1.0f)}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(RunOp("BiasAdd", {logits, Tensor::Zeros(DType::kFloat, {2})}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace nabla

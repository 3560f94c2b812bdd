// What the rows of tests/cases/random_cases.cc cannot say: how streams go on, and what is refused. The numbers are
// TensorFlow's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "nabla/graph/scope.h"
#include "nabla/ops/ops.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/session.h"

namespace nabla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RandomKernelsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    RegisterAllOps();
    RegisterAllKernels();
  }

  Output Floats(const char* op, int64_t count, int64_t seed, int64_t seed2) {
    return NodeBuilder(scope_, op)
        .Input(Tensor::Vector<int32_t>({static_cast<int32_t>(count)}))
        .Attr("dtype", DType::kFloat)
        .Attr("seed", seed)
        .Attr("seed2", seed2)
        .FinishOutput();
  }

  Tensor Run(Session& session, Output output) {
    std::vector<Tensor> values;
    const absl::Status status = session.Run({}, {output}, &values);
    EXPECT_TRUE(status.ok()) << status;
    return status.ok() ? values[0] : Tensor::Zeros(DType::kFloat, {1});
  }

  std::vector<uint32_t> Bits(const Tensor& tensor) {
    const uint32_t* const bits = reinterpret_cast<const uint32_t*>(tensor.raw_data());
    return std::vector<uint32_t>(bits, bits + tensor.num_elements());
  }

  std::vector<int32_t> Ints(const Tensor& tensor) {
    return std::vector<int32_t>(tensor.flat<int32_t>().begin(), tensor.flat<int32_t>().end());
  }

  Graph graph_;
  Scope scope_{&graph_};
};

TEST_F(RandomKernelsTest, StreamsGoOnFromRunToRunAsTensorFlows) {
  Output uniform = Floats("RandomUniform", 5, 3, 4), normal = Floats("RandomStandardNormal", 5, 3, 4);
  Output truncated = Floats("TruncatedNormal", 5, 3, 4);
  Output ints = NodeBuilder(scope_, "RandomUniformInt")
                    .Input(Tensor::Vector<int32_t>({5}))
                    .Input(Tensor::Scalar<int32_t>(0))
                    .Input(Tensor::Scalar<int32_t>(1000))
                    .Attr("seed", 3)
                    .Attr("seed2", 4)
                    .FinishOutput();
  Output shuffled = NodeBuilder(scope_, "RandomShuffle")
                        .Input(Tensor::Vector<int32_t>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}))
                        .Attr("seed", 3)
                        .Attr("seed2", 4)
                        .FinishOutput();
  ASSERT_TRUE(scope_.ok()) << scope_.status();
  for (int threads : {1, 3}) {
    Session session(&graph_, {threads});
    EXPECT_THAT(Bits(Run(session, uniform)), ElementsAre(1064073730, 1052616976, 1064484130, 1062263348, 1057628382));
    EXPECT_THAT(Bits(Run(session, uniform)), ElementsAre(1063052786, 1051621628, 1061482838, 1057220164, 1051246776));
    EXPECT_THAT(Bits(Run(session, truncated)), ElementsAre(1049905496, 3196846535, 3197692384, 1040596336, 1043967047));
    EXPECT_THAT(Bits(Run(session, truncated)), ElementsAre(1055526527, 3197509535, 3180183005, 3208154835, 3213586943));
    EXPECT_THAT(Bits(Run(session, normal)), ElementsAre(1049905496, 3196846535, 3197692384, 1040596336, 3197146809));
    EXPECT_THAT(Bits(Run(session, normal)), ElementsAre(1055526527, 3197509535, 3180183005, 3208154835, 3213723714));
    EXPECT_THAT(Ints(Run(session, ints)), ElementsAre(961, 460, 441, 194, 959));
    EXPECT_THAT(Ints(Run(session, ints)), ElementsAre(201, 71, 83, 754, 558));
    EXPECT_THAT(Ints(Run(session, shuffled)), ElementsAre(1, 5, 3, 8, 0, 4, 7, 6, 9, 2));
    EXPECT_THAT(Ints(Run(session, shuffled)), ElementsAre(6, 5, 9, 3, 2, 7, 8, 1, 4, 0));
  }
}

TEST_F(RandomKernelsTest, KeysAndCountersAreExact) {
  Node* const node =
      NodeBuilder(scope_, "StatelessRandomGetKeyCounter").Input(Tensor::Vector<int64_t>({1, 2})).Finish();
  Session session(&graph_);
  std::vector<Tensor> values;
  ASSERT_TRUE(session.Run({}, {node->output(0), node->output(1)}, &values).ok());
  EXPECT_EQ(values[0].data<uint64_t>()[0], 10413732777507651514u);
  EXPECT_EQ(values[1].data<uint64_t>()[0], 0u);
  EXPECT_EQ(values[1].data<uint64_t>()[1], 17830669156045600267u);
}

TEST_F(RandomKernelsTest, NoSeedGivesOtherNumbersInEverySession) {
  Output uniform = Floats("RandomUniform", 4, 0, 0);
  Session first(&graph_), second(&graph_);
  EXPECT_NE(Bits(Run(first, uniform)), Bits(Run(second, uniform)));
}

// Two runs at once draw from one stream, each number once.
TEST_F(RandomKernelsTest, ConcurrentRunsShareNoNumbers) {
  Output uniform = Floats("RandomUniform", 64, 1, 2);
  Session session(&graph_, {1});
  std::vector<std::vector<uint32_t>> drawn(8);
  std::vector<std::thread> threads;
  for (auto& bits : drawn) threads.emplace_back([&] { bits = Bits(Run(session, uniform)); });
  for (std::thread& thread : threads) thread.join();
  std::set<std::vector<uint32_t>> distinct(drawn.begin(), drawn.end());
  EXPECT_EQ(distinct.size(), drawn.size());
}

TEST_F(RandomKernelsTest, MomentsAreRight) {
  constexpr int64_t kCount = 200000;
  struct Expected {
    const char* op;
    double mean, variance;
  };
  // Of the normal distribution within [-2, 2]: the variance is 1 - 4 phi(2) / (2 Phi(2) - 1).
  for (const Expected& e : {Expected{"RandomUniform", 0.5, 1.0 / 12}, Expected{"RandomStandardNormal", 0, 1},
                            Expected{"TruncatedNormal", 0, 0.773741}}) {
    Session session(&graph_);
    const Tensor values = Run(session, Floats(e.op, kCount, 11, 12));
    double sum = 0, squares = 0;
    for (float v : values.flat<float>()) sum += v, squares += double{v} * v;
    const double mean = sum / kCount;
    EXPECT_NEAR(mean, e.mean, 0.01) << e.op;
    EXPECT_NEAR(squares / kCount - mean * mean, e.variance, 0.015) << e.op;
  }
}

TEST_F(RandomKernelsTest, BadArgumentsAreRefused) {
  // Fed, so that only the kernel can see them.
  Output shape = ops::Placeholder(scope_, DType::kInt32), seed = ops::Placeholder(scope_, DType::kInt64);
  Output low = ops::Placeholder(scope_, DType::kInt32);
  Output uniform = NodeBuilder(scope_, "StatelessRandomUniform").Input(shape).Input(seed).FinishOutput();
  Output ints = NodeBuilder(scope_, "StatelessRandomUniformInt")
                    .Input(shape)
                    .Input(seed)
                    .Input(low)
                    .Input(Tensor::Scalar<int32_t>(5))
                    .FinishOutput();
  ASSERT_TRUE(scope_.ok()) << scope_.status();
  Session session(&graph_);
  const auto error = [&](Output fetched, Tensor shape_value, Tensor seed_value, int32_t low_value) {
    Feeds feeds = {{shape, std::move(shape_value)}, {seed, std::move(seed_value)}};
    if (fetched == ints) feeds.push_back({low, Tensor::Scalar(low_value)});
    std::vector<Tensor> values;
    return std::string(session.Run(feeds, {fetched}, &values).message());
  };
  const Tensor two = Tensor::Vector<int32_t>({2}), good_seed = Tensor::Vector<int64_t>({1, 2});
  EXPECT_EQ(error(uniform, two, good_seed, 0), "");
  EXPECT_THAT(error(uniform, Tensor::Vector<int32_t>({-2}), good_seed, 0), HasSubstr("-2"));
  EXPECT_THAT(error(uniform, Tensor::Vector<int32_t>({2147483647, 2147483647, 2147483647}), good_seed, 0),
              HasSubstr("shape"));
  EXPECT_THAT(error(uniform, two, Tensor::Vector<int64_t>({1, 2, 3}), 0), HasSubstr("seed"));
  EXPECT_THAT(error(ints, two, good_seed, 5), HasSubstr("minval must be below maxval"));
}

TEST_F(RandomKernelsTest, OtherAlgorithmsAreRefused) {
  for (int32_t alg : {2, 7}) {
    Output uniform = NodeBuilder(scope_, "StatelessRandomUniformV2")
                         .Input(Tensor::Vector<int32_t>({2}))
                         .Input(Tensor::Vector<uint64_t>({1}))
                         .Input(Tensor::Vector<uint64_t>({1, 2}))
                         .Input(Tensor::Scalar(alg))
                         .FinishOutput();
    Session session(&graph_);
    std::vector<Tensor> values;
    EXPECT_THAT(std::string(session.Run({}, {uniform}, &values).message()), HasSubstr(absl::StrCat("alg ", alg)));
  }
}

}  // namespace
}  // namespace nabla

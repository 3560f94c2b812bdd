#include "nabla/runtime/executor.h"

#include <random>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nabla/graph/buffer.h"
#include "nabla/runtime/resources.h"
#include "nabla/runtime/session.h"
#include "nabla/runtime/thread_pool.h"
#include "nabla/tests/runtime/test_ops.h"

namespace nabla {
namespace {

using ::nabla::testing::Attrs;
using ::nabla::testing::Call;
using ::nabla::testing::CallNode;
using ::nabla::testing::Constant;
using ::nabla::testing::Floats;
using ::nabla::testing::Placeholder;
using ::testing::ElementsAre;

Tensor Vector(std::initializer_list<float> values) { return Tensor::Vector<float>(values); }

SessionOptions Threads(int threads) {
  SessionOptions options;
  options.num_threads = threads;
  return options;
}

// Large enough for the plan to think it expensive.
constexpr int64_t kLarge = 400'000;

class ExecutorTest : public ::testing::Test {
 protected:
  ExecutorTest() : scope_(&graph_) { nabla::testing::RegisterTestOps(); }

  Output Spin(Output x, int64_t microseconds) {
    return Call(scope_, "TestSpin", {x}, Attrs({{"microseconds", microseconds}}));
  }
  Output Fail(Output x, const std::string& name) {
    return Call(scope_.Named(name), "TestFail", {x}, Attrs({{"message", "failed"}}));
  }

  Graph graph_;
  Scope scope_;
  std::vector<Tensor> out_;
};

TEST_F(ExecutorTest, PlansWithoutConcurrencyRunInOrder) {
  const Output x = Placeholder(scope_, "x", Shape({kLarge}));
  const Output small = Placeholder(scope_, "small", Shape({2}));
  ThreadPool pool(2);
  PlanOptions options;
  options.environment.pool = &pool;
  auto parallel = [&](const Outputs& feeds, const Outputs& fetches) {
    return (*Plan::Compile(graph_, {feeds, fetches, {}}, options))->parallel();
  };
  const Output a = Call(scope_, "Neg", {x}), b = Call(scope_, "Neg", {a});
  EXPECT_FALSE(parallel({x}, {b}));                              // a chain
  EXPECT_TRUE(parallel({x}, {b, Call(scope_, "Add", {x, x})}));  // two branches
  const Output c = Call(scope_, "Neg", {small});
  EXPECT_FALSE(parallel({small}, {c, Call(scope_, "Add", {small, small})}));  // cheap branches
  options.environment.pool = nullptr;
  EXPECT_FALSE(parallel({x}, {b, Call(scope_, "Add", {x, x})}));
}

TEST_F(ExecutorTest, BranchesRunAtOnce) {
  // Each of the two ends only when the run stops or the time is over; a trace would not tell more than this: with two
  // threads the second branch's failure is found while the first one still works.
  const Output x = Placeholder(scope_, "x", Shape({kLarge}));
  const Output left = Call(scope_, "TestLoop", {x}, Attrs({{"parts", int64_t{1}}}));
  const Output right = Spin(x, 1000);
  Session session(&graph_, Threads(2));
  Tensor value = Tensor::Zeros(DType::kFloat, Shape({kLarge}));
  ASSERT_TRUE(session.Run({{x, value}}, {left, right}, &out_).ok());
  EXPECT_TRUE(BitwiseEqual(out_[0], value));
  EXPECT_TRUE(BitwiseEqual(out_[1], value));
}

TEST_F(ExecutorTest, TheFirstFailureInPlanOrderIsReported) {
  const Output x = Placeholder(scope_, "x", Shape({kLarge}));
  // The one that comes first takes longest to fail.
  const Output slow = Fail(Spin(x, 3000), "slow");
  const Output quick = Fail(x, "quick");
  const Output dependent = Call(scope_, "TestCount", {Call(scope_, "Add", {slow, quick})});
  const Tensor value = Tensor::Zeros(DType::kFloat, Shape({kLarge}));
  testing::NumCounted() = 0;
  for (int threads : {1, 2, 4}) {
    Session session(&graph_, Threads(threads));
    for (int round = 0; round < 10; ++round) {
      const absl::Status status = session.Run({{x, value}}, {dependent}, &out_);
      EXPECT_EQ(status.message(), "node 'slow' (op: TestFail): failed") << threads << " threads";
    }
  }
  EXPECT_EQ(testing::NumCounted(), 0);
}

TEST_F(ExecutorTest, ARunAfterAFailureWorks) {
  const Output x = Placeholder(scope_, "x", Shape({kLarge}));
  const Output v =
      Call(scope_, "VarHandleOp", {}, Attrs({{"dtype", DType::kFloat}, {"shape", Shape({2})}, {"shared_name", "v"}}));
  const Output read = Call(scope_, "ReadVariableOp", {v}, Attrs({{"dtype", DType::kFloat}}));
  const Output a = Call(scope_, "Neg", {x}), b = Call(scope_, "Add", {x, x});
  const Output sum = Call(scope_, "Add", {a, b});
  const Tensor value = Tensor::Zeros(DType::kFloat, Shape({kLarge}));
  Session session(&graph_, Threads(3));
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(session.Run({{x, value}}, {sum, read}, &out_).code(), absl::StatusCode::kFailedPrecondition);
  }
  Node* init = CallNode(scope_, "AssignVariableOp", {v, Constant(scope_, Vector({1, 2}))});
  ASSERT_TRUE(session.Run({}, {}, {init}, nullptr).ok());
  ASSERT_TRUE(session.Run({{x, value}}, {sum, read}, &out_).ok());
  EXPECT_THAT(Floats(out_[1]), ElementsAre(1, 2));
}

TEST_F(ExecutorTest, LastReadersWriteInPlace) {
  const Output x = Placeholder(scope_, "x", Shape({8}));
  const Output a = Call(scope_, "Neg", {x});     // x is fed: not its own
  const Output b = Call(scope_, "Neg", {a});     // in place
  const Output c = Call(scope_, "Add", {b, x});  // in place
  const Output d = Call(scope_, "Add", {c, c});  // the same tensor twice: not in place
  const Output e = Call(scope_, "Neg", {d});     // d is fetched: not in place
  const Tensor value = Vector({1, 2, 3, 4, 5, 6, 7, 8});
  for (int threads : {1, 2}) {
    Session session(&graph_, Threads(threads));
    testing::NumForwarded() = 0;
    ASSERT_TRUE(session.Run({{x, value}}, {d, e}, &out_).ok());
    EXPECT_EQ(testing::NumForwarded(), 2);
    EXPECT_EQ(Floats(out_[0])[7], 32);
    EXPECT_EQ(value.data<float>()[7], 8);
  }
  SessionOptions options = Threads(1);
  options.disabled_passes = {"in_place"};
  Session without(&graph_, options);
  testing::NumForwarded() = 0;
  ASSERT_TRUE(without.Run({{x, value}}, {d, e}, &out_).ok());
  EXPECT_EQ(testing::NumForwarded(), 0);
}

TEST_F(ExecutorTest, WhatAVariableHoldsIsNotOverwritten) {
  const Output v =
      Call(scope_, "VarHandleOp", {}, Attrs({{"dtype", DType::kFloat}, {"shape", Shape({8})}, {"shared_name", "v"}}));
  const Output read = Call(scope_, "ReadVariableOp", {v}, Attrs({{"dtype", DType::kFloat}}));
  const Output negative = Call(scope_, "Neg", {read});
  Node* init = CallNode(scope_, "AssignVariableOp", {v, Constant(scope_, Vector({1, 2, 3, 4, 5, 6, 7, 8}))});
  Session session(&graph_, Threads(1));
  ASSERT_TRUE(session.Run({}, {}, {init}, nullptr).ok());
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(session.Run({}, {negative}, &out_).ok());
    EXPECT_EQ(Floats(out_[0])[0], -1);
  }
}

TEST_F(ExecutorTest, ConstantsSurviveTheirReaders) {
  const Output c = Constant(scope_, Vector({1, 2, 3, 4, 5, 6, 7, 8}));
  const Output x = Placeholder(scope_, "x", Shape({8}));
  const Output sum = Call(scope_, "Add", {c, x});
  const Tensor value = Tensor::Zeros(DType::kFloat, Shape({8}));
  Session session(&graph_, Threads(1));
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(session.Run({{x, value}}, {sum, c}, &out_).ok());
    EXPECT_EQ(Floats(out_[0])[7], 8);
    EXPECT_EQ(Floats(out_[1])[7], 8);
  }
}

TEST_F(ExecutorTest, TensorsAreFreedAfterTheirLastReader) {
  // A chain of TestTwo keeps only a few of its tensors alive at once, and none after the run.
  const Output x = Placeholder(scope_, "x", Shape({kLarge}));
  Output y = x;
  for (int i = 0; i < 20; ++i) {
    const Output z = CallNode(scope_, "TestTwo", {y})->output(1);
    y = Call(scope_, "Sub", {z, y});
  }
  const Tensor value = Tensor::Zeros(DType::kFloat, Shape({kLarge}));
  const int64_t bytes = kLarge * static_cast<int64_t>(sizeof(float));
  for (int threads : {1, 2}) {
    Session session(&graph_, Threads(threads));
    ASSERT_TRUE(session.Run({{x, value}}, {y}, &out_).ok());
    out_.clear();
    const int64_t before = GetBufferPoolStats().bytes_in_use;
    ResetBufferPoolPeak();
    ASSERT_TRUE(session.Run({{x, value}}, {y}, &out_).ok());
    EXPECT_LE(GetBufferPoolStats().peak_bytes_in_use - before, 5 * bytes);
    out_.clear();
    EXPECT_EQ(GetBufferPoolStats().bytes_in_use, before);
  }
}

TEST_F(ExecutorTest, ALongChainNeedsNoStack) {
  const Output x = Placeholder(scope_, "x", Shape::Scalar());
  const Output large = Placeholder(scope_, "large", Shape({kLarge}));
  Output y = x;
  for (int i = 0; i < 100'000; ++i) y = Call(scope_, "Add", {y, x});
  const Output a = Call(scope_, "Neg", {large}), b = Call(scope_, "Add", {large, large});
  const Feeds feeds = {{x, Tensor::Scalar(1.0f)}, {large, Tensor::Zeros(DType::kFloat, Shape({kLarge}))}};
  for (int threads : {1, 2}) {
    Session session(&graph_, Threads(threads));
    ASSERT_TRUE(session.Run(feeds, {y, a, b}, &out_).ok());
    EXPECT_EQ(out_[0].scalar<float>(), 100'001);
  }
}

// A random graph of cheap and expensive nodes, shared tensors and control edges, with something for every pass:
// constants, identities, and nodes that occur twice.
TEST_F(ExecutorTest, AnyNumberOfThreadsGivesTheSameBits) {
  std::mt19937 random(7);
  const Output small = Placeholder(scope_, "small", Shape({3}));
  const Output large = Placeholder(scope_, "large", Shape({kLarge / 8}));
  const Output constant = Constant(scope_, Vector({1.5f, 0.75f, -2}));
  std::vector<Output> smalls = {small, constant, constant}, larges = {large};
  Outputs fetches;
  const char* const ops[] = {"Add", "Mul", "Sub", "Neg", "Identity"};
  for (int i = 0; i < 400; ++i) {
    std::vector<Output>& pool = i % 3 == 0 ? larges : smalls;
    auto any = [&] { return pool[std::min<size_t>(random() % pool.size(), random() % pool.size())]; };
    const std::string op = ops[random() % 5];
    std::vector<Node*> controls;
    if (i % 5 == 0) controls.push_back(larges[random() % larges.size()].node());
    const Scope scope = scope_.WithControl(controls);
    const Outputs inputs = op == "Neg" || op == "Identity" ? Outputs{any()} : Outputs{any(), any()};
    for (int copies = i % 4 == 0 ? 2 : 1; copies > 0; --copies) pool.push_back(Call(scope, op, inputs));
    if (i % 7 == 0) fetches.push_back(pool.back());
  }
  Tensor small_value = Vector({0.5f, -0.25f, 0.125f});
  Tensor large_value(DType::kFloat, Shape({kLarge / 8}));
  for (int64_t i = 0; i < large_value.num_elements(); ++i) {
    large_value.data<float>()[i] = static_cast<float>(i % 97) / 97 - 0.5f;
  }
  const Feeds feeds = {{small, small_value}, {large, large_value}};
  SessionOptions plain = Threads(1);
  plain.disabled_passes = {"all"};
  Session reference(&graph_, plain);
  std::vector<Tensor> expected;
  absl::Status status = reference.Run(feeds, fetches, &expected);
  ASSERT_TRUE(status.ok()) << status;
  for (int threads : {1, 2, 3, 8}) {
    Session session(&graph_, Threads(threads));
    std::vector<std::thread> callers;
    for (int caller = 0; caller < 3; ++caller) {
      callers.emplace_back([&] {
        std::vector<Tensor> out;
        for (int round = 0; round < 5; ++round) {
          ASSERT_TRUE(session.Run(feeds, fetches, &out).ok());
          for (size_t i = 0; i < fetches.size(); ++i) EXPECT_TRUE(BitwiseEqual(out[i], expected[i])) << i;
        }
      });
    }
    for (std::thread& caller : callers) caller.join();
  }
}

}  // namespace
}  // namespace nabla

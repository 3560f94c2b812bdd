// What runs side by side in graphs with loops and branches, and that nobody can tell from the results.
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nabla/ops/registration.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/plan.h"
#include "nabla/runtime/session.h"
#include "nabla/runtime/thread_pool.h"
#include "nabla/tests/runtime/frames/primitives.h"

namespace nabla {
namespace {

using ::nabla::testing::Conditional;
using ::nabla::testing::Loop;
using ::nabla::testing::PowerLoop;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class ParallelFramesTest : public ::testing::Test {
 protected:
  ParallelFramesTest() : scope_(&graph_) {
    RegisterAllOps();
    RegisterAllKernels();
  }

  Output Given(const std::string& name, DType dtype, Shape shape = Shape::Scalar()) {
    return ops::Placeholder(scope_.Named(name), dtype, {.shape = std::move(shape)});
  }
  Output Const(float value) { return ops::Const(scope_, Tensor::Scalar(value)); }

  // The plan for several threads.
  std::shared_ptr<const Plan> Compile(const PlanRequest& request) {
    EXPECT_TRUE(scope_.ok()) << scope_.status();
    static ThreadPool* const pool = new ThreadPool(2);
    PlanOptions options;
    options.environment.pool = pool;
    auto plan = Plan::Compile(graph_, request, options);
    EXPECT_TRUE(plan.ok()) << plan.status();
    return plan.ok() ? *plan : nullptr;
  }

  // The same bits on 1, 2 and 8 threads, again and again.
  std::vector<Tensor> Run(const Feeds& feeds, const Outputs& fetches) {
    EXPECT_TRUE(scope_.ok()) << scope_.status();
    std::vector<Tensor> first;
    for (const int threads : {1, 2, 8}) {
      SessionOptions options;
      options.num_threads = threads;
      Session session(&graph_, options);
      for (int run = 0; run < 10; ++run) {
        std::vector<Tensor> out;
        const absl::Status status = session.Run(feeds, fetches, &out);
        EXPECT_TRUE(status.ok()) << status;
        if (!status.ok()) return std::vector<Tensor>(fetches.size(), Tensor::Scalar(0.0f));
        if (first.empty()) first = out;
        for (size_t i = 0; i < out.size(); ++i) EXPECT_TRUE(BitwiseEqual(out[i], first[i])) << i << ", " << threads;
      }
    }
    return first;
  }

  static Tensor Numbers(const Shape& shape) {
    Tensor tensor(DType::kFloat, shape);
    for (int64_t i = 0; i < tensor.num_elements(); ++i) tensor.data<float>()[i] = std::sin(static_cast<float>(i));
    return tensor;
  }

  // Tasks that are expensive and wait for no other that is, directly or not.
  static int NumIndependent(const FrameProgram::Region& region) {
    std::vector<bool> waits(region.graph.tasks.size(), false);
    int count = 0;
    for (size_t t = 0; t < waits.size(); ++t) {
      const TaskGraph::Task& task = region.graph.tasks[t];
      if (task.expensive && !waits[t]) ++count;
      if (!task.expensive && !waits[t]) continue;
      for (int i = 0; i < task.num_successors; ++i) waits[region.graph.successors[task.first_successor + i]] = true;
    }
    return count;
  }

  Graph graph_;
  Scope scope_;
};

TEST_F(ParallelFramesTest, LoopsThatDoNotNeedEachOther) {
  const Output n = Given("n", DType::kInt32), x = Given("x", DType::kFloat, {5000});
  const Output a = PowerLoop(scope_, "a", n, x, Const(1.01f))[1], b = PowerLoop(scope_, "b", n, x, Const(0.99f))[1];
  const Output y = ops::Add(scope_, a, b);
  const auto plan = Compile({{n, x}, {y}, {}});
  ASSERT_THAT(plan->frames()->regions, SizeIs(1));
  EXPECT_EQ(NumIndependent(plan->frames()->regions[0]), 2);
  const Tensor given = Numbers({5000});
  const std::vector<Tensor> out = Run({{n, Tensor::Scalar(60)}, {x, given}}, {y, a, b, x});
  EXPECT_TRUE(BitwiseEqual(out[3], given)) << "both loops begin with x, and write in place";
  EXPECT_NEAR(out[0].flat<float>()[1], given.flat<float>()[1] * (std::pow(1.01f, 60) + std::pow(0.99f, 60)), 1e-4);
}

TEST_F(ParallelFramesTest, LoopsThatDo) {
  const Output n = Given("n", DType::kInt32), x = Given("x", DType::kFloat, {5000});
  const Output a = PowerLoop(scope_, "a", n, x, Const(1.01f))[1], b = PowerLoop(scope_, "b", n, a, Const(0.99f))[1];
  EXPECT_THAT(Compile({{n, x}, {b}, {}})->frames()->regions, SizeIs(0));
}

TEST_F(ParallelFramesTest, ALoopOfScalarsHasNoTasks) {
  const Output n = Given("n", DType::kInt32), x = Given("x", DType::kFloat);
  EXPECT_THAT(Compile({{n, x}, {PowerLoop(scope_, "a", n, x, Const(1.01f))[1]}, {}})->frames()->regions, SizeIs(0));
}

// v = tanh(v) a + tanh(v) b, the two products side by side in each trip.
TEST_F(ParallelFramesTest, HeavyNodesOfOneTrip) {
  const Shape square({300, 300});
  const Output n = Given("n", DType::kInt32), x = Given("x", DType::kFloat, square);
  const Output a = Given("a", DType::kFloat, square), b = Given("b", DType::kFloat, square);
  Loop loop(scope_, "loop", {ops::Const(scope_, 0), x});
  loop.Condition(ops::Less(scope_, loop.test(0), loop.Invariant(n)));
  const Output one = loop.Constant(Tensor::Scalar<int32_t>(1));
  const Output v = ops::Tanh(scope_, loop.body(1));
  loop.Close({ops::Add(scope_, loop.body(0), one),
              ops::Add(scope_, ops::MatMul(scope_, v, loop.Invariant(a)), ops::MatMul(scope_, v, loop.Invariant(b)))});
  const auto plan = Compile({{n, x, a, b}, {loop.exit(1)}, {}});
  ASSERT_THAT(plan->frames()->regions, SizeIs(1));
  EXPECT_GT(plan->frames()->regions[0].first[0], 0) << "it is the loop's body, not the whole program";
  Run({{n, Tensor::Scalar(5)}, {x, Numbers(square)}, {a, Numbers(square)}, {b, Numbers(square)}}, {loop.exit(1)});
}

// Nor does a list that grows beside them cost a copy for each trip, even if what it was is read, too.
TEST_F(ParallelFramesTest, ListsOfALoopAreWrittenInPlace) {
  const Shape square({300, 300});
  const Output n = Given("n", DType::kInt32), x = Given("x", DType::kFloat, square);
  const Output a = Given("a", DType::kFloat, square), b = Given("b", DType::kFloat, square);
  const Output shape = ops::Const(scope_, {300, 300});
  const auto reserve = [&] { return ops::TensorListReserve(scope_, shape, n, DType::kFloat); };
  Loop loop(scope_, "loop",
            {ops::Const(scope_, 0), x, ops::EmptyTensorList(scope_, shape, ops::Const(scope_, -1), DType::kFloat),
             ops::TensorListSetItem(scope_, reserve(), ops::Const(scope_, 0), x)});
  loop.Condition(ops::Less(scope_, loop.test(0), loop.Invariant(n)));
  const Output i = loop.body(0), v = loop.body(1);
  const Output get = ops::TensorListGetItem(scope_, loop.body(3), i, loop.Invariant(shape), DType::kFloat);
  const Output last = ops::Sub(scope_, loop.Invariant(n), loop.Constant(Tensor::Scalar<int32_t>(1)));
  const Output next = ops::Add(scope_, i, loop.Constant(Tensor::Scalar<int32_t>(1)));
  const Output product = ops::MatMul(scope_, v, loop.Invariant(a));
  loop.Close({next, ops::Add(scope_, product, ops::MatMul(scope_, get, loop.Invariant(b))),
              ops::TensorListPushBack(scope_, loop.body(2), v),
              ops::TensorListSetItem(scope_.Named("set"), loop.body(3), ops::Minimum(scope_, next, last), product)});
  const Outputs fetches = {loop.exit(1), ops::TensorListStack(scope_, loop.exit(2), shape, DType::kFloat),
                           ops::TensorListStack(scope_, loop.exit(3), shape, DType::kFloat)};
  const auto plan = Compile({{n, x, a, b}, fetches, {}});
  ASSERT_THAT(plan->frames()->regions, SizeIs(1));
  int writers = 0;
  for (const Plan::Step& step : plan->steps()) {
    if (step.node->op() != "TensorListPushBack" && step.node->name() != "set") continue;
    ++writers;
    EXPECT_EQ(step.exclusive_inputs & 1, 1) << step.node->name();
  }
  EXPECT_EQ(writers, 2);
  const Tensor numbers = Numbers(square);
  Run({{n, Tensor::Scalar(5)}, {x, numbers}, {a, numbers}, {b, numbers}}, fetches);
}

// What a control edge alone orders stays in order, also by way of nodes that do nothing.
TEST_F(ParallelFramesTest, ControlEdgesBetweenTasks) {
  const Output n = Given("n", DType::kInt32), x = Given("x", DType::kFloat, {5000}), p = Given("p", DType::kBool);
  const Output variable = ops::VarHandleOp(scope_.Named("v"), DType::kFloat, Shape({5000}));
  Node* clear = ops::AssignVariableOp(scope_, variable, x);
  const Scope after = scope_.WithControl({ops::NoOp(scope_.WithControl({clear}))});
  const Output a = PowerLoop(after.WithControl({clear}), "a", n, ops::Identity(after, x), Const(1.01f))[1];
  Node* assign = ops::AssignVariableOp(scope_, variable, a);
  Node* group = ops::NoOp(scope_.WithControl({assign}));
  const Output b = PowerLoop(scope_, "b", n, x, Const(0.99f))[1];
  const ops::SwitchOutputs sides = ops::Switch(scope_.WithControl({group}), x, p);
  const Output read = ops::ReadVariableOp(scope_.WithControl({ops::Identity(scope_, sides.output_true).node()}),
                                          variable, DType::kFloat);
  const Output joined = ops::Merge(scope_, {read, sides.output_false}).output;
  const std::vector<Tensor> out =
      Run({{n, Tensor::Scalar(30)}, {x, Numbers({5000})}, {p, Tensor::Scalar(true)}}, {joined, a, b});
  EXPECT_TRUE(BitwiseEqual(out[0], out[1]));
}

// Nor does a frame that does nothing break the chain.
TEST_F(ParallelFramesTest, ControlEdgesByWayOfAnEmptyFrame) {
  const Output n = Given("n", DType::kInt32), x = Given("x", DType::kFloat, {5000});
  const Output variable = ops::VarHandleOp(scope_.Named("v"), DType::kFloat, Shape({5000}));
  const Output a = PowerLoop(scope_, "a", n, x, Const(1.01f))[1], b = PowerLoop(scope_, "b", n, x, Const(0.99f))[1];
  Node* assign = ops::AssignVariableOp(scope_, variable, a);
  const Output through = ops::Exit(scope_, ops::Enter(scope_.WithControl({assign}), x, "empty"));
  const Output read = ops::ReadVariableOp(scope_.WithControl({through.node()}), variable, DType::kFloat);
  EXPECT_THAT(Compile({{n, x}, {read, b}, {}})->frames()->regions, SizeIs(1));
  const std::vector<Tensor> out = Run({{n, Tensor::Scalar(30)}, {x, Numbers({5000})}}, {read, a, b});
  EXPECT_TRUE(BitwiseEqual(out[0], out[1]));
}

// Loops in branches, of which one is dead.
TEST_F(ParallelFramesTest, DeadTasks) {
  const Output n = Given("n", DType::kInt32), x = Given("x", DType::kFloat, {5000}), p = Given("p", DType::kBool);
  const Output a =
      Conditional(
          scope_, p, {x, n},
          [](const Scope& s, const Outputs& in) { return PowerLoop(s, "a", in[1], in[0], ops::Const(s, 1.01f))[1]; },
          [](const Scope& s, const Outputs& in) { return ops::Neg(s, in[0]); })
          .output;
  const Output b = PowerLoop(scope_, "b", n, x, Const(0.99f))[1];
  const Output y = ops::Add(scope_, a, b);
  EXPECT_THAT(Compile({{n, x, p}, {y}, {}})->frames()->regions, SizeIs(1));
  for (const bool taken : {true, false}) {
    const std::vector<Tensor> out =
        Run({{n, Tensor::Scalar(20)}, {x, Numbers({5000})}, {p, Tensor::Scalar(taken)}}, {y, a});
    const float factor = taken ? std::pow(1.01f, 20) : -1;
    EXPECT_NEAR(out[1].flat<float>()[1], factor * std::sin(1.0f), 1e-4);
  }
}

// Of several failing loops the first one is blamed, whoever comes first.
TEST_F(ParallelFramesTest, TheFirstFailureIsReported) {
  const Output n = Given("n", DType::kInt32), x = Given("x", DType::kFloat, Shape());
  Outputs results;
  for (const char* name : {"one", "two", "three"}) {
    Loop loop(scope_, name, {ops::Const(scope_, 0), x});
    loop.Condition(ops::Less(scope_, loop.test(0), loop.Invariant(n)));
    const Output next = ops::Add(scope_, loop.body(0), loop.Constant(Tensor::Scalar<int32_t>(1)));
    loop.Close({next, ops::MatMul(scope_.Named(absl::StrCat("product_", name)), loop.body(1), loop.body(1))});
    results.push_back(loop.exit(1));
  }
  EXPECT_THAT(Compile({{n, x}, results, {}})->frames()->regions, SizeIs(1));
  for (const int threads : {1, 2, 8}) {
    SessionOptions options;
    options.num_threads = threads;
    Session session(&graph_, options);
    for (int run = 0; run < 20; ++run) {
      std::vector<Tensor> out;
      const absl::Status status = session.Run({{n, Tensor::Scalar(3)}, {x, Numbers({20, 10})}}, results, &out);
      EXPECT_THAT(std::string(status.message()), HasSubstr("'product_one'"));
    }
    // And the session goes on.
    std::vector<Tensor> out;
    EXPECT_TRUE(session.Run({{n, Tensor::Scalar(3)}, {x, Numbers({10, 10})}}, results, &out).ok());
  }
}

// The others must not go on for ever then.
TEST_F(ParallelFramesTest, AFailureEndsLoopsThatRunBesideIt) {
  const Output x = Given("x", DType::kFloat, Shape()), p = Given("p", DType::kBool);
  Outputs results;
  for (const char* name : {"one", "two", "three"}) {
    Loop loop(scope_, name, {x});
    loop.Condition(loop.Invariant(p));
    loop.Close({results.empty() ? ops::MatMul(scope_.Named("product"), loop.body(0), loop.body(0))
                                : ops::Neg(scope_, loop.body(0))});
    results.push_back(loop.exit(0));
  }
  EXPECT_THAT(Compile({{x, p}, results, {}})->frames()->regions, SizeIs(1));
  SessionOptions options;
  options.num_threads = 4;
  Session session(&graph_, options);
  RunOptions late;
  late.deadline = absl::Now() + absl::Seconds(60);
  std::vector<Tensor> out;
  const absl::Status status = session.Run({{x, Numbers({20, 10})}, {p, Tensor::Scalar(true)}}, results, {}, &out, late);
  EXPECT_THAT(std::string(status.message()), HasSubstr("'product'"));
}

TEST_F(ParallelFramesTest, EndlessLoopsSideBySideAreStopped) {
  const Output x = Given("x", DType::kFloat, {5000}), p = Given("p", DType::kBool);
  Outputs results;
  for (const char* name : {"one", "two", "three"}) {
    Loop loop(scope_, name, {x});
    loop.Condition(loop.Invariant(p));
    loop.Close({ops::Neg(scope_, loop.body(0))});
    results.push_back(loop.exit(0));
  }
  SessionOptions options;
  options.num_threads = 4;
  Session session(&graph_, options);
  RunOptions late;
  late.deadline = absl::Now() + absl::Milliseconds(100);
  std::vector<Tensor> out;
  const Tensor given = Numbers({5000});
  EXPECT_EQ(session.Run({{x, given}, {p, Tensor::Scalar(true)}}, results, {}, &out, late).code(),
            absl::StatusCode::kDeadlineExceeded);
  ASSERT_TRUE(session.Run({{x, given}, {p, Tensor::Scalar(false)}}, results, &out).ok());
  EXPECT_TRUE(BitwiseEqual(out[2], given));
}

}  // namespace
}  // namespace nabla

// Loops and conditionals: what runs, how often, and what is refused.
#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nabla/graph/buffer.h"
#include "nabla/graph/export.h"
#include "nabla/graph/import.h"
#include "nabla/ops/registration.h"
#include "nabla/proto/graph.pb.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/plan.h"
#include "nabla/runtime/session.h"
#include "nabla/tests/runtime/frames/primitives.h"

namespace nabla {
namespace {

using ::nabla::testing::Conditional;
using ::nabla::testing::Loop;
using ::nabla::testing::OpenMerge;
using ::nabla::testing::PowerLoop;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

SessionOptions Threads(int threads) {
  SessionOptions options;
  options.num_threads = threads;
  return options;
}

class FramesTest : public ::testing::Test {
 protected:
  FramesTest() : scope_(&graph_) {
    RegisterAllOps();
    RegisterAllKernels();
  }

  Output Given(const std::string& name, DType dtype, Shape shape = Shape::Scalar()) {
    return ops::Placeholder(scope_.Named(name), dtype, {.shape = std::move(shape)});
  }
  template <typename T>
  Output Const(T value) {
    return ops::Const(scope_, Tensor::Scalar<T>(value));
  }

  // The fetched values, with and without passes and on several threads the same bits.
  std::vector<Tensor> Run(const Feeds& feeds, const Outputs& fetches) {
    EXPECT_TRUE(scope_.ok()) << scope_.status();
    std::vector<Tensor> first;
    for (const int threads : {1, 2, 8}) {
      for (const bool optimise : {true, false}) {
        SessionOptions options = Threads(threads);
        if (!optimise) options.disabled_passes = {"all"};
        Session session(&graph_, options);
        for (int run = 0; run < 2; ++run) {
          std::vector<Tensor> out;
          const absl::Status status = session.Run(feeds, fetches, &out);
          EXPECT_TRUE(status.ok()) << status;
          if (!status.ok()) return std::vector<Tensor>(fetches.size(), Tensor::Scalar(0.0f));
          if (first.empty()) first = out;
          for (size_t i = 0; i < out.size(); ++i) {
            EXPECT_TRUE(BitwiseEqual(out[i], first[i])) << i << ", " << threads << " threads, optimise " << optimise;
          }
        }
      }
    }
    return first;
  }

  // The same error with and without passes.
  std::string Error(const Feeds& feeds, const Outputs& fetches,
                    absl::StatusCode code = absl::StatusCode::kInvalidArgument) {
    EXPECT_TRUE(scope_.ok()) << scope_.status();
    std::string message;
    for (const bool optimise : {true, false}) {
      SessionOptions options = Threads(1);
      if (!optimise) options.disabled_passes = {"all"};
      Session session(&graph_, options);
      std::vector<Tensor> out;
      const absl::Status status = session.Run(feeds, fetches, &out);
      EXPECT_EQ(status.code(), code) << status;
      message = std::string(status.message());
    }
    return message;
  }

  Graph graph_;
  Scope scope_;
};

TEST_F(FramesTest, NoneOneAndMoreTrips) {
  const Output n = Given("n", DType::kInt32), x = Given("x", DType::kFloat);
  const Outputs out = PowerLoop(scope_, "loop", n, x, Const(2.0f));
  for (const int32_t trips : {-3, 0, 1, 2, 20}) {
    const std::vector<Tensor> values = Run({{n, Tensor::Scalar(trips)}, {x, Tensor::Scalar(3.0f)}}, out);
    EXPECT_EQ(values[0].scalar<int32_t>(), std::max(trips, 0));
    EXPECT_EQ(values[1].scalar<float>(), 3.0f * std::exp2(static_cast<float>(std::max(trips, 0))));
  }
}

TEST_F(FramesTest, AMillionTripsTakeNoMemory) {
  const Output n = Given("n", DType::kInt32), x = Given("x", DType::kFloat, {100});
  const Outputs out = PowerLoop(scope_, "loop", n, x, Const(1.000001f));
  Session session(&graph_, Threads(1));
  std::vector<Tensor> values;
  const Feeds feeds = {{n, Tensor::Scalar(1'000'000)}, {x, Tensor(DType::kFloat, {100})}};
  ResetBufferPoolPeak();
  const int64_t before = GetBufferPoolStats().bytes_in_use;
  ASSERT_TRUE(session.Run(feeds, out, &values).ok());
  EXPECT_EQ(values[0].scalar<int32_t>(), 1'000'000);
  EXPECT_LE(GetBufferPoolStats().peak_bytes_in_use, before + (int64_t{1} << 20));
}

// What a loop starts from stays as it was, although its iterations write in place.
TEST_F(FramesTest, InPlaceUpdatesStayInside) {
  const Output n = Given("n", DType::kInt32), x = Given("x", DType::kFloat, {8});
  const Output start = ops::Mul(scope_, x, x);
  const Outputs first = PowerLoop(scope_, "first", n, start, Const(2.0f));
  const Outputs second = PowerLoop(scope_, "second", n, start, Const(3.0f));
  const Output after = ops::Add(scope_, first[1], first[1]);
  const Tensor given = Tensor::Vector<float>({1, 2, 3, 4, 5, 6, 7, 8});
  const std::vector<Tensor> values =
      Run({{n, Tensor::Scalar(2)}, {x, given}}, {start, first[1], second[1], after, start});
  EXPECT_THAT(values[0].flat<float>(), ElementsAre(1, 4, 9, 16, 25, 36, 49, 64));
  EXPECT_THAT(values[1].flat<float>(), ElementsAre(4, 16, 36, 64, 100, 144, 196, 256));
  EXPECT_THAT(values[2].flat<float>(), ElementsAre(9, 36, 81, 144, 225, 324, 441, 576));
  EXPECT_THAT(values[3].flat<float>(), ElementsAre(8, 32, 72, 128, 200, 288, 392, 512));
  EXPECT_THAT(given.flat<float>(), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
}

TEST_F(FramesTest, VariablesThatChangePlacesAndThoseThatStay) {
  const Output n = Given("n", DType::kInt32), x = Given("x", DType::kFloat, {5});
  Loop loop(scope_, "loop", {Const(0), x, ops::Mul(scope_, x, Const(2.0f)), ops::Mul(scope_, x, Const(3.0f)), x});
  loop.Condition(ops::Less(scope_, loop.test(0), loop.Invariant(n)));
  loop.Close({ops::Add(scope_, loop.body(0), loop.Constant(Tensor::Scalar(1))), loop.body(2), loop.body(3),
              loop.body(1), loop.body(4)});
  const std::vector<Tensor> values = Run({{n, Tensor::Scalar(4)}, {x, Tensor::Vector<float>({1, 2, 3, 4, 5})}},
                                         {loop.exit(1), loop.exit(2), loop.exit(3), loop.exit(4)});
  EXPECT_THAT(values[0].flat<float>(), ElementsAre(2, 4, 6, 8, 10));
  EXPECT_THAT(values[1].flat<float>(), ElementsAre(3, 6, 9, 12, 15));
  EXPECT_THAT(values[2].flat<float>(), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(values[3].flat<float>(), ElementsAre(1, 2, 3, 4, 5));
}

// Makes `depth` loops inside each other, of two trips each, that count the innermost trips.
Output Nest(const Scope& scope, int depth, Output start) {
  if (depth == 0) return ops::Add(scope, start, 1);
  Loop loop(scope, absl::StrCat("loop", depth), {start, ops::Mul(scope, start, 0)});
  const Output two = loop.Invariant(ops::Add(scope, ops::Mul(scope, start, 0), 2));
  loop.Condition(ops::Less(loop.scope(), loop.test(1), two));
  const Output one = loop.Constant(Tensor::Scalar(1));
  // In the body constants need a control edge, as everything without inputs does.
  const Scope body = loop.scope().WithControl({ops::Identity(loop.scope(), loop.body(0)).node()});
  loop.Close({Nest(body, depth - 1, loop.body(0)), ops::Add(loop.scope(), loop.body(1), one)});
  return loop.exit(0);
}

TEST_F(FramesTest, TenLoopsInsideEachOther) {
  const Output x = Given("x", DType::kInt32);
  const Output y = Nest(scope_, 10, x);
  EXPECT_EQ(Run({{x, Tensor::Scalar(5)}}, {y})[0].scalar<int32_t>(), 5 + 1024);
}

TEST_F(FramesTest, TenThousandLoopsOneAfterTheOther) {
  const Output n = Given("n", DType::kInt32), x = Given("x", DType::kFloat);
  const Output a = Const(1.0f);
  Output y = x;
  for (int i = 0; i < 10'000; ++i) {
    y = ops::Add(scope_, PowerLoop(scope_, absl::StrCat("loop", i), n, y, a)[1], a);
  }
  Session session(&graph_, Threads(1));
  std::vector<Tensor> out;
  const absl::Status status = session.Run({{n, Tensor::Scalar(3)}, {x, Tensor::Scalar(1.0f)}}, {y}, &out);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(out[0].scalar<float>(), 10'001.0f);
}

TEST_F(FramesTest, BothBranchesAndWhichWasTaken) {
  const Output p = Given("p", DType::kBool), x = Given("x", DType::kFloat);
  const ops::MergeOutputs merge = Conditional(
      scope_, p, {x}, [](const Scope& scope, const Outputs& in) { return ops::Mul(scope, in[0], 2.0f); },
      [](const Scope& scope, const Outputs& in) { return ops::Neg(scope, in[0]); });
  const Tensor three = Tensor::Scalar(3.0f);
  std::vector<Tensor> values = Run({{p, Tensor::Scalar(true)}, {x, three}}, {merge.output, merge.value_index});
  EXPECT_EQ(values[0].scalar<float>(), 6.0f);
  EXPECT_EQ(values[1].scalar<int32_t>(), 0);
  values = Run({{p, Tensor::Scalar(false)}, {x, three}}, {merge.output, merge.value_index});
  EXPECT_EQ(values[0].scalar<float>(), -3.0f);
  EXPECT_EQ(values[1].scalar<int32_t>(), 1);
}

// Only the branch that is taken runs, also where a control edge alone puts a node into it.
TEST_F(FramesTest, DeadNodesHaveNoEffects) {
  const Output p = Given("p", DType::kBool);
  const Output count = ops::VarHandleOp(scope_.Named("count"), DType::kInt32, Shape::Scalar());
  const auto add = [&](int32_t k) {
    return [count, k](const Scope& scope, const Outputs& in) {
      Node* done = ops::AssignAddVariableOp(scope, count, k);
      return ops::Identity(scope.WithControl({done}), in[0]);
    };
  };
  const Output merged = Conditional(scope_, p, {p}, add(1), add(100)).output;
  Node* reset = ops::AssignVariableOp(scope_, count, 0);
  const Output value = ops::ReadVariableOp(scope_, count, DType::kInt32);
  ASSERT_TRUE(scope_.ok()) << scope_.status();
  for (const bool optimise : {true, false}) {
    SessionOptions options = Threads(2);
    if (!optimise) options.disabled_passes = {"all"};
    Session session(&graph_, options);
    std::vector<Tensor> out;
    ASSERT_TRUE(session.Run({}, {}, {reset}, nullptr).ok());
    for (const bool taken : {true, false, true}) {
      const absl::Status status = session.Run({{p, Tensor::Scalar(taken)}}, {merged}, &out);
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_EQ(out[0].scalar<bool>(), taken);
    }
    ASSERT_TRUE(session.Run({}, {value}, &out).ok());
    EXPECT_EQ(out[0].scalar<int32_t>(), 102);
  }
}

// What waits for a dead node is dead, a ControlTrigger is not.
TEST_F(FramesTest, ControlEdgesFromDeadNodes) {
  const Output p = Given("p", DType::kBool), x = Given("x", DType::kFloat);
  const ops::SwitchOutputs branches = ops::Switch(scope_, x, p);
  Node* pivot = ops::Identity(scope_, branches.output_true).node();
  const Output dead = ops::Neg(scope_.Named("waits").WithControl({pivot}), x);
  const Output alive = ops::Neg(scope_.WithControl({ops::ControlTrigger(scope_.WithControl({pivot}))}), x);
  const Tensor one = Tensor::Scalar(1.0f);
  EXPECT_EQ(Run({{p, Tensor::Scalar(false)}, {x, one}}, {alive})[0].scalar<float>(), -1.0f);
  EXPECT_EQ(Run({{p, Tensor::Scalar(true)}, {x, one}}, {dead})[0].scalar<float>(), -1.0f);
  EXPECT_THAT(Error({{p, Tensor::Scalar(false)}, {x, one}}, {dead}), HasSubstr("'waits:0' is dead"));
}

// A Merge whose inputs no single predicate tells apart.
TEST_F(FramesTest, MergeOfUnlikeBranches) {
  const Output p = Given("p", DType::kBool), q = Given("q", DType::kBool), x = Given("x", DType::kFloat);
  const Output a = ops::Switch(scope_, x, p).output_true;
  const Output b = ops::Neg(scope_, ops::Switch(scope_, x, q).output_true);
  const ops::MergeOutputs merge = ops::Merge(scope_, {a, b});
  const Output after = ops::Mul(scope_.Named("after"), merge.output, 10.0f);
  for (const bool first : {true, false}) {
    for (const bool second : {true, false}) {
      const Feeds feeds = {{p, Tensor::Scalar(first)}, {q, Tensor::Scalar(second)}, {x, Tensor::Scalar(1.0f)}};
      if (!first && !second) {
        EXPECT_THAT(Error(feeds, {after}), HasSubstr("'after:0' is dead"));
        continue;
      }
      const std::vector<Tensor> values = Run(feeds, {after, merge.value_index});
      EXPECT_EQ(values[0].scalar<float>(), first ? 10.0f : -10.0f);
      EXPECT_EQ(values[1].scalar<int32_t>(), first ? 0 : 1);
    }
  }
}

// A loop in a branch that is not taken does not begin: here it would never end.
TEST_F(FramesTest, DeadLoopsDoNotRun) {
  const Output p = Given("p", DType::kBool), x = Given("x", DType::kFloat);
  const Output merged = Conditional(
                            scope_, p, {x},
                            [](const Scope& scope, const Outputs& in) {
                              Loop loop(scope, "endless", {in[0]});
                              loop.Condition(ops::LessEqual(loop.scope(), loop.test(0), loop.test(0)));
                              loop.Close({ops::Neg(loop.scope(), loop.body(0))});
                              return loop.exit(0);
                            },
                            [](const Scope& scope, const Outputs& in) { return ops::Neg(scope, in[0]); })
                            .output;
  EXPECT_EQ(Run({{p, Tensor::Scalar(false)}, {x, Tensor::Scalar(2.0f)}}, {merged})[0].scalar<float>(), -2.0f);
}

// Which of a loop variable's Merge's inputs came: the first of the first iteration, the other later.
TEST_F(FramesTest, ValueIndexOfALoop) {
  const Output n = Given("n", DType::kInt32);
  Loop loop(scope_, "loop", {Const(0), Const(0)});
  loop.Condition(ops::Less(scope_, loop.test(0), loop.Invariant(n)));
  loop.Close({ops::Add(scope_, loop.body(0), loop.Constant(Tensor::Scalar(1))),
              ops::Add(scope_, loop.body(1), Output(loop.merge(0), 1))});
  EXPECT_EQ(Run({{n, Tensor::Scalar(7)}}, {loop.exit(1)})[0].scalar<int32_t>(), 6);
}

TEST_F(FramesTest, ParallelIterationsChangeNothing) {
  const Output n = Given("n", DType::kInt32), x = Given("x", DType::kFloat, {1000});
  const Output a = PowerLoop(scope_, "one", n, x, Const(1.01f), 1)[1];
  const Output b = PowerLoop(scope_, "many", n, x, Const(1.01f), 32)[1];
  Tensor given(DType::kFloat, {1000});
  for (int i = 0; i < 1000; ++i) given.data<float>()[i] = std::sin(static_cast<float>(i));
  const std::vector<Tensor> values = Run({{n, Tensor::Scalar(100)}, {x, given}}, {a, b});
  EXPECT_TRUE(BitwiseEqual(values[0], values[1]));
}

// Several threads may run one plan at once.
TEST_F(FramesTest, ConcurrentRuns) {
  const Output n = Given("n", DType::kInt32), x = Given("x", DType::kFloat);
  const Outputs out = PowerLoop(scope_, "loop", n, x, Const(2.0f));
  Session session(&graph_, Threads(2));
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int run = 0; run < 50; ++run) {
        std::vector<Tensor> values;
        const int32_t trips = (t * 7 + run) % 20;
        ASSERT_TRUE(session.Run({{n, Tensor::Scalar(trips)}, {x, Tensor::Scalar(1.0f)}}, out, &values).ok());
        ASSERT_EQ(values[1].scalar<float>(), std::exp2(static_cast<float>(trips)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// while (true): with kernels in the loop, and with none.
TEST_F(FramesTest, LoopsThatNeverEndAreStopped) {
  const Output x = Given("x", DType::kFloat), p = Given("p", DType::kBool);
  Loop busy(scope_, "busy", {x});
  busy.Condition(ops::LessEqual(scope_, busy.test(0), busy.test(0)));
  busy.Close({ops::Neg(scope_, busy.body(0))});
  Loop idle(scope_, "idle", {p});
  idle.Condition(idle.test(0));
  idle.Close({idle.body(0)});
  ASSERT_TRUE(scope_.ok()) << scope_.status();
  Session session(&graph_, Threads(2));
  for (const Output& fetch : {busy.exit(0), idle.exit(0)}) {
    const Feeds feeds = {{x, Tensor::Scalar(1.0f)}, {p, Tensor::Scalar(true)}};
    std::vector<Tensor> out;
    RunOptions late;
    late.deadline = absl::Now() + absl::Milliseconds(50);
    EXPECT_EQ(session.Run(feeds, {fetch}, {}, &out, late).code(), absl::StatusCode::kDeadlineExceeded);
    Cancellation cancellation;
    RunOptions cancelled;
    cancelled.cancellation = &cancellation;
    std::thread canceller([&] {
      absl::SleepFor(absl::Milliseconds(50));
      cancellation.Cancel();
    });
    EXPECT_EQ(session.Run(feeds, {fetch}, {}, &out, cancelled).code(), absl::StatusCode::kCancelled);
    canceller.join();
  }
}

// Each trip makes a stack that holds the stack before, and the gradient array of a gradient array.
TEST_F(FramesTest, ResourcesInsideEachOtherDieInTurn) {
  const Output n = Given("n", DType::kInt32);
  const ops::TensorArrayV3Outputs array = ops::TensorArrayV3(scope_, 1, DType::kFloat);
  Loop loop(scope_, "loop", {Const(0), ops::StackV2(scope_, -1, DType::kResource), array.handle, array.flow});
  loop.Condition(ops::Less(scope_, loop.test(0), loop.Invariant(n)));
  const Output one = loop.Constant(Tensor::Scalar(1));
  const Output outer = ops::StackV2(scope_, one, DType::kResource);
  const Output pushed = ops::StackPushV2(scope_, outer, loop.body(1));
  const ops::TensorArrayGradV3Outputs gradient = ops::TensorArrayGradV3(scope_, loop.body(2), loop.body(3), "g");
  loop.Close({ops::Add(scope_, loop.body(0), one), ops::Identity(scope_.WithControl({pushed.node()}), outer),
              gradient.grad_handle, gradient.flow_out});
  const Output size = ops::TensorArraySizeV3(scope_, loop.exit(2), loop.exit(3));
  const Output inner = ops::StackPopV2(scope_, loop.exit(1), DType::kResource);
  Session session(&graph_, Threads(1));
  std::vector<Tensor> out;
  const absl::Status status = session.Run({{n, Tensor::Scalar(300'000)}}, {size, inner}, &out);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(out[0].scalar<int32_t>(), 1);
}

// Steps down as long as x is above the step's number; x^2 at the bottom, else x plus a hundred times the step.
Output Stairs(const Scope& scope, int step, int steps, Output x) {
  if (step == steps) return ops::Mul(scope, x, x);
  const Output below = ops::Greater(scope, x, ops::Const(scope, static_cast<float>(step)));
  return Conditional(
             scope, below, {x}, [&](const Scope& s, const Outputs& in) { return Stairs(s, step + 1, steps, in[0]); },
             [&](const Scope& s, const Outputs& in) {
               return ops::Add(s, in[0], ops::Const(s, 100.0f * static_cast<float>(step)));
             })
      .output;
}

// However deep branches are nested, where they come together nothing is left of them: nothing needs to be checked.
TEST_F(FramesTest, FiftyConditionalsInsideEachOtherInALoop) {
  const Output n = Given("n", DType::kInt32), x = Given("x", DType::kFloat);
  Loop loop(scope_, "loop", {Const(0), x});
  loop.Condition(ops::Less(scope_, loop.test(0), loop.Invariant(n)));
  const Output one = loop.Constant(Tensor::Scalar(1));
  const Scope body = loop.scope().WithControl({ops::Identity(loop.scope(), loop.body(1)).node()});
  loop.Close({ops::Add(scope_, loop.body(0), one), Stairs(body, 0, 50, loop.body(1))});
  for (const float start : {-1.0f, 0.5f, 16.5f, 48.5f, 70.0f}) {
    const float expected = start > 49 ? start * start : start + 100 * std::max(0.0f, std::ceil(start));
    const std::vector<Tensor> out = Run({{n, Tensor::Scalar(1)}, {x, Tensor::Scalar(start)}}, {loop.exit(1)});
    EXPECT_EQ(out[0].scalar<float>(), expected) << start;
  }
  const auto plan = Plan::Compile(graph_, {{n, x}, {loop.exit(1)}, {}}, {});
  ASSERT_TRUE(plan.ok()) << plan.status();
  for (const FrameProgram::Instruction& instruction : (*plan)->frames()->instructions) {
    EXPECT_NE(instruction.op, FrameProgram::Op::kCheck);
  }
}

// ---- what is refused ----

TEST_F(FramesTest, PredicatesMustBeScalars) {
  const Output p = Given("p", DType::kBool, Shape()), x = Given("x", DType::kFloat);
  const Output y = ops::Merge(scope_, {ops::Switch(scope_.Named("s"), x, p).output_true, x}).output;
  const Tensor vector = Tensor::Vector<bool>({true, false});
  EXPECT_THAT(Error({{p, vector}, {x, Tensor::Scalar(1.0f)}}, {y}),
              ::testing::AllOf(HasSubstr("'s' (op: Switch)"), HasSubstr("bool [2], expected a scalar bool")));
  Loop loop(scope_, "loop", {x});
  loop.Condition(loop.Invariant(p));
  loop.Close({loop.body(0)});
  EXPECT_THAT(Error({{p, vector}, {x, Tensor::Scalar(1.0f)}}, {loop.exit(0)}),
              ::testing::AllOf(HasSubstr("(op: LoopCond)"), HasSubstr("bool [2], expected a scalar bool")));
}

TEST_F(FramesTest, FetchesAndFeedsInsideOfLoops) {
  const Output n = Given("n", DType::kInt32), x = Given("x", DType::kFloat);
  Loop loop(scope_, "loop", {Const(0), x});
  loop.Condition(ops::Less(scope_, loop.test(0), loop.Invariant(n)));
  const Output inside = ops::Neg(scope_.Named("inside"), loop.body(1));
  loop.Close({ops::Add(scope_, loop.body(0), loop.Constant(Tensor::Scalar(1))), inside});
  const Feeds feeds = {{n, Tensor::Scalar(2)}, {x, Tensor::Scalar(1.0f)}};
  EXPECT_THAT(Error(feeds, {inside}), HasSubstr("the fetch 'inside:0' is inside of the loop 'loop'"));
  Feeds more = feeds;
  more.emplace_back(inside, Tensor::Scalar(1.0f));
  EXPECT_THAT(Error(more, {loop.exit(1)}), HasSubstr("'loop'"));
}

TEST_F(FramesTest, AnEdgeThatEntersWithoutEnter) {
  const Output n = Given("n", DType::kInt32), x = Given("x", DType::kFloat);
  Loop loop(scope_, "loop", {Const(0), x});
  loop.Condition(ops::Less(scope_, loop.test(0), loop.Invariant(n)));
  loop.Close({ops::Add(scope_, loop.body(0), loop.Constant(Tensor::Scalar(1))),
              ops::Mul(scope_.Named("crosses"), loop.body(1), x)});
  const auto named = ::testing::AllOf(HasSubstr("'crosses'"), HasSubstr("'loop'"), HasSubstr("root"));
  EXPECT_THAT(Error({{n, Tensor::Scalar(2)}, {x, Tensor::Scalar(1.0f)}}, {loop.exit(1)}), named);
  // A file of such is not even loaded.
  std::string bytes;
  ASSERT_TRUE(ExportGraphDefString(graph_, {}, &bytes).ok());
  Graph loaded;
  const absl::Status status = ImportGraphDefString(bytes, {}, &loaded);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), named);
  EXPECT_EQ(loaded.num_nodes(), 0);
}

TEST_F(FramesTest, AnExitThatDoesNotWaitForTheEnd) {
  const Output n = Given("n", DType::kInt32);
  Loop loop(scope_, "loop", {Const(0)});
  loop.Condition(ops::Less(scope_, loop.test(0), loop.Invariant(n)));
  const Output next = ops::Add(scope_, loop.body(0), loop.Constant(Tensor::Scalar(1)));
  const Output early = ops::Exit(scope_.Named("early"), next);
  loop.Close({next});
  EXPECT_THAT(Error({{n, Tensor::Scalar(2)}}, {early, loop.exit(0)}),
              ::testing::AllOf(HasSubstr("'early' (op Exit)"), HasSubstr("goes on"), HasSubstr("false output")));
}

TEST_F(FramesTest, ANextIterationThatDiesWhileTheLoopGoesOn) {
  const Output n = Given("n", DType::kInt32);
  Loop loop(scope_, "loop", {Const(0)});
  loop.Condition(ops::Less(scope_, loop.test(0), loop.Invariant(n)));
  const Output one = loop.Constant(Tensor::Scalar(1));
  const Output small = ops::Less(scope_, loop.body(0), loop.Constant(Tensor::Scalar(3)));
  loop.Close({ops::Switch(scope_, ops::Add(scope_, loop.body(0), one), small).output_true});
  EXPECT_EQ(Run({{n, Tensor::Scalar(2)}}, {loop.exit(0)})[0].scalar<int32_t>(), 2);
  EXPECT_THAT(Error({{n, Tensor::Scalar(9)}}, {loop.exit(0)}),
              ::testing::AllOf(HasSubstr("(op: NextIteration)"), HasSubstr("dead while its loop goes on")));
}

TEST_F(FramesTest, ALoopThatWaitsForItself) {
  const Output x = Given("x", DType::kFloat), n = Given("n", DType::kInt32);
  const Outputs first = PowerLoop(scope_, "same", n, x, Const(2.0f));
  const Outputs second = PowerLoop(scope_, "same", n, first[1], Const(2.0f));
  EXPECT_THAT(Error({{n, Tensor::Scalar(2)}, {x, Tensor::Scalar(1.0f)}}, {second[1]}), HasSubstr("'same'"));
}

TEST_F(FramesTest, AMergeThatIsNotClosed) {
  const Output x = Given("x", DType::kFloat);
  Node* merge = OpenMerge(scope_, ops::Enter(scope_, x, "open"));
  const Output exit = ops::Exit(scope_, merge->output(0));
  EXPECT_THAT(Error({{x, Tensor::Scalar(1.0f)}}, {exit}), HasSubstr("input 1 is not connected"));
}

TEST_F(FramesTest, AFrameThatIsNoLoop) {
  const Output x = Given("x", DType::kFloat);
  const Output inside = ops::Neg(scope_, ops::Enter(scope_, x, "once"));
  const Output y = ops::Add(scope_, ops::Exit(scope_, inside), x);
  EXPECT_EQ(Run({{x, Tensor::Scalar(2.0f)}}, {y})[0].scalar<float>(), 0.0f);
}

// A file may have them, without Exits: refused unless one insists, then they run for what they do, if a target asks.
TEST_F(FramesTest, LoopsThatNothingLeaves) {
  const Output n = Given("n", DType::kInt32);
  const Output count = ops::VarHandleOp(scope_.Named("count"), DType::kInt32, Shape::Scalar());
  ops::AssignVariableOp(scope_.Named("reset"), count, 0);
  ops::ReadVariableOp(scope_.Named("value"), count, DType::kInt32);
  Loop loop(scope_, "loop", {Const(0)});
  loop.Condition(ops::Less(scope_, loop.test(0), loop.Invariant(n)));
  Node* add = ops::AssignAddVariableOp(scope_.Named("add"), loop.Invariant(count), loop.body(0));
  loop.Close({ops::Add(scope_.WithControl({add}), loop.body(0), loop.Constant(Tensor::Scalar(1)))});
  ops::Neg(scope_.Named("in_a_frame"), ops::Enter(scope_, n, "once"));
  GraphDef def;
  ASSERT_TRUE(ExportGraphDef(graph_, {}, &def).ok());
  auto* nodes = def.mutable_node();
  nodes->erase(std::remove_if(nodes->begin(), nodes->end(), [](const NodeDef& node) { return node.op() == "Exit"; }),
               nodes->end());
  Graph loaded;
  EXPECT_THAT(std::string(ImportGraphDef(def, {}, &loaded).message()), HasSubstr("import with allow_unsupported"));
  ImportOptions options;
  options.allow_unsupported = true;
  const absl::Status status = ImportGraphDef(def, options, &loaded);
  ASSERT_TRUE(status.ok()) << status;
  for (const int threads : {1, 2}) {
    Session session(&loaded, Threads(threads));
    std::vector<Tensor> out;
    const auto run = [&](int32_t trips, const char* fetch, const std::vector<Node*>& targets,
                         const RunOptions& options) {
      return session.Run({{*loaded.FindOutput("n"), Tensor::Scalar(trips)}}, {*loaded.FindOutput(fetch)}, targets, &out,
                         options);
    };
    ASSERT_TRUE(session.Run({}, {}, {loaded.FindNode("reset")}, nullptr).ok());
    EXPECT_EQ(run(5, "n", {loaded.FindNode("in_a_frame")}, {}), absl::OkStatus());
    EXPECT_EQ(run(5, "value", {}, {}), absl::OkStatus());
    EXPECT_EQ(out[0].scalar<int32_t>(), 0);
    EXPECT_EQ(run(5, "n", {loaded.FindNode("add")}, {}), absl::OkStatus());
    EXPECT_EQ(run(5, "value", {}, {}), absl::OkStatus());
    EXPECT_EQ(out[0].scalar<int32_t>(), 0 + 1 + 2 + 3 + 4);
    RunOptions late;
    late.deadline = absl::Now() + absl::Milliseconds(50);
    EXPECT_EQ(run(INT32_MAX, "n", {loaded.FindNode("add")}, late).code(), absl::StatusCode::kDeadlineExceeded);
  }
}

// Errors of nodes in loops carry their names, and the session goes on.
TEST_F(FramesTest, ErrorsInsideOfLoops) {
  const Output n = Given("n", DType::kInt32), x = Given("x", DType::kFloat, Shape());
  Loop loop(scope_, "loop", {Const(0), x});
  loop.Condition(ops::Less(scope_, loop.test(0), loop.Invariant(n)));
  loop.Close({ops::Add(scope_, loop.body(0), loop.Constant(Tensor::Scalar(1))),
              ops::MatMul(scope_.Named("product"), loop.body(1), loop.body(1))});
  Tensor square = Tensor::Of<float>({2, 2}, {1, 1, 0, 1});
  EXPECT_THAT(Error({{n, Tensor::Scalar(2)}, {x, Tensor::Of<float>({1, 2}, {1, 1})}}, {loop.exit(1)}),
              HasSubstr("'product' (op: MatMul)"));
  EXPECT_THAT(Run({{n, Tensor::Scalar(2)}, {x, square}}, {loop.exit(1)})[0].flat<float>(), ElementsAre(1, 4, 0, 1));
}

}  // namespace
}  // namespace nabla

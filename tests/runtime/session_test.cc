#include "nabla/runtime/session.h"

#include <chrono>
#include <thread>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nabla/runtime/resources.h"
#include "nabla/tests/runtime/test_ops.h"

namespace nabla {
namespace {

using ::nabla::testing::Attrs;
using ::nabla::testing::Call;
using ::nabla::testing::CallNode;
using ::nabla::testing::Constant;
using ::nabla::testing::Floats;
using ::nabla::testing::Placeholder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tensor Vector(std::initializer_list<float> values) { return Tensor::Vector<float>(values); }

SessionOptions Threads(int threads) {
  SessionOptions options;
  options.num_threads = threads;
  return options;
}

class SessionTest : public ::testing::Test {
 protected:
  SessionTest() : scope_(&graph_) { nabla::testing::RegisterTestOps(); }

  absl::Status Run(const Feeds& feeds, const Outputs& fetches, const std::vector<Node*>& targets = {},
                   const RunOptions& options = {}) {
    if (session_ == nullptr) session_ = std::make_unique<Session>(&graph_, Threads(2));
    return session_->Run(feeds, fetches, targets, &out_, options);
  }
  Output Variable(const std::string& name) {
    return Call(scope_.Named(name), "VarHandleOp", {},
                Attrs({{"dtype", DType::kFloat}, {"shape", Shape({2})}, {"shared_name", name}}));
  }
  Output Read(Output handle) { return Call(scope_, "ReadVariableOp", {handle}, Attrs({{"dtype", DType::kFloat}})); }
  Node* Assign(Output handle, Output value) { return CallNode(scope_, "AssignVariableOp", {handle, value}); }

  Graph graph_;
  Scope scope_;
  std::unique_ptr<Session> session_;
  std::vector<Tensor> out_;
};

TEST_F(SessionTest, FeedsAndFetches) {
  const Output x = Placeholder(scope_, "x", Shape({kUnknownDim}));
  const Output y = Call(scope_, "Add", {x, x});
  const Output z = Call(scope_, "Mul", {y, x});
  ASSERT_TRUE(Run({{x, Vector({1, 2, 3})}}, {z, y, z}).ok());
  ASSERT_EQ(out_.size(), 3);
  EXPECT_THAT(Floats(out_[0]), ElementsAre(2, 8, 18));
  EXPECT_THAT(Floats(out_[1]), ElementsAre(2, 4, 6));
  EXPECT_THAT(Floats(out_[2]), ElementsAre(2, 8, 18));
  // The same plan, another size.
  ASSERT_TRUE(Run({{x, Vector({5})}}, {z, y, z}).ok());
  EXPECT_THAT(Floats(out_[0]), ElementsAre(50));
}

TEST_F(SessionTest, NothingAtAll) {
  EXPECT_TRUE(Run({}, {}).ok());
  EXPECT_TRUE(out_.empty());
}

TEST_F(SessionTest, AFetchOfAFeedGivesTheFeed) {
  const Output x = Placeholder(scope_, "x", Shape({2}));
  const Output y = Call(scope_, "Neg", {x});
  ASSERT_TRUE(Run({{x, Vector({1, 2})}}, {x, y, x}).ok());
  EXPECT_THAT(Floats(out_[0]), ElementsAre(1, 2));
  EXPECT_THAT(Floats(out_[1]), ElementsAre(-1, -2));
  EXPECT_THAT(Floats(out_[2]), ElementsAre(1, 2));
}

TEST_F(SessionTest, AFedTensorCutsItsProducer) {
  const Output x = Placeholder(scope_, "x", Shape({2}));
  const Output broken = Call(scope_, "TestFail", {x}, Attrs({{"message", "never"}}));
  const Output y = Call(scope_, "Neg", {broken});
  // Neither is x needed nor does the failing node run.
  ASSERT_TRUE(Run({{broken, Vector({3, 4})}}, {y}).ok());
  EXPECT_THAT(Floats(out_[0]), ElementsAre(-3, -4));
}

TEST_F(SessionTest, FeedingAConstantOverridesIt) {
  const Output c = Constant(scope_, Vector({1, 2}));
  const Output y = Call(scope_, "Neg", {c});
  ASSERT_TRUE(Run({}, {y}).ok());
  EXPECT_THAT(Floats(out_[0]), ElementsAre(-1, -2));
  ASSERT_TRUE(Run({{c, Vector({7, 8})}}, {y}).ok());
  EXPECT_THAT(Floats(out_[0]), ElementsAre(-7, -8));
}

TEST_F(SessionTest, FeedingAShapeConstantDoesNotLeaveStaleShapes) {
  const Output x = Placeholder(scope_, "x", Shape({4}));
  const Output dims = Constant(scope_, Tensor::Vector<int32_t>({4}));
  const Output y = Call(scope_, "Reshape", {x, dims});  // statically [4], as x is
  const Output shape = Call(scope_, "Shape", {y});
  ASSERT_TRUE(Run({{x, Vector({1, 2, 3, 4})}, {dims, Tensor::Vector<int32_t>({2})}}, {dims}).ok());
  absl::Status status = Run({{x, Vector({1, 2, 3, 4})}, {dims, Tensor::Of<int32_t>({1}, {4})}}, {shape});
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(out_[0].data<int32_t>()[0], 4);
}

TEST_F(SessionTest, OneOutputOfSeveralMayBeFed) {
  const Output x = Placeholder(scope_, "x", Shape({2}));
  Node* two = CallNode(scope_, "TestTwo", {x});
  const Output sum = Call(scope_, "Add", {two->output(0), two->output(1)});
  ASSERT_TRUE(Run({{x, Vector({1, 2})}, {two->output(1), Vector({10, 20})}}, {sum}).ok());
  EXPECT_THAT(Floats(out_[0]), ElementsAre(11, 22));
}

TEST_F(SessionTest, UnfedPlaceholderIsNamedWithTypeAndShape) {
  const Output x = Placeholder(scope_.Sub("in"), "x", Shape({kUnknownDim, 784}));
  const absl::Status status = Run({}, {Call(scope_, "Neg", {x})});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("node 'in/x' (op: Placeholder)"), HasSubstr("float"), HasSubstr("[?,784]")));
}

TEST_F(SessionTest, WrongFeedsAreRefused) {
  const Output x = Placeholder(scope_, "x", Shape({kUnknownDim, 2}));
  const Output y = Call(scope_, "Neg", {x});
  absl::Status status = Run({{x, Vector({1, 2})}}, {y});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("'x:0'"), HasSubstr("[2]"), HasSubstr("[?,2]")));
  status = Run({{x, Tensor(DType::kInt32, Shape({1, 2}))}}, {y});
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("int32"), HasSubstr("float")));
  status = Run({{x, Tensor()}}, {y});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  // Also where the fed tensor is only fetched.
  EXPECT_EQ(Run({{x, Vector({1})}}, {x}).code(), absl::StatusCode::kInvalidArgument);
  const Tensor good(DType::kFloat, Shape({1, 2}));
  status = Run({{x, good}, {x, good}}, {y});
  EXPECT_THAT(std::string(status.message()), HasSubstr("fed twice"));
}

TEST_F(SessionTest, ForeignAndMissingTensorsAreRefused) {
  Graph other;
  Scope other_scope(&other);
  const Output foreign = Placeholder(other_scope, "foreign", Shape({2}));
  const Output x = Placeholder(scope_, "x", Shape({2}));
  for (const absl::Status& status :
       {Run({}, {foreign}), Run({{foreign, Vector({1, 2})}}, {}), Run({}, {}, {foreign.node()}), Run({}, {Output()}),
        Run({}, {Output(x.node(), 1)}), Run({}, {Output(x.node(), -1)}), Run({}, {}, {nullptr})}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  }
  EXPECT_THAT(std::string(Run({}, {foreign}).message()), HasSubstr("'foreign'"));
}

TEST_F(SessionTest, ErrorsNameNodeAndOp) {
  const Output x = Placeholder(scope_, "x", Shape({2}));
  const Output bad = Call(scope_.Sub("a").Named("b"), "TestFail", {x}, Attrs({{"message", "went wrong"}}));
  const absl::Status status = Run({{x, Vector({1, 2})}}, {Call(scope_, "Neg", {bad})});
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(status.message(), "node 'a/b' (op: TestFail): went wrong");
  // The session works on.
  ASSERT_TRUE(Run({{x, Vector({1, 2})}}, {Call(scope_, "Neg", {x})}).ok());
}

TEST_F(SessionTest, AnOpWithoutKernelIsNamed) {
  const Output x = Placeholder(scope_, "x", Shape({2}));
  const absl::Status status = Run({{x, Vector({1, 2})}}, {Call(scope_, "TestNoKernel", {x})});
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("node 'TestNoKernel' (op: TestNoKernel)"));
}

TEST_F(SessionTest, AKernelThatSetsNoOutputIsCaught) {
  const Output x = Placeholder(scope_, "x", Shape({2}));
  const absl::Status status = Run({{x, Vector({1, 2})}}, {Call(scope_, "TestForgetful", {x})});
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
}

TEST_F(SessionTest, ADeadTensorHasNoValueToFetch) {
  const Output x = Placeholder(scope_, "x", Shape({2}));
  const Output pred = Constant(scope_, Tensor::Scalar(true));
  Node* branch = CallNode(scope_.Named("branch"), "Switch", {x, pred});
  EXPECT_TRUE(Run({{x, Vector({1, 2})}}, {branch->output(1)}).ok());
  const absl::Status status = Run({{x, Vector({1, 2})}}, {branch->output(0)});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("branch"));
}

TEST_F(SessionTest, VariablesLiveInTheSession) {
  const Output v = Variable("v");
  Node* init = Assign(v, Constant(scope_, Vector({1, 2})));
  Node* add = CallNode(scope_, "AssignAddVariableOp", {v, Constant(scope_, Vector({10, 20}))});
  const Output read = Read(v);
  const absl::Status status = Run({}, {read});
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("(op: ReadVariableOp)"), HasSubstr("'v'")));
  ASSERT_TRUE(Run({}, {}, {init}).ok());
  ASSERT_TRUE(Run({}, {}, {add}).ok());
  ASSERT_TRUE(Run({}, {}, {add}).ok());
  ASSERT_TRUE(Run({}, {read}).ok());
  EXPECT_THAT(Floats(out_[0]), ElementsAre(21, 42));
  // Another session starts afresh.
  Session other(&graph_, Threads(1));
  EXPECT_EQ(other.Run({}, {read}, &out_).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(SessionTest, ControlEdgesOrderEffects) {
  const Output v = Variable("v");
  Node* init = Assign(v, Constant(scope_, Vector({1, 2})));
  const Output before = Read(v);
  Node* add =
      CallNode(scope_.WithControl({before.node()}), "AssignAddVariableOp", {v, Constant(scope_, Vector({10, 20}))});
  const Output after = Call(scope_.WithControl({add}), "ReadVariableOp", {v}, Attrs({{"dtype", DType::kFloat}}));
  ASSERT_TRUE(Run({}, {}, {init}).ok());
  ASSERT_TRUE(Run({}, {after, before}).ok());
  EXPECT_THAT(Floats(out_[0]), ElementsAre(11, 22));
  EXPECT_THAT(Floats(out_[1]), ElementsAre(1, 2));
}

TEST_F(SessionTest, OrderIsKeptThroughDroppedAndFoldedNodes) {
  // init -> Identity -> constant -> folded sum -> after: every link is one that a pass removes.
  const Output x = Placeholder(scope_, "x", Shape({2}));
  auto order = [&](const Scope& scope, Output in, const std::string& tag) {
    return Call(scope, "TestOrder", {in}, Attrs({{"tag", tag}}));
  };
  const Output first = order(scope_, x, "first");
  const Output identity = Call(scope_, "Identity", {first});
  const Output one = Constant(scope_.WithControl({identity.node()}), Vector({1, 1}));
  const Output sum = Call(scope_, "Add", {one, one});
  const Output second = order(scope_, sum, "second");
  const Output third = order(scope_.WithControl({Call(scope_, "Identity", {second}).node()}), x, "third");
  for (int threads : {1, 4}) {
    Session session(&graph_, Threads(threads));
    for (int round = 0; round < 20; ++round) {
      testing::ClearTags();
      ASSERT_TRUE(session.Run({{x, Vector({1, 2})}}, {third}, &out_).ok());
      EXPECT_THAT(testing::Tags(), ElementsAre("first", "second", "third"));
    }
  }
}

TEST_F(SessionTest, AShapeThatIsFoldedStillOrdersEffects) {
  const Output v = Variable("v");
  Node* init = Assign(v, Constant(scope_, Vector({1, 2})));
  const Output read = Read(v);
  const Output negative = Call(scope_, "Neg", {read});
  // The new value depends on the old one only through its shape, which is static.
  const Output fill = Call(scope_, "Fill", {Call(scope_, "Shape", {negative}), Constant(scope_, Tensor::Scalar(9.0f))});
  Node* assign = Assign(v, fill);
  for (int threads : {1, 3}) {
    Session session(&graph_, Threads(threads));
    for (int round = 0; round < 20; ++round) {
      ASSERT_TRUE(session.Run({}, {}, {init}, nullptr).ok());
      absl::Status status = session.Run({}, {negative}, {assign}, &out_);
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_THAT(Floats(out_[0]), ElementsAre(-1, -2));
    }
  }
}

TEST_F(SessionTest, StatefulNodesRunOnceEach) {
  const Output x = Placeholder(scope_, "x", Shape({2}));
  const Output a = Call(scope_, "TestCount", {x});
  const Output b = Call(scope_, "TestCount", {x});  // equal, but not to be merged
  const Output sum = Call(scope_, "Add", {a, b});
  testing::NumCounted() = 0;
  ASSERT_TRUE(Run({{x, Vector({1, 2})}}, {sum, sum, a}).ok());
  EXPECT_EQ(testing::NumCounted(), 2);
  // Not needed, not run.
  ASSERT_TRUE(Run({{x, Vector({1, 2})}}, {x}).ok());
  EXPECT_EQ(testing::NumCounted(), 2);
}

TEST_F(SessionTest, AGrownGraphIsPlannedAnew) {
  const Output x = Placeholder(scope_, "x", Shape({2}));
  const Output y = Call(scope_, "Neg", {x});
  ASSERT_TRUE(Run({{x, Vector({1, 2})}}, {y}).ok());
  const Output z = Call(scope_, "Add", {y, x});
  ASSERT_TRUE(Run({{x, Vector({1, 2})}}, {z}).ok());
  EXPECT_THAT(Floats(out_[0]), ElementsAre(0, 0));
  // A changed one, too.
  ASSERT_TRUE(graph_.ReplaceInput(z.node(), 0, x).ok());
  ASSERT_TRUE(Run({{x, Vector({1, 2})}}, {z}).ok());
  EXPECT_THAT(Floats(out_[0]), ElementsAre(2, 4));
}

TEST_F(SessionTest, GrowthAloneCostsNoNewPlan) {
  const Output x = Placeholder(scope_, "x", Shape({2}));
  const Output y = Call(scope_, "Neg", {x});
  int compiled = 0;
  SessionOptions options{1};
  options.dump_passes = [&compiled](absl::string_view pass, const std::string&) { compiled += pass == "prune"; };
  Session session(&graph_, options);
  const std::shared_ptr<Session::Callable> callable = *session.MakeCallable({x}, {y}, {});
  const auto run = [&] {
    EXPECT_TRUE(session.Run({{x, Vector({1, 2})}}, {y}, &out_).ok());
    EXPECT_THAT(Floats(out_[0]), ElementsAre(-1, -2));
    EXPECT_TRUE(session.RunCallable(*callable, {Vector({1, 2})}, &out_).ok());
  };
  run();
  const int before = compiled;
  EXPECT_GT(before, 0);
  const Output z = Call(scope_, "Add", {y, x});
  graph_.AddControlEdge(x.node(), z.node());  // of what no plan holds yet
  run();
  EXPECT_EQ(compiled, before);
  ASSERT_TRUE(graph_.ReplaceInput(z.node(), 0, x).ok());
  run();
  EXPECT_EQ(compiled, before * 2);
}

TEST_F(SessionTest, ManySignatures) {
  // More than are cached.
  const Output x = Placeholder(scope_, "x", Shape({1}));
  Outputs ys;
  for (int i = 0; i < 150; ++i) ys.push_back(Call(scope_, "Add", {i == 0 ? x : ys.back(), x}));
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 150; ++i) {
      ASSERT_TRUE(Run({{x, Vector({1})}}, {ys[i]}).ok());
      EXPECT_THAT(Floats(out_[0]), ElementsAre(i + 2));
    }
  }
}

TEST_F(SessionTest, Callables) {
  const Output x = Placeholder(scope_, "x", Shape({kUnknownDim}));
  const Output y = Call(scope_, "Neg", {x});
  Session session(&graph_, Threads(2));
  auto callable = session.MakeCallable({x}, {y}, {});
  ASSERT_TRUE(callable.ok());
  const Tensor feed = Vector({1, 2});
  ASSERT_TRUE(session.RunCallable(**callable, {feed}, &out_).ok());
  EXPECT_THAT(Floats(out_[0]), ElementsAre(-1, -2));
  EXPECT_EQ(session.RunCallable(**callable, {}, &out_).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(session.RunCallable(**callable, {Tensor::Scalar(1)}, &out_).code(), absl::StatusCode::kInvalidArgument);
  const Output z = Call(scope_, "Add", {y, x});
  ASSERT_TRUE(graph_.ReplaceInput(y.node(), 0, x).ok());
  ASSERT_TRUE(session.RunCallable(**callable, {feed}, &out_).ok());
  EXPECT_THAT(Floats(out_[0]), ElementsAre(-1, -2));
  EXPECT_FALSE(session.MakeCallable({}, {z}, {}).ok());
}

TEST_F(SessionTest, RunSteps) {
  const Output x = Placeholder(scope_, "x", Shape({1}));
  const Output y = Call(scope_, "Neg", {x});
  Session session(&graph_, Threads(1));
  std::vector<float> seen;
  const absl::Status status = session.RunSteps(
      10,
      [&](int64_t step) {
        return Feeds{{x, Vector({static_cast<float>(step)})}};
      },
      {y}, {},
      [&](int64_t step, const std::vector<Tensor>& fetched) {
        seen.push_back(fetched[0].data<float>()[0]);
        return step < 3;
      });
  ASSERT_TRUE(status.ok());
  EXPECT_THAT(seen, ElementsAre(0, -1, -2, -3));
}

TEST_F(SessionTest, Cancellation) {
  const Output x = Placeholder(scope_, "x", Shape({2}));
  const Output y = Call(scope_, "TestCount", {Call(scope_, "TestBlock", {x})});
  Cancellation cancellation;
  RunOptions options;
  options.cancellation = &cancellation;
  testing::NumCounted() = 0;
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    cancellation.Cancel();
  });
  const auto start = std::chrono::steady_clock::now();
  const absl::Status status = Run({{x, Vector({1, 2})}}, {y}, {}, options);
  canceller.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  EXPECT_EQ(testing::NumCounted(), 0);
  // Cancelled before it began.
  EXPECT_EQ(Run({{x, Vector({1, 2})}}, {y}, {}, options).code(), absl::StatusCode::kCancelled);
}

TEST_F(SessionTest, Deadline) {
  const Output x = Placeholder(scope_, "x", Shape({2}));
  const Output y = Call(scope_, "TestCount", {Call(scope_, "TestBlock", {x})});
  testing::NumCounted() = 0;
  RunOptions options;
  options.deadline = absl::Now() + absl::Milliseconds(20);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(Run({{x, Vector({1, 2})}}, {y}, {}, options).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  EXPECT_EQ(testing::NumCounted(), 0);
  options.deadline = absl::InfinitePast();
  EXPECT_EQ(Run({{x, Vector({1, 2})}}, {y}, {}, options).code(), absl::StatusCode::kDeadlineExceeded);
  options.deadline = absl::Now() + absl::Hours(1);
  const Output quick = Call(scope_, "Neg", {x});
  EXPECT_TRUE(Run({{x, Vector({1, 2})}}, {quick}, {}, options).ok());
}

TEST_F(SessionTest, ADeadlineStopsALoopInsideAKernel) {
  const Output x = Placeholder(scope_, "x", Shape({2}));
  const Output y = Call(scope_, "TestLoop", {x}, Attrs({{"parts", int64_t{20'000}}}));  // two seconds
  for (int threads : {1, 4}) {
    session_ = std::make_unique<Session>(&graph_, Threads(threads));
    testing::NumLooped() = 0;
    RunOptions options;
    options.deadline = absl::Now() + absl::Milliseconds(20);
    EXPECT_EQ(Run({{x, Vector({1, 2})}}, {y}, {}, options).code(), absl::StatusCode::kDeadlineExceeded);
    EXPECT_LT(testing::NumLooped(), 20'000);
  }
}

TEST_F(SessionTest, UnknownPassNamesAreRefused) {
  SessionOptions options;
  options.disabled_passes = {"fold"};
  Session session(&graph_, options);
  const Output x = Placeholder(scope_, "x", Shape({2}));
  const absl::Status status = session.Run({{x, Vector({1, 2})}}, {Call(scope_, "Neg", {x})}, &out_);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("'fold'"), HasSubstr("constant_fold")));
}

TEST_F(SessionTest, PassesAreDumped) {
  SessionOptions options;
  std::vector<std::string> names;
  std::string last;
  options.dump_passes = [&](absl::string_view pass, const std::string& dump) {
    names.emplace_back(pass);
    last = dump;
  };
  options.disabled_passes = {"prune"};
  Session session(&graph_, options);
  const Output x = Placeholder(scope_, "x", Shape({2}));
  ASSERT_TRUE(session.Run({{x, Vector({1, 2})}}, {Call(scope_.Named("minus"), "Neg", {x})}, &out_).ok());
  EXPECT_THAT(names, ElementsAre("input", "drop_identities", "constant_fold", "common_subexpressions", "accumulate",
                                 "in_place"));
  EXPECT_THAT(last, HasSubstr("minus"));
}

TEST_F(SessionTest, ManyThreadsAtOnceAndAGrowingGraph) {
  const Output x = Placeholder(scope_, "x", Shape({kUnknownDim}));
  const Output v = Variable("v");
  const Output y = Call(scope_, "Add", {Call(scope_, "Neg", {x}), x});
  const Output one = Constant(scope_, Vector({1, 1}));
  Node* init = Assign(v, Constant(scope_, Vector({0, 0})));
  Node* add = CallNode(scope_, "AssignAddVariableOp", {v, one});
  const Output read = Read(v);
  Session session(&graph_, Threads(3));
  ASSERT_TRUE(session.Run({}, {}, {init}, nullptr).ok());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      std::vector<Tensor> out;
      for (int round = 0; round < 50; ++round) {
        EXPECT_TRUE(session.Run({{x, Vector({1, static_cast<float>(i)})}}, {y, x}, {add}, &out).ok());
        EXPECT_THAT(Floats(out[0]), ElementsAre(0, 0));
        EXPECT_EQ(Floats(out[1])[1], static_cast<float>(i));
        EXPECT_TRUE(session.Run({}, {read}, &out).ok());
        EXPECT_EQ(Floats(out[0])[0], Floats(out[0])[1]);
      }
    });
  }
  threads.emplace_back([&] {
    Scope scope(&graph_);
    for (int round = 0; round < 50; ++round) Call(scope, "Neg", {x});
  });
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(session.Run({}, {read}, &out_).ok());
  EXPECT_THAT(Floats(out_[0]), ElementsAre(200, 200));
}

}  // namespace
}  // namespace nabla

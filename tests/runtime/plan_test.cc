#include "nabla/runtime/plan.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nabla/runtime/cost.h"
#include "nabla/runtime/thread_pool.h"
#include "nabla/tests/runtime/test_ops.h"

namespace nabla {
namespace {

using ::nabla::testing::Attrs;
using ::nabla::testing::Call;
using ::nabla::testing::CallNode;
using ::nabla::testing::Constant;
using ::nabla::testing::Placeholder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class PlanTest : public ::testing::Test {
 protected:
  PlanTest() : scope_(&graph_) { nabla::testing::RegisterTestOps(); }

  std::shared_ptr<const Plan> Compile(const PlanRequest& request, std::vector<std::string> disabled = {}) {
    PlanOptions options;
    options.passes.disabled = std::move(disabled);
    options.passes.verify = true;
    auto plan = Plan::Compile(graph_, request, options);
    EXPECT_TRUE(plan.ok()) << plan.status();
    return plan.ok() ? *plan : nullptr;
  }
  static std::vector<std::string> Names(const Plan& plan) {
    std::vector<std::string> names;
    for (const Plan::Step& step : plan.steps()) names.push_back(step.node->name());
    return names;
  }

  Graph graph_;
  Scope scope_;
};

TEST_F(PlanTest, HoldsOnlyWhatIsNeeded) {
  const Output x = Placeholder(scope_, "x", Shape({2}));
  const Output a = Call(scope_.Named("a"), "Neg", {x});
  Call(scope_.Named("unused"), "Neg", {x});
  const Output b = Call(scope_.Named("b"), "Add", {a, x});
  Node* target = CallNode(scope_.Named("target"), "TestCount", {x});
  EXPECT_THAT(Names(*Compile({{x}, {b}, {}})), ElementsAre("a", "b"));
  EXPECT_THAT(Names(*Compile({{x}, {b}, {target}})), ElementsAre("a", "b", "target"));
  EXPECT_THAT(Names(*Compile({{x, a}, {b}, {}})), ElementsAre("b"));
  EXPECT_THAT(Names(*Compile({{x}, {x}, {}})), IsEmpty());
  EXPECT_THAT(Names(*Compile({{}, {}, {}})), IsEmpty());
}

TEST_F(PlanTest, ConstantsAndFeedsAreNoSteps) {
  const Output x = Placeholder(scope_, "x", Shape({2}));
  const Output c = Constant(scope_, Tensor::Vector<float>({1, 2}));
  const Output y = Call(scope_.Named("y"), "Add", {x, c});
  auto plan = Compile({{x}, {y, c}, {}});
  EXPECT_THAT(Names(*plan), ElementsAre("y"));
  EXPECT_EQ(plan->constants().size(), 1);
  EXPECT_EQ(plan->num_slots(), 2);
  EXPECT_EQ(plan->fetches()[1].kind, Plan::Fetch::Kind::kConstant);
  EXPECT_EQ(plan->feeds()[0].name, "x:0");
}

TEST_F(PlanTest, SlotsAreReleasedByTheirLastReader) {
  const Output x = Placeholder(scope_, "x", Shape({2}));
  const Output a = Call(scope_.Named("a"), "Neg", {x});
  const Output b = Call(scope_.Named("b"), "Neg", {a});
  const Output c = Call(scope_.Named("c"), "Add", {a, b});
  Node* two = CallNode(scope_.Named("two"), "TestTwo", {c});
  auto plan = Compile({{x}, {two->output(0)}, {}});
  ASSERT_THAT(Names(*plan), ElementsAre("a", "b", "c", "two"));
  auto releases = [&](int i) {
    const Plan::Step& step = plan->steps()[i];
    return std::vector<int32_t>(plan->releases().begin() + step.first_release,
                                plan->releases().begin() + step.first_release + step.num_releases);
  };
  auto slot = [&](int i) { return plan->steps()[i].first_output; };
  EXPECT_THAT(releases(0), ElementsAre(plan->feeds()[0].slot));
  EXPECT_THAT(releases(1), IsEmpty());
  EXPECT_THAT(releases(2), ElementsAre(slot(0), slot(1)));
  // c dies, and so does the output that nobody reads; the fetched one stays.
  EXPECT_THAT(releases(3), ElementsAre(slot(2), slot(3) + 1));
  EXPECT_EQ(plan->steps()[0].exclusive_inputs, 0u);  // a feed
  EXPECT_EQ(plan->steps()[1].exclusive_inputs, 0u);  // a is read again
  EXPECT_EQ(plan->steps()[2].exclusive_inputs, 3u);
}

TEST_F(PlanTest, StepsInOrderReuseSlots) {
  const Output x = Placeholder(scope_, "x", Shape({2}));
  Output y = x;
  for (int i = 0; i < 100; ++i) y = Call(scope_, "Add", {y, x});
  const Output z = Call(scope_, "Neg", {y});
  auto plan = Compile({{x}, {z, y}, {}});
  EXPECT_EQ(plan->steps().size(), 101);
  EXPECT_LE(plan->num_slots(), 4);
  for (const Plan::Step& step : plan->steps()) {
    for (int i = 0; i < step.num_inputs; ++i) {
      EXPECT_NE(plan->input_sources()[step.first_input + i], step.first_output);
    }
  }
}

TEST_F(PlanTest, ParallelPlansCountReaders) {
  const Output x = Placeholder(scope_, "x", Shape({1'000'000}));
  const Output a = Call(scope_, "Neg", {x});
  const Output b = Call(scope_, "Mul", {a, a}), c = Call(scope_, "Sub", {a, x});
  ThreadPool pool(2);
  PlanOptions options;
  options.environment.pool = &pool;
  auto plan = *Plan::Compile(graph_, {{x}, {b, c}, {}}, options);
  ASSERT_TRUE(plan->parallel());
  ASSERT_EQ(plan->num_slots(), 4);
  EXPECT_EQ(plan->slot_readers()[plan->feeds()[0].slot], 2);
  EXPECT_EQ(plan->slot_readers()[plan->steps()[0].first_output], 2);
  EXPECT_EQ(plan->slot_readers()[plan->steps()[1].first_output], Plan::kKept);
}

TEST_F(PlanTest, CountsPredecessorsOnce) {
  const Output x = Placeholder(scope_, "x", Shape({2}));
  Node* two = CallNode(scope_.Named("two"), "TestTwo", {x});
  Call(scope_.WithControl({two}).Named("sum"), "Add", {two->output(0), two->output(1)});
  auto plan = Compile({{x}, {graph_.FindNode("sum")->output(0)}, {}});
  ASSERT_EQ(plan->steps().size(), 2);
  EXPECT_THAT(plan->roots(), ElementsAre(0));
  EXPECT_EQ(plan->parallel_steps()[1].pending, 1);
  EXPECT_EQ(plan->parallel_steps()[0].num_successors, 1);
}

TEST_F(PlanTest, AConstantThatWaitsHandsThatOn) {
  const Output x = Placeholder(scope_, "x", Shape({2}));
  std::vector<Node*> few, many;
  for (int i = 0; i < 6; ++i) {
    many.push_back(CallNode(scope_, "TestCount", {x}));
    if (i < 2) few.push_back(many.back());
  }
  const Output c = Constant(scope_.WithControl(few), Tensor::Vector<float>({1, 2}));
  const Output y = Call(scope_.Named("y"), "Add", {x, c});
  auto plan = Compile({{x}, {y}, {}});
  EXPECT_EQ(plan->steps().size(), 3);
  EXPECT_EQ(plan->parallel_steps()[2].pending, 2);
  // Many become one step that stands between.
  const Output d = Constant(scope_.WithControl(many), Tensor::Vector<float>({3, 4}));
  plan = Compile({{x}, {Call(scope_.Named("z"), "Add", {x, d})}, {}});
  EXPECT_EQ(plan->steps().size(), 8);
  EXPECT_EQ(plan->parallel_steps()[6].pending, 6);
  EXPECT_EQ(plan->parallel_steps()[7].pending, 1);
}

TEST_F(PlanTest, FoldedConstantsDoNotDisturbTheOrder) {
  // Readers of folded constants, which have high ids, stay where they were.
  const Output x = Placeholder(scope_, "x", Shape({2}));
  const Output c = Constant(scope_, Tensor::Vector<float>({1, 2}));
  const Output a = Call(scope_.Named("a"), "Add", {x, Call(scope_, "Neg", {c})});
  const Output b = Call(scope_.Named("b"), "Neg", {x});
  EXPECT_THAT(Names(*Compile({{x}, {b, a}, {}})), ElementsAre("a", "b"));
}

TEST_F(PlanTest, CyclesAreErrors) {
  const Output x = Placeholder(scope_, "x", Shape({2}));
  Node* a = CallNode(scope_.Named("a"), "Neg", {x});
  Node* b = CallNode(scope_.Named("b"), "Neg", {a->output(0)});
  graph_.AddControlEdge(b, a);
  const absl::Status status = Plan::Compile(graph_, {{x}, {b->output(0)}, {}}, {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("cycle"));
}

TEST_F(PlanTest, NodesAddedOutOfOrder) {
  // An edge from a later node to an earlier one.
  const Output x = Placeholder(scope_, "x", Shape({2}));
  Node* early = CallNode(scope_.Named("early"), "Neg", {x});
  Node* late = CallNode(scope_.Named("late"), "Neg", {x});
  graph_.AddControlEdge(late, early);
  EXPECT_THAT(Names(*Compile({{x}, {early->output(0)}, {}}, {"all"})), ElementsAre("late", "early"));
}

TEST_F(PlanTest, UserGraphIsLeftAlone) {
  const Output x = Placeholder(scope_, "x", Shape({2}));
  const Output c = Constant(scope_, Tensor::Vector<float>({1, 2}));
  const Output y = Call(scope_, "Add", {x, Call(scope_, "Neg", {Call(scope_, "Identity", {c})})});
  const uint64_t version = graph_.version();
  const int nodes = graph_.num_nodes();
  Compile({{x}, {y}, {}});
  EXPECT_EQ(graph_.version(), version);
  EXPECT_EQ(graph_.num_nodes(), nodes);
}

TEST_F(PlanTest, ChecksFeeds) {
  const Output x = Placeholder(scope_, "x", Shape({kUnknownDim, 2}));
  auto plan = Compile({{x}, {x}, {}});
  EXPECT_TRUE(plan->CheckFeed(0, Tensor(DType::kFloat, Shape({5, 2}))).ok());
  EXPECT_FALSE(plan->CheckFeed(0, Tensor(DType::kFloat, Shape({5, 3}))).ok());
  EXPECT_FALSE(plan->CheckFeed(0, Tensor(DType::kFloat, Shape({2}))).ok());
  EXPECT_FALSE(plan->CheckFeed(0, Tensor(DType::kDouble, Shape({5, 2}))).ok());
}

TEST_F(PlanTest, CostsGrowWithWork) {
  const Output x = Placeholder(scope_, "x", Shape({1000, 1000}));
  const Output s = Placeholder(scope_, "s", Shape::Scalar());
  const double scalar = EstimateCost(*Call(scope_, "Add", {s, s}).node());
  const double large = EstimateCost(*Call(scope_, "Add", {x, x}).node());
  const double reshape = EstimateCost(*Call(scope_, "Identity", {x}).node());
  EXPECT_LT(scalar, 1'000);
  EXPECT_GT(large, 100'000);
  EXPECT_LT(reshape, 1'000);
  const double product = EstimateCost(*Call(scope_, "MatMul", {x, x}).node());
  EXPECT_GT(product, 10 * large);
  // Unknown sizes give something sensible.
  const Output u = Placeholder(scope_, "u", Shape());
  EXPECT_GT(EstimateCost(*Call(scope_, "Add", {u, u}).node()), 0);
  EXPECT_GT(EstimateCost(*Call(scope_, "MatMul", {u, u}).node()), 0);
}

}  // namespace
}  // namespace nabla

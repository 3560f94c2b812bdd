#include "nabla/graph/passes/accumulate.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nabla/graph/buffer.h"
#include "nabla/graph/passes/pipeline.h"
#include "nabla/ops/ops.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/session.h"

namespace nabla {
namespace {

using ::testing::ElementsAre;

class AccumulateTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    RegisterAllOps();
    RegisterAllKernels();
  }

  Outputs Terms(int count, DType dtype) {
    Outputs terms;
    for (int i = 0; i < count; ++i) {
      terms.push_back(ops::Placeholder(scope_.Named(absl::StrCat("t", i)), dtype, {.shape = {2}}));
    }
    return terms;
  }

  void Apply() {
    ASSERT_TRUE(scope_.ok()) << scope_.status();
    ASSERT_TRUE(Accumulate(compilation_).ok());
    const absl::Status sound = VerifyCompilation(compilation_);
    ASSERT_TRUE(sound.ok()) << sound;
  }

  Graph graph_;
  Scope scope_{&graph_};
  Compilation compilation_{.graph = &graph_};
};

TEST_F(AccumulateTest, AddsInTheOrderOfTheInputs) {
  Outputs t = Terms(4, DType::kFloat);
  Output sum = ops::AccumulateNV2(scope_.Named("sum"), {t[0], t[1], t[2], t[3]}, Shape({2}));
  Output y = ops::Neg(scope_, sum);
  compilation_.fetches = {sum};
  Apply();
  Output last = y.node()->input(0);
  EXPECT_EQ(compilation_.fetches[0], last);
  for (int i = 3; i > 0; --i) {
    ASSERT_EQ(last.node()->op(), "AddN");
    ASSERT_EQ(last.node()->num_inputs(), 2);
    EXPECT_EQ(last.node()->input(1), t[i]);
    last = last.node()->input(0);
  }
  EXPECT_EQ(last, t[0]);
}

TEST_F(AccumulateTest, ControlEdgesStay) {
  Outputs t = Terms(3, DType::kFloat);
  Node* before = ops::NoOp(scope_.Named("before"));
  Output sum = ops::AccumulateNV2(scope_.WithControl({before}), {t[0], t[1], t[2]}, Shape({2}));
  Node* after = ops::NoOp(scope_.Named("after").WithControl({sum.node()}));
  Output y = ops::Neg(scope_, sum);
  Apply();
  EXPECT_THAT(y.node()->input(0).node()->control_inputs(), ElementsAre(before));
  EXPECT_THAT(after->control_inputs(), ElementsAre(y.node()->input(0).node()));
}

TEST_F(AccumulateTest, ASumThatWaitsForATermOfAnotherMakesNoCycle) {
  const Output x = ops::Placeholder(scope_, DType::kFloat, {.shape = {2}});
  Outputs early, terms;
  for (int i = 0; i < 3; ++i) early.push_back(ops::Neg(scope_, x));
  for (int i = 0; i < 8; ++i) terms.push_back(ops::Neg(scope_, x));
  const Output late = ops::Exp(scope_, x);
  const Output inner =
      ops::AccumulateNV2(scope_.WithControl({late.node()}), Inputs(early.begin(), early.end()), Shape({2}));
  terms.insert(terms.begin(), inner);
  terms.push_back(late);
  const Output sum = ops::AccumulateNV2(scope_, Inputs(terms.begin(), terms.end()), Shape({2}));
  compilation_.fetches = {sum};
  Apply();
  Session session(&graph_);
  std::vector<Tensor> out;
  const absl::Status status = session.Run({{x, Tensor::Vector<float>({0, 0})}}, {compilation_.fetches[0]}, &out);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(std::vector<float>(out[0].data<float>(), out[0].data<float>() + 2), ElementsAre(1, 1));
}

TEST_F(AccumulateTest, TermsWaitForTheSumEightBefore) {
  Output x = ops::Placeholder(scope_, DType::kFloat, {.shape = {2}});
  Outputs terms;
  for (int i = 0; i < 12; ++i) terms.push_back(ops::Neg(scope_, x));
  Inputs inputs(terms.begin(), terms.end());
  compilation_.fetches = {ops::AccumulateNV2(scope_, inputs, Shape({2}))};
  Apply();
  for (int i = 0; i < 12; ++i) EXPECT_EQ(terms[i].node()->num_control_inputs(), i > 8 ? 1 : 0) << i;
  Node* sum = terms[11].node()->control_inputs()[0];
  EXPECT_EQ(sum->input(1), terms[3]);
}

// The fixture checks that there is no cycle.
TEST_F(AccumulateTest, TermsNeverWaitForWhatNeedsThem) {
  Output x = ops::Placeholder(scope_, DType::kFloat, {.shape = {2}});
  Outputs terms;
  for (int i = 0; i < 12; ++i) terms.push_back(ops::Neg(scope_, x));
  terms[0] = ops::Tanh(scope_, terms[11]);
  Output inner = ops::AccumulateNV2(scope_, Inputs(terms.begin(), terms.end()), Shape({2}));
  for (Output& term : terms) term = ops::Tanh(scope_, inner);
  terms[2] = inner;  // a sum as a term
  terms[9] = inner;
  compilation_.fetches = {ops::AccumulateNV2(scope_, Inputs(terms.begin(), terms.end()), Shape({2}))};
  Apply();
}

TEST_F(AccumulateTest, NoTermWaitsWhereThereAreBranches) {
  Output x = ops::Placeholder(scope_, DType::kFloat, {.shape = {2}});
  Output yes = ops::Placeholder(scope_, DType::kBool, {.shape = {}});
  Output taken = ops::Switch(scope_, x, yes).output_true;
  Outputs terms;
  for (int i = 0; i < 12; ++i) terms.push_back(ops::Neg(scope_, taken));
  compilation_.fetches = {ops::AccumulateNV2(scope_, Inputs(terms.begin(), terms.end()), Shape({2}))};
  Apply();
  for (Output term : terms) EXPECT_EQ(term.node()->num_control_inputs(), 0);
}

TEST_F(AccumulateTest, ShortAndNarrowSumsAreLeftAlone) {
  Outputs two = Terms(2, DType::kFloat);
  Output pair = ops::AccumulateNV2(scope_, {two[0], two[1]}, Shape({2}));
  Scope narrow = scope_.Sub("narrow");
  Inputs halves;
  for (int i = 0; i < 3; ++i) halves.push_back(ops::Placeholder(narrow, DType::kHalf, {.shape = {2}}));
  Output half = ops::AccumulateNV2(scope_, halves, Shape({2}));
  compilation_.fetches = {pair, half};
  const int nodes = graph_.num_nodes();
  Apply();
  EXPECT_EQ(graph_.num_nodes(), nodes);
  EXPECT_EQ(compilation_.fetches[1], half);
}

// Thirty-two terms of 8 MB: AddN has all of them at once, AccumulateNV2 the sum and the next.
class AccumulateMemoryTest : public AccumulateTest, public ::testing::WithParamInterface<int> {
 protected:
  static constexpr int kTerms = 32;
  static constexpr int64_t kSize = 1 << 20;

  // The peak of a run in terms' sizes, and the first element of the sum.
  double Peak(Output sum, const Feeds& feeds, double* first) {
    Session session(&graph_, {.num_threads = GetParam()});
    std::vector<Tensor> fetched;
    Output mean = ops::Mean(scope_, sum, 0);
    for (int run = 0; run < 2; ++run) {
      ResetBufferPoolPeak();
      const int64_t before = GetBufferPoolStats().bytes_in_use;
      EXPECT_TRUE(session.Run(feeds, {mean}, &fetched).ok());
      const double peak = static_cast<double>(GetBufferPoolStats().peak_bytes_in_use - before);
      *first = fetched[0].scalar<double>();
      if (run == 1) return peak / (kSize * sizeof(double));
    }
    return 0;
  }
};

TEST_P(AccumulateMemoryTest, Peak) {
  Output x = ops::Placeholder(scope_, DType::kDouble, {.shape = {kSize}});
  Output factor = ops::Placeholder(scope_, DType::kDouble, {.shape = {}});
  Inputs terms;
  for (int i = 0; i < kTerms; ++i) terms.push_back(x * (factor + i));
  Output all = ops::AddN(scope_, terms);
  Output as_they_come = ops::AccumulateNV2(scope_, terms, Shape({kSize}));
  ASSERT_TRUE(scope_.ok()) << scope_.status();
  const Feeds feeds = {{x, Tensor::Of<double>({kSize}, std::vector<double>(kSize, 0.1))},
                       {factor, Tensor::Scalar(0.3)}};
  double expected = 0, sum = 0;
  EXPECT_GT(Peak(all, feeds, &expected), kTerms - 1);
  EXPECT_LT(Peak(as_they_come, feeds, &sum), GetParam() == 1 ? 4 : 12);
  EXPECT_EQ(sum, expected);
}

INSTANTIATE_TEST_SUITE_P(Threads, AccumulateMemoryTest, ::testing::Values(1, 2));

}  // namespace
}  // namespace nabla

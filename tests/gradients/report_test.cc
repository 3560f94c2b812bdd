#include "nabla/gradients/report.h"

#include "absl/strings/str_cat.h"
#include "nabla/ops/while.h"
#include "nabla/tests/gradients/fixture.h"

namespace nabla {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Kind = GradientCut::Kind;

class ReportTest : public GradientsTest {
 protected:
  void SetUp() override { x_ = ops::Placeholder(scope_.Named("x"), DType::kFloat, {.shape = {3}}); }

  // The report agrees with what Gradients finds.
  GradientReport Explain(const Outputs& ys, Output x, const Outputs& stop_gradients = {}) {
    EXPECT_TRUE(scope_.ok()) << scope_.status();
    GradientReport report = ExplainGradients(ys, {x}, stop_gradients)[0];
    Grads grads = Differentiate(ys, {x}, {.stop_gradients = stop_gradients});
    EXPECT_EQ(report.has_gradient, !grads[0].none());
    EXPECT_EQ(report.x, x);
    return report;
  }

  static std::vector<std::string> Reasons(const GradientReport& report) {
    std::vector<std::string> reasons;
    for (const GradientCut& cut : report.cuts) reasons.push_back(cut.ToString());
    return reasons;
  }

  Output x_;
};

TEST_F(ReportTest, AnXWithAGradient) {
  // One path is cut, another is not.
  Output y = x_ * ops::StopGradient(scope_, x_);
  const GradientReport report = Explain({y}, x_);
  EXPECT_TRUE(report.has_gradient);
  EXPECT_TRUE(report.connected);
  EXPECT_THAT(report.cuts, IsEmpty());
  EXPECT_EQ(report.ToString(), "x:0 has a gradient");
  EXPECT_TRUE(Explain({x_}, x_).has_gradient);
}

TEST_F(ReportTest, NoPath) {
  Output y = ops::Const(scope_, 1.0);
  const GradientReport report = Explain({y}, x_);
  EXPECT_FALSE(report.connected);
  EXPECT_EQ(report.ToString(), "x:0 has no gradient: no path leads from 'x:0' to ys");
}

TEST_F(ReportTest, AnOpThatIsNotDifferentiable) {
  Output top = ops::ArgMax(scope_.Named("top"), x_, 0);
  Output y = ops::Cast(scope_.Named("y"), ops::Floor(scope_.Named("floor"), x_), DType::kDouble);
  EXPECT_EQ(Explain({y}, x_).Reason(), "op Floor (node 'floor') is not differentiable");
  const GradientReport report = Explain({ops::Cast(scope_.Named("z"), top, DType::kFloat)}, x_);
  // Nearer to ys than the op that made the integer is the place where the integer is read.
  EXPECT_THAT(Reasons(report), ElementsAre("'top:0' is int64, through which no gradient flows"));
  EXPECT_EQ(report.cuts[0].kind, Kind::kDType);
  EXPECT_EQ(report.cuts[0].consumer->name(), "z");
}

TEST_F(ReportTest, YsThatHaveNoGradientsThemselves) {
  Output top = ops::ArgMax(scope_.Named("top"), x_, 0);
  EXPECT_EQ(Explain({top}, x_).Reason(), "op ArgMax (node 'top') is not differentiable");
}

TEST_F(ReportTest, AConditionHasNone) {
  Output a = ops::Const(scope_, Tensor::Vector<float>({1, 2, 3})),
         b = ops::Const(scope_, Tensor::Vector<float>({4, 5, 6}));
  Output y = ops::Select(scope_.Named("y"), ops::Greater(scope_.Named("g"), x_, 0), a, b);
  EXPECT_EQ(Explain({y}, x_).Reason(), "'g:0' is bool, through which no gradient flows");
}

TEST_F(ReportTest, AnInputThatTheRuleLeavesOut) {
  Output data = ops::Const(scope_.Named("data"), Tensor::Vector<float>({1, 2, 3}));
  Output y = ops::Cast(scope_, ops::Print(scope_.Named("shown"), data, Inputs{x_}), DType::kDouble);
  const GradientReport report = Explain({y}, x_);
  EXPECT_EQ(report.Reason(), "op Print (node 'shown') gives its input 1, 'x:0', no gradient");
  ASSERT_EQ(report.cuts.size(), 1u);
  EXPECT_EQ(report.cuts[0].kind, Kind::kInput);
  EXPECT_EQ(report.cuts[0].tensor, x_);
  EXPECT_EQ(report.cuts[0].input, 1);
}

TEST_F(ReportTest, StopGradients) {
  Output middle = ops::Tanh(scope_.Named("middle"), x_);
  Output y = ops::Tanh(scope_, middle);
  const GradientReport report = Explain({y}, x_, {middle});
  EXPECT_EQ(report.Reason(), "'middle' is among stop_gradients");
  EXPECT_EQ(report.cuts[0].kind, Kind::kStopped);
  EXPECT_TRUE(ExplainGradients({y}, {middle}, {middle})[0].has_gradient);
}

TEST_F(ReportTest, EveryPathAndOnlyTheNearestCutOfEach) {
  Output deep = ops::StopGradient(scope_.Named("deep"), x_);  // behind another one
  Output wall = ops::StopGradient(scope_.Named("wall"), ops::Tanh(scope_, deep));
  Output top = ops::Floor(scope_.Named("floor"), x_);
  Output y = ops::Tanh(scope_, wall) + top;
  const GradientReport report = Explain({y}, x_);
  EXPECT_THAT(Reasons(report), ElementsAre("op Floor (node 'floor') is not differentiable",
                                           "op StopGradient (node 'wall') is not differentiable"));
  EXPECT_EQ(report.Reason(),
            "op Floor (node 'floor') is not differentiable; op StopGradient (node 'wall') is not differentiable");
}

TEST_F(ReportTest, EachXHasItsOwnCuts) {
  Output other = ops::Placeholder(scope_.Named("other"), DType::kFloat, {.shape = {3}});
  Output used = ops::Placeholder(scope_.Named("used"), DType::kFloat, {.shape = {3}});
  Output y = ops::StopGradient(scope_.Named("a"), x_) + ops::StopGradient(scope_.Named("b"), other) + used;
  const std::vector<GradientReport> reports = ExplainGradients({y}, {x_, other, used}, {});
  ASSERT_EQ(reports.size(), 3u);
  EXPECT_THAT(Reasons(reports[0]), ElementsAre("op StopGradient (node 'a') is not differentiable"));
  EXPECT_THAT(Reasons(reports[1]), ElementsAre("op StopGradient (node 'b') is not differentiable"));
  EXPECT_TRUE(reports[2].has_gradient);
}

TEST_F(ReportTest, AnotherOutputOfTheSameOp) {
  Outputs parts = ops::Split(scope_.Named("parts"), 0, x_, 3);
  const GradientReport report = Explain({ops::Tanh(scope_, parts[0])}, parts[1]);
  EXPECT_FALSE(report.connected);
}

TEST_F(ReportTest, AnOutputThatIsNotUsedHasNoGradientToPassOn) {
  Output other = ops::Placeholder(scope_, DType::kFloat, {.shape = {3}});
  Outputs both = ops::IdentityN(scope_.Named("both"), {x_, other});
  const GradientReport report = Explain({ops::Tanh(scope_, both[1])}, x_);
  EXPECT_TRUE(report.connected);
  EXPECT_EQ(report.Reason(), "op IdentityN (node 'both') gives its input 0, 'x:0', no gradient");
  // What the other consumer cuts is the cause.
  Output stopped = ops::StopGradient(scope_.Named("stopped"), x_);
  Output part = ops::IdentityN(scope_, {stopped, other})[1];
  EXPECT_EQ(Explain({part + stopped}, x_).Reason(), "op StopGradient (node 'stopped') is not differentiable");
  // Found later than the other, which is nearer to ys.
  Output y = both[1] * ops::Tanh(scope_, ops::Tanh(scope_, both[0]));
  EXPECT_TRUE(Explain({y}, x_).has_gradient);
  EXPECT_TRUE(Explain({y}, other).has_gradient);
}

// In whichever order the two outputs are found.
TEST_F(ReportTest, AnOutputThatTheNextTripOfALoopUses) {
  Output step = ops::Placeholder(scope_.Named("step"), DType::kFloat, {.shape = {3}});
  for (const bool swapped : {false, true}) {
    Output result = ops::For(scope_, 3, {x_, x_}, [&](const Scope& body, Output, const Outputs& state) {
      const Outputs both = ops::IdentityN(body, {state[0], state[1] + step});
      return Outputs{swapped ? state[1] + both[0] : both[0] + state[1], both[1]};
    })[0];
    EXPECT_TRUE(Explain({result}, step).has_gradient) << swapped;
    EXPECT_TRUE(Explain({result}, x_).has_gradient) << swapped;
  }
}

TEST_F(ReportTest, ManyCutsAreCounted) {
  Inputs terms;
  for (int i = 0; i < 6; ++i) terms.push_back(ops::StopGradient(scope_.Named(absl::StrCat("s", i)), x_));
  const GradientReport report = Explain({ops::AddN(scope_, terms)}, x_);
  EXPECT_EQ(report.cuts.size(), 6u);
  EXPECT_TRUE(report.Reason().ends_with("(node 's3') is not differentiable; and 2 more")) << report.Reason();
}

TEST_F(ReportTest, LeavesTheGraphAlone) {
  Output y = ops::StopGradient(scope_, ops::Tanh(scope_, x_));
  const uint64_t version = graph_.version();
  ExplainGradients({y}, {x_}, {});
  EXPECT_EQ(graph_.version(), version);
}

// Linear, and without recursion.
TEST_F(ReportTest, LongChain) {
  Output y = ops::StopGradient(scope_.Named("start"), x_);
  for (int i = 0; i < 3000; ++i) y = ops::Identity(scope_, y);
  EXPECT_EQ(Explain({y}, x_).Reason(), "op StopGradient (node 'start') is not differentiable");
}

}  // namespace
}  // namespace nabla

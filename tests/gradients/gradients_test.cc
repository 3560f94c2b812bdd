// The engine: which ops it passes through, how it aggregates, what it refuses.
// The rules' numbers are checked by the op cases (tests/cases).
#include "nabla/gradients/gradients.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "nabla/gradients/rule.h"
#include "nabla/graph/constant_value.h"
#include "nabla/graph/import.h"
#include "nabla/graph/shape_inference.h"
#include "nabla/tests/gradients/fixture.h"

namespace nabla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(GradientsTest, ProductAndPower) {
  Output x = Double(3), y = Double(2);
  Grads g = Differentiate({x * x * y}, {x, y});
  EXPECT_THAT(Values(g[0].dense()), ElementsAre(12));
  EXPECT_THAT(Values(g[1].dense()), ElementsAre(9));
}

TEST_F(GradientsTest, ThirdDerivativeOfAPower) {
  Output x = Double(2);
  Output y = ops::Pow(scope_, x, 5.0);
  Output d = y;
  for (int i = 0; i < 3; ++i) d = Differentiate({d}, {x})[0].dense();
  EXPECT_THAT(Values(d), ElementsAre(60 * 4));
}

TEST_F(GradientsTest, YIsX) {
  Output x = Doubles({1, 2, 3});
  Grads g = Differentiate({x}, {x});
  EXPECT_THAT(Values(g[0].dense()), ElementsAre(1, 1, 1));
}

TEST_F(GradientsTest, YsThatDependOnEachOther) {
  Output x = Double(3);
  Output y = x * x, z = y * y;
  // d(y + z)/dx = 2x + 4x^3, d(y + z)/dy = 1 + 2y
  Grads g = Differentiate({y, z}, {x, y});
  EXPECT_THAT(Values(g[0].dense()), ElementsAre(6 + 108));
  EXPECT_THAT(Values(g[1].dense()), ElementsAre(19));
}

TEST_F(GradientsTest, TheSameXTwice) {
  Output x = Double(3);
  Grads g = Differentiate({x * x}, {x, x});
  EXPECT_THAT(Values(g[0].dense()), ElementsAre(6));
  EXPECT_THAT(Values(g[1].dense()), ElementsAre(6));
}

TEST_F(GradientsTest, OneXBehindAnother) {
  Output a = Double(5);
  Output b = a * 2;
  Grads g = Differentiate({a + b}, {a, b});
  EXPECT_THAT(Values(g[0].dense()), ElementsAre(3));
  EXPECT_THAT(Values(g[1].dense()), ElementsAre(1));
}

TEST_F(GradientsTest, StopGradientsGivesPartialDerivatives) {
  Output a = Double(5);
  Output b = a * 2;
  Grads g = Differentiate({a + b}, {a, b}, {.stop_gradients = {a, b}});
  EXPECT_THAT(Values(g[0].dense()), ElementsAre(1));
  EXPECT_THAT(Values(g[1].dense()), ElementsAre(1));
}

TEST_F(GradientsTest, StopGradientOpCutsThePath) {
  Output x = Double(3);
  Grads g = Differentiate({x * ops::StopGradient(scope_, x)}, {x});
  EXPECT_THAT(Values(g[0].dense()), ElementsAre(3));
  EXPECT_TRUE(Differentiate({ops::StopGradient(scope_, x)}, {x})[0].none());
}

TEST_F(GradientsTest, GradYsScaleTheResult) {
  Output x = Doubles({1, 2});
  Grads g = Differentiate({x * x, x * 3}, {x}, {.grad_ys = {Doubles({10, 100}), Gradient()}});
  EXPECT_THAT(Values(g[0].dense()), ElementsAre(23, 403));
}

TEST_F(GradientsTest, GradYsAreChecked) {
  Output x = Doubles({1, 2});
  Output y = x * x;
  EXPECT_THAT(std::string(Refusal({y}, {x}, {.grad_ys = {y, y}}).message()), HasSubstr("Passed 2 grad_ys for 1 ys"));
  Output text = ops::Const(scope_, "a");
  EXPECT_THAT(std::string(Refusal({y}, {x}, {.grad_ys = {text}}).message()), HasSubstr("has type string, expected"));
  EXPECT_THAT(std::string(Refusal({y}, {x}, {.grad_ys = {Doubles({1, 2, 3})}}).message()),
              HasSubstr("has shape [3], expected [2]"));
}

TEST_F(GradientsTest, UnconnectedIsNoneOrZero) {
  Output x = Doubles({1, 2}), y = Double(1);
  EXPECT_TRUE(Differentiate({y}, {x})[0].none());
  Grads zero = Differentiate({y}, {x}, {.unconnected = UnconnectedGradients::kZero});
  EXPECT_THAT(Values(zero[0].dense()), ElementsAre(0, 0));
}

TEST_F(GradientsTest, IntegersAreConstants) {
  Output x = Doubles({1.5, 2.5});
  Output i = ops::Cast(scope_, x, DType::kInt32);
  Output y = ops::Cast(scope_, i, DType::kDouble) * x;
  Grads g = Differentiate({y}, {x});
  EXPECT_THAT(Values(g[0].dense()), ElementsAre(1, 2));
}

TEST_F(GradientsTest, NothingIsAddedForInputsThatNeedNoGradient) {
  Output a = ops::Placeholder(scope_, DType::kFloat, {.shape = {4, 3}});
  Output w = ops::Placeholder(scope_, DType::kFloat, {.shape = {3, 2}});
  Differentiate({ops::MatMul(scope_, a, w)}, {w});
  EXPECT_EQ(CountOps("MatMul"), 2);  // the forward one and the one for w
}

TEST_F(GradientsTest, UnbroadcastsWithoutRunTimeShapesWhereStatic) {
  Output x = ops::Placeholder(scope_, DType::kDouble, {.shape = {2, 3}});
  Output row = Doubles({1, 2, 3});
  Output column = ops::Const(scope_, Tensor::Of<double>({2, 1}, {1, 2}));
  Output scalar = Double(2);
  Grads g = Differentiate({(x * row + column) * scalar}, {row, column, scalar, x});
  EXPECT_EQ(CountOps("BroadcastGradientArgs"), 0);
  EXPECT_EQ(CountOps("Shape"), 0);
  Feeds feeds = {{x, Tensor::Of<double>({2, 3}, {1, 2, 3, 4, 5, 6})}};
  EXPECT_THAT(Values(g[0].dense(), feeds), ElementsAre(10, 14, 18));
  EXPECT_THAT(Values(g[1].dense(), feeds), ElementsAre(6, 6));
  EXPECT_THAT(Values(g[2].dense(), feeds), ElementsAre(1 + 4 + 9 + 4 + 10 + 18 + 3 + 6));
  EXPECT_THAT(Values(g[3].dense(), feeds), ElementsAre(2, 4, 6, 2, 4, 6));
}

TEST_F(GradientsTest, UnbroadcastsAtRunTimeWhereShapesAreUnknown) {
  Output a = ops::Placeholder(scope_, DType::kDouble);
  Output b = ops::Placeholder(scope_, DType::kDouble);
  Grads g = Differentiate({a * b}, {a, b});
  Feeds feeds = {{a, Tensor::Of<double>({2, 1}, {1, 2})}, {b, Tensor::Of<double>({3}, {1, 10, 100})}};
  EXPECT_THAT(Values(g[0].dense(), feeds), ElementsAre(111, 111));
  EXPECT_THAT(Values(g[1].dense(), feeds), ElementsAre(3, 3, 3));
  Feeds same = {{a, Tensor::Of<double>({2}, {1, 2})}, {b, Tensor::Of<double>({2}, {3, 4})}};
  EXPECT_THAT(Values(g[0].dense(), same), ElementsAre(3, 4));
}

TEST_F(GradientsTest, AggregationMethods) {
  for (AggregationMethod method :
       {AggregationMethod::kAddN, AggregationMethod::kTree, AggregationMethod::kAccumulateN}) {
    Output x = Doubles({1, 2});
    int add_n = CountOps("AddN"), accumulate = CountOps("AccumulateNV2");
    Grads g = Differentiate({x * 2, x * 3, x * 4, x * 5}, {x}, {.aggregation = method});
    EXPECT_THAT(Values(g[0].dense()), ElementsAre(14, 14));
    EXPECT_EQ(CountOps("AddN") - add_n, method == AggregationMethod::kAddN   ? 1
                                        : method == AggregationMethod::kTree ? 3
                                                                             : 0);
    EXPECT_EQ(CountOps("AccumulateNV2") - accumulate, method == AggregationMethod::kAccumulateN ? 1 : 0);
  }
}

TEST_F(GradientsTest, GatherStaysSparse) {
  Output table = ops::Const(scope_, Tensor::Of<double>({3, 2}, {1, 2, 3, 4, 5, 6}));
  Output rows = ops::GatherV2(scope_, table, ops::Const(scope_, {2, 0, 2}), 0);
  Output weights = ops::Const(scope_, Tensor::Of<double>({3, 1}, {1, 10, 100}));
  Grads g = Differentiate({rows * weights}, {table});
  ASSERT_TRUE(g[0].is_slices());
  EXPECT_EQ(CountOps("UnsortedSegmentSum"), 0);
  EXPECT_THAT(Values(g[0].slices().values), ElementsAre(1, 1, 10, 10, 100, 100));
  EXPECT_THAT(Values(g[0].slices().indices), ElementsAre(2, 0, 2));
  EXPECT_THAT(Values(g[0].slices().dense_shape), ElementsAre(3, 2));
  EXPECT_THAT(Values(ToDense(scope_, g[0])), ElementsAre(10, 10, 0, 0, 101, 101));
}

TEST_F(GradientsTest, SeveralGathersConcatenate) {
  Output table = ops::Const(scope_, Tensor::Of<double>({3, 1}, {1, 2, 3}));
  Output a = ops::GatherV2(scope_, table, ops::Const(scope_, {1}), 0);
  Output b = ops::GatherV2(scope_, table, ops::Const(scope_, Tensor::Vector<int64_t>({1, 2})), 0);
  Grads g = Differentiate({a * 5, b * 7}, {table});
  ASSERT_TRUE(g[0].is_slices());
  EXPECT_THAT(Values(g[0].slices().indices), ElementsAre(1, 1, 2));
  EXPECT_THAT(Values(ToDense(scope_, g[0])), ElementsAre(0, 12, 7));
}

TEST_F(GradientsTest, SparseAndDenseTermsGiveADenseSum) {
  Output table = ops::Const(scope_, Tensor::Of<double>({3, 1}, {1, 2, 3}));
  Output a = ops::GatherV2(scope_, table, ops::Const(scope_, {1, 1}), 0);
  Grads g = Differentiate({a, table * 2}, {table});
  ASSERT_TRUE(g[0].is_dense());
  EXPECT_THAT(Values(g[0].dense()), ElementsAre(2, 4, 2));
}

TEST_F(GradientsTest, VariablesGetTheirReadersGradients) {
  Output handle = ops::VarHandleOp(scope_, DType::kDouble, {2}, {.shared_name = "v"});
  Output value = ops::ReadVariableOp(scope_, handle, DType::kDouble);
  Output y = value * value;
  Grads g = Differentiate({y}, {handle});
  ASSERT_TRUE(g[0].is_dense());
  Session session(&graph_);
  Node* assign = ops::AssignVariableOp(scope_, handle, Doubles({3, 4}));
  ASSERT_TRUE(session.Run({}, {}, {assign}, nullptr).ok());
  std::vector<Tensor> fetched;
  ASSERT_TRUE(session.Run({}, {g[0].dense()}, &fetched).ok());
  EXPECT_THAT(fetched[0].flat<double>(), ElementsAre(6, 8));
}

TEST_F(GradientsTest, ResourceGatherStaysSparse) {
  Output handle = ops::VarHandleOp(scope_, DType::kFloat, {5, 2}, {.shared_name = "t"});
  Output ids = ops::Const(scope_, Tensor::Of<int32_t>({2, 2}, {4, 0, 4, 4}));
  Output rows = ops::ResourceGather(scope_, handle, ids, DType::kFloat);
  Grads g = Differentiate({rows}, {handle});
  ASSERT_TRUE(g[0].is_slices());
  EXPECT_EQ(g[0].slices().indices.shape(), Shape({4}));
  EXPECT_EQ(ConstantValueAsShape(g[0].slices().dense_shape), Shape({5, 2}));
  EXPECT_THAT(Values(g[0].slices().values), ElementsAre(1, 1, 1, 1, 1, 1, 1, 1));
}

TEST_F(GradientsTest, NamesFollowTheForwardOps) {
  Output x = Double(3);
  Output y = ops::Tanh(scope_.Sub("layer").Named("act"), x);
  Grads g = Differentiate({y}, {x});
  EXPECT_TRUE(absl::StartsWith(g[0].dense().node()->name(), "gradients/layer/act_grad/")) << g[0].dense().name();
  Grads again = Differentiate({y}, {x});
  EXPECT_TRUE(absl::StartsWith(again[0].dense().node()->name(), "gradients_1/layer/act_grad/"))
      << again[0].dense().name();
}

TEST_F(GradientsTest, ColocationNamesTheForwardOp) {
  Output x = Double(3);
  Output y = ops::Tanh(scope_.Named("act"), x);
  Grads g = Differentiate({y}, {x}, {.colocate = true});
  const auto* loc = g[0].dense().node()->attr<std::vector<std::string>>("_class");
  ASSERT_NE(loc, nullptr);
  EXPECT_THAT(*loc, ElementsAre("loc:@act"));
}

TEST_F(GradientsTest, GatedGradientsWaitForEachOther) {
  Output a = Double(3), b = Double(4);
  Grads g = Differentiate({a * b}, {a, b}, {.gate_gradients = true});
  EXPECT_THAT(Values(g[0].dense()), ElementsAre(4));
  ASSERT_EQ(g[0].dense().node()->control_inputs().size(), 1u);
  EXPECT_EQ(g[0].dense().node()->control_inputs()[0]->num_control_inputs(), 2);
}

TEST_F(GradientsTest, AnAttributeNamesAnotherOpsRule) {
  Output x = Double(3);
  NodeBuilder builder(scope_.Named("odd"), "Tanh");
  Output y = builder.Input(x).Attr("_gradient_op_type", std::string("Square")).FinishOutput();
  EXPECT_THAT(Values(Differentiate({y}, {x})[0].dense()), ElementsAre(6));
  NodeBuilder unknown(scope_.Named("lost"), "Tanh");
  Output z = unknown.Input(x).Attr("_gradient_op_type", std::string("CustomGradient-1")).FinishOutput();
  EXPECT_EQ(Refusal({z}, {x}).message(),
            "No gradient defined for operation 'lost' (op type: Tanh, _gradient_op_type: CustomGradient-1)");
}

TEST_F(GradientsTest, PreventGradientRefuses) {
  Output x = Double(3);
  Output y = ops::PreventGradient(scope_.Named("wall"), x, {.message = "no way"});
  absl::Status status = Refusal({y}, {x});
  EXPECT_THAT(std::string(status.message()), HasSubstr("gradient of 'wall' (op type: PreventGradient)"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("no way"));
}

TEST_F(GradientsTest, ComplexYsNeedGradYs) {
  Output x = ops::Const(scope_, Tensor::Scalar(std::complex<double>(1, 2)));
  EXPECT_THAT(std::string(Refusal({x * x}, {x}).message()), HasSubstr("must set grad_ys"));
}

TEST_F(GradientsTest, BoolYsMayStandBesideOthers) {
  Output x = Doubles({1, 2});
  Output above = ops::Greater(scope_, x, Double(1.5));
  EXPECT_THAT(Values(Differentiate({x * x, above}, {x})[0].dense()), ElementsAre(2, 4));
  EXPECT_TRUE(Differentiate({above}, {x})[0].none());
  const Gradient itself = Differentiate({above}, {above})[0];
  EXPECT_EQ(itself.dense().dtype(), DType::kBool);
}

TEST_F(GradientsTest, OtherGraphsAndEmptyListsAreErrors) {
  Graph other;
  Scope other_scope(&other);
  Output elsewhere = ops::Const(other_scope, Tensor::Scalar(1.0));
  Output x = Double(1);
  EXPECT_THAT(std::string(Refusal({elsewhere}, {x}).message()), HasSubstr("belongs to another graph"));
  EXPECT_THAT(std::string(Refusal({x}, {elsewhere}).message()), HasSubstr("belongs to another graph"));
  EXPECT_THAT(std::string(Refusal({}, {x}).message()), HasSubstr("ys is empty"));
  EXPECT_THAT(std::string(Refusal({x}, {}).message()), HasSubstr("xs is empty"));
  EXPECT_THAT(std::string(Refusal({Output()}, {x}).message()), HasSubstr("ys[0] is none"));
}

// A registry of specs with ops that are only of use to tests.
class OddOpsTest : public ::testing::Test {
 protected:
  static absl::Status SameShape(ShapeContext& c) {
    c.SetOutput(0, c.input(0));
    return absl::OkStatus();
  }
  static void SetUpTestSuite() {
    RegisterAllOps();
    RegisterAllGradients();
    for (const char* op : {"TestWrongCount", "TestWrongDType", "TestWrongShape", "TestNoRule"}) {
      OpRegistry::Global().Add(op).Input("x: double").Output("y: double").Doc("For tests.").Shape(SameShape);
    }
    GradientRegistry& rules = GradientRegistry::Global();
    rules.Add("TestWrongCount", [](RuleContext& c) -> Grads { return {c.grad(0), c.grad(0)}; });
    rules.Add("TestWrongDType",
              [](RuleContext& c) -> Grads { return {ops::Cast(c.scope(), c.grad(0), DType::kFloat)}; });
    rules.Add("TestWrongShape", [](RuleContext& c) -> Grads {
      return {ops::Const(c.scope(), Tensor::Of<double>({2}, {1, 2}))};
    });
  }
  std::string ErrorFor(const std::string& op) {
    Graph graph;
    Scope scope(&graph);
    Output x = ops::Const(scope, Tensor::Of<double>({3}, {1, 2, 3}));
    Output y = NodeBuilder(scope.Named("odd"), op).Input(x).FinishOutput();
    EXPECT_TRUE(scope.ok()) << scope.status();
    return std::string(Gradients(scope, {y}, {x}).status().message());
  }
};

TEST_F(OddOpsTest, WrongCount) {
  EXPECT_THAT(ErrorFor("TestWrongCount"), HasSubstr("Num gradients 2 generated for op 'odd' (op type: "
                                                    "TestWrongCount) do not match num inputs 1"));
}

TEST_F(OddOpsTest, WrongDType) {
  EXPECT_THAT(ErrorFor("TestWrongDType"), HasSubstr("has type float, expected double"));
}

TEST_F(OddOpsTest, WrongShape) {
  EXPECT_THAT(ErrorFor("TestWrongShape"), HasSubstr("Incompatible shapes between op input and calculated "
                                                    "input gradient"));
}

TEST_F(OddOpsTest, NoRule) {
  EXPECT_EQ(ErrorFor("TestNoRule"), "No gradient defined for operation 'odd' (op type: TestNoRule)");
}

// What lies on a cycle waits for itself: refused, rather than taken for independent of x.
TEST_F(GradientsTest, InsideALoop) {
  ASSERT_TRUE(ImportGraphDefString(
                  "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_DOUBLE } } }"
                  "node { name: 'go' op: 'Const' attr { key: 'dtype' value { type: DT_BOOL } }"
                  "  attr { key: 'value' value { tensor { dtype: DT_BOOL tensor_shape {} } } } }"
                  "node { name: 'enter' op: 'Enter' input: 'x' attr { key: 'T' value { type: DT_DOUBLE } }"
                  "  attr { key: 'frame_name' value { s: 'loop' } } }"
                  "node { name: 'enter_go' op: 'Enter' input: 'go' attr { key: 'T' value { type: DT_BOOL } }"
                  "  attr { key: 'frame_name' value { s: 'loop' } } attr { key: 'is_constant' value { b: true } } }"
                  "node { name: 'merge' op: 'Merge' input: 'enter' input: 'next'"
                  "  attr { key: 'N' value { i: 2 } } attr { key: 'T' value { type: DT_DOUBLE } } }"
                  "node { name: 'cond' op: 'LoopCond' input: 'enter_go' }"
                  "node { name: 'switch' op: 'Switch' input: 'merge' input: 'cond'"
                  "  attr { key: 'T' value { type: DT_DOUBLE } } }"
                  "node { name: 'body' op: 'Neg' input: 'switch:1' attr { key: 'T' value { type: DT_DOUBLE } } }"
                  "node { name: 'next' op: 'NextIteration' input: 'body'"
                  "  attr { key: 'T' value { type: DT_DOUBLE } } }"
                  "node { name: 'exit' op: 'Exit' input: 'switch' attr { key: 'T' value { type: DT_DOUBLE } } }",
                  {}, &graph_)
                  .ok());
  absl::Status status = Refusal({*graph_.FindOutput("body")}, {*graph_.FindOutput("x")});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("'x:0', is outside of loops, but the first of ys is in loop 'loop'"));
}

TEST_F(GradientsTest, InsideTooManyLoops) {
  const Output x = Double(1);
  Output y = x;
  for (int i = 0; i < 65; ++i) y = ops::Enter(scope_, y, absl::StrCat("loop", i));
  y = ops::Neg(scope_, y);
  for (int i = 0; i < 65; ++i) y = ops::Exit(scope_, y);
  EXPECT_THAT(std::string(Refusal({y}, {x}).message()), HasSubstr("loop 'loop64' is inside of 64 others"));
}

// No recursion on the graph's depth, and linear time: a quadratic engine would
// run for minutes here.
TEST_F(GradientsTest, LongChain) {
  Output x = Double(1);
  Output y = x;
  for (int i = 0; i < 20000; ++i) y = ops::Identity(scope_, y);
  EXPECT_FALSE(Differentiate({y}, {x})[0].none());
}

TEST_F(GradientsTest, WideFan) {
  Output x = Double(1);
  Inputs terms;
  for (int i = 0; i < 20000; ++i) terms.push_back(ops::Neg(scope_, x));
  Grads g = Differentiate({ops::AddN(scope_, terms)}, {x});
  EXPECT_THAT(Values(g[0].dense()), ElementsAre(-20000));
}

}  // namespace
}  // namespace nabla

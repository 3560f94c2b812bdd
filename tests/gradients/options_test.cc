// What GradientOptions ask for: names, places, gates, sums, attrs, logs.
#include <algorithm>
#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "nabla/graph/import.h"
#include "nabla/tests/gradients/fixture.h"

namespace nabla {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

class OptionsTest : public GradientsTest {
 protected:
  std::string Error(const Outputs& ys, const Outputs& xs, const GradientOptions& options = {}) {
    return std::string(Refusal(ys, xs, options).message());
  }

  static std::vector<std::string> ClassOf(const Node* node) {
    const auto* value = node->attr<std::vector<std::string>>("_class");
    return value == nullptr ? std::vector<std::string>() : *value;
  }

  std::vector<Node*> NodesOf(absl::string_view op) {
    std::vector<Node*> nodes;
    graph_.ForEachNode([&](Node* node) {
      if (node->op() == op) nodes.push_back(node);
    });
    return nodes;
  }
};

// ---- grad_ys ----

TEST_F(OptionsTest, GradYsOfAnotherGraph) {
  Graph other;
  Scope other_scope(&other);
  Output x = Double(3);
  Output elsewhere = ops::Const(other_scope.Named("there"), Tensor::Scalar(1.0));
  EXPECT_EQ(Error({x}, {x}, {.grad_ys = {elsewhere}}),
            "Gradients: the gradient given for 'Const:0', 'there:0', belongs to another graph");
  IndexedSlices slices;
  slices.indices = slices.values = elsewhere;
  EXPECT_THAT(Error({x}, {x}, {.grad_ys = {slices}}), HasSubstr("belongs to another graph"));
}

TEST_F(OptionsTest, GradYsOfIntegersAndOfWhatHasNoNumbers) {
  Output i = ops::Const(scope_.Named("i"), 3, DType::kInt32);
  // An integer x that is y: its gradient is an integer.
  EXPECT_THAT(Values(Differentiate({i}, {i})[0].dense()), ElementsAre(1));
  Output text = ops::Const(scope_.Named("text"), "a");
  EXPECT_EQ(Error({text}, {text}), "Gradients: 'text:0' of type string must be numeric to obtain a default gradient");
  EXPECT_EQ(Error({text}, {text}, {.grad_ys = {i}}),
            "Gradients: 'text:0' of type string is not numeric, so it has no gradient");
  Output z = ops::Const(scope_.Named("z"), Tensor::Scalar(std::complex<double>(1, 2)));
  EXPECT_EQ(Error({z}, {z}, {.grad_ys = {Double(1)}}),
            "Gradients: the gradient given for 'z:0' of type complex128 has type double, expected a complex type");
  EXPECT_EQ(Error({z}, {z}), "Gradients of complex tensors must set grad_ys (y 'z:0' is complex128)");
}

// With z = x + iy, the gradient of |z|^2 is 2z (TensorFlow's convention).
TEST_F(OptionsTest, ComplexGradient) {
  Output z = ops::Const(scope_, Tensor::Scalar(std::complex<double>(3, -4)));
  Output modulus = ops::Real(scope_, z * ops::Conj(scope_, z), {.Tout = DType::kDouble});
  Output dz = Differentiate({modulus}, {z})[0].dense();
  ASSERT_EQ(dz.dtype(), DType::kComplex128);
  EXPECT_THAT(Values(ops::Real(scope_, dz, {.Tout = DType::kDouble})), ElementsAre(6));
  EXPECT_THAT(Values(ops::Imag(scope_, dz, {.Tout = DType::kDouble})), ElementsAre(-8));
  // Holomorphic z^2 with the cotangent i: conj(2z) i.
  Output i = ops::Const(scope_, Tensor::Scalar(std::complex<double>(0, 1)));
  Output dw = Differentiate({ops::Square(scope_, z)}, {z}, {.grad_ys = {i}})[0].dense();
  EXPECT_THAT(Values(ops::Real(scope_, dw, {.Tout = DType::kDouble})), ElementsAre(-8));
  EXPECT_THAT(Values(ops::Imag(scope_, dw, {.Tout = DType::kDouble})), ElementsAre(6));
}

TEST_F(OptionsTest, BFloat16) {
  Output x = ops::Cast(scope_, Doubles({1, 2}), DType::kBFloat16);
  Output dx = Differentiate({x * x * 3}, {x})[0].dense();
  EXPECT_EQ(dx.dtype(), DType::kBFloat16);
  EXPECT_THAT(Values(dx), ElementsAre(6, 12));
}

// ---- which tensors ----

TEST_F(OptionsTest, SeveralOutputsOfOneOp) {
  Output x = Doubles({1, 2, 3});
  Outputs parts = ops::Split(scope_, 0, x, 3);
  Grads g = Differentiate({parts[0] * 5, parts[2] * 7}, {x, parts[0], parts[1], parts[2]});
  EXPECT_THAT(Values(g[0].dense()), ElementsAre(5, 0, 7));
  EXPECT_THAT(Values(g[1].dense()), ElementsAre(5));
  EXPECT_TRUE(g[2].none());
  EXPECT_THAT(Values(g[3].dense()), ElementsAre(7));
  EXPECT_THAT(Values(Differentiate({parts[0]}, {parts[1]}, {.unconnected = UnconnectedGradients::kZero})[0].dense()),
              ElementsAre(0));
}

TEST_F(OptionsTest, XsAmongYs) {
  Output x = Double(3);
  Output y = x * x;
  Grads g = Differentiate({y, x}, {x, y}, {.grad_ys = {Gradient(), Double(10)}});
  EXPECT_THAT(Values(g[0].dense()), ElementsAre(16));
  EXPECT_THAT(Values(g[1].dense()), ElementsAre(1));
}

TEST_F(OptionsTest, TheSameYTwice) {
  Output x = Double(3);
  Output y = x * x;
  EXPECT_THAT(Values(Differentiate({y, y}, {x})[0].dense()), ElementsAre(12));
}

TEST_F(OptionsTest, ZerosForUnconnectedVariables) {
  Output handle = ops::VarHandleOp(scope_, DType::kDouble, {2}, {.shared_name = "v"});
  EXPECT_TRUE(Differentiate({Double(1)}, {handle})[0].none());
  Grads g = Differentiate({Double(1)}, {handle}, {.unconnected = UnconnectedGradients::kZero});
  Session session(&graph_);
  Node* assign = ops::AssignVariableOp(scope_, handle, Doubles({3, 4}));
  ASSERT_TRUE(session.Run({}, {}, {assign}, nullptr).ok());
  std::vector<Tensor> fetched;
  ASSERT_TRUE(session.Run({}, {g[0].dense()}, &fetched).ok());
  EXPECT_THAT(fetched[0].flat<double>(), ElementsAre(0, 0));
}

TEST_F(OptionsTest, ZerosForVariablesOfAnyTypeAndShape) {
  const auto zeros_for = [this](Output handle) {
    return Differentiate({Double(1)}, {handle}, {.unconnected = UnconnectedGradients::kZero})[0].dense();
  };
  const Output text = zeros_for(ops::VarHandleOp(scope_, DType::kString, {2}, {.shared_name = "text"}));
  const Output fixed = zeros_for(ops::VarHandleOp(scope_, DType::kBool, {2}, {.shared_name = "fixed"}));
  const Output handle = ops::VarHandleOp(scope_, DType::kBool, {kUnknownDim}, {.shared_name = "any"});
  const Output any = zeros_for(handle);
  Node* assign = ops::AssignVariableOp(scope_, handle, ops::Const(scope_, Tensor::Vector<bool>({true, true, true})));
  ASSERT_TRUE(scope_.ok()) << scope_.status();
  Session session(&graph_);
  std::vector<Tensor> fetched;
  // Only where the shape is not known, a value must be there.
  absl::Status status = session.Run({}, {text, fixed}, &fetched);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(fetched[0].flat<std::string>(), ElementsAre("", ""));
  EXPECT_THAT(fetched[1].flat<bool>(), ElementsAre(false, false));
  EXPECT_FALSE(session.Run({}, {any}, &fetched).ok());
  ASSERT_TRUE(session.Run({}, {}, {assign}, nullptr).ok());
  status = session.Run({}, {any}, &fetched);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(fetched[0].flat<bool>(), ElementsAre(false, false, false));
  const Output unknown = ops::Placeholder(scope_.Named("unknown"), DType::kResource);
  EXPECT_THAT(std::string(Refusal({Double(1)}, {unknown}, {.unconnected = UnconnectedGradients::kZero}).message()),
              ::testing::HasSubstr("for 'unknown:0' of type resource, expected a handle"));
}

// ---- names and places ----

TEST_F(OptionsTest, NameIsTheScope) {
  Output x = Double(3);
  Grads g = Differentiate({ops::Tanh(scope_.Named("act"), x)}, {x}, {.name = "backward/pass"});
  EXPECT_TRUE(absl::StartsWith(g[0].dense().node()->name(), "backward/pass/act_grad/"));
  EXPECT_THAT(Error({x}, {x}, {.name = "no good"}), HasSubstr("malformed scope name 'no good'"));
}

TEST_F(OptionsTest, NothingOutsideTheScope) {
  Output x = Double(3);
  Output y = ops::Tanh(scope_.Named("act"), x);
  Output z = y * y;
  const int before = graph_.num_node_ids();
  Differentiate({z}, {x});
  for (int id = before; id < graph_.num_node_ids(); ++id) {
    EXPECT_TRUE(absl::StartsWith(graph_.node(id)->name(), "gradients/")) << graph_.node(id)->name();
  }
}

TEST_F(OptionsTest, ColocationBringsTheDevice) {
  Output x = Double(3);
  Output y = ops::Tanh(scope_.Named("act").WithDevice("/device:CPU:1"), x);
  Output z = ops::Square(scope_.Named("square"), y);
  const int before = graph_.num_node_ids();
  Differentiate({z}, {x}, {.colocate = true});
  for (int id = before; id < graph_.num_node_ids(); ++id) {
    const Node* node = graph_.node(id);
    const std::string name = node->name();
    const bool of_act = absl::StartsWith(name, "gradients/act_grad");
    EXPECT_THAT(ClassOf(node), ElementsAre(of_act ? "loc:@act" : "loc:@square")) << name;
    EXPECT_EQ(node->device(), of_act ? "/device:CPU:1" : "") << name;
  }
}

TEST_F(OptionsTest, WithoutColocationNoneIsAdded) {
  Output x = Double(3);
  Grads g = Differentiate({ops::Tanh(scope_.WithDevice("/device:CPU:1"), x)}, {x});
  EXPECT_TRUE(ClassOf(g[0].dense().node()).empty());
  EXPECT_EQ(g[0].dense().node()->device(), "");
}

// ---- gates ----

TEST_F(OptionsTest, GatesAreATuple) {
  Output a = Double(3), b = Double(4);
  Grads g = Differentiate({ops::Mul(scope_.Named("product"), a, b)}, {a, b}, {.gate_gradients = true});
  const Node* gate = g[1].dense().node();
  EXPECT_EQ(g[0].dense().name(), "gradients/product_grad/tuple/control_dependency:0");
  EXPECT_EQ(g[1].dense().name(), "gradients/product_grad/tuple/control_dependency_1:0");
  ASSERT_EQ(gate->control_inputs().size(), 1u);
  const Node* group = gate->control_inputs()[0];
  EXPECT_EQ(group->name(), "gradients/product_grad/tuple/group_deps");
  EXPECT_EQ(group->op(), "NoOp");
  EXPECT_THAT(group->control_inputs(),
              UnorderedElementsAre(gate->input(0).node(), g[0].dense().node()->input(0).node()));
  EXPECT_THAT(Values(g[1].dense()), ElementsAre(3));
}

TEST_F(OptionsTest, ASingleGradientNeedsNoGate) {
  Output a = Double(3);
  Grads g = Differentiate({a * Double(4)}, {a}, {.gate_gradients = true});
  EXPECT_EQ(CountOps("NoOp"), 0);
  EXPECT_THAT(Values(g[0].dense()), ElementsAre(4));
}

TEST_F(OptionsTest, GatesKeepSlicesSparse) {
  Output table = Doubles({1, 2, 3});
  Output factor = Double(2);
  Output rows = ops::GatherV2(scope_, table * factor, ops::Const(scope_, {2, 0}), 0);
  Grads g = Differentiate({rows}, {table, factor}, {.gate_gradients = true});
  ASSERT_TRUE(g[0].is_slices());
  EXPECT_EQ(g[0].slices().values.node()->op(), "Identity");
  EXPECT_THAT(Values(ToDense(scope_, g[0])), ElementsAre(2, 0, 2));
  EXPECT_THAT(Values(g[1].dense()), ElementsAre(4));
}

// ---- sums ----

TEST_F(OptionsTest, PartialSumsPerDevice) {
  Output x = Doubles({1, 2});
  Outputs ys;
  for (int i = 0; i < 5; ++i) {
    Scope there = scope_.Named(absl::StrCat("y", i)).WithDevice(absl::StrCat("/device:CPU:", i == 4 ? 7 : i % 2));
    ys.push_back(ops::Square(there, x));
  }
  Grads g = Differentiate(ys, {x}, {.colocate = true});
  EXPECT_THAT(Values(g[0].dense()), ElementsAre(10, 20));
  const Node* sum = g[0].dense().node();
  ASSERT_EQ(sum->op(), "AddN");
  ASSERT_EQ(sum->num_inputs(), 3);  // CPU:0 and CPU:1 with two terms each, CPU:7 with one
  for (int d = 0; d < 2; ++d) {
    const Node* partial = sum->input(d).node();
    EXPECT_EQ(partial->op(), "AddN");
    EXPECT_EQ(partial->num_inputs(), 2);
    EXPECT_EQ(partial->device(), absl::StrCat("/device:CPU:", d));
    EXPECT_THAT(ClassOf(partial), ElementsAre("loc:@" + partial->input(0).node()->name()));
    for (int i = 0; i < 2; ++i) EXPECT_EQ(partial->input(i).node()->device(), partial->device());
  }
  EXPECT_NE(sum->input(2).node()->op(), "AddN");
}

TEST_F(OptionsTest, OneSumOnOneDevice) {
  Output x = Doubles({1, 2});
  Outputs ys;
  for (int i = 0; i < 3; ++i) ys.push_back(ops::Square(scope_.WithDevice("/device:CPU:1"), x));
  Grads g = Differentiate(ys, {x}, {.colocate = true});
  EXPECT_EQ(CountOps("AddN"), 1);
  EXPECT_EQ(g[0].dense().node()->device(), "/device:CPU:1");
}

TEST_F(OptionsTest, TreeSumsAreNamedAfterTheOp) {
  Output x = ops::Const(scope_.Named("x"), Tensor::Scalar(1.0));
  Grads g = Differentiate({x * 2, x * 3, x * 4}, {x}, {.aggregation = AggregationMethod::kTree});
  EXPECT_EQ(g[0].dense().name(), "gradients/x_gradient_sum/AddN_1:0");
  EXPECT_EQ(g[0].dense().node()->input(0).name(), "gradients/x_gradient_sum/AddN:0");
}

TEST_F(OptionsTest, AccumulateNNeedsAShapeAndThreeTerms) {
  const GradientOptions options = {.aggregation = AggregationMethod::kAccumulateN};
  Output known = Doubles({1, 2}), unknown = ops::Placeholder(scope_, DType::kDouble);
  Differentiate({known * 2, known * 3}, {known}, options);
  EXPECT_EQ(CountOps("AccumulateNV2"), 0);
  EXPECT_EQ(CountOps("AddN"), 1);
  Differentiate({-unknown, ops::Exp(scope_, unknown), ops::Sin(scope_, unknown)}, {unknown}, options);
  EXPECT_EQ(CountOps("AccumulateNV2"), 0);
  EXPECT_EQ(CountOps("AddN"), 3);
  Grads g = Differentiate({known * 2, known * 3, known * 5}, {known}, options);
  EXPECT_EQ(CountOps("AccumulateNV2"), 1);
  EXPECT_EQ(*g[0].dense().node()->attr<Shape>("shape"), Shape({2}));
  EXPECT_THAT(Values(g[0].dense()), ElementsAre(10, 10));
}

// ---- attrs ----

TEST_F(OptionsTest, XlaAttrsAreCarried) {
  Scope cluster = scope_.WithAttr("_XlaCompile", true).WithAttr("_XlaScope", std::string("jit_0"));
  Output x = Double(3);
  Output y = ops::Tanh(cluster.WithAttr("_XlaSeparateCompiledGradients", false).Named("together"), x);
  Output z = ops::Tanh(cluster.WithAttr("_XlaSeparateCompiledGradients", true).Named("apart"), y);
  Output w = ops::Tanh(cluster.Named("incomplete"), z);
  Output v = ops::Tanh(scope_.WithAttr("_XlaCompile", false)
                           .WithAttr("_XlaScope", std::string("jit_1"))
                           .WithAttr("_XlaSeparateCompiledGradients", true)
                           .Named("not"),
                       w);
  const int before = graph_.num_node_ids();
  Differentiate({v}, {x}, {.name = "outer/gradients"});
  for (int id = before; id < graph_.num_node_ids(); ++id) {
    const Node* node = graph_.node(id);
    std::string expected;
    if (absl::StrContains(node->name(), "together_grad")) expected = "jit_0";
    if (absl::StrContains(node->name(), "apart_grad")) expected = "jit_0_grad_outer_gradients";
    const bool* compile = node->attr<bool>("_XlaCompile");
    const auto* scope = node->attr<std::string>("_XlaScope");
    EXPECT_EQ(compile != nullptr && *compile, !expected.empty()) << node->name();
    EXPECT_EQ(scope == nullptr ? "" : *scope, expected) << node->name();
    EXPECT_EQ(node->attr<bool>("_XlaSeparateCompiledGradients"), nullptr) << node->name();
  }
}

// ---- the log ----

// NABLA_VERBOSITY is read once in a process.
TEST(LogTest, EachOpsGradients) {
  RegisterAllOps();
  RegisterAllGradients();
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  ::setenv("NABLA_VERBOSITY", "1", 1);
  EXPECT_EXIT(
      {
        Graph graph;
        Scope scope(&graph);
        Output x = ops::Const(scope.Named("x"), Tensor::Scalar(1.0));
        Output y = ops::Mul(scope.Named("y"), x, 2.0);
        Output rows = ops::GatherV2(scope.Named("rows"), ops::ExpandDims(scope.Named("table"), y, 0), {0}, 0);
        std::exit(Gradients(scope, {rows}, {x}).ok() ? 0 : 1);
      },
      ::testing::ExitedWithCode(0),
      AllOf(HasSubstr("nabla: gradient of 'rows': in gradients/Fill:0; out gradients/Fill:0 (slices)\n"),
            HasSubstr("gradient of 'table': in "), HasSubstr("gradient of 'y': in "),
            HasSubstr("out gradients/y_grad/Mul:0\n")));
  ::unsetenv("NABLA_VERBOSITY");
}

}  // namespace
}  // namespace nabla

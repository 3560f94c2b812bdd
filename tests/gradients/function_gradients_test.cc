// Functions built in C++: what calls compute, gradients through them, and gradients of their own.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nabla/gradients/custom_gradient.h"
#include "nabla/gradients/gradients.h"
#include "nabla/gradients/report.h"
#include "nabla/graph/export.h"
#include "nabla/graph/function.h"
#include "nabla/graph/function_library.h"
#include "nabla/graph/import.h"
#include "nabla/graph/inline.h"
#include "nabla/graph/verifier.h"
#include "nabla/ops/ops.h"
#include "nabla/proto/function.pb.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/session.h"

namespace nabla {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pointwise;

class FunctionGradientsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    RegisterAllOps();
    RegisterAllKernels();
    RegisterAllGradients();
  }

  std::vector<double> Values(Output output, const Feeds& feeds = {}) {
    EXPECT_TRUE(scope_.ok()) << scope_.status();
    if (!output) {
      ADD_FAILURE() << "no output";
      return {};
    }
    Session session(&graph_);
    std::vector<Tensor> fetched;
    const absl::Status status = session.Run(feeds, {output}, &fetched);
    EXPECT_TRUE(status.ok()) << status;
    if (!status.ok()) return {};
    return std::vector<double>(fetched[0].flat<double>().begin(), fetched[0].flat<double>().end());
  }

  Output Grad(Output y, Output x) {
    absl::StatusOr<Grads> grads = Gradients(scope_, {y}, {x});
    EXPECT_TRUE(grads.ok()) << grads.status();
    return grads.ok() ? ToDense(scope_, (*grads)[0]) : Output();
  }

  std::string ErrorOf(Output y, Output x) { return std::string(Gradients(scope_, {y}, {x}).status().message()); }

  void Define(const std::string& text) {
    FunctionDefLibrary library;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &library)) << text;
    const absl::Status status = graph_.functions().AddLibrary(library);
    ASSERT_TRUE(status.ok()) << status;
  }

  // f(a) = a * a * a, with the gradient function 'g' if `gradient` says so.
  void DefineCube(const std::string& gradient) {
    Define(
        "function { signature { name: 'Cube' input_arg { name: 'a' type: DT_DOUBLE } output_arg { name: 'b' type: "
        "DT_DOUBLE } } node_def { name: 's' op: 'Mul' input: 'a' input: 'a' attr { key: 'T' value { type: DT_DOUBLE } "
        "} } node_def { name: 't' op: 'Mul' input: 's:z:0' input: 'a' attr { key: 'T' value { type: DT_DOUBLE } } } "
        "ret { key: 'b' value: 't:z:0' } }" +
        gradient);
  }

  Output Double(double value) { return ops::Const(scope_, Tensor::Scalar(value)); }
  Output Doubles(std::vector<double> values) { return ops::Const(scope_, Tensor::Vector<double>(values)); }

  Graph graph_;
  Scope scope_{&graph_};
};

TEST_F(FunctionGradientsTest, ACallComputesTheBodyAndCapturesItsSurroundings) {
  Output w = Doubles({2, 3});
  int built = 0;
  const Function f =
      Function::Build(scope_, "scale", {{DType::kDouble, Shape({2})}}, [&](const Scope&, const Outputs& in) {
        ++built;
        return Outputs{in[0] * w, in[0] * in[0] + w};
      });
  ASSERT_TRUE(f) << scope_.status();
  EXPECT_EQ(built, 1);
  EXPECT_EQ(f.name(), "scale");
  EXPECT_THAT(f.captures(), ElementsAre(w));
  for (const auto op : {Function::CallOp::kPartitionedCall, Function::CallOp::kFunctionName}) {
    const Outputs y = f.Call(scope_, {Doubles({5, 7})}, op);
    ASSERT_EQ(y.size(), 2u) << scope_.status();
    EXPECT_EQ(y[0].node()->op(), op == Function::CallOp::kFunctionName ? "scale" : "PartitionedCall");
    EXPECT_EQ(y[0].shape(), Shape({2}));
    EXPECT_THAT(Values(y[0]), ElementsAre(10, 21));
    EXPECT_THAT(Values(y[1]), ElementsAre(27, 52));
  }
  EXPECT_EQ(graph_.FindNode("mul"), nullptr) << "the body is in the function, not in the graph";
}

TEST_F(FunctionGradientsTest, GradientsOfAnyOrderAndOfCapturedTensors) {
  Output x = Double(0.7), w = Double(1.3);
  const Function f =
      Function::Build(scope_, "f", {{DType::kDouble, Shape::Scalar()}},
                      [&](const Scope& s, const Outputs& in) { return Outputs{ops::Sin(s, in[0] * w)}; });
  Output y = f.Call(scope_, {x})[0];
  Output dx = Grad(y, x);
  EXPECT_EQ(y.node()->op(), "Identity") << "expanded in place";
  EXPECT_THAT(Values(dx), Pointwise(DoubleNear(1e-12), {1.3 * std::cos(0.91)}));
  EXPECT_THAT(Values(Grad(y, w)), Pointwise(DoubleNear(1e-12), {0.7 * std::cos(0.91)}));
  Output ddx = Grad(dx, x);
  EXPECT_THAT(Values(ddx), Pointwise(DoubleNear(1e-12), {-1.69 * std::sin(0.91)}));
  EXPECT_THAT(Values(Grad(ddx, x)), Pointwise(DoubleNear(1e-12), {-2.197 * std::cos(0.91)}));
  EXPECT_TRUE(VerifyGraph(graph_).ok()) << VerifyGraph(graph_);
}

TEST_F(FunctionGradientsTest, OnlyCallsOnThePathAreExpanded) {
  Output x = Double(2);
  const Function f = Function::Build(scope_, "f", {{DType::kDouble}},
                                     [](const Scope&, const Outputs& in) { return Outputs{in[0] * in[0]}; });
  Output beside = f.Call(scope_, {Double(3)})[0];
  Output y = f.Call(scope_, {x})[0] + beside;
  EXPECT_THAT(Values(Grad(y, x)), ElementsAre(4));
  EXPECT_EQ(beside.node()->op(), "PartitionedCall");
  EXPECT_THAT(Values(beside), ElementsAre(9));
}

TEST_F(FunctionGradientsTest, FunctionsNestAndCaptureFromAllBodiesAroundThem) {
  Output x = Double(3), w = Double(5);
  const Function outer = Function::Build(scope_, "outer", {{DType::kDouble}}, [&](const Scope& s, const Outputs& in) {
    Output square = in[0] * in[0];
    const Function inner = Function::Build(s, "inner", {{DType::kDouble}}, [&](const Scope&, const Outputs& deep) {
      return Outputs{deep[0] * w + square};
    });
    EXPECT_EQ(inner.captures().size(), 2u);
    return Outputs{inner.Call(s, {in[0]})[0] * inner.Call(s, {square})[0]};
  });
  ASSERT_TRUE(outer) << scope_.status();
  EXPECT_THAT(outer.captures(), ElementsAre(w));
  Output y = outer.Call(scope_, {x})[0];
  // (5x + x^2)(5x^2 + x^2) = 30x^3 + 6x^4
  EXPECT_THAT(Values(y), ElementsAre(30 * 27 + 6 * 81));
  EXPECT_THAT(Values(Grad(y, x)), ElementsAre(90 * 9 + 24 * 27));
  // (wx + x^2)(wx^2 + x^2): by w, x(w + 1)x^2 + (wx + x^2)x^2
  EXPECT_THAT(Values(Grad(y, w)), ElementsAre(27 * 6 + (15 + 9) * 9));
}

TEST_F(FunctionGradientsTest, EffectsOfACallHappenOnceAndInOrder) {
  Output v = ops::VarHandleOp(scope_.Named("v"), DType::kDouble, Shape::Scalar());
  Node* init = ops::AssignVariableOp(scope_, v, Double(1));
  const Function f = Function::Build(scope_, "bump", {}, [&](const Scope& s, const Outputs&) {
    Node* add = ops::AssignAddVariableOp(s, v, Tensor::Scalar(2.0));
    return Outputs{ops::ReadVariableOp(s.WithControl({add}), v, DType::kDouble)};
  });
  ASSERT_TRUE(f) << scope_.status();
  const Output first = f.Call(scope_, {})[0];
  EXPECT_EQ(first.node()->op(), "StatefulPartitionedCall");
  const Output second = f.Call(scope_.WithControl({first.node()}), {})[0];
  Session session(&graph_);
  ASSERT_TRUE(session.Run({}, {}, {init}, nullptr).ok());
  std::vector<Tensor> fetched;
  for (const double before : {1.0, 5.0}) {
    const absl::Status status = session.Run({}, {second, first}, &fetched);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(fetched[1].scalar<double>(), before + 2);
    EXPECT_EQ(fetched[0].scalar<double>(), before + 4);
  }
}

TEST_F(FunctionGradientsTest, VariablesAreReadAndDifferentiatedThroughCalls) {
  Output v = ops::VarHandleOp(scope_.Named("v"), DType::kDouble, Shape({2}));
  Node* init = ops::AssignVariableOp(scope_, v, Doubles({2, 5}));
  const Function f = Function::Build(
      scope_, "read", {{DType::kDouble, Shape({2})}},
      [&](const Scope& s, const Outputs& in) { return Outputs{ops::ReadVariableOp(s, v, DType::kDouble) * in[0]}; });
  Output y = f.Call(scope_, {Doubles({3, 4})})[0];
  EXPECT_EQ(y.shape(), Shape({2}));
  Output dv = Grad(y, v);
  ASSERT_TRUE(dv);
  Session session(&graph_);
  ASSERT_TRUE(session.Run({}, {}, {init}, nullptr).ok());
  std::vector<Tensor> fetched;
  ASSERT_TRUE(session.Run({}, {y, dv}, &fetched).ok());
  EXPECT_THAT(fetched[0].flat<double>(), ElementsAre(6, 20));
  EXPECT_THAT(fetched[1].flat<double>(), ElementsAre(3, 4));
}

TEST_F(FunctionGradientsTest, SparseGradientsStaySparse) {
  Output table = ops::Const(scope_, Tensor::Of<double>({3, 2}, {1, 2, 3, 4, 5, 6}));
  const Function f =
      Function::Build(scope_, "look_up", {{DType::kInt32, Shape({2})}},
                      [&](const Scope& s, const Outputs& in) { return Outputs{ops::GatherV2(s, table, in[0], 0)}; });
  Output y = f.Call(scope_, {ops::Const(scope_, Tensor::Vector<int32_t>({2, 2}))})[0];
  const absl::StatusOr<Grads> grads = Gradients(scope_, {y}, {table});
  ASSERT_TRUE(grads.ok()) << grads.status();
  EXPECT_TRUE((*grads)[0].is_slices());
  EXPECT_THAT(Values(ToDense(scope_, (*grads)[0])), ElementsAre(0, 0, 0, 0, 2, 2));
}

TEST_F(FunctionGradientsTest, AGraphWithFunctionsGoesThroughAFile) {
  Output x = ops::Placeholder(scope_.Named("x"), DType::kDouble, {.shape = {2}});
  const Function f = Function::Build(scope_, "f", {{DType::kDouble}}, [&](const Scope& s, const Outputs& in) {
    const Function g = Function::Build(s, "g", {{DType::kDouble}},
                                       [](const Scope&, const Outputs& deep) { return Outputs{deep[0] * deep[0]}; });
    return Outputs{g.Call(s, {in[0]}, Function::CallOp::kFunctionName)[0] + in[0], in[0]};
  });
  ops::Identity(scope_.Named("y"), f.Call(scope_, {x})[0]);
  std::string bytes;
  ASSERT_TRUE(ExportGraphDefString(graph_, {}, &bytes).ok());
  Graph copy;
  const absl::Status status = ImportGraphDefString(bytes, {}, &copy);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_TRUE(VerifyGraph(copy).ok()) << VerifyGraph(copy);
  EXPECT_EQ(copy.FindOutput("y")->shape(), Shape({2})) << "shapes go through calls on import, too";
  const Function found = *Function::Find(copy, "f");
  const Scope scope(&copy);
  const Output y = found.Call(scope, {*copy.FindOutput("x")})[0];
  const absl::StatusOr<Grads> grads = Gradients(scope, {y}, {*copy.FindOutput("x")});
  ASSERT_TRUE(grads.ok()) << grads.status();
  Session session(&copy);
  std::vector<Tensor> fetched;
  ASSERT_TRUE(
      session.Run({{*copy.FindOutput("x"), Tensor::Vector<double>({1, 3})}}, {y, (*grads)[0].dense()}, &fetched).ok());
  EXPECT_THAT(fetched[0].flat<double>(), ElementsAre(2, 12));
  EXPECT_THAT(fetched[1].flat<double>(), ElementsAre(3, 7));
}

TEST_F(FunctionGradientsTest, WhatIsWrongInABodyIsRecordedInTheScope) {
  const auto error = [&](const std::vector<Function::Argument>& arguments, const Function::Body& body) {
    const Scope scope(&graph_);
    EXPECT_FALSE(Function::Build(scope, "f", arguments, body));
    return std::string(scope.status().message());
  };
  Graph other;
  Output stranger = ops::Const(Scope(&other), 1.0);
  EXPECT_THAT(
      error({}, [&](const Scope& s, const Outputs&) { return Outputs{ops::Neg(s, stranger)}; }),
      HasSubstr("building function 'f': an input of op 'Neg': 'Const:0' is neither of the function's body nor of "
                "the graph around it"));
  EXPECT_THAT(error({}, [&](const Scope&, const Outputs&) { return Outputs{Output()}; }),
              HasSubstr("building function 'f': result 0 is none"));
  EXPECT_THAT(error({{DType::kDouble, Shape({2})}},
                    [&](const Scope& s, const Outputs& in) { return Outputs{ops::MatMul(s, in[0], in[0])}; }),
              HasSubstr("expected rank 2"));
  EXPECT_THAT(
      error({}, [&](const Scope& s, const Outputs&) { return Outputs{ops::Neg(s.WithControl({Double(1)}), 1.0)}; }),
      HasSubstr("is outside of the function; let the call wait for it"));
  EXPECT_TRUE(graph_.functions().empty());
  EXPECT_TRUE(Function().Call(scope_, {}).empty());
}

TEST_F(FunctionGradientsTest, NamesThatAreTakenGetASuffix) {
  const Function::Body body = [](const Scope&, const Outputs& in) { return in; };
  EXPECT_EQ(Function::Build(scope_, "f", {{DType::kDouble}}, body).name(), "f");
  EXPECT_EQ(Function::Build(scope_, "f", {{DType::kDouble}}, body).name(), "f_1");
  EXPECT_EQ(Function::Build(scope_, "MatMul", {{DType::kDouble}}, body).name(), "MatMul_1");
}

TEST_F(FunctionGradientsTest, ACustomGradientReplacesTheDerivedOne) {
  Output x = Doubles({-1, 50, 1000});
  const Outputs y = CustomGradient(
      scope_, {x}, [](const Scope& s, const Outputs& in) { return Outputs{ops::Log(s, 1.0 + ops::Exp(s, in[0]))}; },
      [](RuleContext& c) { return Grads{c.grad(0) * ops::Sigmoid(c.scope(), c.input(0))}; });
  ASSERT_EQ(y.size(), 1u) << scope_.status();
  Output dx = Grad(y[0], x);
  EXPECT_EQ(y[0].node()->op(), "PartitionedCall") << "stays a call";
  EXPECT_THAT(Values(dx), Pointwise(DoubleNear(1e-12), {1 / (1 + std::exp(1.0)), 1.0, 1.0}));
  // The second derivative is that of what the rule built.
  EXPECT_THAT(Values(Grad(dx, x))[0], DoubleNear(std::exp(-1.0) / std::pow(1 + std::exp(-1.0), 2), 1e-12));
}

TEST_F(FunctionGradientsTest, ACustomGradientCountsInsideOtherFunctions) {
  Output x = Double(2);
  const Function f = Function::Build(scope_, "f", {{DType::kDouble}},
                                     [](const Scope&, const Outputs& in) { return Outputs{in[0] * in[0]}; });
  ASSERT_TRUE(SetCustomGradient(&graph_, "f", [](RuleContext& c) { return Grads{c.grad(0) * 100.0}; }).ok());
  const Function g = Function::Build(scope_, "g", {{DType::kDouble}}, [&](const Scope& s, const Outputs& in) {
    return Outputs{f.Call(s, {in[0]})[0] * in[0]};
  });
  Output y = g.Call(scope_, {x})[0];
  EXPECT_THAT(Values(y), ElementsAre(8));
  EXPECT_THAT(Values(Grad(y, x)), ElementsAre(4 + 2 * 100));
}

TEST_F(FunctionGradientsTest, CustomGradientsThatDoNotFitAreErrors) {
  Output x = Double(2), w = Double(3);
  const auto build = [&](CustomRule rule) {
    return CustomGradient(
        scope_, {x}, [&](const Scope&, const Outputs& in) { return Outputs{in[0] * w}; }, std::move(rule))[0];
  };
  Output y = build([](RuleContext& c) { return Grads{c.grad(0)}; });
  EXPECT_THAT(ErrorOf(y, x), HasSubstr("the gradient that function 'custom_gradient' has in C++ returns 1 gradients, "
                                       "expected 2, one for each input, captured tensors among them"));
  y = build([](RuleContext& c) { return c.Fail(absl::UnimplementedError("not today")); });
  EXPECT_THAT(ErrorOf(y, x), HasSubstr("not today"));
  y = build([](RuleContext& c) { return Grads{ops::Cast(c.scope(), c.grad(0), DType::kFloat), Gradient()}; });
  EXPECT_THAT(ErrorOf(y, x), HasSubstr("has type float, expected double"));
  const absl::Status again = SetCustomGradient(&graph_, "custom_gradient", nullptr);
  EXPECT_EQ(again.message(), "function 'custom_gradient' has a gradient in C++ already");
  EXPECT_EQ(SetCustomGradient(&graph_, "nothing", nullptr).code(), absl::StatusCode::kNotFound);
}

TEST_F(FunctionGradientsTest, TheLibrarysGradientFunctionIsCalled) {
  // Ten times the incoming gradient, whatever the input.
  DefineCube(
      "function { signature { name: 'G' input_arg { name: 'a' type: DT_DOUBLE } input_arg { name: 'dy' type: DT_DOUBLE "
      "} output_arg { name: 'da' type: DT_DOUBLE } } node_def { name: 'ten' op: 'Const' attr { key: 'dtype' value { "
      "type: DT_DOUBLE } } attr { key: 'value' value { tensor { dtype: DT_DOUBLE tensor_shape { } double_val: 10 } } } "
      "} node_def { name: 'm' op: 'Mul' input: 'dy' input: 'ten:output:0' attr { key: 'T' value { type: DT_DOUBLE } } "
      "} ret { key: 'da' value: 'm:z:0' } } gradient { function_name: 'Cube' gradient_func: 'G' }");
  Output x = Double(2);
  const Function cube = *Function::Find(graph_, "Cube");
  for (const auto op : {Function::CallOp::kPartitionedCall, Function::CallOp::kFunctionName}) {
    Output y = cube.Call(scope_, {x}, op)[0];
    EXPECT_THAT(Values(y), ElementsAre(8));
    Output dx = Grad(y * 3.0, x);
    EXPECT_THAT(Values(dx), ElementsAre(30));
  }
  EXPECT_EQ(SetCustomGradient(&graph_, "Cube", nullptr).message(),
            "function 'Cube' has the gradient function 'G' in the graph's library");
}

TEST_F(FunctionGradientsTest, TwoGradientsOfOneFunctionAreAnError) {
  DefineCube("");
  ASSERT_TRUE(SetCustomGradient(&graph_, "Cube", [](RuleContext& c) { return Grads{c.grad(0)}; }).ok());
  Define("gradient { function_name: 'Cube' gradient_func: 'Cube' }");  // as an import may add it later
  Output x = Double(2);
  Output y = Function::Find(graph_, "Cube")->Call(scope_, {x})[0];
  EXPECT_THAT(ErrorOf(y, x),
              HasSubstr("function 'Cube' has two gradients, the function 'Cube' of the library and one in "
                        "C++, expected one of them"));
}

TEST_F(FunctionGradientsTest, AGradientFunctionWithTheWrongSignatureIsAnError) {
  DefineCube("gradient { function_name: 'Cube' gradient_func: 'Cube' }");
  Output x = Double(2);
  Output y = Function::Find(graph_, "Cube")->Call(scope_, {x})[0];
  EXPECT_THAT(
      ErrorOf(y, x),
      HasSubstr("function 'Cube': its gradient function 'Cube' has the signature (double) -> (double), expected "
                "(double, double) -> (double): from the inputs and the outputs' gradients to the inputs' "
                "gradients"));
}

TEST_F(FunctionGradientsTest, ACycleThroughFunctionsIsAnErrorOfGradientsAndOfRuns) {
  const auto calling = [](const std::string& name, const std::string& callee) {
    return absl::StrCat("function { signature { name: '", name,
                        "' input_arg { name: 'a' type: DT_DOUBLE } output_arg { name: 'b' type: DT_DOUBLE } } node_def "
                        "{ name: 'n' op: '",
                        callee, "' input: 'a' } ret { key: 'b' value: 'n:b:0' } }");
  };
  Define(calling("F", "G") + calling("G", "F"));
  Output x = Double(2);
  Output y = Function::Find(graph_, "F")->Call(scope_, {x})[0];
  const std::string expected =
      "node 'PartitionedCall' (op PartitionedCall): function 'F' calls itself: 'F' -> 'G' -> 'F'";
  EXPECT_EQ(ErrorOf(y, x), expected);
  Session session(&graph_);
  std::vector<Tensor> fetched;
  const absl::Status status = session.Run({}, {y}, &fetched);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), expected);
}

TEST_F(FunctionGradientsTest, SymbolicGradientRunsAndIsDifferentiated) {
  DefineCube("");
  Output x = Double(2), dy = Double(5);
  const Outputs dx = ops::SymbolicGradient(scope_, {x, dy}, {DType::kDouble}, FunctionRef{"Cube", nullptr});
  ASSERT_EQ(dx.size(), 1u) << scope_.status();
  EXPECT_EQ(dx[0].shape(), Shape::Scalar());
  EXPECT_THAT(Values(dx[0]), ElementsAre(5 * 12));
  EXPECT_EQ(dx[0].node()->op(), "SymbolicGradient") << "a run does not change the graph";
  EXPECT_THAT(Values(Grad(dx[0], x)), ElementsAre(5 * 12));
  EXPECT_EQ(dx[0].node()->op(), "IdentityN");
  EXPECT_THAT(Values(Grad(dx[0], dy)), ElementsAre(12));
  EXPECT_TRUE(VerifyGraph(graph_).ok()) << VerifyGraph(graph_);
}

TEST_F(FunctionGradientsTest, SymbolicGradientOfTheSameTensorTwiceAndWithoutInfluence) {
  const Function f = Function::Build(scope_, "f", {{DType::kDouble}, {DType::kDouble}, {DType::kInt32}},
                                     [](const Scope& s, const Outputs& in) {
                                       return Outputs{in[0] * in[0], ops::Neg(s, in[2])};
                                     });
  Output x = Double(3);
  Output i = ops::Const(scope_, Tensor::Vector<int32_t>({1, 2}));
  const Outputs dx = ops::SymbolicGradient(
      scope_, {x, x, i, Double(1), i}, {DType::kDouble, DType::kDouble, DType::kInt32}, FunctionRef{f.name(), nullptr});
  ASSERT_EQ(dx.size(), 3u) << scope_.status();
  EXPECT_THAT(Values(dx[0]), ElementsAre(6));
  EXPECT_THAT(Values(dx[1]), ElementsAre(0));
  EXPECT_THAT(Values(ops::Cast(scope_, dx[2], DType::kDouble)), ElementsAre(0, 0));
}

TEST_F(FunctionGradientsTest, SymbolicGradientThatDoesNotFitIsAnError) {
  DefineCube("");
  Output x = Double(2);
  const auto error = [&](const Outputs& inputs, const std::string& function) {
    const Outputs dx = ops::SymbolicGradient(scope_.Named("g"), Inputs(inputs.begin(), inputs.end()), {DType::kDouble},
                                             FunctionRef{function, nullptr});
    EXPECT_FALSE(dx.empty()) << scope_.status();
    Session session(&graph_);
    std::vector<Tensor> fetched;
    const int nodes = graph_.num_nodes();
    const std::string message(session.Run({}, {dx[0]}, &fetched).message());
    EXPECT_EQ(graph_.num_nodes(), nodes);
    return message;
  };
  EXPECT_THAT(error({x}, "Cube"),
              HasSubstr("node 'g' (op SymbolicGradient): has 1 inputs and 1 outputs, expected 2 and 1 "
                        "for a function of 1 inputs and 1 outputs"));
  EXPECT_THAT(error({x, x}, "Cub"), HasSubstr("the graph has no function 'Cub'; did you mean 'Cube'?"));
}

}  // namespace
}  // namespace nabla

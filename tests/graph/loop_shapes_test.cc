#include "nabla/graph/loop_shapes.h"

#include <functional>
#include <string>
#include <vector>

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "nabla/graph/export.h"
#include "nabla/graph/function.h"
#include "nabla/graph/function_library.h"
#include "nabla/graph/import.h"
#include "nabla/graph/inline.h"
#include "nabla/ops/lower_functional.h"
#include "nabla/ops/ops.h"
#include "nabla/ops/registration.h"
#include "nabla/ops/scan.h"
#include "nabla/ops/while.h"
#include "nabla/proto/function.pb.h"
#include "nabla/proto/graph.pb.h"

namespace nabla {
namespace {

// Loops made node by node, as importing makes them: a Merge is open until the end.
class LoopShapesTest : public ::testing::Test {
 protected:
  struct Variable {
    Output merge, inside, exit;
  };

  LoopShapesTest() : scope_((RegisterAllOps(), RegisterFunctionalLowering(), &graph_)) {
    go_on_ = ops::Placeholder(scope_, DType::kBool, {.shape = Shape::Scalar()});
  }

  Output Float(const Shape& shape) { return ops::Placeholder(scope_, DType::kFloat, {.shape = shape}); }

  Output Invariant(Output outside, const std::string& frame) {
    return ops::Enter(scope_, outside, frame, {.is_constant = true});
  }

  Variable Open(Output initial, const std::string& frame) {
    Variable variable;
    variable.merge = ops::Merge(scope_, {ops::Enter(scope_, initial, frame), Output()}).output;
    const Output condition = ops::LoopCond(scope_, Invariant(go_on_, frame));
    const auto sides = ops::Switch(scope_, variable.merge, condition);
    variable.inside = sides.output_true;
    variable.exit = ops::Exit(scope_, sides.output_false);
    return variable;
  }

  void Close(const Variable& variable, Output next) {
    const Output back = ops::NextIteration(scope_, next);
    ASSERT_TRUE(scope_.ok()) << scope_.status();
    ASSERT_TRUE(graph_.SetBackEdge(variable.merge.node(), 1, back).ok());
  }

  void Infer() { InferLoopShapes(&graph_, 0); }

  Graph graph_;
  Scope scope_;
  Output go_on_;
};

TEST_F(LoopShapesTest, AVariableThatKeepsItsShapeHasIt) {
  const Variable v = Open(Float({2, 3}), "f");
  const Output next = ops::Sin(scope_, v.inside);
  Close(v, next);
  const Output after = ops::Sum(scope_, v.exit, 0);
  EXPECT_FALSE(v.merge.shape().has_rank());
  EXPECT_FALSE(after.shape().has_rank());
  Infer();
  for (const Output& same : {v.merge, v.inside, next, v.exit}) EXPECT_EQ(same.shape(), Shape({2, 3})) << same.name();
  EXPECT_EQ(after.shape(), Shape({3}));
}

TEST_F(LoopShapesTest, TheBackEdgeMayBeTheFirstInput) {
  const Output enter = ops::Enter(scope_, Float({4}), "f");
  const Output merge = ops::Merge(scope_, {Output(), enter}).output;
  const Output back = ops::NextIteration(scope_, merge);
  ASSERT_TRUE(graph_.SetBackEdge(merge.node(), 0, back).ok());
  Infer();
  EXPECT_EQ(merge.shape(), Shape({4}));
}

TEST_F(LoopShapesTest, WhatChangesIsUnknown) {
  const Variable longer = Open(Float({2, 3}), "f");
  const Variable deeper = Open(Float({2}), "f");
  const Variable fixed = Open(Float({5}), "f");
  Close(longer, ops::ConcatV2(scope_, {longer.inside, longer.inside}, 0));
  Close(deeper, ops::ExpandDims(scope_, deeper.inside, 0));
  Close(fixed, ops::Sin(scope_, fixed.inside));
  Infer();
  EXPECT_EQ(longer.exit.shape(), Shape({kUnknownDim, 3}));
  EXPECT_EQ(deeper.exit.shape(), Shape());
  EXPECT_EQ(fixed.exit.shape(), Shape({5}));
}

TEST_F(LoopShapesTest, WeakeningGoesFromVariableToVariable) {
  // A shape arrives at the first variable only in the 100th trip.
  std::vector<Variable> variables;
  variables.reserve(100);
  for (int i = 0; i < 100; ++i) variables.push_back(Open(Float({2, 7}), "f"));
  for (int i = 0; i < 99; ++i) Close(variables[i], variables[i + 1].inside);
  Close(variables[99], Invariant(Float({3, 7}), "f"));
  Infer();
  for (const Variable& variable : variables) EXPECT_EQ(variable.exit.shape(), Shape({kUnknownDim, 7}));
}

TEST_F(LoopShapesTest, NestedLoops) {
  const Variable a = Open(Float({2, 3}), "outer");
  const Variable b = Open(Float({2, 3}), "outer");
  const Variable a_inside = Open(a.inside, "inner");
  const Variable b_inside = Open(b.inside, "inner");
  Close(a_inside, ops::Sin(scope_, a_inside.inside));
  Close(b_inside, ops::ConcatV2(scope_, {b_inside.inside, a_inside.inside}, 1));
  Close(a, a_inside.exit);
  Close(b, b_inside.exit);
  Infer();
  EXPECT_EQ(a.exit.shape(), Shape({2, 3}));
  EXPECT_EQ(a_inside.merge.shape(), Shape({2, 3}));
  EXPECT_EQ(b.exit.shape(), Shape({2, kUnknownDim}));
  EXPECT_EQ(b_inside.merge.shape(), Shape({2, kUnknownDim}));
}

TEST_F(LoopShapesTest, AnInnerLoopThatWeakensWhatItShares) {
  // The inner loop hands its first variable's shape to the second, which closes the outer loop's.
  const Variable v = Open(Float({4}), "outer");
  const Variable first = Open(ops::ConcatV2(scope_, {v.inside, v.inside}, 0), "inner");
  const Variable second = Open(v.inside, "inner");
  Close(first, first.inside);
  Close(second, first.inside);
  Close(v, second.exit);
  Infer();
  EXPECT_EQ(second.merge.shape(), Shape({kUnknownDim}));
  EXPECT_EQ(v.exit.shape(), Shape({kUnknownDim}));
  EXPECT_EQ(first.merge.shape(), Shape({kUnknownDim}));
}

TEST_F(LoopShapesTest, ShapesThatAreComputedFromShapes) {
  // The sum's own shape is [1] all the time; what it says of `filled` changes.
  const Variable grows = Open(Float({2}), "f");
  const Variable filled = Open(Float({3}), "f");
  const Variable alike = Open(Float({3}), "f");
  const Output one = Invariant(ops::Const(scope_, Tensor::Vector<int32_t>({1})), "f");
  const auto filling = [&](Output like) {
    return ops::Fill(scope_, ops::AddV2(scope_, ops::Shape(scope_, like), one),
                     Invariant(ops::Const(scope_, 0.5f), "f"));
  };
  Close(grows, ops::ConcatV2(scope_, {grows.inside, grows.inside}, 0));
  Close(filled, filling(grows.inside));
  Close(alike, filling(Invariant(Float({2}), "f")));
  Infer();
  EXPECT_EQ(filled.exit.shape(), Shape({kUnknownDim}));
  EXPECT_EQ(alike.exit.shape(), Shape({3}));
}

TEST_F(LoopShapesTest, WhatTheEntersShapeContradictsIsInferredOnceThatIsGone) {
  // The product is not possible in the first trip, which a run would find out; here it only must not stop anything.
  const Variable v = Open(Float({2, 3}), "f");
  const Output product = ops::MatMul(scope_, v.inside, Invariant(Float({4, 5}), "f"));
  Close(v, Invariant(Float(Shape({kUnknownDim, kUnknownDim})), "f"));
  const Variable w = Open(Float({2, 3}), "g");
  const Output impossible = ops::MatMul(scope_, w.inside, Invariant(Float({4, 5}), "g"));
  Close(w, ops::Sin(scope_, w.inside));
  Infer();
  EXPECT_EQ(v.exit.shape(), Shape({kUnknownDim, kUnknownDim}));
  EXPECT_EQ(product.shape(), Shape({kUnknownDim, 5}));
  EXPECT_EQ(w.exit.shape(), Shape({2, 3}));
  EXPECT_EQ(impossible.shape(), Shape({kUnknownDim, 5})) << "as it was";
}

TEST_F(LoopShapesTest, ListsAreScalars) {
  const Variable list =
      Open(ops::EmptyTensorList(scope_, ops::Const(scope_, Tensor::Vector<int32_t>({3})), -1, DType::kFloat), "f");
  const Variable v = Open(Float({3}), "f");
  Close(list, ops::TensorListPushBack(scope_, list.inside, v.inside));
  Close(v, ops::Sin(scope_, v.inside));
  Infer();
  EXPECT_EQ(list.exit.shape(), Shape::Scalar());
  EXPECT_EQ(list.exit.dtype(), DType::kVariant);
}

TEST_F(LoopShapesTest, WhatTakesLongStaysAsItWas) {
  // The odd dimension takes 60 trips to go round, and each trip changes what a long computation on the shape gives.
  Shape shape = Shape::Scalar();
  for (int i = 0; i < 59; ++i) shape.AddDim(1);
  shape.AddDim(2);
  std::vector<int32_t> rotation;
  rotation.reserve(60);
  for (int i = 0; i < 60; ++i) rotation.push_back((i + 1) % 60);
  const Variable v = Open(Float(shape), "f");
  Output numbers = ops::Shape(scope_, v.inside);
  for (int i = 0; i < 500; ++i) numbers = ops::Neg(scope_, numbers);
  Close(v, ops::Transpose(scope_, v.inside, Invariant(ops::Const(scope_, Tensor::Vector<int32_t>(rotation)), "f")));
  const Shape before = v.exit.shape();
  const Shape numbers_before = numbers.shape();
  Infer();
  EXPECT_EQ(v.exit.shape(), before);
  EXPECT_EQ(numbers.shape(), numbers_before);
}

TEST_F(LoopShapesTest, MalformedLoops) {
  // Closed by itself, with nothing that enters; and open.
  AttrMap attrs;
  attrs.Set("T", DType::kFloat);
  attrs.Set("N", int64_t{1});
  Node* const alone = *graph_.AddNode({"alone", "Merge", {Output()}, {}, attrs, ""});
  Node* const open = *graph_.AddNode({"open", "Merge", {Output()}, {}, attrs, ""});
  AttrMap next_attrs;
  next_attrs.Set("T", DType::kFloat);
  Node* const next = *graph_.AddNode({"next", "NextIteration", {alone->output(0)}, {}, next_attrs, ""});
  ASSERT_TRUE(graph_.SetBackEdge(alone, 0, next->output(0)).ok());
  Infer();
  EXPECT_EQ(alone->output_shape(0), Shape());
  EXPECT_EQ(open->output_shape(0), Shape());
}

TEST_F(LoopShapesTest, ImportedLoopsHaveTheShapesThatBuiltOnesHave) {
  const Output xs = Float({5, 3});
  const Output w = Float({3, 3});
  const auto scan =
      ops::Scan(scope_, {Float({2, 3})}, {xs}, [&](const Scope& body, const Outputs& h, const Outputs& x) {
        const Outputs inner = ops::While(
            body, {h[0]},
            [](const Scope& s, const Outputs& v) {
              return ops::Less(s, ops::Sum(s, v[0], {0, 1}), 1.0f);
            },
            [&](const Scope& s, const Outputs& v) { return Outputs{ops::MatMul(s, v[0], w)}; });
        const Output next = ops::AddV2(body, inner[0], x[0]);
        return ops::ScanStep{{next}, {next}};
      });
  ASSERT_TRUE(scope_.ok()) << scope_.status();
  EXPECT_EQ(scan.state[0].shape(), Shape({2, 3}));
  GraphDef file;
  ASSERT_TRUE(ExportGraphDef(graph_, {}, &file).ok());
  Graph imported;
  const absl::Status status = ImportGraphDef(file, {}, &imported);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(imported.num_nodes(), graph_.num_nodes());
  graph_.ForEachNode([&](Node* built) {
    const Node* node = imported.FindNode(built->name());
    ASSERT_NE(node, nullptr);
    for (int i = 0; i < built->num_outputs(); ++i) {
      EXPECT_TRUE(built->output_shape(i).Subsumes(node->output_shape(i)))
          << built->ToString() << ": built " << built->output_shape(i) << ", imported " << node->output_shape(i);
    }
  });
}

// While with functions, which says no shapes itself.
class WhileShapesTest : public LoopShapesTest {
 protected:
  using Body = std::function<Outputs(const Scope& scope, const Outputs& inputs)>;

  FunctionRef Define(const std::string& name, size_t count, const Body& body) {
    const std::vector<Function::Argument> arguments(count, {DType::kFloat, Shape(), ""});
    return {Function::Build(scope_, name, arguments, body).name(), nullptr};
  }

  Outputs While(const Scope& scope, const Outputs& initial, const FunctionRef& body,
                const std::vector<Shape>& output_shapes = {}) {
    const FunctionRef condition = Define("condition", initial.size(), [](const Scope& s, const Outputs& v) {
      return Outputs{ops::Less(s, ops::Size(s, v[0]), 100)};
    });
    Node* const node = NodeBuilder(scope, "StatelessWhile")
                           .InputList(initial)
                           .Attr("cond", condition)
                           .Attr("body", body)
                           .Attr("T", std::vector<DType>(initial.size(), DType::kFloat))
                           .Attr("output_shapes", output_shapes)
                           .Finish();
    Outputs results;
    for (int i = 0; node != nullptr && i < node->num_outputs(); ++i) results.push_back(node->output(i));
    return results;
  }

  // Of the loop variables that there are after lowering.
  std::vector<Shape> LoweredShapes(Output result) {
    const absl::Status status = ExpandCalls(&graph_, {result.node()});
    EXPECT_TRUE(status.ok()) << status;
    std::vector<Shape> shapes;
    graph_.ForEachNode([&shapes](const Node* node) {
      if (node->op() == "Merge") shapes.push_back(node->output_shape(0));
    });
    return shapes;
  }
};

TEST_F(WhileShapesTest, WhatTheBodyKeepsIsKnown) {
  const FunctionRef body = Define("body", 3, [](const Scope& s, const Outputs& v) {
    return Outputs{ops::Sin(s, v[0]), ops::ConcatV2(s, {v[1], v[0]}, 0), ops::ExpandDims(s, v[2], 0)};
  });
  const Outputs results = While(scope_, {Float({2, 3}), Float({4, 3}), Float({5})}, body);
  ASSERT_TRUE(scope_.ok()) << scope_.status();
  EXPECT_EQ(results[0].shape(), Shape({2, 3}));
  EXPECT_EQ(results[1].shape(), Shape({kUnknownDim, 3}));
  EXPECT_EQ(results[2].shape(), Shape());
  const std::vector<Shape> expected = {Shape({2, 3}), Shape({kUnknownDim, 3}), Shape()};
  EXPECT_EQ(LoweredShapes(results[0]), expected);
}

TEST_F(WhileShapesTest, LoopsInLoops) {
  const FunctionRef inner = Define("inner", 1, [](const Scope& s, const Outputs& v) {
    return Outputs{ops::ConcatV2(s, {v[0], v[0]}, 1)};
  });
  const FunctionRef outer = Define("outer", 2, [&](const Scope& s, const Outputs& v) {
    return Outputs{While(s, {v[0]}, inner)[0], ops::Sin(s, v[1])};
  });
  const Outputs results = While(scope_, {Float({2, 3}), Float({4})}, outer);
  ASSERT_TRUE(scope_.ok()) << scope_.status();
  EXPECT_EQ(results[0].shape(), Shape({2, kUnknownDim}));
  EXPECT_EQ(results[1].shape(), Shape({4}));
}

TEST_F(WhileShapesTest, WhatTheFileLeavesOpenIsInferred) {
  const FunctionRef body = Define("body", 2, [](const Scope& s, const Outputs& v) {
    return Outputs{ops::Sin(s, v[0]), ops::Cos(s, v[1])};
  });
  const Outputs results = While(scope_, {Float({2, 3}), Float({4})}, body, {Shape({kUnknownDim, 3}), Shape()});
  ASSERT_TRUE(scope_.ok()) << scope_.status();
  EXPECT_EQ(results[0].shape(), Shape({kUnknownDim, 3}));
  EXPECT_EQ(results[1].shape(), Shape({4}));
}

// If and Case, which say no shapes themselves: what all branches give.
TEST_F(WhileShapesTest, WhatBranchesHaveInCommonIsKnown) {
  const FunctionRef wide = Define("wide", 1, [](const Scope& s, const Outputs& v) {
    return Outputs{ops::ConcatV2(s, {v[0], v[0]}, 1), ops::Sin(s, v[0]), v[0]};
  });
  const FunctionRef high = Define("high", 1, [](const Scope& s, const Outputs& v) {
    return Outputs{ops::ConcatV2(s, {v[0], ops::ConcatV2(s, {v[0], v[0]}, 0)}, 1), ops::Cos(s, v[0]),
                   ops::Sum(s, v[0], 0)};
  });
  const FunctionRef long_rows = Define("long_rows", 1, [](const Scope& s, const Outputs& v) {
    return Outputs{ops::ConcatV2(s, {v[0], v[0], v[0]}, 1), ops::Exp(s, v[0]), v[0]};
  });
  const Output x = Float({2, 3});
  const DTypes types(3, DType::kFloat);
  const Output p = ops::Placeholder(scope_, DType::kBool, {.shape = Shape::Scalar()});
  const Output index = ops::Placeholder(scope_, DType::kInt32, {.shape = Shape::Scalar()});
  for (const Outputs& results :
       {ops::StatelessIf(scope_, p, {x}, types, wide, long_rows), ops::If(scope_, p, {x}, types, long_rows, wide),
        ops::StatelessCase(scope_, index, {x}, types, {wide, long_rows, wide}),
        // What the file says counts.
        ops::If(scope_, p, {x}, types, wide, long_rows,
                {.output_shapes = {Shape({2, kUnknownDim}), Shape(), Shape()}})}) {
    ASSERT_TRUE(scope_.ok()) << scope_.status();
    EXPECT_EQ(results[0].shape(), Shape({2, kUnknownDim}));
    EXPECT_EQ(results[1].shape(), Shape({2, 3}));
    EXPECT_EQ(results[2].shape(), Shape({2, 3}));
    const absl::Status status = ExpandCalls(&graph_, {results[0].node()});
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(results[1].shape(), Shape({2, 3}));
    EXPECT_EQ(results[1].node()->input(1).shape(), Shape({2, 3})) << "of the Merge";
  }
  // A branch whose body is refused says nothing, and so does one that differs in rank.
  const Outputs refused = ops::If(scope_, p, {x}, types, wide, high);
  EXPECT_EQ(refused[1].shape(), Shape());
  const FunctionRef flat = Define("flat", 1, [](const Scope& s, const Outputs& v) {
    return Outputs{ops::Sum(s, v[0], 0), v[0], ops::Sin(s, v[0])};
  });
  const Outputs ranks = ops::If(scope_, p, {x}, types, wide, flat);
  EXPECT_EQ(ranks[0].shape(), Shape());
  EXPECT_EQ(ranks[1].shape(), Shape({2, 3}));
}

// A small file can call a large function very often: all calls together are looked into only so far.
TEST_F(WhileShapesTest, ManyCallsOfALargeFunction) {
  const auto make = [&](const std::string& name, int size) {
    return Define(name, 1, [size](const Scope& s, const Outputs& v) {
      Output y = v[0];
      for (int i = 0; i < size; ++i) y = ops::Neg(s, y);
      return Outputs{y};
    });
  };
  const FunctionRef large = make("large", 20000), small = make("small", 100);
  const Output p = ops::Placeholder(scope_, DType::kBool, {.shape = Shape::Scalar()});
  int known = 0;
  for (int i = 0; i < 300; ++i) {
    const Output x = Float({i + 1});
    known += ops::StatelessIf(scope_, p, {x}, {DType::kFloat}, large, large)[0].shape().has_rank();
    EXPECT_EQ(ops::StatelessIf(scope_, p, {x}, {DType::kFloat}, small, small)[0].shape(), Shape({i + 1}));
  }
  EXPECT_GT(known, 50);
  EXPECT_LT(known, 150);
}

// Each branch takes in all inputs, so few bytes could ask for very many nodes.
TEST_F(WhileShapesTest, ManyBranchesOfManyInputs) {
  constexpr int kInputs = 300, kBranches = 5000;
  const FunctionRef first = Define("first", kInputs, [](const Scope&, const Outputs& v) { return Outputs{v[0]}; });
  const Inputs inputs(kInputs, Float({2}));
  const Output index = ops::Placeholder(scope_, DType::kInt32, {.shape = Shape::Scalar()});
  const Outputs results =
      ops::StatelessCase(scope_, index, inputs, {DType::kFloat}, std::vector<FunctionRef>(kBranches, first));
  ASSERT_TRUE(scope_.ok()) << scope_.status();
  EXPECT_EQ(results[0].shape(), Shape({2}));
  const int nodes = graph_.num_nodes();
  const absl::Status status = ExpandCalls(&graph_, {results[0].node()});
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_NE(status.message().find("has 5000 branches for 301 inputs"), std::string::npos) << status;
  EXPECT_EQ(graph_.num_nodes(), nodes);
}

// An If that calls itself ends too.
TEST_F(WhileShapesTest, BranchesThatCallTheirOwnIf) {
  FunctionDef function;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "signature { name: 'again' input_arg { name: 'p' type: DT_BOOL } output_arg { name: 'y' type: DT_BOOL } }"
      "node_def { name: 'if' op: 'StatelessIf' input: 'p' input: 'p' attr { key: 'Tcond' value { type: DT_BOOL } }"
      "  attr { key: 'Tin' value { list { type: DT_BOOL } } } attr { key: 'Tout' value { list { type: DT_BOOL } } }"
      "  attr { key: 'then_branch' value { func { name: 'again' } } }"
      "  attr { key: 'else_branch' value { func { name: 'again' } } } }"
      "ret { key: 'y' value: 'if:output:0' }",
      &function));
  ASSERT_TRUE(graph_.functions().Add(function).ok());
  const Output p = ops::Placeholder(scope_, DType::kBool, {.shape = Shape::Scalar()});
  const FunctionRef again{"again", nullptr};
  const Outputs results = ops::StatelessIf(scope_, p, {p}, {DType::kBool}, again, again);
  ASSERT_TRUE(scope_.ok()) << scope_.status();
  EXPECT_EQ(results[0].shape(), Shape());
}

TEST_F(WhileShapesTest, WhatTheFileSaysCounts) {
  const FunctionRef body =
      Define("body", 1, [](const Scope& s, const Outputs& v) { return Outputs{ops::Sin(s, v[0])}; });
  const Outputs results = While(scope_, {Float({2, 3})}, body, {Shape({kUnknownDim, 3})});
  ASSERT_TRUE(scope_.ok()) << scope_.status();
  EXPECT_EQ(results[0].shape(), Shape({kUnknownDim, 3}));
  EXPECT_EQ(LoweredShapes(results[0]), std::vector<Shape>{Shape({kUnknownDim, 3})});
}

}  // namespace
}  // namespace nabla

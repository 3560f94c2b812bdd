#include "nabla/graph/summary.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "nabla/graph/import.h"
#include "nabla/tests/graph/small_ops.h"

namespace nabla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

std::vector<std::string> Names(const std::vector<GraphSummary::TensorInfo>& tensors) {
  std::vector<std::string> names;
  for (const GraphSummary::TensorInfo& tensor : tensors) names.push_back(tensor.name);
  return names;
}

AttrMap T() {
  AttrMap attrs;
  attrs.Set("T", DType::kFloat);
  return attrs;
}

TEST(SummaryTest, EmptyGraph) {
  Graph graph(&SmallOps());
  EXPECT_EQ(Summarize(graph).ToString(), "nodes 0, edges 0, producer version 1087\n");
}

TEST(SummaryTest, InputsOutputsTargetsAndOps) {
  Graph graph(&SmallOps());
  const Output x = AddPlaceholder(graph, "x", DType::kFloat, Shape({kUnknownDim, 3}));
  Node* used = AddNodeOrDie(graph, {"used", "Sqrt", {x}, {}, T(), ""});
  Node* last = AddNodeOrDie(graph, {"last", "Sqrt", {Output(used, 0)}, {}, T(), ""});
  AddNodeOrDie(graph, {"waited_for", "NoOp", {}, {}, {}, ""});
  AddNodeOrDie(graph, {"target", "NoOp", {}, {last, graph.FindNode("waited_for")}, {}, ""});
  AttrMap two = T();
  two.Set("num_split", 2);
  const Output axis = AddConst(graph, "axis", Tensor::Scalar<int32_t>(0));
  AddNodeOrDie(graph, {"split", "Split", {axis, x}, {}, two, ""});

  const GraphSummary summary = Summarize(graph);
  EXPECT_EQ(summary.num_nodes, 7);
  EXPECT_EQ(summary.num_edges, 6);
  EXPECT_THAT(Names(summary.inputs), ElementsAre("x"));
  EXPECT_EQ(summary.inputs[0].dtype, DType::kFloat);
  EXPECT_EQ(summary.inputs[0].shape, Shape({kUnknownDim, 3}));
  EXPECT_THAT(Names(summary.outputs), ElementsAre("last", "split", "split:1"));
  EXPECT_THAT(summary.targets, ElementsAre("target"));
  EXPECT_THAT(summary.ops, ElementsAre(Pair("NoOp", 2), Pair("Sqrt", 2), Pair("Const", 1), Pair("Placeholder", 1),
                                       Pair("Split", 1)));
  EXPECT_THAT(summary.unsupported, IsEmpty());
  EXPECT_THAT(summary.ToString(), HasSubstr("inputs (1)\n  x: float [?,3]\n"));
  EXPECT_THAT(summary.ToString(), HasSubstr("likely outputs (3)\n  last: float [?,3], by Sqrt\n"));
}

TEST(SummaryTest, Parameters) {
  Graph graph(&SmallOps());
  AddConst(graph, "weights", Tensor::Zeros(DType::kFloat, {10, 20}));
  AddConst(graph, "half_weights", Tensor::Zeros(DType::kHalf, {300}));
  AddConst(graph, "small", Tensor::Zeros(DType::kFloat, {3}));
  AddConst(graph, "indices", Tensor::Zeros(DType::kInt64, {100}));
  AttrMap attrs;
  attrs.Set("dtype", DType::kDouble);
  AddNodeOrDie(graph, {"variable", "Variable", {}, {}, attrs, ""});
  ImportOptions lenient;
  lenient.allow_unsupported = true;
  // Of an op that is not known here, the attrs tell.
  ASSERT_TRUE(
      ImportGraphDefString("node { name: 'handle' op: 'VarHandleOp' attr { key: 'dtype' value { type: DT_FLOAT } }"
                           " attr { key: 'shape' value { shape { dim { size: 5 } dim { size: 2 } } } } }",
                           lenient, &graph)
          .ok());
  const GraphSummary summary = Summarize(graph);
  ASSERT_EQ(summary.parameters.size(), 4u);
  EXPECT_EQ(summary.parameters[0].bytes, 800);
  EXPECT_EQ(summary.parameters[1].bytes, 600);
  EXPECT_EQ(summary.parameters[2].name, "variable");
  EXPECT_EQ(summary.parameters[2].dtype, DType::kDouble);
  EXPECT_TRUE(summary.parameters[2].is_variable);
  EXPECT_EQ(summary.parameters[2].elements, 0) << "its shape is not known";
  EXPECT_EQ(summary.parameters[3].elements, 10);
  EXPECT_EQ(summary.parameter_elements(), 510);
  EXPECT_EQ(summary.parameter_bytes(), 1440);
  EXPECT_EQ(summary.num_constants, 4);
  EXPECT_EQ(summary.constant_bytes, 800 + 600 + 12 + 800);
  SummaryOptions options;
  options.min_parameter_elements = 3;
  EXPECT_EQ(Summarize(graph, options).parameters.size(), 5u);
}

TEST(SummaryTest, HugeVariablesDoNotOverflow) {
  const OpRegistry nothing;
  Graph graph(&nothing);
  ImportOptions lenient;
  lenient.allow_unsupported = true;
  std::string text;
  for (int i = 0; i < 3; ++i) {
    absl::StrAppend(&text, "node { name: 'v", i, "' op: 'VarHandleOp' attr { key: 'dtype' value { type: DT_DOUBLE } } ",
                    "attr { key: 'shape' value { shape { dim { size: 4611686018427387904 } } } } }");
  }
  ASSERT_TRUE(ImportGraphDefString(text, lenient, &graph).ok());
  EXPECT_EQ(Summarize(graph).parameter_bytes(), INT64_MAX);
}

TEST(SummaryTest, WhatIsUnsupported) {
  Graph graph(&SmallOps());
  ImportOptions lenient;
  lenient.allow_unsupported = true;
  ASSERT_TRUE(
      ImportGraphDefString(
          "node { name: 'a' op: 'Foo' } node { name: 'b' op: 'Foo' input: 'a' } node { name: 'c' op: 'Bar' } "
          "node { name: 'd' op: 'NoOp' attr { key: 'new' value { i: 1 } } attr { key: '_fine' value { i: 1 } } } "
          "library { function { signature { name: 'F' } node_def { name: 'n' op: 'Baz' } "
          "node_def { name: 'm' op: 'NoOp' } } }",
          lenient, &graph)
          .ok());
  const GraphSummary summary = Summarize(graph);
  EXPECT_THAT(summary.unsupported, ElementsAre("op Foo (2 nodes, first: a)", "op Bar (node c)",
                                               "attr new of op NoOp (node d)", "op Baz (1 in functions, first: F)"));
  EXPECT_THAT(Names(summary.outputs), ElementsAre("b", "c"));
}

GraphSummary SummarizeGolden(const std::string& name) {
  static const OpRegistry* const nothing = new OpRegistry;
  Graph graph(nothing);
  ImportOptions lenient;
  lenient.allow_unsupported = true;
  std::ifstream file("tests/golden/graphs/" + name, std::ios::binary);
  const absl::Status status = ImportGraphDefStream(file, lenient, &graph);
  EXPECT_TRUE(status.ok()) << status;
  return Summarize(graph);
}

TEST(SummaryTest, FunctionsThatTensorFlowWrote) {
  const GraphSummary summary = SummarizeGolden("functions.pb");
  ASSERT_EQ(summary.functions.size(), 9u);
  EXPECT_EQ(summary.functions[0].signature, "Cube(x: float) -> (mul_1: float)");
  EXPECT_EQ(summary.functions[0].num_nodes, 14);
  EXPECT_EQ(summary.functions[0].gradient, "CubeGrad");
  EXPECT_THAT(summary.ToString(), HasSubstr("functions (9)\n  Cube(x: float) -> (mul_1: float), 14 nodes, gradient "
                                            "CubeGrad\n"));
}

TEST(SummaryTest, LoopsThatTensorFlowWrote) {
  const GraphSummary summary = SummarizeGolden("while_v1.pb");
  ASSERT_EQ(summary.frames.size(), 4u);
  EXPECT_EQ(summary.frames[1].name, "outer/inner/while_context");
  EXPECT_EQ(summary.frames[1].parent, "outer/while_context");
  EXPECT_EQ(summary.frames[0].trip_condition, "outer/Less");
  EXPECT_THAT(summary.ToString(), HasSubstr("outer/inner/while_context inside outer/while_context: 3 variables, 3 "
                                            "invariants, 9 body nodes, while outer/inner/Less, 10 iterations at once"));
  EXPECT_THAT(summary.control_flow_problems, IsEmpty());
}

TEST(SummaryTest, LongListsAreCut) {
  Graph graph(&SmallOps());
  for (int i = 0; i < 30; ++i) AddPlaceholder(graph, absl::StrCat("x", i), DType::kFloat, Shape());
  const std::string text = Summarize(graph).ToString(5);
  EXPECT_THAT(text, HasSubstr("inputs (30)\n"));
  EXPECT_THAT(text, HasSubstr("  x4: float of unknown shape\n  ... and 25 more\n"));
  EXPECT_THAT(text, Not(HasSubstr("x5")));
}

}  // namespace
}  // namespace nabla

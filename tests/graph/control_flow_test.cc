#include "nabla/graph/control_flow.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "nabla/graph/branch_contexts.h"
#include "nabla/graph/control_flow_problems.h"
#include "nabla/graph/import.h"

namespace nabla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A graph of ops that nobody knows: structure must come from their names alone.
class ControlFlowTest : public ::testing::Test {
 protected:
  ControlFlowTest() : graph_(&nothing_) {}

  // Lines of "name Op input…"; an Enter's frame stands after a '@', with a '!' for is_constant.
  void Build(const std::string& lines) {
    std::string text;
    for (const absl::string_view line : absl::StrSplit(lines, '\n', absl::SkipEmpty())) {
      const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
      const std::vector<std::string> op = absl::StrSplit(words[1], '@');
      absl::StrAppend(&text, "node { name: '", words[0], "' op: '", op[0], "'");
      for (size_t i = 2; i < words.size(); ++i) absl::StrAppend(&text, " input: '", words[i], "'");
      if (op.size() > 1) {
        const bool constant = op[1].back() == '!';
        absl::StrAppend(&text, " attr { key: 'frame_name' value { s: '", op[1].substr(0, op[1].size() - constant),
                        "' } } attr { key: 'is_constant' value { b: ", constant ? "true" : "false", " } }");
      }
      absl::StrAppend(&text, " }\n");
    }
    ImportOptions options;
    options.allow_unsupported = true;
    const absl::Status status = ImportGraphDefString(text, options, &graph_);
    ASSERT_TRUE(status.ok()) << status;
  }
  int FrameOf(const ControlFlow& flow, const char* name) { return flow.frame_of[graph_.FindNode(name)->id()]; }

  OpRegistry nothing_;
  Graph graph_;
};

constexpr char kLoop[] =
    "x Foo\n"
    "limit Foo\n"
    "enter Enter@f x\n"
    "bound Enter@f! limit\n"
    "merge Merge enter next\n"
    "less Less merge bound\n"
    "cond LoopCond less\n"
    "switch Switch merge cond\n"
    "body Foo switch:1\n"
    "next NextIteration body\n"
    "exit Exit switch\n"
    "after Foo exit\n";

TEST_F(ControlFlowTest, GraphWithoutLoops) {
  Build("a Foo\nb Foo a\n");
  const ControlFlow flow = AnalyzeControlFlow(graph_);
  EXPECT_TRUE(flow.frames.empty());
  EXPECT_THAT(flow.frame_of, ElementsAre(kRootFrame, kRootFrame));
  EXPECT_THAT(flow.problems, IsEmpty());
}

TEST_F(ControlFlowTest, OneLoop) {
  Build(kLoop);
  const ControlFlow flow = AnalyzeControlFlow(graph_);
  EXPECT_THAT(flow.problems, IsEmpty());
  ASSERT_EQ(flow.frames.size(), 1u);
  const Frame& frame = flow.frames[0];
  EXPECT_EQ(frame.name, "f");
  EXPECT_EQ(frame.parent, kRootFrame);
  EXPECT_THAT(frame.invariants, ElementsAre(graph_.FindNode("bound")));
  EXPECT_EQ(frame.loop_cond, graph_.FindNode("cond"));
  ASSERT_EQ(frame.variables.size(), 1u);
  const LoopVariable& variable = frame.variables[0];
  EXPECT_EQ(variable.enter, graph_.FindNode("enter"));
  EXPECT_EQ(variable.merge, graph_.FindNode("merge"));
  EXPECT_EQ(variable.switch_node, graph_.FindNode("switch"));
  EXPECT_EQ(variable.next_iteration, graph_.FindNode("next"));
  EXPECT_EQ(variable.exit, graph_.FindNode("exit"));
  EXPECT_EQ(frame.nodes.size(), 9u);
  EXPECT_EQ(frame.num_body_nodes, 2) << "less and body";
  EXPECT_EQ(FrameOf(flow, "x"), kRootFrame);
  EXPECT_EQ(FrameOf(flow, "enter"), 0);
  EXPECT_EQ(FrameOf(flow, "exit"), 0);
  EXPECT_EQ(FrameOf(flow, "after"), kRootFrame);
  EXPECT_THAT(flow.conditionals, IsEmpty());
}

TEST_F(ControlFlowTest, AnExitBeforeTheEnd) {
  Build(std::string(kLoop) + "early Exit body\nsame Identity switch\nlate Exit same\n");
  EXPECT_THAT(AnalyzeControlFlow(graph_).problems,
              ElementsAre("node 'early' (op Exit) in frame 'f' hands out a value while the loop goes on, expected the "
                          "false output of a Switch by its LoopCond"));
}

TEST_F(ControlFlowTest, ALoopInsideALoopOfTheSameName) {
  Build(std::string(kLoop) +
        "enter2 Enter@f body\n"
        "merge2 Merge enter2 next2\n"
        "cond2 LoopCond merge2\n"
        "switch2 Switch merge2 cond2\n"
        "next2 NextIteration switch2:1\n"
        "exit2 Exit switch2\n"
        "inner_after Foo exit2 switch:1\n");
  const ControlFlow flow = AnalyzeControlFlow(graph_);
  EXPECT_THAT(flow.problems, ElementsAre("node 'enter2' (op Enter) opens the frame 'f' inside 'f', but another Enter "
                                         "opens it inside 'the root', expected one parent for one name"));
  ASSERT_EQ(flow.frames.size(), 2u);
  EXPECT_EQ(flow.frames[1].parent, 0);
  EXPECT_EQ(FrameOf(flow, "merge2"), 1);
  EXPECT_EQ(FrameOf(flow, "inner_after"), 0);
  EXPECT_EQ(flow.frames[1].variables.size(), 1u);
}

TEST_F(ControlFlowTest, Conditionals) {
  Build(
      "p Foo\nx Foo\nz Foo\n"
      "sx Switch x p\nsz Switch z p\n"
      "a Foo sx:1\nb Foo sz\nm Merge a b\n"
      "s2 Switch m z\n");
  const ControlFlow flow = AnalyzeControlFlow(graph_);
  EXPECT_THAT(flow.problems, IsEmpty());
  ASSERT_EQ(flow.conditionals.size(), 2u);
  EXPECT_EQ(flow.conditionals[0].predicate.node(), graph_.FindNode("p"));
  EXPECT_THAT(flow.conditionals[0].switches, ElementsAre(graph_.FindNode("sx"), graph_.FindNode("sz")));
  EXPECT_THAT(flow.conditionals[1].switches, ElementsAre(graph_.FindNode("s2")));
}

// Two chains of branches in opposite order: how they relate takes the square of their length, for each node anew.
TEST_F(ControlFlowTest, VeryDeepBranchesAreGivenUp) {
  constexpr int kDepth = 3000;
  std::string lines = "x Foo\n";
  for (int i = 0; i < kDepth; ++i) absl::StrAppend(&lines, "p", i, " Foo\n");
  for (const bool up : {true, false}) {
    const char* const name = up ? "up" : "down";
    for (int i = 0; i < kDepth; ++i) {
      absl::StrAppend(&lines, name, i, " Switch ", i == 0 ? std::string("x") : absl::StrCat(name, i - 1, ":1"), " p",
                      up ? i : kDepth - 1 - i, "\n");
    }
  }
  for (int i = 0; i < kDepth; ++i) {
    absl::StrAppend(&lines, "sum", i, " Foo up", kDepth - 1, ":1 down", kDepth - 1 - i, ":1\n");
  }
  Build(lines);
  EXPECT_THAT(FindControlFlowProblems(graph_),
              ElementsAre(HasSubstr("is in more branches inside each other than can be told apart")));
}

TEST_F(ControlFlowTest, WhatIdentitiesPassOn) {
  Build("x Foo\ny Foo\nboth IdentityN x y\nsame Identity both:1\nlost Identity\nuser Foo same lost\n");
  const Node* user = graph_.FindNode("user");
  EXPECT_EQ(BehindIdentities(user->input(0)), Output(graph_.FindNode("y"), 0));
  EXPECT_EQ(BehindIdentities(user->input(1)), user->input(1));
  EXPECT_EQ(BehindIdentities(Output()), Output());
}

TEST_F(ControlFlowTest, InputsFromTwoFrames) {
  Build(std::string(kLoop) + "y Enter@g x\nmixed Foo body y\nwrong Foo body x\n");
  const ControlFlow flow = AnalyzeControlFlow(graph_);
  const std::string expected = ", expected an Enter into a frame and an Exit out of it";
  EXPECT_THAT(flow.problems,
              ElementsAre("node 'mixed' (op Foo) has inputs from the frames 'f' and 'g'" + expected,
                          "node 'wrong' (op Foo) has inputs from the frames 'the root' and 'f'" + expected));
  EXPECT_EQ(FrameOf(flow, "wrong"), 0);
}

TEST_F(ControlFlowTest, MalformedLoops) {
  Build(
      "x Foo\n"
      "lost Exit x\n"
      "nameless Enter x\n"
      "e Enter@f x\n"
      "n NextIteration e\n"  // goes nowhere
      "m Merge e n2\n"       // no Switch
      "n2 NextIteration m\n"
      "c1 LoopCond m\nc2 LoopCond m\n"
      "m3 Merge m n3\n"  // no Enter
      "n3 NextIteration m3\n"
      "open Merge e\n");
  const ControlFlow flow = AnalyzeControlFlow(graph_);
  EXPECT_THAT(flow.problems,
              ElementsAre("node 'lost' (op Exit) leaves a frame, but is in none",
                          "node 'nameless' (op Enter) has no frame_name",
                          "node 'n' (op NextIteration) in frame 'f' goes to no Merge",
                          "node 'c2' (op LoopCond) in frame 'f': the frame has another LoopCond",
                          "node 'n' (op NextIteration) reads 'e', which only the first iteration of the loop 'f' has, "
                          "expected a Merge or is_constant",
                          "node 'm' (op Merge) in frame 'f' has a back edge, but no Switch by the frame's LoopCond "
                          "after it",
                          "node 'm3' (op Merge) in frame 'f' has a back edge, but no Enter of the frame before it"));
}

TEST_F(ControlFlowTest, BackEdgeFromOutside) {
  Build("x Foo\ne Enter@f x\nm Merge e n\nn NextIteration x\n");
  EXPECT_THAT(AnalyzeControlFlow(graph_).problems,
              ElementsAre(HasSubstr("node 'm' (op Merge) in frame 'f': the back edge comes from frame 'the root'")));
}

TEST_F(ControlFlowTest, FromAnIdOn) {
  Build(std::string(kLoop) + "unrelated Foo x\nlost Exit x\n");
  const int first = graph_.num_node_ids();
  EXPECT_EQ(AnalyzeControlFlow(graph_, first).order.size(), 0u);
  ImportOptions options;
  options.allow_unsupported = true;
  options.input_map["in"] = Output(graph_.FindNode("body"), 0);
  ASSERT_TRUE(ImportGraphDefString("node { name: 'new' op: 'Foo' input: 'in' }"
                                   "node { name: 'early' op: 'Exit' input: 'new' }",
                                   options, &graph_)
                  .ok());
  const ControlFlow flow = AnalyzeControlFlow(graph_, first);
  // The loop without its Exit, which nothing new needs, and the two.
  EXPECT_EQ(flow.order.size(), 12u);
  EXPECT_EQ(FrameOf(flow, "new"), 0);
  EXPECT_EQ(FrameOf(flow, "next"), 0);
  EXPECT_EQ(flow.frames[0].variables.size(), 1u);
  EXPECT_THAT(flow.problems, ElementsAre(HasSubstr("'early' (op Exit) in frame 'f' hands out a value")));
  EXPECT_EQ(AnalyzeControlFlow(graph_).problems.size(), 2u);
}

TEST_F(ControlFlowTest, LoopsThatTensorFlowWrote) {
  std::ifstream file("tests/golden/graphs/while_v1.pb", std::ios::binary);
  ImportOptions options;
  options.allow_unsupported = true;
  ASSERT_TRUE(ImportGraphDefStream(file, options, &graph_).ok());
  const ControlFlow flow = AnalyzeControlFlow(graph_);
  EXPECT_THAT(flow.problems, IsEmpty());
  // The loop in the loop, and their gradients. Each counts its iterations in a variable that the gradient added.
  ASSERT_EQ(flow.frames.size(), 4u);
  EXPECT_EQ(flow.frames[0].name, "outer/while_context");
  EXPECT_EQ(flow.frames[0].parallel_iterations, 4);
  EXPECT_EQ(flow.frames[1].name, "outer/inner/while_context");
  EXPECT_EQ(flow.frames[1].parent, 0);
  EXPECT_EQ(flow.frames[1].parallel_iterations, 10);
  EXPECT_EQ(flow.frames[2].parent, kRootFrame);
  EXPECT_EQ(flow.frames[3].parent, 2);
  for (const Frame& frame : flow.frames) {
    EXPECT_EQ(frame.variables.size(), 3u) << frame.name;
    for (const LoopVariable& variable : frame.variables) EXPECT_NE(variable.exit, nullptr) << frame.name;
    ASSERT_NE(frame.loop_cond, nullptr);
  }
  EXPECT_THAT(flow.conditionals, IsEmpty());
}

}  // namespace
}  // namespace nabla

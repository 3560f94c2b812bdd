#include "nabla/graph/verifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nabla/graph/import.h"
#include "nabla/tests/graph/small_ops.h"

namespace nabla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

AttrMap T(DType dtype = DType::kFloat) {
  AttrMap attrs;
  attrs.Set("T", dtype);
  return attrs;
}

class VerifierTest : public ::testing::Test {
 protected:
  VerifierTest() : graph_(&SmallOps()) {
    x_ = AddPlaceholder(graph_, "x", DType::kFloat, Shape({2}));
    a_ = AddNodeOrDie(graph_, {"a", "Sqrt", {x_}, {}, T(), ""});
    b_ = AddNodeOrDie(graph_, {"b", "Sqrt", {Output(a_, 0)}, {}, T(), ""});
  }
  Graph graph_;
  Output x_;
  Node* a_;
  Node* b_;
};

TEST_F(VerifierTest, SoundGraph) {
  EXPECT_THAT(FindProblems(graph_), IsEmpty());
  EXPECT_TRUE(VerifyGraph(graph_).ok());
}

TEST_F(VerifierTest, RemovedNodesLeaveASoundGraph) {
  ASSERT_TRUE(graph_.RemoveNode(b_).ok());
  EXPECT_THAT(FindProblems(graph_), IsEmpty());
}

TEST_F(VerifierTest, CycleThatAPassMade) {
  ASSERT_TRUE(graph_.ReplaceInput(a_, 0, Output(b_, 0)).ok());
  EXPECT_THAT(FindProblems(graph_), ElementsAre(HasSubstr("is part of a cycle, expected only cycles from a Next")));
}

TEST_F(VerifierTest, ControlCycle) {
  graph_.AddControlEdge(b_, a_);
  EXPECT_THAT(FindProblems(graph_), ElementsAre(HasSubstr("is part of a cycle")));
}

TEST_F(VerifierTest, AttrsThatAPassBroke) {
  graph_.SetAttr(a_, "T", DType::kString);
  graph_.SetAttr(b_, "surplus", 3);
  EXPECT_THAT(FindProblems(graph_), ElementsAre(HasSubstr("node 'a' (op Sqrt): "), HasSubstr("surplus")));
  const absl::Status status = VerifyGraph(graph_);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("(and 1 more problems)"));
}

TEST_F(VerifierTest, DTypesOfEdges) {
  graph_.SetAttr(a_, "T", DType::kDouble);
  EXPECT_THAT(FindProblems(graph_), ElementsAre("node 'a' (op Sqrt): input 0 is 'x:0' of dtype float, expected double",
                                                "node 'a' (op Sqrt): output 0 has dtype float, expected double"));
}

TEST_F(VerifierTest, OpenBackEdge) {
  AttrMap attrs = T();
  attrs.Set("N", 2);
  AddNodeOrDie(graph_, {"m", "Merge", {x_, Output()}, {}, attrs, ""});
  EXPECT_THAT(FindProblems(graph_), ElementsAre("node 'm' (op Merge): input 1 is not connected"));
}

TEST_F(VerifierTest, References) {
  graph_.SetAttr(a_, "_class", std::vector<std::string>{"loc:@b", "other"});
  EXPECT_THAT(FindProblems(graph_), IsEmpty());
  graph_.SetAttr(a_, "_class", std::vector<std::string>{"loc:@gone"});
  graph_.SetAttr(b_, "_gradient", FunctionRef{"missing", nullptr});
  graph_.SetDevice(b_, "cpu 0");
  EXPECT_THAT(FindProblems(graph_),
              ElementsAre("node 'a' (op Sqrt): is colocated with 'gone', which the graph does not have",
                          "node 'b' (op Sqrt): device 'cpu 0', expected the form '/device:CPU:0'",
                          HasSubstr("names the function 'missing'")));
}

TEST_F(VerifierTest, StopsAtTheLimit) {
  graph_.SetDevice(a_, "here");
  graph_.SetDevice(b_, "there");
  VerifyOptions options;
  options.max_problems = 1;
  EXPECT_EQ(FindProblems(graph_, options).size(), 1u);
}

TEST_F(VerifierTest, UnknownOpsAndFunctionBodies) {
  ImportOptions lenient_import;
  lenient_import.allow_unsupported = true;
  ASSERT_TRUE(ImportGraphDefString("node { name: 'f' op: 'Sqrtt' }"
                                   "library { function { signature { name: 'F' } node_def { name: 'n' op: 'Foo' } "
                                   "node_def { name: 'm' op: 'NoOp' input: '^gone' } } }",
                                   lenient_import, &graph_)
                  .ok());
  EXPECT_THAT(FindProblems(graph_),
              ElementsAre("node 'f' (op Sqrtt): unknown op; did you mean 'Sqrt'?",
                          "function 'F': node 'n' (op 'Foo'): unknown op",
                          "function 'F': node 'm' (op 'NoOp'): input '^gone' is neither an argument nor of a node of "
                          "the function"));
  VerifyOptions lenient;
  lenient.allow_unsupported = true;
  EXPECT_THAT(FindProblems(graph_, lenient), ElementsAre(HasSubstr("^gone")));
}

TEST(DeviceNameTest, Forms) {
  for (const char* name : {"", "/cpu:0", "/device:CPU:0", "/job:worker/replica:0/task:1/device:GPU:*", "/job:ps"}) {
    EXPECT_TRUE(IsValidDeviceName(name)) << name;
  }
  for (const char* name : {"cpu", "/", "/cpu", "/cpu:", "/:0", "/a:b//c:d", "/a:b c", "/a:\n"}) {
    EXPECT_FALSE(IsValidDeviceName(name)) << name;
  }
}

}  // namespace
}  // namespace nabla

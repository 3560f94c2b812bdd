#include "nabla/graph/inline.h"

#include <google/protobuf/text_format.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nabla/graph/call_expander.h"
#include "nabla/graph/function_library.h"
#include "nabla/graph/scope.h"
#include "nabla/graph/shape_inference.h"
#include "nabla/graph/verifier.h"
#include "nabla/proto/function.pb.h"
#include "nabla/tests/graph/small_ops.h"

namespace nabla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

const char kFloat[] = " attr { key: 'T' value { type: DT_FLOAT } } ";
const char kSignature[] = " input_arg { name: 'a' type: DT_FLOAT } output_arg { name: 'b' type: DT_FLOAT } } ";

class InlineTest : public ::testing::Test {
 protected:
  static void Define(Graph& graph, const std::string& text) {
    FunctionDef function;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &function)) << text;
    const absl::Status status = graph.functions().Add(function);
    ASSERT_TRUE(status.ok()) << status;
  }
  void Define(const std::string& text) { Define(graph_, text); }

  static std::string NodeDef(const std::string& name, const std::string& op, const std::string& inputs,
                             const std::string& attrs = kFloat) {
    return "node_def { name: '" + name + "' op: '" + op + "' " + inputs + attrs + "} ";
  }

  Node* Call(const std::string& function, const std::string& name, Outputs inputs, std::vector<Node*> control = {}) {
    return AddNodeOrDie(graph_, {name, function, std::move(inputs), std::move(control), {}, ""});
  }

  // x_, chosen by a placeholder `predicate`, which is made if it is not there.
  Node* Choice(const std::string& name, const std::string& predicate) {
    Node* node = graph_.FindNode(predicate);
    const Output p =
        node == nullptr ? AddPlaceholder(graph_, predicate, DType::kBool, Shape::Scalar()) : node->output(0);
    AttrMap attrs;
    attrs.Set("T", DType::kFloat);
    return AddNodeOrDie(graph_, {name, "Switch", {x_, p}, {}, attrs, ""});
  }

  Graph graph_{&SmallOps()};
  Output x_ = AddPlaceholder(graph_, "x", DType::kFloat, Shape({2}));
};

TEST_F(InlineTest, TheCallBecomesAnIdentityAndKeepsItsUsers) {
  Define(absl::StrCat("signature { name: 'Root' ", kSignature, NodeDef("s", "Sqrt", "input: 'a'"),
                      "ret { key: 'b' value: 's:y:0' }"));
  Node* call = Call("Root", "call", {x_});
  EXPECT_EQ(call->output_shape(0), Shape({2})) << "inferred through the body";
  Output user = NodeBuilder(Scope(&graph_).Named("user"), "Sqrt").Input(call->output(0)).FinishOutput();
  const uint64_t version = graph_.version();
  ASSERT_TRUE(IsCall(*call));
  EXPECT_THAT(CallsIn(graph_), ElementsAre(call));
  const absl::Status status = ExpandCalls(&graph_, {call});
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(call->op(), "Identity");
  EXPECT_EQ(call->name(), "call");
  EXPECT_EQ(user.node()->input(0), call->output(0));
  EXPECT_EQ(call->input(0).name(), "call/s:0");
  EXPECT_EQ(call->input(0).node()->input(0), x_);
  EXPECT_GT(graph_.version(), version);
  EXPECT_THAT(CallsIn(graph_), IsEmpty());
  EXPECT_TRUE(VerifyGraph(graph_).ok()) << VerifyGraph(graph_);
}

TEST_F(InlineTest, NestedCallsAndSeveralResults) {
  Define(absl::StrCat("signature { name: 'Root' ", kSignature, NodeDef("s", "Sqrt", "input: 'a'"),
                      "ret { key: 'b' value: 's:y:0' }"));
  Define(absl::StrCat(
      "signature { name: 'Two' input_arg { name: 'a' type: DT_FLOAT } output_arg { name: 'b' type: DT_FLOAT } "
      "output_arg { name: 'c' type: DT_FLOAT } }",
      NodeDef("r", "Root", "input: 'a'", ""), "ret { key: 'b' value: 'r:b:0' } ret { key: 'c' value: 'a' }"));
  Node* call = Call("Two", "call", {x_});
  EXPECT_EQ(call->output_shape(1), Shape({2}));
  ASSERT_TRUE(ExpandCalls(&graph_, {call}).ok());
  EXPECT_EQ(call->op(), "IdentityN");
  EXPECT_EQ(call->input(1), x_);
  EXPECT_EQ(call->input(0).name(), "call/r:0");
  EXPECT_EQ(call->input(0).node()->input(0).name(), "call/r/s:0");
}

TEST_F(InlineTest, EffectsKeepTheirOrder) {
  Define(
      "signature { name: 'Effect' is_stateful: true control_output: 'v' } node_def { name: 'v' op: 'Variable' attr { "
      "key: 'dtype' value { type: DT_FLOAT } } } node_def { name: 'w' op: 'NoOp' } control_ret { key: 'v' value: 'v' "
      "}");
  Node* first = Call("Effect", "first", {});
  Node* second = Call("Effect", "second", {}, {first});
  Node* other = Call("Effect", "other", {});
  Node* after = Call("Effect", "after", {}, {second, other});
  ASSERT_TRUE(ExpandCalls(&graph_, CallsIn(graph_)).ok());
  EXPECT_EQ(second->op(), "NoOp");
  EXPECT_THAT(graph_.FindNode("second/v")->control_inputs(), ElementsAre(first));
  EXPECT_THAT(second->control_inputs(), UnorderedElementsAre(first, graph_.FindNode("second/v")));
  // Two nodes to wait for are gathered.
  Node* gate = graph_.FindNode("after/control_inputs");
  ASSERT_NE(gate, nullptr);
  EXPECT_THAT(gate->control_inputs(), UnorderedElementsAre(second, other));
  EXPECT_THAT(graph_.FindNode("after/v")->control_inputs(), ElementsAre(gate));
  EXPECT_THAT(after->control_inputs(), UnorderedElementsAre(gate, graph_.FindNode("after/v")));
  EXPECT_TRUE(VerifyGraph(graph_).ok()) << VerifyGraph(graph_);
}

TEST_F(InlineTest, TheBodyIsPlacedAndCompiledAsTheCallIs) {
  Define(absl::StrCat("signature { name: 'Root' ", kSignature, NodeDef("s", "Sqrt", "input: 'a' device: '/cpu:1'"),
                      NodeDef("t", "Sqrt", "input: 's:y:0'"), "ret { key: 'b' value: 't:y:0' }"));
  AttrMap attrs;
  attrs.Set("_XlaCompile", true);
  attrs.Set("_gradient_op_type", "PartitionedCall-7");
  attrs.Set("_class", std::vector<std::string>{"loc:@x"});
  Node* call = AddNodeOrDie(graph_, {"call", "Root", {x_}, {}, attrs, "/cpu:0"});
  ASSERT_TRUE(ExpandCalls(&graph_, {call}).ok());
  EXPECT_EQ(graph_.FindNode("call/s")->device(), "/cpu:1");
  EXPECT_EQ(graph_.FindNode("call/t")->device(), "/cpu:0");
  EXPECT_TRUE(*graph_.FindNode("call/t")->attr<bool>("_XlaCompile"));
  EXPECT_EQ(call->device(), "/cpu:0");
  EXPECT_NE(call->attrs().Find("_class"), nullptr);
  EXPECT_EQ(call->attrs().Find("_gradient_op_type"), nullptr);
}

TEST_F(InlineTest, NamesThatAreTakenAreAvoided) {
  Define(absl::StrCat("signature { name: 'Root' ", kSignature, NodeDef("s", "Sqrt", "input: 'a'"),
                      "ret { key: 'b' value: 's:y:0' }"));
  AddPlaceholder(graph_, "call/s", DType::kFloat, Shape());
  AddPlaceholder(graph_, "call_1/s", DType::kFloat, Shape());
  Node* call = Call("Root", "call", {x_});
  ASSERT_TRUE(ExpandCalls(&graph_, {call}).ok());
  EXPECT_EQ(call->input(0).name(), "call_2/s:0");
}

TEST_F(InlineTest, InALoopWhatHasNoInputsWaitsForTheCalls) {
  Define(
      "signature { name: 'One' input_arg { name: 'a' type: DT_FLOAT } output_arg { name: 'b' type: DT_FLOAT } } "
      "node_def { name: 'c' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'value' value { "
      "tensor { dtype: DT_FLOAT tensor_shape { } float_val: 1 } } } } ret { key: 'b' value: 'c:output:0' }");
  Node* outside = Call("One", "outside", {x_});
  ASSERT_TRUE(ExpandCalls(&graph_, {outside}).ok());
  EXPECT_THAT(graph_.FindNode("outside/c")->control_inputs(), IsEmpty());
  AttrMap attrs;
  attrs.Set("frame_name", "f");
  attrs.Set("T", DType::kFloat);
  Node* enter = AddNodeOrDie(graph_, {"enter", "Enter", {x_}, {}, attrs, ""});
  Node* inside = Call("One", "inside", {enter->output(0)});
  ASSERT_TRUE(ExpandCalls(&graph_, {inside}).ok());
  EXPECT_THAT(graph_.FindNode("inside/c")->control_inputs(), ElementsAre(enter));
}

// A control edge from a Switch would let it run on both sides.
TEST_F(InlineTest, InABranchWhatHasNoInputsIsDeadWhereTheCallIs) {
  Define(
      "signature { name: 'One' input_arg { name: 'a' type: DT_FLOAT } output_arg { name: 'b' type: DT_FLOAT } } "
      "node_def { name: 'c' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'value' value { "
      "tensor { dtype: DT_FLOAT tensor_shape { } float_val: 1 } } } } ret { key: 'b' value: 'c:output:0' }");
  Node* choice = Choice("choice", "p");
  Node* call = Call("One", "call", {choice->output(1)});
  ASSERT_TRUE(ExpandCalls(&graph_, {call}).ok());
  const Node* constant = graph_.FindNode("call/c");
  ASSERT_EQ(constant->num_control_inputs(), 1);
  const Node* anchor = *constant->control_inputs().begin();
  EXPECT_EQ(anchor->op(), "Identity");
  EXPECT_EQ(anchor->input(0), choice->output(1));
}

// Whichever input it is that comes from the branch, and whatever else the call waits for.
TEST_F(InlineTest, InABranchInputsFromOutsideWaitForThoseFromInside) {
  Define(
      "signature { name: 'First' input_arg { name: 'a' type: DT_FLOAT } input_arg { name: 'c' type: DT_FLOAT } "
      "output_arg { name: 'b' type: DT_FLOAT } } ret { key: 'b' value: 'a' }");
  Node* choice = Choice("choice", "p");
  Node* same = Choice("same", "p");
  // Both from one branch: nothing is added.
  Node* inside = Call("First", "inside", {choice->output(1), same->output(1)});
  const int nodes = graph_.num_nodes();
  ASSERT_TRUE(ExpandCalls(&graph_, {inside}).ok());
  EXPECT_EQ(graph_.num_nodes(), nodes);
  EXPECT_EQ(inside->input(0), choice->output(1));
  Node* call = Call("First", "call", {x_, choice->output(1)}, {x_.node()});
  ASSERT_TRUE(ExpandCalls(&graph_, {call}).ok());
  const Node* gated = call->input(0).node();
  EXPECT_EQ(gated->input(0), x_);
  ASSERT_EQ(gated->num_control_inputs(), 1);
  EXPECT_EQ((*gated->control_inputs().begin())->input(0), choice->output(1));
  EXPECT_TRUE(VerifyGraph(graph_).ok()) << VerifyGraph(graph_);
}

// Alive only where two predicates hold: each input waits for what it lacks.
TEST_F(InlineTest, InTwoBranchesAllInputsWaitForBoth) {
  Define(
      "signature { name: 'First' input_arg { name: 'a' type: DT_FLOAT } input_arg { name: 'c' type: DT_FLOAT } "
      "input_arg { name: 'd' type: DT_FLOAT } output_arg { name: 'b' type: DT_FLOAT } } ret { key: 'b' value: 'a' }");
  const Outputs inputs = {x_, Choice("first", "p")->output(1), Choice("second", "q")->output(1)};
  Node* call = Call("First", "call", inputs);
  ASSERT_TRUE(ExpandCalls(&graph_, {call}).ok());
  const Node* gated = call->input(0).node();
  EXPECT_EQ(gated->input(0), x_);
  ASSERT_EQ(gated->num_control_inputs(), 1);
  const Node* gate = *gated->control_inputs().begin();
  EXPECT_EQ(gate->op(), "NoOp");
  Outputs awaited;
  for (const Node* anchor : gate->control_inputs()) awaited.push_back(anchor->input(0));
  EXPECT_THAT(awaited, UnorderedElementsAre(inputs[1], inputs[2]));
  EXPECT_TRUE(VerifyGraph(graph_).ok()) << VerifyGraph(graph_);
}

// As a call does: an effect does not come before what another argument waits for.
TEST_F(InlineTest, EffectsWaitForAllArguments) {
  Define(
      "signature { name: 'Effect' is_stateful: true control_output: 'v' input_arg { name: 'a' type: DT_FLOAT } "
      "input_arg { name: 'c' type: DT_FLOAT } } node_def { name: 'v' op: 'Variable' attr { key: 'dtype' value { type: "
      "DT_FLOAT } } } control_ret { key: 'v' value: 'v' }");
  AttrMap attrs;
  attrs.Set("T", DType::kFloat);
  Node* first = AddNodeOrDie(graph_, {"first", "Sqrt", {x_}, {}, attrs, ""});
  Node* call = Call("Effect", "call", {x_, first->output(0)});
  ASSERT_TRUE(ExpandCalls(&graph_, {call}).ok());
  EXPECT_THAT(graph_.FindNode("call/v")->control_inputs(), ElementsAre(first));
}

TEST_F(InlineTest, SomeCallsCanBeKept) {
  for (const char* name : {"Keep", "Root"}) {
    Define(absl::StrCat("signature { name: '", name, "' ", kSignature, NodeDef("s", "Sqrt", "input: 'a'"),
                        "ret { key: 'b' value: 's:y:0' }"));
  }
  Define(absl::StrCat("signature { name: 'Both' ", kSignature, NodeDef("k", "Keep", "input: 'a'", ""),
                      NodeDef("r", "Root", "input: 'k:b:0'", ""), "ret { key: 'b' value: 'r:b:0' }"));
  Node* call = Call("Both", "call", {x_});
  ASSERT_TRUE(ExpandCalls(&graph_, {call}, [](const Node& node) { return node.op() == "Keep"; }).ok());
  EXPECT_EQ(graph_.FindNode("call/k")->op(), "Keep");
  EXPECT_EQ(graph_.FindNode("call/r")->op(), "Identity");
}

TEST_F(InlineTest, AFunctionThatCallsItselfIsAnErrorThatNamesTheChain) {
  for (const auto& [name, callee] : {std::pair<const char*, const char*>{"F", "G"}, {"G", "H"}, {"H", "F"}}) {
    Define(absl::StrCat("signature { name: '", name, "' ", kSignature, NodeDef("n", callee, "input: 'a'", ""),
                        "ret { key: 'b' value: 'n:b:0' }"));
  }
  Node* call = Call("G", "call", {x_});
  const int nodes = graph_.num_nodes();
  const absl::Status status = ExpandCalls(&graph_, {call});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "node 'call' (op G): function 'G' calls itself: 'G' -> 'H' -> 'F' -> 'G'");
  EXPECT_EQ(graph_.num_nodes(), nodes);
}

TEST_F(InlineTest, FunctionsThatCallEachOtherTwiceAtSixtyLevelsAreRefusedAtOnce) {
  Define(absl::StrCat("signature { name: 'F0' ", kSignature, NodeDef("n", "Sqrt", "input: 'a'"),
                      "ret { key: 'b' value: 'n:y:0' }"));
  for (int i = 1; i <= 60; ++i) {
    const std::string callee = absl::StrCat("F", i - 1);
    Define(absl::StrCat("signature { name: 'F", i, "' ", kSignature, NodeDef("n", callee, "input: 'a'", ""),
                        NodeDef("m", callee, "input: 'n:b:0'", ""), "ret { key: 'b' value: 'm:b:0' }"));
  }
  Node* call = Call("F60", "call", {x_});
  EXPECT_EQ(graph_.FindNode("call"), call) << "shape inference does not go through 2^60 calls either";
  const absl::Status status = ExpandCalls(&graph_, {call});
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(), "node 'call' (op F60): the calls of functions expand to more than 1048576 nodes");
  EXPECT_EQ(graph_.num_nodes(), 2);
  // Ten levels of them are fine: 2^10 - 1 calls and a root at the end of each.
  Node* small = Call("F10", "small", {x_});
  ASSERT_TRUE(ExpandCalls(&graph_, {small}).ok());
  EXPECT_EQ(graph_.num_nodes(), 3 + 2046 + 1024);
}

TEST_F(InlineTest, DeepCallsNeedNoStack) {
  Define(absl::StrCat("signature { name: 'F0' ", kSignature, NodeDef("n", "Sqrt", "input: 'a'"),
                      "ret { key: 'b' value: 'n:y:0' }"));
  constexpr int kDepth = 20000;
  for (int i = 1; i <= kDepth; ++i) {
    Define(absl::StrCat("signature { name: 'F", i, "' ", kSignature,
                        NodeDef("n", absl::StrCat("F", i - 1), "input: 'a'", ""), "ret { key: 'b' value: 'n:b:0' }"));
  }
  // Names grow with the depth, so only a part is expanded; the check goes all the way.
  Node* call = Call(absl::StrCat("F", kDepth), "call", {x_});
  EXPECT_TRUE(ExpandCalls(&graph_, {call}, [](const Node& node) { return node.name().size() > 200; }).ok());
}

// A list of all arguments is one word in a function, however long it is.
TEST_F(InlineTest, EdgesAreBounded) {
  std::string function =
      "signature { name: 'Sums' attr { name: 'N' type: 'int' } input_arg { name: 'a' type: DT_FLOAT "
      "number_attr: 'N' } output_arg { name: 'b' type: DT_FLOAT } } ret { key: 'b' value: 'n0:sum:0' }";
  constexpr int kSize = 5000;
  for (int i = 0; i < kSize; ++i) {
    absl::StrAppend(&function, NodeDef(absl::StrCat("n", i), "AddN", "input: 'a'",
                                       " attr { key: 'T' value { type: DT_FLOAT } } "
                                       "attr { key: 'N' value { placeholder: 'N' } } "));
  }
  Define(function);
  AttrMap attrs;
  attrs.Set("N", kSize);
  Node* call = AddNodeOrDie(graph_, {"call", "Sums", Outputs(kSize, x_), {}, attrs, ""});
  EXPECT_EQ(call->output_shape(0), Shape()) << "not looked into";
  const absl::Status status = ExpandCalls(&graph_, {call});
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("'call' (op Sums): the calls of functions expand to nodes with "
                                                       "more than 8388608 inputs"));
  EXPECT_EQ(graph_.num_nodes(), 2);
  // Few inputs in many calls count as well.
  attrs.Set("N", 200);
  std::vector<Node*> calls;
  calls.reserve(20);
  for (int i = 0; i < 20; ++i) {
    calls.push_back(AddNodeOrDie(graph_, {absl::StrCat("call", i), "Sums", Outputs(200, x_), {}, attrs, ""}));
  }
  EXPECT_EQ(calls[0]->output_shape(0), Shape({2}));
  EXPECT_EQ(ExpandCalls(&graph_, calls).code(), absl::StatusCode::kResourceExhausted);
}

// A node's name tells by which calls it came about, so with the depth of calls names grow as its square.
TEST_F(InlineTest, NamesOfCallsInsideEachOtherAreBounded) {
  const std::string name(1000, 'n');
  Define(absl::StrCat("signature { name: 'F0' ", kSignature, NodeDef(name, "Sqrt", "input: 'a'"),
                      "ret { key: 'b' value: '", name, ":y:0' }"));
  constexpr int kDepth = 1000;
  for (int i = 1; i <= kDepth; ++i) {
    Define(absl::StrCat("signature { name: 'F", i, "' ", kSignature,
                        NodeDef(name, absl::StrCat("F", i - 1), "input: 'a'", ""), "ret { key: 'b' value: '", name,
                        ":b:0' }"));
  }
  const absl::Status status = ExpandCalls(&graph_, {Call(absl::StrCat("F", kDepth), "call", {x_})});
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("names of more than 268435456 bytes"));
  EXPECT_LT(status.message().size(), 4000u);
}

TEST_F(InlineTest, AFailedCallLeavesTheGraphAsItWas) {
  // The op's signature says int32, the body gives float.
  Define(
      absl::StrCat("signature { name: 'Bad' input_arg { name: 'a' type: DT_FLOAT } output_arg { name: 'b' type: "
                   "DT_INT32 } }",
                   NodeDef("s", "Sqrt", "input: 'a'"), "ret { key: 'b' value: 's:y:0' }"));
  Node* call = Call("Bad", "call", {x_});
  const absl::Status status = ExpandCalls(&graph_, {call});
  EXPECT_EQ(status.message(),
            "node 'call' (op Bad): function 'Bad': the types of the results are not those of the signature");
  EXPECT_EQ(graph_.num_nodes(), 2);
  EXPECT_EQ(call->op(), "Bad");
}

// An op of a test's own whose expander makes it a plain call, as control flow's do for their branches.
TEST_F(InlineTest, OpsWithExpandersAreExpandedInPlace) {
  OpRegistry registry;
  registry.Add("NoOp").Shape(NoOutputsShape);
  registry.Add("Identity").Input("input: T").Output("output: T").Attr("T: type").Shape(UnchangedShape);
  registry.Add("Placeholder").Output("output: dtype").Attr("dtype: type").Attr("shape: shape").Shape(UnknownShape);
  registry.Add("Sqrt").Input("x: T").Output("y: T").Attr("T: type").Shape(UnchangedShape);
  registry.Add("Twice").Input("x: float").Output("y: float").Attr("f: func").Shape(UnknownShape);
  CallExpanders::Global().Add("Twice", [](Graph* graph, Node* node, bool) -> absl::Status {
    NodeDesc inner;
    inner.name = node->name() + "/inner";
    inner.op = node->GetAttr<FunctionRef>("f").name;
    inner.inputs = {node->input(0)};
    NABLA_ASSIGN_OR_RETURN(Node * call, graph->AddNode(std::move(inner)));
    NodeDesc desc;
    desc.op = "Identity";
    desc.inputs = {call->output(0)};
    desc.attrs.Set("T", DType::kFloat);
    return graph->Morph(node, std::move(desc));
  });
  Graph graph(&registry);
  Output x = AddPlaceholder(graph, "x", DType::kFloat, Shape({2}));
  Define(graph, absl::StrCat("signature { name: 'Root' ", kSignature, NodeDef("s", "Sqrt", "input: 'a'"),
                             "ret { key: 'b' value: 's:y:0' }"));
  AttrMap attrs;
  attrs.Set("f", FunctionRef{"Root", nullptr});
  Node* node = AddNodeOrDie(graph, {"twice", "Twice", {x}, {}, attrs, ""});
  EXPECT_FALSE(CalledFunction(*node).has_value());
  ASSERT_TRUE(IsCall(*node));
  const absl::Status status = ExpandCalls(&graph, {node});
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(node->op(), "Identity");
  EXPECT_EQ(node->input(0).name(), "twice/inner:0");
  EXPECT_EQ(graph.FindNode("twice/inner")->op(), "Identity") << "what it left behind is expanded in turn";
}

TEST(MorphTest, ChangesTheOperationAndNothingElse) {
  Graph graph(&SmallOps());
  Output x = AddPlaceholder(graph, "x", DType::kFloat, Shape({2}));
  Output y = AddPlaceholder(graph, "y", DType::kFloat, Shape({kUnknownDim}));
  AttrMap t;
  t.Set("T", DType::kFloat);
  Node* node = AddNodeOrDie(graph, {"n", "Sqrt", {y}, {x.node()}, t, "/cpu:0"});
  Node* user = AddNodeOrDie(graph, {"user", "Sqrt", {node->output(0)}, {}, t, ""});
  graph.SetForeignFields(node, {"a", "b", "c"});
  const uint64_t version = graph.version();
  ASSERT_TRUE(graph.Morph(node, {"", "Add", {x, x}, {y.node()}, t, ""}).ok());
  EXPECT_EQ(graph.version(), version + 1);
  EXPECT_EQ(node->op(), "Add");
  EXPECT_EQ(node->name(), "n");
  EXPECT_EQ(node->device(), "/cpu:0");
  EXPECT_EQ(node->output_shape(0), Shape({2})) << "of the old [?] and the new [2]";
  EXPECT_EQ(graph.foreign_fields(node), nullptr);
  EXPECT_THAT(node->control_inputs(), ElementsAre(y.node()));
  EXPECT_EQ(user->input(0), node->output(0));
  EXPECT_TRUE(VerifyGraph(graph).ok()) << VerifyGraph(graph);
}

TEST(MorphTest, RefusesOtherOutputsAndItself) {
  Graph graph(&SmallOps());
  Output x = AddPlaceholder(graph, "x", DType::kFloat, Shape({2}));
  Output y = AddPlaceholder(graph, "y", DType::kFloat, Shape({3}));
  AttrMap t;
  t.Set("T", DType::kFloat);
  Node* node = AddNodeOrDie(graph, {"n", "Sqrt", {x}, {}, t, ""});
  const auto error = [&](NodeDesc desc) { return std::string(graph.Morph(node, std::move(desc)).message()); };
  EXPECT_EQ(error({"", "NoOp", {}, {}, {}, ""}),
            "node 'n' (op Sqrt) cannot become a NoOp: that would have 0 outputs, expected 1");
  AttrMap cast;
  cast.Set("SrcT", DType::kFloat);
  cast.Set("DstT", DType::kInt32);
  EXPECT_EQ(error({"", "Cast", {x}, {}, cast, ""}),
            "node 'n' (op Sqrt) cannot become a Cast: output 0 would have dtype int32, expected float");
  EXPECT_EQ(error({"", "Sqrt", {y}, {}, t, ""}),
            "node 'n' (op Sqrt) cannot become a Sqrt: output 0 has shape [2], which contradicts [3]");
  EXPECT_EQ(error({"", "Sqrt", {node->output(0)}, {}, t, ""}),
            "node 'n' (op Sqrt) cannot become a Sqrt: it would be its own input");
  EXPECT_THAT(error({"", "Add", {x}, {}, t, ""}), HasSubstr("has 1 inputs, expected 2"));
  EXPECT_EQ(node->op(), "Sqrt");
  EXPECT_EQ(node->input(0), x);
}

}  // namespace
}  // namespace nabla

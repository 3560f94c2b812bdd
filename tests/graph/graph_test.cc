#include "nabla/graph/graph.h"

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nabla/tests/graph/small_ops.h"

namespace nabla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Output Scalar(Graph& graph, const std::string& name, float value = 1) {
  return AddConst(graph, name, Tensor::Scalar(value));
}

NodeDesc Desc(const std::string& name, const std::string& op, Outputs inputs, DType dtype = DType::kFloat) {
  NodeDesc desc{.name = name, .op = op, .inputs = std::move(inputs)};
  if (dtype != DType::kInvalid) desc.attrs.Set("T", dtype);
  return desc;
}

Output Add(Graph& graph, const std::string& name, Output a, Output b) {
  return AddNodeOrDie(graph, Desc(name, "Add", {a, b}))->output(0);
}

Output Identity(Graph& graph, const std::string& name, Output a) {
  return AddNodeOrDie(graph, Desc(name, "Identity", {a}, a.dtype()))->output(0);
}

std::vector<std::string> Names(const std::vector<Node*>& nodes) {
  std::vector<std::string> names;
  names.reserve(nodes.size());
  for (const Node* node : nodes) names.push_back(node->name());
  return names;
}

std::vector<std::string> Consumers(const Node* node) {
  std::vector<std::string> names;
  for (const Edge& edge : node->consumers()) {
    names.push_back(edge.IsControl() ? "^" + edge.consumer->name()
                                     : edge.consumer->name() + ":" + std::to_string(edge.input));
  }
  return names;
}

std::string Message(const absl::Status& status) { return std::string(status.message()); }

TEST(GraphTest, ANodeHasWhatItWasAddedWith) {
  Graph graph(&SmallOps());
  Output a = AddPlaceholder(graph, "a", DType::kFloat, Shape({2, 3}));
  Output b = AddPlaceholder(graph, "b", DType::kFloat, Shape({3, kUnknownDim}));
  NodeDesc desc = Desc("layer/product", "MatMul", {a, b});
  desc.control_inputs = {a.node(), a.node()};
  desc.device = "/cpu:0";
  Node* node = AddNodeOrDie(graph, std::move(desc));

  EXPECT_EQ(node->id(), 2);
  EXPECT_EQ(node->name(), "layer/product");
  EXPECT_EQ(node->op(), "MatMul");
  EXPECT_EQ(node->device(), "/cpu:0");
  EXPECT_EQ(a.node()->device(), "");
  EXPECT_FALSE(node->GetAttr<bool>("transpose_a"));
  EXPECT_EQ(node->num_inputs(), 2);
  EXPECT_EQ(node->input(1), b);
  EXPECT_THAT(node->control_inputs(), ElementsAre(a.node()));
  EXPECT_EQ(node->num_outputs(), 1);
  EXPECT_EQ(node->output(0).dtype(), DType::kFloat);
  EXPECT_EQ(node->output(0).shape(), Shape({2, kUnknownDim}));
  EXPECT_EQ(node->output(0).name(), "layer/product:0");
  EXPECT_THAT(Consumers(a.node()), ElementsAre("layer/product:0", "^layer/product"));
  EXPECT_EQ(node->ToString(),
            "layer/product = MatMul[T=float, transpose_a=false, transpose_b=false](a:0, b:0, ^a) -> float [2,?] on "
            "/cpu:0");
}

TEST(GraphTest, FindsNodesAndTensors) {
  Graph graph(&SmallOps());
  Output a = Scalar(graph, "layer/weights");
  EXPECT_EQ(graph.FindNode("layer/weights"), a.node());
  EXPECT_EQ(graph.FindNode("Layer/weights"), nullptr);
  EXPECT_EQ(*graph.FindOutput("layer/weights"), a);
  EXPECT_EQ(*graph.FindOutput("layer/weights:0"), a);
  EXPECT_EQ(graph.FindOutput("layer/weight").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Message(graph.FindOutput("layer/weight:0").status()),
            "the graph has no node 'layer/weight'; did you mean 'layer/weights'?");
  EXPECT_EQ(Message(graph.FindOutput("layer/weights:1").status()),
            "there is no tensor 'layer/weights:1': node 'layer/weights' (op Const) has 1 output");
  for (const char* name : {"", "^a", "a:", "a:b", "a:-1", "a:99999999999", ":0", "a b", "a:1:2x"}) {
    EXPECT_EQ(graph.FindOutput(name).status().code(), absl::StatusCode::kInvalidArgument) << name;
  }
}

TEST(GraphTest, NodeNamesFollowTheGrammar) {
  for (const char* name : {"a", "A1", ".a", "a/b", "a.b-c_d", "a>b", "_internal", "0", "a\\b"}) {
    EXPECT_TRUE(IsValidNodeName(name)) << name;
  }
  for (const char* name : {"", "/a", "-a", "a b", "a:0", "^a", "a\n", "é"}) EXPECT_FALSE(IsValidNodeName(name)) << name;
}

TEST(GraphTest, RefusesBadNodes) {
  Graph graph(&SmallOps());
  Graph other(&SmallOps());
  Output a = AddPlaceholder(graph, "a", DType::kFloat, Shape({2, 3}));
  Output i = AddPlaceholder(graph, "i", DType::kInt32, Shape({2, 3}));
  Output foreign = Scalar(other, "foreign");
  const uint64_t version = graph.version();
  const auto error = [&](NodeDesc desc) { return graph.AddNode(std::move(desc)).status(); };

  EXPECT_EQ(error(Desc("a", "Identity", {a})).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(error(Desc("x", "Identty", {a})).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Message(error(Desc("x", "Identty", {a}))),
            "node 'x': unknown op 'Identty'; did you mean 'Identity' or 'IdentityN'?");
  EXPECT_THAT(Message(error(Desc("x\ny", "Identity", {a}))), HasSubstr("node 'x\\ny' (op Identity): malformed name"));
  EXPECT_EQ(Message(error(Desc("x", "Add", {a}))), "node 'x' (op Add): has 1 inputs, expected 2");
  EXPECT_EQ(Message(error(Desc("x", "Add", {a, i}))),
            "node 'x' (op Add): input 'y' is 'i:0' of dtype int32, expected float");
  EXPECT_EQ(Message(error(Desc("x", "Add", {a, Output()}))), "node 'x' (op Add): input 'y' is none, expected a tensor");
  EXPECT_EQ(Message(error(Desc("x", "Add", {a, foreign}))), "node 'x' (op Add): input 'y' belongs to another graph");
  EXPECT_EQ(Message(error(Desc("x", "Add", {a, Output(a.node(), 1)}))),
            "node 'x' (op Add): input 'y' names an output that its node does not have");
  EXPECT_EQ(error(Desc("x", "Add", {a, Output(a.node(), -2)})).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(error(Desc("x", "Add", {a, a}, DType::kInvalid))), HasSubstr("attr 'T' is missing"));
  EXPECT_THAT(Message(error(Desc("x", "MatMul", {a, a}))),
              HasSubstr("node 'x' (op MatMul): dimensions 3 and 2 differ"));
  NodeDesc controlled = Desc("x", "Identity", {a});
  controlled.control_inputs = {foreign.node()};
  EXPECT_THAT(Message(error(controlled)), HasSubstr("a control input belongs to another graph"));
  NodeDesc listed = Desc("x", "AddN", {a, i});
  listed.attrs.Set("N", 2);
  EXPECT_THAT(Message(error(listed)), HasSubstr("input 'inputs[1]' is 'i:0' of dtype int32"));

  // A refused node leaves nothing behind.
  EXPECT_EQ(graph.version(), version);
  EXPECT_EQ(graph.num_nodes(), 2);
  EXPECT_THAT(Consumers(a.node()), IsEmpty());
}

TEST(GraphTest, NamesAreMadeUniqueAsInTensorFlow) {
  Graph graph(&SmallOps());
  EXPECT_EQ(graph.UniqueName("a"), "a");
  EXPECT_EQ(graph.UniqueName("a"), "a");  // not reserved
  Scalar(graph, "a");
  EXPECT_EQ(graph.UniqueName("a"), "a_1");
  EXPECT_EQ(graph.UniqueName("A"), "A_1");  // case counts nothing here
  Scalar(graph, "a_1");
  EXPECT_EQ(graph.UniqueName("A"), "A_2");
  EXPECT_EQ(graph.UniqueName("a_1"), "a_1_1");
  Scalar(graph, "A");  // but a node may have such a name if it wants to
  EXPECT_NE(graph.FindNode("A"), graph.FindNode("a"));
  Scalar(graph, "a_3");
  Scalar(graph, "a_2");
  EXPECT_EQ(graph.UniqueName("a"), "a_4");

  EXPECT_EQ(graph.UniqueScopeName("scope"), "scope");
  EXPECT_EQ(graph.UniqueScopeName("Scope"), "Scope_1");
  EXPECT_EQ(graph.UniqueName("scope"), "scope_2");
  EXPECT_EQ(graph.UniqueScopeName("a"), "a_4");
  EXPECT_EQ(graph.UniqueName("a"), "a_5");
}

TEST(GraphTest, ANodeWithoutANameGetsItsOps) {
  Graph graph(&SmallOps());
  Output a = Scalar(graph, "a");
  EXPECT_EQ(Identity(graph, "", a).name(), "Identity:0");
  EXPECT_EQ(Identity(graph, "", a).name(), "Identity_1:0");
}

TEST(GraphTest, AMergeIsClosedByItsNextIteration) {
  Graph graph(&SmallOps());
  Output a = Scalar(graph, "a");
  NodeDesc enter = Desc("enter", "Enter", {a});
  enter.attrs.Set("frame_name", "loop");
  Node* entered = AddNodeOrDie(graph, enter);
  NodeDesc merge_desc = Desc("merge", "Merge", {entered->output(0), Output()});
  merge_desc.attrs.Set("N", 2);
  Node* merge = AddNodeOrDie(graph, merge_desc);
  EXPECT_FALSE(merge->input(1));
  Node* next = AddNodeOrDie(graph, Desc("next", "NextIteration", {merge->output(0)}));

  EXPECT_THAT(Message(graph.SetBackEdge(next, 0, merge->output(0))), HasSubstr("takes no back edge"));
  EXPECT_THAT(Message(graph.SetBackEdge(merge, 1, a)), HasSubstr("must come from a NextIteration"));
  EXPECT_THAT(Message(graph.SetBackEdge(merge, 0, next->output(0))), HasSubstr("is connected already"));
  EXPECT_THAT(Message(graph.SetBackEdge(merge, 2, next->output(0))), HasSubstr("has no input 2"));
  ASSERT_TRUE(graph.SetBackEdge(merge, 1, next->output(0)).ok());
  EXPECT_EQ(merge->input(1), next->output(0));
  EXPECT_THAT(Consumers(next), ElementsAre("merge:1"));
  EXPECT_THAT(Names(graph.TopologicalOrder()), ElementsAre("a", "enter", "merge", "next"));

  // A dead loop can be taken apart.
  EXPECT_EQ(graph.RemoveNode(next).code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(graph.SetBackEdge(merge, 1, Output()).ok());
  EXPECT_TRUE(graph.RemoveNode(next).ok());
  EXPECT_TRUE(graph.RemoveNode(merge).ok());
}

TEST(GraphTest, ReferencesMayBeReadAsValuesButNotTheReverse) {
  Graph graph(&SmallOps());
  NodeDesc desc{.name = "v", .op = "Variable"};
  desc.attrs.Set("dtype", DType::kFloat);
  Output variable = AddNodeOrDie(graph, desc)->output(0);
  EXPECT_EQ(variable.dtype(), MakeRef(DType::kFloat));
  Output value = Identity(graph, "value", Scalar(graph, "one"));
  EXPECT_TRUE(graph.AddNode(Desc("read", "Identity", {variable})).ok());
  EXPECT_TRUE(graph.AddNode(Desc("assign", "Assign", {variable, value})).ok());
  EXPECT_THAT(Message(graph.AddNode(Desc("bad", "Assign", {value, value})).status()),
              HasSubstr("input 'ref' is 'value:0' of dtype float, expected float_ref"));
}

TEST(GraphTest, RemovedNodesLeaveAGap) {
  Graph graph(&SmallOps());
  Output a = Scalar(graph, "a");
  Output b = Identity(graph, "b", a);
  Output c = Identity(graph, "c", b);
  graph.AddControlEdge(a.node(), c.node());
  EXPECT_EQ(Message(graph.RemoveNode(b.node())),
            "cannot remove node 'b' (op Identity): node 'c' (op Identity) consumes it");
  ASSERT_TRUE(graph.RemoveNode(c.node()).ok());
  ASSERT_TRUE(graph.RemoveNode(b.node()).ok());
  EXPECT_THAT(Consumers(a.node()), IsEmpty());
  EXPECT_EQ(graph.num_nodes(), 1);
  EXPECT_EQ(graph.num_node_ids(), 3);
  EXPECT_EQ(graph.node(1), nullptr);
  EXPECT_EQ(graph.FindNode("b"), nullptr);
  EXPECT_EQ(Identity(graph, "b", a).node()->id(), 3);
  EXPECT_THAT(Names(graph.Nodes()), ElementsAre("a", "b"));
}

TEST(GraphTest, InputsCanBeRedirected) {
  Graph graph(&SmallOps());
  Output a = Scalar(graph, "a");
  Output b = Scalar(graph, "b");
  Output sum = Add(graph, "sum", a, a);
  Output other = Add(graph, "other", a, b);
  graph.AddControlEdge(a.node(), other.node());
  const uint64_t version = graph.version();

  ASSERT_TRUE(graph.ReplaceInput(sum.node(), 1, b).ok());
  EXPECT_GT(graph.version(), version);
  EXPECT_EQ(sum.node()->input(1), b);
  EXPECT_THAT(Consumers(a.node()), ElementsAre("sum:0", "other:0", "^other"));
  EXPECT_THAT(Consumers(b.node()), ElementsAre("other:1", "sum:1"));

  // An identity put behind `a` keeps reading it.
  Output id = Identity(graph, "id", a);
  ASSERT_TRUE(graph.ReplaceUses(a, id).ok());
  EXPECT_THAT(Consumers(a.node()), ElementsAre("^other", "id:0"));
  EXPECT_THAT(Consumers(id.node()), ElementsAre("sum:0", "other:0"));

  Output integer = AddConst(graph, "integer", Tensor::Scalar<int32_t>(1));
  EXPECT_THAT(Message(graph.ReplaceInput(sum.node(), 0, integer)),
              HasSubstr("input 0 would be 'integer:0' of dtype int32, expected float"));
  EXPECT_THAT(Message(graph.ReplaceUses(id, integer)), HasSubstr("expected float"));
  EXPECT_FALSE(graph.ReplaceInput(sum.node(), 2, a).ok());
  EXPECT_FALSE(graph.ReplaceInput(sum.node(), 0, Output()).ok());
}

TEST(GraphTest, ReplaceUsesAmongOutputsOfOneNode) {
  Graph graph(&SmallOps());
  Output a = Scalar(graph, "a");
  NodeDesc desc{.name = "pair", .op = "IdentityN", .inputs = {a, a}};
  desc.attrs.Set("T", std::vector<DType>{DType::kFloat, DType::kFloat});
  Node* pair = AddNodeOrDie(graph, desc);
  Output sum = Add(graph, "sum", pair->output(0), pair->output(1));
  ASSERT_TRUE(graph.ReplaceUses(pair->output(0), pair->output(1)).ok());
  EXPECT_EQ(sum.node()->input(0), pair->output(1));
  EXPECT_EQ(sum.node()->input(1), pair->output(1));
}

TEST(GraphTest, ControlEdgesAreThereOnce) {
  Graph graph(&SmallOps());
  Output a = Scalar(graph, "a");
  Output b = Scalar(graph, "b");
  graph.AddControlEdge(a.node(), b.node());
  const uint64_t version = graph.version();
  graph.AddControlEdge(a.node(), b.node());
  EXPECT_EQ(graph.version(), version);
  EXPECT_THAT(b.node()->control_inputs(), ElementsAre(a.node()));
  graph.RemoveControlEdge(a.node(), b.node());
  EXPECT_THAT(b.node()->control_inputs(), IsEmpty());
  EXPECT_THAT(Consumers(a.node()), IsEmpty());
}

TEST(GraphTest, ManyControlInputsAreAddedInLinearTimeAndOnce) {
  Graph graph(&SmallOps());
  constexpr int kCount = 50000;
  NodeDesc group{.name = "group", .op = "NoOp"};
  for (int i = 0; i < kCount; ++i) {
    group.control_inputs.push_back(AddNodeOrDie(graph, {.name = "n" + std::to_string(i), .op = "NoOp"}));
  }
  group.control_inputs.push_back(group.control_inputs.front());
  EXPECT_EQ(AddNodeOrDie(graph, group)->num_control_inputs(), kCount);
  // Singly too, from either side.
  Node* sink = AddNodeOrDie(graph, {.name = "sink", .op = "NoOp"});
  for (int i = 0; i < kCount; ++i) graph.AddControlEdge(group.control_inputs[i], sink);
  Node* source = AddNodeOrDie(graph, {.name = "source", .op = "NoOp"});
  for (int i = 0; i < kCount; ++i) graph.AddControlEdge(source, group.control_inputs[i]);
  EXPECT_EQ(sink->num_control_inputs(), kCount);
}

TEST(GraphTest, ShapesAreOnlyNarrowed) {
  Graph graph(&SmallOps());
  Output a = AddPlaceholder(graph, "a", DType::kFloat, Shape({kUnknownDim, 3}));
  ASSERT_TRUE(graph.RefineShape(a, Shape({2, kUnknownDim})).ok());
  EXPECT_EQ(a.shape(), Shape({2, 3}));
  EXPECT_EQ(Message(graph.RefineShape(a, Shape({3, 3}))), "tensor 'a:0' has shape [2,3], which contradicts [3,3]");
  EXPECT_EQ(a.shape(), Shape({2, 3}));
}

TEST(GraphTest, TopologicalOrderFollowsRedirectedEdges) {
  Graph graph(&SmallOps());
  Output a = Scalar(graph, "a");
  Output b = Identity(graph, "b", a);
  Output c = Scalar(graph, "c");
  Output d = Identity(graph, "d", a);
  EXPECT_THAT(Names(graph.TopologicalOrder()), ElementsAre("a", "b", "c", "d"));
  ASSERT_TRUE(graph.ReplaceInput(b.node(), 0, d).ok());
  EXPECT_THAT(Names(graph.TopologicalOrder()), ElementsAre("a", "c", "d", "b"));
  graph.AddControlEdge(d.node(), c.node());
  EXPECT_THAT(Names(graph.TopologicalOrder()), ElementsAre("a", "d", "b", "c"));
  // A cycle that should not be there still gives an order of all nodes.
  graph.AddControlEdge(b.node(), d.node());
  EXPECT_THAT(Names(graph.TopologicalOrder()), ElementsAre("a", "b", "d", "c"));
}

TEST(GraphTest, DevicesAttrsAndForeignFields) {
  Graph graph(&SmallOps());
  Output a = Scalar(graph, "a");
  graph.SetDevice(a.node(), "/gpu:0");
  graph.SetAttr(a.node(), "_mark", 7);
  EXPECT_EQ(a.node()->device(), "/gpu:0");
  EXPECT_EQ(*a.node()->attr<int64_t>("_mark"), 7);
  EXPECT_EQ(a.node()->attr<float>("_mark"), nullptr);
  EXPECT_EQ(graph.foreign_fields(a.node()), nullptr);
  graph.SetForeignFields(a.node(), {.unknown_fields = "x"});
  EXPECT_EQ(graph.foreign_fields(a.node())->unknown_fields, "x");
  ASSERT_TRUE(graph.RemoveNode(a.node()).ok());
}

TEST(GraphTest, KeepsTheFirstError) {
  Graph graph(&SmallOps());
  EXPECT_TRUE(graph.status().ok());
  graph.RecordError(absl::OkStatus());
  EXPECT_TRUE(graph.status().ok());
  graph.RecordError(absl::InvalidArgumentError("first"));
  graph.RecordError(absl::InternalError("second"));
  EXPECT_EQ(Message(graph.status()), "first");
}

TEST(GraphTest, LocalSpecsServeOnlyTheirGraph) {
  OpRegistry elsewhere;
  elsewhere.Add("Own").Output("y: float");
  Graph graph(&SmallOps());
  EXPECT_EQ(graph.FindSpec("Own"), nullptr);
  const OpSpec* own = graph.AddLocalSpec(std::make_unique<OpSpec>(*elsewhere.Find("Own")));
  EXPECT_EQ(graph.FindSpec("Own"), own);
  EXPECT_EQ(AddNodeOrDie(graph, {.name = "own", .op = "Own"})->output(0).dtype(), DType::kFloat);
  EXPECT_EQ(Graph(&SmallOps()).FindSpec("Own"), nullptr);
  EXPECT_EQ(graph.FindSpec("Add"), SmallOps().Find("Add"));
}

TEST(GraphTest, AMillionDeepChainNeedsNoStack) {
  constexpr int kNodes = 1000000;
  Graph graph(&SmallOps());
  Output x = Scalar(graph, "x");
  for (int i = 0; i < kNodes; ++i) x = Identity(graph, "n" + std::to_string(i), x);
  EXPECT_EQ(graph.num_nodes(), kNodes + 1);
  EXPECT_EQ(graph.TopologicalOrder().back(), x.node());
  // The slow path as well: the chain's head comes from a node that stands after it.
  Output y = Scalar(graph, "y");
  ASSERT_TRUE(graph.ReplaceInput(graph.FindNode("n0"), 0, y).ok());
  EXPECT_EQ(graph.TopologicalOrder().back(), x.node());
}

TEST(GraphTest, EqualNamesInGreatNumberStayFast) {
  Graph graph(&SmallOps());
  for (int i = 0; i < 200000; ++i) AddNodeOrDie(graph, {.op = "NoOp"});
  EXPECT_NE(graph.FindNode("NoOp_199999"), nullptr);
}

TEST(GraphTest, ManyThreadsMayBuild) {
  Graph graph(&SmallOps());
  Output x = Scalar(graph, "x");
  constexpr int kThreads = 4;
  constexpr int kEach = 2000;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&graph, x] {
      for (int i = 0; i < kEach; ++i) AddNodeOrDie(graph, Desc("", "Identity", {x}));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(graph.num_nodes(), kThreads * kEach + 1);
  EXPECT_EQ(Consumers(x.node()).size(), static_cast<size_t>(kThreads * kEach));
}

TEST(ParseTensorNameTest, SplitsAtTheColon) {
  EXPECT_EQ(*ParseTensorName("a/b:12"), std::make_pair(std::string("a/b"), 12));
  EXPECT_EQ(*ParseTensorName("a"), std::make_pair(std::string("a"), 0));
  EXPECT_THAT(Message(ParseTensorName("^a").status()), HasSubstr("'^a' is no tensor name: it names a control input"));
}

}  // namespace
}  // namespace nabla

#include "nabla/graph/import.h"

#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "nabla/graph/export.h"
#include "nabla/graph/function_library.h"
#include "nabla/graph/summary.h"
#include "nabla/graph/verifier.h"
#include "nabla/proto/graph.pb.h"
#include "nabla/tests/graph/small_ops.h"

namespace nabla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Placeholder(absl::string_view name, absl::string_view more = "") {
  return absl::StrCat("node { name: '", name, "' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } ",
                      more, " }\n");
}

std::string Unary(absl::string_view op, absl::string_view name, absl::string_view inputs, absl::string_view more = "") {
  std::string text =
      absl::StrCat("node { name: '", name, "' op: '", op, "' attr { key: 'T' value { type: DT_FLOAT } }");
  for (const absl::string_view input : absl::StrSplit(inputs, ' ', absl::SkipEmpty())) {
    absl::StrAppend(&text, " input: '", input, "'");
  }
  return absl::StrCat(text, " ", more, " }\n");
}

absl::Status Import(Graph* graph, const std::string& text, const ImportOptions& options = {},
                    ImportResult* result = nullptr) {
  return ImportGraphDefString(text, options, graph, result, "test.pbtxt");
}

// The error that a strict import gives, which must be one line and leave the graph alone.
std::string ImportError(const std::string& text, const ImportOptions& options = {}) {
  Graph graph(&SmallOps());
  const Output x = AddPlaceholder(graph, "there", DType::kFloat, Shape({2}));
  const uint64_t version = graph.version();
  const absl::Status status = Import(&graph, text, options);
  EXPECT_FALSE(status.ok()) << text;
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("\n")));
  EXPECT_THAT(std::string(status.message()), HasSubstr("test.pbtxt: "));
  EXPECT_EQ(graph.num_nodes(), 1);
  EXPECT_EQ(graph.num_node_ids(), 1);
  EXPECT_EQ(graph.version(), version);
  EXPECT_TRUE(x.node()->consumers().empty());
  EXPECT_TRUE(graph.functions().empty());
  EXPECT_EQ(graph.UniqueName("p"), "p");
  EXPECT_TRUE(VerifyGraph(graph).ok());
  return std::string(status.message());
}

TEST(ImportTest, AddsNodesWithTheirAttrsInputsAndDevices) {
  Graph graph(&SmallOps());
  ImportResult result;
  const absl::Status status =
      Import(&graph,
             "node { name: 'x' op: 'Placeholder' device: '/device:CPU:0'"
             " attr { key: 'dtype' value { type: DT_FLOAT } }"
             " attr { key: 'shape' value { shape { dim { size: -1 } dim { size: 3 } } } } }" +
                 Placeholder("go") + Unary("Sqrt", "y", "x ^go") + "versions { producer: 900 min_consumer: 12 }",
             {}, &result);
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_EQ(result.nodes.size(), 3u);
  const Node* y = graph.FindNode("y");
  EXPECT_EQ(result.nodes[2], y);
  EXPECT_EQ(y->input(0).node()->device(), "/device:CPU:0");
  EXPECT_EQ(y->output_dtype(0), DType::kFloat);
  EXPECT_EQ(y->output_shape(0), Shape({kUnknownDim, 3}));
  EXPECT_THAT(y->control_inputs(), ElementsAre(graph.FindNode("go")));
  EXPECT_EQ(graph.versions().producer, 900);
  EXPECT_EQ(graph.versions().min_consumer, 12);
  EXPECT_TRUE(VerifyGraph(graph).ok());
}

TEST(ImportTest, TakesNodesInAnyOrderAndKeepsFileOrderWhereItCan) {
  Graph graph(&SmallOps());
  ImportResult result;
  ASSERT_TRUE(Import(&graph, Unary("Sqrt", "b", "a") + Placeholder("z") + Placeholder("a") + Unary("Sqrt", "c", "b"),
                     {}, &result)
                  .ok());
  std::vector<std::string> by_id;
  for (const Node* node : graph.Nodes()) by_id.push_back(node->name());
  EXPECT_THAT(by_id, ElementsAre("z", "a", "b", "c"));
  EXPECT_EQ(result.nodes[0]->name(), "b");
}

TEST(ImportTest, ClosesLoops) {
  Graph graph(&SmallOps());
  const std::string loop = Placeholder("x") +
                           Unary("Enter", "enter", "x", "attr { key: 'frame_name' value { s: 'f' } }") +
                           Unary("Merge", "merge", "enter next", "attr { key: 'N' value { i: 2 } }") +
                           Unary("NextIteration", "next", "merge");
  // Not a loop that could run: a strict import asks for more.
  EXPECT_THAT(std::string(Import(&graph, loop).message()), HasSubstr("no Switch by the frame's LoopCond"));
  ImportOptions lenient;
  lenient.allow_unsupported = true;
  const absl::Status status = Import(&graph, loop, lenient);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(graph.FindNode("merge")->input(1).node(), graph.FindNode("next"));
  EXPECT_EQ(graph.FindNode("next")->input(0).node(), graph.FindNode("merge"));
}

TEST(ImportTest, PrefixesNamesColocationAndFrames) {
  Graph graph(&SmallOps());
  AddPlaceholder(graph, "p", DType::kFloat, Shape());
  ImportOptions options;
  options.prefix = "p";
  options.allow_unsupported = true;  // as a frame, it lacks its Exit
  const std::string text = Placeholder("x") + Unary("Enter", "e", "x",
                                                    "attr { key: 'frame_name' value { s: 'f' } }"
                                                    "attr { key: '_class' value { list { s: 'loc:@x' } } }");
  ASSERT_TRUE(Import(&graph, text, options).ok());
  const Node* enter = graph.FindNode("p_1/e");
  ASSERT_NE(enter, nullptr);
  EXPECT_EQ(enter->input(0).name(), "p_1/x:0");
  EXPECT_EQ(*enter->attr<std::string>("frame_name"), "p_1/f");
  EXPECT_THAT(*enter->attr<std::vector<std::string>>("_class"), ElementsAre("loc:@p_1/x"));
  ASSERT_TRUE(Import(&graph, text, options).ok());
  EXPECT_NE(graph.FindNode("p_2/e"), nullptr);
}

TEST(ImportTest, MapsInputs) {
  Graph graph(&SmallOps());
  const Output mine = AddPlaceholder(graph, "mine", DType::kFloat, Shape({7}));
  const Output gate = AddPlaceholder(graph, "gate", DType::kFloat, Shape({}));
  ImportOptions options;
  options.prefix = "p";
  options.input_map = {{"x", mine}, {"^wait", gate}, {"absent:1", mine}};
  options.return_outputs = {"y:0", "x"};
  options.return_nodes = {"z"};
  ImportResult result;
  const absl::Status status = Import(
      &graph, Placeholder("x") + Placeholder("wait") + Unary("Sqrt", "y", "x:0 ^wait") + Unary("Sqrt", "z", "absent:1"),
      options, &result);
  ASSERT_TRUE(status.ok()) << status;
  const Node* y = graph.FindNode("p/y");
  EXPECT_EQ(y->input(0), mine);
  EXPECT_EQ(y->output_shape(0), Shape({7}));
  EXPECT_THAT(y->control_inputs(), ElementsAre(gate.node()));
  EXPECT_EQ(graph.FindNode("p/z")->input(0), mine);
  EXPECT_THAT(result.outputs, ElementsAre(Output(graph.FindNode("p/y"), 0), mine));
  EXPECT_THAT(result.return_nodes, ElementsAre(graph.FindNode("p/z")));
}

TEST(ImportTest, ControlDependenciesGoToWhatDependsOnNothingElse) {
  Graph graph(&SmallOps());
  const Output gate = AddPlaceholder(graph, "gate", DType::kFloat, Shape({}));
  ImportOptions options;
  options.control_dependencies = {gate.node()};
  options.default_device = "/cpu:0";
  ASSERT_TRUE(Import(&graph, Placeholder("x") + Unary("Sqrt", "y", "x", "device: '/cpu:1'"), options).ok());
  EXPECT_THAT(graph.FindNode("x")->control_inputs(), ElementsAre(gate.node()));
  EXPECT_THAT(graph.FindNode("y")->control_inputs(), ElementsAre());
  EXPECT_EQ(graph.FindNode("x")->device(), "/cpu:0");
  EXPECT_EQ(graph.FindNode("y")->device(), "/cpu:1");
}

TEST(ImportTest, AllFormsGiveTheSameGraph) {
  const std::string text = Placeholder("x") + Unary("Sqrt", "y", "x") + "versions { producer: 5 }";
  Graph graph(&SmallOps());
  ASSERT_TRUE(Import(&graph, text).ok());
  std::string bytes;
  ASSERT_TRUE(ExportGraphDefString(graph, {}, &bytes).ok());
  const std::string folder = ::testing::TempDir();
  for (const char* extension : {"pb", "pbtxt", "json"}) {
    // The name says nothing to the importer.
    const std::string path = absl::StrCat(folder, "/same.", extension);
    const std::string other = absl::StrCat(folder, "/other.", extension, ".bin");
    ASSERT_TRUE(ExportGraphFile(graph, {}, path).ok());
    ASSERT_EQ(rename(path.c_str(), other.c_str()), 0);
    Graph again(&SmallOps());
    const absl::Status status = ImportGraphDefFile(other, {}, &again);
    ASSERT_TRUE(status.ok()) << status;
    std::string bytes_again;
    ASSERT_TRUE(ExportGraphDefString(again, {}, &bytes_again).ok());
    EXPECT_EQ(bytes_again, bytes) << extension;

    std::ifstream file(other, std::ios::binary);
    Graph from_stream(&SmallOps());
    ASSERT_TRUE(ImportGraphDefStream(file, {}, &from_stream).ok());
    EXPECT_EQ(from_stream.num_nodes(), 2);
  }
}

// A stream that can only be read forwards, a few bytes at a time.
class Pipe : public std::streambuf {
 public:
  explicit Pipe(std::string bytes) : bytes_(std::move(bytes)) {}

 protected:
  int_type underflow() override {
    if (at_ == bytes_.size()) return traits_type::eof();
    const size_t count = std::min<size_t>(1000, bytes_.size() - at_);
    setg(&bytes_[at_], &bytes_[at_], &bytes_[at_] + count);
    at_ += count;
    return traits_type::to_int_type(*gptr());
  }

 private:
  std::string bytes_;
  size_t at_ = 0;
};

std::string LargeConstants() {
  GraphDef graph_def;
  for (int i = 0; i < 3; ++i) {
    NodeDef* node = graph_def.add_node();
    node->set_name(absl::StrCat("c", i));
    node->set_op("Const");
    (*node->mutable_attr())["dtype"].set_type(DT_INT32);
    TensorProto* tensor = (*node->mutable_attr())["value"].mutable_tensor();
    tensor->set_dtype(DT_INT32);
    tensor->mutable_tensor_shape()->add_dim()->set_size(50000 + i);
    std::vector<int32_t> values(50000 + i, i);
    values.back() = -7;
    tensor->set_tensor_content(values.data(), values.size() * sizeof(int32_t));
  }
  return graph_def.SerializeAsString();
}

void ExpectLargeConstants(const Graph& graph) {
  for (int i = 0; i < 3; ++i) {
    const Tensor& value = graph.FindNode(absl::StrCat("c", i))->GetAttr<Tensor>("value");
    ASSERT_EQ(value.shape(), Shape({50000 + i}));
    EXPECT_EQ(value.flat<int32_t>().front(), i);
    EXPECT_EQ(value.flat<int32_t>().back(), -7);
  }
}

TEST(ImportTest, LargeConstantsFromMemoryFileStreamAndPipe) {
  const std::string bytes = LargeConstants();
  Graph from_memory(&SmallOps());
  ASSERT_TRUE(ImportGraphDefString(bytes, {}, &from_memory).ok());
  ExpectLargeConstants(from_memory);

  const std::string path = absl::StrCat(::testing::TempDir(), "/large.pb");
  std::ofstream(path, std::ios::binary) << bytes;
  Graph from_file(&SmallOps());
  ASSERT_TRUE(ImportGraphDefFile(path, {}, &from_file).ok());
  ExpectLargeConstants(from_file);

  std::istringstream stream(bytes);
  Graph from_stream(&SmallOps());
  ASSERT_TRUE(ImportGraphDefStream(stream, {}, &from_stream).ok());
  ExpectLargeConstants(from_stream);

  Pipe pipe(bytes);
  std::istream forward_only(&pipe);
  Graph from_pipe(&SmallOps());
  const absl::Status status = ImportGraphDefStream(forward_only, {}, &from_pipe);
  ASSERT_TRUE(status.ok()) << status;
  ExpectLargeConstants(from_pipe);

  GraphDef message;
  ASSERT_TRUE(message.ParseFromString(bytes));
  Graph from_message(&SmallOps());
  ASSERT_TRUE(ImportGraphDef(message, {}, &from_message).ok());
  ExpectLargeConstants(from_message);
  EXPECT_GT(message.node(0).attr().at("value").tensor().tensor_content().size(), 100000u);
  Graph from_moved(&SmallOps());
  ASSERT_TRUE(ImportGraphDef(std::move(message), {}, &from_moved).ok());
  ExpectLargeConstants(from_moved);
}

TEST(ImportTest, LargeListsOfValues) {
  // In the forms that are not moved into place: booleans, short lists, elements of another field's kind.
  GraphDef graph_def;
  const auto add = [&](const char* name, DataType dtype) {
    NodeDef* node = graph_def.add_node();
    node->set_name(name);
    node->set_op("Const");
    (*node->mutable_attr())["dtype"].set_type(dtype);
    TensorProto* tensor = (*node->mutable_attr())["value"].mutable_tensor();
    tensor->set_dtype(dtype);
    tensor->mutable_tensor_shape()->add_dim()->set_size(100000);
    return tensor;
  };
  TensorProto* full = add("full", DT_FLOAT);
  for (int i = 0; i < 100000; ++i) full->add_float_val(static_cast<float>(i));
  TensorProto* part = add("part", DT_DOUBLE);
  for (int i = 0; i < 50000; ++i) part->add_double_val(i);
  TensorProto* bools = add("bools", DT_BOOL);
  bools->set_tensor_content(std::string(99999, '\1') + '\2');
  TensorProto* varints = add("varints", DT_INT64);
  for (int i = 0; i < 100000; ++i) varints->add_int64_val(-i);
  TensorProto* strings = add("strings", DT_STRING);
  for (int i = 0; i < 100000; ++i) strings->add_string_val(absl::StrCat(i));
  Graph graph(&SmallOps());
  const absl::Status status = ImportGraphDefString(graph_def.SerializeAsString(), {}, &graph);
  if (!status.ok()) {
    // A bool of 2 may be refused, but nothing else.
    ASSERT_THAT(std::string(status.message()), HasSubstr("bools"));
    bools->set_tensor_content(std::string(100000, '\1'));
    ASSERT_TRUE(ImportGraphDefString(graph_def.SerializeAsString(), {}, &graph).ok());
  }
  const auto value = [&](const char* name) { return graph.FindNode(name)->GetAttr<Tensor>("value"); };
  EXPECT_EQ(value("full").flat<float>()[99999], 99999.0f);
  EXPECT_EQ(value("part").flat<double>()[49999], 49999.0);
  EXPECT_EQ(value("part").flat<double>()[99999], 49999.0);
  EXPECT_EQ(value("varints").flat<int64_t>()[99999], -99999);
  EXPECT_EQ(value("strings").flat<std::string>()[99999], "99999");
}

TEST(ImportTest, EmptyGraphWithVersionsOnly) {
  Graph graph(&SmallOps());
  ASSERT_TRUE(Import(&graph, "versions { producer: 3 }").ok());
  EXPECT_EQ(graph.num_nodes(), 0);
  EXPECT_EQ(graph.versions().producer, 3);
}

TEST(ImportTest, VersionsOfTwoGraphsAreReconciled) {
  Graph graph(&SmallOps());
  ASSERT_TRUE(Import(&graph, Placeholder("x") + "versions { producer: 500 min_consumer: 3 bad_consumers: 9 }").ok());
  ASSERT_TRUE(Import(&graph, Placeholder("y") + "versions { producer: 900 min_consumer: 7 bad_consumers: 8 }").ok());
  EXPECT_EQ(graph.versions().producer, 500);
  EXPECT_EQ(graph.versions().min_consumer, 7);
  EXPECT_THAT(graph.versions().bad_consumers, ElementsAre(9, 8));
}

TEST(ImportTest, CallsOfFunctions) {
  Graph graph(&SmallOps());
  const std::string text =
      "library { function { signature { name: 'Twice' input_arg { name: 'a' type_attr: 'T' }"
      " output_arg { name: 'b' type_attr: 'T' } attr { name: 'T' type: 'type' } }"
      " node_def { name: 's' op: 'Add' input: 'a' input: 'a' attr { key: 'T' value { placeholder: 'T' } } }"
      " ret { key: 'b' value: 's:z:0' } } }" +
      Placeholder("x") + Unary("Twice", "y", "x") + Unary("Sqrt", "z", "y");
  const absl::Status status = Import(&graph, text);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(graph.FindNode("y")->output_dtype(0), DType::kFloat);
  EXPECT_NE(graph.functions().Find("Twice"), nullptr);
  EXPECT_TRUE(VerifyGraph(graph).ok()) << VerifyGraph(graph);
  // A second graph may call it too.
  EXPECT_TRUE(Import(&graph, Unary("Twice", "y2", "y3") + Placeholder("y3")).ok());
}

TEST(ImportTest, LenientImportKeepsWhatItDoesNotKnow) {
  Graph graph(&SmallOps());
  ImportOptions options;
  options.allow_unsupported = true;
  ImportResult result;
  const absl::Status status = Import(
      &graph,
      Placeholder("x", "attr { key: 'new' value { i: 5 } }") + Unary("Foo", "f", "x ^x") + Unary("Sqrt", "y", "f:2") +
          Unary("Foo", "g", "f") + Placeholder("x2", "attr { key: 'new' value { i: 6 } }"),
      options, &result);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(result.unsupported, ElementsAre("attr new of op Placeholder (node x)", "op Foo (node f)"));
  const Node* foo = graph.FindNode("f");
  EXPECT_TRUE(foo->spec().is_opaque());
  EXPECT_EQ(foo->num_outputs(), 3);
  EXPECT_EQ(foo->output_dtype(2), DType::kInvalid);
  EXPECT_FALSE(foo->output_shape(2).has_rank());
  EXPECT_EQ(*graph.FindNode("x")->attr<int64_t>("new"), 5);
  EXPECT_EQ(graph.FindNode("y")->output_dtype(0), DType::kFloat);
  VerifyOptions lenient;
  lenient.allow_unsupported = true;
  EXPECT_TRUE(VerifyGraph(graph, lenient).ok()) << VerifyGraph(graph, lenient);
  EXPECT_FALSE(VerifyGraph(graph).ok());
  // What lenient import let in does not become known to a strict one.
  EXPECT_THAT(std::string(Import(&graph, Unary("Foo", "h", "y") + Placeholder("y4")).message()),
              HasSubstr("unknown op 'Foo'"));
}

TEST(ImportTest, LenientImportKeepsNodesThatContradictTheirSpecs) {
  Graph graph(&SmallOps());
  ImportOptions options;
  options.allow_unsupported = true;
  ImportResult result;
  const std::string two_inputs =
      "node { name: 'y' op: 'Sqrt' input: 'x' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } }";
  const std::string text = Placeholder("x") + Unary("Sqrt", "good", "x") + two_inputs + Unary("Sqrt", "z", "y:1") +
                           "node { name: 'n' op: 'Sqrt' input: 'z' }";
  const absl::Status status = Import(&graph, text, options, &result);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(result.unsupported,
              ElementsAre("op Sqrt, which has a spec that says: has 2 inputs, expected 1 (node y)"));
  EXPECT_FALSE(graph.FindNode("good")->spec().is_opaque());
  const Node* y = graph.FindNode("y");
  EXPECT_TRUE(y->spec().is_opaque());
  EXPECT_EQ(y->op(), "Sqrt");
  EXPECT_EQ(y->num_inputs(), 2);
  EXPECT_EQ(y->num_outputs(), 2);
  EXPECT_EQ(graph.FindNode("z")->output_dtype(0), DType::kFloat);
  EXPECT_TRUE(graph.FindNode("n")->spec().is_opaque());
  EXPECT_THAT(Summarize(graph).unsupported, ElementsAre("op Sqrt (2 nodes, first: y): has 2 inputs, expected 1"));
  // It goes out as it came in.
  GraphDef written;
  ASSERT_TRUE(ExportGraphDef(graph, {}, &written).ok());
  EXPECT_EQ(written.node(2).input_size(), 2);
  // A strict import, into the same graph, still refuses it.
  EXPECT_THAT(std::string(Import(&graph, Placeholder("x2") + "node { name: 'y2' op: 'Sqrt' input: 'x2' input: 'x2' "
                                                             "attr { key: 'T' value { type: DT_FLOAT } } }")
                              .message()),
              HasSubstr("node 'y2' (op Sqrt): has 2 inputs, expected 1"));
  // However many outputs are said to be used.
  Graph small(&SmallOps());
  EXPECT_FALSE(Import(&small, Placeholder("x") + two_inputs + Unary("Sqrt", "z", "y:999999999"), options).ok());
}

TEST(ImportTest, LenientImportOfALoopOfUnknownOps) {
  Graph graph(&SmallOps());
  ImportOptions options;
  options.allow_unsupported = true;
  const OpRegistry nothing;
  Graph empty(&nothing);
  const std::string loop = Placeholder("x") + Unary("Enter", "e", "x") + Unary("Merge", "m", "e n") +
                           Unary("Switch", "s", "m c") + Unary("LoopCond", "c", "m") +
                           Unary("NextIteration", "n", "s:1");
  const absl::Status status = Import(&empty, loop, options);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(empty.FindNode("m")->input(1).node(), empty.FindNode("n"));
}

// Each text and what its error must contain.
TEST(ImportErrorTest, Nodes) {
  const std::string x = Placeholder("x");
  const std::pair<std::string, const char*> cases[] = {
      {x + x, "node 'x': nodes 0 and 1 both have this name"},
      {Placeholder("there"), "node 'there' (op Placeholder): the graph has a node of that name already"},
      {Placeholder("a b"), "node 'a b': malformed name, expected letters"},
      {Placeholder("a\\nb"), "node 'a\\nb': malformed name"},
      {Placeholder("-a"), "node '-a': malformed name"},
      {Placeholder(""), "node 0 has no name"},
      {"node { name: 'a' }", "node 'a': has the op ''"},
      {Unary("Sqrtt", "y", "x") + x, "node 'y': unknown op 'Sqrtt'; did you mean 'Sqrt'?"},
      {x + Unary("Sqrt", "y", "x", "attr { key: 'a' value { i: 1 } }"), "node 'y' (op Sqrt): the op has no attr 'a'"},
      {"node { name: 'c' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } }", "'value'"},
      {x + "node { name: 'y' op: 'Sqrt' input: 'x' }", "node 'y' (op Sqrt): attr 'T'"},
      {x + "node { name: 'y' op: 'Sqrt' input: 'x' attr { key: 'T' value { i: 1 } } }", "'T'"},
      {x + "node { name: 'y' op: 'Sqrt' input: 'x' attr { key: 'T' value { type: DT_STRING } } }", "string"},
      {x + "node { name: 'y' op: 'Sqrt' input: 'x' attr { key: 'T' value { type: DT_DOUBLE } } }",
       "is 'x:0' of dtype float, expected double"},
      {x + Unary("Sqrt", "y", ""), "node 'y' (op Sqrt): has 0 inputs, expected 1"},
      {x + Unary("Sqrt", "y", "x x"), "node 'y' (op Sqrt): has 2 inputs, expected 1"},
      {x + Unary("Sqrt", "y", "x:1"), "input 0 is 'x:1', but the outputs of 'x' (op Placeholder) number 1"},
      {x + Unary("Sqrt", "y", "xx"), "input 0 is 'xx', but the graph has no node 'xx'; did you mean 'x'?"},
      {x + Unary("Sqrt", "y", "x:"), "input 0 is 'x:', expected 'node', 'node:number' or '^node'"},
      {x + Unary("Sqrt", "y", "x:01"), "input 0 is 'x:01', expected 'node'"},
      {x + Unary("Sqrt", "y", "x:-1"), "input 0 is 'x:-1', expected 'node'"},
      {x + Unary("Sqrt", "y", "x:99999999999"), "input 0 is 'x:99999999999', expected"},
      {x + Unary("Sqrt", "y", "x ^x:0"), "input 1 is '^x:0'"},
      {x + Unary("Sqrt", "y", "x ^nope"), "input 1 is '^nope', but the graph has no node 'nope'"},
      {x + Unary("Sqrt", "y", "^x x"), "input 'x' follows a control input"},
      {Unary("Sqrt", "y", "y"), "the nodes 'y' -> 'y' form a cycle"},
      {x + Unary("Sqrt", "a", "c") + Unary("Sqrt", "b", "a") + Unary("Sqrt", "c", "b") + Unary("Sqrt", "d", "c"),
       "the nodes 'a' -> 'b' -> 'c' -> 'a' form a cycle, expected only cycles from a NextIteration to a Merge"},
      {x + Unary("Sqrt", "a", "x ^b") + Unary("Sqrt", "b", "a"), "the nodes 'a' -> 'b' -> 'a' form a cycle"},
      {Unary("Merge", "m", "n m", "attr { key: 'N' value { i: 2 } }") + Unary("NextIteration", "n", "m"), "cycle"},
      {Placeholder("q", "device: 'here'"), "node 'q' (op Placeholder): device 'here', expected the form"},
      {Placeholder("q", "attr { key: '_class' value { list { s: 'loc:@r' } } }"), "is colocated with 'r', which"},
      {"node { name: 'p' op: 'Placeholder' attr { key: 'dtype' value { type: 77 } } }", "77"},
      {"node { name: 'p' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } }"
       " attr { key: 'shape' value { shape { dim { size: -2 } } } } }",
       "node 'p'"},
      {"node { name: 'p' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'shape' value {"
       " shape { dim { size: 4611686018427387904 } dim { size: 4611686018427387904 } } } } }",
       "node 'p'"},
      {"node { name: 'm' op: 'MatMul' input: 'a' input: 'a' attr { key: 'T' value { type: DT_FLOAT } } }"
       "node { name: 'a' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } }"
       " attr { key: 'shape' value { shape { dim { size: 2 } dim { size: 3 } } } } }",
       "node 'm' (op MatMul): "},
  };
  for (const auto& [text, expected] : cases) EXPECT_THAT(ImportError(text), HasSubstr(expected));
}

std::string Const(absl::string_view tensor, absl::string_view dtype = "DT_FLOAT") {
  return absl::StrCat("node { name: 'c' op: 'Const' attr { key: 'dtype' value { type: ", dtype,
                      " } } attr { key: 'value' value { tensor { ", tensor, " } } } }");
}

TEST(ImportErrorTest, Tensors) {
  const std::string huge = "dtype: DT_FLOAT tensor_shape { dim { size: 1099511627776 } } ";
  const std::pair<std::string, const char*> cases[] = {
      {Const(huge + "float_val: 1"), "node 'c': attr 'value': a tensor of shape [1099511627776] is given by"},
      {Const(huge), "[1099511627776]"},
      {Const("dtype: DT_STRING tensor_shape { dim { size: 100000000 } } string_val: 'x'", "DT_STRING"), "[100000000]"},
      {Const(huge + "tensor_content: 'abcd'"), "node 'c': attr 'value': "},
      {Const("dtype: DT_FLOAT tensor_shape { dim { size: 2 } } tensor_content: '1234'"), "node 'c': attr 'value': "},
      {Const("dtype: DT_FLOAT tensor_shape { dim { size: 1 } } float_val: [1, 2]"), "node 'c': attr 'value': "},
      {Const("dtype: DT_FLOAT tensor_shape { dim { size: -1 } }"), "node 'c': attr 'value': "},
      {Const("dtype: DT_FLOAT tensor_shape { unknown_rank: true }"), "node 'c': attr 'value': "},
      {Const("dtype: 99 tensor_shape { }"), "node 'c': attr 'value': "},
      {Const("tensor_shape { }"), "node 'c': attr 'value': "},
      {Const("dtype: DT_FLOAT tensor_shape { dim { size: 9223372036854775807 } dim { size: 3 } } float_val: 1"),
       "node 'c': attr 'value': "},
  };
  for (const auto& [text, expected] : cases) EXPECT_THAT(ImportError(text), HasSubstr(expected));
  // The limit is on what is given by next to nothing, for all tensors together.
  std::string many;
  for (int i = 0; i < 4; ++i) {
    absl::StrAppend(&many, "node { name: 'c", i, "' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } ",
                    "attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 1000 } } } } } }");
  }
  ImportOptions options;
  options.max_expanded_bytes = 16000;
  Graph graph(&SmallOps());
  EXPECT_TRUE(Import(&graph, many, options).ok());
  options.max_expanded_bytes = 15999;
  EXPECT_THAT(ImportError(many, options), HasSubstr("node 'c3'"));
}

TEST(ImportErrorTest, Versions) {
  const std::string x = Placeholder("x");
  EXPECT_THAT(ImportError(x + "versions { producer: 9000 min_consumer: 8999 }"), HasSubstr("min_consumer is 8999"));
  EXPECT_THAT(ImportError(x + "versions { bad_consumers: 1087 }"), HasSubstr("bad_consumers names version 1087"));
  EXPECT_THAT(ImportError(x + "versions { producer: -1 }"), HasSubstr("producer is -1"));
}

TEST(ImportErrorTest, Functions) {
  const auto library = [](const char* function) { return absl::StrCat("library { function { ", function, " } }"); };
  const std::string good = "signature { name: 'F' input_arg { name: 'a' type: DT_FLOAT } }";
  const std::pair<std::string, const char*> cases[] = {
      {library("signature { name: 'Sqrt' }"), "function 'Sqrt' has the name of an op"},
      {library("signature { }"), "has no name"},
      {library("signature { name: 'F' output_arg { name: 'b' type: DT_FLOAT } }"), "function 'F': output 'b'"},
      {library("signature { name: 'F' input_arg { name: 'a' type_attr: 'T' } }"), "refers to 'T'"},
      {library("signature { name: 'F' attr { name: 'T' type: 'nonsense' } }"), "has the type 'nonsense'"},
      {library("signature { name: 'F' attr { name: 'T' type: 'int = 3' } }"), "has the type 'int = 3'"},
      {absl::StrCat("library { function { ", good, "} function { signature { name: 'F' } } }"),
       "another function of that name"},
      {absl::StrCat("library { function { ", good, "} gradient { function_name: 'F' gradient_func: 'G' } }"),
       "the function 'G'"},
  };
  for (const auto& [text, expected] : cases) EXPECT_THAT(ImportError(text), HasSubstr(expected));
}

TEST(ImportErrorTest, Options) {
  ImportOptions options;
  options.return_outputs = {"x:1"};
  EXPECT_THAT(ImportError(Placeholder("x"), options), HasSubstr("no tensor 'x:1'"));
  options = {};
  options.return_nodes = {"y"};
  EXPECT_THAT(ImportError(Placeholder("x"), options), HasSubstr("no node 'y'"));
  options = {};
  options.prefix = "a b";
  EXPECT_THAT(ImportError(Placeholder("x"), options), HasSubstr("prefix: 'a b'"));
  options = {};
  Graph other(&SmallOps());
  options.input_map = {{"x", AddPlaceholder(other, "o", DType::kFloat, Shape())}};
  EXPECT_THAT(ImportError(Placeholder("x"), options), HasSubstr("input_map: 'x' is mapped to what is no tensor"));
  options = {};
  options.control_dependencies = {nullptr};
  EXPECT_THAT(ImportError(Placeholder("x"), options), HasSubstr("control_dependencies"));

  Graph graph(&SmallOps());
  options = {};
  options.input_map = {{"typo", AddPlaceholder(graph, "mine", DType::kFloat, Shape())}};
  EXPECT_THAT(std::string(Import(&graph, Placeholder("x"), options).message()),
              HasSubstr("neither has nor uses 'typo'"));
  EXPECT_EQ(graph.num_nodes(), 1);
}

TEST(ImportErrorTest, AFailureAtTheLastNodeTakesEverythingBack) {
  // Edges from the graph's own nodes, a closed loop, a local function spec and a prefix are all undone.
  Graph graph(&SmallOps());
  const Output mine = AddPlaceholder(graph, "mine", DType::kFloat, Shape());
  ImportOptions options;
  options.prefix = "p";
  options.input_map = {{"x", mine}};
  const std::string text = "library { function { signature { name: 'F' } } } node { name: 'call' op: 'F' }" +
                           Placeholder("x") +
                           Unary("Enter", "enter", "x", "attr { key: 'frame_name' value { s: 'f' } }") +
                           Unary("Merge", "merge", "enter next", "attr { key: 'N' value { i: 2 } }") +
                           Unary("NextIteration", "next", "merge");
  EXPECT_FALSE(Import(&graph, text + Unary("Sqrt", "bad", "x x"), options).ok());
  EXPECT_EQ(graph.num_node_ids(), 1);
  EXPECT_TRUE(mine.node()->consumers().empty());
  EXPECT_EQ(graph.FindSpec("F"), nullptr);
  options.allow_unsupported = true;  // as a loop, it lacks its Switch
  ASSERT_TRUE(Import(&graph, text, options).ok());
  EXPECT_NE(graph.FindNode("p/merge"), nullptr);
  EXPECT_NE(graph.FindSpec("F"), nullptr);
}

}  // namespace
}  // namespace nabla

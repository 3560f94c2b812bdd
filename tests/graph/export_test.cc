#include "nabla/graph/export.h"

#include <dirent.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "nabla/graph/import.h"
#include "nabla/proto/graph.pb.h"
#include "nabla/tests/graph/small_ops.h"

namespace nabla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::vector<std::string> NodeNames(const GraphDef& graph_def) {
  std::vector<std::string> names;
  for (const NodeDef& node : graph_def.node()) names.push_back(node.name());
  return names;
}

// x -> y = x * c, with a control edge from `go`, and z apart.
class ExportTest : public ::testing::Test {
 protected:
  ExportTest() : graph_(&SmallOps()) {
    x_ = AddPlaceholder(graph_, "x", DType::kFloat, Shape({2, kUnknownDim}));
    c_ = AddConst(graph_, "c", Tensor::Of<float>({2, 1}, {1.5f, 2.5f}));
    go_ = AddNodeOrDie(graph_, {"go", "NoOp", {}, {}, {}, ""});
    y_ = AddNodeOrDie(graph_, {"s/y", "Mul", {x_, c_}, {go_}, T(), "/device:CPU:0"});
    z_ = AddPlaceholder(graph_, "z", DType::kInt32, Shape());
  }
  static AttrMap T() {
    AttrMap attrs;
    attrs.Set("T", DType::kFloat);
    return attrs;
  }
  Graph graph_;
  Output x_, c_, z_;
  Node* go_;
  Node* y_;
};

TEST_F(ExportTest, Message) {
  GraphDef graph_def;
  ASSERT_TRUE(ExportGraphDef(graph_, {}, &graph_def).ok());
  EXPECT_THAT(NodeNames(graph_def), ElementsAre("x", "c", "go", "s/y", "z"));
  const NodeDef& y = graph_def.node(3);
  EXPECT_EQ(y.op(), "Mul");
  EXPECT_THAT(y.input(), ElementsAre("x", "c", "^go"));
  EXPECT_EQ(y.device(), "/device:CPU:0");
  EXPECT_EQ(y.attr().at("T").type(), DT_FLOAT);
  EXPECT_EQ(graph_def.node(1).attr().at("value").tensor().tensor_content().size(), 8u);
  EXPECT_EQ(graph_def.versions().producer(), GraphVersions().producer);
}

TEST_F(ExportTest, SameBytesEveryTimeAndInEveryWay) {
  std::string first, second;
  ASSERT_TRUE(ExportGraphDefString(graph_, {}, &first).ok());
  ASSERT_TRUE(ExportGraphDefString(graph_, {}, &second).ok());
  EXPECT_EQ(first, second);
  std::ostringstream stream;
  ASSERT_TRUE(ExportGraphDefStream(graph_, {}, stream).ok());
  EXPECT_EQ(stream.str(), first);
  const std::string path = absl::StrCat(::testing::TempDir(), "/export.pb");
  ASSERT_TRUE(ExportGraphFile(graph_, {}, path).ok());
  EXPECT_EQ(ReadFile(path), first);
}

TEST_F(ExportTest, TargetsAndWhatTheyNeed) {
  ExportOptions options;
  options.targets = {y_};
  GraphDef graph_def;
  ASSERT_TRUE(ExportGraphDef(graph_, options, &graph_def).ok());
  EXPECT_THAT(NodeNames(graph_def), ElementsAre("x", "c", "go", "s/y"));
  Graph other(&SmallOps());
  options.targets = {AddPlaceholder(other, "o", DType::kFloat, Shape()).node()};
  EXPECT_THAT(std::string(ExportGraphDef(graph_, options, &graph_def).message()), HasSubstr("another graph"));
}

TEST_F(ExportTest, OutputShapes) {
  ExportOptions options;
  options.output_shapes = true;
  GraphDef graph_def;
  ASSERT_TRUE(ExportGraphDef(graph_, options, &graph_def).ok());
  const AttrValue& shapes = graph_def.node(3).attr().at("_output_shapes");
  ASSERT_EQ(shapes.list().shape_size(), 1);
  EXPECT_EQ(shapes.list().shape(0).dim(0).size(), 2);
  EXPECT_EQ(shapes.list().shape(0).dim(1).size(), -1);
  EXPECT_EQ(graph_def.node(2).attr().count("_output_shapes"), 0u) << "no outputs, no shapes";
  // The attr is one of those that an import keeps unasked.
  Graph again(&SmallOps());
  EXPECT_TRUE(ImportGraphDef(graph_def, {}, &again).ok());
}

TEST_F(ExportTest, OpenMergeIsRefused) {
  AttrMap attrs = T();
  attrs.Set("N", 2);
  AddNodeOrDie(graph_, {"m", "Merge", {x_, Output()}, {}, attrs, ""});
  GraphDef graph_def;
  EXPECT_EQ(ExportGraphDef(graph_, {}, &graph_def).message(), "node 'm' (op Merge): input 1 is not connected");
}

TEST_F(ExportTest, FileFormats) {
  const std::string folder = ::testing::TempDir();
  ASSERT_TRUE(ExportGraphFile(graph_, {}, folder + "/g.pbtxt").ok());
  EXPECT_THAT(ReadFile(folder + "/g.pbtxt"), HasSubstr("node {\n  name: \"s/y\"\n  op: \"Mul\"\n"));
  ASSERT_TRUE(ExportGraphFile(graph_, {}, folder + "/g.json").ok());
  EXPECT_THAT(ReadFile(folder + "/g.json"), HasSubstr("\"name\": \"s/y\""));
  ASSERT_TRUE(ExportGraphFile(graph_, {}, folder + "/g.dot").ok());
  const std::string dot = ReadFile(folder + "/g.dot");
  EXPECT_THAT(dot, HasSubstr("digraph"));
  EXPECT_THAT(dot, HasSubstr("\"s/y\" [label=\"s/y\\nMul\"];"));
  EXPECT_THAT(dot, HasSubstr("\"x\" -> \"s/y\" [label=\"float [2,?]\"];"));
  EXPECT_THAT(dot, HasSubstr("\"go\" -> \"s/y\" [style=dashed"));
}

// The file, made a node at a time, has the lines that protobuf prints of the whole; attrs may stand in another order.
TEST_F(ExportTest, JsonIsThatOfTheWholeGraph) {
  const auto sorted_lines = [](const std::string& text) {
    std::vector<std::string> lines = absl::StrSplit(text, '\n');
    for (std::string& line : lines) line = std::string(absl::StripSuffix(line, ","));
    std::sort(lines.begin(), lines.end());
    return lines;
  };
  const std::string path = absl::StrCat(::testing::TempDir(), "/whole.json");
  Graph empty(&SmallOps());
  Graph bare(&SmallOps());
  bare.versions() = {0, 0, {}};
  for (Graph* graph : {&graph_, &empty, &bare}) {
    for (const bool with_node : {false, true}) {
      if (with_node) AddPlaceholder(*graph, "another", DType::kFloat, Shape({1}));
      ASSERT_TRUE(ExportGraphFile(*graph, {}, path).ok());
      GraphDef whole;
      ASSERT_TRUE(ExportGraphDef(*graph, {}, &whole).ok());
      std::string json;
      google::protobuf::util::JsonPrintOptions print;
      print.add_whitespace = true;
      ASSERT_TRUE(google::protobuf::util::MessageToJsonString(whole, &json, print).ok());
      EXPECT_EQ(sorted_lines(ReadFile(path)), sorted_lines(json));
      Graph again(&SmallOps());
      const absl::Status status = ImportGraphDefFile(path, {}, &again);
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_EQ(again.num_nodes(), graph->num_nodes());
    }
  }
}

TEST_F(ExportTest, JsonKeepsNegativeZeros) {
  const std::string name = "-0, \\\"-0\\";
  AttrMap attrs;
  attrs.Set("dtype", DType::kDouble);
  const Tensor values = Tensor::Vector<double>({-0.0, 0.0, -0.5, -1e-08, -10, -0.0});
  attrs.Set("value", values);
  attrs.Set("_float", -0.0f);
  attrs.Set("_text", name);
  AddNodeOrDie(graph_, {"zeros", "Const", {}, {}, attrs, ""});
  const std::string path = absl::StrCat(::testing::TempDir(), "/zeros.json");
  ASSERT_TRUE(ExportGraphFile(graph_, {}, path).ok());
  Graph again(&SmallOps());
  const absl::Status status = ImportGraphDefFile(path, {}, &again);
  ASSERT_TRUE(status.ok()) << status;
  const Node* node = again.FindNode("zeros");
  ASSERT_NE(node, nullptr);
  const Tensor read = node->GetAttr<Tensor>("value");
  ASSERT_EQ(read.num_elements(), 6);
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(read.data<double>()[i], values.data<double>()[i]);
    EXPECT_EQ(std::signbit(read.data<double>()[i]), i != 1) << i;
  }
  EXPECT_TRUE(std::signbit(node->GetAttr<float>("_float")));
  EXPECT_EQ(node->GetAttr<std::string>("_text"), name);
}

TEST_F(ExportTest, FailureLeavesNoFile) {
  const std::string folder = absl::StrCat(::testing::TempDir(), "/failed");
  ASSERT_EQ(system(("rm -rf " + folder + " && mkdir " + folder).c_str()), 0);
  EXPECT_THAT(std::string(ExportGraphFile(graph_, {}, folder + "/g.png").message()),
              HasSubstr("expected it to end in .pb, .pbtxt, .json or .dot"));
  EXPECT_THAT(std::string(ExportGraphFile(graph_, {}, "/nowhere/g.pb").message()), HasSubstr("cannot be created"));
  AttrMap attrs = T();
  attrs.Set("N", 1);
  AddNodeOrDie(graph_, {"m", "Merge", {Output()}, {}, attrs, ""});
  std::ofstream(folder + "/g.pb") << "old";
  EXPECT_FALSE(ExportGraphFile(graph_, {}, folder + "/g.pb").ok());
  EXPECT_EQ(ReadFile(folder + "/g.pb"), "old");
  DIR* dir = opendir(folder.c_str());
  std::vector<std::string> files;
  while (const dirent* entry = readdir(dir)) files.emplace_back(entry->d_name);
  closedir(dir);
  EXPECT_THAT(files, ::testing::UnorderedElementsAre(".", "..", "g.pb"));
}

TEST(ForeignFieldsTest, AreGivenBack) {
  // Fields that no schema knows, at three levels, and those that a graph has no use for.
  GraphDef graph_def;
  NodeDef* node = graph_def.add_node();
  node->set_name("n");
  node->set_op("NoOp");
  node->mutable_experimental_debug_info()->add_original_node_names("before");
  node->mutable_experimental_type()->set_type_id(TFT_PRODUCT);
  NodeDef::GetReflection()->MutableUnknownFields(node)->AddVarint(1000, 7);
  NodeDef* other = graph_def.add_node();
  other->set_name("o");
  other->set_op("NoOp");
  other->mutable_experimental_debug_info();
  GraphDef::GetReflection()->MutableUnknownFields(&graph_def)->AddLengthDelimited(1001, "kept");
  graph_def.set_version(3);
  graph_def.mutable_debug_info()->add_files("a.py");
  graph_def.mutable_versions()->set_producer(5);
  VersionDef::GetReflection()->MutableUnknownFields(graph_def.mutable_versions())->AddFixed32(1002, 9);
  FunctionDef* function = graph_def.mutable_library()->add_function();
  function->mutable_signature()->set_name("F");
  FunctionDef::GetReflection()->MutableUnknownFields(function)->AddVarint(1003, 1);
  FunctionDefLibrary::GetReflection()->MutableUnknownFields(graph_def.mutable_library())->AddVarint(1004, 2);
  RegisteredGradient* registered = graph_def.mutable_library()->add_registered_gradients();
  registered->set_gradient_func("F");
  registered->set_registered_op_type("Custom");
  const std::string expected = graph_def.SerializeAsString();

  for (const bool from_bytes : {true, false}) {
    Graph graph(&SmallOps());
    ASSERT_TRUE((from_bytes ? ImportGraphDefString(expected, {}, &graph) : ImportGraphDef(graph_def, {}, &graph)).ok());
    GraphDef exported;
    ASSERT_TRUE(ExportGraphDef(graph, {}, &exported).ok());
    EXPECT_EQ(exported.DebugString(), graph_def.DebugString());
    std::string bytes;
    ASSERT_TRUE(ExportGraphDefString(graph, {}, &bytes).ok());
    GraphDef parsed;
    ASSERT_TRUE(parsed.ParseFromString(bytes));
    EXPECT_EQ(parsed.DebugString(), graph_def.DebugString());
  }
}

TEST(ExportImportTest, AHundredThousandNodes) {
  // Enough to show anything that is not linear.
  Graph graph(&SmallOps());
  AttrMap attrs;
  attrs.Set("T", DType::kFloat);
  Output last = AddPlaceholder(graph, "x", DType::kFloat, Shape({2}));
  for (int i = 0; i < 100000; ++i) {
    last = Output(AddNodeOrDie(graph, {absl::StrCat("n", i), "Sqrt", {last}, {}, attrs, ""}), 0);
  }
  std::string bytes;
  ASSERT_TRUE(ExportGraphDefString(graph, {}, &bytes).ok());
  Graph again(&SmallOps());
  ASSERT_TRUE(ImportGraphDefString(bytes, {}, &again).ok());
  EXPECT_EQ(again.num_nodes(), 100001);
  std::string bytes_again;
  ASSERT_TRUE(ExportGraphDefString(again, {}, &bytes_again).ok());
  EXPECT_EQ(bytes.size(), bytes_again.size());
  EXPECT_TRUE(bytes == bytes_again);
}

}  // namespace
}  // namespace nabla

// Graphs that TensorFlow wrote (see tests/golden/make_graphs.py), in and out again.
#include <fstream>

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "nabla/graph/export.h"
#include "nabla/graph/function_library.h"
#include "nabla/graph/import.h"
#include "nabla/graph/tensor_proto.h"
#include "nabla/graph/verifier.h"
#include "nabla/proto/graph.pb.h"

namespace nabla {
namespace {

using google::protobuf::util::MessageDifferencer;

std::string ReadFile(const std::string& name) {
  std::ifstream file("tests/golden/graphs/" + name, std::ios::binary);
  EXPECT_TRUE(file) << name;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

ImportOptions Lenient() {
  ImportOptions options;
  options.allow_unsupported = true;
  return options;
}

// A tensor's elements have several encodings, of which a graph keeps none: the messages are compared in one.
void Normalize(AttrValue* value) {
  const auto normalize = [](TensorProto* tensor) {
    absl::StatusOr<Tensor> read = TensorFromProto(*tensor);
    ASSERT_TRUE(read.ok()) << read.status();
    tensor->Clear();
    TensorToProto(*read, tensor);
  };
  if (value->has_tensor()) normalize(value->mutable_tensor());
  if (value->has_list()) {
    for (TensorProto& tensor : *value->mutable_list()->mutable_tensor()) normalize(&tensor);
  }
}

void Normalize(GraphDef* graph_def) {
  for (NodeDef& node : *graph_def->mutable_node()) {
    for (auto& [name, value] : *node.mutable_attr()) Normalize(&value);
  }
}

std::string Difference(const GraphDef& a, const GraphDef& b) {
  std::string report;
  MessageDifferencer differencer;
  differencer.ReportDifferencesToString(&report);
  // NaN is the same as NaN here.
  google::protobuf::util::DefaultFieldComparator comparator;
  comparator.set_treat_nan_as_equal(true);
  differencer.set_field_comparator(&comparator);
  // Import puts nodes after their inputs.
  differencer.TreatAsMap(GraphDef::descriptor()->FindFieldByName("node"),
                         NodeDef::descriptor()->FindFieldByName("name"));
  return differencer.Compare(a, b) ? "" : report;
}

class GoldenGraphsTest : public ::testing::TestWithParam<const char*> {};

TEST_P(GoldenGraphsTest, ComesOutAsItWentIn) {
  const std::string bytes = ReadFile(GetParam());
  GraphDef original;
  if (absl::EndsWith(GetParam(), ".pb")) {
    ASSERT_TRUE(original.ParseFromString(bytes));
  } else {
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(bytes, &original));
  }
  // A registry that knows no op, so that nothing is added that the file leaves out.
  const OpRegistry nothing;
  Graph graph(&nothing);
  const absl::Status status = ImportGraphDefString(bytes, Lenient(), &graph);
  ASSERT_TRUE(status.ok()) << status;
  std::string exported_bytes;
  ASSERT_TRUE(ExportGraphDefString(graph, {}, &exported_bytes).ok());
  GraphDef exported;
  ASSERT_TRUE(exported.ParseFromString(exported_bytes));
  GraphDef exported_message;
  ASSERT_TRUE(ExportGraphDef(graph, {}, &exported_message).ok());
  EXPECT_EQ(Difference(exported, exported_message), "");
  Normalize(&original);
  EXPECT_EQ(Difference(original, exported), "");

  // What Nabla wrote, it reads and writes again byte for byte, from each form.
  Graph again(&nothing);
  ASSERT_TRUE(ImportGraphDefString(exported_bytes, Lenient(), &again).ok());
  std::string bytes_again;
  ASSERT_TRUE(ExportGraphDefString(again, {}, &bytes_again).ok());
  EXPECT_EQ(bytes_again, exported_bytes);
  for (const char* extension : {"pbtxt", "json"}) {
    const std::string path = absl::StrCat(::testing::TempDir(), "/golden.", extension);
    ASSERT_TRUE(ExportGraphFile(graph, {}, path).ok());
    Graph from_text(&nothing);
    const absl::Status text_status = ImportGraphDefFile(path, Lenient(), &from_text);
    ASSERT_TRUE(text_status.ok()) << text_status;
    ASSERT_TRUE(ExportGraphDefString(from_text, {}, &bytes_again).ok());
    GraphDef message_again;
    ASSERT_TRUE(message_again.ParseFromString(bytes_again));
    EXPECT_EQ(Difference(exported, message_again), "") << extension;
  }

  VerifyOptions lenient;
  lenient.allow_unsupported = true;
  EXPECT_THAT(FindProblems(graph, lenient), ::testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Files, GoldenGraphsTest,
                         ::testing::Values("attr_kinds.pb", "attr_kinds.pbtxt", "constants.pb", "constants.pbtxt",
                                           "functions.pb", "functions.pbtxt", "training.pb", "while_v1.pb",
                                           "while_v1.pbtxt", "cond_v1.pb", "cond_v1.pbtxt", "unordered.pb",
                                           "unordered.pbtxt"),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& c : name) c = c == '.' ? '_' : c;
                           return name;
                         });

TEST(GoldenConstantsTest, TheLastValueFillsTheRest) {
  const OpRegistry nothing;
  Graph graph(&nothing);
  ASSERT_TRUE(ImportGraphDefString(ReadFile("constants.pb"), Lenient(), &graph).ok());
  const auto value = [&](const char* name) { return graph.FindNode(name)->GetAttr<Tensor>("value"); };
  EXPECT_TRUE(BitwiseEqual(value("float_short"), Tensor::Of<float>({4}, {1, 2, 2, 2})));
  EXPECT_TRUE(BitwiseEqual(value("float_none"), Tensor::Of<float>({4}, {0, 0, 0, 0})));
  EXPECT_TRUE(BitwiseEqual(value("int8_short"), Tensor::Of<int8_t>({2, 2}, {-1, 2, -3, -3})));
  EXPECT_TRUE(BitwiseEqual(value("int64_short"), Tensor::Of<int64_t>({2, 2}, {-1, -1, -1, -1})));
  EXPECT_TRUE(BitwiseEqual(value("complex64_short"), Tensor::Of<std::complex<float>>({3}, {{1, 2}, {1, 2}, {1, 2}})));
  EXPECT_TRUE(BitwiseEqual(value("string_short"), Tensor::Of<std::string>({3}, {"a", "b", "b"})));
  EXPECT_TRUE(BitwiseEqual(value("string_none"), Tensor::Of<std::string>({2}, {"", ""})));
  EXPECT_TRUE(BitwiseEqual(value("bool_full"), Tensor::Of<bool>({2}, {true, false})));
  for (const char* dtype : {"float32", "float64", "int8", "uint64", "complex128", "bool"}) {
    const Tensor splat = value(absl::StrCat(dtype, "_splat").c_str());
    EXPECT_EQ(splat.shape(), Shape({3, 3})) << dtype;
    EXPECT_EQ(value(absl::StrCat(dtype, "_matrix").c_str()).shape(), Shape({2, 3})) << dtype;
    EXPECT_EQ(value(absl::StrCat(dtype, "_empty").c_str()).num_elements(), 0) << dtype;
  }
  EXPECT_EQ(value("float32_matrix").flat<float>()[1], 0.0f);
  EXPECT_EQ(value("float32_matrix").flat<float>()[5], 1.0f);
  EXPECT_EQ(value("int8_large").num_elements(), 70000);
}

TEST(GoldenFunctionsTest, AreKept) {
  const OpRegistry nothing;
  Graph graph(&nothing);
  ASSERT_TRUE(ImportGraphDefString(ReadFile("functions.pb"), Lenient(), &graph).ok());
  EXPECT_EQ(graph.functions().Names().size(), 9u);
  EXPECT_EQ(graph.functions().FindGradient("Cube"), "CubeGrad");
  // A call has the types of the function's signature, although the registry knows no op at all.
  const Node* call = nullptr;
  for (const Node* node : graph.Nodes()) {
    if (node->op() == "Cube") call = node;
  }
  ASSERT_NE(call, nullptr);
  EXPECT_FALSE(call->spec().is_opaque());
  ASSERT_EQ(call->num_outputs(), 1);
  EXPECT_EQ(call->output_dtype(0), DType::kFloat);
}

}  // namespace
}  // namespace nabla

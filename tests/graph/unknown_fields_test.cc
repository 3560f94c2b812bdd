// Fields that the schema does not know come through import and export, wherever in an attr they stand.
#include <gtest/gtest.h>

#include <google/protobuf/unknown_field_set.h>
#include <google/protobuf/util/message_differencer.h>

#include "nabla/graph/export.h"
#include "nabla/graph/import.h"
#include "nabla/proto/graph.pb.h"
#include "nabla/tests/graph/small_ops.h"

namespace nabla {
namespace {

google::protobuf::UnknownFieldSet* UnknownFields(google::protobuf::Message* message) {
  return message->GetReflection()->MutableUnknownFields(message);
}

bool HasUnknown(const google::protobuf::Message& message) {
  return !message.GetReflection()->GetUnknownFields(message).empty();
}

void AddUnknown(google::protobuf::Message* message, int number) {
  UnknownFields(message)->AddVarint(1000 + number, number);
  UnknownFields(message)->AddLengthDelimited(2000 + number, "from the future");
}

// A constant of so many floats.
NodeDef* AddConst(GraphDef* graph_def, const std::string& name, int size) {
  NodeDef* node = graph_def->add_node();
  node->set_name(name);
  node->set_op("Const");
  (*node->mutable_attr())["dtype"].set_type(DT_FLOAT);
  TensorProto* tensor = (*node->mutable_attr())["value"].mutable_tensor();
  tensor->set_dtype(DT_FLOAT);
  tensor->mutable_tensor_shape()->add_dim()->set_size(size);
  for (int i = 0; i < size; ++i) {
    const char bytes[] = {1, 2, static_cast<char>(i), 3};
    tensor->mutable_tensor_content()->append(bytes, sizeof(bytes));
  }
  return node;
}

// With unknown fields in every kind of place.
GraphDef FutureGraph() {
  GraphDef graph_def;
  graph_def.mutable_versions()->set_producer(21);
  for (const int size : {2, 100000}) {
    const std::string of = std::to_string(size);
    AddUnknown(&(*AddConst(&graph_def, "attr" + of, size)->mutable_attr())["value"], 1);
    AddUnknown((*AddConst(&graph_def, "tensor" + of, size)->mutable_attr())["value"].mutable_tensor(), 2);
    NodeDef* all = AddConst(&graph_def, "all" + of, size);
    AttrValue& value = (*all->mutable_attr())["value"];
    AddUnknown(&value, 3);
    AddUnknown(value.mutable_tensor(), 4);
    AddUnknown(value.mutable_tensor()->mutable_tensor_shape(), 5);
    AddUnknown(value.mutable_tensor()->mutable_tensor_shape()->mutable_dim(0), 6);
    AddUnknown(&(*all->mutable_attr())["dtype"], 7);
    AddUnknown(all, 8);
  }
  NodeDef* more = AddConst(&graph_def, "more", 2);
  auto& attrs = *more->mutable_attr();
  for (int i = 0; i < 3; ++i) attrs["_shapes"].mutable_list()->add_shape()->add_dim()->set_size(i);
  AddUnknown(attrs["_shapes"].mutable_list(), 9);
  AddUnknown(attrs["_shapes"].mutable_list()->mutable_shape(2)->mutable_dim(0), 10);
  NameAttrList* function = attrs["_function"].mutable_func();
  function->set_name("f");
  (*function->mutable_attr())["a"].set_i(1);
  AddUnknown(&(*function->mutable_attr())["b"], 11);
  (*function->mutable_attr())["b"].set_s("text");
  AddUnknown(function, 12);
  AddUnknown(&attrs["_none"], 13);
  NameAttrList* listed = attrs["_functions"].mutable_list()->add_func();
  listed->set_name("g");
  AddUnknown((*listed->mutable_attr())["t"].mutable_list()->add_tensor(), 14);
  (*listed->mutable_attr())["t"].mutable_list()->mutable_tensor(0)->set_dtype(DT_FLOAT);
  (*listed->mutable_attr())["t"].mutable_list()->mutable_tensor(0)->mutable_tensor_shape();
  (*listed->mutable_attr())["t"].mutable_list()->mutable_tensor(0)->add_float_val(2);
  return graph_def;
}

void ExpectSame(const GraphDef& got, const GraphDef& want) {
  google::protobuf::util::MessageDifferencer differencer;
  std::string difference;
  differencer.ReportDifferencesToString(&difference);
  EXPECT_TRUE(differencer.Compare(want, got)) << difference.substr(0, 2000);
}

TEST(UnknownFieldsTest, AreKeptFromBytes) {
  const GraphDef future = FutureGraph();
  Graph graph(&SmallOps());
  const absl::Status status = ImportGraphDefString(future.SerializeAsString(), {}, &graph, nullptr, "test");
  ASSERT_TRUE(status.ok()) << status;
  GraphDef written;
  ASSERT_TRUE(ExportGraphDef(graph, {}, &written).ok());
  ExpectSame(written, future);
}

TEST(UnknownFieldsTest, AreKeptFromMessages) {
  const GraphDef future = FutureGraph();
  Graph graph(&SmallOps());
  const absl::Status status = ImportGraphDef(future, {}, &graph);
  ASSERT_TRUE(status.ok()) << status;
  std::string bytes;
  ASSERT_TRUE(ExportGraphDefString(graph, {}, &bytes).ok());
  GraphDef written;
  ASSERT_TRUE(written.ParseFromString(bytes));
  ExpectSame(written, future);
}

TEST(UnknownFieldsTest, GoWithTheirAttr) {
  GraphDef future = FutureGraph();
  Graph graph(&SmallOps());
  ASSERT_TRUE(ImportGraphDef(future, {}, &graph).ok());
  // A new value has none, other attrs and the node keep theirs.
  graph.SetAttr(graph.FindNode("all2"), "value", Tensor::Vector<float>({7}));
  GraphDef written;
  ASSERT_TRUE(ExportGraphDef(graph, {}, &written).ok());
  const NodeDef& node = written.node(2);
  ASSERT_EQ(node.name(), "all2");
  EXPECT_FALSE(HasUnknown(node.attr().at("value")));
  EXPECT_FALSE(HasUnknown(node.attr().at("value").tensor()));
  EXPECT_TRUE(HasUnknown(node.attr().at("dtype")));
  EXPECT_TRUE(HasUnknown(node));
}

TEST(UnknownFieldsTest, TwoValuesInOneAttrAreRefused) {
  // A large tensor and an integer.
  GraphDef graph_def;
  NodeDef* node = AddConst(&graph_def, "c", 100000);
  AttrValue second;
  second.set_i(3);
  const std::string entry = (*node->mutable_attr())["value"].SerializeAsString() + second.SerializeAsString();
  node->mutable_attr()->erase("value");
  // The map's entry as bytes: key 1, value 2.
  std::string map_entry;
  google::protobuf::UnknownFieldSet fields;
  fields.AddLengthDelimited(1, "value");
  fields.AddLengthDelimited(2, entry);
  ASSERT_TRUE(fields.SerializeToString(&map_entry));
  UnknownFields(node)->AddLengthDelimited(NodeDef::kAttrFieldNumber, map_entry);
  Graph graph(&SmallOps());
  const absl::Status status = ImportGraphDefString(graph_def.SerializeAsString(), {}, &graph, nullptr, "test");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(status.message()).find("more than one value"), std::string::npos) << status;
}

}  // namespace
}  // namespace nabla

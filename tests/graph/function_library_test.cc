#include "nabla/graph/function_library.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "nabla/graph/foreign_spec.h"
#include "nabla/graph/op_spec.h"
#include "nabla/proto/function.pb.h"

namespace nabla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

FunctionDef Function(const std::string& text) {
  FunctionDef function;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &function)) << text;
  return function;
}

FunctionDefLibrary Library(const std::string& text) {
  FunctionDefLibrary library;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &library)) << text;
  return library;
}

TEST(FunctionLibraryTest, AddsAndFinds) {
  FunctionLibrary library;
  EXPECT_TRUE(library.empty());
  ASSERT_TRUE(library.Add(Function("signature { name: 'G' }")).ok());
  ASSERT_TRUE(library.Add(Function("signature { name: 'F' }")).ok());
  ASSERT_TRUE(library.Add(Function("signature { name: 'F' }")).ok()) << "the same again";
  EXPECT_THAT(library.Names(), ElementsAre("F", "G"));
  EXPECT_EQ(library.Find("F")->signature().name(), "F");
  EXPECT_EQ(library.Find("H"), nullptr);
  EXPECT_EQ(library.FindGradient("F"), "");
  const absl::Status other = library.Add(Function("signature { name: 'F' description: 'another' }"));
  EXPECT_EQ(other.code(), absl::StatusCode::kAlreadyExists);
  FunctionDefLibrary out;
  library.ToProto(&out);
  EXPECT_EQ(out.function_size(), 2);
}

TEST(FunctionLibraryTest, AddsAllOrNone) {
  FunctionLibrary library;
  ASSERT_TRUE(library.Add(Function("signature { name: 'F' }")).ok());
  EXPECT_FALSE(library.AddLibrary(Library("function { signature { name: 'A' } } function { signature { } }")).ok());
  EXPECT_FALSE(library
                   .AddLibrary(Library("function { signature { name: 'A' } }"
                                       "gradient { function_name: 'A' gradient_func: 'B' }"))
                   .ok());
  EXPECT_THAT(library.Names(), ElementsAre("F"));
}

TEST(FunctionLibraryTest, Gradients) {
  FunctionLibrary library;
  const FunctionDefLibrary both = Library(
      "function { signature { name: 'F' } } function { signature { name: 'G' } } "
      "gradient { function_name: 'F' gradient_func: 'G' }");
  ASSERT_TRUE(library.AddLibrary(both).ok());
  ASSERT_TRUE(library.AddLibrary(both).ok());
  EXPECT_EQ(library.FindGradient("F"), "G");
  FunctionDefLibrary out;
  library.ToProto(&out);
  EXPECT_EQ(out.gradient_size(), 1);
  const absl::Status other = library.AddLibrary(Library("gradient { function_name: 'F' gradient_func: 'F' }"));
  EXPECT_THAT(std::string(other.message()), HasSubstr("function 'F' has two gradient functions, 'G' and 'F'"));
}

TEST(FunctionLibraryTest, ChecksSignatures) {
  const std::pair<const char*, const char*> cases[] = {
      {"signature { name: 'F' input_arg { name: 'a' } }", "input 'a': expected exactly one of type, type_attr"},
      {"signature { name: 'F' input_arg { name: 'a' type: 1 } input_arg { name: 'a' type: 1 } }", "twice"},
      {"signature { name: 'F' input_arg { name: 'a' type: 1 number_attr: 'N' } }", "which is no attr of type int"},
      {"signature { name: 'F' attr { name: 'N' type: 'int' } attr { name: 'N' type: 'int' } }", "twice"},
      {"signature { name: 'F' attr { name: 'N' type: 'int' default_value { s: 'x' } } }", "N"},
      {"signature { name: 'F' } node_def { name: 'n' op: 'NoOp' } node_def { name: 'n' op: 'NoOp' }",
       "two nodes or inputs are called 'n'"},
      {"signature { name: 'F' } node_def { name: 'n' }", "expected a name and an op"},
      {"signature { name: 'F' output_arg { name: 'o' type: 1 } } ret { key: 'o' value: 'n:x:0' }", "no such node"},
      {"signature { name: 'F' } ret { key: 'o' value: 'n:x:0' }", "which is no output"},
      {"signature { name: 'F' } control_ret { key: 'o' value: 'n' }", "no such node"},
  };
  for (const auto& [text, expected] : cases) {
    FunctionLibrary library;
    const absl::Status status = library.Add(Function(text));
    EXPECT_FALSE(status.ok()) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr("function 'F': ")) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(expected)) << text;
  }
}

TEST(ForeignSpecTest, SignatureBecomesASpec) {
  const FunctionDef function = Function(
      "signature { name: 'F' is_stateful: true "
      "input_arg { name: 'a' type_attr: 'T' number_attr: 'N' } input_arg { name: 'r' type: DT_FLOAT is_ref: true } "
      "output_arg { name: 'b' type_list_attr: 'Tout' } "
      "attr { name: 'T' type: 'type' allowed_values { list { type: DT_FLOAT type: DT_INT32 } } } "
      "attr { name: 'N' type: 'int' has_minimum: true minimum: 1 } "
      "attr { name: 'Tout' type: 'list(type)' default_value { list { type: DT_BOOL } } } }");
  const auto spec = ForeignSpec::FromSignature(function.signature());
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_TRUE((*spec)->is_stateful());
  EXPECT_FALSE((*spec)->is_opaque());
  AttrMap attrs;
  attrs.Set("T", DType::kInt32);
  attrs.Set("N", 2);
  ASSERT_TRUE(CompleteAttrs(**spec, &attrs).ok());
  DTypes inputs, outputs;
  ASSERT_TRUE(ArgDTypes((*spec)->inputs(), attrs, &inputs).ok());
  ASSERT_TRUE(ArgDTypes((*spec)->outputs(), attrs, &outputs).ok());
  EXPECT_THAT(inputs, ElementsAre(DType::kInt32, DType::kInt32, MakeRef(DType::kFloat)));
  EXPECT_THAT(outputs, ElementsAre(DType::kBool));
  EXPECT_TRUE((*spec)->FindAttr("N")->inferred_from_inputs);
  EXPECT_FALSE((*spec)->FindAttr("Tout")->inferred_from_inputs);
  attrs.Set("T", DType::kString);
  EXPECT_FALSE(CompleteAttrs(**spec, &attrs).ok());
}

}  // namespace
}  // namespace nabla

#include "nabla/graph/tensor_proto.h"

#include <complex>
#include <cstdint>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "nabla/proto/attr_value.pb.h"
#include "nabla/proto/tensor.pb.h"
#include "nabla/proto/tensor_shape.pb.h"

namespace nabla {
namespace {

using ::google::protobuf::TextFormat;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Message(const absl::Status& status) { return std::string(status.message()); }

TensorProto Parse(const std::string& text) {
  TensorProto proto;
  EXPECT_TRUE(TextFormat::ParseFromString(text, &proto)) << text;
  return proto;
}

Tensor Read(const std::string& text) {
  absl::StatusOr<Tensor> tensor = TensorFromProto(Parse(text));
  EXPECT_TRUE(tensor.ok()) << text << ": " << tensor.status();
  return tensor.ok() ? *std::move(tensor) : Tensor();
}

// Both overloads refuse it alike.
absl::Status Error(const TensorProto& proto) {
  const absl::Status status = TensorFromProto(proto).status();
  TensorProto copy = proto;
  EXPECT_EQ(TensorFromProto(std::move(copy)).status(), status);
  EXPECT_FALSE(absl::StrContains(Message(status), "\n"));
  return status;
}
absl::Status Error(const std::string& text) { return Error(Parse(text)); }

// The elements as tests/golden/make_tensors.py writes them.
std::string ElementText(const Tensor& tensor) {
  if (tensor.num_elements() == 0) return "-";
  if (tensor.dtype() != DType::kString) {
    return absl::BytesToHexString(absl::string_view(static_cast<const char*>(tensor.raw_data()), tensor.num_bytes()));
  }
  std::string text;
  for (const std::string& element : tensor.flat<std::string>()) {
    if (!text.empty()) text += ',';
    text += element.empty() ? "-" : absl::BytesToHexString(element);
  }
  return text;
}

struct GoldenCase {
  std::string name;
  DType dtype;
  std::string shape;
  TensorProto proto;
  std::string elements;
};

std::vector<GoldenCase> GoldenCases() {
  std::vector<GoldenCase> cases;
  std::ifstream file("tests/golden/tensors/cases.txt");
  std::string proto;
  int number;
  GoldenCase c;
  while (file >> c.name >> number >> c.shape >> proto >> c.elements) {
    c.dtype = static_cast<DType>(number);
    EXPECT_TRUE(c.proto.ParseFromString(absl::HexStringToBytes(proto))) << c.name;
    cases.push_back(c);
  }
  return cases;
}

TEST(GoldenTensorsTest, AreReadAsTensorFlowReadsThem) {
  const std::vector<GoldenCase> cases = GoldenCases();
  std::set<DType> dtypes;
  for (const GoldenCase& c : cases) {
    dtypes.insert(c.dtype);
    TensorProto copy = c.proto;
    for (const absl::StatusOr<Tensor>& tensor : {TensorFromProto(c.proto), TensorFromProto(std::move(copy))}) {
      ASSERT_TRUE(tensor.ok()) << c.name << ": " << tensor.status();
      EXPECT_EQ(tensor->dtype(), c.dtype) << c.name;
      EXPECT_EQ(tensor->shape().ToString(), c.shape) << c.name;
      EXPECT_EQ(ElementText(*tensor), c.elements) << c.name;
    }
  }
  EXPECT_GE(cases.size(), 200u);
  EXPECT_EQ(dtypes.size(), 25u);  // all but resource and variant
}

TEST(GoldenTensorsTest, SurviveBeingWrittenAndReadAgain) {
  for (const GoldenCase& c : GoldenCases()) {
    const absl::StatusOr<Tensor> tensor = TensorFromProto(c.proto);
    ASSERT_TRUE(tensor.ok()) << c.name;
    TensorProto written;
    TensorToProto(*tensor, &written);
    const absl::StatusOr<Tensor> again = TensorFromProto(written);
    ASSERT_TRUE(again.ok()) << c.name << ": " << again.status();
    EXPECT_TRUE(BitwiseEqual(*tensor, *again)) << c.name;
  }
}

// Where TensorFlow has one way to write a tensor, it is ours too, byte for byte.
TEST(GoldenTensorsTest, AreWrittenAsTensorFlowWritesThem) {
  int compared = 0;
  for (const GoldenCase& c : GoldenCases()) {
    // SerializeTensor writes scalars as content, make_tensor_proto arrays of some dtypes as values.
    const bool scalar_as_content = absl::StartsWith(c.name, "serialized_") && c.proto.tensor_content().size() > 0 &&
                                   c.proto.tensor_shape().dim_size() == 0;
    const bool array_as_values = absl::StartsWith(c.name, "made_") && c.proto.tensor_content().empty() &&
                                 c.proto.tensor_shape().dim_size() == 1 && c.dtype != DType::kString;
    const bool own = absl::StartsWith(c.name, "full_") || absl::StartsWith(c.name, "short_") ||
                     absl::StartsWith(c.name, "none_") || absl::StartsWith(c.name, "content_") ||
                     absl::StartsWith(c.name, "folded_");
    if (scalar_as_content || array_as_values || own) continue;
    TensorProto written;
    TensorToProto(*TensorFromProto(c.proto), &written);
    EXPECT_EQ(absl::BytesToHexString(written.SerializeAsString()), absl::BytesToHexString(c.proto.SerializeAsString()))
        << c.name;
    ++compared;
  }
  EXPECT_GE(compared, 60);
}

TEST(TensorFromProtoTest, TheLastValueRepeats) {
  EXPECT_THAT(Read("dtype: DT_FLOAT tensor_shape { dim { size: 4 } } float_val: 1 float_val: 2").flat<float>(),
              ElementsAre(1, 2, 2, 2));
  EXPECT_THAT(Read("dtype: DT_INT64 tensor_shape { dim { size: 3 } }").flat<int64_t>(), Each(0));
  EXPECT_THAT(
      Read("dtype: DT_STRING tensor_shape { dim { size: 3 } } string_val: 'a' string_val: 'b'").flat<std::string>(),
      ElementsAre("a", "b", "b"));
  EXPECT_THAT(Read("dtype: DT_COMPLEX64 tensor_shape { dim { size: 2 } } scomplex_val: 1 scomplex_val: 2")
                  .flat<std::complex<float>>(),
              Each(std::complex<float>(1, 2)));
}

TEST(TensorFromProtoTest, ContentWinsOverValues) {
  TensorProto proto = Parse("dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: 5");
  proto.set_tensor_content(std::string("\x07\0\0\0", 4));
  EXPECT_EQ(TensorFromProto(proto)->scalar<int32_t>(), 7);
}

TEST(TensorFromProtoTest, NoShapeIsAScalar) { EXPECT_EQ(Read("dtype: DT_INT32 int_val: 5").shape(), Shape::Scalar()); }

TEST(TensorFromProtoTest, ContentIsTakenOverWithoutCopying) {
  TensorProto proto = Parse("dtype: DT_UINT8 tensor_shape { dim { size: 1000 } }");
  proto.set_tensor_content(std::string(1000, '\x03'));
  const void* bytes = proto.tensor_content().data();
  const absl::StatusOr<Tensor> copied = TensorFromProto(proto);
  ASSERT_TRUE(copied.ok());
  EXPECT_NE(copied->raw_data(), bytes);
  const absl::StatusOr<Tensor> taken = TensorFromProto(std::move(proto));
  ASSERT_TRUE(taken.ok());
  EXPECT_EQ(taken->raw_data(), bytes);
  EXPECT_TRUE(BitwiseEqual(*copied, *taken));
}

TEST(TensorFromProtoTest, WrongDTypes) {
  EXPECT_THAT(Message(Error("dtype: DT_INVALID")), HasSubstr("unknown dtype 0"));
  EXPECT_THAT(Message(Error("dtype: DT_FLOAT_REF float_val: 1")), HasSubstr("unknown dtype 101"));
  TensorProto proto;
  for (int number : {34, 50, 99, 257, 1000, -1, std::numeric_limits<int>::max(), std::numeric_limits<int>::min()}) {
    proto.set_dtype(static_cast<DataType>(number));
    EXPECT_EQ(Error(proto).code(), absl::StatusCode::kInvalidArgument) << number;
  }
}

TEST(TensorFromProtoTest, WrongShapes) {
  EXPECT_EQ(Error("dtype: DT_FLOAT tensor_shape { dim { size: -1 } }").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Error("dtype: DT_FLOAT tensor_shape { dim { size: -5 } }").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Error("dtype: DT_FLOAT tensor_shape { unknown_rank: true }").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Error("dtype: DT_FLOAT tensor_shape { dim { size: 4294967296 } dim { size: 4294967296 } }").code(),
            absl::StatusCode::kInvalidArgument);
  // Elements can be counted, bytes cannot.
  EXPECT_EQ(Error("dtype: DT_COMPLEX128 tensor_shape { dim { size: 4294967296 } dim { size: 1073741824 } }").code(),
            absl::StatusCode::kInvalidArgument);
  TensorProto deep = Parse("dtype: DT_FLOAT");
  for (int i = 0; i < 255; ++i) deep.mutable_tensor_shape()->add_dim()->set_size(1);
  EXPECT_THAT(Message(Error(deep)), HasSubstr("255 dimensions"));
}

TEST(TensorFromProtoTest, ContentOfTheWrongSize) {
  for (int size : {1, 3, 7, 9, 23, 25, 1000}) {
    TensorProto proto = Parse("dtype: DT_FLOAT tensor_shape { dim { size: 2 } dim { size: 3 } }");
    proto.set_tensor_content(std::string(size, 'x'));
    const absl::Status status = Error(proto);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << size;
    EXPECT_THAT(Message(status), HasSubstr("and shape [2,3] has 24"));
  }
  TensorProto empty = Parse("dtype: DT_FLOAT tensor_shape { dim { size: 0 } }");
  empty.set_tensor_content("abcd");
  EXPECT_EQ(Error(empty).code(), absl::StatusCode::kInvalidArgument);
}

TEST(TensorFromProtoTest, MoreValuesThanElements) {
  const std::map<std::string, std::string> kFields = {{"DT_FLOAT", "float_val: 1"},
                                                      {"DT_DOUBLE", "double_val: 1"},
                                                      {"DT_INT8", "int_val: 1"},
                                                      {"DT_HALF", "half_val: 1"},
                                                      {"DT_BFLOAT16", "half_val: 1"},
                                                      {"DT_INT64", "int64_val: 1"},
                                                      {"DT_UINT32", "uint32_val: 1"},
                                                      {"DT_UINT64", "uint64_val: 1"},
                                                      {"DT_BOOL", "bool_val: true"},
                                                      {"DT_STRING", "string_val: 'a'"},
                                                      {"DT_FLOAT8_E5M2", ""},
                                                      {"DT_INT4", "int_val: 1"},
                                                      {"DT_COMPLEX64", "scomplex_val: 1"},
                                                      {"DT_COMPLEX128", "dcomplex_val: 1"}};
  for (const auto& [dtype, field] : kFields) {
    std::string text = "dtype: " + dtype + " tensor_shape { dim { size: 2 } }";
    for (int i = 0; i < (absl::StrContains(dtype, "COMPLEX") ? 6 : 3); ++i) text += " " + field;
    TensorProto proto = Parse(text);
    if (dtype == "DT_FLOAT8_E5M2") proto.set_float8_val("abc");
    const absl::Status status = Error(proto);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << dtype;
    EXPECT_THAT(Message(status), HasSubstr("3 values")) << dtype;
  }
  EXPECT_EQ(Error("dtype: DT_COMPLEX64 tensor_shape { dim { size: 2 } } scomplex_val: 1").code(),
            absl::StatusCode::kInvalidArgument);
}

// As TensorFlow reads these messages, and writes them.
TEST(TensorFromProtoTest, TypesOfAFewBits) {
  struct Case {
    const char* dtype;
    const char* values;
    std::vector<uint8_t> want;
  };
  const Case kCases[] = {
      {"DT_FLOAT8_E4M3FNUZ", "float8_val: '\\001\\300'", {1, 0xc0, 0xc0}},
      {"DT_FLOAT8_E4M3B11FNUZ", "float8_val: '\\001\\300'", {1, 0xc0, 0xc0}},
      {"DT_FLOAT8_E5M2FNUZ", "float8_val: '\\001\\300'", {1, 0xc0, 0xc0}},
      {"DT_FLOAT4_E2M1FN", "float8_val: '\\001\\300'", {1, 0, 0}},
      {"DT_INT2", "int_val: 1 int_val: 7 int_val: -3", {1, 0xff, 1}},
      {"DT_UINT2", "int_val: 1 int_val: 7 int_val: -3", {1, 3, 1}},
      {"DT_INT2", "tensor_content: '\\001\\002\\007'", {1, 0xfe, 0xff}},
      {"DT_UINT2", "tensor_content: '\\001\\002\\007'", {1, 2, 3}},
      {"DT_FLOAT4_E2M1FN", "tensor_content: '\\001\\002\\067'", {1, 2, 7}},
  };
  for (const Case& test : kCases) {
    SCOPED_TRACE(test.dtype);
    const absl::StatusOr<Tensor> tensor =
        TensorFromProto(Parse(absl::StrCat("dtype: ", test.dtype, " tensor_shape { dim { size: 3 } } ", test.values)));
    ASSERT_TRUE(tensor.ok()) << tensor.status();
    const uint8_t* bytes = static_cast<const uint8_t*>(tensor->raw_data());
    EXPECT_EQ(std::vector<uint8_t>(bytes, bytes + 3), test.want);
    TensorProto written;
    TensorToProto(*tensor, &written);
    const absl::StatusOr<Tensor> again = TensorFromProto(written);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_TRUE(BitwiseEqual(*tensor, *again));
  }
}

TEST(TensorFromProtoTest, ContentThatIsNoBool) {
  TensorProto proto = Parse("dtype: DT_BOOL tensor_shape { dim { size: 20 } }");
  proto.set_tensor_content(std::string(19, '\1') + '\2');
  const absl::Status status = Error(proto);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(status), HasSubstr("element 19"));
}

TEST(TensorFromProtoTest, NibblesOutsideTheirRangeAreCut) {
  TensorProto proto = Parse("dtype: DT_INT4 tensor_shape { dim { size: 3 } }");
  proto.set_tensor_content("\x01\x0f\xf7");
  EXPECT_THAT(TensorFromProto(proto)->flat<int8_t>(), ElementsAre(1, -1, 7));
  EXPECT_THAT(Read("dtype: DT_UINT4 tensor_shape { dim { size: 2 } } int_val: 13 int_val: -3").flat<uint8_t>(),
              ElementsAre(13, 13));
}

TEST(TensorFromProtoTest, MalformedStringContent) {
  TensorProto proto = Parse("dtype: DT_STRING tensor_shape { dim { size: 2 } }");
  const std::string kContents[] = {
      "\x01",                                              // one length missing
      std::string("\x01\x01\x61", 3),                      // a byte missing
      std::string("\x01\x01\x61\x62\x63", 5),              // a byte too many
      std::string("\x80\x80", 2),                          // an unfinished length
      "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01\x61",  // 2^64 - 1, which would wrap around
      std::string(40, '\xff'),                             // a length without end
  };
  for (const std::string& content : kContents) {
    proto.set_tensor_content(content);
    EXPECT_EQ(Error(proto).code(), absl::StatusCode::kInvalidArgument) << absl::BytesToHexString(content);
  }
  // A few bytes do not make a billion strings.
  proto.mutable_tensor_shape()->mutable_dim(0)->set_size(int64_t{1} << 40);
  EXPECT_EQ(Error(proto).code(), absl::StatusCode::kInvalidArgument);
}

TEST(TensorFromProtoTest, AFewBytesCannotAskForAllMemory) {
  EXPECT_EQ(Error("dtype: DT_FLOAT tensor_shape { dim { size: 4000000000 } } float_val: 1").code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Error("dtype: DT_STRING tensor_shape { dim { size: 4000000000 } }").code(),
            absl::StatusCode::kResourceExhausted);
  TensorProto proto = Parse("dtype: DT_STRING tensor_shape { dim { size: 100000 } }");
  proto.add_string_val(std::string(1 << 20, 'x'));
  EXPECT_EQ(Error(proto).code(), absl::StatusCode::kResourceExhausted);
}

TEST(TensorFromProtoTest, ResourcesAndVariantsAreNotInFiles) {
  EXPECT_EQ(Error("dtype: DT_RESOURCE resource_handle_val { name: 'v' }").code(), absl::StatusCode::kUnimplemented);
  const absl::Status variant = Error("dtype: DT_VARIANT variant_val { type_name: 'x' }");
  EXPECT_EQ(variant.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(Message(variant), HasSubstr("variant"));
  TensorProto content = Parse("dtype: DT_VARIANT");
  content.set_tensor_content(std::string(100, 'x'));
  EXPECT_EQ(Error(content).code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(Read("dtype: DT_VARIANT tensor_shape { dim { size: 0 } }").num_elements(), 0);
}

TEST(TensorToProtoTest, ASplatIsOneValue) {
  TensorProto proto;
  Tensor t = Tensor::Zeros(DType::kDouble, {1000});
  TensorToProto(t, &proto);
  EXPECT_EQ(proto.double_val_size(), 1);
  EXPECT_TRUE(proto.tensor_content().empty());
  t.flat<double>()[999] = -0.0;  // equal in value, but not the same
  TensorToProto(t, &proto);
  EXPECT_EQ(proto.double_val_size(), 0);
  EXPECT_EQ(proto.tensor_content().size(), 8000u);
  TensorToProto(Tensor::Vector<std::string>({"a", "a", "a"}), &proto);
  EXPECT_EQ(proto.string_val_size(), 1);
  TensorToProto(Tensor::Zeros(DType::kFloat, {0, 2}), &proto);
  EXPECT_EQ(proto.float_val_size(), 0);
  EXPECT_EQ(proto.tensor_shape().dim_size(), 2);
}

TEST(TensorToProtoTest, NanPayloadsAreKept) {
  for (uint32_t bits : {0x7fc00001u, 0xffc00000u, 0x7f800001u}) {
    const Tensor t = Tensor::Scalar(bits).BitcastTo(DType::kFloat);
    TensorProto proto;
    TensorToProto(t, &proto);
    TensorProto read;
    ASSERT_TRUE(read.ParseFromString(proto.SerializeAsString()));
    EXPECT_TRUE(BitwiseEqual(*TensorFromProto(read), t)) << bits;
  }
}

TEST(ShapeProtoTest, RoundTrip) {
  for (const Shape& shape : {Shape(), Shape::Scalar(), Shape({2, 0, 3}), Shape({kUnknownDim, 5})}) {
    TensorShapeProto proto;
    proto.add_dim();  // is replaced
    ShapeToProto(shape, &proto);
    ASSERT_TRUE(ShapeFromProto(proto).ok());
    EXPECT_EQ(*ShapeFromProto(proto), shape);
  }
}

TEST(ShapeProtoTest, Malformed) {
  TensorShapeProto proto;
  proto.set_unknown_rank(true);
  proto.add_dim()->set_size(3);
  EXPECT_EQ(ShapeFromProto(proto).status().code(), absl::StatusCode::kInvalidArgument);
  proto.set_unknown_rank(false);
  EXPECT_TRUE(ShapeFromProto(proto).ok());
  proto.mutable_dim(0)->set_size(-2);
  EXPECT_EQ(ShapeFromProto(proto).status().code(), absl::StatusCode::kInvalidArgument);
  proto.mutable_dim(0)->set_size(std::numeric_limits<int64_t>::max());
  proto.add_dim()->set_size(2);
  EXPECT_EQ(ShapeFromProto(proto).status().code(), absl::StatusCode::kInvalidArgument);
}

AttrValue ParseAttr(const std::string& text) {
  AttrValue proto;
  EXPECT_TRUE(TextFormat::ParseFromString(text, &proto)) << text;
  return proto;
}

TEST(AttrProtoTest, EveryKindSurvives) {
  const std::pair<const char*, Attr::Kind> kAttrs[] = {
      {"", Attr::Kind::kNone},
      {"s: 'a\\377'", Attr::Kind::kString},
      {"i: -5", Attr::Kind::kInt},
      {"f: 0.25", Attr::Kind::kFloat},
      {"b: true", Attr::Kind::kBool},
      {"type: DT_HALF", Attr::Kind::kType},
      {"type: DT_FLOAT_REF", Attr::Kind::kType},
      {"type: DT_INVALID", Attr::Kind::kType},
      {"shape { dim { size: 2 } dim { size: -1 } }", Attr::Kind::kShape},
      {"shape { unknown_rank: true }", Attr::Kind::kShape},
      {"tensor { dtype: DT_INT32 tensor_shape { dim { size: 9 } } int_val: 3 }", Attr::Kind::kTensor},
      {"func { name: 'f' attr { key: 'T' value { type: DT_INT8 } } attr { key: 'n' value { i: 2 } } }",
       Attr::Kind::kFunc},
      {"func { name: 'f' }", Attr::Kind::kFunc},
      {"placeholder: 'T'", Attr::Kind::kPlaceholder},
      {"list { s: 'a' s: '' }", Attr::Kind::kListString},
      {"list { i: 1 i: -2 }", Attr::Kind::kListInt},
      {"list { f: 1 f: -2.5 }", Attr::Kind::kListFloat},
      {"list { b: false b: true }", Attr::Kind::kListBool},
      {"list { type: DT_INT8 type: DT_VARIANT }", Attr::Kind::kListType},
      {"list { shape { dim { size: 1 } } shape { unknown_rank: true } }", Attr::Kind::kListShape},
      {"list { tensor { dtype: DT_BOOL tensor_shape { } bool_val: true } }", Attr::Kind::kListTensor},
      {"list { func { name: 'f' } func { name: 'g' attr { key: 'a' value { list { i: 1 } } } } }",
       Attr::Kind::kListFunc},
      {"list { }", Attr::Kind::kEmptyList},
  };
  std::set<Attr::Kind> kinds;
  for (const auto& [text, kind] : kAttrs) {
    const AttrValue proto = ParseAttr(text);
    AttrValue movable = proto;
    for (const absl::StatusOr<Attr>& attr : {AttrFromProto(proto), AttrFromProto(std::move(movable))}) {
      ASSERT_TRUE(attr.ok()) << text << ": " << attr.status();
      EXPECT_EQ(attr->kind(), kind) << text;
      kinds.insert(kind);
      AttrValue written = ParseAttr("i: 99");
      AttrToProto(*attr, &written);
      // As text, in which maps are sorted.
      EXPECT_EQ(written.ShortDebugString(), proto.ShortDebugString());
    }
  }
  EXPECT_EQ(kinds.size(), static_cast<size_t>(Attr::Kind::kEmptyList) + 1);
}

TEST(AttrProtoTest, AMovedTensorIsNotCopied) {
  AttrValue proto = ParseAttr("tensor { dtype: DT_UINT8 tensor_shape { dim { size: 500 } } }");
  proto.mutable_tensor()->set_tensor_content(std::string(500, 'x'));
  const void* bytes = proto.tensor().tensor_content().data();
  absl::StatusOr<Attr> attr = AttrFromProto(std::move(proto));
  ASSERT_TRUE(attr.ok());
  EXPECT_EQ(attr->As<Tensor>()->raw_data(), bytes);

  AttrValue list = ParseAttr("list { tensor { dtype: DT_UINT8 tensor_shape { dim { size: 500 } } } }");
  list.mutable_list()->mutable_tensor(0)->set_tensor_content(std::string(500, 'x'));
  bytes = list.list().tensor(0).tensor_content().data();
  attr = AttrFromProto(std::move(list));
  ASSERT_TRUE(attr.ok());
  EXPECT_EQ(attr->As<std::vector<Tensor>>()->front().raw_data(), bytes);
}

TEST(AttrProtoTest, Malformed) {
  const std::pair<const char*, const char*> kErrors[] = {
      {"type: 99", "unknown dtype 99"},
      {"type: -1", "unknown dtype -1"},
      {"type: 256", "unknown dtype 256"},
      {"list { type: DT_INT8 type: 134 }", "unknown dtype 134"},
      {"list { i: 1 f: 2 }", "more than one kind"},
      {"list { shape { dim { size: -3 } } }", "is -3"},
      {"tensor { dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: [1, 2] }", "2 values"},
      {"list { tensor { dtype: 55 } }", "unknown dtype 55"},
      {"func { name: 'f' attr { key: 'T' value { type: 99 } } }", "attr T of function f: unknown dtype 99"},
  };
  for (const auto& [text, message] : kErrors) {
    const absl::Status status = AttrFromProto(ParseAttr(text)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(Message(status), HasSubstr(message)) << text;
  }
}

TEST(AttrProtoTest, DeepNestingIsRefused) {
  AttrValue proto;
  AttrValue* inner = &proto;
  // Deep enough; protobuf reads up to 100 levels of messages, and its own destructors recurse.
  for (int i = 0; i < 90; ++i) {
    NameAttrList* function = i % 2 == 0 ? inner->mutable_func() : inner->mutable_list()->add_func();
    function->set_name("f");
    inner = &(*function->mutable_attr())["g"];
  }
  const absl::Status status = AttrFromProto(proto).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(status), HasSubstr("nested"));
}

}  // namespace
}  // namespace nabla

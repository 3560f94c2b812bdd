#include "nabla/graph/op_spec.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nabla/graph/op_spec_language.h"
#include "nabla/graph/similar_names.h"
#include "nabla/tests/graph/small_ops.h"

namespace nabla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(ParseArgSpecTest, ReadsEveryForm) {
  const ArgSpec fixed = *ParseArgSpec("x: float");
  EXPECT_EQ(fixed.name, "x");
  EXPECT_EQ(fixed.dtype, DType::kFloat);
  EXPECT_FALSE(fixed.IsList());

  const ArgSpec by_attr = *ParseArgSpec("  y :T ");
  EXPECT_EQ(by_attr.name, "y");
  EXPECT_EQ(by_attr.dtype, DType::kInvalid);
  EXPECT_EQ(by_attr.type_attr, "T");

  const ArgSpec list = *ParseArgSpec("values: N * int32");
  EXPECT_EQ(list.number_attr, "N");
  EXPECT_EQ(list.dtype, DType::kInt32);
  EXPECT_TRUE(list.IsList());

  const ArgSpec ref = *ParseArgSpec("ref: Ref(N*T)");
  EXPECT_TRUE(ref.is_ref);
  EXPECT_EQ(ref.number_attr, "N");
  EXPECT_EQ(ref.type_attr, "T");
}

TEST(ParseArgSpecTest, RefusesWhatIsMalformed) {
  for (const char* line :
       {"", "x", "x:", ": float", "x: float float", "x: N *", "x: Ref(float", "1x: float", "x float"}) {
    EXPECT_EQ(ParseArgSpec(line).status().code(), absl::StatusCode::kInvalidArgument) << line;
  }
  EXPECT_THAT(std::string(ParseArgSpec("x: N *").status().message()),
              HasSubstr("malformed argument \"x: N *\": expected a dtype or attr at its end"));
}

TEST(ParseAttrSpecTest, ReadsKindsMinimumsAndDefaults) {
  const AttrSpec number = *ParseAttrSpec("N: int >= 2 = 3");
  EXPECT_EQ(number.kind, Attr::Kind::kInt);
  EXPECT_EQ(number.minimum, 2);
  EXPECT_EQ(*number.default_value, Attr(3));

  const AttrSpec types = *ParseAttrSpec("T: {float, DT_INT32} = DT_FLOAT");
  EXPECT_EQ(types.kind, Attr::Kind::kType);
  EXPECT_THAT(types.allowed_types, ElementsAre(DType::kFloat, DType::kInt32));
  EXPECT_EQ(*types.default_value, Attr(DType::kFloat));

  const AttrSpec strings = *ParseAttrSpec("padding: {'SAME', \"VALID\"} = 'SAME'");
  EXPECT_EQ(strings.kind, Attr::Kind::kString);
  EXPECT_THAT(strings.allowed_strings, ElementsAre("SAME", "VALID"));
  EXPECT_EQ(*strings.default_value, Attr("SAME"));

  EXPECT_EQ(*ParseAttrSpec("x: float = -1e-5")->default_value, Attr(-1e-5f));
  EXPECT_EQ(*ParseAttrSpec("s: string = \"a\\nb\"")->default_value, Attr("a\nb"));
  EXPECT_EQ(*ParseAttrSpec("l: list(int) = [1, -2]")->default_value, Attr(std::vector<int64_t>{1, -2}));
  EXPECT_EQ(*ParseAttrSpec("l: list(bool) = []")->default_value, Attr(std::vector<bool>{}));
  EXPECT_EQ(*ParseAttrSpec("l: list({float, half}) >= 1 = [half]")->default_value,
            Attr(std::vector<DType>{DType::kHalf}));
  EXPECT_EQ(*ParseAttrSpec("s: shape = [2,?]")->default_value, Attr(Shape({2, kUnknownDim})));
  EXPECT_EQ(*ParseAttrSpec("s: shape = { unknown_rank: true }")->default_value, Attr(Shape()));
  EXPECT_EQ(*ParseAttrSpec("s: shape = []")->default_value, Attr(Shape::Scalar()));
  EXPECT_EQ(ParseAttrSpec("f: list(func)")->kind, Attr::Kind::kListFunc);
  EXPECT_FALSE(ParseAttrSpec("t: tensor")->default_value.has_value());
}

TEST(ParseAttrSpecTest, KnowsTheUsualSets) {
  const std::vector<DType> real = ParseAttrSpec("T: realnumbertype")->allowed_types;
  const std::vector<DType> all = ParseAttrSpec("T: {numbertype, variant}")->allowed_types;
  EXPECT_THAT(real, testing::Contains(DType::kBFloat16));
  EXPECT_THAT(real, testing::Not(testing::Contains(DType::kComplex64)));
  EXPECT_THAT(all, testing::IsSupersetOf(real));
  EXPECT_THAT(all, testing::IsSupersetOf({DType::kComplex64, DType::kComplex128, DType::kVariant}));
  EXPECT_THAT(all, testing::Not(testing::Contains(DType::kBool)));
}

TEST(ParseAttrSpecTest, RefusesWhatIsMalformed) {
  for (const char* line : {"T",
                           "T: ",
                           "T: typ",
                           "T: {}",
                           "T: {float",
                           "T: {float, 'a'}",
                           "T: {flota}",
                           "T: list(int",
                           "N: int >= x",
                           "N: int = 1.5",
                           "x: float >= 1",
                           "N: int = 3 4",
                           "N: int >= 4 = 3",
                           "T: {float} = DT_INT32",
                           "s: string = abc",
                           "s: string = 'abc",
                           "s: shape = [-2]",
                           "l: list(int) = [1",
                           "f: func = 'g'",
                           "t: {'a'} = 'b'"}) {
    EXPECT_EQ(ParseAttrSpec(line).status().code(), absl::StatusCode::kInvalidArgument) << line;
  }
  EXPECT_THAT(std::string(ParseAttrSpec("N: int >= 4 = 3").status().message()),
              HasSubstr("attr 'N' is 3, expected at least 4"));
}

TEST(OpSpecLanguageTest, WhatIsPrintedParsesToTheSame) {
  for (const char* line : {"x: float", "y: T", "values: N * T", "r: Ref(T)", "r: Ref(N * int32)"}) {
    EXPECT_EQ(FormatArgSpec(*ParseArgSpec(line)), line);
  }
  for (const char* line : {"N: int >= 2 = 3", "T: {float, int32} = float", "p: {'SAME', 'VALID'}",
                           "l: list(int) >= 2 = [1, 2]", "T: list({float, half})", "s: shape = [2,?]",
                           "s: shape = <unknown>", "b: bool = true", "x: float = 0.2", "s: string = \"a\\\"b\""}) {
    const AttrSpec spec = *ParseAttrSpec(line);
    EXPECT_EQ(FormatAttrSpec(spec), line);
    const absl::StatusOr<AttrSpec> again = ParseAttrSpec(FormatAttrSpec(spec));
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->default_value, spec.default_value);
  }
}

TEST(OpRegistryTest, FindsAndDescribesSpecs) {
  const OpSpec* matmul = SmallOps().Find("MatMul");
  ASSERT_NE(matmul, nullptr);
  EXPECT_EQ(matmul->family(), "small_ops");
  EXPECT_EQ(matmul->FindInput("b"), 1);
  EXPECT_EQ(matmul->FindInput("c"), -1);
  EXPECT_EQ(matmul->FindOutput("product"), 0);
  EXPECT_TRUE(matmul->FindAttr("T")->inferred_from_inputs);
  EXPECT_FALSE(matmul->FindAttr("transpose_a")->inferred_from_inputs);
  EXPECT_EQ(matmul->ToString(),
            "op MatMul\n"
            "  input   a: T\n"
            "  input   b: T\n"
            "  output  product: T\n"
            "  attr    transpose_a: bool = false\n"
            "  attr    transpose_b: bool = false\n"
            "  attr    T: {float, double, int32}\n"
            "  family  small_ops\n"
            "\n"
            "Matrix product.\n");
  EXPECT_EQ(SmallOps().Find("matmul"), nullptr);
  const std::vector<const OpSpec*> all = SmallOps().All();
  EXPECT_TRUE(
      std::is_sorted(all.begin(), all.end(), [](const OpSpec* a, const OpSpec* b) { return a->name() < b->name(); }));
}

TEST(OpRegistryTest, TypeListsAreRecognisedWhicheverLineComesFirst) {
  OpRegistry registry;
  registry.Add("A").Input("x: Tlist").Output("y: Tlist").Attr("Tlist: list(type)");
  registry.Add("B").Attr("Tlist: list(type)").Input("x: Tlist").Output("y: Tlist");
  ASSERT_TRUE(registry.Validate().ok()) << registry.Validate();
  for (const char* op : {"A", "B"}) {
    const OpSpec& spec = *registry.Find(op);
    EXPECT_EQ(spec.inputs()[0].type_list_attr, "Tlist");
    EXPECT_EQ(spec.outputs()[0].type_list_attr, "Tlist");
    EXPECT_EQ(spec.inputs()[0].type_attr, "");
    EXPECT_TRUE(spec.FindAttr("Tlist")->inferred_from_inputs);
  }
}

std::string ValidationError(void (*fill)(OpRegistry&)) {
  OpRegistry registry;
  fill(registry);
  return std::string(registry.Validate().message());
}

TEST(OpRegistryTest, ValidateFindsMistakes) {
  EXPECT_THAT(ValidationError([](OpRegistry& r) { r.Add("A").Input("x float"); }), HasSubstr("op A: malformed"));
  EXPECT_THAT(ValidationError([](OpRegistry& r) { r.Add("A").Attr("T: tpe"); }), HasSubstr("op A: malformed"));
  EXPECT_THAT(ValidationError([](OpRegistry& r) { r.Add("A").Input("x: T"); }),
              HasSubstr("input 'x' refers to 'T', which is no type attr"));
  EXPECT_THAT(ValidationError([](OpRegistry& r) { r.Add("A").Output("y: N * T").Attr("T: type").Attr("N: float"); }),
              HasSubstr("output 'y' refers to 'N', which is no int attr"));
  EXPECT_THAT(ValidationError([](OpRegistry& r) { r.Add("A").Input("x: float").Input("x: float"); }),
              HasSubstr("input 'x' stands there twice"));
  EXPECT_THAT(ValidationError([](OpRegistry& r) { r.Add("A").Attr("a: int").Attr("a: int"); }),
              HasSubstr("attr 'a' stands there twice"));
  EXPECT_THAT(ValidationError([](OpRegistry& r) { r.Add("a b"); }), HasSubstr("is no op name"));
}

TEST(OpRegistryTest, ASecondSpecOfANameIsAnErrorAndDoesNotTouchTheFirst) {
  OpRegistry registry;
  registry.Add("A").Input("x: float");
  registry.Add("A").Input("y: float").Input("z: float");
  EXPECT_THAT(std::string(registry.Validate().message()), HasSubstr("op A is registered twice"));
  EXPECT_EQ(registry.Find("A")->inputs().size(), 1u);
}

TEST(SimilarTest, FindsSlipsOfTheFinger) {
  EXPECT_THAT(SmallOps().Similar("Matmull"), ElementsAre("MatMul"));
  EXPECT_THAT(SmallOps().Similar("matmul"), ElementsAre("MatMul"));
  EXPECT_THAT(SmallOps().Similar("Idenity"), ElementsAre("Identity", "IdentityN"));
  EXPECT_THAT(SmallOps().Similar("Xyzzy"), IsEmpty());
  EXPECT_THAT(SmallOps().Similar(std::string(100000, 'M')), IsEmpty());
  EXPECT_EQ(DidYouMean({}), "");
  EXPECT_EQ(DidYouMean({"a"}), "; did you mean 'a'?");
  EXPECT_EQ(DidYouMean({"a", "b", "c"}), "; did you mean 'a', 'b' or 'c'?");
}

// The textbook's table, for comparison with the banded one.
int PlainDistance(const std::string& a, const std::string& b) {
  std::vector<std::vector<int>> d(a.size() + 1, std::vector<int>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = static_cast<int>(i);
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
    }
  }
  return d[a.size()][b.size()];
}

TEST(SimilarTest, EditDistanceAgreesWithTheTextbook) {
  // All pairs of words of up to 5 letters over {a, b}.
  std::vector<std::string> words = {""};
  for (size_t i = 0; words[i].size() < 5; ++i) {
    const std::string word = words[i];
    words.push_back(word + "a");
    words.push_back(word + "b");
  }
  for (const std::string& a : words) {
    for (const std::string& b : words) {
      const int exact = PlainDistance(a, b);
      for (int limit = 0; limit <= 5; ++limit) {
        ASSERT_EQ(EditDistance(a, b, limit), std::min(exact, limit + 1)) << a << " " << b << " " << limit;
      }
    }
  }
}

AttrMap Attrs(const std::vector<std::pair<std::string, Attr>>& entries) {
  AttrMap attrs;
  for (const auto& [name, value] : entries) attrs.Set(name, value);
  return attrs;
}

TEST(ArgDTypesTest, FlattensLists) {
  OpRegistry registry;
  registry.Add("A")
      .Input("x: N * T")
      .Input("y: int64")
      .Input("z: Tlist")
      .Input("r: Ref(T)")
      .Attr("N: int")
      .Attr("T: type")
      .Attr("Tlist: list(type)");
  DTypes dtypes;
  const AttrMap attrs =
      Attrs({{"N", 2}, {"T", DType::kHalf}, {"Tlist", std::vector<DType>{DType::kBool, DType::kString}}});
  ASSERT_TRUE(ArgDTypes(registry.Find("A")->inputs(), attrs, &dtypes).ok());
  EXPECT_THAT(dtypes, ElementsAre(DType::kHalf, DType::kHalf, DType::kInt64, DType::kBool, DType::kString,
                                  MakeRef(DType::kHalf)));
}

TEST(ArgDTypesTest, RefusesWhatTheAttrsDoNotSay) {
  const std::vector<ArgSpec>& inputs = SmallOps().Find("AddN")->inputs();
  DTypes dtypes;
  const auto error = [&](const AttrMap& attrs) { return std::string(ArgDTypes(inputs, attrs, &dtypes).message()); };
  EXPECT_THAT(error(Attrs({{"T", DType::kFloat}})), HasSubstr("attr 'N'"));
  EXPECT_THAT(error(Attrs({{"N", 2}})), HasSubstr("is missing, expected type"));
  EXPECT_THAT(error(Attrs({{"N", 2}, {"T", "float"}})), HasSubstr("is string, expected type"));
  EXPECT_THAT(error(Attrs({{"N", -1}, {"T", DType::kFloat}})), HasSubstr("is -1, expected 0 to"));
  // A forged number must not allocate.
  EXPECT_THAT(error(Attrs({{"N", int64_t{1} << 62}, {"T", DType::kFloat}})), HasSubstr("expected 0 to"));
}

TEST(CompleteAttrsTest, FillsInDefaults) {
  AttrMap attrs = Attrs({{"T", DType::kFloat}, {"transpose_b", true}, {"_class", "anything"}});
  ASSERT_TRUE(CompleteAttrs(*SmallOps().Find("MatMul"), &attrs).ok());
  EXPECT_EQ(attrs,
            Attrs({{"T", DType::kFloat}, {"transpose_a", false}, {"transpose_b", true}, {"_class", "anything"}}));
}

TEST(CompleteAttrsTest, AnEmptyListFitsEveryListKind) {
  OpRegistry registry;
  registry.Add("A").Attr("l: list(shape)").Attr("m: list(int) >= 1");
  AttrMap attrs = Attrs({{"l", Attr::EmptyList()}, {"m", std::vector<int64_t>{1}}});
  EXPECT_TRUE(CompleteAttrs(*registry.Find("A"), &attrs).ok());
  attrs.Set("m", Attr::EmptyList());
  EXPECT_THAT(std::string(CompleteAttrs(*registry.Find("A"), &attrs).message()),
              HasSubstr("attr 'm' has length 0, expected at least 1"));
}

TEST(CompleteAttrsTest, RefusesWrongOnes) {
  const auto error = [](const char* op, AttrMap attrs) {
    const absl::Status status = CompleteAttrs(*SmallOps().Find(op), &attrs);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_THAT(error("MatMul", {}), HasSubstr("attr 'T' is missing, expected one of kind type"));
  EXPECT_THAT(error("MatMul", Attrs({{"T", DType::kBool}})),
              HasSubstr("attr 'T' is bool, expected one of float, double, int32"));
  EXPECT_THAT(error("MatMul", Attrs({{"T", 1}})), HasSubstr("attr 'T' is of kind int, expected type"));
  EXPECT_THAT(error("MatMul", Attrs({{"T", DType::kFloat}, {"transpose_c", true}})),
              HasSubstr("op MatMul has no attr 'transpose_c', but has: transpose_a, transpose_b, T"));
  EXPECT_THAT(error("AddN", Attrs({{"T", DType::kFloat}, {"N", 0}})), HasSubstr("attr 'N' is 0, expected at least 1"));
  EXPECT_THAT(error("Identity", Attrs({{"T", MakeRef(DType::kFloat)}})),
              HasSubstr("is a reference to float, a type that is not supported"));
  EXPECT_THAT(error("Identity", Attrs({{"T", static_cast<DType>(77)}})), HasSubstr("attr 'T' is 77"));
  EXPECT_THAT(error("Identity", Attrs({{"T", AttrPlaceholder{"T"}}})), HasSubstr("of kind placeholder"));
  EXPECT_THAT(error("IdentityN", Attrs({{"T", std::vector<DType>{DType::kInvalid}}})), HasSubstr("is no dtype"));
}

}  // namespace
}  // namespace nabla

// Every spec agrees with TensorFlow's declaration of the op, field by field: names and order of inputs and outputs,
// attrs with their kinds, minimums, allowed values and defaults, and the flags. See tests/golden/make_op_defs.py.
#include <algorithm>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nabla/graph/op_spec.h"
#include "nabla/graph/op_spec_language.h"
#include "nabla/ops/registration.h"

namespace nabla {
namespace {

// Op -> its lines in the golden file, the first of which has the name and flags.
std::map<std::string, std::vector<std::string>> ReadGolden() {
  std::ifstream file("tests/golden/op_defs.txt");
  std::map<std::string, std::vector<std::string>> ops;
  std::string name;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    if (line[0] != ' ') name = line.substr(0, line.find(' '));
    ops[name].push_back(line);
  }
  return ops;
}

std::string Quoted(const std::string& s) { return absl::StrCat("\"", absl::CEscape(s), "\""); }

// The golden file's way of writing a value. Kinds come from the declaration: an empty list has none of its own.
std::string ValueText(const Attr& value) {
  const auto list = [](auto&& items, auto&& text) {
    std::vector<std::string> texts;
    for (const auto& item : items) texts.push_back(text(item));
    return absl::StrCat("[", absl::StrJoin(texts, ", "), "]");
  };
  const auto float_text = [](float f) { return absl::StrFormat("%.9g", f); };
  const auto dtype_text = [](DType t) { return std::string(DTypeName(t)); };
  const auto shape_text = [](const Shape& s) { return s.ToString(); };
  switch (value.kind()) {
    case Attr::Kind::kString:
      return Quoted(*value.As<std::string>());
    case Attr::Kind::kInt:
      return absl::StrCat(*value.As<int64_t>());
    case Attr::Kind::kFloat:
      return float_text(*value.As<float>());
    case Attr::Kind::kBool:
      return *value.As<bool>() ? "true" : "false";
    case Attr::Kind::kType:
      return dtype_text(*value.As<DType>());
    case Attr::Kind::kShape:
      return shape_text(*value.As<Shape>());
    case Attr::Kind::kListString:
      return list(*value.As<std::vector<std::string>>(), Quoted);
    case Attr::Kind::kListInt:
      return list(*value.As<std::vector<int64_t>>(), [](int64_t i) { return absl::StrCat(i); });
    case Attr::Kind::kListFloat:
      return list(*value.As<std::vector<float>>(), float_text);
    case Attr::Kind::kListType:
      return list(*value.As<DTypes>(), dtype_text);
    case Attr::Kind::kListShape:
      return list(*value.As<std::vector<Shape>>(), shape_text);
    case Attr::Kind::kEmptyList:
      return "[]";
    default:
      return value.As<std::vector<FunctionRef>>() != nullptr ? "[]" : value.ToString();
  }
}

std::string ArgText(const ArgSpec& arg) {
  std::string text = !arg.type_list_attr.empty() ? arg.type_list_attr
                     : !arg.type_attr.empty()    ? arg.type_attr
                                                 : std::string(DTypeName(arg.dtype));
  if (!arg.number_attr.empty()) text = absl::StrCat(arg.number_attr, " * ", text);
  if (arg.is_ref) text = absl::StrCat("Ref(", text, ")");
  return absl::StrCat(arg.name, ": ", text);
}

std::string AttrText(const AttrSpec& attr) {
  std::string text = absl::StrCat("  attr ", attr.name, ": ", AttrKindName(attr.kind));
  if (attr.minimum.has_value()) absl::StrAppend(&text, " >= ", *attr.minimum);
  if (!attr.allowed_types.empty()) {
    std::vector<DType> types = attr.allowed_types;
    std::sort(types.begin(), types.end());
    types.erase(std::unique(types.begin(), types.end()), types.end());
    absl::StrAppend(&text, " in ", ValueText(types));
  }
  if (!attr.allowed_strings.empty()) {
    std::vector<std::string> strings = attr.allowed_strings;
    std::sort(strings.begin(), strings.end());
    absl::StrAppend(&text, " in ", ValueText(strings));
  }
  if (attr.default_value.has_value()) absl::StrAppend(&text, " = ", ValueText(*attr.default_value));
  return text;
}

std::vector<std::string> Lines(const OpSpec& spec) {
  std::string first = spec.name();
  if (spec.is_stateful()) first += " stateful";
  if (spec.is_commutative()) first += " commutative";
  if (spec.allows_uninitialized_input()) first += " allows_uninitialized_input";
  std::vector<std::string> lines = {first};
  for (const ArgSpec& arg : spec.inputs()) lines.push_back("  in " + ArgText(arg));
  for (const ArgSpec& arg : spec.outputs()) lines.push_back("  out " + ArgText(arg));
  std::vector<std::string> attrs;
  for (const AttrSpec& attr : spec.attrs()) attrs.push_back(AttrText(attr));
  std::sort(attrs.begin(), attrs.end(), [](const std::string& a, const std::string& b) {
    return a.substr(0, a.find(':')) < b.substr(0, b.find(':'));
  });
  lines.insert(lines.end(), attrs.begin(), attrs.end());
  return lines;
}

TEST(OpDefs, AllSpecsAreWellFormed) {
  RegisterAllOps();
  EXPECT_TRUE(OpRegistry::Global().Validate().ok()) << OpRegistry::Global().Validate();
}

TEST(OpDefs, AgreeWithTensorFlow) {
  RegisterAllOps();
  const auto golden = ReadGolden();
  ASSERT_GT(golden.size(), 200u);
  for (const OpSpec* spec : OpRegistry::Global().All()) {
    const auto it = golden.find(spec->name());
    if (it == golden.end()) {
      ADD_FAILURE() << spec->name() << " is not in op_defs.txt: run tests/golden/make_op_defs.py";
      continue;
    }
    EXPECT_EQ(Lines(*spec), it->second);
  }
}

TEST(OpDefs, EveryGoldenOpIsRegistered) {
  RegisterAllOps();
  for (const auto& [name, lines] : ReadGolden()) {
    EXPECT_NE(OpRegistry::Global().Find(name), nullptr) << name;
  }
}

TEST(OpDefs, EveryOpIsDocumentedAndHasAShapeRule) {
  RegisterAllOps();
  for (const OpSpec* spec : OpRegistry::Global().All()) {
    EXPECT_FALSE(spec->doc().empty()) << spec->name();
    EXPECT_NE(spec->shape_fn(), nullptr) << spec->name();
    EXPECT_FALSE(spec->family().empty()) << spec->name();
  }
}

TEST(OpDefs, RegisteringTwiceChangesNothing) {
  RegisterAllOps();
  const size_t count = OpRegistry::Global().All().size();
  RegisterAllOps();
  EXPECT_EQ(OpRegistry::Global().All().size(), count);
  EXPECT_TRUE(OpRegistry::Global().Validate().ok());
}

}  // namespace
}  // namespace nabla

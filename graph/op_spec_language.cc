#include "nabla/graph/op_spec_language.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "nabla/graph/error_text.h"
#include "nabla/graph/status_macros.h"

namespace nabla {
namespace {

struct KindWord {
  absl::string_view word;
  Attr::Kind kind;
  Attr::Kind list_kind;
};
constexpr KindWord kKindWords[] = {
    {"string", Attr::Kind::kString, Attr::Kind::kListString}, {"int", Attr::Kind::kInt, Attr::Kind::kListInt},
    {"float", Attr::Kind::kFloat, Attr::Kind::kListFloat},    {"bool", Attr::Kind::kBool, Attr::Kind::kListBool},
    {"type", Attr::Kind::kType, Attr::Kind::kListType},       {"shape", Attr::Kind::kShape, Attr::Kind::kListShape},
    {"tensor", Attr::Kind::kTensor, Attr::Kind::kListTensor}, {"func", Attr::Kind::kFunc, Attr::Kind::kListFunc},
};

// Names for sets of types that occur again and again. The real numbers stand first so that both are spans of it.
constexpr DType kNumberTypes[] = {
    DType::kFloat,
    DType::kDouble,
    DType::kInt32,
    DType::kUInt8,
    DType::kInt16,
    DType::kInt8,
    DType::kInt64,
    DType::kUInt16,
    DType::kHalf,
    DType::kUInt32,
    DType::kUInt64,
    DType::kBFloat16,
    // and those that have no order
    DType::kComplex64,
    DType::kComplex128,
    DType::kQInt8,
    DType::kQUInt8,
    DType::kQInt16,
    DType::kQUInt16,
    DType::kQInt32,
};
constexpr size_t kNumRealNumberTypes = 12;
constexpr DType kQuantizedTypes[] = {DType::kQInt8, DType::kQUInt8, DType::kQInt16, DType::kQUInt16, DType::kQInt32};

absl::Span<const DType> TypeSet(absl::string_view word) {
  if (word == "numbertype") return kNumberTypes;
  if (word == "realnumbertype") return absl::MakeConstSpan(kNumberTypes, kNumRealNumberTypes);
  if (word == "quantizedtype") return kQuantizedTypes;
  return {};
}

// A cursor over one line. Blanks before tokens are skipped.
class Cursor {
 public:
  explicit Cursor(absl::string_view line) : rest_(line) {}

  bool AtEnd() {
    SkipBlanks();
    return rest_.empty();
  }
  bool Take(absl::string_view token) {
    SkipBlanks();
    if (!absl::StartsWith(rest_, token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  // A name or an enumerator; "" if there is none.
  absl::string_view Word() {
    return TakeWhile([](char c) { return absl::ascii_isalnum(c) || c == '_'; });
  }
  // What strto… might understand.
  absl::string_view Number() {
    return TakeWhile([](char c) { return absl::ascii_isalnum(c) || c == '.' || c == '+' || c == '-'; });
  }
  // 'x' or "x", with C escapes.
  bool Quoted(std::string* value) {
    SkipBlanks();
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) return false;
    const char quote = rest_[0];
    size_t end = 1;
    while (end < rest_.size() && rest_[end] != quote) end += rest_[end] == '\\' ? 2 : 1;
    if (end >= rest_.size()) return false;
    if (!absl::CUnescape(rest_.substr(1, end - 1), value)) return false;
    rest_.remove_prefix(end + 1);
    return true;
  }
  absl::string_view rest() const { return rest_; }

 private:
  void SkipBlanks() { rest_ = absl::StripLeadingAsciiWhitespace(rest_); }
  template <typename Predicate>
  absl::string_view TakeWhile(Predicate predicate) {
    SkipBlanks();
    size_t n = 0;
    while (n < rest_.size() && predicate(rest_[n])) ++n;
    const absl::string_view word = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return word;
  }

  absl::string_view rest_;
};

absl::Status Expected(Cursor& cursor, absl::string_view what) {
  const std::string where = cursor.AtEnd() ? "at its end" : absl::StrCat("at '", cursor.rest(), "'");
  return absl::InvalidArgumentError(absl::StrCat("expected ", what, " ", where));
}

// {a, b}, {'x', "y"}, or the word for a set: what restricts a type or string attr.
absl::Status ParseAllowed(Cursor& cursor, AttrSpec* attr) {
  do {
    std::string text;
    if (cursor.Quoted(&text)) {
      attr->allowed_strings.push_back(std::move(text));
      continue;
    }
    const absl::string_view word = cursor.Word();
    const absl::Span<const DType> set = TypeSet(word);
    const absl::optional<DType> dtype = ParseDType(word);
    if (!set.empty()) {
      attr->allowed_types.insert(attr->allowed_types.end(), set.begin(), set.end());
    } else if (dtype.has_value()) {
      attr->allowed_types.push_back(*dtype);
    } else {
      return Expected(cursor, absl::StrCat("a dtype or a quoted string, not '", word, "',"));
    }
  } while (cursor.Take(","));
  if (!cursor.Take("}")) return Expected(cursor, "'}'");
  if (attr->allowed_types.empty() == attr->allowed_strings.empty()) {
    return Expected(cursor, "either dtypes or strings between the braces, not both,");
  }
  attr->kind = attr->allowed_types.empty() ? Attr::Kind::kString : Attr::Kind::kType;
  return absl::OkStatus();
}

absl::Status ParseElementKind(Cursor& cursor, AttrSpec* attr) {
  if (cursor.Take("{")) return ParseAllowed(cursor, attr);
  const absl::string_view word = cursor.Word();
  const absl::Span<const DType> set = TypeSet(word);
  if (!set.empty()) {
    attr->kind = Attr::Kind::kType;
    attr->allowed_types.assign(set.begin(), set.end());
    return absl::OkStatus();
  }
  for (const KindWord& kind : kKindWords) {
    if (kind.word == word) {
      attr->kind = kind.kind;
      return absl::OkStatus();
    }
  }
  return Expected(cursor, absl::StrCat("the kind of an attr, not '", word, "',"));
}

// "[2,?]", "[]", "<unknown>"; also "{}" and "{ unknown_rank: true }", as op definitions elsewhere have it.
absl::StatusOr<Shape> ParseShape(Cursor& cursor) {
  if (cursor.Take("<unknown>")) return Shape();
  if (cursor.Take("{")) {
    if (cursor.Take("}")) return Shape::Scalar();
    if (cursor.Take("unknown_rank") && cursor.Take(":") && cursor.Take("true") && cursor.Take("}")) return Shape();
    return Expected(cursor, "'unknown_rank: true }'");
  }
  if (!cursor.Take("[")) return Expected(cursor, "a shape");
  Shape shape = Shape::Scalar();
  if (cursor.Take("]")) return shape;
  do {
    int64_t dim = kUnknownDim;
    if (!cursor.Take("?") && (!absl::SimpleAtoi(cursor.Number(), &dim) || dim < 0)) {
      return Expected(cursor, "a dimension");
    }
    shape.AddDim(dim);
  } while (cursor.Take(","));
  if (!cursor.Take("]")) return Expected(cursor, "']'");
  return shape;
}

absl::StatusOr<std::string> ParseElement(Cursor& cursor, std::string*) {
  std::string value;
  if (!cursor.Quoted(&value)) return Expected(cursor, "a quoted string");
  return value;
}
absl::StatusOr<int64_t> ParseElement(Cursor& cursor, int64_t*) {
  int64_t value;
  if (!absl::SimpleAtoi(cursor.Number(), &value)) return Expected(cursor, "an integer");
  return value;
}
absl::StatusOr<float> ParseElement(Cursor& cursor, float*) {
  float value;
  if (!absl::SimpleAtof(cursor.Number(), &value)) return Expected(cursor, "a number");
  return value;
}
absl::StatusOr<bool> ParseElement(Cursor& cursor, bool*) {
  if (cursor.Take("true")) return true;
  if (cursor.Take("false")) return false;
  return Expected(cursor, "true or false");
}
absl::StatusOr<DType> ParseElement(Cursor& cursor, DType*) {
  const absl::optional<DType> dtype = ParseDType(cursor.Word());
  if (!dtype.has_value()) return Expected(cursor, "a dtype");
  return *dtype;
}
absl::StatusOr<Shape> ParseElement(Cursor& cursor, Shape*) { return ParseShape(cursor); }

template <typename T>
absl::StatusOr<Attr> ParseOne(Cursor& cursor) {
  NABLA_ASSIGN_OR_RETURN(T value, ParseElement(cursor, static_cast<T*>(nullptr)));
  return Attr(std::move(value));
}

template <typename T>
absl::StatusOr<Attr> ParseList(Cursor& cursor) {
  std::vector<T> values;
  if (!cursor.Take("[")) return Expected(cursor, "'['");
  if (!cursor.Take("]")) {
    do {
      NABLA_ASSIGN_OR_RETURN(T value, ParseElement(cursor, static_cast<T*>(nullptr)));
      values.push_back(std::move(value));
    } while (cursor.Take(","));
    if (!cursor.Take("]")) return Expected(cursor, "']'");
  }
  return Attr(std::move(values));
}

absl::StatusOr<Attr> ParseValue(Cursor& cursor, Attr::Kind kind) {
  switch (kind) {
    case Attr::Kind::kString:
      return ParseOne<std::string>(cursor);
    case Attr::Kind::kInt:
      return ParseOne<int64_t>(cursor);
    case Attr::Kind::kFloat:
      return ParseOne<float>(cursor);
    case Attr::Kind::kBool:
      return ParseOne<bool>(cursor);
    case Attr::Kind::kType:
      return ParseOne<DType>(cursor);
    case Attr::Kind::kShape:
      return ParseOne<Shape>(cursor);
    case Attr::Kind::kListString:
      return ParseList<std::string>(cursor);
    case Attr::Kind::kListInt:
      return ParseList<int64_t>(cursor);
    case Attr::Kind::kListFloat:
      return ParseList<float>(cursor);
    case Attr::Kind::kListBool:
      return ParseList<bool>(cursor);
    case Attr::Kind::kListType:
      return ParseList<DType>(cursor);
    case Attr::Kind::kListShape:
      return ParseList<Shape>(cursor);
    default:
      break;
  }
  if (kind == Attr::Kind::kListTensor || kind == Attr::Kind::kListFunc) {
    if (cursor.Take("[") && cursor.Take("]")) return Attr::EmptyList();
    return Expected(cursor, "'[]'");
  }
  return Expected(cursor, absl::StrCat("no default: one of kind ", AttrKindName(kind), " cannot be written down,"));
}

absl::Status ParseName(Cursor& cursor, std::string* name) {
  *name = std::string(cursor.Word());
  if (name->empty() || !(absl::ascii_isalpha((*name)[0]) || (*name)[0] == '_')) return Expected(cursor, "a name");
  if (!cursor.Take(":")) return Expected(cursor, "':'");
  return absl::OkStatus();
}

// A word in an argument's type: a dtype, or the attr that gives it.
void SetType(absl::string_view word, ArgSpec* arg) {
  const absl::optional<DType> dtype = ParseDType(word);
  if (dtype.has_value()) {
    arg->dtype = *dtype;
  } else {
    arg->type_attr = std::string(word);
  }
}

absl::StatusOr<ArgSpec> ParseArg(Cursor& cursor) {
  ArgSpec arg;
  NABLA_RETURN_IF_ERROR(ParseName(cursor, &arg.name));
  arg.is_ref = cursor.Take("Ref(");
  const absl::string_view first = cursor.Word();
  if (first.empty()) return Expected(cursor, "a dtype or attr");
  if (cursor.Take("*")) {
    arg.number_attr = std::string(first);
    const absl::string_view second = cursor.Word();
    if (second.empty()) return Expected(cursor, "a dtype or attr");
    SetType(second, &arg);
  } else {
    SetType(first, &arg);
  }
  if (arg.is_ref && !cursor.Take(")")) return Expected(cursor, "')'");
  if (!cursor.AtEnd()) return Expected(cursor, "nothing more");
  return arg;
}

absl::StatusOr<AttrSpec> ParseAttr(Cursor& cursor) {
  AttrSpec attr;
  NABLA_RETURN_IF_ERROR(ParseName(cursor, &attr.name));
  if (cursor.Take("list(")) {
    NABLA_RETURN_IF_ERROR(ParseElementKind(cursor, &attr));
    attr.kind = ListKindOf(attr.kind);
    if (!cursor.Take(")")) return Expected(cursor, "')'");
  } else {
    NABLA_RETURN_IF_ERROR(ParseElementKind(cursor, &attr));
  }
  if (cursor.Take(">=")) {
    if (attr.kind != Attr::Kind::kInt && attr.kind < Attr::Kind::kListString) {
      return Expected(cursor, "no minimum but for an int or a list");
    }
    NABLA_ASSIGN_OR_RETURN(attr.minimum, ParseElement(cursor, static_cast<int64_t*>(nullptr)));
  }
  if (cursor.Take("=")) {
    NABLA_ASSIGN_OR_RETURN(attr.default_value, ParseValue(cursor, attr.kind));
    NABLA_RETURN_IF_ERROR(CheckAttrValue(attr, *attr.default_value));
  }
  if (!cursor.AtEnd()) return Expected(cursor, "nothing more");
  return attr;
}

absl::Status InLine(const absl::Status& status, absl::string_view what, absl::string_view line) {
  return absl::InvalidArgumentError(absl::StrCat("malformed ", what, " \"", line, "\": ", status.message()));
}

std::string Quote(const std::string& text) { return absl::StrCat("'", absl::CEscape(text), "'"); }

template <typename T>
bool IsOneOf(const std::vector<T>& allowed, const T& value) {
  return allowed.empty() || std::find(allowed.begin(), allowed.end(), value) != allowed.end();
}

std::string FormatTypes(const std::vector<DType>& types) {
  return absl::StrJoin(types, ", ", [](std::string* out, DType t) { absl::StrAppend(out, DTypeName(t)); });
}

std::string FormatStrings(const std::vector<std::string>& strings) {
  return absl::StrJoin(strings, ", ", [](std::string* out, const std::string& s) { absl::StrAppend(out, Quote(s)); });
}

absl::Status CheckType(const AttrSpec& spec, DType dtype) {
  if (IsKnown(dtype) && IsRef(dtype)) {
    return absl::InvalidArgumentError(absl::StrCat("attr '", spec.name, "' is a reference to ",
                                                   DTypeName(BaseDType(dtype)), ", a type that is not supported"));
  }
  if (!IsKnown(dtype)) {
    return absl::InvalidArgumentError(
        absl::StrCat("attr '", spec.name, "' is ", static_cast<int>(dtype), ", which is no dtype"));
  }
  if (!IsOneOf(spec.allowed_types, dtype)) {
    return absl::InvalidArgumentError(absl::StrCat("attr '", spec.name, "' is ", DTypeName(dtype), ", expected one of ",
                                                   FormatTypes(spec.allowed_types)));
  }
  return absl::OkStatus();
}

absl::Status CheckString(const AttrSpec& spec, const std::string& value) {
  if (IsOneOf(spec.allowed_strings, value)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("attr '", spec.name, "' is ", Quoted(value), ", expected one of ",
                                                 FormatStrings(spec.allowed_strings)));
}

size_t ListLength(const Attr& value) {
  switch (value.kind()) {
    case Attr::Kind::kListString:
      return value.As<std::vector<std::string>>()->size();
    case Attr::Kind::kListInt:
      return value.As<std::vector<int64_t>>()->size();
    case Attr::Kind::kListFloat:
      return value.As<std::vector<float>>()->size();
    case Attr::Kind::kListBool:
      return value.As<std::vector<bool>>()->size();
    case Attr::Kind::kListType:
      return value.As<std::vector<DType>>()->size();
    case Attr::Kind::kListShape:
      return value.As<std::vector<Shape>>()->size();
    case Attr::Kind::kListTensor:
      return value.As<std::vector<Tensor>>()->size();
    case Attr::Kind::kListFunc:
      return value.As<std::vector<FunctionRef>>()->size();
    default:
      return 0;
  }
}

}  // namespace

absl::string_view AttrKindName(Attr::Kind kind) {
  static constexpr absl::string_view kNames[] = {
      "none",       "string",      "int",          "float",        "bool",      "type",        "shape",
      "tensor",     "func",        "placeholder",  "list(string)", "list(int)", "list(float)", "list(bool)",
      "list(type)", "list(shape)", "list(tensor)", "list(func)",   "list",
  };
  const size_t i = static_cast<size_t>(kind);
  return i < std::size(kNames) ? kNames[i] : "none";
}

Attr::Kind ListKindOf(Attr::Kind kind) {
  for (const KindWord& word : kKindWords) {
    if (word.kind == kind) return word.list_kind;
  }
  return Attr::Kind::kNone;
}

absl::StatusOr<ArgSpec> ParseArgSpec(absl::string_view line) {
  Cursor cursor(line);
  absl::StatusOr<ArgSpec> arg = ParseArg(cursor);
  if (!arg.ok()) return InLine(arg.status(), "argument", line);
  return arg;
}

absl::StatusOr<AttrSpec> ParseAttrSpec(absl::string_view line) {
  Cursor cursor(line);
  absl::StatusOr<AttrSpec> attr = ParseAttr(cursor);
  if (!attr.ok()) return InLine(attr.status(), "attr", line);
  return attr;
}

std::string FormatArgSpec(const ArgSpec& arg) {
  std::string type = !arg.type_list_attr.empty() ? arg.type_list_attr
                     : !arg.type_attr.empty()    ? arg.type_attr
                                                 : std::string(DTypeName(arg.dtype));
  if (!arg.number_attr.empty()) type = absl::StrCat(arg.number_attr, " * ", type);
  if (arg.is_ref) type = absl::StrCat("Ref(", type, ")");
  return absl::StrCat(arg.name, ": ", type);
}

std::string FormatAttrSpec(const AttrSpec& attr) {
  const bool is_list = attr.kind >= Attr::Kind::kListString;
  std::string text = absl::StrCat(attr.name, ": ");
  if (attr.allowed_types.empty() && attr.allowed_strings.empty()) {
    absl::StrAppend(&text, AttrKindName(attr.kind));
  } else {
    const std::string allowed =
        attr.allowed_types.empty() ? FormatStrings(attr.allowed_strings) : FormatTypes(attr.allowed_types);
    absl::StrAppend(&text, is_list ? "list(" : "", "{", allowed, "}", is_list ? ")" : "");
  }
  if (attr.minimum.has_value()) absl::StrAppend(&text, " >= ", *attr.minimum);
  if (attr.default_value.has_value()) absl::StrAppend(&text, " = ", attr.default_value->ToString());
  return text;
}

absl::Status CheckAttrValue(const AttrSpec& spec, const Attr& value) {
  const bool list_expected = spec.kind >= Attr::Kind::kListString;
  if (value.kind() != spec.kind && !(list_expected && value.kind() == Attr::Kind::kEmptyList)) {
    return absl::InvalidArgumentError(absl::StrCat("attr '", spec.name, "' is of kind ", AttrKindName(value.kind()),
                                                   ", expected ", AttrKindName(spec.kind)));
  }
  if (spec.minimum.has_value()) {
    const int64_t count = list_expected ? static_cast<int64_t>(ListLength(value)) : *value.As<int64_t>();
    if (count < *spec.minimum) {
      return absl::InvalidArgumentError(absl::StrCat("attr '", spec.name, "' ", list_expected ? "has length " : "is ",
                                                     count, ", expected at least ", *spec.minimum));
    }
  }
  if (value.kind() == Attr::Kind::kType) return CheckType(spec, *value.As<DType>());
  if (value.kind() == Attr::Kind::kString) return CheckString(spec, *value.As<std::string>());
  if (value.kind() == Attr::Kind::kListType) {
    for (DType dtype : *value.As<std::vector<DType>>()) NABLA_RETURN_IF_ERROR(CheckType(spec, dtype));
  }
  if (value.kind() == Attr::Kind::kListString) {
    for (const std::string& s : *value.As<std::vector<std::string>>()) NABLA_RETURN_IF_ERROR(CheckString(spec, s));
  }
  return absl::OkStatus();
}

}  // namespace nabla

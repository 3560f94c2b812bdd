// Writes nabla/ops/builders.h and builders.cc: one typed C++ function per op, from the specs in OpRegistry.
//
//   generate_builders builders.h builders.cc
//
// Output is sorted by family and name, so that it changes only where the specs do.
#include <algorithm>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "nabla/graph/op_spec.h"
#include "nabla/graph/op_spec_language.h"
#include "nabla/ops/registration.h"

namespace nabla {
namespace {

constexpr size_t kColumns = 120;

// Ops whose builders are written by hand, or that only the compiler adds (names that start with '_').
bool IsGenerated(const OpSpec& spec) {
  static const auto* by_hand = new absl::flat_hash_set<absl::string_view>{
      "Const",  // ops/const.h: takes a value
  };
  return spec.name()[0] != '_' && !by_hand->contains(spec.name());
}

// A spec's name as a C++ identifier.
std::string Identifier(const std::string& name) {
  static const auto* keywords = new absl::flat_hash_set<absl::string_view>{
      "alignas",  "alignof", "and",      "asm",      "auto",     "bool",     "break",     "case",      "catch",
      "char",     "class",   "concept",  "const",    "continue", "decltype", "default",   "delete",    "do",
      "double",   "else",    "enum",     "explicit", "export",   "extern",   "false",     "float",     "for",
      "friend",   "goto",    "if",       "inline",   "int",      "long",     "mutable",   "namespace", "new",
      "noexcept", "not",     "nullptr",  "operator", "or",       "private",  "protected", "public",    "register",
      "requires", "return",  "short",    "signed",   "sizeof",   "static",   "struct",    "switch",    "template",
      "this",     "throw",   "true",     "try",      "typedef",  "typename", "union",     "unsigned",  "using",
      "virtual",  "void",    "volatile", "while",    "xor",      "scope",    "attrs",
  };
  return keywords->contains(name) ? name + "_" : name;
}

struct CppType {
  std::string name;
  bool by_reference;  // as a parameter
};

CppType TypeOf(Attr::Kind kind) {
  switch (kind) {
    case Attr::Kind::kString:
      return {"std::string", true};
    case Attr::Kind::kInt:
      return {"int64_t", false};
    case Attr::Kind::kFloat:
      return {"float", false};
    case Attr::Kind::kBool:
      return {"bool", false};
    case Attr::Kind::kType:
      return {"DType", false};
    case Attr::Kind::kShape:
      return {"nabla::Shape", true};  // ops::Shape is a function
    case Attr::Kind::kTensor:
      return {"Tensor", true};
    case Attr::Kind::kFunc:
      return {"FunctionRef", true};
    case Attr::Kind::kListString:
      return {"std::vector<std::string>", true};
    case Attr::Kind::kListInt:
      return {"std::vector<int64_t>", true};
    case Attr::Kind::kListFloat:
      return {"std::vector<float>", true};
    case Attr::Kind::kListBool:
      return {"std::vector<bool>", true};
    case Attr::Kind::kListType:
      return {"DTypes", true};
    case Attr::Kind::kListShape:
      return {"std::vector<nabla::Shape>", true};
    case Attr::Kind::kListTensor:
      return {"std::vector<Tensor>", true};
    case Attr::Kind::kListFunc:
      return {"std::vector<FunctionRef>", true};
    default:
      return {"", false};
  }
}

std::string Literal(const std::string& value) { return absl::StrCat("\"", absl::CEscape(value), "\""); }
std::string Literal(int64_t value) { return absl::StrCat(value); }
std::string Literal(bool value) { return value ? "true" : "false"; }
std::string Literal(float value) {
  std::string text = absl::StrFormat("%.9g", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text + "f";
}
std::string Literal(DType dtype) {
  static const auto* names = new absl::flat_hash_map<DType, const char*>{
      {DType::kFloat, "kFloat"},   {DType::kDouble, "kDouble"},       {DType::kInt32, "kInt32"},
      {DType::kInt64, "kInt64"},   {DType::kBool, "kBool"},           {DType::kString, "kString"},
      {DType::kUInt64, "kUInt64"}, {DType::kComplex64, "kComplex64"},
  };
  const auto it = names->find(dtype);
  return it != names->end() ? absl::StrCat("DType::", it->second)
                            : absl::StrCat("static_cast<DType>(", static_cast<int>(dtype), ")");
}
std::string Literal(const nabla::Shape& shape) {
  if (!shape.has_rank()) return "nabla::Shape()";
  return shape.IsScalar() ? "nabla::Shape::Scalar()"
                          : absl::StrCat("nabla::Shape({", absl::StrJoin(shape.dims(), ", "), "})");
}

template <typename T>
std::string ListLiteral(const Attr& attr) {
  std::vector<std::string> items;
  for (const auto& item : *attr.As<std::vector<T>>()) items.push_back(Literal(static_cast<const T&>(item)));
  return absl::StrCat("{", absl::StrJoin(items, ", "), "}");
}

// The initialiser of an attr's default. False for kinds that have none in C++.
bool DefaultLiteral(const AttrSpec& spec, std::string* text) {
  const Attr& attr = *spec.default_value;
  switch (spec.kind) {
    case Attr::Kind::kString:
      *text = Literal(*attr.As<std::string>());
      return true;
    case Attr::Kind::kInt:
      *text = Literal(*attr.As<int64_t>());
      return true;
    case Attr::Kind::kFloat:
      *text = Literal(*attr.As<float>());
      return true;
    case Attr::Kind::kBool:
      *text = Literal(*attr.As<bool>());
      return true;
    case Attr::Kind::kType:
      *text = Literal(*attr.As<DType>());
      return true;
    case Attr::Kind::kShape:
      *text = Literal(*attr.As<nabla::Shape>());
      return true;
    case Attr::Kind::kListString:
      *text = ListLiteral<std::string>(attr);
      return true;
    case Attr::Kind::kListInt:
      *text = ListLiteral<int64_t>(attr);
      return true;
    case Attr::Kind::kListFloat:
      *text = ListLiteral<float>(attr);
      return true;
    case Attr::Kind::kListBool:
      *text = ListLiteral<bool>(attr);
      return true;
    case Attr::Kind::kListType:
      *text = ListLiteral<DType>(attr);
      return true;
    case Attr::Kind::kListShape:
      *text = ListLiteral<nabla::Shape>(attr);
      return true;
    case Attr::Kind::kListTensor:
      *text = "{}";
      return attr.As<std::vector<Tensor>>()->empty();
    case Attr::Kind::kListFunc:
      *text = "{}";
      return attr.As<std::vector<FunctionRef>>()->empty();
    default:
      return false;
  }
}

// The text with one line per paragraph or item. A line of nearly kColumns was broken for want of space, unless the
// next one begins an item ("axis: …").
std::string Unwrap(absl::string_view text) {
  std::string out;
  bool full = false;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    const bool continues = full && !line.empty() && !absl::EndsWith(line.substr(0, line.find(' ')), ":");
    if (!out.empty()) out += continues ? ' ' : '\n';
    absl::StrAppend(&out, line);
    full = line.size() >= kColumns - 20 && line.size() <= kColumns;
  }
  return out;
}

// Appends `text` as comment lines, broken at kColumns; lines of the text stay apart. What is broken off is indented by
// `hanging` more.
void AppendComment(absl::string_view text, absl::string_view indent, absl::string_view hanging, std::string* out) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    std::string current = absl::StrCat("//", indent);
    bool empty = true;
    for (absl::string_view word : absl::StrSplit(line, ' ', absl::SkipEmpty())) {
      if (!empty && current.size() + 1 + word.size() > kColumns) {
        absl::StrAppend(out, current, "\n");
        current = absl::StrCat("//", indent, hanging);
        empty = true;
      }
      absl::StrAppend(&current, empty ? "" : " ", word);
      empty = false;
    }
    absl::StrAppend(out, absl::StripTrailingAsciiWhitespace(current), "\n");
  }
}

// "HEAD(p, p, p)TAIL", broken between parameters at kColumns.
std::string CallLike(const std::string& head, const std::vector<std::string>& parameters, absl::string_view tail) {
  std::string out;
  std::string line = head + "(";
  const std::string indent(line.size(), ' ');
  for (size_t i = 0; i < parameters.size(); ++i) {
    const std::string item =
        absl::StrCat(parameters[i], i + 1 < parameters.size() ? std::string(",") : absl::StrCat(")", tail));
    const bool first = i == 0;
    if (!first && line.size() + 1 + item.size() > kColumns) {
      absl::StrAppend(&out, line, "\n");
      line = absl::StrCat(indent, item);
    } else {
      absl::StrAppend(&line, first ? "" : " ", item);
    }
  }
  return absl::StrCat(out, line);
}

// One op, worked out for both files.
struct Builder {
  const OpSpec* spec;
  std::vector<const AttrSpec*> positional;
  std::vector<const AttrSpec*> optional;
  std::string return_type;
  std::vector<std::string> parameters;
};

Builder Analyse(const OpSpec& spec) {
  Builder b;
  b.spec = &spec;
  for (const AttrSpec& attr : spec.attrs()) {
    if (attr.inferred_from_inputs) continue;
    std::string unused;
    const bool has_default = attr.default_value.has_value() && DefaultLiteral(attr, &unused);
    (has_default ? b.optional : b.positional).push_back(&attr);
  }
  const std::vector<ArgSpec>& outputs = spec.outputs();
  b.return_type = outputs.empty()       ? "Node*"
                  : outputs.size() > 1  ? spec.name() + "Outputs"
                  : outputs[0].IsList() ? "Outputs"
                                        : "Output";
  std::vector<std::string>& parameters = b.parameters;
  parameters = {"const Scope& scope"};
  for (const ArgSpec& input : spec.inputs()) {
    parameters.push_back(absl::StrCat(input.IsList() ? "const Inputs& " : "Input ", Identifier(input.name)));
  }
  for (const AttrSpec* attr : b.positional) {
    const CppType type = TypeOf(attr->kind);
    parameters.push_back(type.by_reference ? absl::StrCat("const ", type.name, "& ", Identifier(attr->name))
                                           : absl::StrCat(type.name, " ", Identifier(attr->name)));
  }
  if (!b.optional.empty()) parameters.push_back(absl::StrCat("const ", spec.name(), "Attrs& attrs"));
  return b;
}

std::string Declaration(const Builder& b) {
  const OpSpec& spec = *b.spec;
  std::string out;
  AppendComment(Unwrap(spec.doc()), " ", "", &out);
  const auto format = [](std::string* text, const ArgSpec& arg) { absl::StrAppend(text, FormatArgSpec(arg)); };
  AppendComment(absl::StrCat("(", absl::StrJoin(spec.inputs(), ", ", format), ") -> (",
                             absl::StrJoin(spec.outputs(), ", ", format), ")"),
                "   ", "  ", &out);
  for (const AttrSpec& attr : spec.attrs()) AppendComment(FormatAttrSpec(attr), "   ", "  ", &out);

  if (!b.optional.empty()) {
    absl::StrAppend(&out, "struct ", spec.name(), "Attrs {\n");
    for (const AttrSpec* attr : b.optional) {
      std::string value;
      DefaultLiteral(*attr, &value);
      absl::StrAppend(&out, "  ", TypeOf(attr->kind).name, " ", Identifier(attr->name), " = ", value, ";\n");
    }
    absl::StrAppend(&out, "};\n");
  }
  if (spec.outputs().size() > 1) {
    absl::StrAppend(&out, "struct ", b.return_type, " {\n");
    for (const ArgSpec& output : spec.outputs()) {
      absl::StrAppend(&out, "  ", output.IsList() ? "Outputs " : "Output ", Identifier(output.name), ";\n");
    }
    absl::StrAppend(&out, "};\n");
  }
  std::vector<std::string> parameters = b.parameters;
  if (!b.optional.empty()) parameters.back() += " = {}";
  absl::StrAppend(&out, CallLike(absl::StrCat(b.return_type, " ", spec.name()), parameters, ";"), "\n\n");
  return out;
}

std::string Definition(const Builder& b) {
  const OpSpec& spec = *b.spec;
  std::string out = absl::StrCat(CallLike(absl::StrCat(b.return_type, " ", spec.name()), b.parameters, " {"),
                                 "\n  NodeBuilder builder(scope, \"", spec.name(), "\");\n");
  for (const ArgSpec& input : spec.inputs()) {
    if (input.IsList()) {
      absl::StrAppend(&out, "  builder.InputList(", Identifier(input.name), ");\n");
    } else {
      absl::StrAppend(&out, "  builder.Input(std::move(", Identifier(input.name), "));\n");
    }
  }
  for (const AttrSpec* attr : b.positional) {
    absl::StrAppend(&out, "  builder.Attr(\"", attr->name, "\", ", Identifier(attr->name), ");\n");
  }
  for (const AttrSpec* attr : b.optional) {
    absl::StrAppend(&out, "  builder.Attr(\"", attr->name, "\", attrs.", Identifier(attr->name), ");\n");
  }
  const std::vector<ArgSpec>& outputs = spec.outputs();
  if (outputs.empty()) {
    absl::StrAppend(&out, "  return builder.Finish();\n");
  } else if (outputs.size() == 1 && !outputs[0].IsList()) {
    absl::StrAppend(&out, "  return builder.FinishOutput();\n");
  } else if (outputs.size() == 1) {
    absl::StrAppend(&out, "  return OutputList(builder.Finish(), 0);\n");
  } else {
    absl::StrAppend(&out, "  Node* node = builder.Finish();\n  if (node == nullptr) return {};\n");
    const bool plain = std::none_of(outputs.begin(), outputs.end(), [](const ArgSpec& o) { return o.IsList(); });
    std::vector<std::string> parts;
    for (size_t i = 0; i < outputs.size(); ++i) {
      parts.push_back(plain                 ? absl::StrCat("Output(node, ", i, ")")
                      : outputs[i].IsList() ? absl::StrCat("OutputList(node, ", i, ")")
                                            : absl::StrCat("OutputList(node, ", i, ")[0]"));
    }
    absl::StrAppend(&out, "  return {", absl::StrJoin(parts, ", "), "};\n");
  }
  absl::StrAppend(&out, "}\n\n");
  return out;
}

constexpr char kHeaderTop[] = R"(// Generated from the op specs in ops/ by tools/generator. Do not edit.
//
// One function per op: `scope`, then the inputs, then the attrs that have no default and that the inputs do not
// determine, then the others in a struct:
//
//   ops::MatMul(scope, a, b, {.transpose_a = true});
//
// Each adds a node and returns its outputs. If that fails, the scope keeps the error and none (no node, no outputs) is
// returned; the same if an input is none.
#ifndef NABLA_OPS_BUILDERS_H_
#define NABLA_OPS_BUILDERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "nabla/graph/scope.h"

namespace nabla::ops {

)";

constexpr char kSourceTop[] = R"(// Generated from the op specs in ops/ by tools/generator. Do not edit.
#include "nabla/ops/builders.h"


namespace nabla::ops {
namespace {

// The outputs that belong to formal output `formal`; empty if node is nullptr.
Outputs OutputList(Node* node, int formal) {
  if (node == nullptr) return {};
  int begin = 0;
  for (int i = 0;; ++i) {
    const ArgSpec& arg = node->spec().outputs()[i];
    int count = 1;
    if (!arg.number_attr.empty()) {
      count = static_cast<int>(node->GetAttr<int64_t>(arg.number_attr));
    } else if (!arg.type_list_attr.empty()) {
      count = static_cast<int>(node->GetAttr<DTypes>(arg.type_list_attr).size());
    }
    if (i == formal) {
      Outputs outputs;
      for (int k = 0; k < count; ++k) outputs.emplace_back(node, begin + k);
      return outputs;
    }
    begin += count;
  }
}

}  // namespace

)";

int Main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: generate_builders HEADER SOURCE\n";
    return 2;
  }
  RegisterAllOps();
  if (absl::Status status = OpRegistry::Global().Validate(); !status.ok()) {
    std::cerr << "generate_builders: " << status.message() << "\n";
    return 1;
  }
  std::vector<const OpSpec*> specs = OpRegistry::Global().All();
  std::stable_sort(specs.begin(), specs.end(),
                   [](const OpSpec* a, const OpSpec* b) { return a->family() < b->family(); });
  std::string header = kHeaderTop;
  std::string source = kSourceTop;
  std::string family;
  for (const OpSpec* spec : specs) {
    if (!IsGenerated(*spec)) continue;
    if (spec->family() != family) {
      family = spec->family();
      absl::StrAppend(&header, "// ---- ", family, " ----\n\n");
    }
    const Builder builder = Analyse(*spec);
    absl::StrAppend(&header, Declaration(builder));
    absl::StrAppend(&source, Definition(builder));
  }
  absl::StrAppend(&header, "}  // namespace nabla::ops\n\n#endif  // NABLA_OPS_BUILDERS_H_\n");
  absl::StrAppend(&source, "}  // namespace nabla::ops\n");
  std::ofstream(argv[1], std::ios::binary) << header;
  std::ofstream out(argv[2], std::ios::binary);
  out << source;
  out.flush();
  if (!out) {
    std::cerr << "generate_builders: cannot write " << argv[2] << "\n";
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace nabla

int main(int argc, char** argv) { return nabla::Main(argc, argv); }

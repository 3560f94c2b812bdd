#include "nabla/graph/foreign_spec.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "nabla/graph/error_text.h"
#include "nabla/graph/function_shapes.h"
#include "nabla/graph/op_spec_language.h"
#include "nabla/graph/shape_inference.h"
#include "nabla/graph/status_macros.h"
#include "nabla/graph/tensor_proto.h"
#include "nabla/proto/op_def.pb.h"

namespace nabla {
namespace {

absl::StatusOr<AttrSpec> AttrSpecFromDef(const OpDef::AttrDef& def) {
  const std::string what = absl::StrCat("attr ", Quoted(def.name()));
  // The spec language also says bounds and defaults at this place, which here have fields of their own.
  const bool is_word = std::all_of(def.type().begin(), def.type().end(),
                                   [](char c) { return absl::ascii_islower(c) || c == '(' || c == ')'; });
  absl::StatusOr<AttrSpec> spec =
      is_word ? ParseAttrSpec(absl::StrCat("x: ", def.type())) : absl::InvalidArgumentError("not a word");
  if (!spec.ok() || !spec->allowed_types.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " has the type ", Quoted(def.type()), ", expected int, list(type) or the like"));
  }
  spec->name = def.name();
  if (def.has_minimum()) spec->minimum = def.minimum();
  if (def.has_allowed_values()) {
    for (int type : def.allowed_values().list().type()) spec->allowed_types.push_back(static_cast<DType>(type));
    for (const std::string& s : def.allowed_values().list().s()) spec->allowed_strings.push_back(s);
  }
  if (def.has_default_value()) {
    absl::StatusOr<Attr> value = AttrFromProto(def.default_value());
    if (!value.ok()) return WithContext(absl::StrCat(what, ": default value"), value.status());
    NABLA_RETURN_IF_ERROR(CheckAttrValue(*spec, *value));
    spec->default_value = *std::move(value);
  }
  return spec;
}

absl::StatusOr<ArgSpec> ArgSpecFromDef(const OpDef::ArgDef& def, const OpSpec& spec) {
  ArgSpec arg;
  arg.name = def.name();
  arg.dtype = static_cast<DType>(def.type());
  arg.type_attr = def.type_attr();
  arg.number_attr = def.number_attr();
  arg.type_list_attr = def.type_list_attr();
  arg.is_ref = def.is_ref();
  const int ways = (def.type() != 0) + !def.type_attr().empty() + !def.type_list_attr().empty();
  if (ways != 1 || (!def.type_list_attr().empty() && !def.number_attr().empty())) {
    return absl::InvalidArgumentError("expected exactly one of type, type_attr and type_list_attr");
  }
  if (def.type() != 0 && !IsKnown(arg.dtype)) {
    return absl::InvalidArgumentError(absl::StrCat("unknown dtype ", static_cast<int>(def.type())));
  }
  const auto check = [&spec](const std::string& name, Attr::Kind kind) {
    const AttrSpec* attr = name.empty() ? nullptr : spec.FindAttr(name);
    if (name.empty() || (attr != nullptr && attr->kind == kind)) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("refers to ", Quoted(name), ", which is no attr of type ", AttrKindName(kind)));
  };
  NABLA_RETURN_IF_ERROR(check(arg.type_attr, Attr::Kind::kType));
  NABLA_RETURN_IF_ERROR(check(arg.number_attr, Attr::Kind::kInt));
  NABLA_RETURN_IF_ERROR(check(arg.type_list_attr, Attr::Kind::kListType));
  return arg;
}

}  // namespace

absl::StatusOr<std::unique_ptr<OpSpec>> ForeignSpec::FromSignature(const OpDef& signature) {
  auto spec = std::make_unique<OpSpec>();
  spec->name_ = signature.name();
  spec->doc_ = signature.summary();
  spec->shape_fn_ = CallShape;
  spec->stateful_ = signature.is_stateful();
  spec->commutative_ = signature.is_commutative();
  for (const OpDef::AttrDef& def : signature.attr()) {
    NABLA_ASSIGN_OR_RETURN(AttrSpec attr, AttrSpecFromDef(def));
    if (spec->FindAttr(attr.name) != nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("attr ", Quoted(attr.name), " stands there twice"));
    }
    spec->attrs_.push_back(std::move(attr));
  }
  const auto add = [&](const OpDef::ArgDef& def, const char* what, std::vector<ArgSpec>* args) {
    absl::StatusOr<ArgSpec> arg = ArgSpecFromDef(def, *spec);
    if (!arg.ok()) return WithContext(absl::StrCat(what, " ", Quoted(def.name())), arg.status());
    args->push_back(*std::move(arg));
    return absl::OkStatus();
  };
  for (const OpDef::ArgDef& def : signature.input_arg()) NABLA_RETURN_IF_ERROR(add(def, "input", &spec->inputs_));
  for (const OpDef::ArgDef& def : signature.output_arg()) NABLA_RETURN_IF_ERROR(add(def, "output", &spec->outputs_));
  for (AttrSpec& attr : spec->attrs_) {
    attr.inferred_from_inputs = std::any_of(spec->inputs_.begin(), spec->inputs_.end(), [&](const ArgSpec& arg) {
      return arg.type_attr == attr.name || arg.number_attr == attr.name || arg.type_list_attr == attr.name;
    });
  }
  return spec;
}

std::unique_ptr<OpSpec> ForeignSpec::Opaque(absl::string_view op, absl::string_view doc) {
  auto spec = std::make_unique<OpSpec>();
  spec->name_ = std::string(op);
  spec->doc_ = std::string(doc);
  spec->shape_fn_ = UnknownShape;
  // Nothing is known, so nothing may be assumed.
  spec->stateful_ = true;
  spec->opaque_ = true;
  return spec;
}

}  // namespace nabla

#include "nabla/graph/op_spec.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "nabla/graph/op_spec_language.h"
#include "nabla/graph/similar_names.h"
#include "nabla/graph/status_macros.h"

namespace nabla {
namespace {

bool IsOpName(absl::string_view name) {
  if (name.empty() || !(absl::ascii_isupper(name[0]) || name[0] == '_')) return false;
  return std::all_of(name.begin(), name.end(), [](char c) { return absl::ascii_isalnum(c) || c == '_' || c == '>'; });
}

int FindArg(const std::vector<ArgSpec>& args, absl::string_view name) {
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

// What a line means depends on others: whether a name is that of a type or of a list of types, and which attrs the
// inputs determine. The lines may come in any order, so this is redone after each.
void ResolveNames(std::vector<ArgSpec>* inputs, std::vector<ArgSpec>* outputs, std::vector<AttrSpec>* attrs) {
  for (AttrSpec& attr : *attrs) {
    for (std::vector<ArgSpec>* args : {inputs, outputs}) {
      for (ArgSpec& arg : *args) {
        if (attr.kind == Attr::Kind::kListType && arg.type_attr == attr.name && arg.number_attr.empty()) {
          arg.type_list_attr = std::move(arg.type_attr);
          arg.type_attr.clear();
        }
      }
    }
    attr.inferred_from_inputs = std::any_of(inputs->begin(), inputs->end(), [&](const ArgSpec& arg) {
      return arg.type_attr == attr.name || arg.number_attr == attr.name || arg.type_list_attr == attr.name;
    });
  }
}

absl::Status CheckArgs(const OpSpec& spec, const std::vector<ArgSpec>& args, absl::string_view what) {
  const auto check = [&](const ArgSpec& arg, const std::string& attr_name, Attr::Kind kind) {
    if (attr_name.empty()) return absl::OkStatus();
    const AttrSpec* attr = spec.FindAttr(attr_name);
    if (attr != nullptr && attr->kind == kind) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("op ", spec.name(), ": ", what, " '", arg.name, "' refers to '",
                                                   attr_name, "', which is no ", AttrKindName(kind), " attr"));
  };
  for (size_t i = 0; i < args.size(); ++i) {
    const ArgSpec& arg = args[i];
    if (FindArg(args, arg.name) != static_cast<int>(i)) {
      return absl::InvalidArgumentError(
          absl::StrCat("op ", spec.name(), ": ", what, " '", arg.name, "' stands there twice"));
    }
    NABLA_RETURN_IF_ERROR(check(arg, arg.type_attr, Attr::Kind::kType));
    NABLA_RETURN_IF_ERROR(check(arg, arg.number_attr, Attr::Kind::kInt));
    NABLA_RETURN_IF_ERROR(check(arg, arg.type_list_attr, Attr::Kind::kListType));
  }
  return absl::OkStatus();
}

absl::Status CheckSpec(const OpSpec& spec) {
  if (!IsOpName(spec.name())) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", spec.name(), "' is no op name: an upper-case letter, then letters and digits"));
  }
  for (const AttrSpec& attr : spec.attrs()) {
    if (spec.FindAttr(attr.name) != &attr) {
      return absl::InvalidArgumentError(
          absl::StrCat("op ", spec.name(), ": attr '", attr.name, "' stands there twice"));
    }
  }
  NABLA_RETURN_IF_ERROR(CheckArgs(spec, spec.inputs(), "input"));
  return CheckArgs(spec, spec.outputs(), "output");
}

}  // namespace

const AttrSpec* OpSpec::FindAttr(absl::string_view name) const {
  for (const AttrSpec& attr : attrs_) {
    if (attr.name == name) return &attr;
  }
  return nullptr;
}

int OpSpec::FindInput(absl::string_view name) const { return FindArg(inputs_, name); }

int OpSpec::FindOutput(absl::string_view name) const { return FindArg(outputs_, name); }

std::string OpSpec::ToString() const {
  std::string text = absl::StrCat("op ", name_, "\n");
  for (const ArgSpec& arg : inputs_) absl::StrAppend(&text, "  input   ", FormatArgSpec(arg), "\n");
  for (const ArgSpec& arg : outputs_) absl::StrAppend(&text, "  output  ", FormatArgSpec(arg), "\n");
  for (const AttrSpec& attr : attrs_) absl::StrAppend(&text, "  attr    ", FormatAttrSpec(attr), "\n");
  std::vector<absl::string_view> properties;
  if (stateful_) properties.push_back("stateful");
  if (commutative_) properties.push_back("commutative");
  if (allows_uninitialized_) properties.push_back("allows uninitialized input");
  if (!properties.empty()) absl::StrAppend(&text, "  is      ", absl::StrJoin(properties, ", "), "\n");
  if (!family_.empty()) absl::StrAppend(&text, "  family  ", family_, "\n");
  if (!doc_.empty()) absl::StrAppend(&text, "\n", doc_, absl::EndsWith(doc_, "\n") ? "" : "\n");
  return text;
}

OpSpecBuilder& OpSpecBuilder::Input(absl::string_view spec) {
  absl::StatusOr<ArgSpec> arg = ParseArgSpec(spec);
  if (arg.ok()) {
    spec_->inputs_.push_back(*std::move(arg));
    ResolveNames(&spec_->inputs_, &spec_->outputs_, &spec_->attrs_);
  } else {
    errors_->push_back(absl::StrCat("op ", spec_->name_, ": ", arg.status().message()));
  }
  return *this;
}

OpSpecBuilder& OpSpecBuilder::Output(absl::string_view spec) {
  absl::StatusOr<ArgSpec> arg = ParseArgSpec(spec);
  if (arg.ok()) {
    spec_->outputs_.push_back(*std::move(arg));
    ResolveNames(&spec_->inputs_, &spec_->outputs_, &spec_->attrs_);
  } else {
    errors_->push_back(absl::StrCat("op ", spec_->name_, ": ", arg.status().message()));
  }
  return *this;
}

OpSpecBuilder& OpSpecBuilder::Attr(absl::string_view spec) {
  absl::StatusOr<AttrSpec> attr = ParseAttrSpec(spec);
  if (attr.ok()) {
    spec_->attrs_.push_back(*std::move(attr));
    ResolveNames(&spec_->inputs_, &spec_->outputs_, &spec_->attrs_);
  } else {
    errors_->push_back(absl::StrCat("op ", spec_->name_, ": ", attr.status().message()));
  }
  return *this;
}

OpSpecBuilder& OpSpecBuilder::Doc(absl::string_view doc) {
  spec_->doc_ = std::string(absl::StripAsciiWhitespace(doc));
  return *this;
}

OpSpecBuilder& OpSpecBuilder::Shape(ShapeFn fn) {
  spec_->shape_fn_ = fn;
  return *this;
}

OpSpecBuilder& OpSpecBuilder::Stateful() {
  spec_->stateful_ = true;
  return *this;
}

OpSpecBuilder& OpSpecBuilder::Commutative() {
  spec_->commutative_ = true;
  return *this;
}

OpSpecBuilder& OpSpecBuilder::AllowsUninitializedInput() {
  spec_->allows_uninitialized_ = true;
  return *this;
}

OpRegistry& OpRegistry::Global() {
  static OpRegistry* const registry = new OpRegistry;  // never destroyed: graphs may outlive main's statics
  return *registry;
}

OpSpecBuilder OpRegistry::Add(absl::string_view name) {
  auto spec = std::make_unique<OpSpec>();
  OpSpec* added = spec.get();
  added->name_ = std::string(name);
  added->family_ = family_;
  if (specs_.contains(name)) {
    errors_.push_back(absl::StrCat("op ", name, " is registered twice"));
    duplicates_.push_back(std::move(spec));
  } else {
    specs_.emplace(name, std::move(spec));
  }
  return OpSpecBuilder(added, &errors_);
}

const OpSpec* OpRegistry::Find(absl::string_view name) const {
  const auto it = specs_.find(name);
  return it == specs_.end() ? nullptr : it->second.get();
}

std::vector<std::string> OpRegistry::Similar(absl::string_view name) const {
  SimilarNames similar(name);
  for (const auto& entry : specs_) similar.Consider(entry.first);
  return similar.Take();
}

std::vector<const OpSpec*> OpRegistry::All() const {
  std::vector<const OpSpec*> all;
  all.reserve(specs_.size());
  for (const auto& entry : specs_) all.push_back(entry.second.get());
  std::sort(all.begin(), all.end(), [](const OpSpec* a, const OpSpec* b) { return a->name() < b->name(); });
  return all;
}

absl::Status OpRegistry::Validate() const {
  if (!errors_.empty()) return absl::InvalidArgumentError(errors_.front());
  for (const OpSpec* spec : All()) NABLA_RETURN_IF_ERROR(CheckSpec(*spec));
  return absl::OkStatus();
}

}  // namespace nabla

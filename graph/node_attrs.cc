// What a node's attrs say about its inputs and outputs, and whether they are what its spec asks for.
#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "nabla/graph/error_text.h"
#include "nabla/graph/op_spec.h"
#include "nabla/graph/op_spec_language.h"
#include "nabla/graph/status_macros.h"

namespace nabla {
namespace {

// Far above any real node, and low enough that a forged number attr cannot exhaust memory.
constexpr int64_t kMaxArgs = 1 << 20;

template <typename T>
absl::StatusOr<const T*> RequiredAttr(const AttrMap& attrs, const ArgSpec& arg, const std::string& name,
                                      Attr::Kind kind) {
  const T* value = attrs.Find<T>(name);
  if (value != nullptr) return value;
  const Attr* other = attrs.Find(name);
  return absl::InvalidArgumentError(absl::StrCat("attr '", name, "', which gives the type of '", arg.name, "', is ",
                                                 other == nullptr ? "missing" : other->KindName(), ", expected ",
                                                 AttrKindName(kind)));
}

absl::Status AppendArg(const ArgSpec& arg, const AttrMap& attrs, DTypes* dtypes) {
  if (!arg.type_list_attr.empty()) {
    NABLA_ASSIGN_OR_RETURN(const std::vector<DType>* list,
                           RequiredAttr<std::vector<DType>>(attrs, arg, arg.type_list_attr, Attr::Kind::kListType));
    if (static_cast<int64_t>(dtypes->size() + list->size()) > kMaxArgs) {
      return absl::InvalidArgumentError(
          absl::StrCat("attr '", arg.type_list_attr, "' has ", list->size(), " types, more than ", kMaxArgs));
    }
    for (DType dtype : *list) dtypes->push_back(arg.is_ref ? MakeRef(dtype) : dtype);
    return absl::OkStatus();
  }
  int64_t count = 1;
  if (!arg.number_attr.empty()) {
    NABLA_ASSIGN_OR_RETURN(const int64_t* number, RequiredAttr<int64_t>(attrs, arg, arg.number_attr, Attr::Kind::kInt));
    count = *number;
    if (count < 0 || count > kMaxArgs - static_cast<int64_t>(dtypes->size())) {
      return absl::InvalidArgumentError(absl::StrCat("attr '", arg.number_attr, "', the length of '", arg.name,
                                                     "', is ", count, ", expected 0 to ", kMaxArgs));
    }
  }
  DType dtype = arg.dtype;
  if (!arg.type_attr.empty()) {
    NABLA_ASSIGN_OR_RETURN(const DType* type, RequiredAttr<DType>(attrs, arg, arg.type_attr, Attr::Kind::kType));
    dtype = *type;
  }
  dtypes->insert(dtypes->end(), static_cast<size_t>(count), arg.is_ref ? MakeRef(dtype) : dtype);
  return absl::OkStatus();
}

absl::Status UnknownAttr(const OpSpec& spec, absl::string_view name) {
  const std::string known = absl::StrJoin(
      spec.attrs(), ", ", [](std::string* out, const AttrSpec& attr) { absl::StrAppend(out, attr.name); });
  return absl::InvalidArgumentError(absl::StrCat("op ", spec.name(), " has no attr ", Quoted(name),
                                                 known.empty() ? ", and no other either" : ", but has: ", known));
}

}  // namespace

absl::Status ArgDTypes(const std::vector<ArgSpec>& args, const AttrMap& attrs, DTypes* dtypes) {
  dtypes->clear();
  for (const ArgSpec& arg : args) NABLA_RETURN_IF_ERROR(AppendArg(arg, attrs, dtypes));
  return absl::OkStatus();
}

absl::Status CompleteAttrs(const OpSpec& spec, AttrMap* attrs) {
  size_t found = 0;
  for (const AttrSpec& expected : spec.attrs()) {
    const Attr* value = attrs->Find(expected.name);
    if (value != nullptr) {
      NABLA_RETURN_IF_ERROR(CheckAttrValue(expected, *value));
    } else if (expected.default_value.has_value()) {
      attrs->Set(expected.name, *expected.default_value);
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("attr '", expected.name, "' is missing, expected one of kind ", AttrKindName(expected.kind)));
    }
    ++found;
  }
  if (found == attrs->size()) return absl::OkStatus();  // the usual case: none but the spec's
  for (const auto& [name, value] : *attrs) {
    if (!absl::StartsWith(name, "_") && spec.FindAttr(name) == nullptr) return UnknownAttr(spec, name);
  }
  return absl::OkStatus();
}

}  // namespace nabla

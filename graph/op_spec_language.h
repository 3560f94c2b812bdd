// The language in which op specs are written (see graph/op_spec.h), read and printed a line at a time.
#ifndef NABLA_GRAPH_OP_SPEC_LANGUAGE_H_
#define NABLA_GRAPH_OP_SPEC_LANGUAGE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nabla/graph/op_spec.h"

namespace nabla {

// "values: N * T". InvalidArgument, quoting the line, if it is malformed.
absl::StatusOr<ArgSpec> ParseArgSpec(absl::string_view line);
// "N: int >= 2 = 3". AttrSpec::inferred_from_inputs is left false. InvalidArgument likewise, or if the default is not
// allowed.
absl::StatusOr<AttrSpec> ParseAttrSpec(absl::string_view line);

// The line that parses to the same again.
std::string FormatArgSpec(const ArgSpec& arg);
std::string FormatAttrSpec(const AttrSpec& attr);

// "int", "list(type)", …
absl::string_view AttrKindName(Attr::Kind kind);
// kListInt for kInt, …; kNone if `kind` is none of an element.
Attr::Kind ListKindOf(Attr::Kind kind);

// Is `value` of the spec's kind, at least its minimum and one of its allowed values? The error names the attr, what it
// is and what it should be, not the op.
absl::Status CheckAttrValue(const AttrSpec& spec, const Attr& value);

}  // namespace nabla

#endif  // NABLA_GRAPH_OP_SPEC_LANGUAGE_H_

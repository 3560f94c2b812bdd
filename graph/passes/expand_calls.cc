#include "nabla/graph/passes/expand_calls.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "nabla/graph/inline.h"
#include "nabla/graph/status_macros.h"

namespace nabla {
namespace {

bool NamesFunctions(const Node& node) {
  const std::vector<AttrSpec>& attrs = node.spec().attrs();
  return std::any_of(attrs.begin(), attrs.end(), [](const AttrSpec& attr) {
    return attr.kind == Attr::Kind::kFunc || attr.kind == Attr::Kind::kListFunc;
  });
}

}  // namespace

absl::Status ExpandCalls(Compilation& compilation) {
  NABLA_RETURN_IF_ERROR(ExpandCalls(compilation.graph, CallsIn(*compilation.graph)));
  absl::Status status;
  compilation.graph->ForEachNode([&status](Node* node) {
    if (!status.ok() || !NamesFunctions(*node)) return;
    status = absl::UnimplementedError(absl::StrCat("node '", node->name(), "' (op ", node->op(),
                                                   "): nothing expands this op's functions; nabla::Initialize() ",
                                                   "registers what does"));
  });
  return status;
}

}  // namespace nabla

// nabla show: what a graph is, at a glance; or what an op is.
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "nabla/graph/import.h"
#include "nabla/graph/op_spec.h"
#include "nabla/graph/status_macros.h"
#include "nabla/graph/summary.h"
#include "nabla/tools/command.h"

namespace nabla::tools {

absl::Status ShowCommand(const ShowFlags& flags) {
  if (flags.graph.empty() == flags.op.empty()) return UsageError("show needs either GRAPH or --op NAME");
  if (flags.max_items < 0) return UsageError("--max-items must not be negative");
  if (!flags.op.empty()) {
    const OpSpec* spec = OpRegistry::Global().Find(flags.op);
    if (spec == nullptr) {
      const std::vector<std::string> similar = OpRegistry::Global().Similar(flags.op);
      return absl::NotFoundError(absl::StrCat("there is no op '", flags.op, "'",
                                              similar.empty() ? "" : "; similar: ", absl::StrJoin(similar, ", ")));
    }
    std::printf("%s\n", spec->ToString().c_str());
    return absl::OkStatus();
  }
  Graph graph;
  NABLA_RETURN_IF_ERROR(ImportGraphDefFile(flags.graph, {.allow_unsupported = true}, &graph));
  std::printf("%s", Summarize(graph).ToString(static_cast<size_t>(flags.max_items)).c_str());
  return absl::OkStatus();
}

}  // namespace nabla::tools

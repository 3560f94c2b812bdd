// nabla convert: from one file format of graphs to another.
#include "nabla/graph/export.h"
#include "nabla/graph/import.h"
#include "nabla/graph/status_macros.h"
#include "nabla/tools/command.h"

namespace nabla::tools {

absl::Status ConvertCommand(const ConvertFlags& flags) {
  NABLA_RETURN_IF_ERROR(CheckOut(flags.out));
  Graph graph;
  NABLA_RETURN_IF_ERROR(ImportGraphDefFile(flags.in, {.allow_unsupported = true}, &graph));
  return ExportGraphFile(graph, {}, flags.out);
}

}  // namespace nabla::tools

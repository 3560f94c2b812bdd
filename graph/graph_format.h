// Which of the forms of a GraphDef some bytes are, and the two textual ones.
#ifndef NABLA_GRAPH_GRAPH_FORMAT_H_
#define NABLA_GRAPH_GRAPH_FORMAT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace nabla {

class GraphDef;

enum class GraphFormat { kBinary, kText, kJson };

// From how the bytes begin (a few hundred suffice). InvalidArgument, naming what it looks like, for well-known formats
// that are no GraphDef, and for nothing at all.
absl::StatusOr<GraphFormat> DetectGraphFormat(absl::string_view begin);

// InvalidArgument with line and column of the first mistake. Nesting is limited as in the binary form.
absl::Status ParseGraphText(const std::string& text, GraphDef* graph_def);
absl::Status ParseGraphJson(const std::string& json, GraphDef* graph_def);

}  // namespace nabla

#endif  // NABLA_GRAPH_GRAPH_FORMAT_H_

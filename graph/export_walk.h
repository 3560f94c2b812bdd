// What the writers of the different formats share.
#ifndef NABLA_GRAPH_EXPORT_WALK_H_
#define NABLA_GRAPH_EXPORT_WALK_H_

#include <functional>
#include <iosfwd>

#include "absl/status/status.h"
#include "nabla/graph/export.h"

namespace nabla {

// The nodes that the options ask for, in order of ids; stops at the first error. The caller holds the graph's lock.
absl::Status ForEachExportedNode(const Graph& graph, const ExportOptions& options,
                                 const std::function<absl::Status(const Node&)>& visit);
// ExportNode, with what the options add. FailedPrecondition for an open input, ResourceExhausted for constants that no
// GraphDef can hold.
absl::Status ExportCheckedNode(const Node& node, const ExportOptions& options, NodeDef* def);
// Versions, functions and everything that was imported but means nothing here.
absl::Status ExportAllButNodes(const Graph& graph, GraphDef* graph_def);

// The caller holds the graph's lock.
absl::Status WriteGraphText(const Graph& graph, const ExportOptions& options, std::ostream& out);
absl::Status WriteGraphJson(const Graph& graph, const ExportOptions& options, std::ostream& out);
// For Graphviz: data edges with dtype and shape, control edges dashed, back edges of loops dotted.
absl::Status WriteGraphDot(const Graph& graph, const ExportOptions& options, std::ostream& out);

}  // namespace nabla

#endif  // NABLA_GRAPH_EXPORT_WALK_H_

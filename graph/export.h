// GraphDef out. The order is by node id, names and attrs are written as they are, so exporting the same graph twice
// gives the same bytes. Thread safety: locks the graph.
#ifndef NABLA_GRAPH_EXPORT_H_
#define NABLA_GRAPH_EXPORT_H_

#include <iosfwd>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "nabla/graph/graph.h"

namespace nabla {

class GraphDef;  // nabla/proto/graph.pb.h
class NodeDef;   // nabla/proto/node_def.pb.h

struct ExportOptions {
  // Write inferred output shapes as the attr _output_shapes.
  bool output_shapes = false;
  // Only these nodes and what they need (data and control); empty: all.
  std::vector<Node*> targets;
};

void ExportNode(const Node& node, NodeDef* def);
absl::Status ExportGraphDef(const Graph& graph, const ExportOptions& options, GraphDef* graph_def);
absl::Status ExportGraphDefString(const Graph& graph, const ExportOptions& options, std::string* bytes);
// A node at a time: memory stays at the size of the largest node.
absl::Status ExportGraphDefStream(const Graph& graph, const ExportOptions& options, std::ostream& out);
// By the path's extension: .pb (binary), .pbtxt (text), .json, .dot (Graphviz). Written to a temporary file beside
// it and renamed, so a failure leaves no half file.
absl::Status ExportGraphFile(const Graph& graph, const ExportOptions& options, const std::string& path);
// InvalidArgument if the path's extension is none of these.
absl::Status CheckGraphFileName(absl::string_view path);

}  // namespace nabla

#endif  // NABLA_GRAPH_EXPORT_H_

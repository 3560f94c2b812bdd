// GraphDef in: checks everything and adds the nodes to a Graph.
//
//   Graph graph;
//   ImportResult result;
//   absl::Status s = ImportGraphDefFile("model.pb", {.prefix = "model"}, &graph, &result);
//
// Binary files are read as a stream, a node at a time, and a constant's bytes become its Tensor's buffer without
// another copy, so the peak of memory is about the size of the file. Binary and text (.pbtxt) are told apart by
// content. A failed import leaves the graph as it was. Thread safety: locks the graph.
#ifndef NABLA_GRAPH_IMPORT_H_
#define NABLA_GRAPH_IMPORT_H_

#include <iosfwd>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "nabla/graph/graph.h"

namespace nabla {

class GraphDef;  // nabla/proto/graph.pb.h

struct ImportOptions {
  // Put before every node's name, with a '/'; made unique unless it is "".
  std::string prefix;
  // Edges from these tensors ("name", "name:1", "^name" for control) come from outputs of the target graph instead.
  std::map<std::string, Output> input_map;
  // Imported nodes also wait for these.
  std::vector<Node*> control_dependencies;
  // Names and tensors to look up after prefixing, into ImportResult (NotFound if absent).
  std::vector<std::string> return_outputs;
  std::vector<std::string> return_nodes;
  // An op or attr that is not known, or a node that contradicts its op's spec, is kept (with outputs of unknown dtype,
  // as many as are used) and listed in ImportResult::unsupported, instead of being refused. Such a node can be shown
  // and exported, not run. Nor are loops and branches looked at: what is wrong with them is found when they run.
  bool allow_unsupported = false;
  // Default device for nodes that have none.
  std::string default_device;
  // A few bytes can describe a constant of any size (one value for a whole shape). Constants that are much larger in
  // memory than in the file may take this many bytes in all.
  int64_t max_expanded_bytes = int64_t{1} << 30;
};

struct ImportResult {
  std::vector<Node*> nodes;  // in file order
  Outputs outputs;           // of return_outputs
  std::vector<Node*> return_nodes;
  // "op Foo (node a/b)", "attr bar of op Baz (node c)"; one entry per distinct op or op and attr, with its first node.
  std::vector<std::string> unsupported;
};

// From a message. The overload that takes it by rvalue moves constants' bytes out of it.
absl::Status ImportGraphDef(const GraphDef& graph_def, const ImportOptions& options, Graph* graph,
                            ImportResult* result = nullptr);
absl::Status ImportGraphDef(GraphDef&& graph_def, const ImportOptions& options, Graph* graph,
                            ImportResult* result = nullptr);
// From serialized bytes, binary, text or JSON. Of text and JSON the whole message is in memory beside the graph,
// several times the file's size; binary goes into the graph node by node. `source` names them in errors.
absl::Status ImportGraphDefString(absl::string_view bytes, const ImportOptions& options, Graph* graph,
                                  ImportResult* result = nullptr, absl::string_view source = "<memory>");
absl::Status ImportGraphDefStream(std::istream& in, const ImportOptions& options, Graph* graph,
                                  ImportResult* result = nullptr, absl::string_view source = "<stream>");
// NotFound or InvalidArgument, naming the file.
absl::Status ImportGraphDefFile(const std::string& path, const ImportOptions& options, Graph* graph,
                                ImportResult* result = nullptr);

}  // namespace nabla

#endif  // NABLA_GRAPH_IMPORT_H_

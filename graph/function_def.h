// From a graph to a function: the other way of graph/function_body.h.
#ifndef NABLA_GRAPH_FUNCTION_DEF_H_
#define NABLA_GRAPH_FUNCTION_DEF_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nabla/graph/graph.h"

namespace nabla {

class FunctionDef;  // nabla/proto/function.pb.h

struct FunctionDefOptions {
  // Of the signature; those that are missing are made from the nodes' names. They are brought into the form that
  // TensorFlow wants (lower case, letters and digits) and made unique.
  std::vector<std::string> argument_names;
  std::vector<std::string> result_names;
};

// The function that takes `arguments`, gives `results`, and consists of what these need and of all stateful nodes of
// `body`, which become its control outputs. Arguments are tensors of `body` at which it begins: the nodes that make
// them are not part of it. Their known shapes are noted (arg_attr _output_shapes). Errors: InvalidArgument for tensors
// of another graph, an argument that stands there twice, or a Merge without its back edge. Thread safety: locks `body`.
absl::StatusOr<FunctionDef> MakeFunctionDef(const Graph& body, absl::string_view name, const Outputs& arguments,
                                            const Outputs& results, const FunctionDefOptions& options = {});

}  // namespace nabla

#endif  // NABLA_GRAPH_FUNCTION_DEF_H_

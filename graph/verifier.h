// Checks a graph as a whole: what import promises and what passes must keep.
//
//   for (const std::string& problem : FindProblems(graph)) …
//
// Names are valid and unique; ops are known and have the attrs, arity and dtypes that their specs ask for; edges join
// nodes of this graph, from outputs that exist, and are listed on both sides; the only cycles go from a NextIteration
// to a Merge, and frames are well-formed; references by name (colocation, functions) lead somewhere; devices have a
// device's form. Linear time; no recursion; makes no change.
#ifndef NABLA_GRAPH_VERIFIER_H_
#define NABLA_GRAPH_VERIFIER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "nabla/graph/graph.h"

namespace nabla {

struct VerifyOptions {
  // Do not count as problems: ops and attrs that are not known (graphs from a lenient import have them).
  bool allow_unsupported = false;
  // Stop after so many.
  size_t max_problems = 100;
};

// One line each, naming the node, what is wrong and what was expected; empty for a sound graph. Nodes in order of ids.
// Thread safety: locks the graph.
std::vector<std::string> FindProblems(const Graph& graph, const VerifyOptions& options = {});

// InvalidArgument with the first problem, and how many more there are.
absl::Status VerifyGraph(const Graph& graph, const VerifyOptions& options = {});

// "/job:worker/replica:0/task:1/device:CPU:0", "/cpu:0" or any part of such; "" is anywhere.
bool IsValidDeviceName(absl::string_view device);

}  // namespace nabla

#endif  // NABLA_GRAPH_VERIFIER_H_

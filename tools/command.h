// The verbs of the command-line tool, apart from how their flags are written (nabla.cc).
#ifndef NABLA_TOOLS_COMMAND_H_
#define NABLA_TOOLS_COMMAND_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "nabla/gradients/gradients.h"
#include "nabla/graph/graph.h"

namespace nabla::tools {

struct RunFlags {
  std::string graph;
  std::vector<std::string> feeds;    // NAME=VALUE or NAME=@FILE.npy
  std::vector<std::string> fetches;  // tensor names
  std::vector<std::string> targets;  // nodes or tensors
  std::string out;                   // folder for .npy files, or ""
  int threads = 0;
  int repeat = 1;
  std::string trace;  // file, or ""
};
absl::Status RunCommand(const RunFlags& flags);

struct GradFlags {
  std::string graph;
  std::vector<std::string> ys, xs, grad_ys, stop;
  std::string out;
  std::string aggregation = "add_n";
  std::string unconnected = "none";
  std::string loop_checkpoint = "none";
  std::string name = "gradients";
};
absl::Status GradCommand(const GradFlags& flags);

struct ShowFlags {
  std::string graph;
  std::string op;  // print this op's spec instead
  int max_items = 20;
};
absl::Status ShowCommand(const ShowFlags& flags);

struct ConvertFlags {
  std::string in, out;
};
absl::Status ConvertCommand(const ConvertFlags& flags);

struct CheckFlags {
  std::string graph;
  std::vector<std::string> ys, xs;
  std::vector<std::string> feeds;
  int samples = 16;
  std::optional<double> step, tolerance;  // none: by dtype
};
absl::Status CheckCommand(const CheckFlags& flags);

// ---- what several verbs need ----

// An error in how the command was called, for exit status 2.
absl::Status UsageError(absl::string_view message);
bool IsUsageError(const absl::Status& status);

// The outputs of those names.
absl::StatusOr<Outputs> FindOutputs(const Graph& graph, const std::vector<std::string>& names);
// The nodes of those names, which may also be tensors' names.
absl::StatusOr<std::vector<Node*>> FindNodes(const Graph& graph, const std::vector<std::string>& names);
// For each x without a gradient, why; "" for the others.
std::vector<std::string> Reasons(const Outputs& ys, const Outputs& xs, const Grads& grads,
                                 const Outputs& stop_gradients);
// A usage error if no format of graphs has the path's extension.
absl::Status CheckOut(const std::string& path);

}  // namespace nabla::tools

#endif  // NABLA_TOOLS_COMMAND_H_

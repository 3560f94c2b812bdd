#include "nabla/tools/command.h"

#include "absl/status/statusor.h"
#include "absl/strings/cord.h"
#include "nabla/gradients/report.h"
#include "nabla/graph/export.h"
#include "nabla/graph/status_macros.h"

namespace nabla::tools {
namespace {

constexpr absl::string_view kUsagePayload = "nabla/usage";

}  // namespace

absl::Status UsageError(absl::string_view message) {
  absl::Status status = absl::InvalidArgumentError(message);
  status.SetPayload(kUsagePayload, absl::Cord());
  return status;
}

bool IsUsageError(const absl::Status& status) { return status.GetPayload(kUsagePayload).has_value(); }

absl::StatusOr<Outputs> FindOutputs(const Graph& graph, const std::vector<std::string>& names) {
  Outputs outputs;
  for (const std::string& name : names) {
    NABLA_ASSIGN_OR_RETURN(Output output, graph.FindOutput(name));
    outputs.push_back(output);
  }
  return outputs;
}

absl::StatusOr<std::vector<Node*>> FindNodes(const Graph& graph, const std::vector<std::string>& names) {
  std::vector<Node*> nodes;
  for (const std::string& name : names) {
    Node* node = graph.FindNode(name);
    if (node == nullptr) {
      NABLA_ASSIGN_OR_RETURN(Output output, graph.FindOutput(name));
      node = output.node();
    }
    nodes.push_back(node);
  }
  return nodes;
}

std::vector<std::string> Reasons(const Outputs& ys, const Outputs& xs, const Grads& grads,
                                 const Outputs& stop_gradients) {
  Outputs without;
  for (size_t i = 0; i < xs.size(); ++i) {
    if (grads[i].none()) without.push_back(xs[i]);
  }
  // In one go, for the graph is walked each time.
  const std::vector<GradientReport> reports = ExplainGradients(ys, without, stop_gradients);
  std::vector<std::string> reasons(xs.size());
  auto report = reports.begin();
  for (size_t i = 0; i < xs.size(); ++i) {
    if (grads[i].none()) reasons[i] = (report++)->Reason();
  }
  return reasons;
}

absl::Status CheckOut(const std::string& path) {
  const absl::Status status = CheckGraphFileName(path);
  return status.ok() ? status : UsageError(status.message());
}

}  // namespace nabla::tools

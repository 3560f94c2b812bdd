// nabla check: verifies a graph; compares symbolic with numeric gradients.
#include <algorithm>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "nabla/gradients/gradients.h"
#include "nabla/graph/control_flow.h"
#include "nabla/graph/import.h"
#include "nabla/graph/status_macros.h"
#include "nabla/graph/verifier.h"
#include "nabla/runtime/session.h"
#include "nabla/tools/command.h"
#include "nabla/tools/feed.h"
#include "nabla/tools/gradient_difference.h"
#include "nabla/tools/op_gradients.h"

namespace nabla::tools {
namespace {

// Random numbers of the normal distribution, for what was not fed; unknown dimensions become 2.
absl::StatusOr<Tensor> RandomValue(Output placeholder, std::mt19937* random) {
  Shape shape = placeholder.shape().has_rank() ? placeholder.shape() : Shape::Scalar();
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape.dim(i) == kUnknownDim) shape.set_dim(i, 2);
  }
  NABLA_ASSIGN_OR_RETURN(Tensor value, Tensor::Allocate(placeholder.dtype(), shape));
  if (!FillWithNormal(&value, random)) {
    return absl::InvalidArgumentError(absl::StrCat("'", placeholder.name(), "' is of type ",
                                                   DTypeName(placeholder.dtype()), ": give it a value with --feed"));
  }
  return value;
}

// All that has to run for ys.
absl::flat_hash_set<const Node*> NeededFor(const Outputs& ys) {
  absl::flat_hash_set<const Node*> needed;
  std::vector<const Node*> stack;
  auto visit = [&](const Node* node) {
    if (node != nullptr && needed.insert(node).second) stack.push_back(node);
  };
  for (Output y : ys) visit(y.node());
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    for (int i = 0; i < node->num_inputs(); ++i) visit(node->input(i).node());
    for (const Node* input : node->control_inputs()) visit(input);
  }
  return needed;
}

struct PathReport {
  std::vector<std::string> different;  // "'name' (op Type)"
  std::vector<std::string> stops;
};

// Checks the ops of the path one by one, each at its inputs in the run with these feeds; prints a line for each.
PathReport CheckPath(Session* session, const Feeds& feeds, const Path& path, const DifferenceOptions& options) {
  const ControlFlow flow = AnalyzeControlFlow(*session->graph());
  const auto why_not_alone = [&](const Node& op) {
    const int frame = flow.frame_of[op.id()];
    return WhyNotAlone(op, path, frame == kRootFrame ? "" : flow.frames[frame].name);
  };
  const auto inputs_of = [](const Node& op) {
    Outputs inputs;
    for (int i = 0; i < op.num_inputs(); ++i) inputs.push_back(op.input(i));
    return inputs;
  };
  PathReport report;
  std::printf("op by op:\n");
  for (const Node* op : path.ops) {
    OpVerdict verdict = {OpVerdict::kSkipped, why_not_alone(*op)};
    if (verdict.detail.empty()) {
      std::vector<Tensor> inputs;
      const absl::Status status = session->Run(feeds, inputs_of(*op), &inputs);
      if (status.ok()) {
        verdict = CheckOp(*op, path, inputs, options);
      } else {
        verdict.detail = std::string(status.message());
      }
    }
    static constexpr const char* kWords[] = {"ok", "DIFFERENT", "stops", "skipped"};
    std::printf("  %-9s %s (%s): %s\n", kWords[verdict.kind], op->name().c_str(), op->op().c_str(),
                verdict.detail.c_str());
    const std::string name = absl::StrCat("'", op->name(), "' (op ", op->op(), ")");
    if (verdict.kind == OpVerdict::kDiffers) report.different.push_back(name);
    if (verdict.kind == OpVerdict::kStops) report.stops.push_back(name);
  }
  return report;
}

absl::Status CompareGradients(Graph* graph, const CheckFlags& flags) {
  NABLA_ASSIGN_OR_RETURN(Outputs ys, FindOutputs(*graph, flags.ys));
  NABLA_ASSIGN_OR_RETURN(Outputs xs, FindOutputs(*graph, flags.xs));
  NABLA_ASSIGN_OR_RETURN(Feeds feeds, ParseFeeds(*graph, flags.feeds));
  for (Output x : xs) {
    if (x.dtype() != DType::kFloat && x.dtype() != DType::kDouble) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", x.name(), "' is of type ", DTypeName(x.dtype()), ", expected float or double"));
    }
  }
  std::mt19937 random(1);
  const absl::flat_hash_set<const Node*> needed = NeededFor(ys);
  for (Node* node : graph->Nodes()) {
    if (node->op() != "Placeholder" || node->num_outputs() != 1 || !needed.contains(node)) continue;
    Output output = node->output(0);
    if (std::any_of(feeds.begin(), feeds.end(), [&](const auto& feed) { return feed.first == output; })) continue;
    absl::StatusOr<Tensor> value = RandomValue(output, &random);
    if (!value.ok()) return value.status();
    feeds.emplace_back(output, *std::move(value));
  }
  const Path path = FindPath(ys, xs);
  Scope scope(graph);
  NABLA_ASSIGN_OR_RETURN(Grads grads, Gradients(scope, ys, xs));
  Output sum = SumInDouble(scope, ys);
  Outputs dense;
  for (const Gradient& grad : grads) dense.push_back(ToDense(scope, grad));
  NABLA_RETURN_IF_ERROR(scope.status());
  const std::vector<std::string> reasons = Reasons(ys, xs, grads, {});
  Session session(graph);
  const DifferenceOptions options = {flags.samples, flags.step.value_or(0), flags.tolerance.value_or(0)};
  int different = 0;
  for (size_t i = 0; i < xs.size(); ++i) {
    if (!dense[i]) {
      std::printf("%s: no gradient: %s\n", flags.xs[i].c_str(), reasons[i].c_str());
      continue;
    }
    NABLA_ASSIGN_OR_RETURN(const Difference difference,
                           CompareWithDifferences(&session, feeds, xs[i], dense[i], sum, options));
    std::printf("%s: %s, %s\n", xs[i].name().c_str(), difference.agrees ? "ok" : "DIFFERENT",
                difference.ToString().c_str());
    different += !difference.agrees;
  }
  const PathReport report = CheckPath(&session, feeds, path, options);
  if (different == 0 && report.different.empty()) return absl::OkStatus();
  std::string message =
      different == 0 ? "symbolic and numeric gradients agree for all xs"
                     : absl::StrCat("symbolic and numeric gradients differ for ", different, " of ", xs.size(), " xs");
  const std::vector<std::string>& parting = report.different.empty() ? report.stops : report.different;
  if (parting.empty()) {
    absl::StrAppend(&message, "; each of the ops that could be checked alone is right");
  } else {
    absl::StrAppend(&message, different == 0 ? ", but not for " : "; they part at ", absl::StrJoin(parting, ", "));
  }
  return absl::FailedPreconditionError(message);
}

}  // namespace

absl::Status CheckCommand(const CheckFlags& flags) {
  if (flags.ys.empty() != flags.xs.empty()) return UsageError("--ys and --xs go together");
  if (flags.samples < 1) return UsageError("--samples must be at least 1");
  for (const auto& [name, value] : {std::pair("--step", flags.step), std::pair("--tolerance", flags.tolerance)}) {
    if (value && !(*value > 0 && std::isfinite(*value)))
      return UsageError(absl::StrCat(name, " must be a finite number above 0"));
  }
  Graph graph;
  NABLA_RETURN_IF_ERROR(ImportGraphDefFile(flags.graph, {}, &graph));
  const std::vector<std::string> problems = FindProblems(graph);
  for (const std::string& problem : problems) std::printf("%s\n", problem.c_str());
  if (!problems.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(flags.graph, ": ", problems.size(), " problems"));
  }
  std::printf("%s: %d nodes, no problems\n", flags.graph.c_str(), graph.num_nodes());
  return flags.ys.empty() ? absl::OkStatus() : CompareGradients(&graph, flags);
}

}  // namespace nabla::tools

// Writes the loops and conditionals of tests/gradients with their first and second derivatives as GraphDef files, and
// beside each where to take them: check_control_flow.py runs them in TensorFlow. With a second argument, loops have
// checkpoints.
#include <cstdio>
#include <fstream>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "nabla/gradients/gradients.h"
#include "nabla/gradients/rule.h"
#include "nabla/graph/export.h"
#include "nabla/graph/status_macros.h"
#include "nabla/ops/ops.h"
#include "nabla/tests/gradients/control_flow_cases.h"

namespace nabla {
namespace {

absl::Status Export(const ControlFlowCase& c, const LoopGradientOptions& loops, const std::string& path) {
  Graph graph;
  Scope scope(&graph);
  Outputs xs;
  for (size_t i = 0; i < c.at.size(); ++i) {
    const int64_t n = static_cast<int64_t>(c.at[i].size());
    xs.push_back(ops::Placeholder(scope.Named(absl::StrCat("x", i)), DType::kDouble, {.shape = Shape({n})}));
  }
  const Output y = ops::Identity(scope.Named("y"), c.build(scope, xs, 10));
  NABLA_RETURN_IF_ERROR(scope.status());
  GradientOptions options;
  options.unconnected = UnconnectedGradients::kZero;
  options.loops = loops;
  ScopeGuard guard(scope);
  Output of = y;
  for (const char* order : {"first", "second", "third"}) {
    absl::StatusOr<Grads> grads = Gradients(scope, {of}, xs, options);
    NABLA_RETURN_IF_ERROR(grads.status());
    Output direction;
    for (size_t i = 0; i < xs.size(); ++i) {
      const Output grad = ops::Identity(scope.Named(absl::StrCat(order, i)), ToDense(scope, (*grads)[i]));
      std::vector<double> weights;
      for (size_t j = 0; j < c.at[i].size(); ++j) weights.push_back(0.7 + 0.3 * static_cast<double>(i + 2 * j));
      const Output term = ops::Sum(scope, grad * ops::Const(scope, Tensor::Vector<double>(weights)), 0);
      direction = direction ? direction + term : term;
    }
    of = ops::Identity(scope.Named(absl::StrCat("direction_", order)), direction);
    NABLA_RETURN_IF_ERROR(scope.status());
    const bool large = c.at.size() > 1 || loops.checkpoint != Checkpoint::kNone;
    if (large && std::string(order) == "second") break;
  }
  std::ofstream at(path + ".txt");
  for (const std::vector<double>& x : c.at) at << absl::StrJoin(x, " ") << "\n";
  return ExportGraphFile(graph, ExportOptions(), path + ".pb");
}

}  // namespace
}  // namespace nabla

int main(int argc, char** argv) {
  const std::string checkpoint = argc == 3 ? argv[2] : "none";
  nabla::LoopGradientOptions loops;
  if (checkpoint == "sqrt") loops.checkpoint = nabla::Checkpoint::kSqrt;
  if (checkpoint == "every") loops = {.checkpoint = nabla::Checkpoint::kEveryK, .every_k = 3};
  if (checkpoint == "budget") loops = {.checkpoint = nabla::Checkpoint::kBudgetBytes, .budget_bytes = 100};
  if (argc < 2 || argc > 3 || (checkpoint != "none" && loops.checkpoint == nabla::Checkpoint::kNone)) {
    std::cerr << "usage: export_control_flow DIRECTORY [none|sqrt|every|budget]\n";
    return 2;
  }
  nabla::RegisterAllOps();
  nabla::RegisterAllGradients();
  int failed = 0;
  const auto all = [&](const std::string& kind, const std::vector<nabla::ControlFlowCase>& cases) {
    for (const nabla::ControlFlowCase& c : cases) {
      const absl::Status status = nabla::Export(c, loops, absl::StrCat(argv[1], "/", kind, "_", c.name));
      if (status.ok()) continue;
      std::cerr << kind << "_" << c.name << ": " << status << "\n";
      ++failed;
    }
  };
  all("loop", nabla::LoopCases());
  all("cond", nabla::ConditionalCases());
  all("mixed", nabla::MixedCases());
  return failed == 0 ? 0 : 1;
}

// nabla check: verifies a graph; compares symbolic with numeric gradients.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <random>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "nabla/gradients/gradients.h"
#include "nabla/gradients/report.h"
#include "nabla/graph/import.h"
#include "nabla/graph/status_macros.h"
#include "nabla/graph/verifier.h"
#include "nabla/ops/ops.h"
#include "nabla/runtime/session.h"
#include "nabla/tools/command.h"
#include "nabla/tools/feed.h"

namespace nabla::tools {
namespace {

// Random numbers of the normal distribution, for what was not fed; unknown dimensions become 2.
absl::StatusOr<Tensor> RandomValue(Output placeholder, std::mt19937* random) {
  Shape shape = placeholder.shape().has_rank() ? placeholder.shape() : Shape::Scalar();
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape.dim(i) == kUnknownDim) shape.set_dim(i, 2);
  }
  std::normal_distribution<double> normal;
  NABLA_ASSIGN_OR_RETURN(Tensor value, Tensor::Allocate(placeholder.dtype(), shape));
  if (value.dtype() == DType::kFloat) {
    for (float& x : value.flat<float>()) x = static_cast<float>(normal(*random));
  } else if (value.dtype() == DType::kDouble) {
    for (double& x : value.flat<double>()) x = normal(*random);
  } else {
    return absl::InvalidArgumentError(absl::StrCat("'", placeholder.name(), "' is of type ",
                                                   DTypeName(placeholder.dtype()), ": give it a value with --feed"));
  }
  return value;
}

double ElementOf(const Tensor& tensor, int64_t i) {
  return tensor.dtype() == DType::kDouble ? tensor.data<double>()[i] : tensor.data<float>()[i];
}

void SetElement(Tensor* tensor, int64_t i, double value) {
  if (tensor->dtype() == DType::kDouble) {
    tensor->data<double>()[i] = value;
  } else {
    tensor->data<float>()[i] = static_cast<float>(value);
  }
}

// Compares the gradient of the sum of ys by one x with central differences at some of its elements.
class GradientChecker {
 public:
  GradientChecker(Session* session, Feeds feeds, Output sum, const CheckFlags& flags)
      : session_(session), feeds_(std::move(feeds)), sum_(sum), flags_(flags) {}

  // Prints a line; true if all agree.
  absl::StatusOr<bool> Check(Output x, Output gradient) {
    std::vector<Tensor> values;
    NABLA_RETURN_IF_ERROR(session_->Run(feeds_, {x, gradient}, &values));
    const Tensor& at = values[0];
    const Tensor& symbolic = values[1];
    const bool is_double = at.dtype() == DType::kDouble;
    const double step = flags_.step > 0 ? flags_.step : is_double ? 1e-5 : 1e-2;
    const double tolerance = flags_.tolerance > 0 ? flags_.tolerance : is_double ? 1e-5 : 2e-2;
    std::vector<int64_t> elements(at.num_elements());
    std::iota(elements.begin(), elements.end(), 0);
    std::shuffle(elements.begin(), elements.end(), std::mt19937(1));
    elements.resize(std::min<size_t>(elements.size(), static_cast<size_t>(std::max(flags_.samples, 1))));
    double worst = 0, worst_symbolic = 0, worst_numeric = 0;
    int64_t worst_element = 0;
    for (int64_t element : elements) {
      NABLA_ASSIGN_OR_RETURN(double above, SumWith(x, at, element, step));
      NABLA_ASSIGN_OR_RETURN(double below, SumWith(x, at, element, -step));
      const double numeric = (above - below) / (2 * step);
      const double exact = ElementOf(symbolic, element);
      double error = std::abs(numeric - exact) / std::max({1.0, std::abs(numeric), std::abs(exact)});
      if (std::isnan(error)) error = INFINITY;
      if (error > worst) {
        worst = error;
        worst_symbolic = exact;
        worst_numeric = numeric;
        worst_element = element;
      }
    }
    const bool good = worst <= tolerance;
    std::printf("%s: %s, largest relative difference %.2g over %zu of %ld elements", x.name().c_str(),
                good ? "ok" : "DIFFERENT", worst, elements.size(), static_cast<long>(at.num_elements()));
    if (!good) {
      std::printf(" (element %ld: symbolic %g, numeric %g)", static_cast<long>(worst_element), worst_symbolic,
                  worst_numeric);
    }
    std::printf("\n");
    return good;
  }

 private:
  absl::StatusOr<double> SumWith(Output x, const Tensor& at, int64_t element, double step) {
    Tensor moved = at.Clone();
    SetElement(&moved, element, ElementOf(at, element) + step);
    Feeds feeds = feeds_;
    feeds.erase(std::remove_if(feeds.begin(), feeds.end(), [&](const auto& feed) { return feed.first == x; }),
                feeds.end());
    feeds.emplace_back(x, std::move(moved));
    std::vector<Tensor> values;
    NABLA_RETURN_IF_ERROR(session_->Run(feeds, {sum_}, &values));
    return values[0].scalar<double>();
  }

  Session* session_;
  Feeds feeds_;
  Output sum_;
  const CheckFlags& flags_;
};

Output SumInDouble(const Scope& scope, const Outputs& ys) {
  Inputs sums;
  for (Output y : ys) {
    Output flat = ops::Reshape(scope, ops::Cast(scope, y, DType::kDouble), {-1});
    sums.push_back(ops::Sum(scope, flat, 0));
  }
  return ops::AddN(scope, sums);
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
  Scope scope(graph);
  NABLA_ASSIGN_OR_RETURN(Grads grads, Gradients(scope, ys, xs));
  Output sum = SumInDouble(scope, ys);
  Outputs dense;
  for (const Gradient& grad : grads) dense.push_back(ToDense(scope, grad));
  NABLA_RETURN_IF_ERROR(scope.status());
  Session session(graph);
  GradientChecker checker(&session, feeds, sum, flags);
  int different = 0;
  for (size_t i = 0; i < xs.size(); ++i) {
    if (!dense[i]) {
      const GradientReport report = ExplainGradients(ys, {xs[i]}, {})[0];
      std::printf("%s: no gradient: %s\n", flags.xs[i].c_str(), report.Reason().c_str());
      continue;
    }
    NABLA_ASSIGN_OR_RETURN(bool good, checker.Check(xs[i], dense[i]));
    different += !good;
  }
  if (different == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("symbolic and numeric gradients differ for ", different, " of ", xs.size(), " xs"));
}

}  // namespace

absl::Status CheckCommand(const CheckFlags& flags) {
  if (flags.ys.empty() != flags.xs.empty()) return UsageError("--ys and --xs go together");
  if (flags.samples < 1) return UsageError("--samples must be at least 1");
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

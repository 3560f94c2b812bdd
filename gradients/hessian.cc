#include "nabla/gradients/hessian.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "nabla/gradients/vjp.h"
#include "nabla/graph/status_macros.h"

namespace nabla {
namespace {

// For each x the Jacobians of the gradient by x: with respect to all xs, or to x alone.
absl::StatusOr<std::vector<Outputs>> JacobiansOfGradients(const Scope& scope, const Outputs& ys, const Outputs& xs,
                                                          bool all_blocks, const JacobianOptions& options) {
  const Scope inner = scope.Sub(options.name);
  const auto lock = scope.graph()->Lock();
  GradientOptions first;
  first.unconnected = options.unconnected;
  first.stop_gradients = options.stop_gradients;
  NABLA_ASSIGN_OR_RETURN(const Grads gradients, Gradients(inner, ys, xs, first));
  JacobianReport report, all = {true, ""};
  JacobianOptions second = options;
  second.name = "jacobian";
  second.report = &report;
  std::vector<Outputs> rows;
  for (size_t i = 0; i < xs.size(); ++i) {
    const Outputs by = all_blocks ? xs : Outputs{xs[i]};
    rows.emplace_back(by.size());
    const Output gradient = ToDense(inner, gradients[i]);
    if (!gradient) continue;
    NABLA_ASSIGN_OR_RETURN(rows.back(), Jacobian(inner, gradient, by, second));
    if (!report.vectorized && all.vectorized) all = report;
  }
  if (options.report != nullptr) *options.report = std::move(all);
  return rows;
}

}  // namespace

absl::StatusOr<Outputs> HessianVectorProduct(const Scope& scope, const Outputs& ys, const Outputs& xs,
                                             const Outputs& vs, const GradientOptions& options) {
  if (vs.size() != xs.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("HessianVectorProduct: ", vs.size(), " vectors for ", xs.size(), " xs"));
  }
  GradientOptions first = options;
  first.unconnected = UnconnectedGradients::kNone;
  NABLA_ASSIGN_OR_RETURN(const Grads gradients, Gradients(scope, ys, xs, first));
  // The Hessian is symmetric, so that its products from the left are those from the right.
  Outputs slopes;
  Grads cotangents;
  for (size_t i = 0; i < xs.size(); ++i) {
    if (gradients[i].none() || !vs[i]) continue;
    slopes.push_back(ToDense(scope, gradients[i]));
    cotangents.push_back(vs[i]);
  }
  GradientOptions second = options;
  second.grad_ys.clear();
  NABLA_ASSIGN_OR_RETURN(const Grads products, Vjp(scope, slopes, xs, cotangents, second));
  Outputs dense;
  for (const Gradient& product : products) dense.push_back(ToDense(scope, product));
  NABLA_RETURN_IF_ERROR(scope.status());
  return dense;
}

absl::StatusOr<Outputs> Hessians(const Scope& scope, const Outputs& ys, const Outputs& xs,
                                 const JacobianOptions& options) {
  NABLA_ASSIGN_OR_RETURN(const std::vector<Outputs> rows, JacobiansOfGradients(scope, ys, xs, false, options));
  Outputs hessians;
  for (const Outputs& row : rows) hessians.push_back(row[0]);
  return hessians;
}

absl::StatusOr<std::vector<Outputs>> HessianBlocks(const Scope& scope, const Outputs& ys, const Outputs& xs,
                                                   const JacobianOptions& options) {
  return JacobiansOfGradients(scope, ys, xs, true, options);
}

}  // namespace nabla

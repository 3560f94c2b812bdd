#include "nabla/gradients/vjp.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "nabla/graph/status_macros.h"
#include "nabla/ops/ops.h"

namespace nabla {
namespace {

struct Application {
  Outputs ys, xs;  // f's results, and the tensors that stand for its arguments
};

absl::StatusOr<Application> Apply(const Scope& scope, const GraphFunction& f, const Outputs& xs) {
  NABLA_RETURN_IF_ERROR(scope.status());
  Application application;
  for (size_t i = 0; i < xs.size(); ++i) {
    if (!xs[i] || xs[i].graph() != scope.graph()) {
      return absl::InvalidArgumentError(absl::StrCat("xs[", i, "] ", xs[i] ? "belongs to another graph" : "is none"));
    }
    application.xs.push_back(ops::Identity(scope, xs[i]));
  }
  {
    const ScopeGuard guard(scope);
    application.ys = f(scope, application.xs);
  }
  NABLA_RETURN_IF_ERROR(scope.status());
  if (application.ys.empty()) return absl::InvalidArgumentError("the function to differentiate gave no outputs");
  return application;
}

}  // namespace

absl::StatusOr<Grads> Vjp(const Scope& scope, const Outputs& ys, const Outputs& xs, const Grads& cotangents,
                          const GradientOptions& options) {
  if (!options.grad_ys.empty()) {
    return absl::InvalidArgumentError("Vjp: grad_ys is set, but the cotangents are an argument of their own");
  }
  if (cotangents.size() != ys.size()) {
    return absl::InvalidArgumentError(absl::StrCat("Vjp: ", cotangents.size(), " cotangents for ", ys.size(), " ys"));
  }
  Outputs weighted;
  GradientOptions given = options;
  for (size_t i = 0; i < ys.size(); ++i) {
    if (cotangents[i].none()) continue;
    weighted.push_back(ys[i]);
    given.grad_ys.push_back(cotangents[i]);
  }
  // Nothing counts: as if of a constant.
  if (weighted.empty()) weighted.push_back(ops::Const(scope, 0.0f));
  return Gradients(scope, weighted, xs, given);
}

Pullback::Pullback(const Scope& scope, Outputs ys, Outputs xs, GradientOptions options)
    : scope_(scope), ys_(std::move(ys)), xs_(std::move(xs)), options_(std::move(options)) {}

absl::StatusOr<Grads> Pullback::operator()(const Grads& cotangents) const {
  return Vjp(scope_, ys_, xs_, cotangents, options_);
}

absl::StatusOr<Linearization> MakeVjp(const Scope& scope, const GraphFunction& f, const Outputs& xs,
                                      const GradientOptions& options) {
  NABLA_ASSIGN_OR_RETURN(Application application, Apply(scope, f, xs));
  Pullback pullback(scope, application.ys, std::move(application.xs), options);
  return Linearization{std::move(application.ys), std::move(pullback)};
}

absl::StatusOr<ValuesAndGradients> ValueAndGradients(const Scope& scope, const GraphFunction& f, const Outputs& xs,
                                                     const GradientOptions& options) {
  NABLA_ASSIGN_OR_RETURN(Application application, Apply(scope, f, xs));
  ValuesAndGradients result;
  NABLA_ASSIGN_OR_RETURN(result.gradients, Gradients(scope, application.ys, application.xs, options));
  result.values = std::move(application.ys);
  return result;
}

}  // namespace nabla

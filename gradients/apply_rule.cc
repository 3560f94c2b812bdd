#include "nabla/gradients/apply_rule.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "nabla/gradients/unbroadcast.h"
#include "nabla/graph/status_macros.h"

namespace nabla {
namespace {

// Checks a rule's gradient of input i against the input, and lets the input's static shape refine it.
absl::Status Verify(Node* op, int i, const Gradient& grad) {
  Output input = op->input(i);
  if (grad.none() || input.dtype() == DType::kResource || input.dtype() == DType::kVariant) return absl::OkStatus();
  if (grad.dtype() != BaseDType(input.dtype())) {
    return absl::InternalError(absl::StrCat("the gradient of '", op->name(), "' (op type: ", op->op(),
                                            ") for its input ", i, " has type ", DTypeName(grad.dtype()), ", expected ",
                                            DTypeName(input.dtype())));
  }
  if (!grad.is_dense()) return absl::OkStatus();
  Output dense = grad.dense();
  if (!dense.shape().IsCompatibleWith(input.shape())) {
    return absl::InternalError(absl::StrCat(
        "Incompatible shapes between op input and calculated input gradient. Forward operation: ", op->name(),
        " (op type: ", op->op(), "). Input index: ", i, ". Original input shape: ", input.shape().ToString(),
        ". Calculated input gradient shape: ", dense.shape().ToString()));
  }
  return op->graph()->RefineShape(dense, input.shape());
}

}  // namespace

const GradientRegistry::Entry* FindGradientRule(const Node& op) {
  const auto* other = op.attr<std::string>("_gradient_op_type");
  return GradientRegistry::Global().Find(other != nullptr ? *other : op.op());
}

absl::StatusOr<Grads> ApplyGradientRule(const Scope& scope, Node* op, Grads out_grads, std::vector<bool> needed) {
  const GradientRegistry::Entry* entry = FindGradientRule(*op);
  if (entry == nullptr) {
    const auto* other = op->attr<std::string>("_gradient_op_type");
    return absl::NotFoundError(absl::StrCat("No gradient defined for operation '", op->name(), "' (op type: ", op->op(),
                                            other != nullptr ? ", _gradient_op_type: " + *other : "", ")"));
  }
  if (entry->rule == nullptr) return Grads(op->num_inputs());
  RuleContext context(scope, op, std::move(out_grads));
  context.set_needed(std::move(needed));
  ScopeGuard guard(scope);
  Grads grads = entry->rule(context);
  if (!context.status().ok()) {
    return absl::Status(context.status().code(), absl::StrCat("gradient of '", op->name(), "' (op type: ", op->op(),
                                                              "): ", context.status().message()));
  }
  NABLA_RETURN_IF_ERROR(scope.status());
  if (static_cast<int>(grads.size()) != op->num_inputs()) {
    return absl::InternalError(absl::StrCat("Num gradients ", grads.size(), " generated for op '", op->name(),
                                            "' (op type: ", op->op(), ") do not match num inputs ", op->num_inputs()));
  }
  for (int i = 0; i < op->num_inputs(); ++i) {
    if (!context.needs_input_grad(i)) grads[i] = Gradient();
  }
  if (entry->broadcasting) Unbroadcast(scope, op, &grads);
  NABLA_RETURN_IF_ERROR(scope.status());
  for (int i = 0; i < op->num_inputs(); ++i) NABLA_RETURN_IF_ERROR(Verify(op, i, grads[i]));
  return grads;
}

}  // namespace nabla

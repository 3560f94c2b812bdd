#include "nabla/gradients/apply_rule.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "nabla/gradients/indexed_slices.h"
#include "nabla/gradients/unbroadcast.h"
#include "nabla/graph/inline.h"
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
  if (grad.is_slices()) {
    absl::Status status = CheckSlices(grad.slices(), input.shape());
    if (status.ok()) return status;
    return absl::InternalError(absl::StrCat("the gradient of '", op->name(), "' (op type: ", op->op(),
                                            ") for its input ", i, ": ", status.message()));
  }
  Output dense = grad.dense();
  if (!dense.shape().IsCompatibleWith(input.shape())) {
    return absl::InternalError(absl::StrCat(
        "Incompatible shapes between op input and calculated input gradient. Forward operation: ", op->name(),
        " (op type: ", op->op(), "). Input index: ", i, ". Original input shape: ", input.shape().ToString(),
        ". Calculated input gradient shape: ", dense.shape().ToString()));
  }
  return op->graph()->RefineShape(dense, input.shape());
}

// How the rows that a sparse gradient of the output 0 has are found in an input.
enum class RowsOf {
  kInput,    // as rows of the input, which has the output's shape
  kNothing,  // every row of the output sees all of the input
  kUnknown,
};

RowsOf FindRows(Node* op, int which) {
  const Shape& out = op->output_shape(0);
  const Shape& shape = op->input(which).shape();
  if (op->num_inputs() == 1) return RowsOf::kInput;
  if (shape.IsScalar()) return RowsOf::kNothing;
  bool others_are_scalars = true;
  for (int i = 0; i < op->num_inputs(); ++i) {
    others_are_scalars &= i == which || op->input(i).shape().IsScalar();
  }
  if (others_are_scalars || (shape.IsFullyDefined() && shape == out)) return RowsOf::kInput;
  if (!shape.has_rank() || !out.has_rank()) return RowsOf::kUnknown;
  if (shape.rank() < out.rank()) return RowsOf::kNothing;
  return shape.dim(0) == 1 && out.dim(0) > 1 ? RowsOf::kNothing : RowsOf::kUnknown;
}

// Restricts the context to the rows of a sparse gradient, if the op and the shapes allow. Says for each input whether
// it has rows, or nothing if the context was left alone.
std::vector<bool> RestrictToRows(Node* op, RuleContext* context) {
  std::vector<bool> has_rows;
  for (int i = 0; i < op->num_inputs(); ++i) {
    const RowsOf rows = FindRows(op, i);
    if (rows == RowsOf::kUnknown) return {};
    has_rows.push_back(rows == RowsOf::kInput);
  }
  context->RestrictToRows(has_rows);
  return has_rows;
}

}  // namespace

const GradientRegistry::Entry* FindGradientRule(const Node& op) {
  // A call has its function's gradient. (What TensorFlow notes as its type there, no file can bring along.)
  if (CalledFunction(op).has_value()) return GradientRegistry::Global().Find("PartitionedCall");
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
  IndexedSlices rows;
  std::vector<bool> has_rows;
  if (entry->elementwise && context.gradient(0).is_slices()) {
    rows = context.gradient(0).slices();
    has_rows = RestrictToRows(op, &context);
  }
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
    if (!has_rows.empty() && has_rows[i] && grads[i].is_dense()) {
      rows.values = grads[i].dense();
      grads[i] = rows;
    }
  }
  if (entry->broadcasting) Unbroadcast(scope, op, &grads);
  NABLA_RETURN_IF_ERROR(scope.status());
  for (int i = 0; i < op->num_inputs(); ++i) NABLA_RETURN_IF_ERROR(Verify(op, i, grads[i]));
  return grads;
}

}  // namespace nabla

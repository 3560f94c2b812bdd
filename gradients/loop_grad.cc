#include "nabla/gradients/loop_grad.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "nabla/gradients/adjoint_loop.h"
#include "nabla/gradients/aggregation.h"
#include "nabla/gradients/between.h"
#include "nabla/gradients/checkpointed_grad.h"
#include "nabla/gradients/loop_counter.h"
#include "nabla/gradients/saved_values.h"
#include "nabla/graph/status_macros.h"
#include "nabla/ops/ops.h"

namespace nabla {
namespace {

absl::Status CheckForm(const Frame& frame) {
  const auto fail = [&](absl::string_view what) {
    return absl::UnimplementedError(
        absl::StrCat("Gradients: loop '", frame.name, "' ", what, ", which cannot be differentiated"));
  };
  if (frame.loop_cond == nullptr) return fail("has no LoopCond");
  if (frame.variables.empty()) return fail("has no variables");
  for (const LoopVariable& variable : frame.variables) {
    if (variable.switch_node == nullptr)
      return fail(absl::StrCat("has no Switch after '", variable.merge->name(), "'"));
  }
  return absl::OkStatus();
}

LoopPaths FindPaths(const Frame& frame, const std::function<bool(const Node*)>& between) {
  LoopPaths paths;
  for (size_t k = 0; k < frame.variables.size(); ++k) {
    const LoopVariable& variable = frame.variables[k];
    if (!between(variable.merge) || !IsBackpropagatable(variable.merge->output_dtype(0))) continue;
    (IsPassThrough(variable) ? paths.passed_on : paths.carried).push_back(k);
  }
  for (size_t i = 0; i < frame.invariants.size(); ++i) {
    if (between(frame.invariants[i]) && IsBackpropagatable(frame.invariants[i]->output_dtype(0))) {
      paths.constant.push_back(i);
    }
  }
  return paths;
}

}  // namespace

absl::StatusOr<LoopGradients> LoopGradient(ControlState* state, int frame, const Scope& scope, const Grads& exits,
                                           const std::function<bool(const Node*)>& between,
                                           const GradientOptions& options, const BodyGradient& body_gradient) {
  const Frame& forward = state->frame(frame);
  NABLA_RETURN_IF_ERROR(CheckForm(forward));
  const LoopPaths paths = FindPaths(forward, between);
  if (options.loops.checkpoint != Checkpoint::kNone && !paths.carried.empty()) {
    return CheckpointedLoopGradient(state, frame, scope, exits, paths, options, body_gradient);
  }
  AdjointLoop backward(state, frame, scope, forward.parallel_iterations);
  SavedValues saved(state, frame, &backward.builder());
  LoopBuilder& loop = backward.builder();
  loop.set_override([&saved](Output value) { return saved.Read(value); });
  // As many trips as the forward loop made.
  const int left = loop.AddVariable(TripCount(state, frame).Total(), Shape::Scalar());
  loop.SetCondition(ops::Greater(loop.condition(), loop.Entering(left), 0));
  const Output trip = ops::Sub(loop.body(), loop.Inside(left), 1);
  loop.SetNext(left, trip);
  saved.set_trip(trip);

  Outputs ys, xs;
  Grads grad_ys;
  for (size_t k : paths.carried) {
    ys.push_back(forward.variables[k].next_iteration->input(0));
    grad_ys.push_back(backward.AddAdjoint(forward.variables[k], exits[k]));
    xs.push_back(forward.variables[k].merge->output(0));
  }
  for (size_t k : paths.passed_on) xs.push_back(forward.variables[k].merge->output(0));
  for (size_t i : paths.constant) xs.push_back(forward.invariants[i]->output(0));
  NABLA_RETURN_IF_ERROR(scope.status());

  Grads grads(xs.size());
  if (!ys.empty()) {
    NABLA_ASSIGN_OR_RETURN(grads, body_gradient(state, backward.body(), frame, ys, grad_ys, xs, {}));
  }
  LoopGradients result{Grads(forward.variables.size()), Grads(forward.invariants.size())};
  size_t next = 0;
  for (size_t i = 0; i < paths.carried.size(); ++i) {
    const size_t k = paths.carried[i];
    result.variables[k] = backward.CloseAdjoint(i, grads[next++], forward.variables[k].switch_node->output(1));
  }
  for (size_t k : paths.passed_on) {
    const Gradient sum = backward.Sum(forward.variables[k].enter->input(0), grads[next++], /*collect_products=*/true);
    result.variables[k] = Aggregate(scope, forward.name, {sum, exits[k]}, AggregationMethod::kAddN);
  }
  for (size_t i : paths.constant) {
    result.invariants[i] = backward.Sum(forward.invariants[i]->input(0), grads[next++], /*collect_products=*/true);
  }
  NABLA_RETURN_IF_ERROR(saved.Resolve());
  NABLA_RETURN_IF_ERROR(scope.status());
  return result;
}

}  // namespace nabla

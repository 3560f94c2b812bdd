#include "nabla/gradients/checkpointed_grad.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "nabla/gradients/adjoint_loop.h"
#include "nabla/gradients/aggregation.h"
#include "nabla/gradients/checkpoints.h"
#include "nabla/gradients/replay.h"
#include "nabla/graph/status_macros.h"
#include "nabla/ops/ops.h"

namespace nabla {
namespace {

// Iterations that overlapped would hold what several segments save.
constexpr int64_t kOneAtATime = 1;

// What is the same in all trips, each tensor once, and where its gradient goes.
struct Constants {
  Outputs outside;
  std::vector<Gradient*> gradients;
  absl::flat_hash_set<Output> seen;
  void Add(Output tensor, Gradient* gradient) {
    if (!seen.insert(tensor).second) return;
    outside.push_back(tensor);
    gradients.push_back(gradient);
  }
};

}  // namespace

absl::StatusOr<LoopGradients> CheckpointedLoopGradient(ControlState* state, int frame, const Scope& scope,
                                                       const Grads& exits, const LoopPaths& paths,
                                                       const GradientOptions& options,
                                                       const BodyGradient& body_gradient) {
  const Frame& forward = state->frame(frame);
  NABLA_RETURN_IF_ERROR(CheckOptions(options.loops));
  NABLA_ASSIGN_OR_RETURN(Replay replay, Replay::Of(state, frame, paths.carried));
  AdjointLoop backward(state, frame, scope, kOneAtATime);
  Checkpoints checkpoints(state, frame, &replay, options.loops);
  const Segment segment = checkpoints.Open(scope, &backward.builder());
  NABLA_RETURN_IF_ERROR(scope.status());
  const Outputs last = replay.Run(backward.body(), "segment", segment.first, segment.end, segment.values);

  LoopGradients result{Grads(forward.variables.size()), Grads(forward.invariants.size())};
  Constants constants;
  for (size_t k : paths.passed_on) constants.Add(forward.variables[k].enter->input(0), &result.variables[k]);
  for (size_t i : paths.constant) constants.Add(forward.invariants[i]->input(0), &result.invariants[i]);

  Outputs ys, xs;
  Grads grad_ys;
  for (size_t k : paths.carried) {
    const auto at = std::lower_bound(replay.variables().begin(), replay.variables().end(), k);
    const size_t i = at - replay.variables().begin();
    ys.push_back(last[i]);
    xs.push_back(segment.values[i]);
    grad_ys.push_back(backward.AddAdjoint(forward.variables[k], exits[k]));
  }
  // What a segment begins with may itself depend on what is constant.
  Outputs stops = replay.Copies(options.stop_gradients);
  stops.insert(stops.end(), xs.begin(), xs.end());
  for (Output outside : constants.outside) xs.push_back(backward.builder().Invariant(outside));
  NABLA_RETURN_IF_ERROR(scope.status());
  ControlState inside(backward.body());
  NABLA_ASSIGN_OR_RETURN(const Grads grads,
                         body_gradient(&inside, backward.body(), inside.FrameOf(ys[0]), ys, grad_ys, xs, stops));
  size_t next = 0;
  for (size_t i = 0; i < paths.carried.size(); ++i, ++next) {
    result.variables[paths.carried[i]] = backward.CloseAdjoint(i, grads[next], xs[next]);
  }
  for (size_t i = 0; i < constants.outside.size(); ++i, ++next) {
    *constants.gradients[i] = backward.Sum(constants.outside[i], grads[next], /*collect_products=*/false);
  }
  for (size_t k : paths.passed_on) {
    result.variables[k] = Aggregate(scope, forward.name, {result.variables[k], exits[k]}, AggregationMethod::kAddN);
  }
  checkpoints.Close(inside);
  NABLA_RETURN_IF_ERROR(scope.status());
  return result;
}

}  // namespace nabla

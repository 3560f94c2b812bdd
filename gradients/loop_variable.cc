#include "nabla/gradients/loop_variable.h"

#include <vector>

#include "nabla/ops/ops.h"

namespace nabla {

Scope AroundLoop(const ControlState& state, int frame, const Scope& scope) {
  const Frame& loop = state.frame(frame);
  if (loop.parent == kRootFrame && state.contexts().OfFrame(frame) == 0) return scope;
  Output entering = loop.variables[0].enter->input(0);
  // A Switch itself is alive on either side of it.
  if (IsSwitch(*entering.node())) entering = ops::Identity(scope.Named("entered"), entering);
  return scope.WithControl({entering});
}

Tensor ListElementShape(const Shape& shape) {
  if (!shape.has_rank()) return Tensor::Scalar<int32_t>(-1);
  std::vector<int32_t> dims;
  for (int64_t dim : shape.dims()) dims.push_back(dim > INT32_MAX ? -1 : static_cast<int32_t>(dim));
  return Tensor::Vector<int32_t>(dims);
}

AddedVariable::AddedVariable(ControlState* state, int frame, const Scope& scope, Output init)
    : state_(state), frame_(frame), scope_(scope) {
  const Frame& loop = state->frame(frame);
  const Output enter = ops::Enter(scope_, init, loop.name, {.parallel_iterations = loop.parallel_iterations});
  merge_ = ops::Merge(scope_, {enter, Output()}).output;
  if (!merge_) return;
  scope_.RecordError(scope_.graph()->RefineShape(merge_, init.shape()));
  auto sides = ops::Switch(scope_, merge_, loop.loop_cond->output(0));
  leaves_ = sides.output_false;
  inside_ = sides.output_true;
}

void AddedVariable::SetNext(Output next) {
  const Output back = ops::NextIteration(scope_, next);
  if (back && merge_) scope_.RecordError(scope_.graph()->SetBackEdge(merge_.node(), 1, back));
}

Output AddedVariable::Exit() {
  const Output exit = ops::Exit(scope_, leaves_);
  if (exit) state_->NoteAdded(exit.node(), state_->frame(frame_).parent, state_->contexts().OfFrame(frame_));
  return exit;
}

}  // namespace nabla

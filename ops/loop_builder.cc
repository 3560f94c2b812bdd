#include "nabla/ops/loop_builder.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "nabla/graph/status_macros.h"
#include "nabla/ops/ops.h"

namespace nabla {

// Knows what belongs to the loop, and carries in what does not.
class LoopBuilder::BodyCapture : public Capture {
 public:
  BodyCapture(Scope outer, std::string frame_name, int64_t parallel_iterations)
      : outer_(std::move(outer)), frame_name_(std::move(frame_name)), parallel_iterations_(parallel_iterations) {}

  void set_override(Override override) { override_ = std::move(override); }
  void set_guard(std::function<Output(Output)> guard) { guard_ = std::move(guard); }
  // What nodes without inputs wait for.
  void set_pivot(Node* pivot) { pivot_ = pivot; }

  Output Enter(Output outside, bool is_constant) {
    Output inside = ops::Enter(outer_, outside, frame_name_,
                               {.is_constant = is_constant, .parallel_iterations = parallel_iterations_});
    if (inside) mine_.insert(inside.node()->id());
    return inside;
  }

  Output Invariant(Output outside) {
    Output& inside = invariants_[outside];
    if (!inside) inside = Enter(guard_ ? guard_(outside) : outside, /*is_constant=*/true);
    return inside;
  }

  absl::StatusOr<Output> CaptureInput(Output source) override {
    if (mine_.contains(source.node()->id())) return source;
    if (override_) {
      NABLA_ASSIGN_OR_RETURN(Output instead, override_(source));
      if (instead) return instead;
    }
    Output inside = Invariant(source);
    if (!inside) return outer_.status();
    return inside;
  }

  // What is outside of the loop has run before the loop begins if anything of it is used; else there is no telling.
  absl::StatusOr<Node*> CaptureControl(Node* source) override {
    return mine_.contains(source->id()) ? source : nullptr;
  }

  void Added(Node* node, bool innermost) override {
    mine_.insert(node->id());
    if (innermost && node->num_inputs() == 0 && node->num_control_inputs() == 0 && pivot_ != nullptr) {
      node->graph()->AddControlEdge(pivot_, node);
    }
  }

 private:
  Scope outer_;
  std::string frame_name_;
  int64_t parallel_iterations_;
  Override override_;
  std::function<Output(Output)> guard_;
  Node* pivot_ = nullptr;
  absl::flat_hash_set<int> mine_;  // ids: a node that was removed may leave its address to another
  absl::flat_hash_map<Output, Output> invariants_;
};

LoopBuilder::LoopBuilder(const Scope& outer, absl::string_view name, int64_t parallel_iterations)
    : outer_(outer.Sub(name)),
      capture_(std::make_shared<BodyCapture>(outer_, outer_.name(), parallel_iterations)),
      condition_(outer_.WithoutControl().WithCapture(capture_)),
      body_(condition_),
      frame_name_(outer_.name()),
      parallel_iterations_(parallel_iterations) {}

void LoopBuilder::set_override(Override override) { capture_->set_override(std::move(override)); }

void LoopBuilder::set_guard(std::function<Output(Output)> guard) { capture_->set_guard(std::move(guard)); }

int LoopBuilder::AddVariable(Output init, const Shape& shape) {
  Variable variable;
  variable.enter = capture_->Enter(init, /*is_constant=*/false);
  if (variable.enter) {
    variable.merge = ops::Merge(condition_, {variable.enter, Output()}).output;
    if (variable.merge) {
      outer_.RecordError(outer_.graph()->RefineShape(variable.merge, shape));
      if (variables_.empty()) capture_->set_pivot(variable.merge.node());
    }
  }
  if (loop_cond_) AddSwitch(&variable);
  variables_.push_back(variable);
  return num_variables() - 1;
}

void LoopBuilder::AddSwitch(Variable* variable) {
  auto sides = ops::Switch(body_, variable->merge, loop_cond_);
  variable->leaves = sides.output_false;
  variable->stays = sides.output_true;
}

void LoopBuilder::SetCondition(Output predicate) {
  loop_cond_ = ops::LoopCond(condition_, predicate);
  if (!loop_cond_) return;
  for (Variable& variable : variables_) AddSwitch(&variable);
  if (Output pivot = ops::Identity(body_.Named("pivot"), variables_[0].stays)) capture_->set_pivot(pivot.node());
}

Output LoopBuilder::Inside(int variable) const { return variables_[variable].stays; }

void LoopBuilder::SetNext(int variable, Output next) {
  const Output merge = variables_[variable].merge;
  if (!next || !merge) return;
  const auto lock = outer_.graph()->Lock();
  if (next.dtype() != merge.dtype() || !next.shape().IsCompatibleWith(merge.shape())) {
    outer_.RecordError(absl::InvalidArgumentError(
        absl::StrCat("loop '", frame_name_, "': variable ", variable, " begins as ", DTypeName(merge.dtype()),
                     merge.shape().ToString(), " and goes on as ", DTypeName(next.dtype()), next.shape().ToString())));
    return;
  }
  if (Output back = ops::NextIteration(body_, next)) {
    outer_.RecordError(outer_.graph()->SetBackEdge(merge.node(), 1, back));
  }
}

Output LoopBuilder::Exit(int variable) {
  Variable& v = variables_[variable];
  // An Exit leaves the loop: it is no part of the body, but takes its input from there. What the loop waits for, its
  // Enters have waited for.
  if (!v.exit && v.leaves) v.exit = ops::Exit(outer_.WithoutControl(), v.leaves);
  return v.exit;
}

Output LoopBuilder::Invariant(Output outside) { return outside ? capture_->Invariant(outside) : Output(); }

}  // namespace nabla

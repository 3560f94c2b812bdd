#include "nabla/gradients/loop_counter.h"

#include <utility>

#include "nabla/graph/branch_contexts.h"
#include "nabla/graph/constant_value.h"
#include "nabla/ops/ops.h"

namespace nabla {
namespace {

absl::optional<int64_t> ConstantScalar(Output tensor) {
  const absl::optional<Tensor> value = ConstantValue(tensor);
  if (!value || !value->shape().IsScalar()) return absl::nullopt;
  if (value->dtype() == DType::kInt32) return value->scalar<int32_t>();
  if (value->dtype() == DType::kInt64) return value->scalar<int64_t>();
  return absl::nullopt;
}

}  // namespace

bool IsPassThrough(const LoopVariable& variable) {
  return variable.switch_node != nullptr && variable.next_iteration != nullptr &&
         BehindIdentities(variable.next_iteration->input(0)) == variable.switch_node->output(1);
}

absl::optional<LoopCounter> AsCounter(const LoopVariable& variable) {
  if (variable.switch_node == nullptr || variable.next_iteration == nullptr) return absl::nullopt;
  const DType dtype = variable.merge->output_dtype(0);
  if (dtype != DType::kInt32 && dtype != DType::kInt64) return absl::nullopt;
  const Output next = BehindIdentities(variable.next_iteration->input(0));
  const std::string& op = next.node()->op();
  if (op != "Add" && op != "AddV2" && op != "Sub") return absl::nullopt;
  for (int i = 0; i < (op == "Sub" ? 1 : 2); ++i) {
    if (BehindIdentities(next.node()->input(i)) != variable.switch_node->output(1)) continue;
    const absl::optional<int64_t> by = ConstantScalar(next.node()->input(1 - i));
    if (!by) return absl::nullopt;
    return LoopCounter{variable.enter->input(0), op == "Sub" ? -*by : *by};
  }
  return absl::nullopt;
}

Output CounterValue(const Scope& scope, const LoopCounter& counter, DType dtype, Output trip) {
  if (dtype != DType::kInt32) trip = ops::Cast(scope, trip, dtype);
  if (counter.step != 1) trip = ops::Mul(scope, trip, counter.step);
  return ConstantScalar(counter.start) == 0 ? trip : ops::AddV2(scope, trip, counter.start);
}

const LoopVariable* TripCount::FindCounter(bool from_zero) const {
  for (const LoopVariable& variable : state_->frame(frame_).variables) {
    const absl::optional<LoopCounter> counter = AsCounter(variable);
    if (!counter || counter->step != 1 || variable.exit == nullptr) continue;
    if (variable.merge->output_dtype(0) != DType::kInt32 || !variable.merge->output_shape(0).IsScalar()) continue;
    if (!from_zero || ConstantScalar(counter->start) == 0) return &variable;
  }
  return nullptr;
}

void TripCount::AddVariable() {
  if (added_) return;
  const Scope scope = state_->forward().Sub("trips");
  added_.emplace(state_, frame_, scope, ops::Const(AroundLoop(*state_, frame_, scope), Tensor::Scalar<int32_t>(0)));
  const Scope inside = scope.WithControl({added_->Inside()});
  added_->SetNext(ops::AddV2(scope, added_->Inside(), ops::Const(inside, Tensor::Scalar<int32_t>(1))));
}

Output TripCount::Total() {
  if (const LoopVariable* counter = added_ ? nullptr : FindCounter(/*from_zero=*/true)) return counter->exit->output(0);
  if (const LoopVariable* counter = added_ ? nullptr : FindCounter(/*from_zero=*/false)) {
    const Scope scope = state_->forward().Sub("trips");
    const Output total = ops::Sub(scope, counter->exit->output(0), counter->enter->input(0));
    if (total) {
      state_->NoteAdded(total.node(), state_->frame(frame_).parent, state_->contexts().OfFrame(frame_));
    }
    return total;
  }
  AddVariable();
  return added_->Exit();
}

Output TripCount::Number() {
  if (const LoopVariable* counter = FindCounter(/*from_zero=*/true)) return counter->switch_node->output(1);
  AddVariable();
  return added_->Inside();
}

Output TripCount::TotalInAdvance() {
  const Frame& frame = state_->frame(frame_);
  if (frame.loop_cond == nullptr) return Output();
  const Node* test = BehindIdentities(frame.loop_cond->input(0)).node();
  const bool or_equal = test->op() == "LessEqual" || test->op() == "GreaterEqual";
  const bool greater = test->op() == "Greater" || test->op() == "GreaterEqual";
  if (!greater && !or_equal && test->op() != "Less") return Output();
  Output value = BehindIdentities(test->input(0)), limit = BehindIdentities(test->input(1));
  if (greater) std::swap(value, limit);  // from now on: value < limit, or value <= limit
  for (const LoopVariable& variable : frame.variables) {
    const bool up = variable.merge->output(0) == value;
    if (!up && variable.merge->output(0) != limit) continue;
    const Output bound = up ? limit : value;
    const absl::optional<LoopCounter> counter = AsCounter(variable);
    if (!counter || (up ? counter->step <= 0 : counter->step >= 0) || counter->step == INT64_MIN) return Output();
    const Scope scope = state_->forward().Sub("trips");
    const Scope around = AroundLoop(*state_, frame_, scope);
    Output outside;
    if (const absl::optional<int64_t> constant = ConstantScalar(bound)) {
      outside = ops::Const(around, Tensor::Scalar<int64_t>(*constant));
    } else if (IsEnter(*bound.node()) && bound.node()->GetAttr<bool>("is_constant") && bound.shape().IsScalar()) {
      outside = ops::Cast(scope, bound.node()->input(0), DType::kInt64);
    } else {
      return Output();
    }
    const auto constant = [&](int64_t number) { return ops::Const(around, Tensor::Scalar<int64_t>(number)); };
    const Output start = ops::Cast(scope, counter->start, DType::kInt64);
    Output distance = up ? ops::Sub(scope, outside, start) : ops::Sub(scope, start, outside);
    const int64_t step = up ? counter->step : -counter->step;
    // The number of steps, the last of which may lead beyond the bound.
    if (or_equal) {
      distance = ops::FloorDiv(scope, ops::AddV2(scope, distance, constant(step)), constant(step));
    } else if (step != 1) {
      distance = ops::FloorDiv(scope, ops::AddV2(scope, distance, constant(step - 1)), constant(step));
    }
    distance = ops::Minimum(scope, ops::Maximum(scope, distance, constant(0)), constant(INT32_MAX));
    return ops::Cast(scope, distance, DType::kInt32);
  }
  return Output();
}

}  // namespace nabla

// Adam and its kin. TensorFlow has no sparse op for them: the dense op on the gradient made dense gives TensorFlow's
// numbers, and ops on the rows that occur make the lazy step.
#include "absl/strings/str_cat.h"
#include "nabla/gradients/optimizers.h"
#include "nabla/ops/ops.h"
#include "nabla/ops/variable.h"

namespace nabla {
namespace {

// Moves the rows `g.indices` of a running average by the share `part` of the way to `target`, and returns them.
Output MoveRows(const Scope& scope, Output slot, const IndexedSlices& g, Output target, Output part,
                std::vector<Node*>* updates) {
  const Output old = ops::ResourceGather(scope, slot, g.indices, target.dtype());
  const Output rows = old + (target - old) * part;
  updates->push_back(ops::ResourceScatterUpdate(scope, slot, g.indices, rows));
  return rows;
}

Node* SubtractRows(const Scope& scope, Output variable, const IndexedSlices& g, Output rows,
                   std::vector<Node*> updates) {
  updates.push_back(ops::ResourceScatterSub(scope, variable, g.indices, rows));
  return ops::NoOp(scope.WithControl(updates));
}

// Of Adam; what the options have in common.
struct AdamNumbers {
  Output rate, beta1, beta2, epsilon, power1, power2;
};

// What a lazy step of Adam subtracts from the rows.
Output LazyAdamRows(const Scope& scope, const Outputs& slots, const IndexedSlices& g, const AdamNumbers& n,
                    std::vector<Node*>* updates) {
  const Output m = MoveRows(scope, slots[0], g, g.values, 1 - n.beta1, updates);
  const Output v = MoveRows(scope, slots[1], g, ops::Square(scope, g.values), 1 - n.beta2, updates);
  const Output rate = n.rate * ops::Sqrt(scope, 1 - n.power2) / (1 - n.power1);
  return rate * m / (ops::Sqrt(scope, v) + n.epsilon);
}

}  // namespace

// ---- Adam ----

void AdamOptimizer::CreateShared(const Scope& scope) {
  beta1_variable_ = ops::NewVariable(scope, "beta1_power", beta1_, {.trainable = false});
  beta2_variable_ = ops::NewVariable(scope, "beta2_power", beta2_, {.trainable = false});
}

void AdamOptimizer::Prepare(const Scope& scope) {
  beta1_power_ = ops::ReadVariable(scope, beta1_variable_);
  beta2_power_ = ops::ReadVariable(scope, beta2_variable_);
}

Node* AdamOptimizer::ApplyDense(const Step& s, Output g) const {
  return ops::ResourceApplyAdam(s.scope, s.variable, s.slots[0], s.slots[1], s.Number("beta1_power", beta1_power_),
                                s.Number("beta2_power", beta2_power_),
                                s.Number("learning_rate", options_.learning_rate), s.Number("beta1", beta1_),
                                s.Number("beta2", beta2_), s.Number("epsilon", options_.epsilon), g);
}

Node* AdamOptimizer::ApplySparse(const Step& s, const IndexedSlices& slices) const {
  if (!options_.lazy) return ApplyDense(s, Dense(s, slices));
  const IndexedSlices g = SumDuplicates(s.scope, slices);
  const AdamNumbers numbers = {s.Number("learning_rate", options_.learning_rate),
                               s.Number("beta1", beta1_),
                               s.Number("beta2", beta2_),
                               s.Number("epsilon", options_.epsilon),
                               s.Number("beta1_power", beta1_power_),
                               s.Number("beta2_power", beta2_power_)};
  std::vector<Node*> updates;
  const Output rows = LazyAdamRows(s.scope, s.slots, g, numbers, &updates);
  return SubtractRows(s.scope, s.variable, g, rows, std::move(updates));
}

std::vector<Node*> AdamOptimizer::Finish(const Scope& scope) const {
  return {ops::AssignVariableOp(scope, beta1_variable_, ops::Mul(scope, beta1_power_, beta1_)),
          ops::AssignVariableOp(scope, beta2_variable_, ops::Mul(scope, beta2_power_, beta2_))};
}

// ---- counted steps ----

void CountingOptimizer::CreateShared(const Scope& scope) {
  iterations_ =
      ops::NewVariable(scope, absl::StrCat(name(), "/iterations"), 0, {.dtype = DType::kInt64, .trainable = false});
}

void CountingOptimizer::Prepare(const Scope& scope) {
  step_number_ = ops::AddV2(scope, ops::ReadVariable(scope, iterations_), 1);
}

Output CountingOptimizer::Power(const Step& s, const char* name, double beta) const {
  return ops::Pow(s.scope, s.Number(name, beta), s.Number("step_number", step_number_));
}

std::vector<Node*> CountingOptimizer::Finish(const Scope& scope) const {
  return {ops::AssignVariableOp(scope, iterations_, step_number_)};
}

// ---- AdamW ----

Node* AdamWOptimizer::ApplyDense(const Step& s, Output g) const {
  const Output rate = s.Number("learning_rate", options_.learning_rate);
  const Output decay = rate * s.Number("weight_decay", options_.weight_decay);
  Node* const decayed = ops::AssignSubVariableOp(s.scope, s.variable, ops::ReadVariable(s.scope, s.variable) * decay);
  return ops::ResourceApplyAdam(s.scope.WithControl({decayed}), s.variable, s.slots[0], s.slots[1],
                                Power(s, "beta1", options_.beta1), Power(s, "beta2", options_.beta2), rate,
                                s.Number("beta1", options_.beta1), s.Number("beta2", options_.beta2),
                                s.Number("epsilon", options_.epsilon), g);
}

Node* AdamWOptimizer::ApplySparse(const Step& s, const IndexedSlices& slices) const {
  if (!options_.lazy) return ApplyDense(s, Dense(s, slices));
  const IndexedSlices g = SumDuplicates(s.scope, slices);
  const AdamNumbers numbers = {s.Number("learning_rate", options_.learning_rate),
                               s.Number("beta1", options_.beta1),
                               s.Number("beta2", options_.beta2),
                               s.Number("epsilon", options_.epsilon),
                               Power(s, "beta1", options_.beta1),
                               Power(s, "beta2", options_.beta2)};
  std::vector<Node*> updates;
  const Output moved = LazyAdamRows(s.scope, s.slots, g, numbers, &updates);
  const Output decay = numbers.rate * s.Number("weight_decay", options_.weight_decay);
  const Output rows = ops::ResourceGather(s.scope, s.variable, g.indices, s.dtype) * decay + moved;
  return SubtractRows(s.scope, s.variable, g, rows, std::move(updates));
}

// ---- Adamax ----

Node* AdamaxOptimizer::ApplyDense(const Step& s, Output g) const {
  return ops::ResourceApplyAdaMax(s.scope, s.variable, s.slots[0], s.slots[1], Power(s, "beta1", options_.beta1),
                                  s.Number("learning_rate", options_.learning_rate), s.Number("beta1", options_.beta1),
                                  s.Number("beta2", options_.beta2), s.Number("epsilon", options_.epsilon), g);
}

Node* AdamaxOptimizer::ApplySparse(const Step& s, const IndexedSlices& slices) const {
  if (!options_.lazy) return ApplyDense(s, Dense(s, slices));
  const IndexedSlices g = SumDuplicates(s.scope, slices);
  std::vector<Node*> updates;
  const Output m = MoveRows(s.scope, s.slots[0], g, g.values, 1 - s.Number("beta1", options_.beta1), &updates);
  const Output old = ops::ResourceGather(s.scope, s.slots[1], g.indices, s.dtype);
  const Output v = ops::Maximum(s.scope, s.Number("beta2", options_.beta2) * old, ops::Abs(s.scope, g.values));
  updates.push_back(ops::ResourceScatterUpdate(s.scope, s.slots[1], g.indices, v));
  const Output rate = s.Number("learning_rate", options_.learning_rate) / (1 - Power(s, "beta1", options_.beta1));
  const Output rows = rate * m / (v + s.Number("epsilon", options_.epsilon));
  return SubtractRows(s.scope, s.variable, g, rows, std::move(updates));
}

}  // namespace nabla

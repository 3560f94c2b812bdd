// The optimizers whose steps TensorFlow has as one op, dense and sparse.
#include "nabla/gradients/optimizers.h"

#include "nabla/ops/ops.h"

namespace nabla {

Node* GradientDescentOptimizer::ApplyDense(const Step& s, Output g) const {
  return ops::ResourceApplyGradientDescent(s.scope, s.variable, s.Number("learning_rate", options_.learning_rate), g);
}

// Rows that occur twice are subtracted twice: no need to sum them first.
Node* GradientDescentOptimizer::ApplySparse(const Step& s, const IndexedSlices& g) const {
  return ops::ResourceScatterSub(s.scope, s.variable, g.indices,
                                 ops::Mul(s.scope, g.values, s.Number("learning_rate", options_.learning_rate)));
}

Node* MomentumOptimizer::ApplyDense(const Step& s, Output g) const {
  const Output rate = s.Number("learning_rate", options_.learning_rate);
  return ops::ResourceApplyMomentum(s.scope, s.variable, s.slots[0], rate, g, s.Number("momentum", options_.momentum),
                                    {.use_nesterov = options_.use_nesterov});
}

Node* MomentumOptimizer::ApplySparse(const Step& s, const IndexedSlices& slices) const {
  const IndexedSlices g = SumDuplicates(s.scope, slices);
  const Output rate = s.Number("learning_rate", options_.learning_rate);
  return ops::ResourceSparseApplyMomentum(s.scope, s.variable, s.slots[0], rate, g.values, g.indices,
                                          s.Number("momentum", options_.momentum),
                                          {.use_nesterov = options_.use_nesterov});
}

Node* AdagradOptimizer::ApplyDense(const Step& s, Output g) const {
  return ops::ResourceApplyAdagrad(s.scope, s.variable, s.slots[0], s.Number("learning_rate", options_.learning_rate),
                                   g);
}

Node* AdagradOptimizer::ApplySparse(const Step& s, const IndexedSlices& slices) const {
  const IndexedSlices g = SumDuplicates(s.scope, slices);
  return ops::ResourceSparseApplyAdagrad(s.scope, s.variable, s.slots[0],
                                         s.Number("learning_rate", options_.learning_rate), g.values, g.indices);
}

Node* AdadeltaOptimizer::ApplyDense(const Step& s, Output g) const {
  return ops::ResourceApplyAdadelta(s.scope, s.variable, s.slots[0], s.slots[1],
                                    s.Number("learning_rate", options_.learning_rate), s.Number("rho", options_.rho),
                                    s.Number("epsilon", options_.epsilon), g);
}

Node* AdadeltaOptimizer::ApplySparse(const Step& s, const IndexedSlices& slices) const {
  const IndexedSlices g = SumDuplicates(s.scope, slices);
  return ops::ResourceSparseApplyAdadelta(
      s.scope, s.variable, s.slots[0], s.slots[1], s.Number("learning_rate", options_.learning_rate),
      s.Number("rho", options_.rho), s.Number("epsilon", options_.epsilon), g.values, g.indices);
}

std::vector<Optimizer::SlotSpec> RMSPropOptimizer::slots() const {
  if (options_.centered) return {{"rms", 1}, {"mg"}, {"momentum"}};
  return {{"rms", 1}, {"momentum"}};
}

Node* RMSPropOptimizer::ApplyDense(const Step& s, Output g) const {
  const Output rate = s.Number("learning_rate", options_.learning_rate), decay = s.Number("decay", options_.decay);
  const Output momentum = s.Number("momentum", options_.momentum), epsilon = s.Number("epsilon", options_.epsilon);
  if (options_.centered) {
    return ops::ResourceApplyCenteredRMSProp(s.scope, s.variable, s.slots[1], s.slots[0], s.slots[2], rate, decay,
                                             momentum, epsilon, g);
  }
  return ops::ResourceApplyRMSProp(s.scope, s.variable, s.slots[0], s.slots[1], rate, decay, momentum, epsilon, g);
}

Node* RMSPropOptimizer::ApplySparse(const Step& s, const IndexedSlices& slices) const {
  const IndexedSlices g = SumDuplicates(s.scope, slices);
  const Output rate = s.Number("learning_rate", options_.learning_rate), decay = s.Number("decay", options_.decay);
  const Output momentum = s.Number("momentum", options_.momentum), epsilon = s.Number("epsilon", options_.epsilon);
  if (options_.centered) {
    return ops::ResourceSparseApplyCenteredRMSProp(s.scope, s.variable, s.slots[1], s.slots[0], s.slots[2], rate, decay,
                                                   momentum, epsilon, g.values, g.indices);
  }
  return ops::ResourceSparseApplyRMSProp(s.scope, s.variable, s.slots[0], s.slots[1], rate, decay, momentum, epsilon,
                                         g.values, g.indices);
}

FtrlOptimizer::Operands FtrlOptimizer::OperandsOf(const Step& s) const {
  Operands numbers = {s.Number("learning_rate", options_.learning_rate),
                      s.Number("l1_regularization_strength", options_.l1_regularization_strength),
                      s.Number("l2_regularization_strength", options_.l2_regularization_strength),
                      s.Number("learning_rate_power", options_.learning_rate_power),
                      {}};
  const double shrinkage = options_.l2_shrinkage_regularization_strength;
  if (shrinkage > 0) numbers.shrinkage = s.Number("l2_shrinkage_regularization_strength", shrinkage);
  return numbers;
}

Node* FtrlOptimizer::ApplyDense(const Step& s, Output g) const {
  const auto [rate, l1, l2, power, shrinkage] = OperandsOf(s);
  if (shrinkage) {
    return ops::ResourceApplyFtrlV2(s.scope, s.variable, s.slots[0], s.slots[1], g, rate, l1, l2, shrinkage, power);
  }
  return ops::ResourceApplyFtrl(s.scope, s.variable, s.slots[0], s.slots[1], g, rate, l1, l2, power);
}

Node* FtrlOptimizer::ApplySparse(const Step& s, const IndexedSlices& slices) const {
  const IndexedSlices g = SumDuplicates(s.scope, slices);
  const auto [rate, l1, l2, power, shrinkage] = OperandsOf(s);
  if (shrinkage) {
    return ops::ResourceSparseApplyFtrlV2(s.scope, s.variable, s.slots[0], s.slots[1], g.values, g.indices, rate, l1,
                                          l2, shrinkage, power);
  }
  return ops::ResourceSparseApplyFtrl(s.scope, s.variable, s.slots[0], s.slots[1], g.values, g.indices, rate, l1, l2,
                                      power);
}

}  // namespace nabla

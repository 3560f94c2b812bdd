// Learning rates that change with the step, as graph nodes: scalars to give to an optimizer.
//
//   Output step = ops::NewVariable(scope, "global_step", 0, {.dtype = DType::kInt64, .trainable = false});
//   Output rate = WarmUp(scope, CosineDecay(scope, 0.1, ops::ReadVariable(scope, step), 10000), step_value, 500);
//   AdamOptimizer adam({.learning_rate = rate});
//   adam.Minimize(scope, loss, {}, step);
//
// `step` is the value of an integer or floating scalar; where it is the optimizer's global_step, the first step sees 0.
// A rate given as a number makes a float schedule; a scalar tensor gives it its dtype. Numbers are those of
// tf.compat.v1.train.
#ifndef NABLA_GRADIENTS_SCHEDULE_H_
#define NABLA_GRADIENTS_SCHEDULE_H_

#include <cstdint>
#include <vector>

#include "nabla/graph/scope.h"

namespace nabla {

// rate decay_rate^(step / decay_steps); in whole powers if `staircase`.
Output ExponentialDecay(const Scope& scope, Input rate, Output step, double decay_steps, double decay_rate,
                        bool staircase = false);

// rate / (1 + decay_rate step / decay_steps); the fraction rounded down if `staircase`.
Output InverseTimeDecay(const Scope& scope, Input rate, Output step, double decay_steps, double decay_rate,
                        bool staircase = false);

// From rate down to end_rate after decay_steps: (rate - end_rate) (1 - step / decay_steps)^power + end_rate, and
// end_rate from there on. If `cycle`, decay_steps grows by whole multiples so as to stay ahead of the step.
Output PolynomialDecay(const Scope& scope, Input rate, Output step, double decay_steps, double end_rate = 0.0001,
                       double power = 1, bool cycle = false);

// Half a wave of the cosine from rate down to alpha rate after decay_steps (I. Loshchilov, F. Hutter, "SGDR: Stochastic
// Gradient Descent with Warm Restarts", 2017).
Output CosineDecay(const Scope& scope, Input rate, Output step, double decay_steps, double alpha = 0);

// The same again and again: the first period takes first_decay_steps, each later one t_mul times as long as the one
// before and begins m_mul times as high.
Output CosineDecayRestarts(const Scope& scope, Input rate, Output step, double first_decay_steps, double t_mul = 2,
                           double m_mul = 1, double alpha = 0);

// rates[0] up to and including step boundaries[0], rates[1] up to boundaries[1], …, the last one beyond.
// InvalidArgument in the scope unless there is one rate more than boundaries and these increase.
Output PiecewiseConstant(const Scope& scope, Output step, const std::vector<int64_t>& boundaries,
                         const std::vector<double>& rates, DType dtype = DType::kFloat);

// `rate`, another schedule, times step / warm_up_steps until that is 1.
Output WarmUp(const Scope& scope, Input rate, Output step, double warm_up_steps);

}  // namespace nabla

#endif  // NABLA_GRADIENTS_SCHEDULE_H_

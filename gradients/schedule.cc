#include "nabla/gradients/schedule.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "absl/strings/str_cat.h"
#include "nabla/ops/ops.h"

namespace nabla {
namespace {

constexpr double kPi = 3.14159265358979323846;

// The nodes of one schedule: its scope, made the current one, the initial rate and the step in its dtype.
class Schedule {
 public:
  Schedule(const Scope& parent, const char* name, const Input& rate, Output step)
      : scope_(parent.Sub(name)), guard_(scope_) {
    rate_ = !rate.is_constant() ? rate.output()
            : rate.is_weak()    ? ops::Const(scope_, rate, DType::kFloat)
                                : ops::Const(scope_, rate);
    if (rate_ && step) step_ = ops::Cast(scope_, step, rate_.dtype());
  }

  // Nothing can be built: the scope has the error, or an operand is none.
  bool failed() const { return !rate_ || !step_; }
  const Scope& scope() const { return scope_; }
  Output rate() const { return rate_; }
  Output step() const { return step_; }
  Output Number(double value) const { return ops::Const(scope_, value, rate_.dtype()); }

  // How often `steps` have gone by; whole ones only if staircase.
  Output Periods(double steps, bool staircase) const {
    const Output periods = step_ / steps;
    return staircase ? ops::Floor(scope_, periods) : periods;
  }

  // (1 + cos(pi fraction)) / 2
  Output HalfWave(Output fraction) const { return (1 + ops::Cos(scope_, fraction * kPi)) * 0.5; }

 private:
  Scope scope_;
  ScopeGuard guard_;
  Output rate_, step_;
};

}  // namespace

Output ExponentialDecay(const Scope& scope, Input rate, Output step, double decay_steps, double decay_rate,
                        bool staircase) {
  const Schedule s(scope, "ExponentialDecay", rate, step);
  if (s.failed()) return Output();
  return s.rate() * ops::Pow(s.scope(), s.Number(decay_rate), s.Periods(decay_steps, staircase));
}

Output InverseTimeDecay(const Scope& scope, Input rate, Output step, double decay_steps, double decay_rate,
                        bool staircase) {
  const Schedule s(scope, "InverseTimeDecay", rate, step);
  if (s.failed()) return Output();
  return s.rate() / (1 + decay_rate * s.Periods(decay_steps, staircase));
}

Output PolynomialDecay(const Scope& scope, Input rate, Output step, double decay_steps, double end_rate, double power,
                       bool cycle) {
  const Schedule s(scope, "PolynomialDecay", rate, step);
  if (s.failed()) return Output();
  Output at = s.step(), steps = s.Number(decay_steps);
  if (cycle) {
    // At least one period, at step 0 too.
    const Output periods = ops::Ceil(s.scope(), at / decay_steps);
    steps = steps * ops::Maximum(s.scope(), periods, s.Number(1));
  } else {
    at = ops::Minimum(s.scope(), at, steps);
  }
  return (s.rate() - end_rate) * ops::Pow(s.scope(), 1 - at / steps, s.Number(power)) + end_rate;
}

Output CosineDecay(const Scope& scope, Input rate, Output step, double decay_steps, double alpha) {
  const Schedule s(scope, "CosineDecay", rate, step);
  if (s.failed()) return Output();
  const Output fraction = ops::Minimum(s.scope(), s.step(), s.Number(decay_steps)) / decay_steps;
  return s.rate() * ((1 - alpha) * s.HalfWave(fraction) + alpha);
}

Output CosineDecayRestarts(const Scope& scope, Input rate, Output step, double first_decay_steps, double t_mul,
                           double m_mul, double alpha) {
  const Schedule s(scope, "CosineDecayRestarts", rate, step);
  if (s.failed()) return Output();
  const Output done = s.step() / first_decay_steps;  // in first periods
  Output restarts, fraction;
  if (t_mul == 1) {
    restarts = ops::Floor(s.scope(), done);
    fraction = done - restarts;
  } else {
    // n periods take (t_mul^n - 1) / (t_mul - 1) first periods.
    restarts = ops::Floor(s.scope(), ops::Log(s.scope(), 1 + done * (t_mul - 1)) / std::log(t_mul));
    const Output length = ops::Pow(s.scope(), s.Number(t_mul), restarts);
    fraction = (done - (length - 1) / (t_mul - 1)) / length;
  }
  const Output height = ops::Pow(s.scope(), s.Number(m_mul), restarts);
  return s.rate() * ((1 - alpha) * (height * s.HalfWave(fraction)) + alpha);
}

Output PiecewiseConstant(const Scope& parent, Output step, const std::vector<int64_t>& boundaries,
                         const std::vector<double>& rates, DType dtype) {
  if (rates.size() != boundaries.size() + 1) {
    parent.RecordError(absl::InvalidArgumentError(absl::StrCat("PiecewiseConstant: ", rates.size(), " rates for ",
                                                               boundaries.size(), " boundaries, expected one more")));
    return Output();
  }
  if (std::adjacent_find(boundaries.begin(), boundaries.end(), std::greater_equal<int64_t>()) != boundaries.end()) {
    parent.RecordError(absl::InvalidArgumentError("PiecewiseConstant: the boundaries do not increase"));
    return Output();
  }
  if (!step) return Output();
  const Scope scope = parent.Sub("PiecewiseConstant");
  const ScopeGuard guard(scope);
  Output values = ops::Const(scope, Tensor::Vector<double>(rates));
  if (dtype != DType::kDouble) values = ops::Cast(scope, values, dtype);
  // As many boundaries as the step is beyond.
  const Output beyond = ops::Greater(scope, step, ops::Const(scope, boundaries, step.dtype()));
  const Output index = ops::Sum(scope, ops::Cast(scope, beyond, DType::kInt32), 0);
  return ops::GatherV2(scope, values, index, 0);
}

Output WarmUp(const Scope& scope, Input rate, Output step, double warm_up_steps) {
  const Schedule s(scope, "WarmUp", rate, step);
  if (s.failed()) return Output();
  return s.rate() * ops::Minimum(s.scope(), s.step() / warm_up_steps, s.Number(1));
}

}  // namespace nabla

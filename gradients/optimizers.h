// The optimizers. Options carry TensorFlow's names and defaults (tf.compat.v1.train's; AdamW's and Adamax's are
// tf.keras's), and the steps are TensorFlow's numbers, for dense gradients and for IndexedSlices.
//
//   MomentumOptimizer momentum({.learning_rate = ExponentialDecay(scope, 0.1, step, 1000, 0.96), .momentum = 0.9});
//
// A learning rate, or momentum, is a number or a scalar tensor (gradients/schedule.h); it is cast to each variable's
// dtype. The documentation of the ops that make the steps (ResourceApply…, ops/training_ops.cc) has the formulas and
// the papers.
#ifndef NABLA_GRADIENTS_OPTIMIZERS_H_
#define NABLA_GRADIENTS_OPTIMIZERS_H_

#include <string>
#include <vector>

#include "nabla/gradients/optimizer.h"

namespace nabla {

struct GradientDescentOptions {
  Input learning_rate = 0.01;
  std::string name = "GradientDescent";
};

// variable -= learning_rate gradient.
class GradientDescentOptimizer : public Optimizer {
 public:
  explicit GradientDescentOptimizer(const GradientDescentOptions& options = {})
      : Optimizer(options.name), options_(options) {}

 private:
  std::vector<SlotSpec> slots() const override { return {}; }
  Node* ApplyDense(const Step& step, Output gradient) const override;
  Node* ApplySparse(const Step& step, const IndexedSlices& gradient) const override;

  const GradientDescentOptions options_;
};

struct MomentumOptions {
  Input learning_rate = 0.01;
  Input momentum = 0.9;
  bool use_nesterov = false;
  std::string name = "Momentum";
};

// Slot: momentum, a running sum of gradients. With use_nesterov the step looks ahead.
class MomentumOptimizer : public Optimizer {
 public:
  explicit MomentumOptimizer(const MomentumOptions& options = {}) : Optimizer(options.name), options_(options) {}

 private:
  std::vector<SlotSpec> slots() const override { return {{"momentum"}}; }
  Node* ApplyDense(const Step& step, Output gradient) const override;
  Node* ApplySparse(const Step& step, const IndexedSlices& gradient) const override;

  const MomentumOptions options_;
};

struct AdagradOptions {
  Input learning_rate = 0.01;
  double initial_accumulator_value = 0.1;
  std::string name = "Adagrad";
};

// Slot: accumulator, the sum of squared gradients.
class AdagradOptimizer : public Optimizer {
 public:
  explicit AdagradOptimizer(const AdagradOptions& options = {}) : Optimizer(options.name), options_(options) {}

 private:
  std::vector<SlotSpec> slots() const override { return {{"accumulator", options_.initial_accumulator_value}}; }
  Node* ApplyDense(const Step& step, Output gradient) const override;
  Node* ApplySparse(const Step& step, const IndexedSlices& gradient) const override;

  const AdagradOptions options_;
};

struct AdadeltaOptions {
  Input learning_rate = 0.001;
  double rho = 0.95;
  double epsilon = 1e-8;
  std::string name = "Adadelta";
};

// Slots: accum and accum_update, running averages of squared gradients and squared steps.
class AdadeltaOptimizer : public Optimizer {
 public:
  explicit AdadeltaOptimizer(const AdadeltaOptions& options = {}) : Optimizer(options.name), options_(options) {}

 private:
  std::vector<SlotSpec> slots() const override { return {{"accum"}, {"accum_update"}}; }
  Node* ApplyDense(const Step& step, Output gradient) const override;
  Node* ApplySparse(const Step& step, const IndexedSlices& gradient) const override;

  const AdadeltaOptions options_;
};

struct RMSPropOptions {
  Input learning_rate = 0.001;
  double decay = 0.9;
  Input momentum = 0.0;
  double epsilon = 1e-10;
  bool centered = false;  // divide by the gradients' variance, not their mean square
  std::string name = "RMSProp";
};

// Slots: rms, the running mean square (from 1), mg, the running mean, if centered, and momentum.
class RMSPropOptimizer : public Optimizer {
 public:
  explicit RMSPropOptimizer(const RMSPropOptions& options = {}) : Optimizer(options.name), options_(options) {}

 private:
  std::vector<SlotSpec> slots() const override;
  Node* ApplyDense(const Step& step, Output gradient) const override;
  Node* ApplySparse(const Step& step, const IndexedSlices& gradient) const override;

  const RMSPropOptions options_;
};

struct FtrlOptions {
  Input learning_rate = 0.01;
  double learning_rate_power = -0.5;  // at most 0
  double initial_accumulator_value = 0.1;
  double l1_regularization_strength = 0;
  double l2_regularization_strength = 0;
  double l2_shrinkage_regularization_strength = 0;
  std::string name = "Ftrl";
};

// Slots: accum, the sum of squared gradients, and linear.
class FtrlOptimizer : public Optimizer {
 public:
  explicit FtrlOptimizer(const FtrlOptions& options = {}) : Optimizer(options.name), options_(options) {}

 private:
  struct Operands {
    Output rate, l1, l2, power;
    Output shrinkage;  // none if it is 0
  };
  Operands OperandsOf(const Step& step) const;
  std::vector<SlotSpec> slots() const override { return {{"accum", options_.initial_accumulator_value}, {"linear"}}; }
  Node* ApplyDense(const Step& step, Output gradient) const override;
  Node* ApplySparse(const Step& step, const IndexedSlices& gradient) const override;

  const FtrlOptions options_;
};

// How Adam and its kin take sparse gradients: as TensorFlow does, where the moments of rows without gradient decay and
// go on moving their rows, so that a step costs as much as the table is large; or, if `lazy`, touching only the rows
// that occur, at a cost proportional to the batch.
struct AdamOptions {
  Input learning_rate = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  bool lazy = false;
  std::string name = "Adam";
};

// Slots: m and v, running averages of gradients and squared gradients. The variables beta1_power and beta2_power hold
// the powers that correct their bias.
class AdamOptimizer : public Optimizer {
 public:
  explicit AdamOptimizer(const AdamOptions& options = {})
      : Optimizer(options.name),
        options_(options),
        beta1_(static_cast<float>(options.beta1)),
        beta2_(static_cast<float>(options.beta2)) {}

 private:
  std::vector<SlotSpec> slots() const override { return {{"m"}, {"v"}}; }
  void CreateShared(const Scope& scope) override;
  void Prepare(const Scope& scope) override;
  Node* ApplyDense(const Step& step, Output gradient) const override;
  Node* ApplySparse(const Step& step, const IndexedSlices& gradient) const override;
  std::vector<Node*> Finish(const Scope& scope) const override;

  const AdamOptions options_;
  // Rounded as their powers are, which TensorFlow keeps as floats: 1 - beta2 and 1 - beta2_power must agree.
  const float beta1_, beta2_;
  Output beta1_variable_, beta2_variable_;
  Output beta1_power_, beta2_power_;  // as read for the step being built
};

// Adam and Adamax of tf.keras count their steps in the variable "<name>/iterations".
class CountingOptimizer : public Optimizer {
 protected:
  using Optimizer::Optimizer;
  void CreateShared(const Scope& scope) override;
  void Prepare(const Scope& scope) override;
  std::vector<Node*> Finish(const Scope& scope) const override;
  // beta to the number of this step, counted from 1.
  Output Power(const Step& step, const char* name, double beta) const;

 private:
  Output iterations_;
  Output step_number_;  // as read for the step being built
};

struct AdamWOptions {
  Input learning_rate = 0.001;
  double weight_decay = 0.004;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-7;
  bool lazy = false;  // see AdamOptions; weights decay where they occur
  std::string name = "AdamW";
};

// I. Loshchilov, F. Hutter, "Decoupled Weight Decay Regularization", 2019: variable -= learning_rate weight_decay
// variable, then a step of Adam. Slots: m and v.
class AdamWOptimizer : public CountingOptimizer {
 public:
  explicit AdamWOptimizer(const AdamWOptions& options = {}) : CountingOptimizer(options.name), options_(options) {}

 private:
  std::vector<SlotSpec> slots() const override { return {{"m"}, {"v"}}; }
  Node* ApplyDense(const Step& step, Output gradient) const override;
  Node* ApplySparse(const Step& step, const IndexedSlices& gradient) const override;

  const AdamWOptions options_;
};

struct AdamaxOptions {
  Input learning_rate = 0.001;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-7;
  bool lazy = false;  // see AdamOptions
  std::string name = "Adamax";
};

// Adam by the largest gradient so far, decaying, in place of the mean square. Slots: m and v.
class AdamaxOptimizer : public CountingOptimizer {
 public:
  explicit AdamaxOptimizer(const AdamaxOptions& options = {}) : CountingOptimizer(options.name), options_(options) {}

 private:
  std::vector<SlotSpec> slots() const override { return {{"m"}, {"v"}}; }
  Node* ApplyDense(const Step& step, Output gradient) const override;
  Node* ApplySparse(const Step& step, const IndexedSlices& gradient) const override;

  const AdamaxOptions options_;
};

}  // namespace nabla

#endif  // NABLA_GRADIENTS_OPTIMIZERS_H_

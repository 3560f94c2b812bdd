// What all optimizers have in common: gradients of variables in, one node that makes a step out.
//
//   AdamOptimizer adam({.learning_rate = 0.001});
//   NABLA_ASSIGN_OR_RETURN(Node* train, adam.Minimize(scope, loss));
//   Node* initialize = ops::InitializeVariables(scope);           // variables and slots
//   session.Run({}, {}, {initialize}, nullptr);
//   session.Run(batch, {loss}, {train}, &values);                 // a step
//
// Between the two halves of Minimize gradients can be changed (gradients/clip.h):
//
//   NABLA_ASSIGN_OR_RETURN(VariableGradients grads, adam.ComputeGradients(scope, loss));
//   for (VariableGradient& g : grads) g.gradient = ClipByNorm(scope, g.gradient, 5.0);
//   NABLA_ASSIGN_OR_RETURN(Node* train, adam.ApplyGradients(scope, grads, global_step));
//
// Everything is nodes: a slot of variable "w" is the variable "w/Adam", the step a group of TensorFlow's
// ResourceApply… ops named like the optimizer, so that an exported training graph trains wherever it is loaded. Sparse
// gradients (IndexedSlices) stay sparse: rows that occur several times are summed, and only rows that occur are
// touched, unless an optimizer says otherwise. No variable changes before all gradients are there, so a step's result
// does not depend on the order in which nodes run.
//
// An Optimizer belongs to the graph that it first adds to, and keeps one set of slots per variable there, however many
// steps it is asked to build. Thread-compatible.
#ifndef NABLA_GRADIENTS_OPTIMIZER_H_
#define NABLA_GRADIENTS_OPTIMIZER_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nabla/gradients/gradient.h"
#include "nabla/gradients/gradients.h"
#include "nabla/graph/scope.h"

namespace nabla {

// A variable (its handle) and its gradient; none leaves the variable as it is.
struct VariableGradient {
  Gradient gradient;
  Output variable;
};
using VariableGradients = std::vector<VariableGradient>;

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  const std::string& name() const { return name_; }

  // The gradients of `loss` for `variables`, by default all trainable variables of the graph (ops/variable.h), in their
  // order; none for those that it does not depend on. Errors: those of Gradients(); InvalidArgument if there are no
  // variables.
  absl::StatusOr<VariableGradients> ComputeGradients(const Scope& scope, Output loss, const Outputs& variables = {},
                                                     const GradientOptions& options = {}) const;

  // Appends one step; `global_step` (the handle of an integer variable), if given, is incremented after it. The result
  // is a target to run. Errors: InvalidArgument if no variable has a gradient, one occurs twice, is no VarHandleOp's of
  // this graph, or has another dtype than its gradient; if the optimizer's slots are in another graph.
  absl::StatusOr<Node*> ApplyGradients(const Scope& scope, const VariableGradients& gradients, Output global_step = {});

  // ComputeGradients, then ApplyGradients.
  absl::StatusOr<Node*> Minimize(const Scope& scope, Output loss, const Outputs& variables = {},
                                 Output global_step = {});

  // What the optimizer keeps for each variable ("m", "v"), under TensorFlow's names.
  std::vector<std::string> SlotNames() const;
  // The handle of a variable's slot; none before a step was built for it, or if there is no slot of that name.
  Output Slot(Output variable, absl::string_view slot_name) const;

 protected:
  explicit Optimizer(std::string name) : name_(std::move(name)) {}

  struct SlotSpec {
    const char* name;
    double initial = 0;
  };

  // Hyperparameters as scalars, one node for each name and dtype.
  class Numbers {
   public:
    explicit Numbers(const Scope& scope) : scope_(scope) {}
    Output Get(const char* name, const Input& value, DType dtype);

   private:
    Scope scope_;
    std::map<std::pair<std::string, DType>, Output> nodes_;
  };

  // The step of one variable, as a rule sees it.
  struct Step {
    Scope scope;  // "<optimizer>/update_<variable>"; what is added there waits for all gradients
    Output variable;
    DType dtype;    // the variable's
    Outputs slots;  // as slots() lists them
    Numbers* numbers;
    Output Number(const char* name, const Input& value) const { return numbers->Get(name, value, dtype); }
  };

  virtual std::vector<SlotSpec> slots() const = 0;
  // Variables that all steps share, made before the first step.
  virtual void CreateShared(const Scope& scope) {}
  // What a step needs beside the variables' own nodes, made once per ApplyGradients.
  virtual void Prepare(const Scope& scope) {}
  // Both return the last node of the variable's step, nullptr after an error in the scope.
  virtual Node* ApplyDense(const Step& step, Output gradient) const = 0;
  virtual Node* ApplySparse(const Step& step, const IndexedSlices& gradient) const = 0;
  // Nodes to run after all variables' steps; `scope` waits for these.
  virtual std::vector<Node*> Finish(const Scope& scope) const { return {}; }

  // The same gradient with each row once: TensorFlow's Unique and UnsortedSegmentSum.
  static IndexedSlices SumDuplicates(const Scope& scope, const IndexedSlices& slices);
  // The gradient as a tensor of the variable's shape.
  static Output Dense(const Step& step, IndexedSlices slices);

 private:
  absl::Status Check(const Scope& scope, const VariableGradients& gradients, Output global_step) const;
  const Outputs& SlotsOf(const Scope& scope, Node* variable);
  Node* ApplyOne(const Scope& scope, const VariableGradient& gradient, Numbers* numbers);

  const std::string name_;
  Graph* graph_ = nullptr;
  absl::flat_hash_map<const Node*, Outputs> slots_;
};

}  // namespace nabla

#endif  // NABLA_GRADIENTS_OPTIMIZER_H_

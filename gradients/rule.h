// Gradient rules: from the gradients of an op's outputs to those of its inputs.
//
//   Grads TanhGrad(RuleContext& c) {
//     Output y = c.output(0), dy = c.grad(0);
//     return {ops::TanhGrad(c.scope(), y, dy)};
//   }
//   registry.Add("Tanh", TanhGrad);
//
// A rule returns one Gradient per input (none where the input has no influence
// or is not differentiable). It composes public ops, with the operators on
// Outputs or builders given c.scope(), so that its result is differentiable. It
// never un-broadcasts (for ops added with Broadcasting, the engine sums each
// gradient down to its input's shape), never adds up several uses (the engine
// aggregates), and for elementwise ops never thinks of IndexedSlices (the engine
// shows it the rows in question).
#ifndef NABLA_GRADIENTS_RULE_H_
#define NABLA_GRADIENTS_RULE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "nabla/gradients/gradient.h"
#include "nabla/graph/scope.h"

namespace nabla {

class RuleContext {
 public:
  RuleContext(const Scope& scope, Node* op, Grads grads) : scope_(scope), op_(op), grads_(std::move(grads)) {}

  // Where the rule's nodes go: "<gradients>/<op name>_grad". Also the current
  // scope (Scope::Current).
  const Scope& scope() const { return scope_; }
  Node* op() const { return op_; }
  int num_inputs() const { return op_->num_inputs(); }
  int num_outputs() const { return op_->num_outputs(); }
  // Of the op; for an elementwise op with a sparse gradient, the rows that the slices have (see RestrictToRows).
  Output input(int i) { return row_indices_ ? Rows(op_->input(i), input_has_rows_[i]) : op_->input(i); }
  Output output(int i) { return row_indices_ ? Rows(op_->output(i), true) : op_->output(i); }
  template <typename T>
  const T& attr(absl::string_view name) const {
    return op_->GetAttr<T>(name);
  }

  // Whether anything depends on output i.
  bool has_grad(int i) const { return !grads_[i].none(); }
  // The gradient of output i, dense: slices are densified, and zeros are made
  // where nothing depends on the output (so ask has_grad first where the rule
  // can do without).
  Output grad(int i);
  // As it came.
  const Gradient& gradient(int i) const { return grads_[i]; }

  // From now on the rule, of an elementwise op whose output 0 has slices as its gradient, sees these rows only: grad(0)
  // is the slices' values; output 0 and the inputs that have the rows (one flag for each input) are gathered when asked
  // for.
  void RestrictToRows(std::vector<bool> input_has_rows);

  // Whether the engine will use the gradient of input i; a rule may skip work
  // for the others (and return none).
  bool needs_input_grad(int i) const { return needed_.empty() || needed_[i]; }
  void set_needed(std::vector<bool> needed) { needed_ = std::move(needed); }

  // Refuses: return Fail(absl::UnimplementedError("…")). The engine adds the
  // op's name and type.
  Grads Fail(absl::Status status);
  const absl::Status& status() const { return status_; }

 private:
  Scope scope_;
  Node* op_;
  Grads grads_;
  Output Rows(Output tensor, bool has_rows);

  std::vector<bool> needed_;
  absl::Status status_;
  Output row_indices_;  // none unless restricted
  std::vector<bool> input_has_rows_;
  std::vector<std::pair<Output, Output>> rows_;  // what was gathered of which
};

using GradientRule = Grads (*)(RuleContext& c);

// Rules by op. Filled once by RegisterAllGradients(), read from any thread
// afterwards.
class GradientRegistry {
 public:
  struct Entry {
    GradientRule rule = nullptr;  // nullptr: not differentiable, gradients stop here
    bool elementwise = false;     // row i of every gradient depends on row i alone, linearly in the incoming one's
    bool broadcasting = false;    // and inputs are broadcast
  };
  static GradientRegistry& Global();

  void Add(absl::string_view op, GradientRule rule);
  // For ops of one input that map it element by element.
  void Elementwise(absl::string_view op, GradientRule rule);
  // For elementwise ops whose inputs are broadcast against each other: the rule returns
  // gradients of the output's shape.
  void Broadcasting(absl::string_view op, GradientRule rule);
  // Nothing flows back through these: comparisons, shapes, random numbers, …
  void NotDifferentiable(std::initializer_list<absl::string_view> ops);

  const Entry* Find(absl::string_view op) const;  // nullptr if nothing is known of the op

 private:
  absl::flat_hash_map<std::string, Entry> entries_;
};

// Registers every rule; idempotent, thread-safe.
void RegisterAllGradients();

}  // namespace nabla

#endif  // NABLA_GRADIENTS_RULE_H_

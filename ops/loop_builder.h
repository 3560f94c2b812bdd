// Builds one loop out of Enter, Merge, Switch, NextIteration, LoopCond and Exit, variable by variable: what ops::While
// and the gradients of loops are made with.
//
//   LoopBuilder loop(scope, "count");
//   int i = loop.AddVariable(start, start.shape());
//   loop.SetCondition(ops::Less(loop.condition(), loop.Entering(i), limit));    // limit comes in by itself
//   loop.SetNext(i, ops::Add(loop.body(), loop.Inside(i), 1));
//   Output last = loop.Exit(i);
//
// What the condition and the body take from around the loop is carried in once, as an invariant (an Enter with
// is_constant). Variables may be added until the end, also after the condition was set: a loop that is being
// differentiated gets further ones. Errors are recorded in the scope; after one, tensors are none.
#ifndef NABLA_OPS_LOOP_BUILDER_H_
#define NABLA_OPS_LOOP_BUILDER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "nabla/graph/capture.h"
#include "nabla/graph/scope.h"

namespace nabla {

// Thread-compatible. Does not own the graph. The scopes that it hands out keep what they need alive.
class LoopBuilder {
 public:
  // What the body asks before an operand is carried in as an invariant: an Output to use instead (which may be none to
  // carry it in after all).
  using Override = std::function<absl::StatusOr<Output>(Output)>;

  // Nodes are named "<outer>/<name>/…", which is also the frame's name.
  LoopBuilder(const Scope& outer, absl::string_view name, int64_t parallel_iterations = 10);

  // The next nodes of the condition (seen before Switch) and of the body (behind it). Nodes without inputs wait for the
  // iteration to begin.
  const Scope& condition() const { return condition_; }
  const Scope& body() const { return body_; }
  const std::string& frame_name() const { return frame_name_; }
  void set_override(Override override);
  // Maps what is carried in as an invariant, outside of the loop.
  void set_guard(std::function<Output(Output)> guard);

  // A value that goes from one iteration to the next and is `init` in the first. `shape` is what all of its values have
  // in common. Gives its number.
  int AddVariable(Output init, const Shape& shape);
  int num_variables() const { return static_cast<int>(variables_.size()); }
  // Its value at the beginning of an iteration, for the condition and for the body.
  Output Entering(int variable) const { return variables_[variable].merge; }
  Output Inside(int variable) const;
  // Once, after the first variable: a scalar bool made in condition().
  void SetCondition(Output predicate);
  // The value for the next iteration, from the body; once for each variable. InvalidArgument if its dtype or static
  // shape does not fit the variable.
  void SetNext(int variable, Output next);
  // The value after the last iteration, outside.
  Output Exit(int variable);
  // A tensor from around the loop, inside it.
  Output Invariant(Output outside);

 private:
  class BodyCapture;
  struct Variable {
    Output enter, merge, stays, leaves;  // the last two: outputs of its Switch
    Output exit;
  };
  void AddSwitch(Variable* variable);

  Scope outer_;
  std::shared_ptr<BodyCapture> capture_;
  Scope condition_;
  Scope body_;
  std::string frame_name_;
  int64_t parallel_iterations_;
  std::vector<Variable> variables_;
  Output loop_cond_;
};

}  // namespace nabla

#endif  // NABLA_OPS_LOOP_BUILDER_H_

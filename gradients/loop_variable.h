// Further variables for a loop that exists already.
#ifndef NABLA_GRADIENTS_LOOP_VARIABLE_H_
#define NABLA_GRADIENTS_LOOP_VARIABLE_H_

#include "nabla/gradients/control_state.h"
#include "nabla/graph/scope.h"
#include "nabla/graph/tensor.h"

namespace nabla {

// `scope` for nodes without inputs in the frame around a loop: they are there, and alive, when the loop is entered.
Scope AroundLoop(const ControlState& state, int frame, const Scope& scope);

// The shape of a list's elements as the list ops take it: -1 for what is unknown.
Tensor ListElementShape(const Shape& shape);

// A variable added to the loop of `frame`. Errors are recorded in the scope. Requires the graph's lock.
class AddedVariable {
 public:
  AddedVariable(ControlState* state, int frame, const Scope& scope, Output init);

  // Its value in the body.
  Output Inside() const { return inside_; }
  void SetNext(Output next);
  // Its last value, around the loop.
  Output Exit();

 private:
  ControlState* state_;
  int frame_;
  Scope scope_;
  Output merge_, inside_, leaves_;
};

}  // namespace nabla

#endif  // NABLA_GRADIENTS_LOOP_VARIABLE_H_

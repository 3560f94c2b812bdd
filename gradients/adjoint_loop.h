// The loop that runs through another one's trips in the opposite order and carries the adjoints of its variables.
#ifndef NABLA_GRADIENTS_ADJOINT_LOOP_H_
#define NABLA_GRADIENTS_ADJOINT_LOOP_H_

#include <cstdint>
#include <vector>

#include "nabla/gradients/control_state.h"
#include "nabla/gradients/gradient.h"
#include "nabla/ops/loop_builder.h"

namespace nabla {

// Thread-compatible; requires the graph's lock. Errors are recorded in the scope.
class AdjointLoop {
 public:
  // For the loop of `frame`, built in `scope`, which is in the frame around it.
  AdjointLoop(ControlState* state, int frame, const Scope& scope, int64_t parallel_iterations);

  LoopBuilder& builder() { return loop_; }
  const Scope& scope() const { return scope_; }
  const Scope& body() const { return loop_.body(); }

  // The adjoint of a variable, one more variable of this loop: `last` after the forward loop's last trip. Gives its
  // value at the beginning of an iteration.
  Output AddAdjoint(const LoopVariable& variable, const Gradient& last);
  // Its value at the end of the iteration, by the order in which they were added; zeros like `like` if there is none.
  // Gives what it is after the last iteration: the gradient of the variable's first value.
  Output CloseAdjoint(size_t i, const Gradient& grad, Output like);
  // The sum over all iterations of the gradients of `outside`, which is the same in each. Slices are collected;
  // so may the factors of a product be, which takes less time and more memory.
  Gradient Sum(Output outside, const Gradient& grad, bool collect_products);

 private:
  Output IntoBranches(Output tensor);
  Output LastValue(const LoopVariable& variable);
  // Where `grad` is a product A^T B, the sum over the trips is the product of all trips' rows of A with those of B: one
  // large product after the loop in the place of many small ones, each of them added up. None where it is not, or where
  // the rows would take more room than what they save.
  Output SumOfProducts(Output outside, Output grad);
  Gradient Collect(Output outside, const IndexedSlices& slices);
  Output SliceRowsOf(Output outside);
  Output Concatenate(Output value, Output none);

  ControlState* state_;
  int frame_;
  Scope scope_;
  LoopBuilder loop_;
  std::vector<int> adjoints_;
  std::vector<Branch> branches_;
};

}  // namespace nabla

#endif  // NABLA_GRADIENTS_ADJOINT_LOOP_H_

// What a loop's variables tell of the number of its trips.
#ifndef NABLA_GRADIENTS_LOOP_COUNTER_H_
#define NABLA_GRADIENTS_LOOP_COUNTER_H_

#include <cstdint>

#include "absl/types/optional.h"
#include "nabla/gradients/control_state.h"
#include "nabla/gradients/loop_variable.h"
#include "nabla/graph/control_flow.h"
#include "nabla/graph/scope.h"

namespace nabla {

// Whether the variable has the same value in every trip (and its Exit too).
bool IsPassThrough(const LoopVariable& variable);

// A variable of int32 or int64 that every trip adds the same to.
struct LoopCounter {
  Output start;  // around the loop
  int64_t step = 0;
};
absl::optional<LoopCounter> AsCounter(const LoopVariable& variable);

// The counter's value in the trip with the number `trip`, a scalar int32 counted from 0. `scope` can take in its start.
Output CounterValue(const Scope& scope, const LoopCounter& counter, DType dtype, Output trip);

// The number of a loop's trips: read off a variable that counts them, else off one that is added. Requires the graph's
// lock.
class TripCount {
 public:
  TripCount(ControlState* state, int frame) : state_(state), frame_(frame) {}

  // How many trips there were, a scalar int32 around the loop.
  Output Total();
  // The number of the trip, from 0, a scalar int32 in the body.
  Output Number();
  // The total, if it is known before the loop begins; else none.
  Output TotalInAdvance();

 private:
  const LoopVariable* FindCounter(bool from_zero) const;
  void AddVariable();

  ControlState* state_;
  int frame_;
  absl::optional<AddedVariable> added_;
};

}  // namespace nabla

#endif  // NABLA_GRADIENTS_LOOP_COUNTER_H_

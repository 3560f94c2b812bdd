// Which values of a loop's variables its gradient keeps, and from which it starts to compute others again.
#ifndef NABLA_GRADIENTS_CHECKPOINTS_H_
#define NABLA_GRADIENTS_CHECKPOINTS_H_

#include "absl/status/status.h"
#include "absl/types/optional.h"
#include "nabla/gradients/control_state.h"
#include "nabla/gradients/gradients.h"
#include "nabla/gradients/loop_counter.h"
#include "nabla/gradients/replay.h"
#include "nabla/ops/loop_builder.h"

namespace nabla {

// In the backward loop's body: the trips from `first` to `end` - 1 (scalars int32), and the values of the replay's
// variables at the beginning of the first.
struct Segment {
  Output first, end;
  Outputs values;
};

// InvalidArgument for a number that must be positive and is not.
absl::Status CheckOptions(const LoopGradientOptions& options);

// Thread-compatible; requires the graph's lock. Errors are recorded in the scopes.
class Checkpoints {
 public:
  // Of the loop of `frame`. `replay` must live as long as this.
  Checkpoints(ControlState* state, int frame, Replay* replay, const LoopGradientOptions& options)
      : state_(state), frame_(frame), replay_(replay), options_(options), trips_(state, frame) {}

  // Gives the backward loop, built in `scope` around it, its first variables and its condition: its iterations take the
  // segments from last to first.
  Segment Open(const Scope& scope, LoopBuilder* backward);
  // When the segment's gradient is there, and `inside` knows what it saves.
  void Close(const ControlState& inside);

 private:
  // The forward loop keeps values at trips that lie further and further apart, or less and less, or equally far.
  Segment OpenKept(const Scope& scope, LoopBuilder* backward);
  // The backward loop descends from the last value that it has to the next segment, and keeps values on its way: the
  // binomial schedule of A. Griewank and A. Walther, "Algorithm 799: revolve", ACM TOMS 26 (2000), which makes as few
  // trips again as that number of values allows. The first descent is the forward loop, if the number of its trips is
  // known before; else that keeps nothing.
  Segment OpenBinomial(const Scope& scope, LoopBuilder* backward);
  // The list of the values that `value`, in the forward body, has in the trips for which `keep` holds.
  Output Keep(const Scope& scope, Output value, Output keep);
  const Shape& ShapeOf(size_t i) const;
  DType DTypeOf(size_t i) const;
  // Such lists of the trips' numbers and of all variables to keep.
  Outputs KeepAll(const Scope& scope, Output number, Output keep);
  // The lists with which the backward loop begins, and how many more values can be kept.
  Outputs KeepDescent(Output trips, Output* free);
  Outputs KeepFirst(Output* free);
  // How many values of all variables fit the budget, a scalar int32: by their sizes before the loop, or after it.
  Output Slots(const Scope& scope, bool after);
  Output SegmentsOf(const Scope& scope, Output trips);

  ControlState* state_;
  int frame_;
  Replay* replay_;
  LoopGradientOptions options_;
  TripCount trips_;
  absl::optional<Scope> scope_;  // around the backward loop
  Output segment_trips_;         // the trips of a segment, a Placeholder until Close
};

}  // namespace nabla

#endif  // NABLA_GRADIENTS_CHECKPOINTS_H_

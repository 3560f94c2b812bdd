// The gradient of a loop that keeps the values of a few trips only, and computes what lies between them again.
//
// The backward loop's iterations are segments: in each, a copy of the forward loop (replay.h) makes the segment's trips
// again from the values at its beginning, and the gradient of that copy, a loop like any other, takes the adjoints from
// the segment's end to its beginning. Which trips are kept, checkpoints.h says. All of it is ordinary loops over lists,
// which can be differentiated in turn.
#ifndef NABLA_GRADIENTS_CHECKPOINTED_GRAD_H_
#define NABLA_GRADIENTS_CHECKPOINTED_GRAD_H_

#include "absl/status/statusor.h"
#include "nabla/gradients/control_state.h"
#include "nabla/gradients/gradient.h"
#include "nabla/gradients/gradients.h"
#include "nabla/gradients/loop_grad.h"

namespace nabla {

// As LoopGradient, with options.loops telling which checkpoints. Further errors: InvalidArgument for options that make
// no sense; Unimplemented, naming the node, for a loop that cannot be run again (see Replay::Of).
absl::StatusOr<LoopGradients> CheckpointedLoopGradient(ControlState* state, int frame, const Scope& scope,
                                                       const Grads& exits, const LoopPaths& paths,
                                                       const GradientOptions& options,
                                                       const BodyGradient& body_gradient);

}  // namespace nabla

#endif  // NABLA_GRADIENTS_CHECKPOINTED_GRAD_H_

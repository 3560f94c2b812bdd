// The gradient of a whole loop: another loop, which runs as many trips in the opposite order.
//
// The backward loop's variables are the adjoints of the forward loop's variables; a trip takes them from the values at
// the trip's end to those at its beginning, by the gradients of the body. Gradients of what is the same in every trip
// (invariants, and variables that are only passed on) are summed up over the trips, in a tensor or, where they are
// IndexedSlices, as lists of values and indices. What the backward body reads of the forward one comes as
// saved_values.h says. The result is an ordinary loop, which can be differentiated in turn. The method of saving and
// restoring is that of Yu et al., "Dynamic Control Flow in Large-Scale Machine Learning", EuroSys 2018, with lists in
// the place of stacks. With checkpoints (checkpointed_grad.h) less is saved and more computed again.
#ifndef NABLA_GRADIENTS_LOOP_GRAD_H_
#define NABLA_GRADIENTS_LOOP_GRAD_H_

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "nabla/gradients/control_state.h"
#include "nabla/gradients/gradient.h"
#include "nabla/gradients/gradients.h"

namespace nabla {

// The gradients of `ys` with respect to `xs`, tensors in `frame` of the graph as `control` sees it, built in `scope`.
// `stops`: tensors to treat as constants, besides those of the options. Loops inside are not checkpointed.
using BodyGradient =
    std::function<absl::StatusOr<Grads>(ControlState* control, const Scope& scope, int frame, const Outputs& ys,
                                        const Grads& grad_ys, const Outputs& xs, const Outputs& stops)>;

// Of a loop's inputs, the tensors that its Enters take: in the order of Frame::variables and Frame::invariants.
struct LoopGradients {
  Grads variables;
  Grads invariants;
};

// What of a loop has gradients: indices into Frame::variables and Frame::invariants.
struct LoopPaths {
  std::vector<size_t> carried;    // variables that change
  std::vector<size_t> passed_on;  // variables that are the same in all trips
  std::vector<size_t> constant;   // invariants
};

// `exits`: the gradients of the variables' last values (none where nothing depends on one). `between`: whether a node
// of the loop is on a path along which a gradient flows. Unimplemented, naming the loop, for what is no loop of the
// usual form. Requires the graph's lock.
absl::StatusOr<LoopGradients> LoopGradient(ControlState* state, int frame, const Scope& scope, const Grads& exits,
                                           const std::function<bool(const Node*)>& between,
                                           const GradientOptions& options, const BodyGradient& body_gradient);

}  // namespace nabla

#endif  // NABLA_GRADIENTS_LOOP_GRAD_H_

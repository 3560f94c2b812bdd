// Summing a gradient of a broadcasting op's output shape down to the shape of
// the input it belongs to.
#ifndef NABLA_GRADIENTS_UNBROADCAST_H_
#define NABLA_GRADIENTS_UNBROADCAST_H_

#include <vector>

#include "nabla/gradients/gradient.h"
#include "nabla/graph/scope.h"

namespace nabla {

// Un-broadcasts (*grads)[i], of the shape of op's output 0, to the shape of
// op's input i, for every dense gradient. What static shapes settle costs no
// node: dimensions that cannot have been broadcast are left alone and those
// that surely were are summed over constant axes; only what is left asks
// BroadcastGradientArgs at run time.
void Unbroadcast(const Scope& scope, Node* op, Grads* grads);

// The same for a batched matrix product: only the dimensions before the last
// two are broadcast.
void UnbroadcastBatch(const Scope& scope, Node* op, Grads* grads);

// Sums `grad`, of a shape that `input` was broadcast to, down to the shape of
// `input`.
Output UnbroadcastTo(const Scope& scope, Output grad, Output input);

}  // namespace nabla

#endif  // NABLA_GRADIENTS_UNBROADCAST_H_

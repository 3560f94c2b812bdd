// Gradients through the conditionals of Switch and Merge.
#ifndef NABLA_GRADIENTS_CONDITIONAL_GRAD_H_
#define NABLA_GRADIENTS_CONDITIONAL_GRAD_H_

#include <vector>

#include "absl/status/statusor.h"
#include "nabla/gradients/gradient.h"
#include "nabla/graph/branch_contexts.h"
#include "nabla/graph/capture.h"
#include "nabla/graph/scope.h"

namespace nabla {

// The gradients of a conditional's Merge: the output's goes to the side that was taken; on the other it is dead.
// Unimplemented if no predicate decides between the inputs.
absl::StatusOr<Grads> MergeGradient(const Scope& scope, const BranchContexts& contexts, Node* merge,
                                    const Gradient& grad);

// The gradient of what a conditional's Switch sends to either side: that of the side that was taken, zeros if it has
// none.
absl::StatusOr<Gradient> SwitchGradient(const Scope& scope, const BranchContexts& contexts, Node* op, Gradient if_false,
                                        Gradient if_true);

// Gives nodes without inputs something to wait for in the branches `branches` (the predicates being tensors that the
// scope can use): so that what is made in a branch is dead where the branch is.
Scope InBranches(const Scope& scope, const std::vector<Branch>& branches);

}  // namespace nabla

#endif  // NABLA_GRADIENTS_CONDITIONAL_GRAD_H_

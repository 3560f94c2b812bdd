// Applying the gradient rule of one op: finding it, calling it, bringing the gradients of broadcast operands down to
// their shapes, and checking what came back.
#ifndef NABLA_GRADIENTS_APPLY_RULE_H_
#define NABLA_GRADIENTS_APPLY_RULE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "nabla/gradients/gradient.h"
#include "nabla/gradients/rule.h"
#include "nabla/graph/scope.h"

namespace nabla {

// The rule of `op`: that of the op named by its attr `_gradient_op_type`, if it has one, else of its own. nullptr if
// none is registered.
const GradientRegistry::Entry* FindGradientRule(const Node& op);

// The gradients of op's inputs, one for each, given those of its outputs, one for each (none where nothing depends on
// the output). The rule's nodes go directly into `scope`, commonly a Sub scope named "<op>_grad". Inputs that are not
// `needed`, one flag for each or empty for all, get none. An op that is registered as NotDifferentiable gives none
// everywhere. The gradients have the inputs' dtypes, and their static shapes are refined by those of the inputs.
//
// Errors: NotFound "No gradient defined for operation 'name' (op type: Type)"; what the rule refuses, with op and type
// named; Internal for a rule that returns the wrong number, dtype or shape of gradients; the scope's error if a node
// could not be built. Requires the graph's lock; RegisterAllGradients() must have run.
absl::StatusOr<Grads> ApplyGradientRule(const Scope& scope, Node* op, Grads out_grads, std::vector<bool> needed);

}  // namespace nabla

#endif  // NABLA_GRADIENTS_APPLY_RULE_H_

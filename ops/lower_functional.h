// Lowers While, If, Case and their stateless kin to the primitives of loops and conditionals, so that there is one
// executor, one gradient and one verifier for both forms.
#ifndef NABLA_OPS_LOWER_FUNCTIONAL_H_
#define NABLA_OPS_LOWER_FUNCTIONAL_H_

namespace nabla {

// Adds the expanders of these ops (graph/call_expander.h). The functions they name are called by the nodes that they
// expand to, and expanded in turn. Idempotent, thread-safe.
void RegisterFunctionalLowering();

}  // namespace nabla

#endif  // NABLA_OPS_LOWER_FUNCTIONAL_H_

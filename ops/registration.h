// Registration of the specs: call RegisterAllOps() once before building or importing a graph.
#ifndef NABLA_OPS_REGISTRATION_H_
#define NABLA_OPS_REGISTRATION_H_

#include "nabla/graph/op_spec.h"

namespace nabla {

// Fills OpRegistry::Global() with every op. Idempotent, thread-safe.
void RegisterAllOps();

// The families, each in ops/<family>.cc. A new family: declare it here and add it to the table in registration.cc.
void RegisterArrayOps(OpRegistry& registry);
void RegisterControlFlowOps(OpRegistry& registry);
void RegisterFunctionOps(OpRegistry& registry);
void RegisterFunctionalOps(OpRegistry& registry);
void RegisterMathOps(OpRegistry& registry);
void RegisterNnOps(OpRegistry& registry);
void RegisterRandomOps(OpRegistry& registry);
void RegisterStateOps(OpRegistry& registry);
void RegisterTensorArrayOps(OpRegistry& registry);
void RegisterTensorListOps(OpRegistry& registry);
void RegisterTrainingOps(OpRegistry& registry);

}  // namespace nabla

#endif  // NABLA_OPS_REGISTRATION_H_

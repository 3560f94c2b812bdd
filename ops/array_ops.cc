#include "nabla/ops/array_ops.h"
#include "nabla/ops/registration.h"

namespace nabla {

void RegisterArrayOps(OpRegistry& registry) {
  RegisterBasicArrayOps(registry);
  RegisterShapeArrayOps(registry);
  RegisterBroadcastArrayOps(registry);
  RegisterJoinArrayOps(registry);
  RegisterSliceArrayOps(registry);
  RegisterGatherArrayOps(registry);
}

}  // namespace nabla

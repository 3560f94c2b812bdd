#include "nabla/gradients/registration.h"

#include <mutex>

#include "nabla/gradients/batching.h"
#include "nabla/gradients/forward_rule.h"

namespace nabla {

void RegisterAllGradients() {
  static std::once_flag once;
  std::call_once(once, [] {
    GradientRegistry& registry = GradientRegistry::Global();
    RegisterArrayGradients(registry);
    RegisterElementwiseGradients(registry);
    RegisterFunctionGradients(registry);
    RegisterGatherGradients(registry);
    RegisterJoinGradients(registry);
    RegisterMatMulGradients(registry);
    RegisterNnGradients(registry);
    RegisterReductionGradients(registry);
    RegisterSecondOrderGradients(registry);
    RegisterStateGradients(registry);
    RegisterTensorArrayGradients(registry);
    RegisterTensorListGradients(registry);
    RegisterAllBatching(BatchingRegistry::Global());
    RegisterAllForward(ForwardRegistry::Global());
  });
}

}  // namespace nabla

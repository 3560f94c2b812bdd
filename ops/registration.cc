#include "nabla/ops/registration.h"

#include <mutex>

namespace nabla {
namespace {

struct Family {
  const char* name;  // groups the builders and their documentation
  void (*fill)(OpRegistry& registry);
};

// One row per family, each in ops/<name>.cc (and files beside it whose names begin with the same word).
constexpr Family kFamilies[] = {
    {"array_ops", RegisterArrayOps},
    {"control_flow_ops", RegisterControlFlowOps},
    {"function_ops", RegisterFunctionOps},
    {"functional_ops", RegisterFunctionalOps},
    {"math_ops", RegisterMathOps},
    {"nn_ops", RegisterNnOps},
    {"random_ops", RegisterRandomOps},
    {"state_ops", RegisterStateOps},
    {"tensor_array_ops", RegisterTensorArrayOps},
    {"tensor_list_ops", RegisterTensorListOps},
    {"training_ops", RegisterTrainingOps},
};

}  // namespace

void RegisterAllOps() {
  static std::once_flag once;
  std::call_once(once, [] {
    OpRegistry& registry = OpRegistry::Global();
    for (const Family& family : kFamilies) {
      registry.SetFamily(family.name);
      family.fill(registry);
    }
  });
}

}  // namespace nabla

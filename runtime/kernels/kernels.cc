#include "nabla/runtime/kernels/kernels.h"

#include <mutex>

namespace nabla {

void RegisterAllKernels() {
  static std::once_flag once;
  std::call_once(once, [] {
    using Register = void (*)(KernelRegistry & registry);
    constexpr Register kFamilies[] = {
        &RegisterUnaryKernels,       &RegisterBinaryKernels,     &RegisterCastKernels,
        &RegisterSelectKernels,      &RegisterReductionKernels,  &RegisterMatMulKernels,
        &RegisterNnKernels,          &RegisterShapeKernels,      &RegisterConcatSplitKernels,
        &RegisterSliceKernels,       &RegisterTransposeKernels,  &RegisterGatherScatterKernels,
        &RegisterBasicKernels,       &RegisterVariableKernels,   &RegisterTrainingKernels,
        &RegisterRandomKernels,      &RegisterTensorListKernels, &RegisterTensorListWholeKernels,
        &RegisterTensorArrayKernels, &RegisterStackKernels,
    };
    for (Register family : kFamilies) family(KernelRegistry::Global());
  });
}

}  // namespace nabla

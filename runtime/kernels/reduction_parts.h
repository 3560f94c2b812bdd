// The files that RegisterReductionKernels gathers.
#ifndef NABLA_RUNTIME_KERNELS_REDUCTION_PARTS_H_
#define NABLA_RUNTIME_KERNELS_REDUCTION_PARTS_H_

#include "nabla/runtime/kernel.h"

namespace nabla {

void RegisterAddNKernels(KernelRegistry& registry);       // AddN, AccumulateNV2
void RegisterArgMinMaxKernels(KernelRegistry& registry);  // ArgMax, ArgMin
void RegisterScanKernels(KernelRegistry& registry);       // Cumsum, Cumprod

}  // namespace nabla

#endif  // NABLA_RUNTIME_KERNELS_REDUCTION_PARTS_H_

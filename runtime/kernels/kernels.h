// Registration of the kernels, by family: one RegisterXKernels per file runtime/kernels/<x>.cc, called by
// RegisterAllKernels from the table in kernels.cc.
#ifndef NABLA_RUNTIME_KERNELS_KERNELS_H_
#define NABLA_RUNTIME_KERNELS_KERNELS_H_

#include "nabla/runtime/kernel.h"

namespace nabla {

// Fills KernelRegistry::Global(). Idempotent, thread-safe.
void RegisterAllKernels();

void RegisterUnaryKernels(KernelRegistry& registry);          // elementwise of one argument, and their *Grad ops
void RegisterBinaryKernels(KernelRegistry& registry);         // elementwise of two, broadcasting; comparisons, logic
void RegisterCastKernels(KernelRegistry& registry);           // Cast, Bitcast
void RegisterSelectKernels(KernelRegistry& registry);         // Select, SelectV2, Where
void RegisterReductionKernels(KernelRegistry& registry);      // Sum … ArgMin, AddN, L2Loss
void RegisterMatMulKernels(KernelRegistry& registry);         // MatMul, BatchMatMulV2
void RegisterNnKernels(KernelRegistry& registry);             // BiasAdd, Softmax, cross-entropies, InTopKV2
void RegisterShapeKernels(KernelRegistry& registry);          // Shape, Reshape, ExpandDims, Squeeze, Fill, Range, …
void RegisterConcatSplitKernels(KernelRegistry& registry);    // Concat, Pack, Unpack, Split, …
void RegisterSliceKernels(KernelRegistry& registry);          // Slice, StridedSlice, Pad, Reverse, …
void RegisterTransposeKernels(KernelRegistry& registry);      // Transpose, Tile, BroadcastTo
void RegisterGatherScatterKernels(KernelRegistry& registry);  // Gather, GatherNd, ScatterNd, UnsortedSegmentSum, OneHot
void RegisterBasicKernels(KernelRegistry& registry);          // Const, Identity, NoOp, Assert, Print, …
void RegisterVariableKernels(KernelRegistry& registry);       // resource variables
void RegisterTrainingKernels(KernelRegistry& registry);       // ResourceApply…
void RegisterRandomKernels(KernelRegistry& registry);         // stateful and stateless
void RegisterTensorArrayKernels(KernelRegistry& registry);
void RegisterStackKernels(KernelRegistry& registry);
void RegisterTensorListKernels(KernelRegistry& registry);       // lists by element
void RegisterTensorListWholeKernels(KernelRegistry& registry);  // between lists and tensors of their elements

}  // namespace nabla

#endif  // NABLA_RUNTIME_KERNELS_KERNELS_H_

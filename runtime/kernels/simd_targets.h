// Which instruction sets Highway code is compiled for: AVX-512, AVX2, SSE4 and whatever the compiler assumes without
// asking. Each further one costs compile time in every *-inl.h. Include before any Highway header.
#ifndef NABLA_RUNTIME_KERNELS_SIMD_TARGETS_H_
#define NABLA_RUNTIME_KERNELS_SIMD_TARGETS_H_

#ifndef HWY_DISABLED_TARGETS  // the sanitizers' builds have fewer
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#endif

#endif  // NABLA_RUNTIME_KERNELS_SIMD_TARGETS_H_

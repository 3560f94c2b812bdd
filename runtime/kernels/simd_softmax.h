// Softmax and cross-entropies of single rows, in the widest instructions that this machine has.
#ifndef NABLA_RUNTIME_KERNELS_SIMD_SOFTMAX_H_
#define NABLA_RUNTIME_KERNELS_SIMD_SOFTMAX_H_

#include <cstdint>

namespace nabla {

// Of rows of n > 0 logits of type T, float or double. All subtract the row's maximum first, so that nothing overflows.
// With `stream` a result is written past the caches (see stream.h).
template <typename T>
struct SoftmaxRows {
  // y = e^x / sum of e^x. y may be x.
  void (*softmax)(const T* x, T* y, int64_t n, bool stream);
  // y = x - log of the sum of e^x. y may be x.
  void (*log_softmax)(const T* x, T* y, int64_t n, bool stream);
  // Returns - sum of labels * log_softmax(x); backprop = softmax(x) - labels. backprop may be x or labels.
  T (*cross_entropy)(const T* x, const T* labels, T* backprop, int64_t n);
  // The same for labels that are 1 at `label` and 0 elsewhere; 0 <= label < n.
  T (*sparse_cross_entropy)(const T* x, int64_t label, T* backprop, int64_t n);
};

const SoftmaxRows<float>& SimdSoftmaxRows(float);
const SoftmaxRows<double>& SimdSoftmaxRows(double);

}  // namespace nabla

#endif  // NABLA_RUNTIME_KERNELS_SIMD_SOFTMAX_H_

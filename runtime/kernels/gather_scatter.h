// Reading and writing slices at indices, for ops on tensors and on variables alike. Indices are untrusted: all are
// checked before anything is read or written through them.
#ifndef NABLA_RUNTIME_KERNELS_GATHER_SCATTER_H_
#define NABLA_RUNTIME_KERNELS_GATHER_SCATTER_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "nabla/graph/tensor.h"
#include "nabla/runtime/kernel.h"

namespace nabla {

// Sets output `output` to params.shape[:axis] + indices.shape[batch_dims:] + params.shape[axis + 1:], slices of
// `params` along `axis`; the first `batch_dims` (negative: counted from the end of indices') dimensions of params and
// indices go together. indices: int16, int32 or int64. InvalidArgument names the first index that is out of range, its
// value and the bound.
absl::Status GatherSlices(KernelContext& ctx, const Tensor& params, const Tensor& indices, int64_t axis,
                          int64_t batch_dims, int output);

// Sets output `output` to the slices params[indices[i…, 0], …, indices[i…, K - 1]].
absl::Status GatherTuples(KernelContext& ctx, const Tensor& params, const Tensor& indices, bool ignore_bad_indices,
                          int output);

enum class ScatterMode { kUpdate, kAdd, kSub, kMul, kDiv, kMin, kMax };

// Combines slices `updates` (indices.shape[:-1] + target.shape[K:]) into `target`, whose bytes must be the caller's
// own, at index tuples `indices` [..., K]. Where tuples are equal their slices are combined in order, so the result
// does not depend on the number of threads. If an index is bad, `target` is unchanged. kAdd of bools is "or", of
// strings concatenation; kDiv by an integer 0 is InvalidArgument; kMin and kMax are of real numbers.
absl::Status ScatterTuples(KernelContext& ctx, ScatterMode mode, const Tensor& indices, const Tensor& updates,
                           bool ignore_bad_indices, Tensor* target);

// The same for rows: target[indices[i…]] and updates[i…]; `updates` may be a scalar, which counts for every element.
absl::Status ScatterRows(KernelContext& ctx, ScatterMode mode, const Tensor& indices, const Tensor& updates,
                         Tensor* target);

// Adds data[i…] to target[segments[i…]], skipping negative segments.
absl::Status AddSegments(KernelContext& ctx, const Tensor& segments, const Tensor& data, Tensor* target);

// Whether the attr bad_indices_policy says to skip bad indices. InvalidArgument for a policy that is not known.
absl::StatusOr<bool> IgnoresBadIndices(const Node& node);

// Where, Unique, UniqueV2, OneHot.
void RegisterIndexKernels(KernelRegistry& registry);

}  // namespace nabla

#endif  // NABLA_RUNTIME_KERNELS_GATHER_SCATTER_H_

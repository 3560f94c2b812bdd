// The shapes of gathers and scatters, for ops on tensors and on resources alike.
#ifndef NABLA_OPS_INDEX_RULES_H_
#define NABLA_OPS_INDEX_RULES_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "nabla/graph/shape.h"

namespace nabla {

// params.shape[:axis] + indices.shape[batch_dims:] + params.shape[axis + 1:]; `axis` nullopt if unknown.
absl::StatusOr<Shape> GatherResult(const Shape& params, const Shape& indices, absl::optional<int64_t> axis,
                                   int64_t batch_dims);

// indices.shape[:-1] + params.shape[K:] for indices [..., K].
absl::StatusOr<Shape> GatherNdResult(const Shape& params, const Shape& indices);

// Whether `updates` may be scattered into `output` at `indices` [..., K]: updates = indices.shape[:-1] +
// output.shape[K:].
absl::Status CheckScatterNd(const Shape& indices, const Shape& updates, const Shape& output);

// Whether rows `updates` may be scattered into `params` at `indices`: updates = indices.shape + params.shape[1:], or a
// scalar.
absl::Status CheckScatterRows(const Shape& params, const Shape& indices, const Shape& updates);

}  // namespace nabla

#endif  // NABLA_OPS_INDEX_RULES_H_

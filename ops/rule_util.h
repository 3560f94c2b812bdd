// What shape rules share beyond ShapeContext.
#ifndef NABLA_OPS_RULE_UTIL_H_
#define NABLA_OPS_RULE_UTIL_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "nabla/graph/shape_inference.h"

namespace nabla {

// The elements of integer input `i` if the graph fixes them, whatever its rank. nullopt for other dtypes and for
// more than a million elements too.
absl::optional<std::vector<int64_t>> ConstantInts(const ShapeContext& c, int i);

// The same for an input that must be one integer (a scalar, or by old habit a vector of one). InvalidArgument,
// calling it `what`, if it cannot be that; nullopt if its value is unknown.
absl::StatusOr<absl::optional<int64_t>> ConstantScalar(const ShapeContext& c, int i, absl::string_view what);

// Sets output `i`, refusing shapes with too many dimensions or elements: for rules whose outputs may be larger than
// their inputs.
absl::Status SetCheckedOutput(ShapeContext& c, int i, const Shape& shape);

// `shape`'s dimensions [begin, end). Requires a known rank.
Shape SubShape(const Shape& shape, int begin, int end);
// Unknown if either's rank is.
Shape ConcatShapes(const Shape& a, const Shape& b);
// The sum of two dimensions, unknown if one is; InvalidArgument if it does not fit int64.
absl::StatusOr<int64_t> AddDims(int64_t a, int64_t b);

}  // namespace nabla

#endif  // NABLA_OPS_RULE_UTIL_H_

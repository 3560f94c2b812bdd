// Adding up gradients: the one place that decides how dense and sparse terms
// combine.
#ifndef NABLA_GRADIENTS_AGGREGATION_H_
#define NABLA_GRADIENTS_AGGREGATION_H_

#include "absl/strings/string_view.h"
#include "nabla/gradients/gradient.h"
#include "nabla/gradients/gradients.h"
#include "nabla/graph/scope.h"

namespace nabla {

// The sum of `terms`, none ones left out: none if nothing is left, the term itself if one is. Only slices: their values
// and indices concatenated, duplicates kept. Only dense: as `method` says; AddN adds up what each device has there
// before it adds across devices, and pairwise sums are named "<name>_gradient_sum/…". Mixed: the slices are made dense,
// since the sum is. Thread-compatible.
Gradient Aggregate(const Scope& scope, absl::string_view name, const Grads& terms, AggregationMethod method);

}  // namespace nabla

#endif  // NABLA_GRADIENTS_AGGREGATION_H_

#include "nabla/gradients/aggregation.h"

#include "nabla/ops/ops.h"

namespace nabla {
namespace {

// What the terms together say of the sum's static shape.
Shape SumShape(const Outputs& terms) {
  Shape shape;
  for (Output term : terms) {
    absl::StatusOr<Shape> merged = shape.MergeWith(term.shape());
    if (!merged.ok()) return Shape();  // AddN reports it with the node's name
    shape = *std::move(merged);
  }
  return shape;
}

Inputs AsInputs(const Outputs& outputs) { return Inputs(outputs.begin(), outputs.end()); }

Output AddUp(const Scope& scope, const Outputs& terms, AggregationMethod method) {
  if (terms.size() == 1) return terms[0];
  if (method == AggregationMethod::kAddN) return ops::AddN(scope, AsInputs(terms));
  if (method == AggregationMethod::kAccumulateN && terms.size() > 2) {
    Shape shape = SumShape(terms);
    if (shape.IsFullyDefined()) return ops::AccumulateNV2(scope, AsInputs(terms), shape);
  }
  Output sum = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) sum = ops::AddN(scope, {sum, terms[i]});
  return sum;
}

Gradient Concatenate(const Scope& scope, const std::vector<IndexedSlices>& terms) {
  if (terms.size() == 1) return terms[0];
  bool mixed_indices = false;
  Inputs values, indices;
  IndexedSlices sum;
  for (const IndexedSlices& term : terms) {
    mixed_indices |= term.indices.dtype() != terms[0].indices.dtype();
    if (!sum.dense_shape) sum.dense_shape = term.dense_shape;
  }
  for (const IndexedSlices& term : terms) {
    values.push_back(term.values);
    bool widen = mixed_indices && term.indices.dtype() != DType::kInt64;
    indices.push_back(widen ? ops::Cast(scope, term.indices, DType::kInt64) : term.indices);
  }
  sum.values = ops::ConcatV2(scope, values, 0);
  sum.indices = ops::ConcatV2(scope, indices, 0);
  return sum;
}

}  // namespace

Gradient Aggregate(const Scope& scope, const Grads& terms, AggregationMethod method) {
  Outputs dense;
  std::vector<IndexedSlices> slices;
  for (const Gradient& term : terms) {
    if (term.is_dense()) dense.push_back(term.dense());
    if (term.is_slices()) slices.push_back(term.slices());
  }
  if (dense.empty()) return slices.empty() ? Gradient() : Concatenate(scope, slices);
  // Concatenated first, so that they are scattered into one tensor only.
  if (!slices.empty()) dense.push_back(ToDense(scope, Concatenate(scope, slices)));
  return AddUp(scope, dense, method);
}

}  // namespace nabla

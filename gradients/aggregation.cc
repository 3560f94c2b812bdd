#include "nabla/gradients/aggregation.h"

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "nabla/gradients/indexed_slices.h"
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

// One AddN; where terms are placed on devices, one for each device, next to the first of its terms, and one of these.
Output AddAll(const Scope& scope, const Outputs& terms) {
  std::map<std::string, Outputs> by_device;
  for (Output term : terms) by_device[term.node()->device()].push_back(term);
  if (by_device.size() == 1 && by_device.begin()->first.empty()) return ops::AddN(scope, AsInputs(terms));
  Outputs partial;
  for (const auto& [device, local] : by_device) {
    const Scope here = scope.WithColocation(local[0].node());
    partial.push_back(local.size() == 1 ? local[0] : ops::AddN(here, AsInputs(local)));
  }
  return partial.size() == 1 ? partial[0] : ops::AddN(scope, AsInputs(partial));
}

Output AddUp(const Scope& scope, absl::string_view name, const Outputs& terms, AggregationMethod method) {
  if (terms.size() == 1) return terms[0];
  if (method == AggregationMethod::kAddN) return AddAll(scope, terms);
  // Lists can be added by AddN only.
  if (method == AggregationMethod::kAccumulateN && terms.size() > 2 && terms[0].dtype() != DType::kVariant) {
    Shape shape = SumShape(terms);
    if (shape.IsFullyDefined()) return ops::AccumulateNV2(scope, AsInputs(terms), shape);
  }
  const Scope pairs = scope.Sub(absl::StrCat(name, "_gradient_sum"));
  Output sum = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) sum = ops::AddN(pairs, {sum, terms[i]});
  return sum;
}

}  // namespace

Gradient Aggregate(const Scope& scope, absl::string_view name, const Grads& terms, AggregationMethod method) {
  Outputs dense;
  std::vector<IndexedSlices> slices;
  for (const Gradient& term : terms) {
    if (term.is_dense()) dense.push_back(term.dense());
    if (term.is_slices()) slices.push_back(term.slices());
  }
  if (dense.empty()) return slices.empty() ? Gradient() : ConcatenateSlices(scope, slices);
  // Concatenated first, so that they are scattered into one tensor only.
  if (!slices.empty()) {
    Output sum = ToDense(scope, ConcatenateSlices(scope, slices));
    if (!sum) return Gradient();  // the error is recorded
    dense.push_back(sum);
  }
  return AddUp(scope, name, dense, method);
}

}  // namespace nabla

#include "nabla/gradients/rule.h"

#include "nabla/gradients/indexed_slices.h"
#include "nabla/ops/ops.h"

namespace nabla {

Output RuleContext::grad(int i) {
  if (grads_[i].none()) {
    grads_[i] = ops::ZerosLike(scope_, output(i));
  } else if (grads_[i].is_slices()) {
    Output dense = ToDense(scope_, grads_[i]);
    // Where that failed, an error is recorded; the rule goes on with something.
    grads_[i] = dense ? dense : grads_[i].slices().values;
  }
  return grads_[i].dense();
}

void RuleContext::RestrictToRows(std::vector<bool> input_has_rows) {
  row_indices_ = grads_[0].slices().indices;
  input_has_rows_ = std::move(input_has_rows);
  grads_[0] = grads_[0].slices().values;
}

Output RuleContext::Rows(Output tensor, bool has_rows) {
  if (!has_rows) return tensor;
  for (const auto& [whole, rows] : rows_) {
    if (whole == tensor) return rows;
  }
  rows_.emplace_back(tensor, ops::GatherV2(scope_, tensor, row_indices_, 0));
  return rows_.back().second;
}

Grads RuleContext::Fail(absl::Status status) {
  if (status_.ok()) status_ = std::move(status);
  return {};
}

GradientRegistry& GradientRegistry::Global() {
  static GradientRegistry* registry = new GradientRegistry();
  return *registry;
}

void GradientRegistry::Add(absl::string_view op, GradientRule rule) { entries_[op] = {rule}; }

void GradientRegistry::Elementwise(absl::string_view op, GradientRule rule) { entries_[op] = {rule, true}; }

void GradientRegistry::Broadcasting(absl::string_view op, GradientRule rule) { entries_[op] = {rule, true, true}; }

void GradientRegistry::NotDifferentiable(std::initializer_list<absl::string_view> ops) {
  for (absl::string_view op : ops) entries_[op] = {};
}

const GradientRegistry::Entry* GradientRegistry::Find(absl::string_view op) const {
  auto it = entries_.find(op);
  return it == entries_.end() ? nullptr : &it->second;
}

}  // namespace nabla

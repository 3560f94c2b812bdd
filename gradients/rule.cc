#include "nabla/gradients/rule.h"

#include "nabla/gradients/gradients.h"
#include "nabla/ops/ops.h"

namespace nabla {

Output RuleContext::grad(int i) {
  if (!grads_[i].is_dense()) {
    grads_[i] = grads_[i].none() ? ops::ZerosLike(scope_, output(i)) : ToDense(scope_, grads_[i]);
  }
  return grads_[i].dense();
}

Grads RuleContext::Fail(absl::Status status) {
  if (status_.ok()) status_ = std::move(status);
  return {};
}

GradientRegistry& GradientRegistry::Global() {
  static GradientRegistry* registry = new GradientRegistry();
  return *registry;
}

void GradientRegistry::Add(absl::string_view op, GradientRule rule) { entries_[op] = {rule, false}; }

void GradientRegistry::Broadcasting(absl::string_view op, GradientRule rule) { entries_[op] = {rule, true}; }

void GradientRegistry::NotDifferentiable(std::initializer_list<absl::string_view> ops) {
  for (absl::string_view op : ops) entries_[op] = {};
}

const GradientRegistry::Entry* GradientRegistry::Find(absl::string_view op) const {
  auto it = entries_.find(op);
  return it == entries_.end() ? nullptr : &it->second;
}

}  // namespace nabla

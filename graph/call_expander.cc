#include "nabla/graph/call_expander.h"

namespace nabla {

CallExpanders& CallExpanders::Global() {
  static CallExpanders* const expanders = new CallExpanders;
  return *expanders;
}

void CallExpanders::Add(absl::string_view op, CallExpander expander) { expanders_[op] = expander; }

CallExpander CallExpanders::Find(absl::string_view op) const {
  const auto it = expanders_.find(op);
  return it == expanders_.end() ? nullptr : it->second;
}

}  // namespace nabla

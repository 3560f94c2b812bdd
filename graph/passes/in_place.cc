#include "nabla/graph/passes/in_place.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "nabla/graph/passes/rewrite.h"

namespace nabla {

absl::Status InPlace(Compilation& compilation) {
  // Tensors that live on, or have a reader that was met already on the way from the end.
  absl::flat_hash_set<Output> taken(compilation.fetches.begin(), compilation.fetches.end());
  taken.insert(compilation.feeds.begin(), compilation.feeds.end());
  compilation.exclusive_inputs.assign(compilation.order.size(), 0);
  for (size_t position = compilation.order.size(); position-- > 0;) {
    const Node& node = *compilation.order[position];
    const int num_inputs = node.num_inputs();
    for (int i = 0; i < std::min(num_inputs, 64); ++i) {
      const Output input = node.input(i);
      if (input.node()->op() == "Const" || taken.contains(input)) continue;
      bool twice = false;
      for (int j = 0; j < num_inputs && !twice; ++j) twice = j != i && node.input(j) == input;
      if (!twice) compilation.exclusive_inputs[position] |= uint64_t{1} << i;
    }
    for (int i = 0; i < num_inputs; ++i) taken.insert(node.input(i));
  }
  return absl::OkStatus();
}

}  // namespace nabla

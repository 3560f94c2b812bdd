// Which ops a gradient passes through, and how many of their uses it has to
// wait for.
#ifndef NABLA_GRADIENTS_BETWEEN_H_
#define NABLA_GRADIENTS_BETWEEN_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "nabla/graph/graph.h"

namespace nabla {

// Whether a gradient can exist for such a tensor: floating, complex, resource
// (of a variable) and variant types.
bool IsBackpropagatable(DType dtype);

// The ops on a path from xs to ys along which a gradient can flow back, and for
// each the number of uses by other such ops. Requires the graph's lock while it
// is made; the cost is that of the ops that ys depend on.
class BetweenOps {
 public:
  BetweenOps(const Outputs& ys, const Outputs& xs);

  bool Contains(const Node* op) const { return pending_.contains(op); }
  // One use of `op` has delivered its gradient: true if that was the last.
  bool Arrived(const Node* op) { return --pending_[op] == 0; }
  int pending(const Node* op) const;
  // An op that still waits, nullptr if none does: after the walk, one of a cycle or behind it. The first by name.
  const Node* FindWaiting() const;

 private:
  absl::flat_hash_map<const Node*, int> pending_;
};

}  // namespace nabla

#endif  // NABLA_GRADIENTS_BETWEEN_H_

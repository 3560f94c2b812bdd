// One branch of a conditional: what it takes in from around it comes through a Switch, so that nothing of the branch
// runs unless it is taken.
#ifndef NABLA_OPS_BRANCH_CAPTURE_H_
#define NABLA_OPS_BRANCH_CAPTURE_H_

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "nabla/graph/capture.h"
#include "nabla/graph/scope.h"

namespace nabla {

// Thread-compatible. Nodes without inputs wait for the branch to be taken.
class BranchCapture : public Capture {
 public:
  // The branch that is taken if `predicate`, a scalar bool of `outer`, equals `side`.
  BranchCapture(const Scope& outer, Output predicate, bool side);

  // `tensor` as it is in the branch.
  Output Take(Output tensor);
  // Counts `node`, which is dead wherever the branch is, as one of the branch.
  void Adopt(const Node* node) { mine_.insert(node->id()); }
  // Runs if the branch is taken.
  Node* pivot();

  absl::StatusOr<Output> CaptureInput(Output source) override;
  absl::StatusOr<Node*> CaptureControl(Node* source) override;
  void Added(Node* node, bool innermost) override;

 private:
  Scope outer_;
  Output predicate_;
  bool side_;
  Output pivot_;
  absl::flat_hash_set<int> mine_;  // ids: a node that was removed may leave its address to another
  absl::flat_hash_map<Output, Output> taken_;
};

}  // namespace nabla

#endif  // NABLA_OPS_BRANCH_CAPTURE_H_

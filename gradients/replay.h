// Making some of a loop's trips again, from the values that its variables had at the beginning of one.
//
//   NABLA_ASSIGN_OR_RETURN(Replay replay, Replay::Of(state, frame, {0, 2}));
//   Outputs last = replay.Run(scope, "again", first, end, values);   // a loop: the trips first to end - 1
//
// The loop that is appended has a copy of the body, of that part which the variables asked for depend on: loops and
// conditionals in it included, control edges that only put effects in order left out.
#ifndef NABLA_GRADIENTS_REPLAY_H_
#define NABLA_GRADIENTS_REPLAY_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nabla/gradients/control_state.h"
#include "nabla/ops/loop_builder.h"

namespace nabla {

// Thread-compatible; requires the graph's lock. The state must live as long as this.
class Replay {
 public:
  // Of the loop of `frame`, what its variables `wanted` (indices into Frame::variables) take to be computed again.
  // Unimplemented, naming the node, if that has effects or may give something else the next time. Reading a variable is
  // allowed: nothing in the loop writes to it, and what else does must wait for the results.
  static absl::StatusOr<Replay> Of(const ControlState* state, int frame, const std::vector<size_t>& wanted);

  // The variables with which a trip begins: those that were asked for and those that they depend on, in order. Not
  // those that follow from the number of the trip, or that are the same in all.
  const std::vector<size_t>& variables() const { return variables_; }

  // The values of variables() after the trips with the numbers `first` to `end` - 1 (scalars int32), if they are
  // `values` before. Errors are recorded in the scope.
  Outputs Run(const Scope& scope, absl::string_view name, Output first, Output end, const Outputs& values);
  // In the loop that Run appended last, the copies of these tensors of the forward body, where there is one.
  Outputs Copies(const Outputs& originals) const;

 private:
  Replay(const ControlState* state, int frame) : state_(state), frame_(frame) {}
  void Collect(Output start, std::vector<Output>* loops);
  std::vector<Node*> Waits(const Node* node) const;
  absl::Status CheckRepeatable() const;
  bool IsInvariant(const Node& node) const;
  Output Copy(Output original) const;
  void CopyNode(const Scope& body, Node* node);

  const ControlState* state_;
  int frame_;
  absl::flat_hash_map<Output, size_t> variable_of_;  // by Merge and by Switch output 1
  std::vector<size_t> variables_;
  std::vector<size_t> following_;  // variables that are read, but follow from something else
  std::vector<Node*> nodes_;       // each after its inputs
  absl::flat_hash_set<const Node*> seen_;
  std::vector<size_t> read_;  // variables that the nodes read, to be looked at yet
  absl::flat_hash_map<Output, Output> copies_;
};

}  // namespace nabla

#endif  // NABLA_GRADIENTS_REPLAY_H_

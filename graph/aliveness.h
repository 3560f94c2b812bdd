// What must hold for a tensor to be alive in an iteration of its frame, for graphs that are still being changed.
//
//   Aliveness aliveness;
//   aliveness.Covers(aliveness.Of(a), aliveness.Of(b));   // b is alive wherever a is
//
// Conditions are sides of Switches, and whole nodes where no more is known, such as a Merge of more than two branches.
// So Covers may be false where a closer look (graph/branch_contexts.h, which needs a finished graph) would say true,
// not the reverse as long as all that enters a loop is alive together.
#ifndef NABLA_GRAPH_ALIVENESS_H_
#define NABLA_GRAPH_ALIVENESS_H_

#include <map>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "nabla/graph/graph.h"

namespace nabla {

// Remembers what it was asked, and all that this depended on: nodes may be added, and changed as long as they stay
// alive where they were. Takes linear time in all, but for what callers make with Union; no recursion.
// Thread-compatible; requires the graph's lock.
class Aliveness {
 public:
  // A set of conditions; kAlways is the empty one.
  using Conditions = int;
  static constexpr Conditions kAlways = 0;

  Aliveness();
  Conditions Of(Output tensor);
  // What it takes to run the node; that of all outputs but a Switch's.
  Conditions OfNode(const Node* node);
  Conditions Union(Conditions a, Conditions b);
  int NumConditions(Conditions conditions) const;
  // Whether all of `some` are among `all`.
  bool Covers(Conditions all, Conditions some) const;

 private:
  // Node id, and what of it: the sides of a predicate's output are 2 * index and 2 * index + 1, a node itself is -1.
  using Condition = std::pair<int, int>;
  Conditions Intern(std::vector<Condition> set);
  Conditions Either(Conditions a, Conditions b, Conditions otherwise);
  void Place(const Node* node);

  std::vector<std::vector<Condition>> sets_;  // each sorted
  std::map<std::vector<Condition>, Conditions> index_;
  absl::flat_hash_map<int, Conditions> nodes_;  // by id
};

}  // namespace nabla

#endif  // NABLA_GRAPH_ALIVENESS_H_

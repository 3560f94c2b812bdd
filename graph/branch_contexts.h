// In which branches of conditionals a tensor is alive, recovered from Switch and Merge alone.
//
//   BranchContexts contexts(flow);
//   contexts.Branches(contexts.Of(tensor));   // {{p, true}, {q, false}}: alive where p holds and q does not
//
// A conditional's Switch adds a branch to what its inputs have; a Merge of two sides of one predicate takes it away;
// any other node has all branches of its inputs and control inputs. Inside a loop the count begins anew: a loop as a
// whole has the branches of what enters it.
#ifndef NABLA_GRAPH_BRANCH_CONTEXTS_H_
#define NABLA_GRAPH_BRANCH_CONTEXTS_H_

#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "nabla/graph/control_flow.h"
#include "nabla/graph/graph.h"

namespace nabla {

// Alive where the scalar bool `predicate` equals `side`.
struct Branch {
  Output predicate;
  bool side = false;
  friend bool operator==(const Branch& a, const Branch& b) { return a.predicate == b.predicate && a.side == b.side; }
};

// Thread-compatible; made under the graph's lock and valid for the nodes that were analyzed. Takes time for each node
// in proportion to how deep its branches are inside each other, and for a node in branches of unlike order the square
// of that; in all no more than a bound, after which nothing is known.
class BranchContexts {
 public:
  // A set of branches, outermost first; 0 is the empty one. Equal sets met along the same path have equal numbers.
  using Context = int;

  explicit BranchContexts(const ControlFlow& flow);

  // Of a tensor, within its frame: that of an Exit is the context of its loop in the frame around it.
  Context Of(Output tensor) const;
  // The node at which the bound was reached: all contexts are empty then. Else nullptr.
  const Node* given_up_at() const { return given_up_at_; }
  // Of a frame as a whole, in the frame around it.
  Context OfFrame(int frame) const { return frames_[frame]; }
  std::vector<Branch> Branches(Context context) const;
  int Depth(Context context) const { return links_[context].depth; }
  // Whether `branch` is among those of the tensor.
  bool IsIn(Output tensor, const Branch& branch) const;
  // Whether every branch of `outer` is one of `inner`.
  bool Contains(Context inner, Context outer) const;
  // What decides between the two inputs of a conditional's Merge: side is that of input 1. predicate is none if it
  // cannot be told.
  Branch Decider(const Node* merge) const;

 private:
  struct Link {
    Context outer;
    Branch branch;
    int depth;
  };
  Context Extend(Context outer, const Branch& branch);
  Context Union(Context a, Context b);
  bool Has(Context context, const Branch& branch) const;
  Context OfMerge(const Node* merge);
  void Place(const Node* node, const ControlFlow& flow);

  std::vector<Link> links_;
  absl::flat_hash_map<std::pair<Context, std::pair<Output, bool>>, Context> interned_;
  std::vector<Context> nodes_;   // by node id
  std::vector<Context> frames_;  // by frame
  absl::flat_hash_map<const Node*, Branch> deciders_;
  mutable int64_t steps_ = 0;
  const Node* given_up_at_ = nullptr;
};

// What Identities pass on, so that one predicate is one wherever it is used; no more than a thousand in a row.
Output BehindIdentities(Output tensor);
// Whether `node` is a Switch that chooses between branches, not whether a loop goes on.
bool IsBranchSwitch(const Node& node);
// Whether `node` joins branches, not a loop variable's first and later values.
bool IsBranchMerge(const Node& node);

}  // namespace nabla

#endif  // NABLA_GRAPH_BRANCH_CONTEXTS_H_

// Steps that several passes take.
#ifndef NABLA_GRAPH_PASSES_REWRITE_H_
#define NABLA_GRAPH_PASSES_REWRITE_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "nabla/graph/passes/compilation.h"

namespace nabla {

// Switch, Merge, Enter, …: nodes whose outputs may be dead or come more than once.
bool IsControlFlow(const Node& node);

// A constant that is there from the start: a Const that waits for nothing.
bool IsFreeConstant(const Node& node);

// Whatever read or fetched `from` reads `to` from now on.
absl::Status ReplaceTensor(Compilation& compilation, Output from, Output to);

// Nodes that waited for `from` wait for `to` instead, or for nothing if `to` is nullptr.
void MoveControlConsumers(Graph* graph, Node* from, Node* to);

// Those of the compilation's nodes that no pass may remove.
absl::flat_hash_set<const Node*> TargetSet(const Compilation& compilation);

}  // namespace nabla

#endif  // NABLA_GRAPH_PASSES_REWRITE_H_

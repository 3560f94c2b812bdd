// What the passes work on: a private copy of the part of a graph that a run needs, and what the run asks of it.
//
// A pass is one function from a Compilation to a better one:
//
//   absl::Status DropIdentities(Compilation& compilation);
//
// It may change the graph as it likes as long as the fetches' values and the effects of stateful nodes stay the same,
// bit by bit. Thread-compatible: one thread compiles one Compilation.
#ifndef NABLA_GRAPH_PASSES_COMPILATION_H_
#define NABLA_GRAPH_PASSES_COMPILATION_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "nabla/graph/graph.h"
#include "nabla/graph/tensor.h"

namespace nabla {

// Computes a stateless node from the values of its inputs. Fails as the node would when run, or if it cannot be run.
using NodeEvaluator =
    std::function<absl::Status(Node* node, absl::Span<const Tensor> inputs, std::vector<Tensor>* outputs)>;

struct Compilation {
  Graph* graph = nullptr;  // not the user's: nobody else sees it
  // Outputs of the nodes that stand for the fed tensors; these nodes are stateful, so that no pass touches them. None
  // for a feed that nothing reads.
  Outputs feeds;
  // Passes that replace a tensor replace it here too (see rewrite.h). None for a fetch of a fed tensor.
  Outputs fetches;
  // Nodes that must run. Passes leave them alone.
  std::vector<Node*> targets;
  // None: constants are not folded.
  NodeEvaluator evaluate;

  // The order in which one thread will run the nodes; set by the pipeline after the last pass that changes the graph.
  std::vector<Node*> order;
  // By position in `order`, from the pass in_place: bit i says that nobody reads input i (of the first 64) after that
  // node, so that it may be overwritten. Empty if the pass did not run.
  std::vector<uint64_t> exclusive_inputs;
};

}  // namespace nabla

#endif  // NABLA_GRAPH_PASSES_COMPILATION_H_

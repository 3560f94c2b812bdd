// The first step of compiling: a private copy of what a run needs.
#ifndef NABLA_RUNTIME_SUBGRAPH_H_
#define NABLA_RUNTIME_SUBGRAPH_H_

#include <memory>

#include "absl/status/status.h"
#include "nabla/graph/graph.h"
#include "nabla/graph/passes/compilation.h"
#include "nabla/runtime/plan.h"

namespace nabla {

// The op of the nodes that stand for fed tensors. Known only to private graphs.
inline constexpr absl::string_view kFeedOp = "_Feed";

// Fills in graph, feeds (one per request.feeds; none for those that nothing needs), fetches (none for those that are
// fed) and targets. A fed tensor's producer is cut off; who waits for it through a control edge, waits no more. Errors
// as for Plan::Compile. Locks `graph`.
absl::Status CopySubgraph(const Graph& graph, const PlanRequest& request, std::unique_ptr<Graph>* copy,
                          Compilation* compilation);

}  // namespace nabla

#endif  // NABLA_RUNTIME_SUBGRAPH_H_

// Checks gradient rules one op at a time, each at the inputs that the op has in a run of its graph.
#ifndef NABLA_TOOLS_OP_GRADIENTS_H_
#define NABLA_TOOLS_OP_GRADIENTS_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "nabla/graph/graph.h"
#include "nabla/graph/tensor.h"
#include "nabla/tools/gradient_difference.h"

namespace nabla::tools {

// The ops on the paths from xs to ys through tensors that gradients can flow back along, inputs first; and the tensors
// that depend on xs.
struct Path {
  std::vector<Node*> ops;
  absl::flat_hash_set<Output> tensors;
};
Path FindPath(const Outputs& ys, const Outputs& xs);

struct OpVerdict {
  enum Kind {
    kAgrees,
    kDiffers,
    kStops,    // gives no gradient, although differences do
    kSkipped,  // not differentiated here, for the reason in `detail`
  };
  Kind kind = kSkipped;
  std::string detail;
};

// The op alone, in a graph of its own, at `inputs`, one value for each of its inputs: the gradient of a random weighted
// sum of its outputs by those of its inputs that are on the path, against differences. In double where the op can. Its
// own rule is what is checked, that of its `_gradient_op_type` included.
OpVerdict CheckOp(const Node& op, const Path& path, const std::vector<Tensor>& inputs,
                  const DifferenceOptions& options);

// Why an op cannot be checked alone whatever its inputs are; empty if it may be tried. `frame` is the loop that it is
// in, or empty.
std::string WhyNotAlone(const Node& op, const Path& path, const std::string& frame);

}  // namespace nabla::tools

#endif  // NABLA_TOOLS_OP_GRADIENTS_H_

#include "nabla/graph/resource_handle.h"

#include "absl/container/flat_hash_set.h"

namespace nabla {
namespace {

// Longer chains are not worth following, and loops may be cyclic.
constexpr int kMaxSteps = 10000;

// Ops whose outputs all are input 0.
bool PassesOn(absl::string_view op) {
  static const auto* const kOps = new absl::flat_hash_set<absl::string_view>(
      {"Identity", "StopGradient", "PreventGradient", "Snapshot", "GuaranteeConst", "Switch", "Enter", "Exit",
       "NextIteration", "Merge"});
  return kOps->contains(op);
}

}  // namespace

ResourceInfo FindResource(Output handle) {
  ResourceInfo info;
  for (int step = 0; step < kMaxSteps && handle; ++step) {
    Node* node = handle.node();
    if (node->op() == "VarHandleOp") {
      info.node = node;
      if (const DType* dtype = node->attr<DType>("dtype")) info.dtype = *dtype;
      if (const Shape* shape = node->attr<Shape>("shape")) info.shape = *shape;
      return info;
    }
    if (node->op() == "IdentityN") {
      handle = node->input(handle.index());
    } else if (node->op() == "Merge" && handle.index() != 0) {
      break;
    } else if (PassesOn(node->op()) && node->num_inputs() > 0) {
      // A Merge joins handles of one variable in every graph that can run deterministically; its input 0 is the one
      // from outside the loop.
      handle = node->input(0);
    } else {
      break;
    }
  }
  return info;
}

}  // namespace nabla

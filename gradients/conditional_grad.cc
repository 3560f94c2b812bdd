#include "nabla/gradients/conditional_grad.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "nabla/gradients/gradients.h"
#include "nabla/gradients/rule_util.h"
#include "nabla/graph/resource_handle.h"
#include "nabla/graph/status_macros.h"
#include "nabla/ops/branch_capture.h"
#include "nabla/ops/ops.h"

namespace nabla {
namespace {

Output SwitchTo(const Scope& scope, Output tensor, Output predicate, bool side) {
  auto sides = ops::Switch(scope, tensor, predicate);
  return side ? sides.output_true : sides.output_false;
}

// The value whose gradient is asked for: a variable's for a resource.
Output Value(const Scope& scope, Output data) {
  if (data.dtype() != DType::kResource) return data;
  return ops::ReadVariableOp(scope, data, FindResource(data).dtype);
}

Shape ValueShape(Output data) { return data.dtype() == DType::kResource ? FindResource(data).shape : data.shape(); }

// Zeros like `data`, made if the predicate has that side.
Output ZerosInBranch(const Scope& scope, Output data, Output predicate, bool side) {
  auto capture = std::make_shared<BranchCapture>(scope, predicate, side);
  const Scope branch = scope.WithCapture(capture);
  const Shape shape = ValueShape(data);
  if (shape.IsFullyDefined() && data.dtype() != DType::kVariant) {
    const DType dtype = data.dtype() == DType::kResource ? FindResource(data).dtype : data.dtype();
    return ops::Fill(branch, shape, ops::Const(branch, 0, dtype));
  }
  return ops::ZerosLike(branch, Value(branch, data));
}

// No slices of `data`, made if the predicate has that side.
IndexedSlices NoSlicesInBranch(const Scope& scope, Output data, Output predicate, bool side, DType indices) {
  auto capture = std::make_shared<BranchCapture>(scope, predicate, side);
  const Scope branch = scope.WithCapture(capture);
  ScopeGuard guard(branch);
  IndexedSlices none;
  none.values = SliceRows(Value(branch, data), 0, 0);
  none.indices = ops::Const(branch, *Tensor::Allocate(indices, Shape({0})));
  return none;
}

class WaitInBranches : public Capture {
 public:
  WaitInBranches(Scope scope, std::vector<Branch> branches)
      : scope_(std::move(scope)), branches_(std::move(branches)) {}

  absl::StatusOr<Output> CaptureInput(Output source) override { return source; }
  absl::StatusOr<Node*> CaptureControl(Node* source) override { return source; }
  void Added(Node* node, bool innermost) override {
    if (!innermost || node->num_inputs() > 0) return;
    if (!pivot_) {
      for (const Branch& branch : branches_) {
        // Alive if the branch around it is, and this one.
        const Scope inside = pivot_ ? scope_.WithControl({pivot_}) : scope_;
        const Output taken = SwitchTo(scope_, branch.predicate, branch.predicate, branch.side);
        pivot_ = ops::Identity(inside.Named("pivot"), taken);
      }
    }
    if (pivot_) node->graph()->AddControlEdge(pivot_.node(), node);
  }

 private:
  Scope scope_;
  std::vector<Branch> branches_;
  Output pivot_;
};

}  // namespace

absl::StatusOr<Grads> MergeGradient(const Scope& scope, const BranchContexts& contexts, Node* merge,
                                    const Gradient& grad) {
  Grads grads(merge->num_inputs());
  if (grad.none()) return grads;
  const Branch decider = contexts.Decider(merge);
  if (!decider.predicate) {
    return absl::UnimplementedError(absl::StrCat("gradient of '", merge->name(), "' (op type: ", merge->op(),
                                                 "): its inputs do not come from the two sides of one predicate"));
  }
  for (int i = 0; i < 2; ++i) {
    const bool side = i == 1 ? decider.side : !decider.side;
    if (grad.is_dense()) {
      grads[i] = SwitchTo(scope, grad.dense(), decider.predicate, side);
    } else {
      IndexedSlices slices = grad.slices();
      slices.values = SwitchTo(scope, slices.values, decider.predicate, side);
      slices.indices = SwitchTo(scope, slices.indices, decider.predicate, side);
      grads[i] = std::move(slices);
    }
  }
  NABLA_RETURN_IF_ERROR(scope.status());
  return grads;
}

absl::StatusOr<Gradient> SwitchGradient(const Scope& scope, const BranchContexts& contexts, Node* op, Gradient if_false,
                                        Gradient if_true) {
  if (if_false.none() && if_true.none()) return Gradient();
  const Output data = op->input(0);
  const Output predicate = op->input(1);
  // What is in one of the branches already never goes to the other.
  if (contexts.IsIn(data, Branch{predicate, false})) return if_false;
  if (contexts.IsIn(data, Branch{predicate, true})) return if_true;
  Gradient* const sides[] = {&if_false, &if_true};
  const bool sparse = !if_false.is_dense() && !if_true.is_dense();
  for (Gradient* side : sides) {
    if (!sparse && side->is_slices()) *side = ToDense(scope, *side);
  }
  for (const bool side : {false, true}) {
    if (!sides[side]->none()) continue;
    if (sparse) {
      *sides[side] = NoSlicesInBranch(scope, data, predicate, side, sides[!side]->slices().indices.dtype());
    } else {
      *sides[side] = ZerosInBranch(scope, data, predicate, side);
    }
  }
  NABLA_RETURN_IF_ERROR(scope.status());
  if (!sparse) {
    const Output merged = ops::Merge(scope, {if_false.dense(), if_true.dense()}).output;
    if (!merged) return scope.status();
    if (data.dtype() != DType::kResource) NABLA_RETURN_IF_ERROR(scope.graph()->RefineShape(merged, data.shape()));
    return Gradient(merged);
  }
  IndexedSlices taken[] = {if_false.slices(), if_true.slices()};
  if (taken[0].indices.dtype() != taken[1].indices.dtype()) {
    for (IndexedSlices& slices : taken) slices.indices = ops::Cast(scope, slices.indices, DType::kInt64);
  }
  IndexedSlices merged;
  merged.values = ops::Merge(scope, {taken[0].values, taken[1].values}).output;
  merged.indices = ops::Merge(scope, {taken[0].indices, taken[1].indices}).output;
  // What the branches say of the shape may be dead.
  const Shape shape = ValueShape(data);
  merged.dense_shape = shape.IsFullyDefined() ? ops::Const(scope, Tensor::Vector<int64_t>(shape.dims()))
                                              : ops::Shape(scope, Value(scope, data), {.out_type = DType::kInt64});
  NABLA_RETURN_IF_ERROR(scope.status());
  return Gradient(std::move(merged));
}

Scope InBranches(const Scope& scope, const std::vector<Branch>& branches) {
  return branches.empty() ? scope : scope.WithCapture(std::make_shared<WaitInBranches>(scope, branches));
}

}  // namespace nabla

#include "nabla/gradients/unbroadcast.h"

#include <algorithm>

#include "absl/types/optional.h"
#include "nabla/ops/ops.h"

namespace nabla {
namespace {

// How a gradient comes down to its input's shape, as far as static shapes tell.
struct Plan {
  std::vector<int64_t> axes;  // to sum over
  bool leading = false;       // some of them are axes that the input does not have
  bool inner = false;         // some of them are the input's dimensions of size 1
};

// For shapes[which] among shapes that are broadcast against each other; nullopt
// if only the run can tell.
absl::optional<Plan> PlanStatically(const std::vector<Shape>& shapes, int which) {
  int rank = 0;
  for (const Shape& shape : shapes) {
    if (!shape.has_rank()) return absl::nullopt;
    rank = std::max(rank, shape.rank());
  }
  const Shape& x = shapes[which];
  Plan plan;
  for (int axis = 0; axis < rank; ++axis) {
    int from_end = rank - axis;
    if (from_end > x.rank()) {
      plan.axes.push_back(axis);
      plan.leading = true;
      continue;
    }
    int64_t dim = x.DimFromEnd(from_end);
    if (dim != 1 && dim != kUnknownDim) continue;
    bool others_are_one = true;
    for (size_t i = 0; i < shapes.size(); ++i) {
      const Shape& other = shapes[i];
      if (static_cast<int>(i) != which && from_end <= other.rank() && other.DimFromEnd(from_end) != 1) {
        others_are_one = false;
      }
    }
    if (others_are_one) continue;
    if (dim == kUnknownDim) return absl::nullopt;  // 1 or not?
    plan.axes.push_back(axis);
    plan.inner = true;
  }
  return plan;
}

Output ReduceStatically(const Scope& scope, Output grad, const Plan& plan, Output input) {
  if (plan.axes.empty()) return grad;
  Output sum = ops::Sum(scope, grad, plan.axes, {.keep_dims = !plan.leading});
  if (!plan.leading || !plan.inner) return sum;
  const Shape& shape = input.shape();
  return ops::Reshape(scope, sum, shape.IsFullyDefined() ? Input(shape) : Input(ops::Shape(scope, input)));
}

Output ReduceOverAxes(const Scope& scope, Output grad, Output axes, Output input_shape) {
  return ops::Reshape(scope, ops::Sum(scope, grad, axes), input_shape);
}

// Un-broadcasts at run time; makes the nodes that both inputs need once.
class DynamicReducer {
 public:
  // `inner_dims`: how many of the last dimensions are not broadcast.
  DynamicReducer(const Scope& scope, Node* op, int inner_dims)
      : scope_(scope), op_(op), inner_dims_(inner_dims), shapes_(op->num_inputs()) {}

  Output Reduce(Output grad, int which) {
    Output axes;
    if (op_->num_inputs() == 2) {
      if (!r0_) {
        auto args = ops::BroadcastGradientArgs(scope_, BroadcastPart(InputShape(0)), BroadcastPart(InputShape(1)));
        r0_ = args.r0;
        r1_ = args.r1;
      }
      axes = which == 0 ? r0_ : r1_;
    } else {
      Output whole = ops::Shape(scope_, op_->output(0));
      axes = ops::BroadcastGradientArgs(scope_, BroadcastPart(InputShape(which)), BroadcastPart(whole)).r0;
    }
    return ReduceOverAxes(scope_, grad, axes, InputShape(which));
  }

 private:
  Output InputShape(int i) {
    if (!shapes_[i]) shapes_[i] = ops::Shape(scope_, op_->input(i));
    return shapes_[i];
  }
  Output BroadcastPart(Output shape) { return inner_dims_ == 0 ? shape : SliceRows(shape, 0, -inner_dims_); }

  const Scope& scope_;
  Node* op_;
  int inner_dims_;
  Outputs shapes_;
  Output r0_, r1_;
};

// The same operand twice is never broadcast against itself.
bool AllInputsAreOneTensor(Node* op) {
  for (int i = 1; i < op->num_inputs(); ++i) {
    if (op->input(i) != op->input(0)) return false;
  }
  return true;
}

void UnbroadcastInputs(const Scope& scope, Node* op, int inner_dims, Grads* grads) {
  if (AllInputsAreOneTensor(op)) return;
  std::vector<Shape> shapes;
  for (int i = 0; i < op->num_inputs(); ++i) {
    Shape shape = op->input(i).shape();
    for (int d = 0; d < inner_dims && shape.rank() > 0; ++d) shape.RemoveDim(shape.rank() - 1);
    shapes.push_back(std::move(shape));
  }
  DynamicReducer dynamic(scope, op, inner_dims);
  int n = std::min<int>(op->num_inputs(), static_cast<int>(grads->size()));
  for (int i = 0; i < n; ++i) {
    Output grad = (*grads)[i].dense();
    if (!grad) continue;
    absl::optional<Plan> plan = PlanStatically(shapes, i);
    (*grads)[i] = plan ? ReduceStatically(scope, grad, *plan, op->input(i)) : dynamic.Reduce(grad, i);
  }
}

}  // namespace

void Unbroadcast(const Scope& scope, Node* op, Grads* grads) { UnbroadcastInputs(scope, op, 0, grads); }

void UnbroadcastBatch(const Scope& scope, Node* op, Grads* grads) { UnbroadcastInputs(scope, op, 2, grads); }

Output UnbroadcastTo(const Scope& scope, Output grad, Output input) {
  absl::optional<Plan> plan = PlanStatically({input.shape(), grad.shape()}, 0);
  if (plan) return ReduceStatically(scope, grad, *plan, input);
  Output input_shape = ops::Shape(scope, input);
  Output axes = ops::BroadcastGradientArgs(scope, input_shape, ops::Shape(scope, grad)).r0;
  return ReduceOverAxes(scope, grad, axes, input_shape);
}

}  // namespace nabla

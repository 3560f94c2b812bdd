#include "nabla/gradients/loop_grad.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "nabla/gradients/aggregation.h"
#include "nabla/gradients/between.h"
#include "nabla/gradients/gradients.h"
#include "nabla/gradients/loop_variable.h"
#include "nabla/gradients/saved_values.h"
#include "nabla/graph/resource_handle.h"
#include "nabla/graph/status_macros.h"
#include "nabla/ops/loop_builder.h"
#include "nabla/ops/ops.h"

namespace nabla {
namespace {

absl::Status CheckForm(const Frame& frame) {
  const auto fail = [&](absl::string_view what) {
    return absl::UnimplementedError(
        absl::StrCat("Gradients: loop '", frame.name, "' ", what, ", which cannot be differentiated"));
  };
  if (frame.loop_cond == nullptr) return fail("has no LoopCond");
  if (frame.variables.empty()) return fail("has no variables");
  for (const LoopVariable& variable : frame.variables) {
    if (variable.switch_node == nullptr)
      return fail(absl::StrCat("has no Switch after '", variable.merge->name(), "'"));
  }
  return absl::OkStatus();
}

std::string LastPart(const std::string& name) {
  std::string part = name;
  while (!part.empty() && part.back() == '/') part.pop_back();
  const size_t slash = part.rfind('/');
  return slash == std::string::npos ? part : part.substr(slash + 1);
}

// What has a gradient in the place of a resource: its variable's value.
DType ValueDType(Output tensor) {
  return tensor.dtype() == DType::kResource ? FindResource(tensor).dtype : BaseDType(tensor.dtype());
}
Shape ValueShape(Output tensor) {
  return tensor.dtype() == DType::kResource ? FindResource(tensor).shape : tensor.shape();
}
Output Value(const Scope& scope, Output tensor) {
  return tensor.dtype() == DType::kResource ? ops::ReadVariableOp(scope, tensor, ValueDType(tensor)) : tensor;
}

Output Zeros(const Scope& scope, Output like) {
  const Shape shape = ValueShape(like);
  if (shape.IsFullyDefined() && like.dtype() != DType::kVariant) {
    return ops::Fill(scope, shape, ops::Const(scope, 0, ValueDType(like)));
  }
  return ops::ZerosLike(scope, Value(scope, like));
}

class BackwardLoop {
 public:
  BackwardLoop(ControlState* state, int frame, const Scope& scope)
      : state_(state),
        index_(frame),
        frame_(state->frame(frame)),
        scope_(scope),
        // The loops of one graph differ in their names, however often each is differentiated.
        loop_(scope, absl::StrCat(LastPart(frame_.name), "_grad"), frame_.parallel_iterations),
        saved_(state, frame, &loop_) {
    loop_.set_override([this](Output value) { return saved_.Read(value); });
    // A loop in a branch runs only if all that enters it is alive, so nothing may be alive where the branch is not
    // taken.
    branches_ = state->contexts().Branches(state->contexts().OfFrame(frame));
    if (!branches_.empty()) loop_.set_guard([this](Output outside) { return IntoBranches(outside); });
  }

  // The loop itself: as many trips as the forward one made.
  void Open() {
    const int left = loop_.AddVariable(saved_.TripCount(), Shape::Scalar());
    loop_.SetCondition(ops::Greater(loop_.condition(), loop_.Entering(left), 0));
    const Output trip = ops::Sub(loop_.body(), loop_.Inside(left), 1);
    loop_.SetNext(left, trip);
    saved_.set_trip(trip);
  }

  const Scope& body() const { return loop_.body(); }

  // The adjoint of a variable: `last` after the last trip. Gives its value at the end of a trip.
  Output AddAdjoint(const LoopVariable& variable, const Gradient& last) {
    Output init = last.is_slices() ? ToDense(scope_, last) : last.dense();
    if (!init) init = Zeros(scope_, LastValue(variable));
    const int adjoint = loop_.AddVariable(init, init ? ValueShape(variable.merge->output(0)) : Shape());
    adjoints_.push_back(adjoint);
    return loop_.Inside(adjoint);
  }
  // Its value at the beginning of the trip, and thereby what it is before the first.
  Output CloseAdjoint(size_t i, const LoopVariable& variable, const Gradient& grad) {
    Output next = grad.is_slices() ? ToDense(loop_.body(), grad) : grad.dense();
    if (!next) next = Zeros(loop_.body(), variable.switch_node->output(1));
    loop_.SetNext(adjoints_[i], next);
    return loop_.Exit(adjoints_[i]);
  }

  // The sum over all trips of the gradients of `outside`, which is the same in each.
  Gradient Sum(Output outside, const Gradient& grad) {
    if (grad.none()) return Gradient();
    if (grad.is_slices()) return Collect(outside, grad.slices());
    if (const Output sum = SumOfProducts(outside, grad.dense())) return sum;
    const int sum = loop_.AddVariable(Zeros(scope_, outside), ValueShape(outside));
    loop_.SetNext(sum, grad.dtype() == DType::kVariant ? ops::AddN(loop_.body(), {loop_.Inside(sum), grad.dense()})
                                                       : ops::AddV2(loop_.body(), loop_.Inside(sum), grad.dense()));
    return loop_.Exit(sum);
  }

  absl::Status Close() { return saved_.Resolve(); }

 private:
  Output IntoBranches(Output tensor) {
    for (const Branch& branch : branches_) {
      auto sides = ops::Switch(scope_, tensor, branch.predicate);
      tensor = branch.side ? sides.output_true : sides.output_false;
    }
    return tensor;
  }

  Output LastValue(const LoopVariable& variable) {
    if (variable.exit != nullptr) return variable.exit->output(0);
    const Output merge = variable.merge->output(0);
    if (ValueShape(merge).IsFullyDefined() && merge.dtype() != DType::kVariant) return merge;  // only its shape counts
    const Output exit = ops::Exit(state_->forward(), variable.switch_node->output(0));
    if (exit) state_->NoteAdded(exit.node(), frame_.parent, state_->contexts().OfFrame(index_));
    return exit;
  }

  // Where `grad` is a product A^T B, the sum over the trips is the product of all trips' rows of A with those of B: one
  // large product after the loop in the place of many small ones, each of them added up. None where it is not, or where
  // the rows would take more room than what they save.
  Output SumOfProducts(Output outside, Output grad) {
    Node* product = grad.node();
    const Shape shape = ValueShape(outside);
    if (product->op() != "MatMul" || !product->GetAttr<bool>("transpose_a") || product->GetAttr<bool>("transpose_b") ||
        !product->consumers().empty() || shape.rank() != 2 || !shape.IsFullyDefined()) {
      return Output();
    }
    const Output factors[] = {product->input(0), product->input(1)};
    const Shape rows = factors[0].shape();
    if (rows.has_rank() && rows.dim(0) != kUnknownDim &&
        rows.dim(0) * (shape.dim(0) + shape.dim(1)) > shape.num_elements()) {
      return Output();
    }
    Output all[2];
    for (int i = 0; i < 2; ++i) {
      all[i] = Concatenate(factors[i], ops::Const(scope_, Tensor(grad.dtype(), {0, shape.dim(i)})));
    }
    scope_.RecordError(scope_.graph()->RemoveNode(product));
    return ops::MatMul(scope_, all[0], all[1], {.transpose_a = true});
  }

  Gradient Collect(Output outside, const IndexedSlices& slices) {
    IndexedSlices all;
    all.values = Concatenate(slices.values, SliceRowsOf(outside));
    all.indices =
        Concatenate(slices.indices, ops::Const(scope_, *Tensor::Allocate(slices.indices.dtype(), Shape({0}))));
    const Shape shape = ValueShape(outside);
    all.dense_shape = shape.IsFullyDefined() ? ops::Const(scope_, Tensor::Vector<int64_t>(shape.dims()))
                                             : ops::Shape(scope_, Value(scope_, outside), {.out_type = DType::kInt64});
    return all;
  }

  Output SliceRowsOf(Output outside) {
    ScopeGuard guard(scope_);
    return SliceRows(Value(scope_, outside), 0, 0);
  }

  // All trips' values along axis 0. `none`: no rows, so that the list has a shape where the loop made no trip.
  Output Concatenate(Output value, Output none) {
    if (!none) return Output();
    Shape shape = none.shape();
    if (shape.has_rank()) shape.set_dim(0, kUnknownDim);
    const Input element_shape = shape.has_rank() ? Input(shape) : Input(Tensor::Scalar<int32_t>(-1));
    Output list = ops::EmptyTensorList(scope_, element_shape, -1, none.dtype());
    const int variable = loop_.AddVariable(ops::TensorListPushBack(scope_, list, none), Shape::Scalar());
    loop_.SetNext(variable, ops::TensorListPushBack(loop_.body(), loop_.Inside(variable), value));
    return ops::TensorListConcatV2(scope_, loop_.Exit(variable), element_shape,
                                   *Tensor::Allocate(DType::kInt64, Shape({0})), none.dtype())
        .tensor;
  }

  ControlState* state_;
  int index_;
  const Frame& frame_;
  Scope scope_;
  LoopBuilder loop_;
  SavedValues saved_;
  std::vector<int> adjoints_;
  std::vector<Branch> branches_;
};

}  // namespace

absl::StatusOr<LoopGradients> LoopGradient(ControlState* state, int frame, const Scope& scope, const Grads& exits,
                                           const std::function<bool(const Node*)>& between,
                                           const BodyGradient& body_gradient) {
  const Frame& forward = state->frame(frame);
  NABLA_RETURN_IF_ERROR(CheckForm(forward));
  BackwardLoop backward(state, frame, scope);
  backward.Open();

  Outputs ys, xs;
  Grads grad_ys;
  std::vector<size_t> carried, passed_on, constant;  // indices of variables, variables and invariants
  for (size_t k = 0; k < forward.variables.size(); ++k) {
    const LoopVariable& variable = forward.variables[k];
    if (!between(variable.merge) || !IsBackpropagatable(variable.merge->output_dtype(0))) continue;
    if (IsPassThrough(variable)) {
      passed_on.push_back(k);
      continue;
    }
    carried.push_back(k);
    ys.push_back(variable.next_iteration->input(0));
    grad_ys.push_back(backward.AddAdjoint(variable, exits[k]));
  }
  for (size_t i = 0; i < forward.invariants.size(); ++i) {
    if (between(forward.invariants[i]) && IsBackpropagatable(forward.invariants[i]->output_dtype(0))) {
      constant.push_back(i);
    }
  }
  for (size_t k : carried) xs.push_back(forward.variables[k].merge->output(0));
  for (size_t k : passed_on) xs.push_back(forward.variables[k].merge->output(0));
  for (size_t i : constant) xs.push_back(forward.invariants[i]->output(0));
  NABLA_RETURN_IF_ERROR(scope.status());

  Grads grads(xs.size());
  if (!ys.empty()) {
    NABLA_ASSIGN_OR_RETURN(grads, body_gradient(backward.body(), frame, ys, grad_ys, xs));
  }
  LoopGradients result{Grads(forward.variables.size()), Grads(forward.invariants.size())};
  size_t next = 0;
  for (size_t i = 0; i < carried.size(); ++i, ++next) {
    result.variables[carried[i]] = backward.CloseAdjoint(i, forward.variables[carried[i]], grads[next]);
  }
  for (size_t k : passed_on) {
    const Gradient sum = backward.Sum(forward.variables[k].enter->input(0), grads[next++]);
    result.variables[k] = Aggregate(scope, forward.name, {sum, exits[k]}, AggregationMethod::kAddN);
  }
  for (size_t i : constant) {
    result.invariants[i] = backward.Sum(forward.invariants[i]->input(0), grads[next++]);
  }
  NABLA_RETURN_IF_ERROR(backward.Close());
  NABLA_RETURN_IF_ERROR(scope.status());
  return result;
}

}  // namespace nabla

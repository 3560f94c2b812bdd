#include "nabla/gradients/adjoint_loop.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "nabla/gradients/indexed_slices.h"
#include "nabla/graph/resource_handle.h"
#include "nabla/ops/ops.h"

namespace nabla {
namespace {

// How many rows a matrix is taken to have that does not say, a batch of examples as a rule.
constexpr int64_t kUsualRows = 32;

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

}  // namespace

AdjointLoop::AdjointLoop(ControlState* state, int frame, const Scope& scope, int64_t parallel_iterations)
    : state_(state),
      frame_(frame),
      scope_(scope),
      // The loops of one graph differ in their names, however often each is differentiated.
      loop_(scope, absl::StrCat(LastPart(state->frame(frame).name), "_grad"), parallel_iterations) {
  // A loop in a branch runs only if all that enters it is alive, so nothing may be alive where the branch is not taken.
  branches_ = state->contexts().Branches(state->contexts().OfFrame(frame));
  if (!branches_.empty()) loop_.set_guard([this](Output outside) { return IntoBranches(outside); });
}

Output AdjointLoop::AddAdjoint(const LoopVariable& variable, const Gradient& last) {
  Output init = last.is_slices() ? ToDense(scope_, last) : last.dense();
  if (!init) init = Zeros(scope_, LastValue(variable));
  const int adjoint = loop_.AddVariable(init, init ? ValueShape(variable.merge->output(0)) : Shape());
  adjoints_.push_back(adjoint);
  return loop_.Inside(adjoint);
}

Output AdjointLoop::CloseAdjoint(size_t i, const Gradient& grad, Output like) {
  Output next = grad.is_slices() ? ToDense(loop_.body(), grad) : grad.dense();
  if (!next) next = Zeros(loop_.body(), like);
  loop_.SetNext(adjoints_[i], next);
  return loop_.Exit(adjoints_[i]);
}

Gradient AdjointLoop::Sum(Output outside, const Gradient& grad, bool collect_products) {
  if (grad.none()) return Gradient();
  if (grad.is_slices()) return Collect(outside, grad.slices());
  if (collect_products) {
    if (const Output sum = SumOfProducts(outside, grad.dense())) return sum;
  }
  const int sum = loop_.AddVariable(Zeros(scope_, outside), ValueShape(outside));
  loop_.SetNext(sum, grad.dtype() == DType::kVariant ? ops::AddN(loop_.body(), {loop_.Inside(sum), grad.dense()})
                                                     : ops::AddV2(loop_.body(), loop_.Inside(sum), grad.dense()));
  return loop_.Exit(sum);
}

Output AdjointLoop::IntoBranches(Output tensor) {
  for (const Branch& branch : branches_) {
    auto sides = ops::Switch(scope_, tensor, branch.predicate);
    tensor = branch.side ? sides.output_true : sides.output_false;
  }
  return tensor;
}

Output AdjointLoop::LastValue(const LoopVariable& variable) {
  if (variable.exit != nullptr) return variable.exit->output(0);
  const Output merge = variable.merge->output(0);
  if (ValueShape(merge).IsFullyDefined() && merge.dtype() != DType::kVariant) return merge;  // only its shape counts
  const Output exit = ops::Exit(state_->forward(), variable.switch_node->output(0));
  if (exit) state_->NoteAdded(exit.node(), state_->frame(frame_).parent, state_->contexts().OfFrame(frame_));
  return exit;
}

Output AdjointLoop::SumOfProducts(Output outside, Output grad) {
  Node* product = grad.node();
  const Shape shape = ValueShape(outside);
  if (product->op() != "MatMul" || !product->GetAttr<bool>("transpose_a") || product->GetAttr<bool>("transpose_b") ||
      !product->consumers().empty() || shape.rank() != 2 || !shape.IsFullyDefined()) {
    return Output();
  }
  const Output factors[] = {product->input(0), product->input(1)};
  const Shape factor = factors[0].shape();
  const int64_t rows = factor.has_rank() && factor.dim(0) != kUnknownDim ? factor.dim(0) : kUsualRows;
  if (rows > shape.num_elements() / std::max<int64_t>(1, shape.dim(0) + shape.dim(1))) return Output();
  Output all[2];
  for (int i = 0; i < 2; ++i) {
    all[i] = Concatenate(factors[i], ops::Const(scope_, Tensor(grad.dtype(), {0, shape.dim(i)})));
  }
  scope_.RecordError(scope_.graph()->RemoveNode(product));
  return ops::MatMul(scope_, all[0], all[1], {.transpose_a = true});
}

Gradient AdjointLoop::Collect(Output outside, const IndexedSlices& slices) {
  IndexedSlices all;
  all.values = Concatenate(slices.values, SliceRowsOf(outside));
  all.indices = Concatenate(slices.indices, ops::Const(scope_, *Tensor::Allocate(slices.indices.dtype(), Shape({0}))));
  const Shape shape = ValueShape(outside);
  all.dense_shape = shape.IsFullyDefined() ? ops::Const(scope_, Tensor::Vector<int64_t>(shape.dims()))
                                           : ops::Shape(scope_, Value(scope_, outside), {.out_type = DType::kInt64});
  return all;
}

Output AdjointLoop::SliceRowsOf(Output outside) {
  ScopeGuard guard(scope_);
  return SliceRows(Value(scope_, outside), 0, 0);
}

// All iterations' values along axis 0. `none`: no rows, so that the list has a shape where there was no iteration.
Output AdjointLoop::Concatenate(Output value, Output none) {
  if (!none || !value) return Output();
  state_->NoteSaved(frame_, value);
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

}  // namespace nabla

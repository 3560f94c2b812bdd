#include "nabla/gradients/saved_values.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "nabla/gradients/conditional_grad.h"
#include "nabla/gradients/loop_variable.h"
#include "nabla/gradients/rule_util.h"
#include "nabla/graph/constant_value.h"
#include "nabla/graph/status_macros.h"
#include "nabla/ops/ops.h"

namespace nabla {
namespace {

// The same op with the same attrs on the same operands, which the scope's captures bring into its body.
Node* Again(const Scope& scope, Node* node) {
  NodeBuilder builder(scope, node->op());
  int next = 0;
  for (const ArgSpec& arg : node->spec().inputs()) {
    if (!arg.IsList()) {
      builder.Input(node->input(next++));
      continue;
    }
    const int64_t length = arg.number_attr.empty()
                               ? static_cast<int64_t>(node->GetAttr<std::vector<DType>>(arg.type_list_attr).size())
                               : node->GetAttr<int64_t>(arg.number_attr);
    Outputs list;
    for (int64_t i = 0; i < length; ++i) list.push_back(node->input(next++));
    builder.InputList(list);
  }
  for (const auto& [name, value] : node->attrs()) {
    if (name[0] != '_') builder.Attr(name, value);
  }
  return builder.Finish();
}

bool IsReshape(const std::string& op) { return op == "Reshape" || op == "ExpandDims" || op == "Squeeze"; }

bool IsControlFlow(const Node& node) {
  return IsEnter(node) || IsExit(node) || IsMerge(node) || IsSwitch(node) || IsNextIteration(node) || IsLoopCond(node);
}

// A shape as the lists take it: -1 for what is unknown.
Tensor ElementShape(const Shape& shape) {
  if (!shape.has_rank()) return Tensor::Scalar<int32_t>(-1);
  std::vector<int32_t> dims;
  for (int64_t dim : shape.dims()) dims.push_back(dim > INT32_MAX ? -1 : static_cast<int32_t>(dim));
  return Tensor::Vector<int32_t>(dims);
}

// One list on both sides of a conditional: in `take` the side where the work is done, in `skip` the other.
struct Detour {
  Output skip;
  bool side;
};

// Leads `list` into the branches, innermost last.
Output EnterBranches(const Scope& scope, Output list, const std::vector<Branch>& branches,
                     std::vector<Detour>* detours) {
  for (const Branch& branch : branches) {
    auto sides = ops::Switch(scope, list, branch.predicate);
    detours->push_back({branch.side ? sides.output_false : sides.output_true, branch.side});
    list = branch.side ? sides.output_true : sides.output_false;
  }
  return list;
}

Output LeaveBranches(const Scope& scope, Output list, std::vector<Detour>* detours) {
  for (; !detours->empty(); detours->pop_back()) {
    const Detour& detour = detours->back();
    list = detour.side ? ops::Merge(scope, {detour.skip, list}).output : ops::Merge(scope, {list, detour.skip}).output;
  }
  return list;
}

}  // namespace

Output BehindIdentities(Output tensor) {
  while (tensor && tensor.node()->op() == "Identity") tensor = tensor.node()->input(0);
  return tensor;
}

bool IsPassThrough(const LoopVariable& variable) {
  return variable.switch_node != nullptr && variable.next_iteration != nullptr &&
         BehindIdentities(variable.next_iteration->input(0)) == variable.switch_node->output(1);
}

SavedValues::SavedValues(ControlState* state, int frame, LoopBuilder* backward)
    : state_(state), frame_(frame), backward_(backward) {
  for (const LoopVariable& variable : state->frame(frame).variables) {
    variables_[variable.merge->output(0)] = &variable;
    if (variable.switch_node != nullptr) variables_[variable.switch_node->output(1)] = &variable;
  }
}

const LoopVariable* SavedValues::VariableOf(Output value) const {
  const auto it = variables_.find(value);
  return it == variables_.end() ? nullptr : it->second;
}

bool SavedValues::AsCounter(const LoopVariable& variable, Counter* counter) const {
  if (variable.switch_node == nullptr || variable.next_iteration == nullptr) return false;
  const DType dtype = variable.merge->output_dtype(0);
  if (dtype != DType::kInt32 && dtype != DType::kInt64) return false;
  const Output next = BehindIdentities(variable.next_iteration->input(0));
  const std::string& op = next.node()->op();
  if (op != "Add" && op != "AddV2" && op != "Sub") return false;
  for (int i = 0; i < (op == "Sub" ? 1 : 2); ++i) {
    if (BehindIdentities(next.node()->input(i)) != variable.switch_node->output(1)) continue;
    const Output step = next.node()->input(1 - i);
    const absl::optional<Tensor> value = ConstantValue(step);
    if (!value || !value->shape().IsScalar()) return false;
    const int64_t by = dtype == DType::kInt32 ? value->scalar<int32_t>() : value->scalar<int64_t>();
    *counter = {variable.enter->input(0), op == "Sub" ? -by : by};
    return true;
  }
  return false;
}

Output SavedValues::TripCount() {
  const Frame& frame = state_->frame(frame_);
  for (const LoopVariable& variable : frame.variables) {
    Counter counter;
    if (variable.exit == nullptr || !AsCounter(variable, &counter) || counter.step != 1) continue;
    const absl::optional<Tensor> start = ConstantValue(counter.start);
    if (!start || start->dtype() != DType::kInt32 || !start->shape().IsScalar() || start->scalar<int32_t>() != 0) {
      continue;
    }
    return variable.exit->output(0);
  }
  const Scope scope = state_->forward().Sub("trips");
  AddedVariable trips(state_, frame_, scope,
                      ops::Const(AroundLoop(*state_, frame_, scope), Tensor::Scalar<int32_t>(0)));
  const Scope inside = scope.WithControl({trips.Inside()});
  trips.SetNext(ops::AddV2(scope, trips.Inside(), ops::Const(inside, Tensor::Scalar<int32_t>(1))));
  return trips.Exit();
}

Output SavedValues::CounterValue(const Counter& counter, DType dtype) {
  const Scope& body = backward_->body();
  Output trip = dtype == DType::kInt32 ? trip_ : ops::Cast(body, trip_, dtype);
  if (counter.step != 1) trip = ops::Mul(body, trip, counter.step);
  const absl::optional<Tensor> start = ConstantValue(counter.start);
  const bool from_zero = start && start->shape().IsScalar() &&
                         (dtype == DType::kInt32 ? start->scalar<int32_t>() : start->scalar<int64_t>()) == 0;
  return from_zero ? trip : ops::AddV2(body, trip, counter.start);
}

absl::StatusOr<Output> SavedValues::Read(Output value) {
  const int frame = state_->FrameOf(value);
  if (!state_->IsInside(frame, frame_)) return Output();
  if (frame != frame_) return value;  // for the capture of the loop inside
  value = BehindAliases(value);
  const auto it = read_.find(value);
  if (it != read_.end()) return it->second;
  NABLA_ASSIGN_OR_RETURN(Output read, ReadNow(value));
  if (read) read_[value] = read;
  return read;
}

Output SavedValues::BehindAliases(Output value) const {
  while (true) {
    const Node* node = value.node();
    const LoopVariable* variable = VariableOf(value);
    if (node->op() == "Identity" && state_->ContextOf(node->input(0)) == state_->ContextOf(value)) {
      value = node->input(0);
    } else if (variable != nullptr && IsMerge(*node) && variable->switch_node != nullptr) {
      value = variable->switch_node->output(1);  // what the condition sees goes on into the body unchanged
    } else {
      return value;
    }
  }
}

absl::StatusOr<Output> SavedValues::ReadNow(Output value) {
  const Scope& body = backward_->body();
  Node* node = value.node();
  if (IsEnter(*node) && node->GetAttr<bool>("is_constant")) return backward_->Invariant(node->input(0));
  if (node->op() == "Const") {
    const std::vector<Branch> branches = state_->contexts().Branches(state_->ContextOf(value));
    return ops::Const(InBranches(body, branches), node->GetAttr<Tensor>("value"));
  }
  if (const LoopVariable* variable = VariableOf(value)) {
    if (IsPassThrough(*variable)) return backward_->Invariant(variable->enter->input(0));
    Counter counter;
    if (AsCounter(*variable, &counter)) return CounterValue(counter, value.dtype());
  }
  const Output placeholder = ops::Placeholder(body, BaseDType(value.dtype()), {.shape = value.shape()});
  if (placeholder) placeholders_.emplace_back(value, placeholder);
  return placeholder;
}

absl::Status SavedValues::Resolve() {
  Graph* graph = state_->forward().graph();
  for (size_t i = 0; i < placeholders_.size(); ++i) {  // grows meanwhile
    const auto [value, placeholder] = placeholders_[i];
    if (!placeholder.node()->consumers().empty()) {
      NABLA_ASSIGN_OR_RETURN(const bool shape_only, ResolveShapeOnly(value, placeholder));
      if (shape_only) {
        read_.erase(value);
      } else {
        Output actual;
        if (IsFree(value)) {
          actual = Rebuild(value);
        } else {
          NABLA_ASSIGN_OR_RETURN(actual, SaveAndPop(value));
        }
        NABLA_RETURN_IF_ERROR(state_->forward().status());
        if (!actual) return backward_->body().status();
        NABLA_RETURN_IF_ERROR(graph->ReplaceUses(placeholder, actual));
        read_[value] = actual;
      }
    } else {
      read_.erase(value);
    }
    // What is left are control edges, if anything.
    std::vector<Node*> waiting;
    for (const Edge& edge : placeholder.node()->consumers()) waiting.push_back(edge.consumer);
    for (Node* node : waiting) graph->RemoveControlEdge(placeholder.node(), node);
    NABLA_RETURN_IF_ERROR(graph->RemoveNode(placeholder.node()));
  }
  placeholders_.clear();
  return backward_->body().status();
}

absl::optional<SavedValues::Origin> SavedValues::KnownOrigin(Output value) const {
  const Node& node = *value.node();
  if (state_->FrameOf(value) != frame_) return Origin::kMore;
  if (node.op() == "Const" || (IsEnter(node) && node.GetAttr<bool>("is_constant"))) return Origin::kInvariants;
  if (const LoopVariable* variable = VariableOf(value)) {
    if (IsPassThrough(*variable)) return Origin::kInvariants;
    Counter counter;
    return AsCounter(*variable, &counter) ? Origin::kTrip : Origin::kMore;
  }
  if (node.num_inputs() == 0 || node.spec().is_stateful() || IsControlFlow(node)) return Origin::kMore;
  const auto it = origins_.find(&node);
  if (it != origins_.end()) return it->second;
  return absl::nullopt;
}

SavedValues::Origin SavedValues::OriginOf(Output value) {
  std::vector<Output> stack = {value};
  while (!stack.empty()) {
    const Output top = stack.back();
    if (KnownOrigin(top)) {
      stack.pop_back();
      continue;
    }
    Origin origin = Origin::kInvariants;
    Output unknown;
    for (int i = 0; i < top.node()->num_inputs() && !unknown; ++i) {
      const absl::optional<Origin> input = KnownOrigin(top.node()->input(i));
      if (!input) {
        unknown = top.node()->input(i);
      } else {
        origin = std::max(origin, *input);
      }
    }
    if (unknown) {
      stack.push_back(unknown);
    } else {
      origins_[top.node()] = origin;
    }
  }
  return *KnownOrigin(value);
}

bool SavedValues::IsFree(Output value) {
  const Node& node = *value.node();
  if (IsBranchSwitch(node) || IsReshape(node.op())) return true;
  switch (OriginOf(value)) {
    case Origin::kInvariants:
      return state_->ContextOf(value) == 0;
    case Origin::kTrip:
      return (value.shape().IsScalar() || node.op() == "TensorListGetItem") && state_->ContextOf(value) == 0;
    case Origin::kMore:
      break;
  }
  return false;
}

Output SavedValues::Rebuild(Output value) {
  Node* again = Again(backward_->body(), value.node());
  return again == nullptr ? Output() : again->output(value.index());
}

absl::StatusOr<bool> SavedValues::ResolveShapeOnly(Output value, Output placeholder) {
  std::vector<Node*> readers;
  for (const Edge& edge : placeholder.node()->consumers()) {
    if (edge.IsControl()) continue;
    const std::string& op = edge.consumer->op();
    if (op != "Shape" && (op != "ZerosLike" || value.dtype() == DType::kVariant)) return false;
    readers.push_back(edge.consumer);
  }
  if (IsFree(value)) return false;
  Graph* graph = state_->forward().graph();
  const Scope& body = backward_->body();
  Output shape;
  const auto saved_shape = [&]() -> absl::StatusOr<Output> {
    if (shape) return shape;
    const Output forward = ops::Shape(state_->forward().Sub("saved"), value);
    if (!forward) return state_->forward().status();
    state_->NoteAdded(forward.node(), frame_, state_->ContextOf(value));
    NABLA_ASSIGN_OR_RETURN(shape, Read(forward));
    return shape;
  };
  for (Node* reader : readers) {
    Output actual;
    if (value.shape().IsFullyDefined() && reader->op() == "ZerosLike") {
      actual = ops::Fill(body, value.shape(), ops::Const(body, 0, reader->output_dtype(0)));
    } else if (value.shape().IsFullyDefined()) {
      actual = ops::Const(body, reader->output_dtype(0) == DType::kInt64 ? Tensor::Vector<int64_t>(value.shape().dims())
                                                                         : ElementShape(value.shape()));
    } else {
      NABLA_ASSIGN_OR_RETURN(actual, saved_shape());
      if (reader->op() == "ZerosLike") {
        actual = ops::Fill(body, actual, ops::Const(body, 0, reader->output_dtype(0)));
      } else if (reader->output_dtype(0) != actual.dtype()) {
        actual = ops::Cast(body, actual, reader->output_dtype(0));
      }
    }
    if (!actual) return body.status();
    NABLA_RETURN_IF_ERROR(graph->ReplaceUses(reader->output(0), actual));
    while (!reader->consumers().empty()) graph->RemoveControlEdge(reader, reader->consumers().begin()->consumer);
    NABLA_RETURN_IF_ERROR(graph->RemoveNode(reader));
  }
  return true;
}

absl::StatusOr<Output> SavedValues::SaveAndPop(Output value) {
  const Scope scope = state_->forward().Sub("saved");
  const Scope around = AroundLoop(*state_, frame_, scope);
  const Tensor element_shape = ElementShape(value.shape());
  const std::vector<Branch> branches = state_->contexts().Branches(state_->ContextOf(value));
  std::vector<Detour> detours;
  // Forward: one more variable, onto which every trip pushes.
  AddedVariable saved(state_, frame_, scope, ops::EmptyTensorList(around, element_shape, -1, BaseDType(value.dtype())));
  Output list = EnterBranches(scope, saved.Inside(), branches, &detours);
  list = ops::TensorListPushBack(scope, list, value);
  saved.SetNext(LeaveBranches(scope, list, &detours));
  // Backward: the same list, from its end.
  const Scope& body = backward_->body();
  const int variable = backward_->AddVariable(saved.Exit(), Shape::Scalar());
  list = EnterBranches(body, backward_->Inside(variable), branches, &detours);
  auto popped = ops::TensorListPopBack(body, list, element_shape, BaseDType(value.dtype()));
  backward_->SetNext(variable, LeaveBranches(body, popped.output_handle, &detours));
  if (popped.tensor) NABLA_RETURN_IF_ERROR(scope.graph()->RefineShape(popped.tensor, value.shape()));
  return popped.tensor;
}

}  // namespace nabla

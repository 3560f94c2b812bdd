#include "nabla/gradients/saved_values.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "nabla/gradients/conditional_grad.h"
#include "nabla/gradients/loop_counter.h"
#include "nabla/gradients/loop_variable.h"
#include "nabla/gradients/rule_util.h"
#include "nabla/gradients/transform_util.h"
#include "nabla/graph/status_macros.h"
#include "nabla/ops/ops.h"

namespace nabla {
namespace {

bool IsReshape(const std::string& op) { return op == "Reshape" || op == "ExpandDims" || op == "Squeeze"; }

// Whether it takes one element out of something: to do that again is no more work than to keep it.
bool TakesElement(const Node& node) {
  if (node.op() == "TensorListGetItem") return true;
  return node.op() == "GatherV2" && node.input(1).shape().IsScalar() && node.GetAttr<int64_t>("batch_dims") == 0;
}

bool IsControlFlow(const Node& node) {
  return IsEnter(node) || IsExit(node) || IsMerge(node) || IsSwitch(node) || IsNextIteration(node) || IsLoopCond(node);
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
    if (const absl::optional<LoopCounter> counter = AsCounter(*variable)) {
      return CounterValue(body, *counter, value.dtype(), trip_);
    }
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
        } else if (const LoopVariable* variable = NextOf(value)) {
          NABLA_ASSIGN_OR_RETURN(actual, CarryOver(*variable));
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
    return AsCounter(*variable) ? Origin::kTrip : Origin::kMore;
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
      return (value.shape().IsScalar() || TakesElement(node)) && state_->ContextOf(value) == 0;
    case Origin::kMore:
      break;
  }
  return false;
}

Output SavedValues::Rebuild(Output value) {
  const Node* node = value.node();
  Outputs inputs;
  for (int i = 0; i < node->num_inputs(); ++i) inputs.push_back(node->input(i));
  Node* again = CopyOp(backward_->body(), node, inputs);  // the scope's captures bring the operands into its body
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
                                                                         : ListElementShape(value.shape()));
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

const LoopVariable* SavedValues::NextOf(Output value) const {
  if (VariableOf(value) != nullptr) return nullptr;
  const LoopVariable* found = nullptr;
  for (const LoopVariable& variable : state_->frame(frame_).variables) {
    if (variable.switch_node == nullptr || variable.next_iteration == nullptr) continue;
    if (BehindAliases(variable.next_iteration->input(0)) != value) continue;
    // Between trips the value has the variable's shape, which may be wider.
    if (variable.merge->output_shape(0) != value.shape() || variable.merge->output_dtype(0) != value.dtype()) continue;
    if (read_.contains(variable.switch_node->output(1))) return &variable;
    if (found == nullptr) found = &variable;
  }
  return found;
}

absl::StatusOr<Output> SavedValues::CarryOver(const LoopVariable& variable) {
  Output last;
  if (variable.exit != nullptr) {
    last = variable.exit->output(0);
  } else {
    last = ops::Exit(state_->forward(), variable.switch_node->output(0));
    if (!last) return state_->forward().status();
    state_->NoteAdded(last.node(), state_->frame(frame_).parent, state_->contexts().OfFrame(frame_));
  }
  const int carried = backward_->AddVariable(last, variable.merge->output_shape(0));
  NABLA_ASSIGN_OR_RETURN(const Output before, Read(variable.switch_node->output(1)));
  backward_->SetNext(carried, before);
  return backward_->Inside(carried);
}

absl::StatusOr<Output> SavedValues::SaveAndPop(Output value) {
  const Scope scope = state_->forward().Sub("saved");
  const Scope around = AroundLoop(*state_, frame_, scope);
  state_->NoteSaved(frame_, value);
  const Tensor element_shape = ListElementShape(value.shape());
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

#include "nabla/gradients/replay.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "nabla/gradients/loop_counter.h"
#include "nabla/gradients/transform_util.h"
#include "nabla/graph/status_macros.h"
#include "nabla/ops/ops.h"

namespace nabla {
namespace {

bool ReadsVariable(const Node& node) {
  const std::string& op = node.op();
  return op == "ReadVariableOp" || op == "ResourceGather" || op == "ResourceGatherNd" || op == "VariableShape" ||
         op == "VarHandleOp";  // which the others take
}

bool TakesResource(const Node& node) {
  for (int i = 0; i < node.num_inputs(); ++i) {
    if (node.input(i) && BaseDType(node.input(i).dtype()) == DType::kResource) return true;
  }
  return false;
}

std::string LastPart(const std::string& name) {
  const size_t slash = name.rfind('/');
  return slash == std::string::npos ? name : name.substr(slash + 1);
}

}  // namespace

bool Replay::IsInvariant(const Node& node) const { return IsEnter(node) && state_->FrameOf(&node) == frame_; }

// What a node without inputs waits for in a branch or in a loop inside; the loop itself has something of its own.
std::vector<Node*> Replay::Waits(const Node* node) const {
  std::vector<Node*> waits;
  if (node->num_inputs() > 0 || node->num_control_inputs() == 0) return waits;
  if (state_->FrameOf(node) == frame_ && state_->ContextOf(Output(const_cast<Node*>(node), 0)) == 0) return waits;
  absl::flat_hash_set<const Node*> seen;
  std::vector<Node*> sources = node->control_inputs();
  for (size_t i = 0; i < sources.size(); ++i) {
    Node* source = sources[i];
    if (!seen.insert(source).second || !state_->IsInside(state_->FrameOf(source), frame_)) continue;
    if (IsInvariant(*source)) continue;  // there in every trip, and in no branch
    if (source->num_outputs() == 0) {    // a NoOp that stands for others
      const std::vector<Node*> more = source->control_inputs();
      sources.insert(sources.end(), more.begin(), more.end());
    } else if (!source->spec().is_stateful()) {
      waits.push_back(source);
    }
  }
  return waits;
}

absl::Status Replay::CheckRepeatable() const {
  const auto refuse = [&](const Node* culprit, absl::string_view why) {
    return absl::UnimplementedError(absl::StrCat("Gradients: loop '", state_->frame(frame_).name,
                                                 "' cannot be checkpointed: '", culprit->name(),
                                                 "' (op type: ", culprit->op(), ") ", why));
  };
  const Node* reader = nullptr;
  for (const Node* node : nodes_) {
    if (!node->spec().is_stateful() || node->op() == "VarHandleOp") continue;
    if (!ReadsVariable(*node)) return refuse(node, "has effects or may give something else when it is computed again");
    if (reader == nullptr) reader = node;
  }
  if (reader == nullptr) return absl::OkStatus();
  for (size_t f = 0; f < state_->flow().frames.size(); ++f) {
    if (!state_->IsInside(static_cast<int>(f), frame_)) continue;
    for (const Node* other : state_->frame(static_cast<int>(f)).nodes) {
      if (other->spec().is_stateful() && TakesResource(*other) && !ReadsVariable(*other)) {
        return refuse(other, absl::StrCat("may change what '", reader->name(), "' reads"));
      }
    }
  }
  return absl::OkStatus();
}

// Appends the nodes that `start` depends on, inputs first. What closes loops is noted in `loops`, to go on from.
void Replay::Collect(Output start, std::vector<Output>* loops) {
  struct Visit {
    Node* node;
    std::vector<Output> inputs;
    size_t next = 0;
  };
  std::vector<Visit> stack;
  const auto visit = [&](Output tensor) {
    if (!tensor) return;
    if (const auto it = variable_of_.find(tensor); it != variable_of_.end()) {
      read_.push_back(it->second);
      return;
    }
    Node* const node = tensor.node();
    if (!seen_.insert(node).second) return;
    Visit entry{node, {}};
    if (!IsInvariant(*node)) {
      for (int i = 0; i < node->num_inputs(); ++i) {
        (ClosesLoop(*node, i) ? loops : &entry.inputs)->push_back(node->input(i));
      }
      for (Node* wait : Waits(node)) entry.inputs.push_back(wait->output(0));
    }
    stack.push_back(std::move(entry));
  };
  visit(start);
  while (!stack.empty()) {
    Visit& top = stack.back();
    if (top.next < top.inputs.size()) {
      visit(Output(top.inputs[top.next++]));
      continue;
    }
    nodes_.push_back(top.node);
    stack.pop_back();
  }
}

absl::StatusOr<Replay> Replay::Of(const ControlState* state, int frame, const std::vector<size_t>& wanted) {
  Replay replay(state, frame);
  const std::vector<LoopVariable>& variables = state->frame(frame).variables;
  for (size_t k = 0; k < variables.size(); ++k) {
    replay.variable_of_[variables[k].merge->output(0)] = k;
    replay.variable_of_[variables[k].switch_node->output(1)] = k;
  }
  std::vector<bool> is_read(variables.size());
  replay.read_ = wanted;
  while (!replay.read_.empty()) {
    const size_t k = replay.read_.back();
    replay.read_.pop_back();
    if (is_read[k]) continue;
    is_read[k] = true;
    if (IsPassThrough(variables[k]) || AsCounter(variables[k])) {
      replay.following_.push_back(k);
      continue;
    }
    replay.variables_.push_back(k);
    if (BaseDType(variables[k].merge->output_dtype(0)) == DType::kResource) {
      return absl::UnimplementedError(absl::StrCat("Gradients: loop '", state->frame(frame).name,
                                                   "' cannot be checkpointed: its variable '",
                                                   variables[k].merge->name(), "' is a resource that changes"));
    }
    std::vector<Output> starts = {variables[k].next_iteration->input(0)};
    for (size_t i = 0; i < starts.size(); ++i) replay.Collect(Output(starts[i]), &starts);
  }
  std::sort(replay.variables_.begin(), replay.variables_.end());
  NABLA_RETURN_IF_ERROR(replay.CheckRepeatable());
  return replay;
}

Output Replay::Copy(Output original) const {
  const auto it = copies_.find(original);
  return it == copies_.end() ? Output() : it->second;
}

void Replay::CopyNode(const Scope& body, Node* node) {
  if (IsInvariant(*node)) {
    copies_[node->output(0)] = node->input(0);  // comes in by itself, whoever uses it
    return;
  }
  if (IsLoopCond(*node) && state_->FrameOf(node) == frame_) {
    copies_[node->output(0)] = Copy(node->input(0));
    return;
  }
  Outputs inputs;
  for (int i = 0; i < node->num_inputs(); ++i) {
    inputs.push_back(ClosesLoop(*node, i) ? Output() : Copy(node->input(i)));
  }
  std::vector<Node*> waits;
  for (Node* wait : Waits(node)) {
    if (const Output copy = Copy(wait->output(0))) waits.push_back(copy.node());
  }
  std::vector<std::pair<std::string, Attr>> changed;
  if (IsEnter(*node)) {
    changed.emplace_back("frame_name", absl::StrCat(body.name(), "/", node->GetAttr<std::string>("frame_name")));
  }
  const Scope scope = body.WithControl(waits).WithDevice(node->device()).Named(LastPart(node->name()));
  Node* const copy = CopyOp(scope, node, inputs, changed);
  if (copy == nullptr) return;
  for (int i = 0; i < node->num_outputs(); ++i) {
    body.RecordError(body.graph()->RefineShape(copy->output(i), node->output_shape(i)));
    copies_[node->output(i)] = copy->output(i);
  }
}

Outputs Replay::Run(const Scope& scope, absl::string_view name, Output first, Output end, const Outputs& values) {
  const Frame& frame = state_->frame(frame_);
  copies_.clear();
  LoopBuilder loop(scope, name, frame.parallel_iterations);
  const int trip = loop.AddVariable(first, Shape::Scalar());
  std::vector<int> carried;
  for (size_t i = 0; i < variables_.size(); ++i) {
    carried.push_back(loop.AddVariable(values[i], frame.variables[variables_[i]].merge->output_shape(0)));
  }
  loop.SetCondition(ops::Less(loop.condition(), loop.Entering(trip), end));
  const Scope& body = loop.body();
  const auto give = [&](const LoopVariable& variable, Output value) {
    copies_[variable.merge->output(0)] = value;
    copies_[variable.switch_node->output(1)] = value;
  };
  for (size_t i = 0; i < variables_.size(); ++i) give(frame.variables[variables_[i]], loop.Inside(carried[i]));
  for (size_t k : following_) {
    const LoopVariable& variable = frame.variables[k];
    give(variable, IsPassThrough(variable)
                       ? variable.enter->input(0)
                       : CounterValue(body, *AsCounter(variable), variable.merge->output_dtype(0), loop.Inside(trip)));
  }
  for (Node* node : nodes_) CopyNode(body, node);
  for (Node* node : nodes_) {
    for (int i = 0; i < node->num_inputs(); ++i) {
      const Output copy = ClosesLoop(*node, i) ? Copy(node->output(0)) : Output();
      if (!copy || !scope.ok()) continue;
      scope.RecordError(scope.graph()->SetBackEdge(copy.node(), i, Copy(node->input(i))));
    }
  }
  loop.SetNext(trip, ops::AddV2(body, loop.Inside(trip), 1));
  Outputs last;
  for (size_t i = 0; i < variables_.size(); ++i) {
    loop.SetNext(carried[i], Copy(frame.variables[variables_[i]].next_iteration->input(0)));
    last.push_back(loop.Exit(carried[i]));
  }
  return last;
}

Outputs Replay::Copies(const Outputs& originals) const {
  Outputs copies;
  for (Output original : originals) {
    if (const Output copy = Copy(original)) copies.push_back(copy);
  }
  return copies;
}

}  // namespace nabla

#include "nabla/runtime/frame_planner.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "nabla/graph/control_flow.h"
#include "nabla/graph/error_text.h"
#include "nabla/graph/passes/rewrite.h"
#include "nabla/graph/status_macros.h"
#include "nabla/runtime/frame_actions.h"
#include "nabla/runtime/frame_order.h"
#include "nabla/runtime/frame_waits.h"

namespace nabla {
namespace {

// A guard of more literals gets a flag of its own; while it is put together, only if there are very many, since less is
// known of one that has parts with flags.
constexpr size_t kMaxLiterals = 16;
constexpr size_t kMaxPartLiterals = 256;

using Kind = FrameAction::Kind;

bool IsInline(const Output& output) {
  const DType dtype = BaseDType(output.dtype());
  const Shape& shape = output.shape();
  int64_t bytes;
  return IsPod(dtype) && shape.IsFullyDefined() &&
         CheckedMultiply(shape.num_elements(), static_cast<int64_t>(DTypeSize(dtype)), &bytes) &&
         bytes <= static_cast<int64_t>(Tensor::kInlineBytes);
}

}  // namespace

class FramePlanner {
 public:
  FramePlanner(Plan* plan, const KernelRegistry& kernels, const Compilation& compilation, bool parallel)
      : plan_(*plan),
        kernels_(kernels),
        compilation_(compilation),
        parallel_(parallel),
        flow_(AnalyzeControlFlow(*compilation.graph)),
        values_(compilation.graph->num_node_ids()),
        node_guards_(compilation.graph->num_node_ids(), kUnguarded),
        loops_(flow_.frames.size()),
        waits_(&out_, compilation.graph->num_node_ids(), parallel) {}

  absl::Status Run() {
    NABLA_ASSIGN_OR_RETURN(const std::vector<FrameItem> items, OrderFrames(compilation_.order, flow_));
    for (const Output& feed : compilation_.feeds) {
      if (feed) is_feed_.emplace(feed.node(), AddSlot(feed, kUnguarded));
    }
    for (const FrameItem& item : items) {
      switch (item.kind) {
        case FrameItem::Kind::kNode:
          waits_.Begin({item.node});
          NABLA_RETURN_IF_ERROR(AddNode(item.node));
          waits_.Finish(*item.node);
          break;
        case FrameItem::Kind::kBegin:
          NABLA_RETURN_IF_ERROR(BeginLoop(item.frame));
          break;
        case FrameItem::Kind::kEnd:
          NABLA_RETURN_IF_ERROR(EndLoop(item.frame));
          break;
      }
    }
    NABLA_RETURN_IF_ERROR(PlaceFeedsAndFetches());
    for (SlotUse& slot : out_.slots) {
      for (SlotRead& read : slot.reads) {
        if (read.repeated) read.action = loops_[read.action].end;
      }
    }
    plan_.slot_readers_.assign(out_.slots.size(), 0);
    plan_.frames_ = std::make_unique<const FrameProgram>(
        EmitFrameProgram(std::move(out_), parallel_, plan_.input_sources_, &plan_.steps_, &plan_.releases_));
    return absl::OkStatus();
  }

 private:
  // Where a tensor is, and when.
  struct Value {
    int32_t source = 0;  // a slot, or ~index of a constant
    GuardId guard = kUnguarded;
    int scope = kRootFrame;  // the frame that `guard` is relative to
    int home = kRootFrame;   // the frame in whose iterations the slot is written
    // What the loops did that handed it out: they ended. Tells readers after a loop from those in its body.
    GuardId ended = kUnguarded;
    bool once = false;  // only in the first iteration
  };

  struct Loop {
    GuardId common = kUnguarded;  // in the parent: of all that enters
    int32_t condition = -1;       // flag of the LoopCond
    GuardId goes_on = kUnguarded;
    int32_t end = 0;                                        // action
    absl::flat_hash_map<const Node*, int32_t> index_slots;  // of Merges whose value_index is read
  };

  GuardTable& guards() { return out_.guards; }
  int FrameOf(const Node& node) const { return flow_.frame_of[node.id()]; }
  int Parent(int frame) const { return flow_.frames[frame].parent; }

  Value& ValueOf(Output output) {
    std::vector<Value>& values = values_[output.node()->id()];
    if (values.empty()) values.resize(std::max(1, output.node()->num_outputs()));
    return values[output.index()];
  }

  int32_t AddSlot(Output output, GuardId guard, int count = 1) {
    const auto slot = static_cast<int32_t>(out_.slots.size());
    for (int i = 0; i < count; ++i) {
      SlotUse use;
      use.written = static_cast<int32_t>(out_.actions.size());
      use.write_guard = guard;
      use.is_inline = IsInline(Output(output.node(), output.index() + i));
      out_.slots.push_back(std::move(use));
    }
    return slot;
  }

  int32_t AddConstant(Tensor value) {
    plan_.constants_.push_back(std::move(value));
    return ~static_cast<int32_t>(plan_.constants_.size() - 1);
  }

  FrameAction& Act(Kind kind, GuardId guard) {
    FrameAction action;
    action.kind = kind;
    action.guard = guard;
    waits_.Mark(&action);
    out_.actions.push_back(action);
    return out_.actions.back();
  }

  // The last action reads the value, from `frame`, as input `input` of its step if it is one and reads it once.
  void Read(const Value& value, int frame, GuardId guard, int32_t input = -1) {
    if (value.source < 0) return;
    SlotRead read;
    read.action = static_cast<int32_t>(out_.actions.size()) - 1;
    read.input = input;
    read.guard = guards().And(guard, value.ended);
    if (frame != value.home) {
      while (Parent(frame) != value.home) frame = Parent(frame);
      read.action = frame;  // its end, once that is known
      read.repeated = true;
      read.guard = value.ended;
    }
    out_.slots[value.source].reads.push_back(read);
  }

  void Move(int32_t slot, const Value& value, int frame, GuardId guard) { Move(slot, value, frame, guard, guard); }
  void Move(int32_t slot, const Value& value, int frame, GuardId guard, GuardId read_guard) {
    FrameAction& action = Act(Kind::kMove, guard);
    action.a = slot;
    action.source = value.source;
    out_.slots[slot].written = static_cast<int32_t>(out_.actions.size()) - 1;
    Read(value, frame, read_guard);
  }

  // A guard of an outer frame as nodes of an inner one see it.
  GuardId Relative(GuardId guard, int scope, int frame) {
    for (; guard != kUnguarded && frame != scope; frame = Parent(frame)) {
      guard = guards().Minus(guard, loops_[frame].common);
    }
    return guard;
  }

  GuardId GuardOf(const Value& value, int frame) { return Relative(value.guard, value.scope, frame); }

  // The node is alive if its data and control inputs are.
  GuardId InputGuard(const Node& node, int frame) {
    GuardId guard = ControlGuard(node, frame);
    for (int i = 0; i < node.num_inputs(); ++i) {
      guard = Limit(guards().And(guard, GuardOf(ValueOf(node.input(i)), frame)), kMaxPartLiterals);
    }
    return Limit(guard, kMaxLiterals);
  }

  GuardId ControlGuard(const Node& node, int frame) {
    GuardId guard = kUnguarded;
    if (node.num_control_inputs() == 0) return guard;
    for (const Node* control : node.control_inputs()) {
      const int from = FrameOf(*control);
      const int scope = IsExit(*control) ? Parent(from) : from;
      guard = Limit(guards().And(guard, Relative(node_guards_[control->id()], scope, frame)), kMaxPartLiterals);
    }
    return guard;
  }

  // May add actions, which set a flag.
  GuardId Limit(GuardId guard, size_t max_literals) {
    if (guards().literals(guard).size() <= max_literals) return guard;
    const int32_t flag = guards().NewFlag();
    SetFlag(flag, 0, kUnguarded);
    SetFlag(flag, 1, guard);
    guards().Define(flag, guard);
    return guards().Of(GuardTable::Literal(flag, true));
  }

  void SetFlag(int32_t flag, int32_t value, GuardId guard) {
    FrameAction& action = Act(Kind::kSet, guard);
    action.a = flag;
    action.b = value;
  }

  absl::Status AddNode(Node* node) {
    const int frame = FrameOf(*node);
    for (int i = 0; i < node->num_inputs(); ++i) {
      if (!IsMerge(*node) || !IsNextIteration(*node->input(i).node())) continue;
      if (frame != kRootFrame && loops_[frame].index_slots.contains(node)) return absl::OkStatus();  // see BeginLoop
      return NodeError(*node, absl::InvalidArgumentError("has a NextIteration, but is no variable of a loop"));
    }
    for (int i = 0; i < node->num_inputs(); ++i) {
      if (!ValueOf(node->input(i)).once) continue;
      return NodeError(*node, absl::InvalidArgumentError(absl::StrCat(
                                  "reads '", node->input(i).name(), "', which only the first iteration of the loop ",
                                  Quoted(flow_.frames[frame].name), " has, expected a Merge or is_constant")));
    }
    const auto feed = is_feed_.find(node);
    if (feed != is_feed_.end()) {
      out_.slots[feed->second].is_feed = true;
      ValueOf(node->output(0)).source = feed->second;
      return absl::OkStatus();
    }
    if (node->op() == "ControlTrigger") return absl::OkStatus();
    if (IsMerge(*node)) return AddMerge(node, frame);
    const GuardId guard = InputGuard(*node, frame);
    node_guards_[node->id()] = guard;
    if (node->op() == "NoOp") return absl::OkStatus();
    if (node->op() == "Const") return AddConst(node, frame, guard);
    if (IsSwitch(*node)) return AddSwitch(node, frame, guard);
    if (IsExit(*node)) return AddExit(node, frame, guard);
    if (IsNextIteration(*node) || IsLoopCond(*node) || node->op() == "Identity") {
      Value value = ValueOf(node->input(0));
      value.guard = guard;
      value.scope = frame;
      ValueOf(node->output(0)) = value;
      if (IsLoopCond(*node)) {
        loops_[frame].condition = Test(value, frame, *node);
        loops_[frame].goes_on = guards().And(guard, guards().Of(GuardTable::Literal(loops_[frame].condition, true)));
      }
      return absl::OkStatus();
    }
    return AddStep(node, frame, guard);
  }

  absl::Status AddConst(Node* node, int frame, GuardId guard) {
    const Tensor& tensor = node->GetAttr<Tensor>("value");
    if (tensor.dtype() != node->output_dtype(0)) {
      return NodeError(*node, absl::InvalidArgumentError(
                                  absl::StrCat("the value is of type ", DTypeName(tensor.dtype()),
                                               ", but the attr dtype says ", DTypeName(node->output_dtype(0)))));
    }
    Value& value = ValueOf(node->output(0));
    value.source = AddConstant(tensor);
    value.guard = guard;
    value.scope = frame;
    return absl::OkStatus();
  }

  // The flag that says what the scalar predicate is, in this iteration of this frame.
  int32_t Test(const Value& predicate, int frame, const Node& node) {
    const GuardId guard = GuardOf(predicate, frame);
    std::vector<std::pair<GuardId, int32_t>>& tests = tests_[{predicate.source, frame}];
    for (const auto& [tested, flag] : tests) {
      if (guards().Implies(guard, tested)) return flag;
    }
    const int32_t flag = guards().NewFlag();
    FrameAction& action = Act(Kind::kTest, guard);
    action.a = flag;
    action.source = predicate.source;
    action.node = &node;
    Read(predicate, frame, guard);
    tests.emplace_back(guard, flag);
    return flag;
  }

  absl::Status AddSwitch(Node* node, int frame, GuardId guard) {
    const int32_t flag = Test(ValueOf(node->input(1)), frame, *node);
    Value value = ValueOf(node->input(0));
    value.scope = frame;
    for (int i = 0; i < 2; ++i) {
      value.guard = Limit(guards().And(guard, guards().Of(GuardTable::Literal(flag, i == 1))), kMaxLiterals);
      ValueOf(node->output(i)) = value;
    }
    return absl::OkStatus();
  }

  // Of a conditional: a slot that each input moves to if it is alive.
  absl::Status AddMerge(Node* node, int frame) {
    const int n = node->num_inputs();
    std::vector<GuardId> alive;
    alive.reserve(n);
    for (int i = 0; i < n; ++i) alive.push_back(GuardOf(ValueOf(node->input(i)), frame));
    GuardId guard = guards().Or(alive);
    int32_t flag = -1;
    if (guard < 0) {
      flag = guards().NewFlag();
      SetFlag(flag, 0, kUnguarded);
      guard = guards().Of(GuardTable::Literal(flag, true));
    }
    const int32_t slot = AddSlot(node->output(0), guard);
    const int32_t index = AddSlot(node->output(1), guard);
    // Backwards: should several be alive, the first stays.
    for (int i = n; i-- > 0;) {
      Move(slot, ValueOf(node->input(i)), frame, alive[i]);
      MoveIndex(node, index, i, frame, alive[i]);
      if (flag >= 0) SetFlag(flag, 1, alive[i]);
    }
    ValueOf(node->output(0)) = {slot, guard, frame, frame};
    ValueOf(node->output(1)) = {index, guard, frame, frame};
    node_guards_[node->id()] = guard;
    return absl::OkStatus();
  }

  // Which input a Merge took, if anybody asks.
  void MoveIndex(Node* merge, int32_t slot, int32_t index, int frame, GuardId guard) {
    bool asked = std::count(compilation_.fetches.begin(), compilation_.fetches.end(), merge->output(1)) > 0;
    for (const Edge& edge : merge->consumers()) asked = asked || edge.source_index == 1;
    if (!asked) return;
    Value value;
    value.source = AddConstant(Tensor::Scalar<int32_t>(index));
    Move(slot, value, frame, guard);
  }

  absl::Status AddExit(Node* node, int frame, GuardId guard) {
    if (frame == kRootFrame) return NodeError(*node, absl::InvalidArgumentError("leaves a frame, but is in none"));
    const Loop& loop = loops_[frame];
    GuardId ended = kUnguarded;
    if (flow_.frames[frame].loop_cond != nullptr) {
      ended = loop.condition < 0 ? kUnguarded : guards().Of(GuardTable::Literal(loop.condition, false));
      if (ended == kUnguarded || !guards().Implies(guard, ended)) {
        return NodeError(*node, absl::InvalidArgumentError(
                                    absl::StrCat("hands out a value while the loop ", Quoted(flow_.frames[frame].name),
                                                 " goes on, expected the false output of a Switch by its LoopCond")));
      }
    }
    Value value = ValueOf(node->input(0));
    value.guard = guards().And(guards().Minus(guard, ended), loop.common);
    value.scope = Parent(frame);
    if (value.home == frame) value.home = Parent(frame);
    value.ended = guards().And(value.ended, ended);
    ValueOf(node->output(0)) = value;
    node_guards_[node->id()] = value.guard;
    return absl::OkStatus();
  }

  absl::Status AddStep(Node* node, int frame, GuardId guard) {
    NABLA_ASSIGN_OR_RETURN(std::unique_ptr<Kernel> kernel, kernels_.Create(*node));
    Plan::Step step = {};
    step.kernel = kernel.get();
    step.node = node;
    step.first_input = static_cast<int32_t>(plan_.input_sources_.size());
    step.num_inputs = node->num_inputs();
    step.num_outputs = node->num_outputs();
    step.output_dtype = node->num_outputs() > 0 ? BaseDType(node->output_dtype(0)) : DType::kInvalid;
    Act(Kind::kStep, guard).a = static_cast<int32_t>(plan_.steps_.size());
    const std::vector<int32_t>& sources = plan_.input_sources_;
    for (int i = 0; i < node->num_inputs(); ++i) plan_.input_sources_.push_back(ValueOf(node->input(i)).source);
    for (int i = 0; i < node->num_inputs(); ++i) {
      const Value& value = ValueOf(node->input(i));
      const auto first = std::find(sources.begin() + step.first_input, sources.end(), value.source);
      if (first != sources.begin() + step.first_input + i) continue;
      const bool twice = std::find(first + 1, sources.end(), value.source) != sources.end();
      Read(value, frame, guard, twice ? -1 : i);
    }
    step.first_output = static_cast<int32_t>(out_.slots.size());
    for (int i = 0; i < node->num_outputs(); ++i) {
      const int32_t slot = AddSlot(node->output(i), guard);
      out_.slots[slot].written = static_cast<int32_t>(out_.actions.size()) - 1;
      ValueOf(node->output(i)) = {slot, guard, frame, frame};
    }
    plan_.kernels_.push_back(std::move(kernel));
    plan_.steps_.push_back(step);
    return absl::OkStatus();
  }

  absl::Status BeginLoop(int frame) {
    const int parent = Parent(frame);
    Loop& loop = loops_[frame];
    std::vector<Node*> enters;
    bool first = true;
    for (Node* node : flow_.frames[frame].nodes) {
      if (!IsEnter(*node)) continue;
      const GuardId guard = InputGuard(*node, parent);
      node_guards_[node->id()] = guard;
      loop.common = first ? guard : guards().Common(loop.common, guard);
      first = false;
      enters.push_back(node);
    }
    waits_.Begin(enters);
    Act(Kind::kBegin, loop.common).a = frame;
    waits_.FinishEnters(enters);
    for (Node* node : enters) {
      GuardId& guard = node_guards_[node->id()];
      guard = guards().Minus(guard, loop.common);
      Value value = ValueOf(node->input(0));
      value.guard = guard;
      value.scope = frame;
      value.once = !node->GetAttr<bool>("is_constant") && flow_.frames[frame].loop_cond != nullptr;
      ValueOf(node->output(0)) = value;
    }
    for (const LoopVariable& variable : flow_.frames[frame].variables) {
      NABLA_RETURN_IF_ERROR(BeginVariable(variable, frame));
    }
    Act(Kind::kHead, kUnguarded).a = frame;
    waits_.End();
    return absl::OkStatus();
  }

  absl::Status BeginVariable(const LoopVariable& variable, int frame) {
    Node* merge = variable.merge;
    if (merge->num_inputs() != 2 || variable.enter == nullptr) {
      return NodeError(*merge, absl::InvalidArgumentError(absl::StrCat(
                                   "has ", merge->num_inputs(),
                                   " inputs, expected an Enter and a NextIteration, as it closes a loop")));
    }
    if (flow_.frames[frame].loop_cond == nullptr) {
      return NodeError(*merge, absl::InvalidArgumentError(absl::StrCat(
                                   "closes the loop ", Quoted(flow_.frames[frame].name), ", which has no LoopCond")));
    }
    const Value enter = ValueOf(variable.enter->output(0));
    const int32_t slot = AddSlot(merge->output(0), enter.guard);
    const int32_t index = AddSlot(merge->output(1), enter.guard);
    // It is the frame around this one that reads the initial value.
    Move(slot, enter, Parent(frame), enter.guard, guards().And(enter.guard, loops_[frame].common));
    MoveIndex(merge, index, merge->input(0) == variable.enter->output(0) ? 0 : 1, frame, enter.guard);
    loops_[frame].index_slots[merge] = index;
    ValueOf(merge->output(0)) = {slot, enter.guard, frame, frame};
    ValueOf(merge->output(1)) = {index, enter.guard, frame, frame};
    node_guards_[merge->id()] = enter.guard;
    return absl::OkStatus();
  }

  absl::Status EndLoop(int frame) {
    Loop& loop = loops_[frame];
    Act(Kind::kTail, kUnguarded).a = frame;
    if (flow_.frames[frame].loop_cond != nullptr) {
      const std::vector<LoopVariable>& variables = flow_.frames[frame].variables;
      for (const LoopVariable& variable : variables) CheckNext(variable, loop);
      // Variables that change places go by a slot between.
      absl::flat_hash_set<int32_t> merge_slots;
      for (const LoopVariable& variable : variables) merge_slots.insert(ValueOf(variable.merge->output(0)).source);
      absl::flat_hash_map<int32_t, Value> saved;
      for (const LoopVariable& variable : variables) {
        const Value next = ValueOf(variable.next_iteration->output(0));
        const Value& merge = ValueOf(variable.merge->output(0));
        if (next.source == merge.source || !merge_slots.contains(next.source) || saved.contains(next.source)) continue;
        const GuardId guard = GoesOn(variable, loop);
        const Value value = {AddSlot(variable.merge->output(0), guard), guard, frame, frame};
        Move(value.source, next, frame, guard);
        saved.emplace(next.source, value);
      }
      for (const LoopVariable& variable : variables) {
        const Value next = ValueOf(variable.next_iteration->output(0));
        const Value& merge = ValueOf(variable.merge->output(0));
        const GuardId guard = GoesOn(variable, loop);
        const auto it = saved.find(next.source);
        if (next.source == merge.source) {
          // It keeps its value; whoever reads it before must leave it there.
          Act(Kind::kKeep, guard);
          Read(next, frame, guard);
        } else {
          Move(merge.source, it == saved.end() ? next : it->second, frame, guard);
        }
        MoveIndex(variable.merge, loop.index_slots[variable.merge],
                  variable.merge->input(0) == variable.next_iteration->output(0) ? 0 : 1, frame, guard);
      }
      Act(Kind::kJump, loop.goes_on).a = frame;
    }
    Act(Kind::kEnd, kUnguarded).a = frame;
    loop.end = static_cast<int32_t>(out_.actions.size()) - 1;
    for (const LoopVariable& variable : flow_.frames[frame].variables) {
      out_.slots[ValueOf(variable.merge->output(0)).source].loop_end = loop.end;
    }
    return absl::OkStatus();
  }

  // A loop variable that is alive at first stays so while the loop goes on.
  GuardId GoesOn(const LoopVariable& variable, const Loop& loop) {
    return guards().And(loop.goes_on, ValueOf(variable.merge->output(0)).guard);
  }

  void CheckNext(const LoopVariable& variable, const Loop& loop) {
    const GuardId next = ValueOf(variable.next_iteration->output(0)).guard;
    const GuardId guard = GoesOn(variable, loop);
    if (guards().Implies(guard, next)) return;
    FrameAction& action = Act(Kind::kCheck, guard);
    action.required = next;
    action.node = variable.next_iteration;
  }

  absl::Status PlaceFeedsAndFetches() {
    for (const Output& feed : compilation_.feeds) {
      Plan::Feed entry;
      entry.slot = feed ? is_feed_[feed.node()] : -1;
      plan_.feeds_.push_back(std::move(entry));
    }
    for (const Output& output : compilation_.fetches) {
      Plan::Fetch fetch = {Plan::Fetch::Kind::kFeed, true, -1};  // a fed tensor: Compile fills in which
      GuardId guard = kUnguarded;
      if (output) {
        const int frame = FrameOf(*output.node());
        if ((IsExit(*output.node()) ? Parent(frame) : frame) != kRootFrame) {
          return absl::InvalidArgumentError(
              absl::StrCat("the fetch '", output.name(), "' is inside of the loop ", Quoted(flow_.frames[frame].name),
                           ": each iteration has its own; expected what an Exit hands out"));
        }
        const Value& value = ValueOf(output);
        fetch.kind = value.source < 0 ? Plan::Fetch::Kind::kConstant : Plan::Fetch::Kind::kSlot;
        fetch.index = value.source < 0 ? ~value.source : value.source;
        guard = value.guard;
        if (value.source >= 0) {
          SlotRead read;
          read.action = static_cast<int32_t>(out_.actions.size());
          read.guard = guards().And(guard, value.ended);
          out_.slots[value.source].reads.push_back(read);
        }
      }
      for (Plan::Fetch& earlier : plan_.fetches_) {
        if (earlier.kind == Plan::Fetch::Kind::kSlot && fetch.kind == earlier.kind && earlier.index == fetch.index) {
          earlier.last = false;
        }
      }
      plan_.fetches_.push_back(fetch);
      out_.fetch_guards.push_back(guard);
      out_.fetch_names.push_back(output ? output.name() : std::string());
    }
    return absl::OkStatus();
  }

  Plan& plan_;
  const KernelRegistry& kernels_;
  const Compilation& compilation_;
  const bool parallel_;
  const ControlFlow flow_;
  std::vector<std::vector<Value>> values_;  // by node id and output
  std::vector<GuardId> node_guards_;        // by node id: what a control edge from there means
  std::vector<Loop> loops_;                 // by frame
  absl::flat_hash_map<const Node*, int32_t> is_feed_;
  // By source and frame: flags, and the guards under which they are set.
  absl::flat_hash_map<std::pair<int32_t, int>, std::vector<std::pair<GuardId, int32_t>>> tests_;
  FrameActions out_;
  FrameWaits waits_;
};

bool HasControlFlow(const Compilation& compilation) {
  return std::any_of(compilation.order.begin(), compilation.order.end(),
                     [](const Node* node) { return IsControlFlow(*node); });
}

absl::Status PlanFrames(Plan* plan, const KernelRegistry& kernels, const Compilation& compilation, bool parallel) {
  return FramePlanner(plan, kernels, compilation, parallel).Run();
}

}  // namespace nabla

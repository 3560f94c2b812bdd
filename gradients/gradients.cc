#include "nabla/gradients/gradients.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "nabla/gradients/aggregation.h"
#include "nabla/gradients/apply_rule.h"
#include "nabla/gradients/between.h"
#include "nabla/gradients/conditional_grad.h"
#include "nabla/gradients/control_state.h"
#include "nabla/gradients/expand_calls.h"
#include "nabla/gradients/grad_ys.h"
#include "nabla/gradients/loop_grad.h"
#include "nabla/gradients/rule.h"
#include "nabla/graph/constant_value.h"
#include "nabla/graph/logging.h"
#include "nabla/graph/resource_handle.h"
#include "nabla/graph/status_macros.h"
#include "nabla/ops/ops.h"

namespace nabla {
namespace {

constexpr int kMaxNestedLoops = 64;

absl::Status CheckTensors(const Graph* graph, const Outputs& tensors, absl::string_view what) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!tensors[i]) return absl::InvalidArgumentError(absl::StrCat("Gradients: ", what, "[", i, "] is none"));
    if (tensors[i].graph() != graph) {
      return absl::InvalidArgumentError(absl::StrCat("Gradients: ", what, "[", i, "], '", tensors[i].name(),
                                                     "', belongs to another graph than the scope"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckFrames(const ControlState& control, int frame, const Outputs& tensors, absl::string_view what) {
  const auto place = [&](int f) {
    return f < 0 ? std::string("outside of loops") : absl::StrCat("in loop '", control.frame(f).name, "'");
  };
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (control.FrameOf(tensors[i]) == frame) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "Gradients: ", what, "[", i, "], '", tensors[i].name(), "', is ", place(control.FrameOf(tensors[i])),
        ", but the first of ys is ", place(frame), "; a loop's tensors have a value for each of its trips"));
  }
  return absl::OkStatus();
}

// A loop is differentiated in the course of the one around it, so their depth is that of the stack.
absl::Status CheckNesting(const ControlState& control, const BetweenOps& between) {
  const std::vector<Frame>& frames = control.flow().frames;
  std::vector<int> depths;
  depths.reserve(frames.size());
  for (const Frame& frame : frames) depths.push_back(frame.parent < 0 ? 1 : depths[frame.parent] + 1);
  for (const Node* op : between.ops()) {
    const int frame = control.FrameOf(op);
    if (frame < 0 || depths[frame] <= kMaxNestedLoops) continue;
    return absl::UnimplementedError(absl::StrCat("Gradients: loop '", frames[frame].name, "' is inside of ",
                                                 depths[frame] - 1, " others, at most ", kMaxNestedLoops - 1,
                                                 " can be differentiated"));
  }
  const Node* const node = control.contexts().given_up_at();
  if (node == nullptr) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat("Gradients: '", node->name(), "' (op type: ", node->op(),
                                               ") is in more branches inside each other than can be told apart"));
}

Output ZerosFor(const Scope& scope, Output x) {
  if (x.dtype() != DType::kResource) return ops::ZerosLike(scope, x);
  const ResourceInfo variable = FindResource(x);
  if (variable.dtype == DType::kInvalid) {
    scope.RecordError(absl::InvalidArgumentError(
        absl::StrCat("Gradients: no zeros can be made for '", x.name(),
                     "' of type resource, expected a handle that comes from a VarHandleOp (op ", x.node()->op(), ")")));
    return {};
  }
  // The variable may have no value yet.
  if (variable.shape.IsFullyDefined()) {
    return ops::Fill(scope, variable.shape, ops::Const(scope, Tensor::Zeros(variable.dtype, Shape::Scalar())));
  }
  return ops::ZerosLike(scope, ops::ReadVariableOp(scope, x, variable.dtype));
}

bool HasAny(const Grads& grads) {
  return std::any_of(grads.begin(), grads.end(), [](const Gradient& grad) { return !grad.none(); });
}

// For the log.
std::string Names(const Grads& grads) {
  std::string list;
  for (const Gradient& grad : grads) {
    if (grad.none()) continue;
    absl::StrAppend(&list, list.empty() ? "" : ", ",
                    grad.is_dense() ? grad.dense().name() : grad.slices().values.name() + " (slices)");
  }
  return list.empty() ? "none" : list;
}

// Works in one frame: that of ys. For the loops in it, LoopGradient calls for another engine, which works in their
// bodies.
class Engine {
 public:
  Engine(const Scope& scope, const Outputs& ys, const Outputs& xs, const GradientOptions& options, BetweenOps between,
         FrameView view, ControlState* control)
      : scope_(scope),
        ys_(ys),
        xs_(xs),
        options_(options),
        view_(view),
        control_(control),
        between_(std::move(between)),
        states_(between_.ops().size()) {}

  absl::StatusOr<Grads> Run() {
    NABLA_RETURN_IF_ERROR(SeedYs());
    return Walk();
  }
  // With the gradients of ys as they are.
  absl::StatusOr<Grads> Run(const Grads& grad_ys) {
    for (size_t i = 0; i < ys_.size(); ++i) {
      const int index = between_.IndexOf(ys_[i].node());
      if (index >= 0) Deliver(index, ys_[i].index(), grad_ys[i]);
    }
    return Walk();
  }

 private:
  // What the engine knows of an op between xs and ys.
  struct State {
    std::vector<Grads> arrived;  // so far, by output; empty if none have
    Grads done;                  // their sums, kept for the ops of xs
    bool is_x = false;
    bool is_stop = false;  // nothing is passed on to its inputs
  };

  absl::StatusOr<Grads> Walk() {
    FindStopOps();
    Enqueue();
    while (!ready_.empty()) {
      const int index = ready_.front();
      ready_.pop_front();
      NABLA_RETURN_IF_ERROR(Visit(index));
    }
    if (const Node* waiting = between_.FindWaiting()) {
      return absl::UnimplementedError(absl::StrCat("Gradients: '", waiting->name(), "' (op type: ", waiting->op(),
                                                   ") is part of a loop, which cannot be differentiated"));
    }
    return Results();
  }

  Scope ScopeFor(Node* op) {
    Scope scope = scope_;
    if (control_ != nullptr && control_->FrameOf(op) == view_.frame) {
      scope = ScopeIn(op->num_outputs() > 0 && !IsBranchSwitch(*op) ? control_->ContextOf(op->output(0)) : 0);
    }
    return options_.colocate ? scope.WithColocation(op) : scope;
  }

  // For what is dead where the branches are not taken.
  Scope ScopeIn(BranchContexts::Context context) {
    if (context == 0) return scope_;
    auto [it, added] = branch_scopes_.try_emplace(context, scope_);
    if (added) it->second = InBranches(scope_, control_->contexts().Branches(context));
    return it->second;
  }

  // Where the rule of `op` puts its nodes. What is to be compiled by XLA has its gradients compiled as well: together
  // with it, under the same _XlaScope, or as clusters of their own.
  Scope RuleScope(const Scope& scope, Node* op) const {
    Scope rule = scope.Sub(absl::StrCat(op->name(), "_grad"));
    const bool* compile = op->attr<bool>("_XlaCompile");
    if (compile == nullptr || !*compile) return rule;
    const bool* separate = op->attr<bool>("_XlaSeparateCompiledGradients");
    const auto* cluster = op->attr<std::string>("_XlaScope");
    if (separate == nullptr || cluster == nullptr) return rule;
    std::string name = *cluster;
    if (*separate) absl::StrAppend(&name, "_grad_", absl::StrReplaceAll(scope_.name(), {{"/", "_"}}));
    return rule.WithAttr("_XlaCompile", true).WithAttr("_XlaScope", std::move(name));
  }

  void Deliver(int index, int output, Gradient grad) {
    std::vector<Grads>& arrived = states_[index].arrived;
    if (arrived.empty()) arrived.resize(between_.ops()[index]->num_outputs());
    arrived[output].push_back(grad);
  }

  absl::Status SeedYs() {
    for (size_t i = 0; i < ys_.size(); ++i) {
      const Gradient given = options_.grad_ys.empty() ? Gradient() : options_.grad_ys[i];
      NABLA_ASSIGN_OR_RETURN(Gradient grad_y, MakeGradY(ScopeFor(ys_[i].node()), ys_[i], given, static_cast<int>(i)));
      const int index = between_.IndexOf(ys_[i].node());
      if (index >= 0) Deliver(index, ys_[i].index(), grad_y);
    }
    return scope_.status();
  }

  // The xs' ops with no other x behind them, where the walk ends, and what the caller declared constant.
  void FindStopOps() {
    for (Output x : xs_) {
      const int index = between_.IndexOf(x.node());
      if (index < 0) continue;
      bool last = true;
      for (int i = 0; i < x.node()->num_inputs() && last; ++i) {
        last = between_.pending(x.node()->input(i).node()) == 0;
      }
      states_[index].is_x = true;
      if (last || view_.IsEntry(x.node())) states_[index].is_stop = true;
    }
    for (Output stop : options_.stop_gradients) {
      const int index = between_.IndexOf(stop.node());
      if (index >= 0) states_[index].is_stop = true;
    }
  }

  void Enqueue() {
    absl::flat_hash_set<const Node*> seen;
    for (Output y : ys_) {
      const int index = between_.IndexOf(y.node());
      // A y that another y depends on waits for its gradients from there. A loop is visited once for all its exits.
      if (index >= 0 && between_.pending(y.node()) == 0 && seen.insert(view_.Unit(y.node())).second)
        ready_.push_back(index);
    }
  }

  absl::Status Visit(int index) {
    Node* op = between_.ops()[index];
    if (control_ != nullptr && view_.Unit(op) != op) {
      return VisitLoop(control_->ChildOf(view_.frame, control_->FrameOf(op)));
    }
    const Scope scope = ScopeFor(op);
    Grads out_grads = TakeAggregated(scope, index);
    Grads in_grads(op->num_inputs());
    const absl::Span<const int> inputs = between_.InputsOf(index);
    if (HasAny(out_grads) && !states_[index].is_stop) {
      NABLA_ASSIGN_OR_RETURN(in_grads, Backpropagate(RuleScope(scope, op), op, inputs, std::move(out_grads)));
    }
    if (view_.IsEntry(op)) return scope_.status();
    for (int i = 0; i < op->num_inputs(); ++i) Pass(inputs[i], op->input(i).index(), in_grads[i]);
    return scope_.status();
  }

  // A use of an output of the op of that index, if it has one, hands back its gradient, if any.
  void Pass(int index, int output, Gradient grad) {
    if (index < 0) return;
    if (!grad.none()) Deliver(index, output, grad);
    if (between_.Arrived(index)) ready_.push_back(index);
  }

  absl::Status VisitLoop(int frame) {
    const Frame& loop = control_->frame(frame);
    const Scope scope = ScopeIn(control_->contexts().OfFrame(frame));
    Grads exits(loop.variables.size());
    bool any = false;
    for (size_t k = 0; k < loop.variables.size(); ++k) {
      if (loop.variables[k].switch_node == nullptr) continue;
      Grads last;
      for (const Edge& edge : loop.variables[k].switch_node->consumers()) {
        if (edge.IsControl() || edge.source_index != 0 || !IsExit(*edge.consumer)) continue;
        const int exit = between_.IndexOf(edge.consumer);
        if (exit < 0) continue;
        Grads grads = TakeAggregated(scope, exit);
        if (!states_[exit].is_stop) last.push_back(grads[0]);
      }
      exits[k] = Aggregate(scope, loop.name, last, options_.aggregation);
      any |= !exits[k].none();
    }
    LoopGradients grads{Grads(loop.variables.size()), Grads(loop.invariants.size())};
    if (any) {
      const auto between = [this](const Node* node) { return between_.Contains(node); };
      const auto body = [this](ControlState* control, const Scope& scope, int frame, const Outputs& ys,
                               const Grads& grad_ys, const Outputs& xs, const Outputs& stops) {
        GradientOptions options = options_;
        options.loops = LoopGradientOptions();
        options.stop_gradients.insert(options.stop_gradients.end(), stops.begin(), stops.end());
        const FrameView view{control, frame};
        return Engine(scope, ys, xs, options, BetweenOps(ys, xs, view), view, control).Run(grad_ys);
      };
      NABLA_ASSIGN_OR_RETURN(grads, LoopGradient(control_, frame, scope, exits, between, options_, body));
    }
    for (size_t k = 0; k < loop.variables.size(); ++k) {
      PassOut(loop.variables[k].enter, grads.variables[k]);
    }
    for (size_t i = 0; i < loop.invariants.size(); ++i) PassOut(loop.invariants[i], grads.invariants[i]);
    return scope_.status();
  }

  // What an Enter takes into a loop gets its gradient.
  void PassOut(Node* enter, Gradient grad) {
    const int index = between_.IndexOf(enter);
    if (index < 0) return;
    Output outside = enter->input(0);
    Pass(between_.IndexOf(outside.node()), outside.index(), states_[index].is_stop ? Gradient() : grad);
  }

  // `inputs`: the indices of the ops that op's inputs come from.
  absl::StatusOr<Grads> Backpropagate(const Scope& scope, Node* op, absl::Span<const int> inputs, Grads out_grads) {
    if (IsSwitch(*op)) {
      Grads in_grads(2);
      if (IsBranchSwitch(*op)) {
        NABLA_ASSIGN_OR_RETURN(in_grads[0],
                               SwitchGradient(scope, control_->contexts(), op, out_grads[0], out_grads[1]));
      } else {
        in_grads[0] = out_grads[1];  // into the body
      }
      return in_grads;
    }
    if (IsBranchMerge(*op)) return MergeGradient(scope, control_->contexts(), op, out_grads[0]);
    std::vector<bool> needed(op->num_inputs());
    for (int i = 0; i < op->num_inputs(); ++i) {
      needed[i] = inputs[i] >= 0 && IsBackpropagatable(op->input(i).dtype());
    }
    std::string incoming;
    if (LogEnabled(LogLevel::INFO)) incoming = Names(out_grads);
    NABLA_ASSIGN_OR_RETURN(Grads in_grads, ApplyGradientRule(scope, op, std::move(out_grads), std::move(needed)));
    if (options_.gate_gradients) Gate(scope, &in_grads);
    NABLA_LOG(INFO) << "gradient of '" << op->name() << "': in " << incoming << "; out " << Names(in_grads);
    return in_grads;
  }

  // The gradients of the op's outputs.
  Grads TakeAggregated(const Scope& scope, int index) {
    State& state = states_[index];
    const Node* op = between_.ops()[index];
    Grads sums(op->num_outputs());
    for (size_t i = 0; i < state.arrived.size(); ++i) {
      sums[i] = Aggregate(scope, op->name(), state.arrived[i], options_.aggregation);
    }
    state.arrived = {};
    if (state.is_x) state.done = sums;
    return sums;
  }

  // None of the gradients is used before all of them are there.
  static void Gate(const Scope& scope, Grads* grads) {
    std::vector<Node*> all;
    for (const Gradient& grad : *grads) {
      if (grad.is_dense()) all.push_back(grad.dense().node());
      if (grad.is_slices()) all.push_back(grad.slices().values.node());
    }
    if (all.size() < 2) return;
    const Scope tuple = scope.Sub("tuple");
    const Scope gate = tuple.WithControl({ops::NoOp(tuple.WithControl(all).Named("group_deps"))});
    for (Gradient& grad : *grads) {
      if (grad.is_dense()) grad = ops::Identity(gate.Named("control_dependency"), grad.dense());
      if (grad.is_slices()) {
        IndexedSlices slices = grad.slices();
        slices.values = ops::Identity(gate.Named("control_dependency"), slices.values);
        grad = slices;
      }
    }
  }

  absl::StatusOr<Grads> Results() {
    Grads results;
    results.reserve(xs_.size());
    for (Output x : xs_) {
      const int index = between_.IndexOf(x.node());
      Gradient grad;
      if (index >= 0 && !states_[index].done.empty()) grad = states_[index].done[x.index()];
      if (grad.none() && options_.unconnected == UnconnectedGradients::kZero) grad = ZerosFor(ScopeFor(x.node()), x);
      results.push_back(grad);
    }
    NABLA_RETURN_IF_ERROR(scope_.status());
    return results;
  }

  Scope scope_;
  const Outputs& ys_;
  const Outputs& xs_;
  const GradientOptions& options_;
  FrameView view_;
  ControlState* control_;  // nullptr: there are no loops and conditionals
  BetweenOps between_;
  absl::flat_hash_map<BranchContexts::Context, Scope> branch_scopes_;
  std::vector<State> states_;  // by index in between_
  std::deque<int> ready_;      // indices
};

}  // namespace

absl::StatusOr<Grads> Gradients(const Scope& scope, const Outputs& ys, const Outputs& xs,
                                const GradientOptions& options) {
  NABLA_RETURN_IF_ERROR(scope.status());
  if (ys.empty() || xs.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("Gradients: ", ys.empty() ? "ys" : "xs", " is empty"));
  }
  auto lock = scope.graph()->Lock();
  NABLA_RETURN_IF_ERROR(CheckTensors(scope.graph(), ys, "ys"));
  NABLA_RETURN_IF_ERROR(CheckTensors(scope.graph(), xs, "xs"));
  NABLA_RETURN_IF_ERROR(CheckTensors(scope.graph(), options.stop_gradients, "stop_gradients"));
  if (!options.grad_ys.empty() && options.grad_ys.size() != ys.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Passed ", options.grad_ys.size(), " grad_ys for ", ys.size(), " ys"));
  }
  // What has to be rewritten before it can be differentiated (calls of functions, say) is rewritten here, before the
  // engine looks at the ops between xs and ys.
  NABLA_RETURN_IF_ERROR(ExpandCallsBetween(scope.graph(), ys, xs));
  const Scope inside = scope.Sub(options.name);
  BetweenOps between(ys, xs);
  if (!between.HasControlFlow()) return Engine(inside, ys, xs, options, std::move(between), {}, nullptr).Run();
  ControlState control(inside);
  NABLA_RETURN_IF_ERROR(CheckNesting(control, between));
  const FrameView view{&control, control.FrameOf(ys[0])};
  NABLA_RETURN_IF_ERROR(CheckFrames(control, view.frame, ys, "ys"));
  NABLA_RETURN_IF_ERROR(CheckFrames(control, view.frame, xs, "xs"));
  return Engine(inside, ys, xs, options, BetweenOps(ys, xs, view), view, &control).Run();
}

}  // namespace nabla

#include "nabla/gradients/gradients.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "nabla/gradients/aggregation.h"
#include "nabla/gradients/apply_rule.h"
#include "nabla/gradients/between.h"
#include "nabla/gradients/conditional_grad.h"
#include "nabla/gradients/control_state.h"
#include "nabla/gradients/loop_grad.h"
#include "nabla/gradients/rule.h"
#include "nabla/graph/constant_value.h"
#include "nabla/graph/logging.h"
#include "nabla/graph/resource_handle.h"
#include "nabla/graph/status_macros.h"
#include "nabla/ops/ops.h"

namespace nabla {
namespace {

// Making this many elements out of slices is worth a warning.
constexpr int64_t kLargeDenseElements = 100000000;

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

// Whether a gradient of that dtype can be one of a tensor of the other.
absl::Status CheckGradYDType(Output y, DType grad) {
  DType dtype = BaseDType(y.dtype());
  absl::string_view expected;
  if (IsFloating(dtype) || IsInteger(dtype)) {
    if (!IsFloating(grad) && !IsInteger(grad)) expected = "a real or integer type";
  } else if (IsComplex(dtype)) {
    if (!IsComplex(grad)) expected = "a complex type";
  } else if (dtype == DType::kVariant) {
    if (grad != DType::kVariant) expected = "variant";
  } else {
    return absl::InvalidArgumentError(absl::StrCat("Gradients: '", y.name(), "' of type ", DTypeName(dtype),
                                                   " is not numeric, so it has no gradient"));
  }
  if (expected.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("Gradients: the gradient given for '", y.name(), "' of type ",
                                                 DTypeName(dtype), " has type ", DTypeName(grad), ", expected ",
                                                 expected));
}

Output Ones(const Scope& scope, Output y, const std::string& name) {
  Output one = ops::Const(scope.Named(name), 1, y.dtype());
  if (y.shape().IsScalar()) return one;
  if (y.shape().IsFullyDefined()) return ops::Fill(scope, y.shape(), one);
  return ops::Fill(scope, ops::Shape(scope, y), one);
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

Output ZerosFor(const Scope& scope, Output x) {
  if (x.dtype() != DType::kResource) return ops::ZerosLike(scope, x);
  return ops::ZerosLike(scope, ops::ReadVariableOp(scope, x, FindResource(x).dtype));
}

bool HasAny(const Grads& grads) {
  return std::any_of(grads.begin(), grads.end(), [](const Gradient& grad) { return !grad.none(); });
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
        between_(std::move(between)) {}

  absl::StatusOr<Grads> Run() {
    NABLA_RETURN_IF_ERROR(SeedYs());
    return Walk();
  }
  // With the gradients of ys as they are.
  absl::StatusOr<Grads> Run(const Grads& grad_ys) {
    for (size_t i = 0; i < ys_.size(); ++i) Deliver(ys_[i], grad_ys[i]);
    return Walk();
  }

 private:
  absl::StatusOr<Grads> Walk() {
    FindStopOps();
    Enqueue();
    while (!ready_.empty()) {
      Node* op = ready_.front();
      ready_.pop_front();
      NABLA_RETURN_IF_ERROR(Visit(op));
    }
    if (const Node* waiting = between_.FindWaiting()) {
      return absl::UnimplementedError(absl::StrCat("Gradients: '", waiting->name(), "' (op type: ", waiting->op(),
                                                   ") is part of a loop, which cannot be differentiated"));
    }
    return Results();
  }

  // Gradients that arrived so far, per output of an op.
  using Arrived = std::vector<Grads>;

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

  void Deliver(Output tensor, Gradient grad) {
    Arrived& arrived = arrived_[tensor.node()];
    if (arrived.empty()) arrived.resize(tensor.node()->num_outputs());
    arrived[tensor.index()].push_back(std::move(grad));
  }

  absl::Status SeedYs() {
    for (size_t i = 0; i < ys_.size(); ++i) {
      Output y = ys_[i];
      Gradient given = options_.grad_ys.empty() ? Gradient() : options_.grad_ys[i];
      std::string name = absl::StrCat("grad_ys_", i);
      Scope scope = ScopeFor(y.node());
      if (given.none()) {
        if (IsComplex(y.dtype())) {
          return absl::InvalidArgumentError(absl::StrCat("Gradients of complex tensors must set grad_ys (y '", y.name(),
                                                         "' is ", DTypeName(y.dtype()), ")"));
        }
        if (!IsFloating(y.dtype()) && !IsInteger(y.dtype())) {
          return absl::InvalidArgumentError(absl::StrCat("Gradients: '", y.name(), "' of type ", DTypeName(y.dtype()),
                                                         " must be numeric to obtain a default gradient"));
        }
        Deliver(y, Ones(scope, y, name));
        continue;
      }
      NABLA_RETURN_IF_ERROR(CheckGradYDType(y, given.dtype()));
      if (given.is_dense()) {
        if (!given.dense().shape().IsCompatibleWith(y.shape())) {
          return absl::InvalidArgumentError(absl::StrCat("Gradients: the gradient given for '", y.name(),
                                                         "' has shape ", given.dense().shape().ToString(),
                                                         ", expected ", y.shape().ToString()));
        }
        Deliver(y, ops::Identity(scope.Named(name), given.dense()));
      } else {
        IndexedSlices s = given.slices();
        s.indices = ops::Identity(scope.Named(name + "_indices"), s.indices);
        s.values = ops::Identity(scope.Named(name + "_values"), s.values);
        if (s.dense_shape) s.dense_shape = ops::Identity(scope.Named(name + "_shape"), s.dense_shape);
        Deliver(y, std::move(s));
      }
    }
    return scope_.status();
  }

  // The xs' ops with no other x behind them, where the walk ends, and what the
  // caller declared constant.
  void FindStopOps() {
    for (Output x : xs_) {
      bool last = true;
      for (int i = 0; i < x.node()->num_inputs() && last; ++i) {
        last = between_.pending(x.node()->input(i).node()) == 0;
      }
      if (last || view_.IsEntry(x.node())) stop_ops_.insert(x.node());
    }
    for (Output stop : options_.stop_gradients) stop_ops_.insert(stop.node());
    for (Output x : xs_) x_ops_.insert(x.node());
  }

  void Enqueue() {
    absl::flat_hash_set<Node*> seen;
    for (Output y : ys_) {
      Node* op = y.node();
      // A y that another y depends on waits for its gradients from there.
      if (between_.Contains(op) && between_.pending(op) == 0 && seen.insert(op).second) ready_.push_back(op);
    }
  }

  absl::Status Visit(Node* op) {
    if (control_ != nullptr && view_.Unit(op) != op)
      return VisitLoop(control_->ChildOf(view_.frame, control_->FrameOf(op)));
    Scope scope = ScopeFor(op);
    Grads out_grads = TakeAggregated(scope, op);
    Grads in_grads(op->num_inputs());
    if (HasAny(out_grads) && !stop_ops_.contains(op)) {
      NABLA_ASSIGN_OR_RETURN(in_grads, Backpropagate(scope.Sub(absl::StrCat(op->name(), "_grad")), op, out_grads));
      LogRule(op, out_grads, in_grads);
    }
    if (x_ops_.contains(op)) done_[op] = std::move(out_grads);
    if (view_.IsEntry(op)) return scope_.status();
    for (int i = 0; i < op->num_inputs(); ++i) Pass(op->input(i), std::move(in_grads[i]));
    return scope_.status();
  }

  // A use of `tensor` hands back its gradient, if any.
  void Pass(Output tensor, Gradient grad) {
    if (!between_.Contains(tensor.node())) return;
    if (!grad.none()) Deliver(tensor, std::move(grad));
    if (between_.Arrived(tensor.node())) ready_.push_back(tensor.node());
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
        Grads grads = TakeAggregated(scope, edge.consumer);
        if (!stop_ops_.contains(edge.consumer)) last.push_back(grads[0]);
        if (x_ops_.contains(edge.consumer)) done_[edge.consumer] = std::move(grads);
      }
      exits[k] = Aggregate(scope, last, options_.aggregation);
      any |= !exits[k].none();
    }
    LoopGradients grads{Grads(loop.variables.size()), Grads(loop.invariants.size())};
    if (any) {
      const auto between = [this](const Node* node) { return between_.Contains(node); };
      const auto body = [this](const Scope& scope, int frame, const Outputs& ys, const Grads& grad_ys,
                               const Outputs& xs) {
        const FrameView view{control_, frame};
        return Engine(scope, ys, xs, options_, BetweenOps(ys, xs, view), view, control_).Run(grad_ys);
      };
      NABLA_ASSIGN_OR_RETURN(grads, LoopGradient(control_, frame, scope, exits, between, body));
    }
    for (size_t k = 0; k < loop.variables.size(); ++k) {
      PassOut(loop.variables[k].enter, std::move(grads.variables[k]));
    }
    for (size_t i = 0; i < loop.invariants.size(); ++i) PassOut(loop.invariants[i], std::move(grads.invariants[i]));
    return scope_.status();
  }

  // What an Enter takes into a loop gets its gradient.
  void PassOut(Node* enter, Gradient grad) {
    if (!between_.Contains(enter)) return;
    Pass(enter->input(0), stop_ops_.contains(enter) ? Gradient() : std::move(grad));
  }

  absl::StatusOr<Grads> Backpropagate(const Scope& scope, Node* op, const Grads& out_grads) {
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
      needed[i] = between_.Contains(op->input(i).node()) && IsBackpropagatable(op->input(i).dtype());
    }
    NABLA_ASSIGN_OR_RETURN(Grads in_grads, ApplyGradientRule(scope, op, out_grads, std::move(needed)));
    if (options_.gate_gradients) Gate(scope, &in_grads);
    return in_grads;
  }

  Grads TakeAggregated(const Scope& scope, Node* op) {
    auto it = arrived_.find(op);
    if (it == arrived_.end()) return Grads(op->num_outputs());
    Grads sums;
    sums.reserve(it->second.size());
    for (Grads& terms : it->second) sums.push_back(Aggregate(scope, terms, options_.aggregation));
    arrived_.erase(it);
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
    Scope gate = scope.WithControl({ops::NoOp(scope.WithControl(all))});
    for (Gradient& grad : *grads) {
      if (grad.is_dense()) grad = ops::Identity(gate, grad.dense());
      if (grad.is_slices()) {
        IndexedSlices slices = grad.slices();
        slices.values = ops::Identity(gate, slices.values);
        grad = std::move(slices);
      }
    }
  }

  static void LogRule(Node* op, const Grads& out_grads, const Grads& in_grads) {
    if (!LogEnabled(LogLevel::DEBUG)) return;
    auto names = [](const Grads& grads) {
      std::string list;
      for (const Gradient& grad : grads) {
        if (grad.none()) continue;
        absl::StrAppend(&list, list.empty() ? "" : ", ",
                        grad.is_dense() ? grad.dense().name() : grad.slices().values.name() + " (slices)");
      }
      return list;
    };
    NABLA_LOG(DEBUG) << "gradient of '" << op->name() << "': in " << names(out_grads) << "; out " << names(in_grads);
  }

  absl::StatusOr<Grads> Results() {
    Grads results;
    results.reserve(xs_.size());
    for (Output x : xs_) {
      auto it = done_.find(x.node());
      Gradient grad = it == done_.end() ? Gradient() : it->second[x.index()];
      if (grad.none() && options_.unconnected == UnconnectedGradients::kZero) grad = ZerosFor(ScopeFor(x.node()), x);
      results.push_back(std::move(grad));
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
  absl::flat_hash_set<const Node*> stop_ops_;
  absl::flat_hash_set<const Node*> x_ops_;
  std::deque<Node*> ready_;
  absl::flat_hash_map<const Node*, Arrived> arrived_;
  absl::flat_hash_map<const Node*, Grads> done_;  // of the xs' ops
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
  const Scope inside = scope.Sub(options.name);
  BetweenOps between(ys, xs);
  if (!between.HasControlFlow()) return Engine(inside, ys, xs, options, std::move(between), {}, nullptr).Run();
  ControlState control(inside);
  const FrameView view{&control, control.FrameOf(ys[0])};
  NABLA_RETURN_IF_ERROR(CheckFrames(control, view.frame, ys, "ys"));
  NABLA_RETURN_IF_ERROR(CheckFrames(control, view.frame, xs, "xs"));
  return Engine(inside, ys, xs, options, BetweenOps(ys, xs, view), view, &control).Run();
}

Output ToDense(const Scope& scope, const Gradient& gradient) {
  if (!gradient.is_slices()) return gradient.dense();
  const IndexedSlices& slices = gradient.slices();
  if (!slices.dense_shape) {
    scope.RecordError(absl::InvalidArgumentError(
        absl::StrCat("IndexedSlices '", slices.values.name(), "' cannot be made dense: they have no dense_shape")));
    return Output();
  }
  Shape shape = ConstantValueAsShape(slices.dense_shape);
  if (!shape.IsFullyDefined()) {
    NABLA_LOG(WARNING) << "making IndexedSlices '" << slices.values.name()
                       << "' dense with a shape unknown until the run; it may "
                          "take much memory";
  } else if (shape.num_elements() >= kLargeDenseElements) {
    NABLA_LOG(WARNING) << "making IndexedSlices '" << slices.values.name() << "' a dense tensor of "
                       << shape.num_elements() << " elements; it may take much memory";
  }
  bool rows_known = shape.rank() > 0 && shape.dim(0) != kUnknownDim;
  Output rows = rows_known ? ops::Const(scope, Tensor::Scalar<int64_t>(shape.dim(0)))
                           : ops::StridedSlice(scope, slices.dense_shape, {0}, {1}, {1}, {.shrink_axis_mask = 1});
  return ops::UnsortedSegmentSum(scope, slices.values, slices.indices, rows);
}

}  // namespace nabla

#include "nabla/gradients/jvp.h"

#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "nabla/gradients/apply_rule.h"
#include "nabla/gradients/between.h"
#include "nabla/gradients/forward_rule.h"
#include "nabla/gradients/frame_scopes.h"
#include "nabla/gradients/transform_util.h"
#include "nabla/graph/resource_handle.h"
#include "nabla/graph/status_macros.h"
#include "nabla/ops/ops.h"

namespace nabla {
namespace {

// Numbers, and lists of them.
bool CanChange(DType dtype) { return IsBackpropagatable(dtype) && dtype != DType::kResource; }

absl::Status CheckTensors(const Scope& scope, const Outputs& tensors, absl::string_view what, bool may_be_none) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!tensors[i] && may_be_none) continue;
    if (!tensors[i]) return absl::InvalidArgumentError(absl::StrCat("Jvp: ", what, "[", i, "] is none"));
    if (tensors[i].graph() != scope.graph()) {
      return absl::InvalidArgumentError(
          absl::StrCat("Jvp: ", what, "[", i, "], '", tensors[i].name(), "', belongs to another graph than the scope"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckTangent(Output x, Output tangent) {
  if (!tangent) return absl::OkStatus();
  const bool handle = x.dtype() == DType::kResource;
  const DType dtype = handle ? FindResource(x).dtype : BaseDType(x.dtype());
  const Shape shape = ValueShape(x);
  if ((tangent.dtype() == dtype || dtype == DType::kInvalid) && CanChange(tangent.dtype()) &&
      tangent.shape().IsCompatibleWith(shape)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("Jvp: the tangent '", tangent.name(), "' of '", x.name(), "' is ", DTypeName(tangent.dtype()), " ",
                   tangent.shape().ToString(), ", expected a floating or complex tensor like the x: ",
                   dtype == DType::kInvalid ? "" : DTypeName(dtype), " ", shape.ToString()));
}

class ForwardWalk {
 public:
  ForwardWalk(const Scope& scope, const Outputs& ys, const Outputs& xs, const Outputs& tangents,
              const JvpOptions& options)
      : scope_(scope.Sub(options.name)), xs_(xs), ys_(ys), options_(options), ops_(OpsBetween(xs, ys)) {
    for (Node* op : ops_) {
      between_.insert(op);
      if (frames_ == nullptr && BelongsToControlFlow(*op)) frames_ = std::make_unique<FrameScopes>(scope_);
    }
    for (Output stop : options.stop_gradients) stops_.insert(stop.node());
    for (size_t i = 0; i < xs.size(); ++i) {
      if (tangents[i]) Accumulate(xs[i], tangents[i]);
    }
  }

  absl::StatusOr<Outputs> Run() {
    Graph* const graph = scope_.graph();
    const int first_id = graph->num_node_ids();
    NABLA_RETURN_IF_ERROR(CheckFrames());
    for (Node* op : ops_) NABLA_RETURN_IF_ERROR(Visit(op));
    NABLA_RETURN_IF_ERROR(CloseLoops());
    Outputs results;
    for (Output y : ys_) {
      results.push_back(Tangent(y));
      if (!results.back() && options_.unconnected == UnconnectedGradients::kZero) {
        results.back() = ops::ZerosLike(scope_, y);
      }
    }
    NABLA_RETURN_IF_ERROR(scope_.status());
    RemoveUnused(graph, first_id, results);
    return results;
  }

 private:
  Output Tangent(Output tensor) const {
    const auto it = tangents_.find(tensor);
    return it == tangents_.end() ? Output() : it->second;
  }

  // An x may get a tangent of its own and one from the x that it depends on.
  void Accumulate(Output tensor, Output tangent) {
    Output& sum = tangents_[tensor];
    sum = sum ? ops::AddV2(scope_, sum, tangent) : tangent;
  }

  // Whether somebody asks for the tangent of that output.
  bool IsWanted(Node* op, int output) const {
    for (const Edge& edge : op->consumers()) {
      if (edge.source_index == output && between_.contains(edge.consumer)) return true;
    }
    for (Output y : ys_) {
      if (y == Output(op, output)) return true;
    }
    return false;
  }

  absl::Status Visit(Node* op) {
    Outputs tangents;
    bool any = false, complex = false;
    for (int i = 0; i < op->num_inputs(); ++i) {
      tangents.push_back(Tangent(op->input(i)));
      any |= static_cast<bool>(tangents.back());
      complex |= IsComplex(BaseDType(op->input(i).dtype()));
    }
    if (stops_.contains(op)) return absl::OkStatus();
    if (ClosesLoop(*op)) return EnterLoop(op, tangents);
    if (!any || IsConstant(*op)) return absl::OkStatus();
    const Scope scope = ScopeFor(op);
    const ScopeGuard guard(scope);
    const ForwardRule rule = FindRule(*op, complex);
    Outputs results;
    if (rule != nullptr) {
      ForwardContext context(scope, op, std::move(tangents));
      results = rule(context);
    } else if (TakesResource(*op)) {
      return absl::UnimplementedError(absl::StrCat("Jvp: '", op->name(), "' (op type: ", op->op(),
                                                   ") works on a resource, and has no forward mode"));
    } else {
      NABLA_ASSIGN_OR_RETURN(results, TransposeGradient(scope, op, tangents));
    }
    NABLA_RETURN_IF_ERROR(scope.status());
    if (frames_ != nullptr && (IsEnter(*op) || IsExit(*op))) {
      frames_->Note(results[0].node(), frames_->FrameOf(op));
    }
    for (size_t i = 0; i < results.size(); ++i) {
      const Output output = op->output(static_cast<int>(i));
      if (!results[i] || !CanChange(output.dtype())) continue;
      NABLA_RETURN_IF_ERROR(op->graph()->RefineShape(results[i], output.shape()));
      Accumulate(output, results[i]);
    }
    return absl::OkStatus();
  }

  // Whether nothing changes behind it, whatever changes before it.
  static bool IsConstant(const Node& op) {
    if (ForwardRegistry::Global().Find(op.op()) != nullptr) return false;
    const GradientRegistry::Entry* const entry = FindGradientRule(op);
    return entry != nullptr && entry->rule == nullptr;
  }

  // What such an op does to its resource, its gradient rule does not tell.
  static bool TakesResource(const Node& op) {
    for (int i = 0; i < op.num_inputs(); ++i) {
      if (BaseDType(op.input(i).dtype()) == DType::kResource) return true;
    }
    return false;
  }

  Scope ScopeFor(Node* op) {
    const Scope scope = scope_.Sub(absl::StrCat(op->name(), "_jvp"));
    return frames_ == nullptr ? scope : frames_->In(frames_->InputFrameOf(op), scope);
  }

  // xs and ys are outside of the loops that the walk passes through.
  absl::Status CheckFrames() const {
    if (frames_ == nullptr) return absl::OkStatus();
    for (const Outputs* tensors : {&xs_, &ys_}) {
      for (Output tensor : *tensors) {
        if (frames_->FrameOf(tensor.node()) == kRootFrame) continue;
        return absl::InvalidArgumentError(
            absl::StrCat("Jvp: '", tensor.name(), "' is in a loop, and has a value for each of its iterations"));
      }
    }
    return absl::OkStatus();
  }

  // The Merge at which a loop begins: the tangent is one more variable of the loop. What comes around is known later.
  absl::Status EnterLoop(Node* merge, const Outputs& tangents) {
    if (!CanChange(merge->output_dtype(0))) return absl::OkStatus();
    const Scope scope = ScopeFor(merge);
    Outputs inputs;
    for (int i = 0; i < merge->num_inputs(); ++i) {
      if (ClosesLoop(*merge, i)) {
        inputs.emplace_back();
      } else {
        inputs.push_back(tangents[i] ? tangents[i] : EnteringZeros(merge->input(i).node()));
      }
    }
    Node* const copy = CopyOp(scope, merge, inputs);
    NABLA_RETURN_IF_ERROR(scope.status());
    NABLA_RETURN_IF_ERROR(scope.graph()->RefineShape(copy->output(0), merge->output_shape(0)));
    Accumulate(merge->output(0), copy->output(0));
    loops_.emplace_back(merge, copy);
    return absl::OkStatus();
  }

  // Zeros for a variable that begins as a value that does not change.
  Output EnteringZeros(Node* enter) {
    if (!IsEnter(*enter)) return ops::ZerosLike(ScopeFor(enter), enter->output(0));
    const Scope around = ScopeFor(enter);
    Node* const copy = CopyOp(around, enter, {ops::ZerosLike(around, enter->input(0))});
    if (copy == nullptr) return Output();
    frames_->Note(copy, frames_->FrameOf(enter));
    return copy->output(0);
  }

  absl::Status CloseLoops() {
    for (const auto& [merge, copy] : loops_) {
      for (int i = 0; i < merge->num_inputs(); ++i) {
        if (!ClosesLoop(*merge, i)) continue;
        Output next = Tangent(merge->input(i));
        if (!next) {  // a value that does not change
          Node* const iteration = merge->input(i).node();
          const Scope scope = ScopeFor(iteration);
          next = ops::NextIteration(scope, ops::ZerosLike(scope, iteration->input(0)));
          NABLA_RETURN_IF_ERROR(scope.status());
        }
        NABLA_RETURN_IF_ERROR(scope_.graph()->SetBackEdge(copy, i, next));
      }
    }
    return absl::OkStatus();
  }

  // Rules of the op's own, unless its node says that it has another gradient.
  static ForwardRule FindRule(const Node& op, bool complex) {
    if (op.attr<std::string>("_gradient_op_type") != nullptr) return nullptr;
    const ForwardRegistry::Entry* const entry = ForwardRegistry::Global().Find(op.op());
    return entry == nullptr || (complex && entry->real_only) ? nullptr : entry->rule;
  }

  // The gradient rule is a linear map from the outputs' cotangents to the inputs'; the gradient of that map, for the
  // inputs' tangents, is its transpose: the map from them to the outputs' tangents. Since it is linear, the cotangents
  // themselves do not matter but for their shapes (J. Townsend, A new trick for calculating Jacobian vector products,
  // 2017).
  absl::StatusOr<Outputs> TransposeGradient(const Scope& scope, Node* op, const Outputs& tangents) {
    Grads cotangents(op->num_outputs());
    Outputs stand_ins;
    std::vector<int> wanted;
    for (int i = 0; i < op->num_outputs(); ++i) {
      if (!CanChange(op->output_dtype(i)) || !IsWanted(op, i)) continue;
      stand_ins.push_back(ops::Identity(scope, op->output(i)));
      cotangents[i] = stand_ins.back();
      wanted.push_back(i);
    }
    Outputs results(op->num_outputs());
    if (wanted.empty()) return results;
    std::vector<bool> needed;
    for (Output tangent : tangents) needed.push_back(static_cast<bool>(tangent));
    NABLA_ASSIGN_OR_RETURN(const Grads grads, ApplyGradientRule(scope, op, std::move(cotangents), needed));
    Outputs products;
    GradientOptions options;
    options.name = "transposed";
    for (int i = 0; i < op->num_inputs(); ++i) {
      if (grads[i].none()) continue;
      products.push_back(ToDense(scope, grads[i]));
      options.grad_ys.push_back(tangents[i]);
    }
    if (products.empty()) return results;
    NABLA_ASSIGN_OR_RETURN(const Grads transposed, Gradients(scope, products, stand_ins, options));
    for (size_t i = 0; i < wanted.size(); ++i) results[wanted[i]] = ToDense(scope, transposed[i]);
    return results;
  }

  const Scope scope_;
  const Outputs& xs_;
  const Outputs& ys_;
  const JvpOptions& options_;
  const std::vector<Node*> ops_;
  std::unique_ptr<FrameScopes> frames_;  // if there are loops or conditionals
  absl::flat_hash_set<const Node*> between_, stops_;
  std::vector<std::pair<Node*, Node*>> loops_;  // a loop variable's Merge, and its tangent's
  absl::flat_hash_map<Output, Output> tangents_;
};

}  // namespace

absl::StatusOr<Outputs> Jvp(const Scope& scope, const Outputs& ys, const Outputs& xs, const Outputs& tangents,
                            const JvpOptions& options) {
  NABLA_RETURN_IF_ERROR(scope.status());
  if (ys.empty() || xs.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("Jvp: ", ys.empty() ? "ys" : "xs", " is empty"));
  }
  if (tangents.size() != xs.size()) {
    return absl::InvalidArgumentError(absl::StrCat("Jvp: ", tangents.size(), " tangents for ", xs.size(), " xs"));
  }
  NABLA_RETURN_IF_ERROR(CheckTensors(scope, ys, "ys", false));
  NABLA_RETURN_IF_ERROR(CheckTensors(scope, xs, "xs", false));
  NABLA_RETURN_IF_ERROR(CheckTensors(scope, tangents, "tangents", true));
  NABLA_RETURN_IF_ERROR(CheckTensors(scope, options.stop_gradients, "stop_gradients", false));
  for (size_t i = 0; i < xs.size(); ++i) NABLA_RETURN_IF_ERROR(CheckTangent(xs[i], tangents[i]));
  const auto lock = scope.graph()->Lock();
  return ForwardWalk(scope, ys, xs, tangents, options).Run();
}

}  // namespace nabla

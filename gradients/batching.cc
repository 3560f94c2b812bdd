#include "nabla/gradients/batching.h"

#include <algorithm>
#include <memory>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "nabla/gradients/between.h"
#include "nabla/gradients/frame_scopes.h"
#include "nabla/gradients/rule_util.h"
#include "nabla/gradients/transform_util.h"
#include "nabla/graph/status_macros.h"
#include "nabla/ops/ops.h"

namespace nabla {
namespace {

// The elements of an integer vector operand, where the graph alone determines them.
absl::optional<std::vector<int64_t>> KnownInts(const Input& operand) {
  if (operand.output()) return ConstantInts(operand.output());
  const Tensor& value = operand.value();
  if (value.dtype() == DType::kInt32) {
    return std::vector<int64_t>(value.flat<int32_t>().begin(), value.flat<int32_t>().end());
  }
  return std::vector<int64_t>(value.flat<int64_t>().begin(), value.flat<int64_t>().end());
}

DType DTypeOf(const Input& operand) { return operand.output() ? operand.output().dtype() : operand.value().dtype(); }

// A constant given as C++ numbers is of int64, whatever its consumer would make of it.
DType IndexDType(const Input& operand) { return operand.is_weak() ? DType::kInt32 : DTypeOf(operand); }

}  // namespace

Input BatchSize::vector(const Scope& scope, DType dtype) {
  if (known() != kUnknownDim) return IntVector({known()}, dtype);
  if (!vector_) vector_ = SliceRows(ops::Shape(scope, batched_), 0, 1);
  return dtype == DType::kInt32 ? vector_ : ops::Cast(scope, vector_, dtype);
}

Output BatchingContext::Expanded(int i) {
  if (batched(i)) return input(i);
  return ops::BroadcastTo(scope_, input(i), PrependSize(ExampleShape(i)));
}

Input BatchingContext::ExampleShape(int i, DType dtype) {
  const Shape& shape = example(i);
  if (shape.IsFullyDefined()) return IntVector({shape.dims().begin(), shape.dims().end()}, dtype);
  const Output whole = ops::Shape(scope_, input(i), {.out_type = dtype});
  return batched(i) ? SliceRows(whole, 1, INT64_MAX) : whole;
}

Input BatchingContext::Prepend(int64_t first, Input rest) {
  const DType dtype = IndexDType(rest);
  if (absl::optional<std::vector<int64_t>> known = KnownInts(rest)) {
    known->insert(known->begin(), first);
    return IntVector(*known, dtype);
  }
  return ops::ConcatV2(scope_, {IntVector({first}, dtype), rest}, 0);
}

Input BatchingContext::PrependSize(Input rest) {
  if (size_->known() != kUnknownDim) return Prepend(size_->known(), std::move(rest));
  const DType dtype = IndexDType(rest);
  if (absl::optional<std::vector<int64_t>> known = KnownInts(rest)) {
    if (known->empty()) return size_->vector(scope_, dtype);
    rest = IntVector(*known, dtype);
  }
  return ops::ConcatV2(scope_, {size_->vector(scope_, dtype), rest}, 0);
}

Input BatchingContext::ShiftedAxes(int i) {
  const Output axes = input(i);
  if (absl::optional<std::vector<int64_t>> known = ConstantInts(axes)) {
    for (int64_t& axis : *known) axis += axis >= 0;
    const Tensor shifted = IntVector(*known, axes.dtype());
    if (axes.shape().rank() == 1) return shifted;
    return axes.dtype() == DType::kInt64 ? Tensor::Of<int64_t>(axes.shape(), *known)
                                         : Tensor::Of<int32_t>(axes.shape(), shifted.flat<int32_t>());
  }
  return ops::AddV2(scope_, axes, ops::Cast(scope_, ops::GreaterEqual(scope_, axes, 0), axes.dtype()));
}

int64_t BatchingContext::ShiftedAxis(absl::string_view name) const {
  const int64_t axis = attr<int64_t>(name);
  return axis >= 0 ? axis + 1 : axis;
}

Output BatchingContext::InsertOnes(Output x, int ones) {
  if (ones == 0) return x;
  const Shape& shape = x.shape();
  if (shape.has_rank() && std::count(shape.dims().begin(), shape.dims().end(), kUnknownDim) <= 1) {
    std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
    if (shape.IsFullyDefined() || std::count(dims.begin(), dims.end(), 0) == 0) {
      dims.insert(dims.begin() + 1, ones, 1);
      return ops::Reshape(scope_, x, dims);
    }
  }
  const Output whole = ops::Shape(scope_, x);
  const Tensor middle = IntVector(std::vector<int64_t>(ones, 1), DType::kInt32);
  return ops::Reshape(scope_, x,
                      ops::ConcatV2(scope_, {SliceRows(whole, 0, 1), middle, SliceRows(whole, 1, INT64_MAX)}, 0));
}

Output BatchingContext::Aligned(int i) {
  if (!batched(i)) return input(i);  // right as it is: broadcasting aligns last dimensions
  const int rank = example(i).rank();
  if (rank != kUnknownRank && rank == example_output(0).rank()) return input(i);
  int most = rank;
  bool unknown = false;
  for (int j = 0; j < num_inputs(); ++j) {
    if (op_->input(j) == op_->input(i) || example(j).rank() == 0) continue;
    unknown |= example(j).rank() == kUnknownRank || rank == kUnknownRank;
    most = std::max(most, example(j).rank());
  }
  if (!unknown) return InsertOnes(input(i), most - rank);
  Output most_at_run_time;
  const auto rank_of = [&](int j) {
    const Output whole = ops::Rank(scope_, input(j));
    return batched(j) ? ops::Sub(scope_, whole, 1) : whole;
  };
  const Output own = rank_of(i);
  most_at_run_time = own;
  for (int j = 0; j < num_inputs(); ++j) {
    if (op_->input(j) == op_->input(i) || example(j).rank() == 0) continue;
    most_at_run_time = ops::Maximum(scope_, most_at_run_time, rank_of(j));
  }
  const Output missing = ops::ExpandDims(scope_, ops::Sub(scope_, most_at_run_time, own), 0);
  const Output ones = ops::Fill(scope_, missing, ops::Const(scope_, 1, DType::kInt32));
  const Output whole = ops::Shape(scope_, input(i));
  return ops::Reshape(scope_, input(i),
                      ops::ConcatV2(scope_, {SliceRows(whole, 0, 1), ones, SliceRows(whole, 1, INT64_MAX)}, 0));
}

Output BatchingContext::BatchLast(Output x) {
  if (x.shape().rank() == 1) return x;
  if (x.shape().has_rank()) {
    std::vector<int64_t> order(x.shape().rank());
    std::iota(order.begin(), order.end(), 1);
    order.back() = 0;
    return ops::Transpose(scope_, x, order);
  }
  return ops::Transpose(scope_, x, ops::ConcatV2(scope_, {AxesFrom(1, x), {0}}, 0));
}

Output BatchingContext::BatchFirst(Output x) {
  if (x.shape().rank() == 1) return x;
  if (x.shape().has_rank()) {
    std::vector<int64_t> order(x.shape().rank());
    std::iota(order.begin() + 1, order.end(), 0);
    order.front() = x.shape().rank() - 1;
    return ops::Transpose(scope_, x, order);
  }
  const Output last = ops::Sub(scope_, ops::Rank(scope_, x), 1);
  return ops::Transpose(scope_, x,
                        ops::ConcatV2(scope_, {ops::ExpandDims(scope_, last, 0), ops::Range(scope_, 0, last, 1)}, 0));
}

Input BatchingContext::AxesFrom(int begin, Output x) {
  if (!x.shape().has_rank()) return ops::Range(scope_, begin, ops::Rank(scope_, x), 1);
  std::vector<int64_t> axes(std::max(x.shape().rank() - begin, 0));
  std::iota(axes.begin(), axes.end(), begin);
  return axes;
}

std::vector<Batched> BatchingContext::Copy(const Outputs& inputs,
                                           const std::vector<std::pair<std::string, Attr>>& changed) {
  Node* copy = CopyOp(scope_, op_, inputs, changed);
  std::vector<Batched> outputs;
  for (int i = 0; copy != nullptr && i < copy->num_outputs(); ++i) outputs.push_back(copy->output(i));
  return outputs;
}

std::vector<Batched> BatchingContext::Decline(absl::string_view reason) {
  status_ = absl::UnimplementedError(reason);
  return {};
}

BatchingRegistry& BatchingRegistry::Global() {
  static auto* const registry = new BatchingRegistry();
  return *registry;
}

void RegisterAllBatching(BatchingRegistry& registry) {
  RegisterArrayBatching(registry);
  RegisterElementwiseBatching(registry);
  RegisterGatherBatching(registry);
  RegisterMathBatching(registry);
}

namespace {

class Batcher {
 public:
  Batcher(const Scope& scope, const Outputs& examples, const std::vector<Batched>& batches,
          const std::vector<Node*>& ops)
      : scope_(scope), size_(batches[0].value) {
    for (size_t i = 0; i < examples.size(); ++i) values_[examples[i]] = batches[i];
    if (!std::any_of(ops.begin(), ops.end(), [](const Node* op) { return BelongsToControlFlow(*op); })) return;
    frames_ = std::make_unique<FrameScopes>(scope);
    // Here, that is outside of all loops.
    const ScopeGuard guard(scope_);
    size_.vector(scope_, DType::kInt32);
  }

  absl::Status Visit(Node* op) {
    if (ClosesLoop(*op)) return EnterLoop(op);
    std::vector<Batched> inputs = Values(op);
    const bool any =
        std::any_of(inputs.begin(), inputs.end(), [](const Batched& input) { return input.has_batch_axis; });
    if (!any && BelongsToControlFlow(*op)) return Refuse(*op, "what it does depends on the shape of what is batched");
    const BatchingRule rule = BatchingRegistry::Global().Find(op->op());
    if (any && rule == nullptr) return Refuse(*op, "it has no rule for that");
    const Scope scope = ScopeFor(op);
    const ScopeGuard guard(scope);
    BatchingContext context(scope, op, std::move(inputs), &size_);
    std::vector<Batched> outputs;
    if (any) {
      outputs = rule(context);
    } else {  // of shapes alone
      Outputs same;
      for (int i = 0; i < op->num_inputs(); ++i) same.push_back(context.input(i));
      for (const Batched& output : context.Copy(same)) outputs.push_back(Batched::Same(output.value));
    }
    if (!context.status().ok()) return Refuse(*op, context.status().message());
    NABLA_RETURN_IF_ERROR(scope.status());
    if (IsEnter(*op) || IsExit(*op)) frames_->Note(outputs[0].value.node(), frames_->FrameOf(op));
    for (int i = 0; i < op->num_outputs(); ++i) NABLA_RETURN_IF_ERROR(Keep(op->output(i), outputs[i]));
    return absl::OkStatus();
  }

  // What goes around the loops that were passed.
  absl::Status CloseLoops() {
    for (const auto& [merge, batched] : loops_) {
      for (int i = 0; i < merge->num_inputs(); ++i) {
        if (!ClosesLoop(*merge, i)) continue;
        Batched next = Value(merge->input(i));
        if (!next.has_batch_axis) {
          Node* const iteration = merge->input(i).node();
          const Scope scope = ScopeFor(iteration);
          BatchingContext context(scope, iteration, Values(iteration), &size_);
          next = ops::NextIteration(scope, context.Expanded(0));
          NABLA_RETURN_IF_ERROR(scope.status());
        }
        NABLA_RETURN_IF_ERROR(scope_.graph()->SetBackEdge(batched, i, next.value));
      }
    }
    return absl::OkStatus();
  }

  Batched Value(Output original) const {
    const auto it = values_.find(original);
    return it == values_.end() ? Batched::Same(original) : it->second;
  }

 private:
  static absl::Status Refuse(const Node& op, absl::string_view why) {
    return absl::UnimplementedError(absl::StrCat("op ", op.op(), " (node '", op.name(), "') cannot be batched: ", why));
  }

  std::vector<Batched> Values(Node* op) const {
    std::vector<Batched> inputs;
    for (int i = 0; i < op->num_inputs(); ++i) inputs.push_back(Value(op->input(i)));
    return inputs;
  }

  // In the frame of the op; and dead where the op is dead because of what it waits for.
  Scope ScopeFor(Node* op) const {
    if (frames_ == nullptr) return scope_;
    std::vector<Node*> control;
    for (Node* before : op->control_inputs()) {
      const Batched batched = before->num_outputs() > 0 ? Value(before->output(0)) : Batched();
      control.push_back(batched.value ? batched.value.node() : before);
    }
    return frames_->In(frames_->InputFrameOf(op), scope_).WithControl(control);
  }

  // The Merge at which a loop begins: a variable that depends on what is batched is batched from the start.
  absl::Status EnterLoop(Node* merge) {
    if (!IsBackpropagatable(merge->output_dtype(0)) || merge->output_dtype(0) == DType::kVariant) {
      return Refuse(*merge, "only loop variables that are floating or complex tensors are");
    }
    const Scope scope = ScopeFor(merge);
    Outputs inputs;
    for (int i = 0; i < merge->num_inputs(); ++i) {
      const Batched entering = Value(merge->input(i));
      if (ClosesLoop(*merge, i)) {
        inputs.emplace_back();
      } else if (entering.has_batch_axis) {
        inputs.push_back(entering.value);
      } else if (IsEnter(*merge->input(i).node())) {
        inputs.push_back(EnterExpanded(merge->input(i).node()));
      } else {
        return Refuse(*merge, "no Enter is before it");
      }
    }
    Node* const batched = CopyOp(scope, merge, inputs);
    NABLA_RETURN_IF_ERROR(scope.status());
    loops_.emplace_back(merge, batched);
    return Keep(merge->output(0), batched->output(0));
  }

  // What enters the same for all examples, repeated.
  Output EnterExpanded(Node* enter) {
    const Scope around = ScopeFor(enter);
    BatchingContext context(around, enter, Values(enter), &size_);
    Node* const copy = CopyOp(around, enter, {context.Expanded(0)});
    if (copy == nullptr) return Output();
    frames_->Note(copy, frames_->FrameOf(enter));
    return copy->output(0);
  }

  // What is known of the original's shape is known of its examples.
  absl::Status Keep(Output original, const Batched& batched) {
    values_[original] = batched;
    Shape shape = original.shape();
    if (batched.has_batch_axis && shape.has_rank()) shape.InsertDim(0, size_.known());
    return original.graph()->RefineShape(batched.value, shape);
  }

  const Scope& scope_;
  BatchSize size_;
  std::unique_ptr<FrameScopes> frames_;  // if there are loops or conditionals
  absl::flat_hash_map<Output, Batched> values_;
  std::vector<std::pair<Node*, Node*>> loops_;  // a loop variable's Merge, and the batched one
};

}  // namespace

absl::StatusOr<std::vector<Batched>> Batch(const Scope& scope, const Outputs& results, const Outputs& examples,
                                           const std::vector<Batched>& batches) {
  const std::vector<Node*> ops = OpsBetween(examples, results);
  Batcher batcher(scope, examples, batches, ops);
  for (Node* op : ops) NABLA_RETURN_IF_ERROR(batcher.Visit(op));
  NABLA_RETURN_IF_ERROR(batcher.CloseLoops());
  std::vector<Batched> batched;
  for (Output result : results) batched.push_back(batcher.Value(result));
  return batched;
}

}  // namespace nabla

#include "nabla/gradients/tape.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "nabla/gradients/between.h"
#include "nabla/gradients/jacobian.h"
#include "nabla/graph/logging.h"
#include "nabla/graph/resource_handle.h"
#include "nabla/graph/status_macros.h"
#include "nabla/ops/variable.h"

namespace nabla {
namespace {

// A handle as the VarHandleOp gives it; other tensors as they are.
Output Canonical(Output tensor) {
  if (tensor.dtype() != DType::kResource) return tensor;
  Node* const variable = FindResource(tensor).node;
  return variable != nullptr ? variable->output(0) : tensor;
}

// Whether the node takes the value of the variable whose handle it is given.
bool ReadsVariables(const Node& node) {
  return node.num_outputs() > 0 && BaseDType(node.output_dtype(0)) != DType::kResource &&
         node.op() != "VariableShape" && node.op() != "VarIsInitializedOp";
}

// What was computed for those of the sources that are connected, in their order, and for the others, in the order of
// all.
template <typename T>
std::vector<T> InOrder(const Outputs& sources, const Outputs& connected, const std::vector<T>& flowed,
                       const std::vector<T>& others) {
  std::vector<T> result;
  size_t next = 0;
  for (const Output& source : sources) {
    const bool is_next = next < connected.size() && connected[next] == source;
    result.push_back(is_next ? flowed[next++] : others[result.size() - next]);
  }
  return result;
}

}  // namespace

GradientTape::GradientTape(const Scope& scope, const TapeOptions& options)
    : scope_(scope), graph_(scope.graph()), options_(options) {
  Start();
}

void GradientTape::Start() {
  if (recording()) {
    return scope_.RecordError(absl::FailedPreconditionError("GradientTape: the tape is recording already"));
  }
  if (used_) {
    intervals_.clear();
    watched_.clear();
    used_ = false;
  }
  intervals_.push_back({graph_->num_node_ids(), kOpen});
}

void GradientTape::Stop() {
  if (!recording()) {
    return scope_.RecordError(absl::FailedPreconditionError("GradientTape: the tape is not recording"));
  }
  intervals_.back().end = graph_->num_node_ids();
}

void GradientTape::Reset() {
  if (!recording()) {
    return scope_.RecordError(
        absl::FailedPreconditionError("GradientTape: a tape that is not recording cannot be reset"));
  }
  intervals_.clear();
  watched_.clear();
  Start();
}

GradientTape::Pause GradientTape::StopRecording() {
  const bool was_recording = recording();
  Stop();
  return Pause(was_recording ? this : nullptr);
}

absl::Status GradientTape::Check(Output tensor, const char* what) const {
  if (!tensor) return absl::InvalidArgumentError(absl::StrCat("GradientTape: a ", what, " is none"));
  if (tensor.graph() == graph_) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("GradientTape: ", what, " '", tensor.name(),
                                                 "' is of another graph than the one that was recorded"));
}

void GradientTape::Watch(Output tensor) {
  if (const absl::Status status = Check(tensor, "watched tensor"); !status.ok()) return scope_.RecordError(status);
  if (used_) {
    return scope_.RecordError(absl::FailedPreconditionError("GradientTape: the tape's only result was taken"));
  }
  if (!IsBackpropagatable(tensor.dtype())) {
    NABLA_LOG(WARNING) << "GradientTape: '" << tensor.name() << "' of type " << DTypeName(tensor.dtype())
                       << " is watched, but has no gradients";
  }
  watched_.try_emplace(Canonical(tensor), graph_->num_node_ids());
}

void GradientTape::Watch(const Outputs& tensors) {
  for (const Output& tensor : tensors) Watch(tensor);
}

bool GradientTape::WasRecorded(const Node* node) const {
  const auto after = std::upper_bound(intervals_.begin(), intervals_.end(), node->id(),
                                      [](int id, const Interval& interval) { return id < interval.begin; });
  if (after == intervals_.begin()) return false;
  const Interval& interval = *std::prev(after);
  return interval.end == kOpen || node->id() < interval.end;
}

// Whether `tensor` was watched when the node with id `by` used it.
bool GradientTape::IsWatched(Output tensor, int by) const {
  tensor = Canonical(tensor);
  const auto it = watched_.find(tensor);
  if (it != watched_.end() && it->second <= by) return true;
  return options_.watch_accessed_variables && tensor.dtype() == DType::kResource &&
         ops::IsTrainableVariable(*tensor.node());
}

Outputs GradientTape::WatchedVariables() const {
  const auto lock = graph_->Lock();
  std::set<int> ids;
  for (const auto& [tensor, since] : watched_) {
    if (tensor.node()->op() == "VarHandleOp") ids.insert(tensor.node()->id());
  }
  for (const Interval& interval : intervals_) {
    if (!options_.watch_accessed_variables) break;
    const int end = interval.end == kOpen ? graph_->num_node_ids() : interval.end;
    for (int id = interval.begin; id < end; ++id) {
      const Node* const node = graph_->node(id);
      if (node == nullptr || !ReadsVariables(*node)) continue;
      for (int i = 0; i < node->num_inputs(); ++i) {
        const Output input = node->input(i);
        if (!input || input.dtype() != DType::kResource) continue;
        const Node* const variable = FindResource(input).node;
        if (variable != nullptr && ops::IsTrainableVariable(*variable)) ids.insert(variable->id());
      }
    }
  }
  Outputs variables;
  for (int id : ids) variables.push_back(graph_->node(id)->output(0));
  return variables;
}

GradientTape::Trace GradientTape::TraceBack(const Outputs& targets) const {
  Trace trace;
  // Recorded nodes that the targets depend on, and who uses whom among them. A user may be a node that a loop's back
  // edge leads to, so the order of ids would not do.
  absl::flat_hash_map<const Node*, std::vector<const Node*>> users;
  std::vector<const Node*> pending, reached;
  const auto reach = [&](const Node* node) {
    if (!WasRecorded(node) || !users.try_emplace(node).second) return;
    pending.push_back(node);
    reached.push_back(node);
  };
  for (const Output& target : targets) reach(target.node());
  while (!pending.empty()) {
    const Node* const node = pending.back();
    pending.pop_back();
    for (int i = 0; i < node->num_inputs(); ++i) {
      const Output input = node->input(i);
      if (!input || !IsBackpropagatable(input.dtype())) continue;
      reach(input.node());
      const auto it = users.find(input.node());
      if (it != users.end()) it->second.push_back(node);
    }
  }
  // Those that depend on something watched.
  for (const Node* node : reached) {
    for (int i = 0; i < node->num_inputs(); ++i) {
      const Output input = node->input(i);
      if (!input || !IsBackpropagatable(input.dtype()) || !IsWatched(input, node->id())) continue;
      if (input.dtype() == DType::kResource) trace.accessed.insert(Canonical(input).node());
      if (trace.nodes.insert(node).second) pending.push_back(node);
    }
  }
  while (!pending.empty()) {
    const Node* const node = pending.back();
    pending.pop_back();
    for (const Node* user : users[node]) {
      if (trace.nodes.insert(user).second) pending.push_back(user);
    }
  }
  absl::flat_hash_set<Output> seen;
  for (const Node* node : reached) {
    if (!trace.nodes.contains(node)) continue;
    for (int i = 0; i < node->num_inputs(); ++i) {
      const Output input = node->input(i);
      if (!input || !IsBackpropagatable(input.dtype()) || trace.nodes.contains(input.node())) continue;
      if (seen.insert(input).second) trace.border.push_back(input);
    }
  }
  return trace;
}

bool GradientTape::IsOnTape(const Trace& trace, Output tensor) const {
  tensor = Canonical(tensor);
  return trace.nodes.contains(tensor.node()) || trace.accessed.contains(tensor.node()) || watched_.contains(tensor);
}

// Whether the target may have a derivative by the source. A target is its own, on the tape or not.
bool GradientTape::IsSource(const Trace& trace, Output target, Output source) const {
  return source == target || (trace.nodes.contains(target.node()) && IsOnTape(trace, source));
}

absl::Status GradientTape::CheckUse(const Outputs& targets, const Outputs& sources) const {
  NABLA_RETURN_IF_ERROR(scope_.status());
  if (used_) {
    return absl::FailedPreconditionError(
        "GradientTape: a tape that is not persistent gives one set of gradients, or Jacobians");
  }
  if (targets.empty() || sources.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("GradientTape: there are no ", targets.empty() ? "targets" : "sources"));
  }
  for (const Output& target : targets) NABLA_RETURN_IF_ERROR(Check(target, "target"));
  for (const Output& source : sources) NABLA_RETURN_IF_ERROR(Check(source, "source"));
  return absl::OkStatus();
}

// Before the nodes of a result are made, which only a persistent tape records.
void GradientTape::Use() {
  if (options_.persistent) return;
  if (recording()) Stop();
  used_ = true;
}

absl::StatusOr<Grads> GradientTape::Gradient(const Outputs& targets, const Outputs& sources,
                                             const TapeGradientOptions& options) {
  NABLA_RETURN_IF_ERROR(CheckUse(targets, sources));
  if (!options.output_gradients.empty() && options.output_gradients.size() != targets.size()) {
    return absl::InvalidArgumentError(absl::StrCat("GradientTape: ", options.output_gradients.size(),
                                                   " output_gradients for ", targets.size(), " targets"));
  }
  const auto lock = graph_->Lock();
  Outputs values = targets;
  for (Output& value : values) {
    if (value.dtype() != DType::kResource) continue;
    const bool was_recording = recording();
    if (!was_recording) Start();
    value = ops::ReadVariable(scope_, value);
    if (!was_recording) Stop();
  }
  NABLA_RETURN_IF_ERROR(scope_.status());
  Use();
  return FlowBack(values, sources, options);
}

absl::StatusOr<Grads> GradientTape::FlowBack(const Outputs& targets, const Outputs& sources,
                                             const TapeGradientOptions& options) {
  const Trace trace = TraceBack(targets);
  // A target that is a source is its own derivative, on the tape or not.
  const auto is_in = [](const Outputs& list, Output tensor) {
    return std::find(list.begin(), list.end(), tensor) != list.end();
  };
  Outputs ys, xs, others;
  GradientOptions engine = {.stop_gradients = trace.border, .unconnected = options.unconnected};
  for (size_t i = 0; i < targets.size(); ++i) {
    if (!trace.nodes.contains(targets[i].node()) && !is_in(sources, targets[i])) continue;
    ys.push_back(targets[i]);
    if (!options.output_gradients.empty()) engine.grad_ys.push_back(options.output_gradients[i]);
  }
  for (const Output& source : sources) {
    const bool connected = !ys.empty() && (IsOnTape(trace, source) || is_in(targets, source));
    (connected ? xs : others).push_back(source);
  }
  Grads flowed, zeros(others.size());
  if (!xs.empty()) {
    NABLA_ASSIGN_OR_RETURN(flowed, Gradients(scope_, ys, xs, engine));
  }
  if (!others.empty() && options.unconnected == UnconnectedGradients::kZero) {
    NABLA_ASSIGN_OR_RETURN(zeros, Gradients(scope_, {targets[0]}, others,
                                            {.stop_gradients = {targets[0]}, .unconnected = options.unconnected}));
  }
  return InOrder(sources, xs, flowed, zeros);
}

absl::StatusOr<Outputs> GradientTape::Jacobian(Output target, const Outputs& sources,
                                               UnconnectedGradients unconnected) {
  NABLA_RETURN_IF_ERROR(CheckUse({target}, sources));
  const auto lock = graph_->Lock();
  Use();
  const Trace trace = TraceBack({target});
  Outputs connected, others;
  for (const Output& source : sources) (IsSource(trace, target, source) ? connected : others).push_back(source);
  Outputs flowed, zeros;
  if (!connected.empty()) {
    NABLA_ASSIGN_OR_RETURN(flowed, nabla::Jacobian(scope_, target, connected,
                                                   {.unconnected = unconnected, .stop_gradients = trace.border}));
  }
  if (!others.empty()) {
    // Stopped at its target, nothing flows.
    NABLA_ASSIGN_OR_RETURN(
        zeros, nabla::Jacobian(scope_, target, others, {.unconnected = unconnected, .stop_gradients = {target}}));
  }
  return InOrder(sources, connected, flowed, zeros);
}

absl::StatusOr<Output> GradientTape::BatchJacobian(Output target, Output source, UnconnectedGradients unconnected) {
  NABLA_RETURN_IF_ERROR(CheckUse({target}, {source}));
  const auto lock = graph_->Lock();
  Use();
  const Trace trace = TraceBack({target});
  return nabla::BatchJacobian(
      scope_, target, source,
      {.unconnected = unconnected, .stop_gradients = IsSource(trace, target, source) ? trace.border : Outputs{target}});
}

}  // namespace nabla

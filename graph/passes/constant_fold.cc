#include "nabla/graph/passes/constant_fold.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nabla/graph/control_flow.h"
#include "nabla/graph/passes/rewrite.h"
#include "nabla/graph/status_macros.h"

namespace nabla {
namespace {

// An integer of the node's output type.
absl::StatusOr<Tensor> IntegerTensor(DType dtype, Shape shape, absl::Span<const int64_t> values) {
  if (dtype == DType::kInt64) return Tensor::Of<int64_t>(std::move(shape), values);
  Tensor tensor(DType::kInt32, std::move(shape));
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] > std::numeric_limits<int32_t>::max()) return absl::OutOfRangeError("does not fit int32");
    tensor.data<int32_t>()[i] = static_cast<int32_t>(values[i]);
  }
  return tensor;
}

// Whether the node asks only for the static shapes of its inputs, which are known; then its values.
bool FoldShapeOp(const Node& node, std::vector<Tensor>* outputs) {
  const std::string& op = node.op();
  const bool is_rank = op == "Rank";
  if (!is_rank && op != "Shape" && op != "ShapeN" && op != "Size") return false;
  for (int i = 0; i < node.num_outputs(); ++i) {
    const Shape& shape = node.input(i).shape();
    if (is_rank ? !shape.has_rank() : !shape.IsFullyDefined()) return false;
    absl::StatusOr<Tensor> value = is_rank ? IntegerTensor(node.output_dtype(i), Shape::Scalar(), {shape.rank()})
                                   : op == "Size"
                                       ? IntegerTensor(node.output_dtype(i), Shape::Scalar(), {shape.num_elements()})
                                       : IntegerTensor(node.output_dtype(i), Shape({shape.rank()}), shape.dims());
    if (!value.ok()) return false;
    outputs->push_back(*std::move(value));
  }
  return true;
}

// Bytes of the node's outputs, or nothing if the graph does not fix them.
absl::optional<size_t> OutputBytes(const Node& node) {
  size_t bytes = 0;
  for (int i = 0; i < node.num_outputs(); ++i) {
    const Shape& shape = node.output_shape(i);
    int64_t size;
    if (!shape.IsFullyDefined() ||
        !CheckedMultiply(shape.num_elements(), static_cast<int64_t>(DTypeSize(node.output_dtype(i))), &size)) {
      return absl::nullopt;
    }
    bytes = std::max<size_t>(bytes, bytes + size);
  }
  return bytes;
}

class Folder {
 public:
  explicit Folder(Compilation& compilation) : compilation_(compilation), graph_(compilation.graph) {}

  absl::Status Run() {
    const auto targets = TargetSet(compilation_);
    const std::vector<Node*> order = graph_->TopologicalOrder();
    FindEffects(order);
    for (Node* node : order) {
      if (node->num_outputs() == 0 || node->op() == "Const" || node->spec().is_stateful() || IsControlFlow(*node) ||
          targets.contains(node)) {
        continue;
      }
      std::vector<Tensor> outputs;
      if ((!ReadsSwitch(*node) && FoldShapeOp(*node, &outputs)) || Evaluate(node, &outputs)) {
        NABLA_RETURN_IF_ERROR(Replace(node, std::move(outputs)));
      }
    }
    return absl::OkStatus();
  }

 private:
  // A branch's tensor, whose node lives in both branches: no control edge could say which.
  static bool ReadsSwitch(const Node& node) {
    for (int i = 0; i < node.num_inputs(); ++i) {
      if (IsSwitch(*node.input(i).node())) return true;
    }
    return false;
  }

  // Which nodes have stateful ones among what they need, and among what needs them; which are in loops and branches.
  void FindEffects(const std::vector<Node*>& order) {
    stateful_before_.resize(graph_->num_node_ids());
    stateful_after_.resize(graph_->num_node_ids());
    in_control_flow_.resize(graph_->num_node_ids());
    absl::flat_hash_set<const Node*> feeds;
    for (const Output& feed : compilation_.feeds) feeds.insert(feed.node());
    for (Node* node : order) {
      bool before = node->spec().is_stateful() && !feeds.contains(node);
      for (int i = 0; i < node->num_inputs(); ++i) before = before || stateful_before_[node->input(i).node()->id()];
      for (Node* control : node->control_inputs()) before = before || stateful_before_[control->id()];
      stateful_before_[node->id()] = before;
      bool inside = IsControlFlow(*node);
      for (int i = 0; i < node->num_inputs(); ++i) inside = inside || in_control_flow_[node->input(i).node()->id()];
      for (Node* control : node->control_inputs()) inside = inside || in_control_flow_[control->id()];
      in_control_flow_[node->id()] = inside;
    }
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      bool after = false;
      for (const Edge& edge : (*it)->consumers()) {
        after = after || edge.consumer->spec().is_stateful() || stateful_after_[edge.consumer->id()];
      }
      stateful_after_[(*it)->id()] = after;
    }
  }

  // Constants that this pass has made have ids beyond, and carry what they wait for themselves.
  bool StatefulBefore(const Node* node) const {
    return node->id() < static_cast<int>(stateful_before_.size()) && stateful_before_[node->id()];
  }

  bool Evaluate(Node* node, std::vector<Tensor>* outputs) {
    if (!compilation_.evaluate || node->num_inputs() == 0) return false;
    std::vector<Tensor> inputs;
    size_t input_bytes = 0;
    for (int i = 0; i < node->num_inputs(); ++i) {
      const Node& source = *node->input(i).node();
      const Tensor* value = source.op() == "Const" ? source.attr<Tensor>("value") : nullptr;
      if (value == nullptr || value->dtype() != source.output_dtype(0)) return false;
      input_bytes += value->num_bytes();
      inputs.push_back(*value);
    }
    const absl::optional<size_t> bytes = OutputBytes(*node);
    if (!bytes.has_value()) return false;
    if (*bytes > input_bytes) {
      const size_t growth = *bytes - input_bytes;
      if (*bytes > kMaxFoldedBytes || growth > kMaxFoldedGrowth - growth_) return false;
      growth_ += growth;
    }
    if (!compilation_.evaluate(node, inputs, outputs).ok()) return false;
    if (static_cast<int>(outputs->size()) != node->num_outputs()) return false;
    for (int i = 0; i < node->num_outputs(); ++i) {
      const DType dtype = (*outputs)[i].dtype();
      // Handles and variants live in a run.
      if (dtype != node->output_dtype(i) || dtype == DType::kResource || dtype == DType::kVariant) return false;
    }
    return true;
  }

  absl::Status Replace(Node* node, std::vector<Tensor> outputs) {
    // What the node waited for, so that whoever uses the constant still waits for it.
    std::vector<Node*> controls = node->control_inputs();
    for (int i = 0; i < node->num_inputs(); ++i) {
      Node* source = node->input(i).node();
      if (source->op() == "Const") {
        for (Node* control : source->control_inputs()) controls.push_back(control);
      } else if (StatefulBefore(source) && stateful_after_[node->id()]) {
        // A shape, folded without its tensor's value: the effects on either side of it stay in order.
        controls.push_back(source);
      } else if (source->id() < static_cast<int>(in_control_flow_.size()) && in_control_flow_[source->id()]) {
        // Likewise: it stays in its loop and branch.
        controls.push_back(source);
      }
    }
    std::sort(controls.begin(), controls.end(), [](const Node* a, const Node* b) { return a->id() < b->id(); });
    controls.erase(std::unique(controls.begin(), controls.end()), controls.end());
    const bool waits = !controls.empty();

    Node* first = nullptr;
    for (int i = 0; i < node->num_outputs(); ++i) {
      NodeDesc desc;
      desc.name = graph_->UniqueName(absl::StrCat(node->name(), "/folded"));
      desc.op = "Const";
      desc.control_inputs = controls;
      desc.attrs.Set("dtype", node->output_dtype(i));
      desc.attrs.Set("value", std::move(outputs[i]));
      desc.device = node->device();
      NABLA_ASSIGN_OR_RETURN(Node * constant, graph_->AddNode(std::move(desc)));
      if (first == nullptr) first = constant;
      NABLA_RETURN_IF_ERROR(ReplaceTensor(compilation_, node->output(i), constant->output(0)));
    }
    MoveControlConsumers(graph_, node, waits ? first : nullptr);
    return absl::OkStatus();
  }

  Compilation& compilation_;
  Graph* graph_;
  size_t growth_ = 0;
  std::vector<bool> stateful_before_;  // by node id
  std::vector<bool> stateful_after_;
  std::vector<bool> in_control_flow_;
};

}  // namespace

absl::Status ConstantFold(Compilation& compilation) { return Folder(compilation).Run(); }

}  // namespace nabla

#include "nabla/graph/passes/drop_identities.h"

#include <algorithm>
#include <string>
#include <vector>

#include "nabla/graph/constant_value.h"
#include "nabla/graph/control_flow.h"
#include "nabla/graph/passes/rewrite.h"
#include "nabla/graph/status_macros.h"

namespace nabla {
namespace {

bool KeepsStaticShape(const Node& node) {
  const Shape& from = node.input(0).shape();
  return from.IsFullyDefined() && from == node.output_shape(0);
}

bool IsIota(const absl::optional<Tensor>& permutation) {
  if (!permutation.has_value()) return false;
  for (int64_t i = 0; i < permutation->num_elements(); ++i) {
    const int64_t axis =
        permutation->dtype() == DType::kInt32 ? permutation->data<int32_t>()[i] : permutation->data<int64_t>()[i];
    if (axis != i) return false;
  }
  return true;
}

// Every output i is input i.
bool IsIdentity(const Node& node) {
  const std::string& op = node.op();
  if (node.num_inputs() < 1 || node.num_outputs() < 1) return false;
  if (node.input(0).dtype() != node.output_dtype(0)) return false;
  if (op == "Identity" || op == "IdentityN" || op == "StopGradient" || op == "PreventGradient" || op == "Snapshot") {
    return true;
  }
  if (op == "AddN" || op == "AccumulateNV2") return node.num_inputs() == 1;
  if (op == "Cast") return true;  // the dtypes are equal, see above
  if (op == "Reshape" || op == "Squeeze" || op == "ExpandDims" || op == "BroadcastTo") return KeepsStaticShape(node);
  // A permutation that the graph fixes has passed the shape rule, so it fits the input's rank.
  if (op == "Transpose") return node.input(0).shape().has_rank() && IsIota(ConstantValue(node.input(1)));
  return false;
}

// Where branches may not be taken, a node is dead if any of its inputs is: then only one input may matter.
bool DependsOnOneInput(const Node& node) {
  for (int i = 1; i < node.num_inputs(); ++i) {
    if (!IsFreeConstant(*node.input(i).node())) return false;
  }
  return true;
}

struct Consumers {
  std::vector<Node*> data;
  int num_control = 0;
  bool has_merge = false;  // among data
};

Consumers ConsumersOf(const Node& node) {
  Consumers consumers;
  for (const Edge& edge : node.consumers()) {
    if (edge.IsControl()) {
      ++consumers.num_control;
    } else {
      consumers.data.push_back(edge.consumer);
      consumers.has_merge = consumers.has_merge || IsMerge(*edge.consumer);
    }
  }
  return consumers;
}

bool IsFetched(const Compilation& compilation, const Node* node) {
  for (const Output& fetch : compilation.fetches) {
    if (fetch.node() == node) return true;
  }
  return false;
}

}  // namespace

absl::Status DropIdentities(Compilation& compilation) {
  Graph* graph = compilation.graph;
  const auto targets = TargetSet(compilation);
  const std::vector<Node*> order = graph->TopologicalOrder();
  const bool has_control_flow = std::any_of(order.begin(), order.end(), [](Node* n) { return IsControlFlow(*n); });
  for (Node* node : order) {
    if (targets.contains(node) || !IsIdentity(*node)) continue;
    if (has_control_flow && !DependsOnOneInput(*node)) continue;
    // A control edge from Identity(Switch) means "if this branch is taken"; one from the Switch would not.
    bool after_control_flow = false;
    for (int i = 0; i < node->num_inputs(); ++i) after_control_flow |= IsControlFlow(*node->input(i).node());
    const Consumers consumers = ConsumersOf(*node);
    if (after_control_flow && (consumers.num_control > 0 || node->num_control_inputs() > 0)) continue;

    const std::vector<Node*> controls = node->control_inputs();
    const size_t users = consumers.data.size() + consumers.num_control;
    if (!controls.empty()) {
      // A fetched tensor has no consumer here that could wait in the node's stead.
      if (IsFetched(compilation, node)) continue;
      // A Merge would wait, too, but not take the input for dead when the control input is.
      if (consumers.has_merge) continue;
      if (controls.size() * users > controls.size() + users) continue;
      for (Node* control : controls) {
        for (Node* consumer : consumers.data) graph->AddControlEdge(control, consumer);
      }
    }
    std::vector<Node*> waiting;
    for (const Edge& edge : node->consumers()) {
      if (edge.IsControl()) waiting.push_back(edge.consumer);
    }
    for (Node* consumer : waiting) {
      graph->RemoveControlEdge(node, consumer);
      for (Node* control : controls) graph->AddControlEdge(control, consumer);
      for (int i = 0; i < node->num_inputs(); ++i) {
        Node* source = node->input(i).node();
        if (!IsFreeConstant(*source)) graph->AddControlEdge(source, consumer);
      }
    }
    for (int i = 0; i < node->num_outputs(); ++i) {
      NABLA_RETURN_IF_ERROR(ReplaceTensor(compilation, node->output(i), node->input(i)));
    }
  }
  return absl::OkStatus();
}

}  // namespace nabla

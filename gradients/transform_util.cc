#include "nabla/gradients/transform_util.h"

#include <functional>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "nabla/gradients/rule_util.h"
#include "nabla/graph/constant_value.h"
#include "nabla/graph/control_flow.h"
#include "nabla/graph/resource_handle.h"
#include "nabla/ops/ops.h"

namespace nabla {
namespace {

// Ops that take a source, or what depends on one.
absl::flat_hash_set<const Node*> Dependents(const Outputs& sources) {
  absl::flat_hash_set<const Node*> dependents;
  std::vector<const Node*> stack;
  const auto visit = [&](const Edge& edge) {
    if (!edge.IsControl() && dependents.insert(edge.consumer).second) stack.push_back(edge.consumer);
  };
  for (Output source : sources) {
    for (const Edge& edge : source.node()->consumers()) {
      if (edge.source_index == source.index()) visit(edge);
    }
  }
  while (!stack.empty()) {
    const Node* op = stack.back();
    stack.pop_back();
    for (const Edge& edge : op->consumers()) visit(edge);
  }
  return dependents;
}

}  // namespace

bool ClosesLoop(const Node& op, int i) { return IsMerge(op) && op.input(i) && IsNextIteration(*op.input(i).node()); }

bool ClosesLoop(const Node& op) {
  for (int i = 0; i < op.num_inputs() && IsMerge(op); ++i) {
    if (ClosesLoop(op, i)) return true;
  }
  return false;
}

std::vector<Node*> OpsBetween(const Outputs& sources, const Outputs& results) {
  const absl::flat_hash_set<const Node*> dependents = Dependents(sources);
  // Depth first from the results backwards: an op comes after all its inputs.
  absl::flat_hash_set<const Node*> seen;
  std::vector<Node*> order;
  std::vector<std::pair<Node*, int>> stack;  // an op, and its input to look at next
  const auto visit = [&](Node* op) {
    if (op != nullptr && dependents.contains(op) && seen.insert(op).second) stack.emplace_back(op, 0);
  };
  // Where the walk starts: at the results, and where loops that it passed are closed.
  std::vector<Node*> starts;
  for (Output result : results) starts.push_back(result.node());
  for (size_t start = 0; start < starts.size(); ++start) {
    visit(starts[start]);
    while (!stack.empty()) {
      auto& [op, next] = stack.back();
      if (next == op->num_inputs()) {
        order.push_back(op);
        stack.pop_back();
        continue;
      }
      const int i = next++;
      Node* const source = op->input(i).node();
      if (ClosesLoop(*op, i)) {
        starts.push_back(source);
      } else {
        visit(source);
      }
    }
  }
  return order;
}

bool BelongsToControlFlow(const Node& op) {
  return IsEnter(op) || IsExit(op) || IsMerge(op) || IsSwitch(op) || IsNextIteration(op) || IsLoopCond(op);
}

Node* CopyOp(const Scope& scope, const Node* op, const Outputs& inputs,
             const std::vector<std::pair<std::string, Attr>>& changed) {
  NodeBuilder builder(scope, op->op());
  auto next = inputs.begin();
  for (const ArgSpec& formal : op->spec().inputs()) {
    int64_t count = 1;
    if (!formal.number_attr.empty()) count = op->GetAttr<int64_t>(formal.number_attr);
    if (!formal.type_list_attr.empty()) {
      count = static_cast<int64_t>(op->GetAttr<std::vector<DType>>(formal.type_list_attr).size());
    }
    if (formal.IsList()) {
      builder.InputList(Outputs(next, next + count));
    } else {
      builder.Input(*next);
    }
    next += count;
  }
  for (const auto& [name, value] : op->attrs()) {
    if (name != "_output_shapes") builder.Attr(name, value);
  }
  for (const auto& [name, value] : changed) builder.Attr(name, value);
  return builder.Finish();
}

void RemoveUnused(Graph* graph, int first_id, const Outputs& keep) {
  absl::flat_hash_set<const Node*> used;
  std::vector<const Node*> stack;
  const auto use = [&](const Node* node) {
    if (node != nullptr && node->id() >= first_id && used.insert(node).second) stack.push_back(node);
  };
  for (Output output : keep) use(output.node());
  const auto each_new = [&](const std::function<void(Node*)>& visit) {
    for (int id = graph->num_node_ids() - 1; id >= first_id; --id) {
      if (Node* node = graph->node(id)) visit(node);
    }
  };
  each_new([&](Node* node) {
    for (const Edge& edge : node->consumers()) {
      if (edge.consumer->id() < first_id) use(node);
    }
  });
  while (!stack.empty()) {
    const Node* const node = stack.back();
    stack.pop_back();
    for (int i = 0; i < node->num_inputs(); ++i) use(node->input(i).node());
    for (const Node* input : node->control_inputs()) use(input);
  }
  // Loops are opened; then consumers, whose ids are greater, go first.
  each_new([&](Node* node) {
    for (int i = 0; i < node->num_inputs() && !used.contains(node); ++i) {
      if (ClosesLoop(*node, i)) graph->SetBackEdge(node, i, Output()).IgnoreError();
    }
  });
  each_new([&](Node* node) {
    if (!used.contains(node)) graph->RemoveNode(node).IgnoreError();
  });
}

absl::optional<std::vector<int64_t>> ConstantInts(Output tensor) {
  const absl::optional<Tensor> value = ConstantValue(tensor);
  if (!value) return absl::nullopt;
  std::vector<int64_t> ints;
  if (value->dtype() == DType::kInt32) {
    ints.assign(value->flat<int32_t>().begin(), value->flat<int32_t>().end());
  } else if (value->dtype() == DType::kInt64) {
    ints.assign(value->flat<int64_t>().begin(), value->flat<int64_t>().end());
  } else {
    return absl::nullopt;
  }
  return ints;
}

Tensor IntVector(const std::vector<int64_t>& values, DType dtype) {
  if (dtype == DType::kInt64) return Tensor::Vector<int64_t>(values);
  return Tensor::Vector<int32_t>(std::vector<int32_t>(values.begin(), values.end()));
}

Input ValueShapeOperand(const Scope& scope, Output x) {
  if (x.dtype() != DType::kResource) return ShapeOperand(scope, x);
  const Shape shape = FindResource(x).shape;
  if (shape.IsFullyDefined()) return shape;
  return ops::VariableShape(scope, x);
}

Shape ValueShape(Output x) { return x.dtype() == DType::kResource ? FindResource(x).shape : x.shape(); }

}  // namespace nabla

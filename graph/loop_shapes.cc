#include "nabla/graph/loop_shapes.h"

#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "nabla/graph/control_flow.h"
#include "nabla/graph/partial_value.h"
#include "nabla/graph/shape_inference.h"

namespace nabla {
namespace {

// How often a node is inferred, on average: once optimistically, and again for each weakening that reaches it, most of
// which come in the first few rounds.
constexpr int64_t kVisitsPerNode = 16;

class LoopShapes {
 public:
  LoopShapes(Graph* graph, int first_id)
      : graph_(graph), first_id_(first_id), states_(static_cast<size_t>(graph->num_node_ids() - first_id)) {}

  void Infer() {
    FindAffected();
    if (affected_.empty()) return;
    visits_left_ = kVisitsPerNode * static_cast<int64_t>(affected_.size());
    for (Node* node : affected_) Visit(node, /*with_back_edges=*/false);
    for (Node* node : affected_) {
      if (state(node).is_loop_merge) Enqueue(node);
    }
    while (!queue_.empty() && visits_left_ > 0) {
      Node* node = graph_->node(queue_.top());
      queue_.pop();
      state(node).queued = false;
      const bool changed = Visit(node, /*with_back_edges=*/true);
      if (!changed && !MayHaveNewValue(*node)) continue;
      for (const Edge& edge : node->consumers()) {
        if (!edge.IsControl()) Enqueue(edge.consumer);
      }
    }
    if (!queue_.empty()) Restore();
  }

 private:
  struct State {
    bool affected = false;
    bool is_loop_merge = false;
    bool queued = false;
    size_t first_shape = 0;  // index into original_
  };

  State& state(const Node* node) { return states_[static_cast<size_t>(node->id() - first_id_)]; }

  // A Merge with one input from before the loop and one from its end.
  static bool IsLoopMerge(const Node& node) {
    if (!IsMerge(node)) return false;
    bool forward = false;
    bool back = false;
    for (int i = 0; i < node.num_inputs(); ++i) {
      const Output source = node.input(i);
      if (source) (IsNextIteration(*source.node()) ? back : forward) = true;
    }
    return forward && back;
  }

  // The loops' Merges and whatever is downstream of them, in order of ids.
  void FindAffected() {
    for (int id = first_id_; id < graph_->num_node_ids(); ++id) {
      Node* node = graph_->node(id);
      if (node == nullptr || node->num_outputs() == 0) continue;
      State& of_node = state(node);
      of_node.is_loop_merge = IsLoopMerge(*node);
      of_node.affected = of_node.is_loop_merge;
      for (int i = 0; i < node->num_inputs() && !of_node.affected; ++i) {
        const Output source = node->input(i);
        of_node.affected = source && source.node()->id() >= first_id_ && state(source.node()).affected;
      }
      if (!of_node.affected) continue;
      affected_.push_back(node);
      of_node.first_shape = original_.size();
      for (int i = 0; i < node->num_outputs(); ++i) original_.push_back(node->output_shape(i));
    }
  }

  // Infers the node's shapes from what its inputs have now. True if that changed any.
  bool Visit(Node* node, bool with_back_edges) {
    --visits_left_;
    const OpSpec& spec = node->spec();
    if (spec.shape_fn() == nullptr) return false;
    const State& of_node = state(node);
    inputs_.clear();
    for (int i = 0; i < node->num_inputs(); ++i) {
      const Output source = node->input(i);
      if (of_node.is_loop_merge && !with_back_edges && source && IsNextIteration(*source.node())) continue;
      inputs_.push_back(source);
    }
    ShapeContext shapes(spec, node->attrs(), inputs_, node->num_outputs(), graph_);
    const bool refused = !spec.shape_fn()(shapes).ok();
    bool changed = false;
    for (int i = 0; i < node->num_outputs(); ++i) {
      const Shape& shape = refused ? original_[of_node.first_shape + i] : shapes.outputs()[i];
      if (shape == node->output_shape(i)) continue;
      graph_->SetShape(node->output(i), shape);
      changed = true;
    }
    return changed;
  }

  // Integers that are computed from shapes, which rules look at (graph/constant_value.h), change even if their own
  // shapes do not; not past a Merge.
  static bool MayHaveNewValue(const Node& node) {
    if (IsMerge(node)) return false;
    for (int i = 0; i < node.num_outputs(); ++i) {
      if (PartialValue::Supports(node.output_dtype(i))) return true;
    }
    return false;
  }

  void Enqueue(Node* node) {
    if (node->id() < first_id_) return;
    State& of_node = state(node);
    if (!of_node.affected || of_node.queued) return;
    of_node.queued = true;
    queue_.push(node->id());
  }

  void Restore() {
    for (Node* node : affected_) {
      for (int i = 0; i < node->num_outputs(); ++i) {
        graph_->SetShape(node->output(i), original_[state(node).first_shape + i]);
      }
    }
  }

  Graph* const graph_;
  const int first_id_;
  std::vector<State> states_;  // by id, from first_id_ on
  std::vector<Node*> affected_;
  std::vector<Shape> original_;
  std::vector<Output> inputs_;                                           // of Visit; kept for its memory
  std::priority_queue<int, std::vector<int>, std::greater<int>> queue_;  // ids: inputs before what reads them
  int64_t visits_left_ = 0;
};

}  // namespace

void InferLoopShapes(Graph* graph, int first_id) {
  const auto lock = graph->Lock();
  LoopShapes(graph, first_id).Infer();
}

}  // namespace nabla

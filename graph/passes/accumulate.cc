#include "nabla/graph/passes/accumulate.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "nabla/graph/passes/rewrite.h"
#include "nabla/graph/status_macros.h"

namespace nabla {
namespace {

bool IsRoundedOnce(DType dtype) { return dtype == DType::kHalf || dtype == DType::kBFloat16; }

absl::StatusOr<Output> AddPair(Node* sum, Output a, Output b, std::vector<Node*> control_inputs) {
  NodeDesc desc;
  desc.name = sum->graph()->UniqueName(absl::StrCat(sum->name(), "/partial"));
  desc.op = "AddN";
  desc.inputs = {a, b};
  desc.control_inputs = std::move(control_inputs);
  desc.attrs.Set("N", 2);
  desc.attrs.Set("T", sum->output_dtype(0));
  desc.device = sum->device();
  NABLA_ASSIGN_OR_RETURN(Node * node, sum->graph()->AddNode(std::move(desc)));
  return node->output(0);
}

// How many terms may be there and not yet added.
constexpr int kWaiting = 8;

// Makes terms wait for sums of earlier ones, where that makes no cycle: every edge, old or new, then leads to a node
// with a higher position in the order before, a partial sum having that of its last term.
class Throttle {
 public:
  explicit Throttle(const Compilation& compilation)
      : graph_(compilation.graph), num_nodes_(graph_->num_node_ids()), position_(num_nodes_) {
    int next = 0;
    for (const Node* node : graph_->TopologicalOrder()) {
      // Control edges into branches and loops would change what is alive there.
      has_control_flow_ |= IsControlFlow(*node);
      position_[node->id()] = next++;
    }
    for (Output feed : compilation.feeds) feeds_.insert(feed.node());
  }

  // partial[i] is the sum of the terms up to i, the first term itself for i = 0. The last waits for `controls`, too.
  void Apply(const Outputs& terms, const Outputs& partial, absl::Span<Node* const> controls) {
    if (has_control_flow_) return;
    std::vector<int> sum_position = {position_[terms[0].node()->id()]};
    for (size_t i = 1; i < terms.size(); ++i) {
      Node* term = terms[i].node();
      const int term_position = position_[term->id()];
      if (i > kWaiting && term->id() < num_nodes_ && !IsFreeConstant(*term) && !feeds_.contains(term) &&
          term_position > sum_position[i - kWaiting]) {
        graph_->AddControlEdge(partial[i - kWaiting].node(), term);
      }
      sum_position.push_back(std::max(sum_position.back(), term_position));
      if (i + 1 == terms.size()) {
        for (const Node* control : controls) {
          sum_position.back() = std::max(sum_position.back(), position_[control->id()]);
        }
      }
      // Another sum may have this one as a term.
      position_.resize(std::max<size_t>(position_.size(), partial[i].node()->id() + 1));
      position_[partial[i].node()->id()] = sum_position.back();
    }
  }

 private:
  Graph* graph_;
  int num_nodes_;              // before the pass added some
  std::vector<int> position_;  // by id
  bool has_control_flow_ = false;
  absl::flat_hash_set<const Node*> feeds_;
};

}  // namespace

absl::Status Accumulate(Compilation& compilation) {
  const auto targets = TargetSet(compilation);
  absl::optional<Throttle> throttle;
  for (Node* node : compilation.graph->Nodes()) {
    if (node->op() != "AccumulateNV2" || node->num_inputs() < 3 || IsRoundedOnce(node->output_dtype(0))) continue;
    if (targets.contains(node)) continue;
    if (!throttle) throttle.emplace(compilation);
    Outputs terms = {node->input(0)}, partial = {node->input(0)};
    for (int i = 1; i < node->num_inputs(); ++i) {
      // What waits for the whole sum's control inputs is the last step.
      const bool last = i + 1 == node->num_inputs();
      terms.push_back(node->input(i));
      NABLA_ASSIGN_OR_RETURN(Output sum, AddPair(node, partial.back(), terms.back(),
                                                 last ? node->control_inputs() : std::vector<Node*>()));
      partial.push_back(sum);
    }
    throttle->Apply(terms, partial, node->control_inputs());
    NABLA_RETURN_IF_ERROR(ReplaceTensor(compilation, node->output(0), partial.back()));
    MoveControlConsumers(compilation.graph, node, partial.back().node());
  }
  return absl::OkStatus();
}

}  // namespace nabla

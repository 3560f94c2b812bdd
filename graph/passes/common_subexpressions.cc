#include "nabla/graph/passes/common_subexpressions.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"
#include "nabla/graph/passes/rewrite.h"
#include "nabla/graph/status_macros.h"

namespace nabla {
namespace {

// So many of a constant's bytes go into its hash; equality compares them all.
constexpr size_t kHashedBytes = 1024;

bool SaysNothing(absl::string_view attr) { return attr == "_class" || attr == "_output_shapes"; }

size_t HashTensor(const Tensor& tensor) {
  size_t hash = absl::HashOf(static_cast<int>(tensor.dtype()), tensor.shape().dims());
  if (tensor.dtype() == DType::kString) {
    for (const std::string& element : tensor.flat<std::string>()) hash = absl::HashOf(hash, element);
  } else if (IsPod(tensor.dtype())) {
    hash = absl::HashOf(hash, absl::string_view(static_cast<const char*>(tensor.raw_data()),
                                                std::min(tensor.num_bytes(), kHashedBytes)));
  }
  return hash;
}

// Equal attrs hash alike; the rarer kinds only by their kind.
size_t HashAttr(const Attr& attr) {
  if (const auto* i = attr.As<int64_t>()) return absl::HashOf(*i);
  if (const auto* t = attr.As<DType>()) return absl::HashOf(static_cast<int>(*t));
  if (const auto* b = attr.As<bool>()) return absl::HashOf(*b);
  if (const auto* f = attr.As<float>()) return absl::HashOf(*f);
  if (const auto* s = attr.As<std::string>()) return absl::HashOf(*s);
  if (const auto* shape = attr.As<Shape>()) return absl::HashOf(shape->has_rank(), shape->dims());
  if (const auto* tensor = attr.As<Tensor>()) return HashTensor(*tensor);
  // An empty list equals an empty list of any kind.
  if (const auto* list = attr.As<std::vector<int64_t>>()) return absl::HashOf(*list);
  return 0;
}

bool EqualAttrs(const AttrMap& a, const AttrMap& b) {
  auto skip = [](auto& it, auto end) {
    while (it != end && SaysNothing(it->first)) ++it;
  };
  auto x = a.begin(), y = b.begin();
  for (;; ++x, ++y) {
    skip(x, a.end());
    skip(y, b.end());
    if (x == a.end() || y == b.end()) return x == a.end() && y == b.end();
    if (x->first != y->first || x->second != y->second) return false;
  }
}

std::vector<Node*> SortedControlInputs(const Node& node) {
  std::vector<Node*> controls = node.control_inputs();
  std::sort(controls.begin(), controls.end(), [](const Node* a, const Node* b) { return a->id() < b->id(); });
  return controls;
}

size_t HashNode(const Node& node) {
  size_t hash = absl::HashOf(node.op(), node.num_inputs());
  for (int i = 0; i < node.num_inputs(); ++i) {
    hash = absl::HashOf(hash, node.input(i).node()->id(), node.input(i).index());
  }
  // In any order. Loops have many constants that differ in nothing else.
  size_t controls = 0;
  if (node.num_control_inputs() > 0) {
    for (const Node* control : node.control_inputs()) controls += absl::HashOf(control->id());
  }
  hash = absl::HashOf(hash, controls);
  for (const auto& [name, attr] : node.attrs()) {
    if (!SaysNothing(name)) hash = absl::HashOf(hash, name, HashAttr(attr));
  }
  return hash;
}

bool EqualNodes(const Node& a, const Node& b) {
  if (a.op() != b.op() || a.num_inputs() != b.num_inputs() || a.num_outputs() != b.num_outputs()) return false;
  for (int i = 0; i < a.num_inputs(); ++i) {
    if (a.input(i) != b.input(i)) return false;
  }
  return a.device() == b.device() && EqualAttrs(a.attrs(), b.attrs()) &&
         SortedControlInputs(a) == SortedControlInputs(b);
}

}  // namespace

absl::Status CommonSubexpressions(Compilation& compilation) {
  const auto targets = TargetSet(compilation);
  absl::flat_hash_map<size_t, absl::InlinedVector<Node*, 1>> seen;
  // Sources first, so that a node's inputs are merged by the time it is looked at.
  for (Node* node : compilation.graph->TopologicalOrder()) {
    // Placeholders of one type and shape are still different tensors.
    if (node->op() == "Placeholder") continue;
    if (node->spec().is_stateful() || node->num_outputs() == 0 || IsControlFlow(*node) || targets.contains(node))
      continue;
    auto& candidates = seen[HashNode(*node)];
    auto equal = std::find_if(candidates.begin(), candidates.end(), [&](Node* c) { return EqualNodes(*c, *node); });
    if (equal == candidates.end()) {
      candidates.push_back(node);
      continue;
    }
    Node* first = *equal;
    for (int i = 0; i < node->num_outputs(); ++i) {
      // The later node may know more of the shape.
      NABLA_RETURN_IF_ERROR(compilation.graph->RefineShape(first->output(i), node->output_shape(i)));
      NABLA_RETURN_IF_ERROR(ReplaceTensor(compilation, node->output(i), first->output(i)));
    }
    MoveControlConsumers(compilation.graph, node, IsFreeConstant(*first) ? nullptr : first);
  }
  return absl::OkStatus();
}

}  // namespace nabla

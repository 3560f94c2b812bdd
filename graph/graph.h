// The graph: nodes, the tensors between them, control edges and a function library.
//
//   nabla::RegisterAllOps();
//   Graph graph;
//   Scope scope(&graph);
//   Output y = ops::MatMul(scope, a, b);
//   y.node()->name();    // "MatMul"
//   y.shape();           // [?,10]
//
// A node's name and output types are fixed when it is added (its op, attrs and inputs too, but for what passes and the
// expansion of calls change), and its address and id never change, so Node* and Output are handles to keep. Ids count
// up in order of addition; removed nodes leave a gap.
//
// Thread safety: every call on Graph locks it; a longer reading or changing that must not be interleaved takes
// Lock() around it (recursive). Reading a Node's immutable parts needs no lock; walking consumers() does.
// Ownership: the Graph owns its nodes; Output and Node* are valid while it lives.
#ifndef NABLA_GRAPH_GRAPH_H_
#define NABLA_GRAPH_GRAPH_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "nabla/graph/attr.h"
#include "nabla/graph/name_table.h"
#include "nabla/graph/op_spec.h"
#include "nabla/graph/shape.h"

namespace nabla {

class FunctionLibrary;  // graph/function_library.h
class Graph;
class Node;
class Scope;

// One tensor in a graph: output `index` of a node. A default-constructed Output is "none" and converts to false.
class Output {
 public:
  Output() = default;
  Output(Node* node, int index) : node_(node), index_(index) {}  // NOLINT
  Node* node() const { return node_; }
  int index() const { return index_; }
  explicit operator bool() const { return node_ != nullptr; }

  // These require a valid Output.
  DType dtype() const;
  const Shape& shape() const;
  Graph* graph() const;
  // "node:1", and "node:0" for the first.
  std::string name() const;

  friend bool operator==(const Output& a, const Output& b) { return a.node_ == b.node_ && a.index_ == b.index_; }
  friend bool operator!=(const Output& a, const Output& b) { return !(a == b); }
  template <typename H>
  friend H AbslHashValue(H h, const Output& o) {
    return H::combine(std::move(h), o.node_, o.index_);
  }

 private:
  Node* node_ = nullptr;
  int index_ = 0;
};

using Outputs = std::vector<Output>;

// Edge::source_index and Edge::input of a control edge.
inline constexpr int kControlSlot = -1;

// A use of a node's output (or, for a control edge, of the node). Edges of one source form a list in the order in
// which they were added.
struct Edge {
  Node* source = nullptr;
  Node* consumer = nullptr;
  int source_index = 0;  // output of source
  int input = 0;         // input of consumer
  bool IsControl() const { return input == kControlSlot; }
  Edge* next = nullptr;
  Edge* previous = nullptr;
};

// for (const Edge& edge : node->consumers()) …
class EdgeRange {
 public:
  class Iterator {
   public:
    explicit Iterator(const Edge* edge) : edge_(edge) {}
    const Edge& operator*() const { return *edge_; }
    const Edge* operator->() const { return edge_; }
    Iterator& operator++() {
      edge_ = edge_->next;
      return *this;
    }
    friend bool operator!=(Iterator a, Iterator b) { return a.edge_ != b.edge_; }

   private:
    const Edge* edge_;
  };
  explicit EdgeRange(const Edge* first) : first_(first) {}
  Iterator begin() const { return Iterator(first_); }
  Iterator end() const { return Iterator(nullptr); }
  bool empty() const { return first_ == nullptr; }

 private:
  const Edge* first_;
};

class Node {
 public:
  int id() const { return id_; }
  const std::string& name() const { return name_; }
  const std::string& op() const { return spec_->name(); }
  const OpSpec& spec() const { return *spec_; }
  Graph* graph() const { return graph_; }
  const std::string& device() const;
  const AttrMap& attrs() const { return attrs_; }
  // The attr as T (see Attr::As), or nullptr.
  template <typename T>
  const T* attr(absl::string_view name) const {
    return attrs_.Find<T>(name);
  }
  // The attr, which the spec guarantees to be there: use in kernels, rules and passes for attrs of the op's spec.
  // Aborts if it is not.
  template <typename T>
  const T& GetAttr(absl::string_view name) const {
    const T* value = attrs_.Find<T>(name);
    if (value == nullptr) MissingAttr(name);
    return *value;
  }

  int num_inputs() const { return num_inputs_; }
  // The source of input i. None only for the back edge of a Merge that was not connected yet.
  Output input(int i) const { return Output(inputs_[i].source, inputs_[i].source_index); }
  // Nodes that must finish before this one starts, besides those of the data inputs.
  std::vector<Node*> control_inputs() const;
  int num_control_inputs() const { return static_cast<int>(control_inputs_.size()); }

  int num_outputs() const { return static_cast<int>(outputs_.size()); }
  Output output(int i) { return Output(this, i); }
  DType output_dtype(int i) const { return outputs_[i].dtype; }
  const Shape& output_shape(int i) const { return outputs_[i].shape; }

  // All edges that leave this node, data and control.
  EdgeRange consumers() const { return EdgeRange(first_consumer_); }

  // Name, op, inputs and attrs in one line, for errors and dumps.
  std::string ToString() const;

 private:
  friend class Graph;
  friend class GraphImporter;
  struct OutputInfo {
    DType dtype = DType::kInvalid;
    Shape shape;
  };
  Node() = default;
  [[noreturn]] void MissingAttr(absl::string_view name) const;

  int id_ = -1;
  int num_inputs_ = 0;
  int device_ = 0;  // index into the graph's device names
  Graph* graph_ = nullptr;
  const OpSpec* spec_ = nullptr;
  std::string name_;
  AttrMap attrs_;
  std::unique_ptr<Edge[]> inputs_;
  std::vector<std::unique_ptr<Edge>> control_inputs_;
  absl::InlinedVector<OutputInfo, 1> outputs_;
  Edge* first_consumer_ = nullptr;
  Edge* last_consumer_ = nullptr;
};

// What to add. Attrs must be complete enough to give the dtypes (defaults are filled in).
struct NodeDesc {
  std::string name;  // "": made from the op's name. Made unique by the Graph only through UniqueName (see Scope)
  std::string op;
  Outputs inputs;
  std::vector<Node*> control_inputs;
  AttrMap attrs;
  std::string device;
};

// Everything else of a GraphDef or NodeDef that the graph keeps only to write it out again.
struct ForeignFields {
  std::string unknown_fields;           // wire-format bytes of fields that the schema does not know
  std::string experimental_debug_info;  // serialized message, "" if absent
  std::string experimental_type;        // serialized message, "" if absent
  bool empty() const { return unknown_fields.empty() && experimental_debug_info.empty() && experimental_type.empty(); }
};

struct GraphVersions {
  int producer = 1087;  // the GraphDef version whose semantics exported graphs follow
  int min_consumer = 0;
  std::vector<int> bad_consumers;
};

class Graph {
 public:
  explicit Graph(const OpRegistry* registry = &OpRegistry::Global());
  // A graph that knows the same ops and shares the functions of `other`: a body or a copy of part of it.
  static std::unique_ptr<Graph> SharingFunctions(const Graph& other);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // Adds a node: checks the name's grammar and uniqueness, the op, attrs, arity, dtypes, that the inputs belong to
  // this graph, and runs shape inference. InvalidArgument, AlreadyExists or NotFound, with the node and op named. A
  // Merge may have inputs that are none, to be set by SetBackEdge (loops are the only cycles).
  absl::StatusOr<Node*> AddNode(NodeDesc desc);
  // Connects a NextIteration node to the missing input of a Merge node. None as the source disconnects it again (so
  // that a dead loop can be removed).
  absl::Status SetBackEdge(Node* merge, int input, Output source);

  // The node of that name, or nullptr.
  Node* FindNode(absl::string_view name) const;
  // "name" or "name:1"; NotFound with the nearest names, InvalidArgument for a malformed name or index.
  absl::StatusOr<Output> FindOutput(absl::string_view tensor_name) const;
  // `name` if it is free, else name_1, name_2, …; not reserved. As in TensorFlow, names that differ only in case
  // collide here, although AddNode takes both.
  std::string UniqueName(absl::string_view name) const;
  // The same for a name scope, which it reserves: no later scope or node gets that name.
  std::string UniqueScopeName(absl::string_view name);

  int num_nodes() const;  // live ones
  // Ids are below this.
  int num_node_ids() const;
  // nullptr for removed ids.
  Node* node(int id) const;
  // In order of ids. Do not add nodes from `visit`, unless you mean to visit them too.
  void ForEachNode(const std::function<void(Node*)>& visit) const;
  std::vector<Node*> Nodes() const;
  // Every node after its inputs (back edges from NextIteration aside), ties by id. If the graph has a cycle that no
  // NextIteration closes, which only changes by passes can make, the cycle is cut before its least id.
  std::vector<Node*> TopologicalOrder() const;

  // Counts up with every change.
  uint64_t version() const;
  // Counts up with changes to nodes that were there when this was last asked. Growth leaves it, and so does what
  // becomes known of shapes: a session's plans stay good while it stays.
  uint64_t edits() const;
  const OpRegistry& registry() const { return *registry_; }
  FunctionLibrary& functions() { return *functions_; }
  const FunctionLibrary& functions() const { return *functions_; }
  GraphVersions& versions() { return versions_; }
  const GraphVersions& versions() const { return versions_; }

  // Held: no other thread reads through or changes the graph.
  std::unique_lock<std::recursive_mutex> Lock() const { return std::unique_lock<std::recursive_mutex>(mutex_); }

  // For errors in code that has no Scope at hand (operators on Outputs): the first one is kept.
  void RecordError(const absl::Status& status);
  absl::Status status() const;

  // The rest is for passes and the gradients engine.

  // Narrows an output's static shape; InvalidArgument if it contradicts what is known.
  absl::Status RefineShape(Output output, const Shape& shape);
  // Sets an output's static shape, be it narrower, vaguer or another: for inference that begins with assumptions.
  void SetShape(Output output, Shape shape);
  // Input `i` of `consumer` now comes from `source` (same dtype).
  absl::Status ReplaceInput(Node* consumer, int i, Output source);
  // All data edges of `from` now leave `to`, except those into to's own node; control edges of from's node stay.
  absl::Status ReplaceUses(Output from, Output to);
  void AddControlEdge(Node* source, Node* consumer);  // no-op if there
  void RemoveControlEdge(Node* source, Node* consumer);
  // Requires that nothing consumes it.
  absl::Status RemoveNode(Node* node);
  // Makes `node` another operation in place: op, inputs, control inputs and attrs become those of `desc`, whose name
  // and device are ignored. The node's address, id, name, device, outputs and consumers stay, so the new operation must
  // have outputs of the same dtypes; static shapes are what the old and the new one know together. The inputs must not
  // depend on the node. Errors as for AddNode, or InvalidArgument for other outputs; the node is then unchanged.
  absl::Status Morph(Node* node, NodeDesc desc);
  void SetAttr(Node* node, absl::string_view name, Attr value);
  void SetDevice(Node* node, absl::string_view device);
  // A spec of this graph only (an op unknown to the registry on lenient import, or a function signature). Owned.
  const OpSpec* AddLocalSpec(std::unique_ptr<OpSpec> spec);
  // The registry's spec, else a local one, else that of the function of this name, else nullptr.
  const OpSpec* FindSpec(absl::string_view op) const;

  // What import must give back at export; nullptr if none.
  const ForeignFields* foreign_fields(const Node* node) const;
  void SetForeignFields(const Node* node, ForeignFields fields);
  ForeignFields& graph_foreign_fields() { return foreign_; }
  const ForeignFields& graph_foreign_fields() const { return foreign_; }

 private:
  friend class Node;
  friend class GraphImporter;
  // What a description comes to; no change is made before all of it is checked.
  struct CheckedDesc {
    const OpSpec* spec = nullptr;
    std::vector<DType> dtypes;  // of the outputs, as are the shapes
    std::vector<Shape> shapes;
  };
  // Completes desc->attrs, and finds out all that can be wrong but for the name. `spec`: nullptr if there is none.
  absl::Status CheckDesc(const OpSpec* spec, NodeDesc* desc, CheckedDesc* checked) const;
  void LinkInputs(Node* node, const NodeDesc& desc);
  void UnlinkInputs(Node* node);
  // AddNode with that spec, whatever FindSpec says of the op.
  absl::StatusOr<Node*> AddNodeAs(const OpSpec* spec, NodeDesc desc);
  void Edited(const Node* node) {
    ++version_;
    if (node->id_ < num_planned_ids_) ++edits_;
  }
  bool OwnsNode(const Node* node) const;
  bool OwnsOutput(Output output) const;
  Edge* LinkEdge(Edge* edge);
  void UnlinkEdge(Edge* edge);
  void LinkControlInputs(Node* node, const std::vector<Node*>& sources);
  void AppendControlEdge(Node* source, Node* consumer);
  Edge* FindControlEdge(Node* source, Node* consumer) const;
  int InternDevice(absl::string_view device);

  mutable std::recursive_mutex mutex_;
  const OpRegistry* registry_;
  std::vector<std::unique_ptr<Node>> nodes_;  // by id
  int num_live_ = 0;
  uint64_t version_ = 0;
  uint64_t edits_ = 0;
  mutable int num_planned_ids_ = 0;  // when edits() was last called
  NameTable names_;
  std::deque<std::string> devices_;  // a deque, so that references to them stay valid
  absl::flat_hash_map<std::string, int> device_index_;
  std::shared_ptr<FunctionLibrary> functions_;  // locks itself
  absl::flat_hash_map<std::string, std::unique_ptr<OpSpec>> local_specs_;
  absl::flat_hash_map<const Node*, ForeignFields> node_foreign_;
  ForeignFields foreign_;
  GraphVersions versions_;
  absl::Status status_;
};

// [A-Za-z0-9.][A-Za-z0-9_.\\/>-]*, and a leading '_' for names that the runtime makes.
bool IsValidNodeName(absl::string_view name);
// "a/b:1" -> ("a/b", 1); "^a" and malformed names are InvalidArgument.
absl::StatusOr<std::pair<std::string, int>> ParseTensorName(absl::string_view name);

// ---- inline ----
inline DType Output::dtype() const { return node_->output_dtype(index_); }
inline const Shape& Output::shape() const { return node_->output_shape(index_); }
inline Graph* Output::graph() const { return node_->graph(); }

}  // namespace nabla

#endif  // NABLA_GRAPH_GRAPH_H_

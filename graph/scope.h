// Where and under which name operations are added: the argument that every builder takes first.
//
//   Graph graph;
//   Scope scope(&graph);
//   Scope layer = scope.Sub("layer1");                        // nodes are named "layer1/…"
//   Output y = ops::Relu(layer.Named("act"), x);              // "layer1/act"
//   Output z = ops::Identity(scope.WithControl({assign}), y); // runs after `assign`
//   if (!scope.ok()) return scope.status();                   // the first error of all that was built
//
// A builder that fails records its error and returns none; builders given none return none silently. So building
// code needs no checks until its end.
//
// A Scope is a cheap value; children share the error slot of their root. Thread-compatible; different threads may
// build into one graph through scopes of their own.
#ifndef NABLA_GRAPH_SCOPE_H_
#define NABLA_GRAPH_SCOPE_H_

#include <initializer_list>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "nabla/graph/graph.h"

namespace nabla {

class Capture;  // graph/capture.h

class Scope {
 public:
  // The root: no prefix, an error slot of its own. Does not own the graph.
  explicit Scope(Graph* graph);

  // A child whose nodes are named "<this>/<name>/…"; a name that is taken gets a suffix (_1, _2, …).
  Scope Sub(absl::string_view name) const;
  // Re-enters a scope by its full name ("gradients/MatMul_grad") without making it unique; "" is the root.
  Scope Absolute(absl::string_view full_name) const;
  // The next node added through the result is called `name` (made unique); later ones by their op again.
  Scope Named(absl::string_view name) const;
  // Nodes also wait for these (in addition to the scope's own control dependencies).
  Scope WithControl(std::vector<Node*> nodes) const;
  Scope WithControl(std::initializer_list<Node*> nodes) const { return WithControl(std::vector<Node*>(nodes)); }
  Scope WithControl(const std::vector<Output>& outputs) const;
  Scope WithoutControl() const;
  Scope WithDevice(absl::string_view device) const;
  // Nodes get the attr _class = ["loc:@<node's name>"] and its device.
  Scope WithColocation(const Node* node) const;
  Scope WithoutColocation() const;
  // Nodes get this attr ('_…' attrs; what an op's spec does not name otherwise is an error).
  Scope WithAttr(absl::string_view name, Attr value) const;
  // The inside of a body: nodes take their inputs as `capture` says (graph/capture.h), after what earlier ones said.
  Scope WithCapture(std::shared_ptr<Capture> capture) const;

  Graph* graph() const;
  // Whether tensors of `graph` can be operands: it is this scope's, or a body captures from it.
  bool Accepts(const Graph* graph) const;
  // "layer1", or "" for the root.
  const std::string& name() const;
  const std::vector<Node*>& control() const;

  bool ok() const;
  // The first error that was recorded through this scope or any relative of it.
  absl::Status status() const;
  // Keeps the first error; OK is ignored.
  void RecordError(const absl::Status& status) const;

  // The full, unique name of a node whose op or chosen name is `base`.
  std::string NodeName(absl::string_view base) const;

  // The innermost Scope that a ScopeGuard of this thread holds for `graph` or for a body that captures from it, else a
  // root scope whose errors go to graph->RecordError. Operators on Outputs (ops/operators.h) add their nodes there.
  static Scope Current(Graph* graph);

  struct State;  // private to scope.cc and node_builder.cc
  const State& state() const { return *state_; }

 private:
  explicit Scope(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

// Makes `scope` the current one of this thread until the guard dies. Guards nest.
class ScopeGuard {
 public:
  explicit ScopeGuard(const Scope& scope);
  ~ScopeGuard();
  ScopeGuard(const ScopeGuard&) = delete;
  ScopeGuard& operator=(const ScopeGuard&) = delete;
};

// An operand of a builder: an Output, or a constant for which the builder adds a Const node. A C++ number takes the
// dtype that the operation's other operands give it (float if there are none and it has a point, else int32);
// tensors, strings and bools keep theirs.
//
//   ops::Add(scope, x, 1);  ops::Reshape(scope, x, {-1, 784});  ops::Sum(scope, x, 0);
class Input {
 public:
  Input(Output output) : output_(output) {}          // NOLINT: implicit by design, all of these
  Input(Tensor value) : value_(std::move(value)) {}  // NOLINT
  Input(std::initializer_list<int64_t> values);      // NOLINT: a vector, int32 unless told otherwise
  Input(const Shape& shape);                         // NOLINT: its dimensions as a vector
  Input(const std::vector<int64_t>& values);         // NOLINT
  Input(const char* value) : value_(Tensor::Scalar(std::string(value))) {}  // NOLINT
  Input(const std::string& value) : value_(Tensor::Scalar(value)) {}        // NOLINT
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  Input(T value) {  // NOLINT
    if constexpr (std::is_same_v<T, bool>) {
      value_ = Tensor::Scalar(value);
    } else if constexpr (std::is_floating_point_v<T>) {
      weak_ = true;
      value_ = Tensor::Scalar<double>(value);
    } else {
      weak_ = true;
      value_ = Tensor::Scalar<int64_t>(value);
    }
  }

  // The Output, or none if this is a constant.
  Output output() const { return output_; }
  bool is_constant() const { return value_.valid(); }
  const Tensor& value() const { return value_; }
  // A C++ number (or list of numbers) that adopts the dtype it is used with.
  bool is_weak() const { return weak_; }

 private:
  Output output_;
  Tensor value_;
  bool weak_ = false;
};

using Inputs = std::vector<Input>;

// Adds one node of any op: what the generated builders are made of.
//
//   Node* node = NodeBuilder(scope, "MatMul").Input(a).Input(b).Attr("transpose_a", true).Finish();
class NodeBuilder {
 public:
  NodeBuilder(const Scope& scope, absl::string_view op);
  NodeBuilder& Input(nabla::Input input);
  // A list argument ("N * T" or a type list); sets its number or type-list attr.
  NodeBuilder& InputList(const Inputs& inputs);
  NodeBuilder& InputList(const Outputs& inputs);
  // Explicit attrs win over inferred ones. Unset attrs are inferred from the inputs' dtypes or take their defaults.
  NodeBuilder& Attr(absl::string_view name, nabla::Attr value);
  // Adds the node, or records an error in the scope and returns nullptr.
  Node* Finish();
  // Output 0 of Finish(), or none.
  Output FinishOutput();

 private:
  struct Argument {
    bool is_list = false;
    Inputs inputs;
  };
  bool HasNoneOperand() const;
  // Replaces operands and control inputs as the scope's captures say.
  absl::Status CaptureInputs();
  const std::vector<Node*>& control() const;
  // Adds the node and tells the captures.
  absl::StatusOr<Node*> AddNode(NodeDesc desc) const;
  absl::Status InferAttrs(const OpSpec& spec, AttrMap* attrs) const;
  // A Const node for an operand; a number becomes `dtype`.
  absl::StatusOr<Node*> AddConstant(const std::string& name, const nabla::Input& input, DType dtype) const;
  absl::Status AddOperands(const ArgSpec& formal, const Inputs& operands, NodeDesc* desc,
                           std::vector<Node*>* constants) const;
  absl::StatusOr<Node*> Build(const OpSpec& spec, const std::string& name, std::vector<Node*>* constants) const;

  Scope scope_;
  std::string op_;
  std::vector<Argument> arguments_;
  AttrMap attrs_;
  std::vector<Node*> captured_control_;  // of a scope with captures
};

}  // namespace nabla

#endif  // NABLA_GRAPH_SCOPE_H_

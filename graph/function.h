// Functions in C++: a body that is built once and called many times.
//
//   Function scale = Function::Build(scope, "scale", {{DType::kFloat}}, [&](const Scope& body, const Outputs& args) {
//     return Outputs{ops::Mul(body, args[0], w)};   // w, from outside, becomes one more input
//   });
//   Output y = scale.Call(scope, {x})[0];
//
// A function is part of its graph's library: it is exported with the graph, and a graph that is imported brings its
// own (Function::Find). A call is a node; for a run, and where gradients pass through it, the body takes its place, so
// that gradients need nothing special, also those of captured tensors. For a gradient of one's own see
// gradients/custom_gradient.h.
#ifndef NABLA_GRAPH_FUNCTION_H_
#define NABLA_GRAPH_FUNCTION_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nabla/graph/scope.h"

namespace nabla {

// A value, as cheap to copy as its captures. Thread-compatible.
class Function {
 public:
  struct Argument {
    DType dtype;
    Shape shape;       // unknown unless given; what is known helps in building the body
    std::string name;  // "": arg_0, arg_1, …
  };
  // Builds the body through `scope` from tensors that stand for the arguments, and returns the results. The scope is
  // also the current one (operators on Outputs add their nodes to the body). Nodes run in the order that edges give, as
  // everywhere: use Scope::WithControl where effects must follow each other. All stateful nodes run in a call.
  using Body = std::function<Outputs(const Scope& scope, const Outputs& arguments)>;

  // None: calls give none.
  Function() = default;

  // Builds a function and adds it to the library of the scope's graph, under `name` or, if that is taken, with a
  // suffix. Tensors of that graph (or of the bodies around, if the scope is itself of a function's body) that the body
  // uses are captured: they become inputs after the arguments, in the order of their first use. What goes wrong in the
  // body is recorded in the scope, and the function is none.
  static Function Build(const Scope& scope, absl::string_view name, const std::vector<Argument>& arguments,
                        const Body& body);
  // A function that the graph's library has. NotFound with the nearest names.
  static absl::StatusOr<Function> Find(const Graph& graph, absl::string_view name);

  explicit operator bool() const { return !name_.empty(); }
  const std::string& name() const { return name_; }
  // The tensors that every call gets after its inputs.
  const Outputs& captures() const { return captures_; }

  enum class CallOp {
    kPartitionedCall,  // StatefulPartitionedCall if the function is stateful
    kFunctionName,     // the op is the function, as in older graphs; not for lists as arguments
  };
  // Adds a call. `attrs` are those of the signature, if it has any. One Output for each result; errors are recorded in
  // the scope, and all are none then, as many as the signature has.
  Outputs Call(const Scope& scope, const Inputs& inputs, CallOp op = CallOp::kPartitionedCall,
               const AttrMap& attrs = {}) const;

 private:
  std::string name_;
  Outputs captures_;
};

}  // namespace nabla

#endif  // NABLA_GRAPH_FUNCTION_H_

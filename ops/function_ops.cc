// Calls of a graph's functions. Before a run, or where a gradient passes, a call is replaced by the function's body
// (graph/inline.h).
#include "nabla/graph/function_shapes.h"
#include "nabla/ops/registration.h"
#include "nabla/ops/rule_util.h"

namespace nabla {
namespace {

// Gradients have the shapes of what they are gradients of.
absl::Status SymbolicGradientShape(ShapeContext& c) {
  const int num_outputs = static_cast<int>(c.outputs().size());
  for (int i = 0; i < num_outputs && i < c.num_inputs(); ++i) {
    if (c.input_dtype(i) != DType::kResource) c.SetOutput(i, c.input(i));
  }
  return absl::OkStatus();
}

OpSpecBuilder AddCall(OpRegistry& registry, const char* op) {
  return registry.Add(op)
      .Input("args: Tin")
      .Output("output: Tout")
      .Attr("Tin: list(type) >= 0")
      .Attr("Tout: list(type) >= 0")
      .Attr("f: func")
      .Attr("config: string = ''")
      .Attr("config_proto: string = ''")
      .Attr("executor_type: string = ''")
      .Shape(CallShape);
}

}  // namespace

void RegisterFunctionOps(OpRegistry& registry) {
  AddCall(registry, "PartitionedCall").Doc(R"(Calls a function of the graph's library that has no effects.

f: the function, with the attrs that instantiate it.
config, config_proto, executor_type: kept for TensorFlow, without meaning here.
Gradient: the function's own, if it has one (GradientDef, or in C++), else that of its body.)");

  AddCall(registry, "StatefulPartitionedCall")
      .Stateful()
      .Doc(R"(Calls a function of the graph's library that has effects or reads variables.

f: the function, with the attrs that instantiate it.
config, config_proto, executor_type: kept for TensorFlow, without meaning here.
Gradient: as for PartitionedCall.)");

  registry.Add("SymbolicGradient")
      .Input("input: Tin")
      .Output("output: Tout")
      .Attr("Tin: list(type) >= 1")
      .Attr("Tout: list(type) >= 1")
      .Attr("f: func")
      .Doc(R"(The gradients of a function with regard to its inputs, which older graphs hold in this form.

input: the function's inputs, then the gradients of its outputs.
output: the gradients of the inputs, zeros where there is none.
f: the function. It is differentiated when the node is expanded, before a run.
Gradient: that of the nodes it expands to.)")
      .Shape(SymbolicGradientShape);
}

}  // namespace nabla

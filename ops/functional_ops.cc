// Loops and conditionals whose conditions, bodies and branches are functions of the graph's library: the form in which
// TensorFlow 2 writes them. They are lowered to the primitives (ops/lower_functional.h) before a run, or where a
// gradient passes.
#include <utility>
#include <vector>

#include "nabla/graph/function_shapes.h"
#include "nabla/ops/registration.h"
#include "nabla/ops/rule_util.h"

namespace nabla {
namespace {

absl::Status WhileShape(ShapeContext& c) {
  std::vector<Shape> shapes = WhileShapes(c);
  for (size_t i = 0; i < shapes.size(); ++i) c.SetOutput(static_cast<int>(i), std::move(shapes[i]));
  return absl::OkStatus();
}

void AddWhile(OpRegistry& registry, bool stateful) {
  OpSpecBuilder op = registry.Add(stateful ? "While" : "StatelessWhile");
  op.Input("input: T")
      .Output("output: T")
      .Attr("T: list(type) >= 0")
      .Attr("cond: func")
      .Attr("body: func")
      .Attr("output_shapes: list(shape) = []")
      .Attr("parallel_iterations: int = 10")
      .Doc(R"(Calls `body` again and again, as long as `cond` gives true.

input: the loop variables' first values.
output: their last values.
cond: from the loop variables to a scalar; numbers other than 0 and strings other than '' count as true.
body: from the loop variables to their next values.
Gradient: that of the loop of primitives which it is lowered to.)")
      .Shape(WhileShape);
  if (stateful) op.Stateful();
}

void AddIf(OpRegistry& registry, bool stateful) {
  OpSpecBuilder op = registry.Add(stateful ? "If" : "StatelessIf");
  op.Input("cond: Tcond")
      .Input("input: Tin")
      .Output("output: Tout")
      .Attr("Tcond: type")
      .Attr("Tin: list(type) >= 0")
      .Attr("Tout: list(type) >= 0")
      .Attr("then_branch: func")
      .Attr("else_branch: func")
      .Attr("output_shapes: list(shape) = []")
      .Doc(R"(Calls one of two functions with `input`.

cond: a scalar; numbers other than 0, strings other than '' and other tensors that are not empty count as true.
Gradient: that of the conditional of primitives which it is lowered to.)")
      .Shape(ConditionalShape);
  if (stateful) op.Stateful();
}

void AddCase(OpRegistry& registry, bool stateful) {
  OpSpecBuilder op = registry.Add(stateful ? "Case" : "StatelessCase");
  op.Input("branch_index: int32")
      .Input("input: Tin")
      .Output("output: Tout")
      .Attr("Tin: list(type) >= 0")
      .Attr("Tout: list(type) >= 0")
      .Attr("branches: list(func) >= 1")
      .Attr("output_shapes: list(shape) = []")
      .Doc(R"(Calls the one of `branches` that `branch_index`, a scalar, names, with `input`; the last if it names none.

Gradient: that of the conditionals of primitives which it is lowered to.)")
      .Shape(ConditionalShape);
  if (stateful) op.Stateful();
}

}  // namespace

void RegisterFunctionalOps(OpRegistry& registry) {
  for (const bool stateful : {false, true}) {
    AddWhile(registry, stateful);
    AddIf(registry, stateful);
    AddCase(registry, stateful);
  }
}

}  // namespace nabla

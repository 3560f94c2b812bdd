// A layer as a function that is called twice and captures its weights, a function with an effect, and one with a
// gradient of its own; derivatives through all of them. Writes the graph, calls and gradients, to a file.
#include <cstdio>
#include <string>
#include <vector>

#include "nabla/nabla.h"

using nabla::Function;
using nabla::Output;
using nabla::Outputs;
using nabla::Scope;
using nabla::Tensor;

int main(int argc, char** argv) {
  const std::string file = argc > 1 ? argv[1] : "functions.pb";
  nabla::Initialize();
  nabla::Graph graph;
  const Scope scope(&graph);
  constexpr nabla::DType kDouble = nabla::DType::kDouble;
  Output x = nabla::ops::Placeholder(scope.Named("x"), kDouble, {.shape = {2, 2}});
  Output w = nabla::ops::Placeholder(scope.Named("w"), kDouble, {.shape = {2, 2}});

  const Function layer = Function::Build(
      scope, "layer", {{kDouble, {}, "input"}},
      [&](const Scope& s, const Outputs& in) { return Outputs{nabla::ops::Tanh(s, nabla::ops::MatMul(s, in[0], w))}; });
  Output hidden = layer.Call(scope.Named("hidden"), {x})[0];
  Output y = layer.Call(scope.Named("y"), {hidden}, Function::CallOp::kFunctionName)[0];

  // Counts its calls.
  Output count = nabla::ops::VarHandleOp(scope.Named("count"), kDouble, {});
  nabla::Node* init = nabla::ops::AssignVariableOp(scope.Named("init"), count, Tensor::Scalar(0.0));
  const Function counted = Function::Build(scope, "counted", {{kDouble}}, [&](const Scope& s, const Outputs& in) {
    nabla::Node* add = nabla::ops::AssignAddVariableOp(s, count, Tensor::Scalar(1.0));
    return Outputs{in[0] * nabla::ops::ReadVariableOp(s.WithControl({add}), count, kDouble)};
  });
  Output z = counted.Call(scope.Named("z"), {y})[0];

  // |z| with the gradient z of a parabola, instead of a jump at zero.
  Output loss = nabla::CustomGradient(
      scope.Named("loss"), {z},
      [](const Scope& s, const Outputs& in) {
        return Outputs{nabla::ops::Sum(s, nabla::ops::Abs(s, in[0]), {0, 1})};
      },
      [](nabla::RuleContext& c) { return nabla::Grads{c.grad(0) * c.input(0)}; })[0];

  const absl::StatusOr<nabla::Grads> grads = nabla::Gradients(scope, {loss}, {x, w});
  if (!grads.ok()) return std::fprintf(stderr, "%s\n", grads.status().ToString().c_str()), 1;
  Output second_y = layer.Call(scope.Named("again"), {x})[0];  // stays a call in the file

  nabla::Session session(&graph);
  const nabla::Feeds feeds = {{x, Tensor::Of<double>({2, 2}, {0.5, -1, 2, 0.25})},
                              {w, Tensor::Of<double>({2, 2}, {1, -0.5, 0.75, 2})}};
  const Outputs fetches = {y, z, loss, second_y, (*grads)[0].dense(), (*grads)[1].dense()};
  std::vector<Tensor> values;
  absl::Status status = session.Run({}, {}, {init}, nullptr);
  if (status.ok()) status = session.Run(feeds, fetches, &values);
  if (status.ok()) status = nabla::ExportGraphFile(graph, {}, file);
  if (!status.ok()) return std::fprintf(stderr, "%s\n", status.ToString().c_str()), 1;
  for (size_t i = 0; i < fetches.size(); ++i) {
    std::printf("%s", fetches[i].name().c_str());
    for (const double value : values[i].flat<double>()) std::printf(" %.17g", value);
    std::printf("\n");
  }
  return 0;
}

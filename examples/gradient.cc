// The smallest program: y = sum(x^3), its first and its second derivative.
#include <cstdio>

#include "nabla/nabla.h"

int main() {
  nabla::Initialize();
  nabla::Graph graph;
  nabla::Scope scope(&graph);
  nabla::Output x = nabla::ops::Placeholder(scope.Named("x"), nabla::DType::kFloat, {.shape = {3}});
  nabla::Output y = nabla::ops::Sum(scope, x * x * x, 0);
  nabla::Output dy = (*nabla::Gradients(scope, {y}, {x}))[0].dense();
  nabla::Output ddy = (*nabla::Gradients(scope, {dy}, {x}))[0].dense();

  nabla::Session session(&graph);
  std::vector<nabla::Tensor> out;
  absl::Status status = session.Run({{x, nabla::Tensor::Vector({1.0f, 2.0f, 3.0f})}}, {y, dy, ddy}, &out);
  if (!status.ok()) return std::fprintf(stderr, "%s\n", status.ToString().c_str()), 1;
  for (const nabla::Tensor& value : out) std::printf("%s\n", value.ToString().c_str());
  return nabla::ExportGraphFile(graph, {}, "cubes.pb").ok() ? 0 : 1;
}

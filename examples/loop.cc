// The n-th power as a loop, differentiated three times.
#include <cstdio>
#include <vector>

#include "nabla/nabla.h"

int main() {
  nabla::Initialize();
  nabla::Graph graph;
  nabla::Scope scope(&graph);
  nabla::Output x = nabla::ops::Placeholder(scope.Named("x"), nabla::DType::kDouble, {.shape = nabla::Shape::Scalar()});
  nabla::Output n = nabla::ops::Placeholder(scope.Named("n"), nabla::DType::kInt32, {.shape = nabla::Shape::Scalar()});
  const nabla::Outputs power = nabla::ops::For(
      scope, n, {nabla::ops::OnesLike(scope, x)},
      [&](const nabla::Scope&, nabla::Output, const nabla::Outputs& state) { return nabla::Outputs{state[0] * x}; });
  nabla::Outputs derivatives = power;
  for (int order = 1; order <= 3; ++order) {
    derivatives.push_back((*nabla::Gradients(scope, {derivatives.back()}, {x}))[0].dense());
  }

  nabla::Session session(&graph);
  std::vector<nabla::Tensor> out;
  absl::Status status =
      session.Run({{x, nabla::Tensor::Scalar(2.0)}, {n, nabla::Tensor::Scalar(int32_t{5})}}, derivatives, &out);
  if (!status.ok()) return std::fprintf(stderr, "%s\n", status.ToString().c_str()), 1;
  for (const nabla::Tensor& value : out) std::printf("%s\n", value.ToString().c_str());
  return nabla::ExportGraphFile(graph, {}, "power.pb").ok() ? 0 : 1;
}

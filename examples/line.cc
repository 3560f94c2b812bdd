#include "nabla/nabla.h"

// Fits a line through four points: variables, a learning rate that falls, an optimizer, steps.
int main() {
  nabla::Initialize();
  nabla::Graph graph;
  nabla::Scope scope(&graph);
  nabla::ScopeGuard guard(scope);
  nabla::Output x = nabla::ops::Const(scope, nabla::Tensor::Vector<float>({0, 1, 2, 3}));
  nabla::Output y = nabla::ops::Const(scope, nabla::Tensor::Vector<float>({1, 3, 5, 7}));
  nabla::Output slope = nabla::ops::NewVariable(scope, "slope", 0.0);
  nabla::Output offset = nabla::ops::NewVariable(scope, "offset", 0.0);
  nabla::Output step = nabla::ops::NewVariable(scope, "step", 0, {.dtype = nabla::DType::kInt64, .trainable = false});
  nabla::Output line = x * nabla::ops::ReadVariable(scope, slope) + nabla::ops::ReadVariable(scope, offset);
  nabla::Output loss = nabla::ops::Mean(scope, nabla::ops::SquaredDifference(scope, line, y), 0);
  nabla::Output rate = nabla::CosineDecay(scope, 0.1, nabla::ops::ReadVariable(scope, step), 200);
  nabla::MomentumOptimizer momentum({.learning_rate = rate, .momentum = 0.9});
  absl::StatusOr<nabla::Node*> train = momentum.Minimize(scope, loss, {}, step);
  if (!train.ok()) return std::fprintf(stderr, "%s\n", train.status().ToString().c_str()), 1;

  nabla::Session session(&graph);
  std::vector<nabla::Tensor> out;
  absl::Status status = session.Run({}, {}, {nabla::ops::InitializeVariables(scope)}, nullptr);
  for (int i = 0; i < 200 && status.ok(); ++i) {
    status = session.Run({}, {loss}, {*train}, &out);
    if (status.ok() && i % 50 == 0) std::printf("step %d, loss %.6f\n", i, out[0].scalar<float>());
  }
  if (status.ok())
    status = session.Run(
        {}, nabla::Outputs{nabla::ops::ReadVariable(scope, slope), nabla::ops::ReadVariable(scope, offset)}, &out);
  if (!status.ok()) return std::fprintf(stderr, "%s\n", status.ToString().c_str()), 1;
  std::printf("y = %.3f x + %.3f\n", out[0].scalar<float>(), out[1].scalar<float>());
}

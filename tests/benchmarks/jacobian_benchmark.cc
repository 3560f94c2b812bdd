// Jacobians of a network 64-128-100 (tanh), vectorised and one backward graph for each output: by a single input, and
// for every example of a batch. Also the Hessian of a network's loss by its input.
#include <benchmark/benchmark.h>

#include <cmath>

#include "nabla/gradients/hessian.h"
#include "nabla/gradients/jacobian.h"
#include "nabla/gradients/rule.h"
#include "nabla/graph/check.h"
#include "nabla/ops/ops.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/session.h"

namespace nabla {
namespace {

constexpr int64_t kInputs = 64, kHidden = 128, kOutputs = 100;

Tensor Waves(const Shape& shape) {
  Tensor tensor(DType::kFloat, shape);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) tensor.data<float>()[i] = std::sin(static_cast<float>(i)) / 8;
  return tensor;
}

struct Network {
  explicit Network(int64_t batch)
      : values({Waves({batch, kInputs}), Waves({kInputs, kHidden}), Waves({kHidden, kOutputs})}) {
    for (const Tensor& value : values) {
      feeds.push_back(ops::Placeholder(scope, DType::kFloat, {.shape = value.shape()}));
    }
    y = ops::MatMul(scope, ops::Tanh(scope, ops::MatMul(scope, feeds[0], feeds[1])), feeds[2]);
  }
  Graph graph;
  Scope scope{&graph};
  std::vector<Tensor> values;
  Outputs feeds;
  Output y;
};

void Measure(benchmark::State& state, Network& network, Output result) {
  NABLA_CHECK(network.scope.ok() && result);
  Session session(&network.graph, {1});
  const auto callable = session.MakeCallable(network.feeds, {result}, {});
  NABLA_CHECK(callable.ok());
  std::vector<Tensor> out;
  for (auto _ : state) NABLA_CHECK(session.RunCallable(**callable, network.values, &out).ok());
}

void RegisterEverything() {
  RegisterAllOps();
  RegisterAllKernels();
  RegisterAllGradients();
}

// Args: vectorised or not.
void BM_Jacobian(benchmark::State& state) {
  RegisterEverything();
  Network network(1);
  const auto jacobian = Jacobian(network.scope, network.y, {network.feeds[0]}, {.vectorize = state.range(0) != 0});
  Measure(state, network, jacobian.ok() ? (*jacobian)[0] : Output());
}
BENCHMARK(BM_Jacobian)->ArgName("vectorized")->Arg(1)->Arg(0)->Unit(benchmark::kMicrosecond);

// Args: vectorised or not, the batch's size.
void BM_BatchJacobian(benchmark::State& state) {
  RegisterEverything();
  Network network(state.range(1));
  const auto jacobian = BatchJacobian(network.scope, network.y, network.feeds[0], {.vectorize = state.range(0) != 0});
  Measure(state, network, jacobian.value_or(Output()));
}
BENCHMARK(BM_BatchJacobian)
    ->ArgNames({"vectorized", "batch"})
    ->ArgsProduct({{1, 0}, {1, 2, 4, 8}})
    ->Unit(benchmark::kMicrosecond);

void BM_Hessian(benchmark::State& state) {
  RegisterEverything();
  Network network(1);
  const auto hessian = Hessians(network.scope, {ops::L2Loss(network.scope, network.y)}, {network.feeds[0]},
                                {.name = "hessian", .vectorize = state.range(0) != 0});
  Measure(state, network, hessian.ok() ? (*hessian)[0] : Output());
}
BENCHMARK(BM_Hessian)->ArgName("vectorized")->Arg(1)->Arg(0)->Unit(benchmark::kMicrosecond);

// Appending the nodes.
void BM_BuildJacobian(benchmark::State& state) {
  RegisterEverything();
  for (auto _ : state) {
    Network network(1);
    NABLA_CHECK(Jacobian(network.scope, network.y, {network.feeds[0]}, {.vectorize = state.range(0) != 0}).ok());
  }
}
BENCHMARK(BM_BuildJacobian)->ArgName("vectorized")->Arg(1)->Arg(0)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace nabla

BENCHMARK_MAIN();

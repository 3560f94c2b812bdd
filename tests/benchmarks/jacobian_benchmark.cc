// Jacobians of a network 64-128-100 (tanh), vectorised against one backward graph for each output: by a single input,
// and for every example of a batch. Also the Hessian of a network's loss by its input. The time is that of 20 runs.
#include <benchmark/benchmark.h>

#include <cmath>
#include <memory>
#include <vector>

#include "nabla/gradients/hessian.h"
#include "nabla/gradients/jacobian.h"
#include "nabla/gradients/rule.h"
#include "nabla/graph/check.h"
#include "nabla/ops/ops.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/session.h"
#include "nabla/tests/benchmarks/paired.h"

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

// A tensor of the network's graph, computed again and again.
class Measured {
 public:
  Measured(Network& network, Output result) : values_(network.values), session_(&network.graph, {1}) {
    NABLA_CHECK(network.scope.ok() && result);
    auto callable = session_.MakeCallable(network.feeds, {result}, {});
    NABLA_CHECK(callable.ok());
    callable_ = *std::move(callable);
  }

  void Run() {
    for (int i = 0; i < 20; ++i) NABLA_CHECK(session_.RunCallable(*callable_, values_, &out_).ok());
  }

 private:
  const std::vector<Tensor> values_;
  Session session_;
  std::shared_ptr<Session::Callable> callable_;
  std::vector<Tensor> out_;
};

// `make` appends to a network's graph, vectorised or not. The peer is the latter.
template <typename Make>
void Measure(benchmark::State& state, int64_t batch, Make make) {
  Network vectorized(batch), unrolled(batch);
  Measured ours(vectorized, make(vectorized, true)), peer(unrolled, make(unrolled, false));
  MeasurePaired(
      state, [&] { peer.Run(); }, [&] { ours.Run(); });
}

void RegisterEverything() {
  RegisterAllOps();
  RegisterAllKernels();
  RegisterAllGradients();
}

void BM_Jacobian(benchmark::State& state) {
  RegisterEverything();
  Measure(state, 1, [](Network& network, bool vectorize) {
    return Jacobian(network.scope, network.y, {network.feeds[0]}, {.vectorize = vectorize}).value_or(Outputs{{}})[0];
  });
}
BENCHMARK(BM_Jacobian)->UseManualTime()->Unit(benchmark::kMicrosecond);

// Arg: the batch's size.
void BM_BatchJacobian(benchmark::State& state) {
  RegisterEverything();
  Measure(state, state.range(0), [](Network& network, bool vectorize) {
    return BatchJacobian(network.scope, network.y, network.feeds[0], {.vectorize = vectorize}).value_or(Output());
  });
}
BENCHMARK(BM_BatchJacobian)->RangeMultiplier(2)->Range(1, 8)->UseManualTime()->Unit(benchmark::kMicrosecond);

void BM_Hessian(benchmark::State& state) {
  RegisterEverything();
  Measure(state, 1, [](Network& network, bool vectorize) {
    return Hessians(network.scope, {ops::L2Loss(network.scope, network.y)}, {network.feeds[0]},
                    {.name = "hessian", .vectorize = vectorize})
        .value_or(Outputs{{}})[0];
  });
}
BENCHMARK(BM_Hessian)->UseManualTime()->Unit(benchmark::kMicrosecond);

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

// A recurrent network of gated units (Cho et al. 2014): 100 steps forward, and forward and backward.
#include <benchmark/benchmark.h>

#include <cmath>
#include <vector>

#include "nabla/gradients/gradients.h"
#include "nabla/gradients/rule.h"
#include "nabla/graph/check.h"
#include "nabla/ops/ops.h"
#include "nabla/ops/registration.h"
#include "nabla/ops/scan.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/session.h"

namespace nabla {
namespace {

constexpr int64_t kSteps = 100, kBatch = 32, kUnits = 128;

Tensor Waves(const Shape& shape, float scale) {
  Tensor tensor(DType::kFloat, shape);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    tensor.data<float>()[i] = scale * std::sin(static_cast<float>(i % 9973));
  }
  return tensor;
}

// Arguments: threads; whether with the gradients of the weights.
void BM_Gru(benchmark::State& state) {
  RegisterAllOps();
  RegisterAllKernels();
  RegisterAllGradients();
  Graph graph;
  const Scope scope(&graph);
  const auto given = [&](const char* name, const Shape& shape) {
    return ops::Placeholder(scope.Named(name), DType::kFloat, {.shape = shape});
  };
  const Output xs = given("x", {kSteps, kBatch, kUnits}), h0 = given("h", {kBatch, kUnits});
  const Output gates = given("gates", {2 * kUnits, 2 * kUnits}), candidate = given("candidate", {2 * kUnits, kUnits});
  const ops::ScanResult scan =
      ops::Scan(scope, {h0}, {xs}, [&](const Scope& s, const Outputs& state, const Outputs& in) {
        const Output h = state[0], x = in[0];
        const Outputs ru = ops::Split(s, 1, ops::Sigmoid(s, ops::MatMul(s, ops::ConcatV2(s, {x, h}, 1), gates)), 2);
        const Output c = ops::Tanh(s, ops::MatMul(s, ops::ConcatV2(s, {x, ops::Mul(s, ru[0], h)}, 1), candidate));
        const Output next = ops::AddV2(s, c, ops::Mul(s, ru[1], ops::Sub(s, h, c)));
        return ops::ScanStep{{next}, {next}};
      });
  const Output loss = ops::Sum(scope, ops::Mul(scope, scan.results[0], scan.results[0]), {0, 1, 2});
  Outputs fetches = {loss};
  if (state.range(1) != 0) {
    const absl::StatusOr<Grads> grads = Gradients(scope, {loss}, {gates, candidate});
    NABLA_CHECK(grads.ok());
    for (const Gradient& grad : *grads) fetches.push_back(grad.dense());
  }
  NABLA_CHECK(scope.ok());
  SessionOptions options;
  options.num_threads = static_cast<int>(state.range(0));
  Session session(&graph, options);
  const Feeds feeds = {{xs, Waves(xs.shape(), 1.0f)},
                       {h0, Waves(h0.shape(), 0.1f)},
                       {gates, Waves(gates.shape(), 0.1f)},
                       {candidate, Waves(candidate.shape(), 0.1f)}};
  std::vector<Tensor> out;
  const absl::Status compiled = session.Run(feeds, fetches, &out);
  if (!compiled.ok()) {
    state.SkipWithError(std::string(compiled.message()).c_str());
    return;
  }
  for (auto _ : state) NABLA_CHECK(session.Run(feeds, fetches, &out).ok());
  state.counters["loss"] = out[0].scalar<float>();
}
BENCHMARK(BM_Gru)->ArgsProduct({{1, 2}, {0, 1}})->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace nabla

BENCHMARK_MAIN();

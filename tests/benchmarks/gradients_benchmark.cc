// What appending gradients costs, by the size of the graph: a chain and a fan. items_per_second counts forward nodes.
#include <benchmark/benchmark.h>

#include "nabla/gradients/gradients.h"
#include "nabla/gradients/rule.h"
#include "nabla/graph/check.h"
#include "nabla/ops/ops.h"

namespace nabla {
namespace {

void Measure(benchmark::State& state, Output (*build)(const Scope& scope, Output x, int64_t nodes)) {
  RegisterAllOps();
  RegisterAllGradients();
  for (auto _ : state) {
    state.PauseTiming();
    auto graph = std::make_unique<Graph>();
    Scope scope(graph.get());
    Output x = ops::Placeholder(scope, DType::kFloat, {.shape = {16}});
    Output y = build(scope, x, state.range(0));
    if (!scope.ok()) {
      state.SkipWithError(scope.status().ToString().c_str());
      return;
    }
    state.ResumeTiming();
    absl::StatusOr<Grads> grads = Gradients(scope, {y}, {x});
    NABLA_CHECK(grads.ok() && (*grads)[0].is_dense());
    state.PauseTiming();
    graph.reset();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void BM_GradientsOfChain(benchmark::State& state) {
  Measure(state, [](const Scope& scope, Output x, int64_t nodes) {
    for (int64_t i = 0; i < nodes; ++i) x = ops::Tanh(scope, x);
    return x;
  });
}
BENCHMARK(BM_GradientsOfChain)->Arg(1000)->Arg(10000)->Arg(100000)->Unit(benchmark::kMillisecond);

void BM_GradientsOfFan(benchmark::State& state) {
  Measure(state, [](const Scope& scope, Output x, int64_t nodes) {
    Inputs terms;
    for (int64_t i = 0; i < nodes; ++i) terms.push_back(ops::Tanh(scope, x));
    return ops::AddN(scope, terms);
  });
}
BENCHMARK(BM_GradientsOfFan)->Arg(1000)->Arg(10000)->Arg(100000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace nabla

BENCHMARK_MAIN();

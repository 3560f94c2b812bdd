// What appending gradients costs, by the size of the graph: a chain and a fan, and a small part of a large graph.
// items_per_second counts forward nodes.
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

// Gradients of 100 nodes inside a graph of a million: only what is asked for may cost. A call's time is that of the
// question; the graph grows by each answer.
class LargeGraph {
 public:
  static constexpr int kNodes = 1000000;
  static constexpr int kPath = 100;

  LargeGraph() : scope_(&graph_) {
    RegisterAllOps();
    RegisterAllGradients();
    chain_.push_back(ops::Placeholder(scope_, DType::kFloat, {.shape = {16}}));
    while (static_cast<int>(chain_.size()) < kNodes) chain_.push_back(ops::Tanh(scope_, chain_.back()));
    NABLA_CHECK(scope_.ok());
  }

  // Tensors of a chain of all nodes, by their distance from its start.
  Output At(int position) const { return chain_[position]; }
  const Scope& scope() const { return scope_; }

 private:
  Graph graph_;
  Scope scope_;
  Outputs chain_;
};

void MeasureInLargeGraph(benchmark::State& state, int x, int y) {
  LargeGraph graph;
  for (auto _ : state) {
    absl::StatusOr<Grads> grads = Gradients(graph.scope(), {graph.At(y)}, {graph.At(x)});
    NABLA_CHECK(grads.ok() && (*grads)[0].is_dense());
  }
}

// ys that depend on little, both in the middle, xs on which little depends.
BENCHMARK_CAPTURE(MeasureInLargeGraph, AtTheStart, 0, LargeGraph::kPath)
    ->Iterations(1000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(MeasureInLargeGraph, InTheMiddle, LargeGraph::kNodes / 2, LargeGraph::kNodes / 2 + LargeGraph::kPath)
    ->Iterations(1000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(MeasureInLargeGraph, AtTheEnd, LargeGraph::kNodes - 1 - LargeGraph::kPath, LargeGraph::kNodes - 1)
    ->Iterations(1000)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace nabla

BENCHMARK_MAIN();

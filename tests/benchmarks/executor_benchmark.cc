// What the runtime itself costs: per node, per run, per loop, per compile.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "nabla/graph/check.h"
#include "nabla/ops/registration.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/session.h"
#include "nabla/runtime/thread_pool.h"
#include "nabla/tests/runtime/test_ops.h"

namespace nabla {
namespace {

using testing::Call;

void Register() {
  RegisterAllOps();
  RegisterAllKernels();
}

SessionOptions Threads(int64_t threads) {
  SessionOptions options;
  options.num_threads = static_cast<int>(threads);
  return options;
}

// y = (((x + x0) + x0) …): nodes that wait for one another.
void BM_Chain(benchmark::State& state) {
  Register();
  Graph graph;
  Scope scope(&graph);
  const Output x = testing::Placeholder(scope, "x", Shape::Scalar());
  Output y = x;
  const int64_t nodes = state.range(0);
  for (int64_t i = 0; i < nodes; ++i) y = Call(scope, "Add", {y, x});
  Session session(&graph, Threads(state.range(1)));
  std::vector<Tensor> out;
  const Feeds feeds = {{x, Tensor::Scalar(1.0f)}};
  for (auto _ : state) {
    absl::Status status = session.Run(feeds, {y}, &out);
    NABLA_CHECK(status.ok());
  }
  NABLA_CHECK(out[0].scalar<float>() == static_cast<float>(nodes + 1));
  state.counters["ns_per_node"] = benchmark::Counter(static_cast<double>(state.iterations() * nodes),
                                                     benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(BM_Chain)->Args({10000, 1})->Args({10000, 2})->UseRealTime();

// Nodes that could all run at once.
void BM_Independent(benchmark::State& state) {
  Register();
  Graph graph;
  Scope scope(&graph);
  const Output x = testing::Placeholder(scope, "x", Shape::Scalar());
  const int64_t nodes = state.range(0);
  std::vector<Node*> targets;
  for (int64_t i = 0; i < nodes; ++i) targets.push_back(Call(scope, "Add", {x, x}).node());
  Session session(&graph, Threads(state.range(1)));
  const Feeds feeds = {{x, Tensor::Scalar(1.0f)}};
  for (auto _ : state) {
    absl::Status status = session.Run(feeds, {}, targets, nullptr);
    NABLA_CHECK(status.ok());
  }
  state.counters["ns_per_node"] = benchmark::Counter(static_cast<double>(state.iterations() * nodes),
                                                     benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(BM_Independent)->Args({1000, 1})->Args({1000, 2})->UseRealTime();

// A run of nothing, and of one node.
void BM_EmptyRun(benchmark::State& state) {
  Register();
  Graph graph;
  Scope scope(&graph);
  const Output x = testing::Placeholder(scope, "x", Shape::Scalar());
  Output y = x;
  for (int64_t i = 0; i < state.range(0); ++i) y = Call(scope, "Neg", {y});
  Session session(&graph, Threads(state.range(1)));
  std::vector<Tensor> out;
  const Feeds feeds = {{x, Tensor::Scalar(1.0f)}};
  for (auto _ : state) {
    absl::Status status = session.Run(feeds, {y}, &out);
    NABLA_CHECK(status.ok());
  }
}
BENCHMARK(BM_EmptyRun)->Args({0, 1})->Args({1, 1})->Args({1, 2})->UseRealTime();

void BM_CallableRun(benchmark::State& state) {
  Register();
  Graph graph;
  Scope scope(&graph);
  const Output x = testing::Placeholder(scope, "x", Shape::Scalar());
  const Output y = Call(scope, "Neg", {x});
  Session session(&graph, Threads(1));
  auto callable = session.MakeCallable({x}, {y}, {});
  NABLA_CHECK(callable.ok());
  std::vector<Tensor> out;
  const Tensor feed = Tensor::Scalar(1.0f);
  for (auto _ : state) {
    absl::Status status = session.RunCallable(**callable, absl::MakeConstSpan(&feed, 1), &out);
    NABLA_CHECK(status.ok());
  }
}
BENCHMARK(BM_CallableRun)->UseRealTime();

// Compiling a plan, per node.
void BM_Compile(benchmark::State& state) {
  Register();
  Graph graph;
  Scope scope(&graph);
  const Output x = testing::Placeholder(scope, "x", Shape::Scalar());
  Output y = x;
  const int64_t nodes = state.range(0);
  for (int64_t i = 0; i < nodes; ++i) y = Call(scope, "Add", {y, x});
  Session session(&graph, Threads(1));
  for (auto _ : state) {
    auto callable = session.MakeCallable({x}, {y}, {});
    NABLA_CHECK(callable.ok());
  }
  state.counters["ns_per_node"] = benchmark::Counter(static_cast<double>(state.iterations() * nodes),
                                                     benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(BM_Compile)->Arg(100)->Arg(10000)->Arg(100000)->Unit(benchmark::kMillisecond)->UseRealTime();

// A loop whose parts do nothing: what it costs to involve the other threads.
void BM_ParallelFor(benchmark::State& state) {
  ThreadPool pool(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    pool.ParallelFor(state.range(1), [](int64_t part) { benchmark::DoNotOptimize(part); });
  }
}
BENCHMARK(BM_ParallelFor)->Args({1, 2})->Args({2, 2})->Args({2, 8})->UseRealTime();

}  // namespace
}  // namespace nabla

BENCHMARK_MAIN();

// What a step of training an embedding costs, by the size of the table [rows, 64] and the optimizer; a batch is 1,000
// ids, some of them twice. Time and step_peak_MiB (memory beside the variables, while steps run) must not grow with the
// table, save for Adam that is not lazy.
#include <benchmark/benchmark.h>

#include "nabla/gradients/optimizers.h"
#include "nabla/gradients/rule.h"
#include "nabla/graph/buffer.h"
#include "nabla/graph/check.h"
#include "nabla/ops/ops.h"
#include "nabla/ops/variable.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/session.h"

namespace nabla {
namespace {

constexpr int64_t kBatch = 1000, kWidth = 64;

template <typename T, typename Options>
void Measure(benchmark::State& state, const Options& options) {
  RegisterAllOps();
  RegisterAllKernels();
  RegisterAllGradients();
  const int64_t rows = state.range(0);
  Graph graph;
  const Scope scope(&graph);
  const Output initial = ops::Fill(scope, {rows, kWidth}, 0.5f);
  const Output table = ops::NewVariable(scope, "table", initial);
  const Output ids = ops::Placeholder(scope, DType::kInt64, {.shape = {kBatch}});
  const Output embedded = ops::ResourceGather(scope, table, ids, DType::kFloat);
  const Output loss = ops::Mean(scope, ops::Square(scope, embedded), {0, 1});
  T optimizer(options);
  const absl::StatusOr<Node*> train = optimizer.Minimize(scope, loss);
  NABLA_CHECK(train.ok());
  SessionOptions session_options;
  session_options.num_threads = 1;
  Session session(&graph, session_options);
  NABLA_CHECK(session.Run({}, {}, {ops::InitializeVariables(scope)}, nullptr).ok());
  auto callable = session.MakeCallable({ids}, {loss}, {*train});
  NABLA_CHECK(callable.ok());
  Tensor batch(DType::kInt64, {kBatch});
  uint64_t random = 1;
  std::vector<Tensor> out;
  const auto step = [&] {
    for (int64_t& id : batch.flat<int64_t>()) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      id = static_cast<int64_t>((random >> 33) % static_cast<uint64_t>(rows));
    }
    NABLA_CHECK(session.RunCallable(**callable, {batch}, &out).ok());
  };
  for (int i = 0; i < 3; ++i) step();
  const int64_t resting = GetBufferPoolStats().bytes_in_use;
  ResetBufferPoolPeak();
  for (auto _ : state) step();
  state.counters["step_peak_MiB"] = static_cast<double>(GetBufferPoolStats().peak_bytes_in_use - resting) / (1 << 20);
  state.SetItemsProcessed(state.iterations() * kBatch);
}

void BM_EmbeddingGradientDescent(benchmark::State& state) {
  Measure<GradientDescentOptimizer>(state, GradientDescentOptions());
}
BENCHMARK(BM_EmbeddingGradientDescent)->Arg(10'000)->Arg(1'000'000)->Unit(benchmark::kMicrosecond);

void BM_EmbeddingMomentum(benchmark::State& state) { Measure<MomentumOptimizer>(state, MomentumOptions()); }
BENCHMARK(BM_EmbeddingMomentum)->Arg(10'000)->Arg(1'000'000)->Unit(benchmark::kMicrosecond);

void BM_EmbeddingAdagrad(benchmark::State& state) { Measure<AdagradOptimizer>(state, AdagradOptions()); }
BENCHMARK(BM_EmbeddingAdagrad)->Arg(10'000)->Arg(1'000'000)->Unit(benchmark::kMicrosecond);

void BM_EmbeddingLazyAdam(benchmark::State& state) { Measure<AdamOptimizer>(state, AdamOptions{.lazy = true}); }
BENCHMARK(BM_EmbeddingLazyAdam)->Arg(10'000)->Arg(1'000'000)->Unit(benchmark::kMicrosecond);

void BM_EmbeddingAdam(benchmark::State& state) { Measure<AdamOptimizer>(state, AdamOptions()); }
BENCHMARK(BM_EmbeddingAdam)->Arg(10'000)->Arg(1'000'000)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace nabla

BENCHMARK_MAIN();

// Gradients through long loops over large states, with checkpoints: peak_MB is the memory of all tensors, rss_MB that
// of the process; trips_made how often the loop's body ran for each trip, the forward loop's included; ms_per_trip is
// of everything together. The first line has no checkpoints, and few trips.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <string>
#include <vector>

#include "nabla/gradients/gradients.h"
#include "nabla/gradients/rule.h"
#include "nabla/graph/buffer.h"
#include "nabla/graph/check.h"
#include "nabla/ops/ops.h"
#include "nabla/ops/while.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/session.h"
#include "nabla/tests/gradients/count_trip.h"

namespace nabla {
namespace {

constexpr int64_t kElements = 262'144;  // 1 MB of floats

// x += a tanh(x), and the derivative by a. (Where adjoints fade out over so many trips, one would measure how they do.)
void Measure(benchmark::State& state, const LoopGradientOptions& loops) {
  RegisterAllOps();
  RegisterAllKernels();
  RegisterAllGradients();
  testing::RegisterCountTrip();
  const auto trips = static_cast<int32_t>(state.range(0));
  Graph graph;
  const Scope scope(&graph);
  const Output a = ops::Placeholder(scope, DType::kFloat, {.shape = Shape::Scalar()});
  const Output x = ops::Fill(scope, Shape({kElements}), ops::Const(scope, 0.5f));
  const Output last = ops::For(scope, trips, {x}, [&](const Scope& s, Output, const Outputs& v) {
    return Outputs{testing::CountTrip(s, ops::Add(s, v[0], ops::Mul(s, ops::Tanh(s, v[0]), a)))};
  })[0];
  GradientOptions options;
  options.loops = loops;
  const absl::StatusOr<Grads> grads = Gradients(scope, {ops::Sum(scope, last, 0)}, {a}, options);
  NABLA_CHECK(grads.ok());
  Session session(&graph);
  testing::NumTrips() = 0;
  ResetBufferPoolPeak();
  int64_t runs = 0;
  for (auto _ : state) {
    std::vector<Tensor> out;
    NABLA_CHECK(session.Run({{a, Tensor::Scalar(1e-6f)}}, {(*grads)[0].dense()}, &out).ok());
    ++runs;
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const double total = static_cast<double>(runs) * trips;
  state.counters["peak_MB"] = static_cast<double>(GetBufferPoolStats().peak_bytes_in_use) / (1 << 20);
  state.counters["rss_MB"] = static_cast<double>(usage.ru_maxrss) / 1024;
  state.counters["trips_made"] = static_cast<double>(testing::NumTrips()) / total;
  state.counters["trips_per_s"] = benchmark::Counter(total, benchmark::Counter::kIsRate);
}

void BM_NoCheckpoints(benchmark::State& state) { Measure(state, {}); }
BENCHMARK(BM_NoCheckpoints)->Arg(300)->Iterations(3)->UseRealTime()->Unit(benchmark::kMillisecond);

void BM_Sqrt(benchmark::State& state) { Measure(state, {.checkpoint = Checkpoint::kSqrt}); }
BENCHMARK(BM_Sqrt)->Arg(300)->Arg(10'000)->Arg(100'000)->Iterations(1)->UseRealTime()->Unit(benchmark::kMillisecond);

void BM_Budget(benchmark::State& state) {
  Measure(state, {.checkpoint = Checkpoint::kBudgetBytes, .budget_bytes = state.range(1) << 20});
}
BENCHMARK(BM_Budget)
    ->Args({300, 100})
    ->Args({10'000, 100})
    ->Args({100'000, 100})
    ->Args({100'000, 900})
    ->Iterations(1)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace nabla

BENCHMARK_MAIN();

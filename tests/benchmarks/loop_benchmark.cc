// What loops and branches cost, per trip: of scalars, where the runtime is all there is, and of small tensors.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nabla/gradients/gradients.h"
#include "nabla/gradients/rule.h"
#include "nabla/graph/check.h"
#include "nabla/ops/registration.h"
#include "nabla/ops/while.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/session.h"
#include "nabla/tests/benchmarks/paired.h"
#include "nabla/tests/runtime/frames/primitives.h"

namespace nabla {
namespace {

constexpr int32_t kTrips = 100'000;

class LoopRun {
 public:
  LoopRun() : scope_(&graph_) {
    RegisterAllOps();
    RegisterAllKernels();
    n_ = ops::Placeholder(scope_.Named("n"), DType::kInt32, {.shape = Shape::Scalar()});
    a_ = ops::Placeholder(scope_.Named("a"), DType::kFloat, {.shape = Shape::Scalar()});
  }
  const Scope& scope() const { return scope_; }
  Output n() const { return n_; }
  Output a() const { return a_; }

  // Times runs of kTrips trips, and counts nanoseconds for each.
  void Run(benchmark::State& state, Output fetch, int threads, double trips = kTrips) {
    NABLA_CHECK(scope_.ok());
    SessionOptions options;
    options.num_threads = threads;
    Session session(&graph_, options);
    const Feeds feeds = {{n_, Tensor::Scalar(kTrips)}, {a_, Tensor::Scalar(0.99999f)}};
    std::vector<Tensor> out;
    NABLA_CHECK(session.Run(feeds, {fetch}, &out).ok());  // compiles
    for (auto _ : state) {
      const absl::Status status = session.Run(feeds, {fetch}, &out);
      NABLA_CHECK(status.ok());
    }
    state.counters["ns_per_trip"] = benchmark::Counter(static_cast<double>(state.iterations()) * trips,
                                                       benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  }

 private:
  Graph graph_;
  Scope scope_;
  Output n_, a_;
};

// while (i < n) { ++i; x *= a }
void BM_ScalarLoop(benchmark::State& state) {
  LoopRun run;
  const Output x = ops::Const(run.scope(), 1.0f);
  run.Run(state, testing::PowerLoop(run.scope(), "loop", run.n(), x, run.a())[1], static_cast<int>(state.range(0)));
}
BENCHMARK(BM_ScalarLoop)->Arg(1)->Arg(2)->UseRealTime();

// The loop and its gradient with respect to a, which needs x of every trip.
void BM_ScalarLoopGradient(benchmark::State& state) {
  RegisterAllGradients();
  LoopRun run;
  const Output x = ops::Mul(run.scope(), run.a(), 2.0f);
  const Output y = ops::For(run.scope(), run.n(), {x}, [&](const Scope& scope, Output, const Outputs& v) {
    return Outputs{ops::Mul(scope, v[0], run.a())};
  })[0];
  const absl::StatusOr<Grads> grads = Gradients(run.scope(), {y}, {run.a()});
  NABLA_CHECK(grads.ok());
  run.Run(state, (*grads)[0].dense(), static_cast<int>(state.range(0)));
}
BENCHMARK(BM_ScalarLoopGradient)->Arg(1)->Arg(2)->UseRealTime();

// The same on vectors: what a kernel on so many elements takes beside the loop.
void BM_VectorLoop(benchmark::State& state) {
  LoopRun run;
  const Output x = ops::Fill(run.scope(), ops::Const(run.scope(), {static_cast<int32_t>(state.range(0))}), 1.0f);
  run.Run(state, testing::PowerLoop(run.scope(), "loop", run.n(), x, run.a())[1], 1);
}
BENCHMARK(BM_VectorLoop)->Arg(16)->Arg(1024)->UseRealTime();

// A branch in each trip: while (i < n) { ++i; x = x > 1 ? x * a : x + 1 }
void BM_BranchInLoop(benchmark::State& state) {
  LoopRun run;
  const Scope& scope = run.scope();
  testing::Loop loop(scope, "loop", {ops::Const(scope, 0), ops::Const(scope, 1.0f)});
  loop.Condition(ops::Less(scope, loop.test(0), loop.Invariant(run.n())));
  const Output one = loop.Constant(Tensor::Scalar(1.0f));
  const Output next = testing::Conditional(
                          scope, ops::Greater(scope, loop.body(1), one), {loop.body(1), loop.Invariant(run.a())},
                          [](const Scope& s, const Outputs& in) { return ops::Mul(s, in[0], in[1]); },
                          [](const Scope& s, const Outputs& in) { return ops::Add(s, in[0], 1.0f); })
                          .output;
  loop.Close({ops::Add(scope, loop.body(0), loop.Constant(Tensor::Scalar(1))), next});
  run.Run(state, loop.exit(1), 1);
}
BENCHMARK(BM_BranchInLoop)->UseRealTime();

// Two loops that do not need each other, of some trips on a vector of some elements, each a stack of tanh: two threads
// against one, so that 200 % is the best there could be, and 100 % is what may be asked where they are short.
void BM_IndependentLoops(benchmark::State& state) {
  RegisterAllOps();
  RegisterAllKernels();
  Graph graph;
  const Scope scope(&graph);
  const Output n = ops::Placeholder(scope, DType::kInt32, {.shape = Shape::Scalar()});
  const Output x = ops::Fill(scope, ops::Const(scope, {static_cast<int32_t>(state.range(1))}), 1.0f);
  Outputs ends;
  for (int i = 0; i < 2; ++i) {
    ends.push_back(ops::For(scope, n, {x}, [](const Scope& s, Output, const Outputs& v) {
      return Outputs{ops::Tanh(s, ops::Tanh(s, v[0]))};
    })[0]);
  }
  const Output y = ops::Add(scope, ends[0], ends[1]);
  NABLA_CHECK(scope.ok());
  const auto session = [&](int threads) {
    SessionOptions options;
    options.num_threads = threads;
    return std::make_unique<Session>(&graph, options);
  };
  const std::unique_ptr<Session> one = session(1), two = session(2);
  const Feeds feeds = {{n, Tensor::Scalar(static_cast<int32_t>(state.range(0)))}};
  const auto run = [&](Session& session) {
    std::vector<Tensor> out;
    NABLA_CHECK(session.Run(feeds, {y}, &out).ok());
  };
  MeasurePaired(
      state, [&] { run(*one); }, [&] { run(*two); });
}
BENCHMARK(BM_IndependentLoops)
    ->Args({1000, 5000})
    ->Args({100, 5000})
    ->Args({10'000, 16})
    ->Args({100, 16})
    ->Args({1, 16})
    ->UseManualTime();

// Loops of one trip, one after the other: what it takes to enter and leave.
void BM_ShortLoops(benchmark::State& state) {
  LoopRun run;
  const Output one = ops::Const(run.scope(), 1);
  Output x = ops::Mul(run.scope(), run.a(), run.a());
  for (int i = 0; i < state.range(0); ++i) {
    x = testing::PowerLoop(run.scope(), absl::StrCat("loop", i), one, x, run.a())[1];
  }
  run.Run(state, x, 1, static_cast<double>(state.range(0)));
}
BENCHMARK(BM_ShortLoops)->Arg(1000)->Arg(10'000)->UseRealTime();

// What it takes to build and compile them.
void BM_PlanLoops(benchmark::State& state) {
  RegisterAllOps();
  RegisterAllKernels();
  for (auto _ : state) {
    Graph graph;
    const Scope scope(&graph);
    const Output one = ops::Const(scope, 1), a = ops::Const(scope, 0.5f);
    Output x = ops::Placeholder(scope, DType::kFloat, {.shape = Shape::Scalar()});
    const Output given = x;
    for (int i = 0; i < state.range(0); ++i) {
      x = testing::PowerLoop(scope, absl::StrCat("loop", i), one, x, a)[1];
    }
    Session session(&graph);
    std::vector<Tensor> out;
    NABLA_CHECK(session.Run({{given, Tensor::Scalar(1.0f)}}, {x}, &out).ok());
  }
  state.counters["us_per_loop"] = benchmark::Counter(static_cast<double>(state.iterations() * state.range(0)) * 1e-6,
                                                     benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(BM_PlanLoops)->Arg(1000)->Arg(10'000)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace nabla

BENCHMARK_MAIN();

// Lists in loops, by the number of trips: items_per_second counts trips, and stays what it is where a trip's cost does
// not grow with the list.
#include <benchmark/benchmark.h>

#include <functional>

#include "nabla/gradients/gradients.h"
#include "nabla/gradients/rule.h"
#include "nabla/graph/check.h"
#include "nabla/ops/ops.h"
#include "nabla/ops/while.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/session.h"

namespace nabla {
namespace {

const Tensor kScalar(DType::kInt32, {0});  // the element shape

using Build = std::function<Output(const Scope& scope, Output trips)>;

void Measure(benchmark::State& state, const Build& build) {
  RegisterAllOps();
  RegisterAllKernels();
  RegisterAllGradients();
  Graph graph;
  Scope scope(&graph);
  Output trips = ops::Placeholder(scope, DType::kInt32, {.shape = Shape::Scalar()});
  Output fetch = build(scope, trips);
  NABLA_CHECK(scope.ok());
  Session session(&graph, {1});
  const Feeds feeds = {{trips, Tensor::Scalar(static_cast<int32_t>(state.range(0)))}};
  std::vector<Tensor> fetched;
  for (auto _ : state) {
    const absl::Status status = session.Run(feeds, {fetch}, &fetched);
    if (!status.ok()) {
      state.SkipWithError(status.ToString().c_str());
      return;
    }
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

Output PushLoop(const Scope& scope, Output trips) {
  Output list = ops::EmptyTensorList(scope, kScalar, -1, DType::kFloat);
  return ops::For(scope, trips, {list}, [](const Scope& body, Output trip, const Outputs& lists) {
    return Outputs{ops::TensorListPushBack(body, lists[0], ops::Cast(body, trip, DType::kFloat))};
  })[0];
}

void BM_Push(benchmark::State& state) {
  Measure(state, [](const Scope& scope, Output trips) { return ops::TensorListLength(scope, PushLoop(scope, trips)); });
}
BENCHMARK(BM_Push)->Arg(1000)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

void BM_PushThenPop(benchmark::State& state) {
  Measure(state, [](const Scope& scope, Output trips) {
    Output list = PushLoop(scope, trips);
    return ops::For(scope, trips, {list, ops::Const(scope, 0.0f)}, [](const Scope& body, Output, const Outputs& vars) {
      auto [rest, last] = ops::TensorListPopBack(body, vars[0], kScalar, DType::kFloat);
      return Outputs{rest, vars[1] + last};
    })[1];
  });
}
BENCHMARK(BM_PushThenPop)->Arg(1000)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

// Each trip's gradient of the list it reads from is a list with one element, and those are added up.
void BM_GradientOfGetItem(benchmark::State& state) {
  Measure(state, [](const Scope& scope, Output trips) {
    Output x = ops::Fill(scope, ops::ExpandDims(scope, trips, 0), ops::Const(scope, 0.5f));
    Output list = ops::TensorListFromTensor(scope, x, kScalar);
    Output sum =
        ops::For(scope, trips, {ops::Const(scope, 0.0f)}, [&](const Scope& body, Output trip, const Outputs& v) {
          return Outputs{v[0] + ops::Square(body, ops::TensorListGetItem(body, list, trip, kScalar, DType::kFloat))};
        })[0];
    absl::StatusOr<Grads> grads = Gradients(scope, {sum}, {x});
    NABLA_CHECK(grads.ok() && (*grads)[0].is_dense());
    return (*grads)[0].dense();
  });
}
BENCHMARK(BM_GradientOfGetItem)->Arg(1000)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace nabla

BENCHMARK_MAIN();

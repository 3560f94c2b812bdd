// A step of training an embedding: gather 1,000 rows of a table, differentiate, update these rows. Tables of 10,000 and
// of 1,000,000 rows of 64 floats in one run: neither time nor memory may depend on the table. The counter
// step_peak_MiB is what a step needs at its peak beyond the table and the optimizer's slots.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <vector>

#include "nabla/gradients/gradients.h"
#include "nabla/gradients/rule.h"
#include "nabla/graph/buffer.h"
#include "nabla/graph/check.h"
#include "nabla/ops/ops.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/session.h"

namespace nabla {
namespace {

constexpr int64_t kWidth = 64;
constexpr int64_t kBatch = 1000;

// Updates the rows of `table` that `grad` has; adds what must run before to `initializers`.
using Update = Node* (*)(const Scope& scope, Output table, const IndexedSlices& grad, Input zeros,
                         std::vector<Node*>* initializers);

Output Slot(const Scope& scope, const char* name, Input zeros, std::vector<Node*>* initializers) {
  Output slot = ops::VarHandleOp(scope, DType::kFloat, Shape(), {.shared_name = name});
  initializers->push_back(ops::AssignVariableOp(scope, slot, zeros));
  return slot;
}

Node* GradientDescent(const Scope& scope, Output table, const IndexedSlices& grad, Input, std::vector<Node*>*) {
  return ops::ResourceScatterSub(scope, table, grad.indices, ops::Mul(scope, grad.values, 0.1));
}

Node* Momentum(const Scope& scope, Output table, const IndexedSlices& grad, Input zeros,
               std::vector<Node*>* initializers) {
  Output slot = Slot(scope, "momentum", zeros, initializers);
  return ops::ResourceSparseApplyMomentum(scope, table, slot, 0.1, grad.values, grad.indices, 0.9);
}

Node* Adagrad(const Scope& scope, Output table, const IndexedSlices& grad, Input zeros,
              std::vector<Node*>* initializers) {
  Output slot = Slot(scope, "adagrad", zeros, initializers);
  return ops::ResourceSparseApplyAdagradV2(scope, table, slot, 0.1, 1e-7, grad.values, grad.indices);
}

void Train(benchmark::State& state, Update update) {
  RegisterAllOps();
  RegisterAllKernels();
  RegisterAllGradients();
  const int64_t rows = state.range(0);
  Graph graph;
  Scope scope(&graph);
  std::vector<Node*> initializers;
  Output zeros = ops::Fill(scope, {rows, kWidth}, ops::Const(scope, 0.0, DType::kFloat));
  Output table = ops::VarHandleOp(scope, DType::kFloat, Shape({rows, kWidth}), {.shared_name = "table"});
  initializers.push_back(ops::AssignVariableOp(scope, table, zeros));
  Output ids = ops::Placeholder(scope, DType::kInt64, {.shape = {kBatch}});
  Output target = ops::Placeholder(scope, DType::kFloat, {.shape = {kBatch, kWidth}});
  Output embedded = ops::ResourceGather(scope, table, ids, DType::kFloat);
  Output loss = ops::Mean(scope, ops::SquaredDifference(scope, embedded, target), {0, 1});
  absl::StatusOr<Grads> grads = Gradients(scope, {loss}, {table});
  NABLA_CHECK(grads.ok() && (*grads)[0].is_slices());
  Node* step = update(scope, table, (*grads)[0].slices(), zeros, &initializers);
  NABLA_CHECK(scope.ok() && step != nullptr);

  Session session(&graph);
  NABLA_CHECK(session.Run({}, {}, initializers, nullptr).ok());
  Tensor id_batch(DType::kInt64, {kBatch});
  Tensor target_batch(DType::kFloat, {kBatch, kWidth});
  std::fill_n(target_batch.data<float>(), target_batch.num_elements(), 1.0f);
  for (int64_t i = 0; i < kBatch; ++i) id_batch.data<int64_t>()[i] = i * 7919 % rows;
  auto callable = session.MakeCallable({ids, target}, {loss}, {step});
  NABLA_CHECK(callable.ok());
  const std::vector<Tensor> feeds = {id_batch, target_batch};
  std::vector<Tensor> out;
  NABLA_CHECK(session.RunCallable(**callable, feeds, &out).ok());
  ResetBufferPoolPeak();
  const int64_t at_rest = GetBufferPoolStats().bytes_in_use;
  for (auto _ : state) NABLA_CHECK(session.RunCallable(**callable, feeds, &out).ok());
  const int64_t peak = GetBufferPoolStats().peak_bytes_in_use - at_rest;
  state.counters["step_peak_MiB"] = static_cast<double>(peak) / (1 << 20);
  state.SetItemsProcessed(state.iterations() * kBatch);
}

BENCHMARK_CAPTURE(Train, GradientDescent, GradientDescent)->Arg(10000)->Arg(1000000)->UseRealTime();
BENCHMARK_CAPTURE(Train, Momentum, Momentum)->Arg(10000)->Arg(1000000)->UseRealTime();
BENCHMARK_CAPTURE(Train, Adagrad, Adagrad)->Arg(10000)->Arg(1000000)->UseRealTime();

}  // namespace
}  // namespace nabla

BENCHMARK_MAIN();

// Elementwise ops and reductions on 64 MB, as bytes moved per second, next to a plain copy with as many threads.
#include <benchmark/benchmark.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "nabla/tests/benchmarks/op_bench.h"

namespace nabla {
namespace {

constexpr int64_t kElements = int64_t{16} << 20;  // 64 MB of float

Tensor Values(Shape shape) {
  Tensor x(DType::kFloat, std::move(shape));
  for (int64_t i = 0; i < x.num_elements(); ++i) x.data<float>()[i] = 0.001f * static_cast<float>(i % 4001) - 2.0f;
  return x;
}

void SetBytes(benchmark::State& state, double tensors) {
  state.SetBytesProcessed(static_cast<int64_t>(static_cast<double>(state.iterations()) * tensors *
                                               static_cast<double>(kElements) * sizeof(float)));
}

// What memory gives: memcpy, cut into one piece per thread.
void BM_Copy(benchmark::State& state) {
  const int threads = static_cast<int>(state.range(0));
  const Tensor from = Values({kElements});
  Tensor to = Values({kElements});
  const size_t piece = from.num_bytes() / threads;
  const auto copy = [&](int i) { std::memcpy(to.data<char>() + i * piece, from.data<char>() + i * piece, piece); };
  for (auto _ : state) {
    std::vector<std::thread> others;
    for (int i = 1; i < threads; ++i) others.emplace_back(copy, i);
    copy(0);
    for (std::thread& other : others) other.join();
    benchmark::ClobberMemory();
  }
  SetBytes(state, 2);
}
BENCHMARK(BM_Copy)->Arg(1)->Arg(2)->UseRealTime();

// The same, only reading.
void BM_Read(benchmark::State& state) {
  const Tensor from = Values({kElements});
  const int64_t* p = from.data<int64_t>();
  for (auto _ : state) {
    int64_t sum[8] = {};
    for (int64_t i = 0; i < kElements / 2; i += 8) {
      for (int j = 0; j < 8; ++j) sum[j] += p[i + j];
    }
    benchmark::DoNotOptimize(sum);
  }
  SetBytes(state, 1);
}
BENCHMARK(BM_Read)->UseRealTime();

void Run(benchmark::State& state, const std::string& op, std::vector<Tensor> inputs, double tensors,
         AttrMap attrs = {}) {
  OpBench bench(op, std::move(inputs), std::move(attrs), static_cast<int>(state.range(0)));
  // The first runs allocate what the later ones reuse.
  for (int i = 0; i < 3; ++i) bench.Run();
  for (auto _ : state) bench.Run();
  SetBytes(state, tensors);
}

void BM_Unary(benchmark::State& state, const char* op) { Run(state, op, {Values({kElements})}, 2); }
BENCHMARK_CAPTURE(BM_Unary, Neg, "Neg")->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK_CAPTURE(BM_Unary, Relu, "Relu")->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK_CAPTURE(BM_Unary, Exp, "Exp")->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK_CAPTURE(BM_Unary, Tanh, "Tanh")->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK_CAPTURE(BM_Unary, Sigmoid, "Sigmoid")->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK_CAPTURE(BM_Unary, Erf, "Erf")->Arg(1)->Arg(2)->UseRealTime();

void BM_Binary(benchmark::State& state, const char* op) {
  Run(state, op, {Values({kElements}), Values({kElements})}, 3);
}
BENCHMARK_CAPTURE(BM_Binary, AddV2, "AddV2")->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK_CAPTURE(BM_Binary, Mul, "Mul")->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK_CAPTURE(BM_Binary, ReluGrad, "ReluGrad")->Arg(1)->Arg(2)->UseRealTime();

void BM_AddRow(benchmark::State& state) { Run(state, "AddV2", {Values({kElements / 1024, 1024}), Values({1024})}, 2); }
BENCHMARK(BM_AddRow)->Arg(1)->Arg(2)->UseRealTime();

void BM_MulColumn(benchmark::State& state) {
  Run(state, "Mul", {Values({kElements / 1024, 1024}), Values({kElements / 1024, 1})}, 2);
}
BENCHMARK(BM_MulColumn)->Arg(1)->Arg(2)->UseRealTime();

void BM_Reduce(benchmark::State& state, const char* op, std::vector<int32_t> axes) {
  Run(state, op, {Values({kElements / 1024, 1024}), Tensor::Vector<int32_t>(axes)}, 1);
}
BENCHMARK_CAPTURE(BM_Reduce, SumAll, "Sum", {0, 1})->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK_CAPTURE(BM_Reduce, SumRows, "Sum", {1})->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK_CAPTURE(BM_Reduce, SumColumns, "Sum", {0})->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK_CAPTURE(BM_Reduce, MaxAll, "Max", {0, 1})->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK_CAPTURE(BM_Reduce, MaxColumns, "Max", {0})->Arg(1)->Arg(2)->UseRealTime();
BENCHMARK_CAPTURE(BM_Reduce, MeanAll, "Mean", {0, 1})->Arg(1)->Arg(2)->UseRealTime();

void BM_Softmax(benchmark::State& state) { Run(state, "Softmax", {Values({kElements / 1024, 1024})}, 2); }
BENCHMARK(BM_Softmax)->Arg(1)->Arg(2)->UseRealTime();

}  // namespace
}  // namespace nabla

BENCHMARK_MAIN();

// Elementwise ops and reductions on 64 MB, as bytes moved per second, against a plain copy with as many threads.
#include <benchmark/benchmark.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "nabla/tests/benchmarks/op_bench.h"
#include "nabla/tests/benchmarks/paired.h"

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
class Copy {
 public:
  explicit Copy(int threads) : threads_(threads), from_(Values({kElements})), to_(Values({kElements})) {}

  void Run() {
    std::vector<std::thread> others;
    for (int i = 1; i < threads_; ++i) others.emplace_back([this, i] { Piece(i); });
    Piece(0);
    for (std::thread& other : others) other.join();
    benchmark::ClobberMemory();
  }

 private:
  void Piece(int i) {
    const size_t size = from_.num_bytes() / static_cast<size_t>(threads_);
    std::memcpy(to_.data<char>() + i * size, from_.data<char>() + i * size, size);
  }

  const int threads_;
  const Tensor from_;
  Tensor to_;
};

// `percent_of_peer` is the op's bandwidth over the copy's: the op moves `tensors` times 64 MB, the copy twice that.
void Run(benchmark::State& state, const std::string& op, std::vector<Tensor> inputs, double tensors,
         AttrMap attrs = {}) {
  const int threads = static_cast<int>(state.range(0));
  OpBench bench(op, std::move(inputs), std::move(attrs), threads);
  Copy copy(threads);
  MeasurePaired(
      state, [&] { copy.Run(); }, [&] { bench.Run(); });
  state.counters["percent_of_peer"] = state.counters["percent_of_peer"] * (tensors / 2);
  SetBytes(state, tensors);
}

void BM_Unary(benchmark::State& state, const char* op) { Run(state, op, {Values({kElements})}, 2); }
BENCHMARK_CAPTURE(BM_Unary, Neg, "Neg")->Arg(1)->Arg(2)->UseManualTime();
BENCHMARK_CAPTURE(BM_Unary, Relu, "Relu")->Arg(1)->Arg(2)->UseManualTime();
BENCHMARK_CAPTURE(BM_Unary, Exp, "Exp")->Arg(1)->Arg(2)->UseManualTime();
BENCHMARK_CAPTURE(BM_Unary, Tanh, "Tanh")->Arg(1)->Arg(2)->UseManualTime();
BENCHMARK_CAPTURE(BM_Unary, Sigmoid, "Sigmoid")->Arg(1)->Arg(2)->UseManualTime();
BENCHMARK_CAPTURE(BM_Unary, Erf, "Erf")->Arg(1)->Arg(2)->UseManualTime();

void BM_Binary(benchmark::State& state, const char* op) {
  Run(state, op, {Values({kElements}), Values({kElements})}, 3);
}
BENCHMARK_CAPTURE(BM_Binary, AddV2, "AddV2")->Arg(1)->Arg(2)->UseManualTime();
BENCHMARK_CAPTURE(BM_Binary, Mul, "Mul")->Arg(1)->Arg(2)->UseManualTime();
BENCHMARK_CAPTURE(BM_Binary, ReluGrad, "ReluGrad")->Arg(1)->Arg(2)->UseManualTime();

void BM_AddRow(benchmark::State& state) { Run(state, "AddV2", {Values({kElements / 1024, 1024}), Values({1024})}, 2); }
BENCHMARK(BM_AddRow)->Arg(1)->Arg(2)->UseManualTime();

void BM_MulColumn(benchmark::State& state) {
  Run(state, "Mul", {Values({kElements / 1024, 1024}), Values({kElements / 1024, 1})}, 2);
}
BENCHMARK(BM_MulColumn)->Arg(1)->Arg(2)->UseManualTime();

void BM_Reduce(benchmark::State& state, const char* op, std::vector<int32_t> axes) {
  Run(state, op, {Values({kElements / 1024, 1024}), Tensor::Vector<int32_t>(axes)}, 1);
}
BENCHMARK_CAPTURE(BM_Reduce, SumAll, "Sum", {0, 1})->Arg(1)->Arg(2)->UseManualTime();
BENCHMARK_CAPTURE(BM_Reduce, SumRows, "Sum", {1})->Arg(1)->Arg(2)->UseManualTime();
BENCHMARK_CAPTURE(BM_Reduce, SumColumns, "Sum", {0})->Arg(1)->Arg(2)->UseManualTime();
BENCHMARK_CAPTURE(BM_Reduce, MaxAll, "Max", {0, 1})->Arg(1)->Arg(2)->UseManualTime();
BENCHMARK_CAPTURE(BM_Reduce, MaxColumns, "Max", {0})->Arg(1)->Arg(2)->UseManualTime();
BENCHMARK_CAPTURE(BM_Reduce, MeanAll, "Mean", {0, 1})->Arg(1)->Arg(2)->UseManualTime();

void BM_Softmax(benchmark::State& state) { Run(state, "Softmax", {Values({kElements / 1024, 1024})}, 2); }
BENCHMARK(BM_Softmax)->Arg(1)->Arg(2)->UseManualTime();

}  // namespace
}  // namespace nabla

BENCHMARK_MAIN();

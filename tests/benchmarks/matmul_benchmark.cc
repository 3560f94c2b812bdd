// MatMul through a session against oneDNN called directly, with one and with two threads.
#include <benchmark/benchmark.h>
#include <dnnl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "nabla/tests/benchmarks/op_bench.h"
#include "nabla/tests/benchmarks/paired.h"

// From oneDNN's OpenMP runtime; its header comes with some compilers only.
extern "C" void omp_set_num_threads(int);

namespace nabla {
namespace {

Tensor Values(int64_t rows, int64_t columns, DType dtype = DType::kFloat) {
  Tensor x(dtype, {rows, columns});
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    const double v = static_cast<double>(i % 127) / 64 - 1;
    if (dtype == DType::kFloat) {
      x.data<float>()[i] = static_cast<float>(v);
    } else {
      x.data<double>()[i] = v;
    }
  }
  return x;
}

void SetFlops(benchmark::State& state, int64_t times) {
  const double flops = 2.0 * static_cast<double>(times * state.range(0) * state.range(1) * state.range(2));
  state.counters["GFLOP/s"] =
      benchmark::Counter(flops * static_cast<double>(state.iterations()) * 1e-9, benchmark::Counter::kIsRate);
}

// Arguments: m, k, n, threads. One product takes microseconds when it is small: as many at a time as take a
// millisecond.
void BM_MatMul(benchmark::State& state) {
  const int64_t m = state.range(0), k = state.range(1), n = state.range(2);
  const int threads = static_cast<int>(state.range(3));
  const int64_t times = std::max<int64_t>(1, 50'000'000 / (m * k * n));
  const Tensor a = Values(m, k), b = Values(k, n);
  Tensor c = Values(m, n);
  AttrMap attrs;
  attrs.Set("transpose_a", false);
  attrs.Set("transpose_b", false);
  OpBench bench("MatMul", {a, b}, attrs, threads);
  omp_set_num_threads(threads);
  MeasurePaired(
      state,
      [&] {
        for (int64_t i = 0; i < times; ++i) {
          dnnl_sgemm('N', 'N', m, n, k, 1, a.data<float>(), k, b.data<float>(), n, 0, c.data<float>(), n);
        }
      },
      [&] {
        for (int64_t i = 0; i < times; ++i) bench.Run();
      });
  SetFlops(state, times);
}

void BM_MatMulDouble(benchmark::State& state) {
  const int64_t m = state.range(0), k = state.range(1), n = state.range(2);
  OpBench bench("MatMul", {Values(m, k, DType::kDouble), Values(k, n, DType::kDouble)}, {},
                static_cast<int>(state.range(3)));
  for (auto _ : state) bench.Run();
  SetFlops(state, 1);
}

void Shapes(benchmark::internal::Benchmark* b) {
  for (int64_t threads : {1, 2}) {
    for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{{1024, 1024, 1024},
                                                                               {2048, 2048, 2048},
                                                                               {512, 512, 512},
                                                                               {128, 784, 256},
                                                                               {784, 128, 256},
                                                                               {128, 256, 128},
                                                                               {128, 128, 10},
                                                                               {16, 16, 16}}) {
      b->Args({shape[0], shape[1], shape[2], threads});
    }
  }
  b->UseManualTime();
}
BENCHMARK(BM_MatMul)->Apply(Shapes);
BENCHMARK(BM_MatMulDouble)->Args({1024, 1024, 1024, 1})->Args({1024, 1024, 1024, 2})->UseRealTime();

}  // namespace
}  // namespace nabla

// OpenMP's threads would spin for milliseconds after each of the peer's products, on the processors that ours then
// needs. Its runtime reads how they shall wait when it is loaded.
int main(int argc, char** argv) {
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) {
    setenv("OMP_WAIT_POLICY", "passive", 1);
    execv("/proc/self/exe", argv);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

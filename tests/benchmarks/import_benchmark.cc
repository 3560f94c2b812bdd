// Reading and writing GraphDef files: a frozen graph of 500 MB in a few large constants, against reading the same file
// into memory; and a million small nodes.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nabla/graph/check.h"
#include "nabla/graph/export.h"
#include "nabla/graph/import.h"
#include "nabla/ops/ops.h"

namespace nabla {
namespace {

constexpr int64_t kConstants = 10, kRows = 12500, kColumns = 1024;  // of floats: 512 MB

std::string TemporaryFile(const std::string& name) {
  const char* folder = getenv("TMPDIR");
  return absl::StrCat(folder == nullptr ? "/tmp" : folder, "/", name);
}

const std::string& FrozenFile() {
  static const std::string* path = [] {
    RegisterAllOps();
    Graph graph;
    Scope scope(&graph);
    for (int64_t i = 0; i < kConstants; ++i) {
      Tensor value(DType::kFloat, {kRows, kColumns});
      float* x = value.data<float>();
      for (int64_t j = 0; j < value.num_elements(); ++j) x[j] = static_cast<float>(i + j);
      ops::Const(scope, value);
    }
    NABLA_CHECK(scope.ok());
    auto* file = new std::string(TemporaryFile("nabla_import_benchmark.pb"));
    NABLA_CHECK(ExportGraphFile(graph, {}, *file).ok());
    return file;
  }();
  return *path;
}

int64_t FileSize(const std::string& path) {
  return static_cast<int64_t>(std::ifstream(path, std::ios::binary | std::ios::ate).tellg());
}

void BM_ReadFile(benchmark::State& state) {
  const std::string& path = FrozenFile();
  for (auto _ : state) {
    std::FILE* file = std::fopen(path.c_str(), "rb");
    std::vector<char> bytes(1 << 20);
    while (std::fread(bytes.data(), 1, bytes.size(), file) > 0) benchmark::ClobberMemory();
    std::fclose(file);
  }
  state.SetBytesProcessed(state.iterations() * FileSize(path));
}
BENCHMARK(BM_ReadFile)->Unit(benchmark::kMillisecond);

void BM_ImportFrozenGraph(benchmark::State& state) {
  const std::string& path = FrozenFile();
  for (auto _ : state) {
    Graph graph;
    NABLA_CHECK(ImportGraphDefFile(path, {}, &graph).ok());
    benchmark::DoNotOptimize(graph.num_nodes());
  }
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  state.SetBytesProcessed(state.iterations() * FileSize(path));
  state.counters["peak_rss_per_file_size"] =
      static_cast<double>(usage.ru_maxrss) * 1024 / static_cast<double>(FileSize(path));
}
BENCHMARK(BM_ImportFrozenGraph)->Unit(benchmark::kMillisecond);

void BM_BuildExportImportMillionNodes(benchmark::State& state) {
  RegisterAllOps();
  for (auto _ : state) {
    Graph graph;
    Scope scope(&graph);
    Output x = ops::Placeholder(scope, DType::kFloat, {.shape = Shape::Scalar()});
    for (int64_t i = 0; i < state.range(0); ++i) x = ops::Neg(scope, x);
    std::string bytes;
    NABLA_CHECK(ExportGraphDefString(graph, {}, &bytes).ok());
    Graph copy;
    NABLA_CHECK(ImportGraphDefString(bytes, {}, &copy).ok());
    NABLA_CHECK(copy.num_nodes() == graph.num_nodes());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_BuildExportImportMillionNodes)->Arg(100000)->Arg(1000000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace nabla

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  std::remove(nabla::TemporaryFile("nabla_import_benchmark.pb").c_str());
  return 0;
}

// One training step of the first example's network (784-256-128-10, batch 128, Adam), from the graph that the example
// wrote: `bazel-bin/examples/fashion_mnist --out out/fashion_mnist`, then
// `training_benchmark out/fashion_mnist/train.pb`. tests/interop/training_step.py compares it with other libraries.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <string>

#include "nabla/graph/check.h"
#include "nabla/graph/import.h"
#include "nabla/ops/registration.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/session.h"

namespace nabla {
namespace {

std::string* path;

void BM_TrainingStep(benchmark::State& state) {
  Graph graph;
  absl::Status imported = ImportGraphDefFile(*path, {}, &graph);
  if (!imported.ok()) return state.SkipWithError(imported.ToString().c_str());
  SessionOptions options;
  options.num_threads = static_cast<int>(state.range(0));
  Session session(&graph, options);
  const Output images = *graph.FindOutput("images"), labels = *graph.FindOutput("labels");
  const Output loss = *graph.FindOutput("loss");
  NABLA_CHECK(session.Run({}, {}, {graph.FindNode("initialize")}, nullptr).ok());
  Tensor image_batch(DType::kUInt8, {128, 28, 28});
  Tensor label_batch(DType::kInt32, {128});
  for (int64_t i = 0; i < image_batch.num_elements(); ++i)
    image_batch.data<uint8_t>()[i] = static_cast<uint8_t>(i * 37);
  for (int64_t i = 0; i < 128; ++i) label_batch.data<int32_t>()[i] = static_cast<int32_t>(i % 10);
  auto callable = session.MakeCallable({images, labels}, {loss}, {graph.FindNode("train")});
  NABLA_CHECK(callable.ok());
  const std::vector<Tensor> feeds = {image_batch, label_batch};
  std::vector<Tensor> out;
  for (auto _ : state) NABLA_CHECK(session.RunCallable(**callable, feeds, &out).ok());
  state.SetItemsProcessed(state.iterations() * 128);
}
BENCHMARK(BM_TrainingStep)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace nabla

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc != 2) {
    std::fprintf(stderr, "usage: training_benchmark TRAIN.pb [--benchmark_…]\n");
    return 2;
  }
  nabla::path = new std::string(argv[1]);
  nabla::RegisterAllOps();
  nabla::RegisterAllKernels();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

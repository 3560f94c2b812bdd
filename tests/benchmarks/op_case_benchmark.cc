// Every row of tests/cases, forward and with its gradients, by the row's name: --benchmark_filter='^MatMul' runs those
// of MatMul, --benchmark_filter=/gradient what is differentiated. Rows are small, so that this is mostly what an op
// costs before it computes; `items_per_second` counts elements of the results. One thread; --threads=N gives the pool
// N.
#include <benchmark/benchmark.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "nabla/runtime/session.h"
#include "nabla/tests/cases/checks.h"
#include "nabla/tests/cases/op_case.h"

namespace nabla {
namespace {

int num_threads = 1;

// Runs the row with everything fed that a row feeds, fetching the outputs, with `gradients` the gradients as well.
void RunRow(benchmark::State& state, const OpCase& row, bool gradients) {
  const auto fail = [&](const absl::Status& status) { state.SkipWithError(std::string(status.message()).c_str()); };
  absl::StatusOr<BuiltCase> built = gradients ? BuildDifferentiated(row, Feeding::kStaticShape)
                                              : BuildCase(row, row.spec.dtype, Feeding::kStaticShape);
  if (!built.ok()) return fail(built.status());
  SessionOptions options;
  options.num_threads = num_threads;
  Session session(built->graph.get(), options);
  absl::StatusOr<std::shared_ptr<Session::Callable>> callable =
      session.MakeCallable(built->fed, built->fetches(), {built->node});
  if (!callable.ok()) return fail(callable.status());
  std::vector<Tensor> results;
  for (auto _ : state) {
    const absl::Status status = session.RunCallable(**callable, built->fed_values, &results);
    if (!status.ok()) return fail(status);
  }
  int64_t elements = 0;
  for (const Tensor& result : results) elements += result.num_elements();
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * elements);
}

void RegisterRows() {
  for (const OpCase& row : AllCases()) {
    const auto add = [&row](const char* what, bool gradients) {
      benchmark::RegisterBenchmark(absl::StrCat(row.Name(), "/", what).c_str(),
                                   [&row, gradients](benchmark::State& state) { RunRow(state, row, gradients); });
    };
    add("forward", false);
    if (IsDifferentiated(row)) add("gradient", true);
  }
}

}  // namespace
}  // namespace nabla

int main(int argc, char** argv) {
  nabla::RegisterEverything();
  nabla::RegisterRows();
  benchmark::Initialize(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    constexpr char kThreads[] = "--threads=";
    if (std::strncmp(argv[i], kThreads, sizeof(kThreads) - 1) != 0 ||
        !absl::SimpleAtoi(argv[i] + sizeof(kThreads) - 1, &nabla::num_threads) || nabla::num_threads < 1) {
      std::fprintf(stderr, "usage: op_case_benchmark [--threads=N] [--benchmark_filter=REGEX] ...\n");
      return 2;
    }
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

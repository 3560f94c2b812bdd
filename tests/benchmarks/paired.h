// Measuring against a peer on a machine whose speed drifts.
#ifndef NABLA_TESTS_BENCHMARKS_PAIRED_H_
#define NABLA_TESTS_BENCHMARKS_PAIRED_H_

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

namespace nabla {

// Runs `peer` and `ours` turn about and gives, as the counter `percent_of_peer`, the median of how fast `ours` was next
// to the `peer` right before it: 100 is as fast, 200 twice as fast. Where other programs share the processor, a speed
// drifts from second to second, a ratio of neighbours hardly. Wants UseManualTime(); the time reported is that of
// `ours`.
template <typename Peer, typename Ours>
void MeasurePaired(benchmark::State& state, Peer peer, Ours ours) {
  using Clock = std::chrono::steady_clock;
  // OpenMP's threads spin for a while after their work.
  const auto settle = [] { std::this_thread::sleep_for(std::chrono::milliseconds(2)); };
  const auto seconds = [&](auto& run) {
    settle();
    const Clock::time_point start = Clock::now();
    run();
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  // The first runs allocate what the later ones reuse.
  for (int i = 0; i < 3; ++i) {
    peer();
    ours();
  }
  std::vector<double> ratios;
  for (auto _ : state) {
    const double of_peer = seconds(peer);
    const double of_ours = seconds(ours);
    state.SetIterationTime(of_ours);
    ratios.push_back(of_peer / of_ours);
  }
  std::nth_element(ratios.begin(), ratios.begin() + ratios.size() / 2, ratios.end());
  state.counters["percent_of_peer"] = 100 * ratios[ratios.size() / 2];
}

}  // namespace nabla

#endif  // NABLA_TESTS_BENCHMARKS_PAIRED_H_

// A record of what ran when on which thread, as Chrome trace JSON: open it in Perfetto or chrome://tracing.
//
//   Trace trace;
//   session.Run(feeds, fetches, {}, &out, {.trace = &trace});
//   trace.WriteFile("run.json");
//
// One row per thread, with the nodes that it ran (name, op, dtypes and shapes of inputs and outputs) and the parts of
// other nodes' loops that it helped with; a row of its own for the compiler's passes. Times are in microseconds from
// the trace's construction. Thread-safe; one trace may record several runs.
#ifndef NABLA_RUNTIME_TRACE_H_
#define NABLA_RUNTIME_TRACE_H_

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace nabla {

class Node;
class Tensor;
struct PassRecord;  // graph/passes/pipeline.h

class Trace {
 public:
  using Clock = std::chrono::steady_clock;

  Trace() : begin_(Clock::now()) {}

  // "float[2,3], int32[]"; for nodes' inputs this must be asked before they run, for they may be taken.
  static std::string Describe(const Tensor* const* tensors, int count);

  // What the calling thread did from `start` to `end`.
  void AddNode(const Node& node, Clock::time_point start, Clock::time_point end, std::string inputs,
               std::string outputs);
  void AddPart(const Node& node, Clock::time_point start, Clock::time_point end);
  void AddRun(Clock::time_point start, Clock::time_point end);
  void AddPasses(const std::vector<PassRecord>& passes);

  size_t num_events() const;
  std::string ToJson() const;
  absl::Status WriteFile(const std::string& path) const;

 private:
  struct Event {
    std::string name;
    const char* category;
    int row;
    double start;  // microseconds
    double duration;
    std::vector<std::pair<const char*, std::string>> args;
  };
  void Add(Event event, Clock::time_point start, Clock::time_point end);
  int RowOfThisThread();  // under mutex_

  const Clock::time_point begin_;
  mutable std::mutex mutex_;
  std::vector<Event> events_;
  absl::flat_hash_map<int64_t, int> row_of_thread_;
  std::vector<std::string> row_names_;
};

}  // namespace nabla

#endif  // NABLA_RUNTIME_TRACE_H_

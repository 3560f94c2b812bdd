// All passes, in order.
//
//   std::vector<PassRecord> records;
//   NABLA_RETURN_IF_ERROR(RunPasses({.disabled = {"constant_fold"}}, compilation, &records));
#ifndef NABLA_GRAPH_PASSES_PIPELINE_H_
#define NABLA_GRAPH_PASSES_PIPELINE_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "nabla/graph/passes/compilation.h"

namespace nabla {

struct PipelineOptions {
  // Names of passes to leave out, or "all".
  std::vector<std::string> disabled;
  // Called with "input" and the graph's dump before the first pass, and with a pass's name and the dump after it.
  std::function<void(absl::string_view pass, const std::string& dump)> dump;
  // Check the graph after each pass.
  bool verify = false;
};

// What a pass did, for traces and logs.
struct PassRecord {
  std::string name;
  absl::Time start;
  absl::Duration duration;
  int nodes_before = 0;
  int nodes_after = 0;
};

// The names of the passes that can be left out, in the order in which they run.
std::vector<absl::string_view> PassNames();

// Runs the passes and fixes compilation.order. InvalidArgument for an unknown name in options.disabled; Internal,
// naming the pass, if a pass broke the graph.
absl::Status RunPasses(const PipelineOptions& options, Compilation& compilation, std::vector<PassRecord>* records);

// One line per node in topological order, then the fetches.
std::string DumpCompilation(const Compilation& compilation);

// The invariants that every pass must keep: an acyclic graph whose edges stay in it, live fetches, feeds and targets.
absl::Status VerifyCompilation(const Compilation& compilation);

}  // namespace nabla

#endif  // NABLA_GRAPH_PASSES_PIPELINE_H_

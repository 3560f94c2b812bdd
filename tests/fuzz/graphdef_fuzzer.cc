// Any bytes as a GraphDef, through all that `nabla show`, `nabla check` and `nabla convert` do with one, and through
// the expansion of its calls of functions:
//
//   bazel run --config=fuzz //tests/fuzz:graphdef_fuzz -- $PWD/corpus -max_total_time=300
//
// Besides not crashing: an error is one line and leaves the graph empty, and what was imported can be exported and
// imported again; calls are expanded or refused, and the graph is sound in either case.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "nabla/graph/export.h"
#include "nabla/graph/import.h"
#include "nabla/graph/inline.h"
#include "nabla/graph/summary.h"
#include "nabla/graph/verifier.h"
#include "nabla/ops/lower_functional.h"
#include "nabla/ops/ops.h"

namespace nabla {
namespace {

void Require(bool condition, const char* what, const absl::Status& status) {
  if (condition) return;
  std::fprintf(stderr, "%s: %s\n", what, status.ToString().c_str());
  std::abort();
}

void ImportAndUse(absl::string_view bytes, bool allow_unsupported) {
  ImportOptions options;
  options.allow_unsupported = allow_unsupported;
  // What small files may claim, so that the fuzzer's own memory limit is not what stops it.
  options.max_expanded_bytes = 1 << 20;
  Graph graph;
  const absl::Status status = ImportGraphDefString(bytes, options, &graph);
  if (!status.ok()) {
    Require(status.message().find('\n') == absl::string_view::npos, "an error of several lines", status);
    Require(graph.num_node_ids() == 0 && graph.FindNode("x") == nullptr, "a failure that left nodes", status);
    return;
  }
  FindProblems(graph);
  Summarize(graph).ToString();
  std::string exported;
  const absl::Status export_status = ExportGraphDefString(graph, {}, &exported);
  Require(export_status.ok(), "an imported graph that cannot be exported", export_status);
  if (exported.empty()) return;  // no nodes and no versions: not taken for a GraphDef
  Graph again;
  const absl::Status again_status = ImportGraphDefString(exported, options, &again);
  Require(again_status.ok(), "an exported graph that cannot be imported", again_status);
  Require(again.num_nodes() == graph.num_nodes(), "an exported graph with another number of nodes", again_status);
  if (!VerifyGraph(again).ok() || CallsIn(again).empty()) return;
  const absl::Status expansion = ExpandCalls(&again, CallsIn(again));
  Require(expansion.message().find('\n') == absl::string_view::npos, "an error of several lines", expansion);
  Require(!expansion.ok() || CallsIn(again).empty(), "calls that are left after their expansion", expansion);
  // A body that came to light may name functions that are not there, which is then why the expansion was refused.
  VerifyOptions verify;
  verify.allow_unsupported = !expansion.ok();
  const absl::Status sound = VerifyGraph(again, verify);
  Require(sound.ok(), "a graph that is unsound after its calls were expanded", sound);
}

}  // namespace
}  // namespace nabla

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  nabla::RegisterAllOps();
  nabla::RegisterFunctionalLowering();
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  nabla::ImportAndUse(bytes, true);
  nabla::ImportAndUse(bytes, false);
  return 0;
}

// Runs a graph.
//
//   Session session(&graph);
//   std::vector<Tensor> out;
//   absl::Status s = session.Run({{x, Tensor::Scalar(2.0f)}}, {y}, &out);
//
// A Run executes what its fetches and targets need. The plan for a combination of feeds, fetches and targets is
// compiled once (prune, fold, merge, …; see runtime/plan.h) and kept; it is compiled anew when what it was made of may
// have changed since (Graph::edits). Variables live in the session.
//
// Thread safety: everything may be called from several threads at once, also while others add to the graph.
#ifndef NABLA_RUNTIME_SESSION_H_
#define NABLA_RUNTIME_SESSION_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "nabla/graph/graph.h"
#include "nabla/graph/tensor.h"

namespace nabla {

class ResourceContainer;
class Trace;  // runtime/trace.h

struct SessionOptions {
  // Threads that execute, the caller's included; 0: one per core.
  int num_threads = 0;
  // Names of passes to leave out ("drop_identities", "constant_fold", "common_subexpressions", "accumulate", "prune",
  // "in_place"), or "all". Results are the same bits either way.
  std::vector<std::string> disabled_passes;
  // Called with a pass's name and the graph's dump before the first and after each pass, if set.
  std::function<void(absl::string_view pass, const std::string& dump)> dump_passes;
  // Kernels take float and double numbers that are too small for full precision (below 1.2e-38 and 2.2e-308) for zero,
  // as those of TensorFlow's sessions do; otherwise computing with them may take a hundred times as long.
  bool flush_denormals = true;
};

// Lets one thread stop a Run of another. Reusable for one Run at a time.
class Cancellation {
 public:
  void Cancel() { cancelled_.store(true); }
  bool cancelled() const { return cancelled_.load(); }
  const std::atomic<bool>* flag() const { return &cancelled_; }

 private:
  std::atomic<bool> cancelled_{false};
};

struct RunOptions {
  Cancellation* cancellation = nullptr;
  absl::Time deadline = absl::InfiniteFuture();
  // Records what ran when on which thread.
  Trace* trace = nullptr;
};

using Feeds = std::vector<std::pair<Output, Tensor>>;

class Session {
 public:
  // Does not own the graph, which must outlive it. RegisterAllKernels() (runtime/kernels/kernels.h) must have run.
  explicit Session(Graph* graph, SessionOptions options = {});
  ~Session();

  // Feeds replace any tensors of the graph; fetches may be any tensors, fed ones too. Errors: InvalidArgument for a
  // feed or fetch of another graph or of the wrong dtype or shape; the first failing node's error, with its name and
  // op; Cancelled; DeadlineExceeded. `outputs` gets one tensor per fetch (nullptr: not wanted).
  absl::Status Run(const Feeds& feeds, const Outputs& fetches, std::vector<Tensor>* outputs);
  absl::Status Run(const Feeds& feeds, const Outputs& fetches, const std::vector<Node*>& targets,
                   std::vector<Tensor>* outputs, const RunOptions& options = {});

  // A plan to run many times without looking it up: same feeds, fetches and targets, new values.
  class Callable;
  absl::StatusOr<std::shared_ptr<Callable>> MakeCallable(const Outputs& feeds, const Outputs& fetches,
                                                         const std::vector<Node*>& targets);
  // `feed_values` in the order of `feeds` above. Replans if the graph changed.
  absl::Status RunCallable(Callable& callable, absl::Span<const Tensor> feed_values, std::vector<Tensor>* outputs,
                           const RunOptions& options = {});

  // Runs `targets` (say, one training step) `steps` times; `feeds_of_step` is asked for the feeds of each, and
  // `after_step` (if set) gets the fetched values and may stop early by returning false.
  absl::Status RunSteps(int64_t steps, const std::function<Feeds(int64_t step)>& feeds_of_step, const Outputs& fetches,
                        const std::vector<Node*>& targets,
                        const std::function<bool(int64_t step, const std::vector<Tensor>& fetched)>& after_step = {});

  ResourceContainer& resources();
  Graph* graph() const;
  int num_threads() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace nabla

#endif  // NABLA_RUNTIME_SESSION_H_

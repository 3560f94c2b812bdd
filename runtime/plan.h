// What a run executes: a graph compiled for one combination of feeds, fetches and targets.
//
// Compiling copies what the fetches and targets need into a private graph, puts a node of its own in place of every fed
// tensor, runs the passes (graph/passes), makes the kernels, and lays everything out flat: the nodes that compute
// something as steps in the order in which one thread runs them, the tensors between them as numbered slots, the
// constants in a table. Who reads which slot last is settled here, so that a run on one thread counts nothing.
//
// A Plan is immutable and may be run by many threads at once; what a run changes is the executor's (executor.h).
#ifndef NABLA_RUNTIME_PLAN_H_
#define NABLA_RUNTIME_PLAN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "nabla/graph/graph.h"
#include "nabla/graph/passes/pipeline.h"
#include "nabla/runtime/frame_program.h"
#include "nabla/runtime/kernel.h"

namespace nabla {

struct PlanRequest {
  Outputs feeds;
  Outputs fetches;
  std::vector<Node*> targets;
};

struct PlanOptions {
  const KernelRegistry* kernels = &KernelRegistry::Global();
  PipelineOptions passes;
  // What evaluates constants. Its pool's size also decides whether the plan prepares for several threads.
  KernelContext::Environment environment;
};

class Plan {
 public:
  // A node to execute. One cache line; the rest is in side tables.
  struct Step {
    const Kernel* kernel;
    const Node* node;
    // Inputs that nobody reads later, if the steps run in order.
    uint64_t exclusive_inputs;
    int32_t first_input;  // into input_sources
    int32_t num_inputs;
    int32_t first_output;  // slot; a node's outputs lie side by side
    int32_t num_outputs;
    int32_t first_release;  // into releases: what may go after this step, if the steps run in order
    int32_t num_releases;
    DType output_dtype;  // of the first output
  };

  // What several threads need to know besides.
  struct ParallelStep {
    int32_t first_read;  // into reads: the slots it reads, each once
    int32_t num_reads;
    int32_t first_successor;  // into successors
    int32_t num_successors;
    int32_t pending;                // steps that must end before this one begins
    bool expensive;                 // worth handing to another thread
    uint64_t single_reader_inputs;  // of Step::exclusive_inputs, those that nobody else reads at all
  };

  struct Feed {
    std::string name;
    DType dtype;
    Shape shape;   // static: what is fed must fit
    int32_t slot;  // -1 if nothing reads it
  };

  struct Fetch {
    enum class Kind : uint8_t { kSlot, kConstant, kFeed };
    Kind kind;
    bool last;  // no later fetch of the same slot
    int32_t index;
  };

  // Errors: InvalidArgument for feeds, fetches and targets that are not the graph's, duplicate feeds and a placeholder
  // that is needed and not fed, malformed frames, and fetches inside of loops; NotFound or Unimplemented for what has
  // no kernel; what a kernel's constructor says. Locks the graph while it copies. `passes` (if set) gets a record of
  // each pass.
  static absl::StatusOr<std::shared_ptr<const Plan>> Compile(const Graph& graph, const PlanRequest& request,
                                                             const PlanOptions& options,
                                                             std::vector<PassRecord>* passes = nullptr);

  const std::vector<Step>& steps() const { return steps_; }
  const std::vector<ParallelStep>& parallel_steps() const { return parallel_steps_; }
  // A slot, or ~index of a constant.
  const std::vector<int32_t>& input_sources() const { return input_sources_; }
  const std::vector<int32_t>& releases() const { return releases_; }
  const std::vector<int32_t>& reads() const { return reads_; }
  const std::vector<int32_t>& successors() const { return successors_; }
  // Steps that wait for none, in order.
  const std::vector<int32_t>& roots() const { return roots_; }
  // Readers of a slot; kKept for one that is fetched. Only of parallel plans: in others a slot holds one tensor after
  // another.
  static constexpr int32_t kKept = -1;
  const std::vector<int32_t>& slot_readers() const { return slot_readers_; }
  const std::vector<Tensor>& constants() const { return constants_; }
  const std::vector<Feed>& feeds() const { return feeds_; }
  const std::vector<Fetch>& fetches() const { return fetches_; }
  int num_slots() const { return static_cast<int>(slot_readers_.size()); }
  // Whether there is something to gain from running steps side by side (loops inside kernels aside).
  bool parallel() const { return parallel_; }
  // How to run the steps of a graph with loops or branches; nullptr if they just run one after another. Then a step's
  // releases are only those slots that nobody reads after it when it runs.
  const FrameProgram* frames() const { return frames_.get(); }
  // The graph after all passes.
  const Graph& graph() const { return *graph_; }

  // InvalidArgument naming the tensor if the value does not fit the feed.
  absl::Status CheckFeed(int index, const Tensor& value) const;

 private:
  class Builder;
  friend class FramePlanner;  // runtime/frame_planner.h
  Plan() = default;

  std::unique_ptr<Graph> graph_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::vector<Step> steps_;
  std::vector<ParallelStep> parallel_steps_;
  std::vector<int32_t> input_sources_;
  std::vector<int32_t> releases_;
  std::vector<int32_t> reads_;
  std::vector<int32_t> successors_;
  std::vector<int32_t> roots_;
  std::vector<int32_t> slot_readers_;
  std::vector<Tensor> constants_;
  std::vector<Feed> feeds_;
  std::vector<Fetch> fetches_;
  bool parallel_ = false;
  std::unique_ptr<const FrameProgram> frames_;
};

}  // namespace nabla

#endif  // NABLA_RUNTIME_PLAN_H_

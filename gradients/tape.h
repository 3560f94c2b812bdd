// Gradients of what was built between two points of a program, as TensorFlow's GradientTape gives them.
//
//   GradientTape tape(scope);                     // records what is added to the graph from here
//   tape.Watch(x);
//   Output y = x * x;
//   tape.Stop();
//   NABLA_ASSIGN_OR_RETURN(Grads g, tape.Gradient({y}, {x}));
//
// A node is on the tape if it was added while the tape was recording and one of its inputs is watched or on the tape.
// Gradients flow through such nodes only: what was built before, after or in a pause is a constant, even where it
// depends on a source; a source that is neither watched nor on the tape has no gradient. Variables that may be trained
// (ops::IsTrainableVariable) are watched when they are read.
//
// Tapes nest: what an inner tape's Gradient appends while an outer one records can be differentiated by the outer one.
// Unless a tape is persistent it gives one result, which ends its recording.
//
// What is recorded is a matter of when nodes were added: two threads that build into one graph record each other's.
// Thread-compatible. The graph must outlive the tape. Misuse of the functions that return nothing is an error of the
// scope.
#ifndef NABLA_GRADIENTS_TAPE_H_
#define NABLA_GRADIENTS_TAPE_H_

#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "nabla/gradients/gradients.h"
#include "nabla/graph/scope.h"

namespace nabla {

struct TapeOptions {
  // Any number of results.
  bool persistent = false;
  // Whether variables are watched when they are read. If not, Watch their handles.
  bool watch_accessed_variables = true;
};

struct TapeGradientOptions {
  // The incoming gradient of each target; empty, or one each where none means ones.
  Grads output_gradients;
  UnconnectedGradients unconnected = UnconnectedGradients::kNone;
};

class GradientTape {
 public:
  // Starts recording. Results are appended in `scope`.
  explicit GradientTape(const Scope& scope, const TapeOptions& options = {});
  GradientTape(const GradientTape&) = delete;
  GradientTape& operator=(const GradientTape&) = delete;

  bool recording() const { return !intervals_.empty() && intervals_.back().end == kOpen; }
  // Ends the recording, and goes on with it; a tape whose only result was taken starts anew. FailedPrecondition if it
  // is so already.
  void Stop();
  void Start();
  // Forgets everything that was recorded and watched, and goes on recording. FailedPrecondition if it is not recording.
  void Reset();

  // No recording as long as this lives: { auto pause = tape.StopRecording(); … }. FailedPrecondition if the tape is not
  // recording.
  class Pause {
   public:
    Pause(Pause&& other) noexcept : tape_(std::exchange(other.tape_, nullptr)) {}
    Pause& operator=(Pause&&) = delete;
    // Goes on, unless the tape does already or its only result was taken meanwhile.
    ~Pause() {
      if (tape_ != nullptr && !tape_->used_ && !tape_->recording()) tape_->Start();
    }

   private:
    friend class GradientTape;
    explicit Pause(GradientTape* tape) : tape_(tape) {}
    GradientTape* tape_;
  };
  [[nodiscard]] Pause StopRecording();

  // Nodes that use the tensor (or the variable, given its handle) from here on are on the tape; so is the tensor
  // itself, for nodes that came before and are there by way of another one, as in TensorFlow. InvalidArgument for a
  // tensor of another graph.
  void Watch(Output tensor);
  void Watch(const Outputs& tensors);

  // The handles of the variables that are watched, in the order in which the variables were made.
  Outputs WatchedVariables() const;

  // d sum(targets) / d source for each source (a tensor, or a variable's handle), as Gradients() gives it. A target
  // that is a variable's handle counts as its value. Errors: FailedPrecondition if the only result was taken;
  // InvalidArgument for empty lists and tensors of another graph; those of Gradients().
  absl::StatusOr<Grads> Gradient(const Outputs& targets, const Outputs& sources,
                                 const TapeGradientOptions& options = {});

  // For each source the tensor of shape target.shape + source.shape with d target[i...] / d source[j...]; none, or with
  // kZero zeros, for a source without gradient. Errors: as for Gradient, and those of nabla::Jacobian.
  absl::StatusOr<Outputs> Jacobian(Output target, const Outputs& sources,
                                   UnconnectedGradients unconnected = UnconnectedGradients::kNone);

  // The Jacobians of rows by the same rows: target [b, n...], source [b, m...], result [b, n..., m...]. Errors: as for
  // Gradient, and those of nabla::BatchJacobian.
  absl::StatusOr<Output> BatchJacobian(Output target, Output source,
                                       UnconnectedGradients unconnected = UnconnectedGradients::kNone);

 private:
  static constexpr int kOpen = -1;
  // Ids of the nodes that were added while the tape was recording: [begin, end).
  struct Interval {
    int begin = 0;
    int end = kOpen;
  };
  // What the tape says of the way to some targets.
  struct Trace {
    absl::flat_hash_set<const Node*> nodes;     // on the tape
    absl::flat_hash_set<const Node*> accessed;  // variables that some of these read
    Outputs border;                             // what they use that is not on the tape: constants
  };

  bool WasRecorded(const Node* node) const;
  bool IsWatched(Output tensor, int by) const;
  Trace TraceBack(const Outputs& targets) const;
  bool IsOnTape(const Trace& trace, Output tensor) const;
  bool IsSource(const Trace& trace, Output target, Output source) const;
  absl::Status Check(Output tensor, const char* what) const;
  absl::Status CheckUse(const Outputs& targets, const Outputs& sources) const;
  void Use();
  absl::StatusOr<Grads> FlowBack(const Outputs& targets, const Outputs& sources, const TapeGradientOptions& options);

  const Scope scope_;
  Graph* const graph_;
  const TapeOptions options_;
  std::vector<Interval> intervals_;
  // From which node id on. Variables by what their VarHandleOp gives.
  absl::flat_hash_map<Output, int> watched_;
  bool used_ = false;
};

}  // namespace nabla

#endif  // NABLA_GRADIENTS_TAPE_H_

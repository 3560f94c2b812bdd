// What a backward loop reads of the loop that it differentiates.
//
// A value of the forward loop's body must be there again in the backward loop's iteration of the same trip. Most are
// saved: the forward loop pushes them on a TensorList that is one more of its variables, and the backward loop, whose
// trips run in the opposite order, pops them off. Nothing is saved that is the same in every trip, that follows from
// the number of the trip, or that costs nothing to make again from other saved values; what a variable becomes is what
// it is in the next trip, and saved only once; and where the backward loop wants only the shape of a value, the shape
// is saved.
//
// The decision falls at the end, when all readers are known: until then a Placeholder stands for each value.
#ifndef NABLA_GRADIENTS_SAVED_VALUES_H_
#define NABLA_GRADIENTS_SAVED_VALUES_H_

#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "nabla/gradients/control_state.h"
#include "nabla/ops/loop_builder.h"

namespace nabla {

// Thread-compatible; requires the graph's lock.
class SavedValues {
 public:
  // Values of `frame` for the body of `backward`, whose current trip stands for the forward trip with the number
  // `trip`, a scalar int32 of that body counted from 0.
  SavedValues(ControlState* state, int frame, LoopBuilder* backward);

  void set_trip(Output trip) { trip_ = trip; }

  // `value` for the backward body; none if it is from around the loop, itself if from a loop inside it.
  absl::StatusOr<Output> Read(Output value);
  // Replaces all placeholders.
  absl::Status Resolve();

 private:
  // What a value follows from, from less to more.
  enum class Origin { kInvariants, kTrip, kMore };
  absl::StatusOr<Output> ReadNow(Output value);
  // The tensor in the body that `value` is another name of.
  Output BehindAliases(Output value) const;
  const LoopVariable* VariableOf(Output value) const;
  Origin OriginOf(Output value);
  absl::optional<Origin> KnownOrigin(Output value) const;
  // Whether making `value` again from its op's inputs is better than saving it.
  bool IsFree(Output value);
  Output Rebuild(Output value);
  // The variable that becomes `value` at the end of the trip; nullptr if there is none, or `value` is one itself.
  const LoopVariable* NextOf(Output value) const;
  // That value: what the variable was in the trip after, which the backward loop has seen just before.
  absl::StatusOr<Output> CarryOver(const LoopVariable& variable);
  absl::StatusOr<Output> SaveAndPop(Output value);
  // Replaces readers of the placeholder that want its shape only; false if there are others.
  absl::StatusOr<bool> ResolveShapeOnly(Output value, Output placeholder);

  ControlState* state_;
  int frame_;
  LoopBuilder* backward_;
  Output trip_;
  absl::flat_hash_map<Output, const LoopVariable*> variables_;  // by Merge and by Switch output 1
  absl::flat_hash_map<Output, Output> read_;                    // value -> placeholder, or what replaced it
  std::vector<std::pair<Output, Output>> placeholders_;         // (value, placeholder)
  absl::flat_hash_map<const Node*, Origin> origins_;
};

}  // namespace nabla

#endif  // NABLA_GRADIENTS_SAVED_VALUES_H_

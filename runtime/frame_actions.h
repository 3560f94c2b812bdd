// Between a graph with control flow and its program: what happens, in order, and who reads which slot.
//
// frame_planner.h finds the actions, EmitFrameProgram makes instructions of them once all readers are known.
#ifndef NABLA_RUNTIME_FRAME_ACTIONS_H_
#define NABLA_RUNTIME_FRAME_ACTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "nabla/runtime/frame_program.h"
#include "nabla/runtime/guards.h"
#include "nabla/runtime/plan.h"

namespace nabla {

struct FrameAction {
  enum class Kind : uint8_t {
    kStep,   // step a
    kTest,   // flag a = source
    kSet,    // flag a = b
    kMove,   // slot a = source
    kKeep,   // nothing, but that reads count
    kCheck,  // fails with `node` unless `required` holds
    kBegin,  // of loop a, skipped as a whole unless `guard` holds
    kHead,   // of loop a's iterations, after its variables have their initial values
    kTail,   // of loop a: what follows leads from one iteration to the next
    kJump,   // back to the head of loop a
    kEnd,    // of loop a
  };
  Kind kind;
  GuardId guard = kUnguarded;
  int32_t a = 0;
  int32_t b = 0;
  int32_t source = 0;
  GuardId required = kUnguarded;
  const Node* node = nullptr;
  // Into `waits`: what must have happened before besides the writing of what it reads.
  int32_t first_wait = 0;
  int32_t num_waits = 0;
};

// An action that reads a slot.
struct SlotRead {
  int32_t action = 0;          // index
  int32_t input = -1;          // of a step that reads it once, which may write over it if it is the last
  GuardId guard = kUnguarded;  // under which it happens
  bool repeated = false;       // by a loop inside, trip after trip; `action` is that loop's end
};

struct SlotUse {
  int32_t written = 0;               // index of the last action that writes it
  GuardId write_guard = kUnguarded;  // of the writing
  int32_t loop_end = -1;             // of a loop variable's slot: the action that ends its loop
  bool is_feed = false;              // the caller's: not to be written over
  bool is_inline = false;            // a small tensor without a buffer: nothing to give back
  std::vector<SlotRead> reads;
};

struct FrameActions {
  std::vector<FrameAction> actions;
  std::vector<int32_t> waits;  // indices of actions; none if one thread will run the program
  std::vector<SlotUse> slots;
  std::vector<GuardId> fetch_guards;
  std::vector<std::string> fetch_names;
  GuardTable guards;
};

// The program, with regions if `parallel`. Sets exclusive inputs and releases of `steps` (whose releases go to
// `releases`); `sources` are the plan's input_sources.
FrameProgram EmitFrameProgram(FrameActions actions, bool parallel, const std::vector<int32_t>& sources,
                              std::vector<Plan::Step>* steps, std::vector<int32_t>* releases);

}  // namespace nabla

#endif  // NABLA_RUNTIME_FRAME_ACTIONS_H_

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "nabla/runtime/cost.h"
#include "nabla/runtime/frame_actions.h"
#include "nabla/runtime/frame_regions.h"

namespace nabla {
namespace {

// So many later readers are looked at to see whether all of them are in other branches.
constexpr size_t kMaxLaterReads = 16;

using Op = FrameProgram::Op;
using Kind = FrameAction::Kind;

class Emitter {
 public:
  Emitter(FrameActions actions, const std::vector<int32_t>& sources, std::vector<Plan::Step>* steps,
          std::vector<int32_t>* releases)
      : in_(std::move(actions)),
        sources_(sources),
        steps_(*steps),
        releases_(*releases),
        takes_(in_.actions.size()),
        clears_(in_.actions.size()),
        step_releases_(steps->size()) {}

  FrameProgram Run(bool parallel) {
    for (size_t slot = 0; slot < in_.slots.size(); ++slot) FindLastReads(static_cast<int32_t>(slot));
    if (parallel) {
      const ActionAccesses accesses = Accesses();
      regions_ = FindRegions(in_, accesses, Costs());
      for (FrameRegion& region : regions_) EndLives(accesses, &region);
    }
    for (size_t i = 0; i < steps_.size(); ++i) {
      steps_[i].first_release = static_cast<int32_t>(releases_.size());
      steps_[i].num_releases = static_cast<int32_t>(step_releases_[i].size());
      releases_.insert(releases_.end(), step_releases_[i].begin(), step_releases_[i].end());
    }
    for (size_t i = 0; i < in_.actions.size(); ++i) {
      CutTasks(static_cast<int32_t>(i));
      EmitAction(in_.actions[i], takes_[i]);
      if (clears_[i].empty()) continue;
      Guard(kUnguarded);
      for (const int32_t slot : clears_[i]) Emit(Op::kClear, slot);
    }
    CutTasks(static_cast<int32_t>(in_.actions.size()));
    Guard(kUnguarded);
    Emit(Op::kEnd);
    for (const GuardId guard : in_.fetch_guards) {
      out_.fetch_guards.push_back(guard == kUnguarded ? FrameProgram::kAlways : ProgramGuard(guard));
    }
    out_.fetch_names = std::move(in_.fetch_names);
    out_.num_flags = in_.guards.num_flags();
    return std::move(out_);
  }

 private:
  // Nobody reads the slot after read i, if that one happens.
  bool IsLast(const std::vector<SlotRead>& reads, size_t i) const {
    if (reads[i].repeated || reads.size() - i > kMaxLaterReads) return false;
    for (size_t j = i + 1; j < reads.size(); ++j) {
      if (!in_.guards.Contradict(reads[i].guard, reads[j].guard)) return false;
    }
    return true;
  }

  void FindLastReads(int32_t slot) {
    SlotUse& use = in_.slots[slot];
    std::vector<SlotRead>& reads = use.reads;
    const auto end = static_cast<int32_t>(in_.actions.size());
    std::stable_sort(reads.begin(), reads.end(),
                     [](const SlotRead& a, const SlotRead& b) { return a.action < b.action; });
    bool cleared = false;  // in any case
    for (size_t i = 0; i < reads.size() && !use.is_feed; ++i) {
      const SlotRead& read = reads[i];
      if (read.action == end || !IsLast(reads, i)) continue;
      const FrameAction& action = in_.actions[read.action];
      if (action.kind == Kind::kStep) {
        if (read.input >= 0 && read.input < 64) steps_[action.a].exclusive_inputs |= uint64_t{1} << read.input;
        if (!use.is_inline) step_releases_[action.a].push_back(slot);
      } else if (action.kind == Kind::kMove) {
        takes_[read.action] = true;
      } else {
        continue;
      }
      cleared = i + 1 == reads.size() && in_.guards.Implies(use.write_guard, read.guard);
    }
    const int32_t last = reads.empty() ? use.written : reads.back().action;
    // What is fetched goes to the caller.
    if (last == end || use.is_inline || (cleared && use.loop_end < 0)) return;
    clears_[std::max(last, use.loop_end)].push_back(slot);
  }

  // That an action is the last to read a slot, and so may write over it or must clear it, counts as reading here: see
  // EndLives.
  ActionAccesses Accesses() const {
    ActionAccesses result;
    const auto num_slots = static_cast<int32_t>(in_.slots.size());
    const auto add = [&](int32_t number, bool changes) { result.accesses.push_back(number * 2 + (changes ? 1 : 0)); };
    const auto guard = [&](GuardId id) {
      for (const int32_t literal : in_.guards.literals(id)) add(num_slots + literal / 2, false);
    };
    for (size_t i = 0; i < in_.actions.size(); ++i) {
      result.first.push_back(static_cast<int32_t>(result.accesses.size()));
      const FrameAction& action = in_.actions[i];
      guard(action.guard);
      guard(action.required);
      if (action.kind == Kind::kStep) {
        const Plan::Step& step = steps_[action.a];
        for (int j = 0; j < step.num_inputs; ++j) {
          const int32_t source = sources_[step.first_input + j];
          if (source >= 0) add(source, false);
        }
        for (int j = 0; j < step.num_outputs; ++j) add(step.first_output + j, true);
      } else if (action.kind == Kind::kTest || action.kind == Kind::kMove) {
        if (action.source >= 0) add(action.source, false);
        add(action.kind == Kind::kTest ? num_slots + action.a : action.a, true);
      } else if (action.kind == Kind::kSet) {
        add(num_slots + action.a, true);
      }
      for (const int32_t slot : clears_[i]) add(slot, false);
    }
    result.first.push_back(static_cast<int32_t>(result.accesses.size()));
    return result;
  }

  // By slot, the tasks that touch it, in order.
  using Touching = absl::flat_hash_map<int32_t, FrameRegion::Tasks>;

  Touching FindTouching(const ActionAccesses& accesses, const FrameRegion& region) const {
    const auto num_slots = static_cast<int32_t>(in_.slots.size());
    Touching touching;
    for (size_t t = 0; t < region.first.size(); ++t) {
      for (int32_t i = accesses.first[region.first[t]]; i < accesses.first[region.EndOf(t)]; ++i) {
        const int32_t slot = accesses.accesses[i] / 2;
        if (slot >= num_slots) continue;
        FrameRegion::Tasks& tasks = touching[slot];
        if (tasks.empty() || tasks.back() != static_cast<int32_t>(t)) tasks.push_back(static_cast<int32_t>(t));
      }
    }
    return touching;
  }

  // To write over a list, where another task may still be at it, is to copy all of it: in a loop, as many times as it
  // is long. So what writes waits for what reads.
  void OrderLists(const Touching& touching, FrameRegion* region) const {
    for (size_t t = 0; t < region->first.size(); ++t) {
      const FrameAction& action = in_.actions[region->first[t]];
      if (action.kind != Kind::kStep) continue;
      const Plan::Step& step = steps_[action.a];
      for (int j = 0; j < std::min(step.num_inputs, 64); ++j) {
        if ((step.exclusive_inputs >> j & 1) == 0 || BaseDType(step.node->input(j).dtype()) != DType::kVariant)
          continue;
        for (const int32_t other : touching.at(sources_[step.first_input + j])) {
          if (other >= static_cast<int32_t>(t)) break;
          if (in_.actions[region->first[other]].kind == Kind::kStep) region->Wait(t, other);
        }
      }
    }
  }

  // The slots whose tensors one action of a region is the last to read while other tasks may still be at it: a task of
  // its own clears them, when all are done.
  void EndLives(const ActionAccesses& accesses, FrameRegion* region) {
    const Touching touching = FindTouching(accesses, *region);
    OrderLists(touching, region);
    absl::flat_hash_set<std::pair<int32_t, GuardId>> cleared;
    absl::flat_hash_map<int32_t, int32_t> last_clear;  // of a slot
    for (size_t t = 0; t < region->first.size(); ++t) {
      const auto shared = [&](int32_t slot) {
        const FrameRegion::Tasks& tasks = touching.at(slot);
        return std::any_of(tasks.begin(), tasks.end(),
                           [&](int32_t other) { return !region->InOrder(other, static_cast<int32_t>(t)); });
      };
      const auto clear = [&](int32_t slot, GuardId guard) {
        if (!cleared.emplace(slot, guard).second) return;
        FrameRegion::Tasks after = touching.at(slot);
        // Those of one slot under several guards must not meet: each waits for the one before.
        if (const auto previous = last_clear.find(slot); previous != last_clear.end()) {
          after.push_back(previous->second);
        }
        last_clear[slot] = static_cast<int32_t>(region->before.size());
        region->clears.emplace_back(slot, guard);
        region->before.push_back(std::move(after));
        region->expensive.push_back(false);
      };
      const auto hand_over = [&](std::vector<int32_t>* slots, GuardId guard) {
        const auto kept = std::stable_partition(slots->begin(), slots->end(), [&](int32_t s) { return !shared(s); });
        std::for_each(kept, slots->end(), [&](int32_t slot) { clear(slot, guard); });
        slots->erase(kept, slots->end());
      };
      for (int32_t a = region->first[t]; a < region->EndOf(t); ++a) {
        const FrameAction& action = in_.actions[a];
        // A loop's own guards hold where it runs at all.
        const FrameAction& task = in_.actions[region->first[t]];
        const GuardId guard = task.kind == Kind::kBegin ? in_.guards.And(task.guard, action.guard) : action.guard;
        if (action.kind == Kind::kStep) {
          Plan::Step& step = steps_[action.a];
          for (int j = 0; j < std::min(step.num_inputs, 64); ++j) {
            const uint64_t bit = uint64_t{1} << j;
            if ((step.exclusive_inputs & bit) != 0 && shared(sources_[step.first_input + j])) {
              step.exclusive_inputs &= ~bit;
            }
          }
          hand_over(&step_releases_[action.a], guard);
        } else if (takes_[a] && shared(action.source)) {
          takes_[a] = false;
          clear(action.source, guard);
        }
        hand_over(&clears_[a], kUnguarded);
      }
    }
  }

  std::vector<double> Costs() const {
    constexpr double kOfInstruction = 5;
    std::vector<double> costs;
    for (const FrameAction& action : in_.actions) {
      costs.push_back(action.kind == Kind::kStep ? EstimateCost(*steps_[action.a].node) : kOfInstruction);
    }
    return costs;
  }

  // Before the instructions of an action: where a region or one of its tasks begins or ends.
  void CutTasks(int32_t action) {
    if (num_tasks_ > 0) {
      const FrameRegion& region = regions_[out_.regions.size() - 1];
      const bool ends = action == region.end;
      if (!ends && (num_tasks_ == region.first.size() || action != region.first[num_tasks_])) return;
      Guard(kUnguarded);
      Emit(Op::kTaskEnd);
      if (!ends) return BeginTask();
      for (const auto& [slot, guard] : region.clears) {
        BeginTask();
        Guard(guard);
        Emit(Op::kClear, slot);
        Guard(kUnguarded);
        Emit(Op::kTaskEnd);
      }
      num_tasks_ = 0;
      out_.instructions[region_start_].b = Here();
      out_.regions.back().graph = MakeTaskGraph(region);
    }
    if (out_.regions.size() == regions_.size() || action != regions_[out_.regions.size()].begin) return;
    Guard(kUnguarded);
    region_start_ = static_cast<int32_t>(out_.instructions.size());
    Emit(Op::kRegion, static_cast<int32_t>(out_.regions.size()));
    out_.regions.emplace_back();
    BeginTask();
  }

  void BeginTask() {
    ++num_tasks_;
    out_.regions.back().first.push_back(Here());
  }

  void EmitAction(const FrameAction& action, bool takes) {
    switch (action.kind) {
      case Kind::kStep:
        Guard(action.guard);
        if (!out_.instructions.empty() && !labelled_) {
          FrameProgram::Instruction& last = out_.instructions.back();
          if (last.op == Op::kRun && last.b == action.a) {
            ++last.b;
            return;
          }
        }
        return Emit(Op::kRun, action.a, action.a + 1);
      case Kind::kTest:
        Guard(action.guard);
        return Emit(Op::kTest, action.a, 0, action.source, action.node);
      case Kind::kSet:
        Guard(action.guard);
        return Emit(Op::kSet, action.a, action.b);
      case Kind::kMove:
        Guard(action.guard);
        return Emit(takes ? Op::kMove : Op::kCopy, action.a, 0, action.source);
      case Kind::kKeep:
      case Kind::kTail:
        return;
      case Kind::kCheck:
        Guard(action.guard);
        return Emit(Op::kCheck, ProgramGuard(action.required), 0, 0, action.node);
      case Kind::kBegin: {
        Guard(kUnguarded);
        Loop& loop = loops_[action.a];
        if (action.guard == kUnguarded) return;
        loop.skip = static_cast<int32_t>(out_.instructions.size());
        return Emit(Op::kSkipUnless, ProgramGuard(action.guard));
      }
      case Kind::kHead:
        Guard(kUnguarded);
        loops_[action.a].head = Here();
        return;
      case Kind::kJump:
        Guard(action.guard);
        return Emit(Op::kJump, 0, loops_[action.a].head);
      case Kind::kEnd: {
        Guard(kUnguarded);
        const Loop& loop = loops_[action.a];
        if (loop.skip >= 0) out_.instructions[loop.skip].b = Here();
        return;
      }
    }
  }

  // What follows runs under this guard.
  void Guard(GuardId guard) {
    if (guard == current_) return;
    if (current_ != kUnguarded) out_.instructions[open_skip_].b = Here();
    current_ = guard;
    if (guard == kUnguarded) return;
    open_skip_ = static_cast<int32_t>(out_.instructions.size());
    Emit(Op::kSkipUnless, ProgramGuard(guard));
  }

  // The next instruction's index, to which something jumps.
  int32_t Here() {
    labelled_ = true;
    return static_cast<int32_t>(out_.instructions.size());
  }

  void Emit(Op op, int32_t a = 0, int32_t b = 0, int32_t source = 0, const Node* node = nullptr) {
    labelled_ = false;
    out_.instructions.push_back({op, a, b, source, node});
  }

  int32_t ProgramGuard(GuardId guard) {
    const auto [it, added] = program_guards_.try_emplace(guard, static_cast<int32_t>(out_.guards.size()));
    if (added) {
      const GuardTable::Literals& literals = in_.guards.literals(guard);
      out_.guards.push_back({static_cast<int32_t>(out_.literals.size()), static_cast<int32_t>(literals.size())});
      for (const int32_t literal : literals) {
        out_.literals.push_back({literal / 2, static_cast<uint8_t>(literal % 2)});
      }
    }
    return it->second;
  }

  struct Loop {
    int32_t skip = -1;  // the instruction that skips it
    int32_t head = -1;
  };

  FrameActions in_;
  const std::vector<int32_t>& sources_;
  std::vector<Plan::Step>& steps_;
  std::vector<int32_t>& releases_;
  std::vector<bool> takes_;                          // by action, as are the clears
  std::vector<std::vector<int32_t>> clears_;         // slots that nobody reads any more, whether the action ran or not
  std::vector<std::vector<int32_t>> step_releases_;  // slots that nobody reads any more if the step ran
  absl::flat_hash_map<int32_t, Loop> loops_;
  absl::flat_hash_map<GuardId, int32_t> program_guards_;
  GuardId current_ = kUnguarded;
  int32_t open_skip_ = -1;
  bool labelled_ = false;
  std::vector<FrameRegion> regions_;
  int32_t region_start_ = -1;  // its instruction
  size_t num_tasks_ = 0;       // begun in the region that is open, or 0 if none is
  FrameProgram out_;
};

}  // namespace

FrameProgram EmitFrameProgram(FrameActions actions, bool parallel, const std::vector<int32_t>& sources,
                              std::vector<Plan::Step>* steps, std::vector<int32_t>* releases) {
  return Emitter(std::move(actions), sources, steps, releases).Run(parallel);
}

}  // namespace nabla

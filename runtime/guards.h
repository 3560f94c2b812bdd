// When a node is alive: a conjunction of literals "this predicate is true" and "that one is false".
//
// Guards are interned, so that equal ones have equal ids. A flag may stand for a guard that has grown long: what is
// said about guards below sees through such flags, a level at a time, so that what a deep nest of branches comes
// together to is as short as it was before. Thread-compatible.
#ifndef NABLA_RUNTIME_GUARDS_H_
#define NABLA_RUNTIME_GUARDS_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace nabla {

using GuardId = int32_t;
inline constexpr GuardId kUnguarded = 0;  // always alive

class GuardTable {
 public:
  // Literals as numbers: twice the flag, plus 1 if it must be set. Sorted, each once.
  using Literals = std::vector<int32_t>;

  GuardTable() { Intern({}); }

  static int32_t Literal(int32_t flag, bool value) { return flag * 2 + (value ? 1 : 0); }
  int32_t NewFlag() { return num_flags_++; }
  int32_t num_flags() const { return num_flags_; }
  // Whoever sets the flag sets it where `meaning` holds, and clears it elsewhere.
  void Define(int32_t flag, GuardId meaning) { meanings_.emplace(Literal(flag, true), meaning); }
  const Literals& literals(GuardId guard) const { return guards_[guard]; }
  bool Contains(GuardId guard, int32_t literal) const;

  GuardId Of(int32_t literal) { return Intern({literal}); }
  GuardId And(GuardId a, GuardId b);
  // What a asks for beyond b.
  GuardId Minus(GuardId a, GuardId b);
  // What both ask for.
  GuardId Common(GuardId a, GuardId b);
  // b holds wherever a does.
  bool Implies(GuardId a, GuardId b) const;
  // They cannot both hold.
  bool Contradict(GuardId a, GuardId b) const;
  // The guard that holds where any of these does, or -1 if it is no conjunction (as far as this finds): branches of one
  // predicate come together to what guarded the predicate.
  GuardId Or(std::vector<GuardId> guards);

 private:
  GuardId Intern(Literals literals);
  // Replaces, in one of them, the newest flag in which they differ by its meaning; false if there is none.
  bool WriteOut(Literals* a, Literals* b) const;
  // The guard that holds where either does, or -1.
  GuardId OrTwo(GuardId a, GuardId b);

  std::vector<Literals> guards_;
  absl::flat_hash_map<Literals, GuardId> ids_;
  absl::flat_hash_map<int32_t, GuardId> meanings_;  // by literal
  int32_t num_flags_ = 0;
};

}  // namespace nabla

#endif  // NABLA_RUNTIME_GUARDS_H_

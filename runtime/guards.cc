#include "nabla/runtime/guards.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace nabla {
namespace {

// Or looks at pairs of so many.
constexpr size_t kMaxAlternatives = 64;

}  // namespace

GuardId GuardTable::Intern(Literals literals) {
  const auto [it, added] = ids_.try_emplace(std::move(literals), static_cast<GuardId>(guards_.size()));
  if (added) guards_.push_back(it->first);
  return it->second;
}

bool GuardTable::Contains(GuardId guard, int32_t literal) const {
  return std::binary_search(guards_[guard].begin(), guards_[guard].end(), literal);
}

GuardId GuardTable::And(GuardId a, GuardId b) {
  if (a == b || b == kUnguarded) return a;
  if (a == kUnguarded) return b;
  Literals both;
  std::set_union(guards_[a].begin(), guards_[a].end(), guards_[b].begin(), guards_[b].end(), std::back_inserter(both));
  return Intern(std::move(both));
}

GuardId GuardTable::Minus(GuardId a, GuardId b) {
  if (a == kUnguarded || b == kUnguarded) return a;
  Literals rest;
  std::set_difference(guards_[a].begin(), guards_[a].end(), guards_[b].begin(), guards_[b].end(),
                      std::back_inserter(rest));
  return Intern(std::move(rest));
}

GuardId GuardTable::Common(GuardId a, GuardId b) {
  Literals common;
  std::set_intersection(guards_[a].begin(), guards_[a].end(), guards_[b].begin(), guards_[b].end(),
                        std::back_inserter(common));
  return Intern(std::move(common));
}

bool GuardTable::Implies(GuardId a, GuardId b) const {
  return std::includes(guards_[a].begin(), guards_[a].end(), guards_[b].begin(), guards_[b].end());
}

bool GuardTable::Contradict(GuardId a, GuardId b) const {
  for (const int32_t literal : guards_[a]) {
    if (Contains(b, literal ^ 1)) return true;
  }
  return false;
}

GuardId GuardTable::Or(std::vector<GuardId> guards) {
  if (guards.size() > kMaxAlternatives) return -1;
  // Joins pairs until nothing changes: {C, p} and {C, not p} to C, and a guard with one that it implies to the latter.
  for (size_t i = 0; i < guards.size();) {
    bool joined = false;
    for (size_t j = 0; j < guards.size() && !joined; ++j) {
      if (i == j) continue;
      if (Implies(guards[i], guards[j])) {
        joined = true;
      } else if (guards_[guards[i]].size() == guards_[guards[j]].size()) {
        const GuardId common = Common(guards[i], guards[j]);
        if (guards_[common].size() + 1 == guards_[guards[i]].size() && Contradict(guards[i], guards[j])) {
          guards[j] = common;
          joined = true;
        }
      }
    }
    if (joined) {
      guards.erase(guards.begin() + i);
      i = 0;
    } else {
      ++i;
    }
  }
  return guards.size() == 1 ? guards[0] : -1;
}

}  // namespace nabla

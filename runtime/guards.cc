#include "nabla/runtime/guards.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace nabla {
namespace {

// Or looks at pairs of so many.
constexpr size_t kMaxAlternatives = 64;
// So many flags are written out to compare two guards: one, where branches are properly nested.
constexpr int kMaxLevels = 16;

using Literals = GuardTable::Literals;

bool Includes(const Literals& all, const Literals& some) {
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

bool HaveOpposites(const Literals& a, const Literals& b) {
  return std::any_of(a.begin(), a.end(),
                     [&b](int32_t literal) { return std::binary_search(b.begin(), b.end(), literal ^ 1); });
}

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
  Literals first = guards_[a], second = guards_[b];
  for (int i = 0; i < kMaxLevels && !Includes(first, second) && WriteOut(&first, &second);) ++i;
  if (!Includes(first, second)) {
    first = guards_[a];
    second = guards_[b];
  }
  Literals rest;
  std::set_difference(first.begin(), first.end(), second.begin(), second.end(), std::back_inserter(rest));
  return Intern(std::move(rest));
}

GuardId GuardTable::Common(GuardId a, GuardId b) {
  Literals common;
  std::set_intersection(guards_[a].begin(), guards_[a].end(), guards_[b].begin(), guards_[b].end(),
                        std::back_inserter(common));
  return Intern(std::move(common));
}

bool GuardTable::WriteOut(Literals* a, Literals* b) const {
  if (meanings_.empty()) return false;
  Literals differing;
  std::set_symmetric_difference(a->begin(), a->end(), b->begin(), b->end(), std::back_inserter(differing));
  // A flag is newer than what it stands for, so this goes down one level after the other.
  for (auto literal = differing.rbegin(); literal != differing.rend(); ++literal) {
    const auto meaning = meanings_.find(*literal);
    if (meaning == meanings_.end()) continue;
    Literals* const guard = std::binary_search(a->begin(), a->end(), *literal) ? a : b;
    guard->erase(std::lower_bound(guard->begin(), guard->end(), *literal));
    const Literals rest = std::move(*guard);
    const Literals& parts = guards_[meaning->second];
    guard->clear();
    std::set_union(rest.begin(), rest.end(), parts.begin(), parts.end(), std::back_inserter(*guard));
    return true;
  }
  return false;
}

bool GuardTable::Implies(GuardId a, GuardId b) const {
  if (Includes(guards_[a], guards_[b])) return true;
  Literals first = guards_[a], second = guards_[b];
  for (int i = 0; i < kMaxLevels && WriteOut(&first, &second); ++i) {
    if (Includes(first, second)) return true;
  }
  return false;
}

bool GuardTable::Contradict(GuardId a, GuardId b) const {
  if (HaveOpposites(guards_[a], guards_[b])) return true;
  Literals first = guards_[a], second = guards_[b];
  for (int i = 0; i < kMaxLevels && WriteOut(&first, &second); ++i) {
    if (HaveOpposites(first, second)) return true;
  }
  return false;
}

GuardId GuardTable::OrTwo(GuardId a, GuardId b) {
  Literals first = guards_[a], second = guards_[b];
  for (int i = 0; i < kMaxLevels; ++i) {
    if (Includes(first, second)) return b;
    if (Includes(second, first)) return a;
    if (first.size() == second.size()) {
      Literals common;
      std::set_intersection(first.begin(), first.end(), second.begin(), second.end(), std::back_inserter(common));
      if (common.size() + 1 == first.size() && HaveOpposites(first, second)) return Intern(std::move(common));
    }
    if (!WriteOut(&first, &second)) break;
  }
  return -1;
}

GuardId GuardTable::Or(std::vector<GuardId> guards) {
  if (guards.size() > kMaxAlternatives) return -1;
  // Joins pairs until nothing changes: {C, p} and {C, not p} to C, and a guard with one that it implies to the latter.
  for (size_t i = 0; i < guards.size();) {
    bool joined = false;
    for (size_t j = 0; j < guards.size() && !joined; ++j) {
      if (i == j) continue;
      const GuardId either = OrTwo(guards[i], guards[j]);
      joined = either >= 0;
      if (joined) guards[j] = either;
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

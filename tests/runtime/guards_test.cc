#include "nabla/runtime/guards.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nabla {
namespace {

GuardId If(GuardTable& table, int32_t flag, bool value) { return table.Of(GuardTable::Literal(flag, value)); }

TEST(GuardsTest, BranchesComeTogether) {
  GuardTable table;
  const int32_t p = table.NewFlag(), q = table.NewFlag();
  const GuardId yes = If(table, p, true), no = If(table, p, false);
  EXPECT_EQ(table.Or({yes, no}), kUnguarded);
  EXPECT_TRUE(table.Contradict(yes, no));
  EXPECT_FALSE(table.Implies(yes, no));
  const GuardId both = table.And(yes, If(table, q, true));
  EXPECT_TRUE(table.Implies(both, yes));
  EXPECT_EQ(table.Or({both, no, table.And(yes, If(table, q, false))}), kUnguarded);
  EXPECT_EQ(table.Or({both, yes}), yes);
  EXPECT_EQ(table.Or({yes, If(table, q, true)}), -1);
  EXPECT_EQ(table.Minus(both, yes), If(table, q, true));
  EXPECT_EQ(table.Minus(yes, both), kUnguarded);
}

// A guard of more than `limit` literals is given a flag, as a planner does; on the way up, each pair of branches comes
// together to just what their predicate was guarded by.
TEST(GuardsTest, ADeepNestOfBranchesSimplifiesCompletely) {
  constexpr size_t kLimit = 4;
  GuardTable table;
  const auto limit = [&](GuardId guard) {
    if (table.literals(guard).size() <= kLimit) return guard;
    const int32_t flag = table.NewFlag();
    table.Define(flag, guard);
    return If(table, flag, true);
  };
  std::vector<GuardId> outside, inside, beside;
  GuardId guard = kUnguarded;
  for (int depth = 0; depth < 1000; ++depth) {
    outside.push_back(guard);
    const int32_t p = table.NewFlag();
    beside.push_back(limit(table.And(guard, If(table, p, false))));
    inside.push_back(guard = limit(table.And(guard, If(table, p, true))));
  }
  for (int depth = 999; depth >= 0; --depth) {
    EXPECT_TRUE(table.Contradict(inside[depth], beside[depth])) << depth;
    EXPECT_TRUE(table.Implies(inside[depth], outside[depth])) << depth;
    EXPECT_FALSE(table.Implies(outside[depth], inside[depth])) << depth;
    guard = table.Or({guard, beside[depth]});
    ASSERT_GE(guard, 0) << depth;
    EXPECT_TRUE(table.Implies(guard, outside[depth]) && table.Implies(outside[depth], guard)) << depth;
  }
  EXPECT_EQ(guard, kUnguarded);
}

TEST(GuardsTest, WhatAFlagStandsForCanBeTakenAway) {
  GuardTable table;
  const int32_t p = table.NewFlag(), q = table.NewFlag(), r = table.NewFlag();
  const GuardId meaning = table.And(If(table, p, true), If(table, q, false));
  const int32_t flag = table.NewFlag();
  table.Define(flag, meaning);
  const GuardId guard = table.And(If(table, flag, true), If(table, r, true));
  EXPECT_TRUE(table.Implies(guard, If(table, q, false)));
  EXPECT_EQ(table.Minus(guard, If(table, q, false)), table.And(If(table, p, true), If(table, r, true)));
  EXPECT_EQ(table.Minus(guard, If(table, p, false)), guard);
}

}  // namespace
}  // namespace nabla

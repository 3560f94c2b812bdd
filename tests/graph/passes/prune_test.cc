#include "nabla/graph/passes/prune.h"

#include "gmock/gmock.h"
#include "nabla/tests/graph/passes/pass_fixture.h"

namespace nabla {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

using PruneTest = PassTest;

TEST_F(PruneTest, KeepsFetchesTargetsAndTheirSources) {
  const Output x = Placeholder("x", Shape({2}));
  const Output a = Call("a", "Neg", {x});
  const Output b = Call("b", "Neg", {a});
  const Output c = Call("c", "Neg", {a});
  const Output d = Call("d", "Neg", {c});
  Call("unused", "Neg", {d});
  compilation_.fetches = {b};
  compilation_.targets = {d.node()};
  Apply(Prune);
  EXPECT_THAT(Names(), UnorderedElementsAre("x", "a", "b", "c", "d"));
  compilation_.targets.clear();
  Apply(Prune);
  EXPECT_THAT(Names(), UnorderedElementsAre("x", "a", "b"));
}

TEST_F(PruneTest, KeepsStatefulNodesAndWhatTheyWaitFor) {
  const Output x = Placeholder("x", Shape({2}));
  const Output waited = Call("waited", "Neg", {x});
  const Output source = Call("source", "Neg", {x});
  testing::Call(scope_.WithControl({waited.node()}).Named("count"), "TestCount", {source});
  Call("unused", "Neg", {x});
  Apply(Prune);
  EXPECT_THAT(Names(), UnorderedElementsAre("x", "waited", "source", "count"));
}

TEST_F(PruneTest, ToleratesFedFetches) {
  Placeholder("x", Shape({2}));
  compilation_.fetches = {Output()};
  compilation_.feeds = {Output()};
  Apply(Prune);
  EXPECT_TRUE(Names().empty());
}

TEST_F(PruneTest, NothingIsNeededOfAnEmptyGraph) {
  Apply(Prune);
  EXPECT_EQ(graph_.num_nodes(), 0);
}

}  // namespace
}  // namespace nabla

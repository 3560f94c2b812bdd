#include "nabla/graph/passes/drop_identities.h"

#include "gmock/gmock.h"
#include "nabla/tests/graph/passes/pass_fixture.h"

namespace nabla {
namespace {

using ::nabla::testing::Attrs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

using DropIdentitiesTest = PassTest;

TEST_F(DropIdentitiesTest, ReadersReadTheSource) {
  const Output x = Placeholder("x", Shape({2}));
  const Output a = Call("a", "Identity", {x});
  const Output b = Call("b", "StopGradient", {a});
  const Output y = Call("y", "Add", {b, a});
  compilation_.fetches = {y, b, x};
  Apply(DropIdentities);
  EXPECT_EQ(y.node()->input(0), x);
  EXPECT_EQ(y.node()->input(1), x);
  EXPECT_EQ(compilation_.fetches[1], x);
}

TEST_F(DropIdentitiesTest, TargetsStay) {
  const Output x = Placeholder("x", Shape({2}));
  const Output a = Call("a", "Identity", {x});
  const Output y = Call("y", "Neg", {a});
  compilation_.fetches = {y};
  compilation_.targets = {a.node()};
  Apply(DropIdentities);
  EXPECT_EQ(y.node()->input(0), a);
}

TEST_F(DropIdentitiesTest, WhoReadTheIdentityWaitsForWhatItWaitedFor) {
  const Output x = Placeholder("x", Shape({2}));
  Node* effect = Call("effect", "TestCount", {x}).node();
  const Output a = testing::Call(scope_.WithControl({effect}), "Identity", {x});
  const Output y = Call("y", "Neg", {a});
  Apply(DropIdentities);
  EXPECT_EQ(y.node()->input(0), x);
  EXPECT_THAT(ControlNames(y.node()), ElementsAre("effect"));
}

TEST_F(DropIdentitiesTest, WhoWaitedForTheIdentityWaitsForItsSource) {
  const Output x = Placeholder("x", Shape({2}));
  Node* effect = Call("effect", "TestCount", {x}).node();
  const Output source = Call("source", "TestCount", {x});
  const Output a = testing::Call(scope_.WithControl({effect}), "Identity", {source});
  Node* waiting = testing::CallNode(scope_.WithControl({a.node()}), "TestCount", {x});
  Apply(DropIdentities);
  EXPECT_THAT(ControlNames(waiting), UnorderedElementsAre("effect", "source"));
}

TEST_F(DropIdentitiesTest, NobodyWaitsForAConstant) {
  const Output c = Constant("c", Tensor::Vector<float>({1, 2}));
  const Output a = Call("a", "Identity", {c});
  Node* waiting = testing::CallNode(scope_.WithControl({a.node()}), "TestCount", {c});
  Apply(DropIdentities);
  EXPECT_THAT(ControlNames(waiting), IsEmpty());
}

TEST_F(DropIdentitiesTest, StaysWhereEdgesWouldMultiply) {
  const Output x = Placeholder("x", Shape({2}));
  std::vector<Node*> effects;
  for (int i = 0; i < 5; ++i) effects.push_back(testing::CallNode(scope_, "TestCount", {x}));
  const Output a = testing::Call(scope_.WithControl(effects), "Identity", {x});
  Outputs ys;
  for (int i = 0; i < 5; ++i) ys.push_back(testing::Call(scope_, "Neg", {a}));
  Apply(DropIdentities);
  for (const Output& y : ys) EXPECT_EQ(y.node()->input(0), a);
}

TEST_F(DropIdentitiesTest, AFetchedIdentityThatWaitsStays) {
  const Output x = Placeholder("x", Shape({2}));
  Node* effect = Call("effect", "TestCount", {x}).node();
  const Output a = testing::Call(scope_.WithControl({effect}), "Identity", {x});
  compilation_.fetches = {a};
  Apply(DropIdentities);
  EXPECT_EQ(compilation_.fetches[0], a);
}

TEST_F(DropIdentitiesTest, ReshapesToTheSameStaticShape) {
  const Output x = Placeholder("x", Shape({2, 3}));
  const Output same = Call("same", "Reshape", {x, Constant("s1", Tensor::Vector<int32_t>({2, 3}))});
  const Output inferred = Call("inferred", "Reshape", {same, Constant("s2", Tensor::Vector<int32_t>({-1, 3}))});
  const Output flat = Call("flat", "Reshape", {inferred, Constant("s3", Tensor::Vector<int32_t>({6}))});
  const Output unknown = Placeholder("unknown", Shape({kUnknownDim, 3}));
  const Output kept = Call("kept", "Reshape", {unknown, Constant("s4", Tensor::Vector<int32_t>({-1, 3}))});
  compilation_.fetches = {same, flat, kept};
  Apply(DropIdentities);
  EXPECT_EQ(compilation_.fetches[0], x);
  EXPECT_EQ(compilation_.fetches[1], flat);
  EXPECT_EQ(flat.node()->input(0), x);
  EXPECT_EQ(compilation_.fetches[2], kept);
}

TEST_F(DropIdentitiesTest, CastsToTheSameTypeAndTransposesThatMoveNothing) {
  const Output x = Placeholder("x", Shape({2, 3}));
  const Output cast = Call("cast", "Cast", {x}, Attrs({{"DstT", DType::kFloat}}));
  const Output real_cast = Call("real_cast", "Cast", {x}, Attrs({{"DstT", DType::kInt32}}));
  const Output still = Call("still", "Transpose", {x, Constant("p1", Tensor::Vector<int32_t>({0, 1}))});
  const Output moved = Call("moved", "Transpose", {x, Constant("p2", Tensor::Vector<int32_t>({1, 0}))});
  const Output sum = Call("sum", "AddN", {x});
  const Output sum2 = Call("sum2", "AddN", {x, x});
  compilation_.fetches = {cast, real_cast, still, moved, sum, sum2};
  Apply(DropIdentities);
  EXPECT_THAT(compilation_.fetches, ElementsAre(x, real_cast, x, moved, x, sum2));
}

TEST_F(DropIdentitiesTest, ControlEdgesOfABranchKeepTheirAnchor) {
  const Output x = Placeholder("x", Shape({2}));
  Node* branch = Call("branch", "Switch", {x, Constant("pred", Tensor::Scalar(true))}).node();
  const Output pivot = Call("pivot", "Identity", {branch->output(1)});
  const Output c = testing::Constant(scope_.WithControl({pivot.node()}), Tensor::Vector<float>({1, 2}));
  Apply(DropIdentities);
  EXPECT_THAT(ControlNames(c.node()), ElementsAre("pivot"));
}

}  // namespace
}  // namespace nabla

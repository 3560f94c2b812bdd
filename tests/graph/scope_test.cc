#include "nabla/graph/scope.h"

#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nabla/tests/graph/small_ops.h"

namespace nabla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Output Identity(const Scope& scope, const Input& x) { return NodeBuilder(scope, "Identity").Input(x).FinishOutput(); }

class ScopeTest : public ::testing::Test {
 protected:
  Graph graph_{&SmallOps()};
  Scope root_{&graph_};
  Output x_ = AddConst(graph_, "x", Tensor::Scalar(1.0f));
};

TEST_F(ScopeTest, NamesStandUnderTheirScope) {
  Scope layer = root_.Sub("layer");
  EXPECT_EQ(root_.name(), "");
  EXPECT_EQ(layer.name(), "layer");
  EXPECT_EQ(Identity(root_, x_).node()->name(), "Identity");
  EXPECT_EQ(Identity(layer, x_).node()->name(), "layer/Identity");
  EXPECT_EQ(Identity(layer, x_).node()->name(), "layer/Identity_1");
  EXPECT_EQ(layer.Sub("inner").name(), "layer/inner");
  EXPECT_EQ(layer.NodeName("y"), "layer/y");
  EXPECT_EQ(layer.Sub("").name(), "layer");
}

TEST_F(ScopeTest, ScopesAreUnique) {
  EXPECT_EQ(root_.Sub("layer").name(), "layer");
  EXPECT_EQ(root_.Sub("layer").name(), "layer_1");
  EXPECT_EQ(root_.Sub("Layer").name(), "Layer_2");
  EXPECT_EQ(root_.Sub("x").name(), "x_1");  // there is a node of that name
  EXPECT_EQ(root_.Absolute("layer").name(), "layer");
  EXPECT_EQ(root_.Absolute("layer/").Sub("a").name(), "layer/a");
  EXPECT_EQ(root_.Sub("layer").Absolute("").name(), "");
  // A node does not take a scope's name.
  EXPECT_EQ(Identity(root_.Named("layer"), x_).node()->name(), "layer_4");
}

TEST_F(ScopeTest, AChosenNameIsForOneNode) {
  Scope named = root_.Sub("layer").Named("act");
  EXPECT_EQ(Identity(named, x_).node()->name(), "layer/act");
  EXPECT_EQ(Identity(named, x_).node()->name(), "layer/Identity");
  EXPECT_EQ(Identity(root_.Absolute("layer").Named("act"), x_).node()->name(), "layer/act_1");
  // What else is said of the scope keeps the name.
  EXPECT_EQ(Identity(root_.Named("y").WithDevice("/cpu:0"), x_).node()->name(), "y");
}

TEST_F(ScopeTest, ControlDependenciesAddUp) {
  Node* a = NodeBuilder(root_.Named("a"), "NoOp").Finish();
  Node* b = NodeBuilder(root_.Named("b"), "NoOp").Finish();
  Scope both = root_.WithControl({a}).WithControl(std::vector<Node*>{b, a, nullptr});
  EXPECT_THAT(both.control(), ElementsAre(a, b));
  EXPECT_THAT(Identity(both.Sub("s"), x_).node()->control_inputs(), ElementsAre(a, b));
  EXPECT_THAT(Identity(both.WithoutControl(), x_).node()->control_inputs(), IsEmpty());
  EXPECT_THAT(Identity(root_.WithControl(std::vector<Output>{x_, Output()}), x_).node()->control_inputs(),
              ElementsAre(x_.node()));
  EXPECT_THAT(root_.control(), IsEmpty());
}

TEST_F(ScopeTest, DeviceColocationAndAttrs) {
  Scope cpu = root_.WithDevice("/cpu:0");
  Output y = Identity(cpu, x_);
  EXPECT_EQ(y.node()->device(), "/cpu:0");
  Scope beside = root_.WithColocation(y.node()).WithAttr("_mark", true);
  Node* node = Identity(beside, x_).node();
  EXPECT_EQ(node->device(), "/cpu:0");
  EXPECT_THAT(*node->attr<std::vector<std::string>>("_class"), ElementsAre("loc:@Identity"));
  EXPECT_TRUE(*node->attr<bool>("_mark"));
  EXPECT_EQ(Identity(beside.WithoutColocation(), x_).node()->attrs().Find("_class"), nullptr);
  EXPECT_FALSE(Identity(root_.WithAttr("mark", 1), x_));
  EXPECT_THAT(std::string(root_.status().message()), HasSubstr("has no attr 'mark'"));
}

TEST_F(ScopeTest, RelativesShareTheFirstError) {
  Scope child = root_.Sub("child").WithDevice("/cpu:0");
  EXPECT_TRUE(root_.ok());
  child.RecordError(absl::OkStatus());
  EXPECT_TRUE(root_.ok());
  child.RecordError(absl::InvalidArgumentError("first"));
  root_.RecordError(absl::InternalError("second"));
  EXPECT_EQ(root_.status().message(), "first");
  EXPECT_EQ(child.status().message(), "first");
  EXPECT_TRUE(Scope(&graph_).ok());  // another root
  EXPECT_TRUE(graph_.status().ok());
}

TEST_F(ScopeTest, MalformedNamesAreErrors) {
  root_.Sub("a b");
  EXPECT_THAT(std::string(root_.status().message()), HasSubstr("malformed scope name"));
  Scope other(&graph_);
  EXPECT_FALSE(Identity(other.Named("a:0"), x_));
  EXPECT_THAT(std::string(other.status().message()), HasSubstr("malformed name"));
}

TEST_F(ScopeTest, TheCurrentScopeIsTheInnermostOfThisGraphAndThread) {
  EXPECT_EQ(Scope::Current(&graph_).name(), "");
  Graph other(&SmallOps());
  {
    ScopeGuard outer(root_.Sub("outer"));
    EXPECT_EQ(Scope::Current(&graph_).name(), "outer");
    {
      ScopeGuard elsewhere{Scope(&other).Sub("elsewhere")};
      EXPECT_EQ(Scope::Current(&graph_).name(), "outer");
      EXPECT_EQ(Scope::Current(&other).name(), "elsewhere");
      ScopeGuard inner(root_.Sub("inner"));
      EXPECT_EQ(Scope::Current(&graph_).name(), "inner");
      std::thread([this] { EXPECT_EQ(Scope::Current(&graph_).name(), ""); }).join();
    }
    EXPECT_EQ(Scope::Current(&graph_).name(), "outer");
  }
  Scope::Current(&graph_).RecordError(absl::InvalidArgumentError("lost?"));
  EXPECT_EQ(graph_.status().message(), "lost?");
  EXPECT_FALSE(Scope::Current(&graph_).ok());
  EXPECT_TRUE(root_.ok());
}

}  // namespace
}  // namespace nabla

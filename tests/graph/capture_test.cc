#include "nabla/graph/capture.h"

#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nabla/graph/scope.h"
#include "nabla/tests/graph/small_ops.h"

namespace nabla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Output Identity(const Scope& scope, const Input& x) { return NodeBuilder(scope, "Identity").Input(x).FinishOutput(); }

// A loop's way: what was not added inside comes in through an Identity, built in the scope around.
class SameGraph : public Capture {
 public:
  explicit SameGraph(Scope outside) : outside_(std::move(outside)) {}
  absl::StatusOr<Output> CaptureInput(Output source) override {
    if (inside_.contains(source.node())) return source;
    Output& carried = carried_[source];
    if (!carried) {
      carried = Identity(outside_, source);
      inside_.insert(carried.node());
    }
    return carried;
  }
  absl::StatusOr<Node*> CaptureControl(Node* source) override {
    if (inside_.contains(source)) return source;
    waited_for.push_back(source);
    return nullptr;
  }
  void Added(Node* node, bool) override { inside_.insert(node); }

  std::vector<Node*> waited_for;

 private:
  Scope outside_;
  absl::flat_hash_set<Node*> inside_;
  absl::flat_hash_map<Output, Output> carried_;
};

// A function's way: a tensor of the graph around becomes an argument.
class OtherGraph : public Capture {
 public:
  OtherGraph(const Graph* outside, Graph* body) : outside_(outside), body_(body) {}
  absl::StatusOr<Output> CaptureInput(Output source) override {
    if (source.graph() == body_) return source;
    if (source.graph() != outside_) return absl::InvalidArgumentError("comes from nowhere");
    Output& argument = arguments[source];
    if (!argument) {
      NodeDesc desc;
      desc.name = body_->UniqueName("captured");
      desc.op = "Placeholder";
      desc.attrs.Set("dtype", source.dtype());
      argument = (*body_->AddNode(std::move(desc)))->output(0);
    }
    return argument;
  }
  absl::StatusOr<Node*> CaptureControl(Node* source) override { return source->graph() == body_ ? source : nullptr; }
  bool Captures(const Graph* graph) const override { return graph == outside_; }

  absl::flat_hash_map<Output, Output> arguments;

 private:
  const Graph* outside_;
  Graph* body_;
};

class CaptureTest : public ::testing::Test {
 protected:
  Graph graph_{&SmallOps()};
  Scope root_{&graph_};
  Output x_ = AddConst(graph_, "x", Tensor::Scalar(1.0f));
};

TEST_F(CaptureTest, OperandsFromOutsideAreCarriedInOnce) {
  Scope body = root_.Sub("body").WithCapture(std::make_shared<SameGraph>(root_.Absolute("outside")));
  Output a = NodeBuilder(body.Named("a"), "Add").Input(x_).Input(x_).FinishOutput();
  Output b = NodeBuilder(body.Sub("deeper").Named("b"), "Add").Input(a).Input(2).FinishOutput();
  ASSERT_TRUE(root_.ok()) << root_.status();
  EXPECT_EQ(a.node()->input(0).node()->name(), "outside/Identity");
  EXPECT_EQ(a.node()->input(0), a.node()->input(1));
  EXPECT_EQ(b.node()->input(0), a);
  // The number's constant is inside, too: reading it does not carry it in.
  EXPECT_EQ(Identity(body, b.node()->input(1)).node()->input(0), b.node()->input(1));
}

TEST_F(CaptureTest, TheOutermostBodyIsAskedFirst) {
  Scope outer = root_.Sub("outer").WithCapture(std::make_shared<SameGraph>(root_.Absolute("into_outer")));
  Scope inner = outer.Sub("inner").WithCapture(std::make_shared<SameGraph>(outer.Absolute("into_inner")));
  Output y = Identity(inner.Named("y"), x_);
  ASSERT_TRUE(root_.ok()) << root_.status();
  Node* into_inner = y.node()->input(0).node();
  EXPECT_EQ(into_inner->name(), "into_inner/Identity");
  Node* into_outer = into_inner->input(0).node();
  EXPECT_EQ(into_outer->name(), "into_outer/Identity");
  EXPECT_EQ(into_outer->input(0), x_);
  // What is in the inner body is in the outer one.
  EXPECT_EQ(Identity(outer, y).node()->input(0), y);
}

TEST_F(CaptureTest, ControlInputsAreAskedAboutToo) {
  auto capture = std::make_shared<SameGraph>(root_);
  Scope body = root_.Sub("body").WithCapture(capture);
  Node* inside = NodeBuilder(body, "NoOp").Finish();
  Node* waiting = NodeBuilder(body.WithControl({x_.node(), inside}), "NoOp").Finish();
  EXPECT_THAT(waiting->control_inputs(), ElementsAre(inside));
  EXPECT_THAT(capture->waited_for, ElementsAre(x_.node()));
}

TEST_F(CaptureTest, ANameIsChosenAfterTheCaptureHasAddedItsNodes) {
  Scope body = root_.Sub("body").WithCapture(std::make_shared<SameGraph>(root_.Absolute("body")));
  Output y = Identity(body, x_);
  ASSERT_TRUE(root_.ok()) << root_.status();
  EXPECT_EQ(y.node()->name(), "body/Identity_1");
  EXPECT_EQ(y.node()->input(0).node()->name(), "body/Identity");
}

TEST_F(CaptureTest, TensorsOfAnotherGraph) {
  Graph body_graph(&SmallOps());
  auto capture = std::make_shared<OtherGraph>(&graph_, &body_graph);
  Scope body = Scope(&body_graph).WithCapture(capture);
  Output y = NodeBuilder(body, "Add").Input(x_).Input(1).FinishOutput();
  ASSERT_TRUE(y) << body.status();
  EXPECT_EQ(y.graph(), &body_graph);
  EXPECT_EQ(y.node()->input(0), capture->arguments[x_]);
  Graph stranger(&SmallOps());
  EXPECT_FALSE(Identity(body, AddConst(stranger, "s", Tensor::Scalar(1.0f))));
  EXPECT_THAT(std::string(body.status().message()), HasSubstr("op 'Identity'"));
  EXPECT_THAT(std::string(body.status().message()), HasSubstr("comes from nowhere"));
}

TEST_F(CaptureTest, TheCurrentScopeIsTheBodyThatCaptures) {
  Graph body_graph(&SmallOps());
  Graph stranger(&SmallOps());
  Scope body = Scope(&body_graph).WithCapture(std::make_shared<OtherGraph>(&graph_, &body_graph));
  ScopeGuard outside(root_.Sub("outside"));
  {
    ScopeGuard guard(body.Sub("inside"));
    EXPECT_EQ(Scope::Current(&graph_).graph(), &body_graph);
    EXPECT_EQ(Scope::Current(&body_graph).name(), "inside");
    EXPECT_EQ(Scope::Current(&stranger).graph(), &stranger);
  }
  EXPECT_EQ(Scope::Current(&graph_).name(), "outside");
}

}  // namespace
}  // namespace nabla

// The ops between xs and ys, compared with their definition on random graphs.
#include "nabla/gradients/between.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "nabla/ops/ops.h"

namespace nabla {
namespace {

// Nodes that edges lead to from `from`, forwards along tensors that can have gradients or backwards along all.
std::set<const Node*> Closure(const Graph& graph, const Outputs& from, bool forwards) {
  std::set<const Node*> closure;
  for (Output output : from) closure.insert(output.node());
  bool grown = true;
  while (grown) {
    grown = false;
    graph.ForEachNode([&](Node* node) {
      for (int i = 0; i < node->num_inputs(); ++i) {
        const Node* source = node->input(i).node();
        if (forwards) {
          if (!closure.count(source) || !IsBackpropagatable(node->input(i).dtype())) continue;
          grown |= closure.insert(node).second;
        } else if (closure.count(node)) {
          grown |= closure.insert(source).second;
        }
      }
    });
  }
  return closure;
}

// Those of `nodes` from which a path inside `nodes` leads to one of ys.
std::set<const Node*> LeadingTo(const std::set<const Node*>& nodes, const Outputs& ys) {
  std::set<const Node*> leading;
  std::vector<const Node*> stack;
  auto visit = [&](const Node* node) {
    if (nodes.count(node) && leading.insert(node).second) stack.push_back(node);
  };
  for (Output y : ys) visit(y.node());
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    for (int i = 0; i < node->num_inputs(); ++i) visit(node->input(i).node());
  }
  return leading;
}

class BetweenTest : public ::testing::TestWithParam<bool> {
 protected:
  static void SetUpTestSuite() { RegisterAllOps(); }
};

TEST_P(BetweenTest, RandomGraphs) {
  const bool redirect = GetParam();  // some inputs to later nodes, without making a cycle
  std::mt19937 random(7);
  for (int trial = 0; trial < 300; ++trial) {
    Graph graph;
    Scope scope(&graph);
    std::vector<Output> all = {ops::Const(scope, 1.0), ops::Const(scope, 2.0)};
    auto pick = [&] { return all[random() % all.size()]; };
    for (int i = 0; i < 30; ++i) {
      Output a = pick(), b = pick();
      Output integer = ops::Cast(scope, a, DType::kInt32);  // no gradient flows through it
      all.push_back(random() % 4 == 0 ? ops::Cast(scope, integer, DType::kFloat) : ops::AddV2(scope, a, b));
    }
    if (redirect) {
      for (int i = 0; i < 6; ++i) {
        Output early = pick();
        if (early.node()->num_inputs() != 2) continue;
        Output late = ops::Neg(scope, early.node()->input(0));
        ASSERT_TRUE(graph.ReplaceInput(early.node(), 0, late).ok());
        all.push_back(late);
      }
    }
    ASSERT_TRUE(scope.ok()) << scope.status();
    Outputs xs, ys;
    for (uint32_t i = 0; i < 1 + random() % 3; ++i) xs.push_back(pick());
    for (uint32_t i = 0; i < 1 + random() % 2; ++i) ys.push_back(pick());
    const std::set<const Node*> expected = LeadingTo(Closure(graph, xs, true), ys);
    const BetweenOps between(ys, xs);
    EXPECT_EQ(std::set<const Node*>(between.ops().begin(), between.ops().end()), expected);
    for (const Node* node : expected) {
      int uses = 0;
      for (const Edge& edge : node->consumers()) uses += !edge.IsControl() && expected.count(edge.consumer) > 0;
      EXPECT_EQ(between.pending(node), uses) << node->name();
      EXPECT_EQ(between.ops()[between.IndexOf(node)], node);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Redirected, BetweenTest, ::testing::Bool());

// However many others there are.
TEST(BetweenOpsTest, ManyOtherConsumers) {
  RegisterAllOps();
  Graph graph;
  Scope scope(&graph);
  Output x = ops::Const(scope, 1.0);
  Output y = ops::Tanh(scope, x);
  for (int i = 0; i < 1000; ++i) ops::Neg(scope, x);
  Output z = y;
  for (int i = 0; i < 1000; ++i) z = ops::Neg(scope, z);
  const BetweenOps between({y}, {x});
  EXPECT_THAT(between.ops(), ::testing::ElementsAre(y.node(), x.node()));
}

}  // namespace
}  // namespace nabla

// What the gradient of a loop makes the loop save: counted as the ops that push onto lists in the loop's body.
#include <algorithm>
#include <cmath>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nabla/gradients/gradients.h"
#include "nabla/gradients/rule.h"
#include "nabla/graph/control_flow.h"
#include "nabla/ops/cond.h"
#include "nabla/ops/ops.h"
#include "nabla/ops/scan.h"
#include "nabla/ops/while.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/session.h"

namespace nabla {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class SavedValuesTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    RegisterAllOps();
    RegisterAllKernels();
    RegisterAllGradients();
  }

  Output Vector(const std::string& name, const Shape& shape = Shape({2})) {
    return ops::Placeholder(scope_.Named(name), DType::kDouble, {.shape = shape});
  }
  // Differentiates the sum of y, and gives the names of what the loop called `frame` pushes from then on.
  std::vector<std::string> Pushed(Output y, const Outputs& xs, const std::string& frame = "while") {
    const int first_id = graph_.num_node_ids();
    const absl::StatusOr<Grads> grads = Gradients(scope_, {y}, xs);
    EXPECT_TRUE(grads.ok()) << grads.status();
    if (!grads.ok()) return {};
    grads_ = *grads;
    std::vector<std::string> names;
    for (const Frame& loop : AnalyzeControlFlow(graph_).frames) {
      if (loop.name != frame) continue;
      for (const Node* node : loop.nodes) {
        if (node->id() < first_id || node->op() != "TensorListPushBack") continue;
        names.push_back(node->input(1).node()->op());
      }
    }
    return names;
  }
  std::vector<double> Run(const Feeds& feeds, Output fetch) {
    std::vector<Tensor> fetched;
    const absl::Status status = Session(&graph_).Run(feeds, {fetch}, &fetched);
    EXPECT_TRUE(status.ok()) << status;
    if (!status.ok()) return {};
    return {fetched[0].flat<double>().begin(), fetched[0].flat<double>().end()};
  }

  Graph graph_;
  Scope scope_{&graph_};
  Grads grads_;
};

using LoopBody = std::function<Output(const Scope& s, Output trip, Output v)>;
Output Loop(const Scope& scope, Output x, const LoopBody& body) {
  return ops::For(scope, 3, {x},
                  [&](const Scope& s, Output trip, const Outputs& v) { return Outputs{body(s, trip, v[0])}; })[0];
}

TEST_F(SavedValuesTest, InvariantsAndConstantsAreNotSaved) {
  const Output x = Vector("x"), w = Vector("w");
  // The gradient of v * w * 3 reads w and 3, and, for w, v.
  const auto body = [&](const Scope&, Output, Output v) { return v * w * 3.0; };
  EXPECT_THAT(Pushed(Loop(scope_, x, body), {x}), IsEmpty());
}

TEST_F(SavedValuesTest, WhatOnlyTheOtherOperandReadsIsSavedOnce) {
  const Output x = Vector("x"), w = Vector("w");
  const auto body = [&](const Scope&, Output, Output v) { return v * w; };
  EXPECT_THAT(Pushed(Loop(scope_, x, body), {x, w}), ElementsAre("Switch"));  // v
}

TEST_F(SavedValuesTest, LinearBodiesSaveNothing) {
  const Output x = Vector("x"), w = Vector("w");
  const auto body = [&](const Scope& s, Output, Output v) { return ops::Neg(s, v) - 0.5 * v + w; };
  EXPECT_THAT(Pushed(Loop(scope_, x, body), {x, w}), IsEmpty());
}

TEST_F(SavedValuesTest, WhatFollowsFromTheTripIsNotSaved) {
  const Output x = Vector("x"), table = Vector("table", Shape({3, 2}));
  const auto body = [&](const Scope& s, Output trip, Output v) {
    const Output scale = ops::Cast(s, trip * 2 + 1, DType::kDouble);
    return v * scale * ops::GatherV2(s, table, trip, 0);
  };
  const Output y = Loop(scope_, x, body);
  EXPECT_THAT(Pushed(y, {x}), IsEmpty());
  // 1 * 3 * 5 times the product of the table's rows.
  EXPECT_THAT(
      Run({{x, Tensor::Vector<double>({1, 1})}, {table, Tensor::Vector<double>({2, 3, 4, 5, 6, 7}).Reshaped({3, 2})}},
          grads_[0].dense()),
      ElementsAre(15 * 48, 15 * 105));
}

TEST_F(SavedValuesTest, ElementsOfAScanAreNotSaved) {
  const Output elements = Vector("elements", Shape({4, 2})), h = Vector("h");
  const ops::ScanResult scan =
      ops::Scan(scope_, {h}, {elements}, [](const Scope& s, const Outputs& v, const Outputs& e) {
        return ops::ScanStep{{ops::Mul(s, v[0], e[0])}, {}};
      });
  EXPECT_THAT(Pushed(scan.state[0], {h}, "scan/while"), IsEmpty());
}

// tanh's gradient reads what it gives, the product's what it begins with: two sides of one value.
TEST_F(SavedValuesTest, WhatAVariableBecomesIsSavedOnce) {
  const Output x = Vector("x"), w = Vector("w");
  const auto body = [&](const Scope& s, Output, Output v) { return ops::Tanh(s, v * w); };
  EXPECT_THAT(Pushed(Loop(scope_, x, body), {x, w}), ElementsAre("Switch"));
}

TEST_F(SavedValuesTest, OtherNamesAndShapesOfAValueAreNotSaved) {
  const Output x = Vector("x");
  const auto body = [&](const Scope& s, Output, Output v) {
    const Output u = ops::Sin(s, v) + 1.0;  // read by both products
    const Output row = ops::Reshape(s, ops::Identity(s, u), {1, 2});
    const Output column = ops::ExpandDims(s, u, 1);
    return ops::Reshape(s, ops::MatMul(s, row, ops::MatMul(s, column, row)), {2});
  };
  // v for the sine's cosine, u, and the inner product.
  EXPECT_THAT(Pushed(Loop(scope_, x, body), {x}), UnorderedElementsAre("Switch", "AddV2", "MatMul"));
}

TEST_F(SavedValuesTest, StaticShapesAreNotSaved) {
  const Output x = Vector("x");
  const auto body = [&](const Scope& s, Output, Output v) {
    return ops::BroadcastTo(s, ops::Sum(s, ops::Reshape(s, v, {1, 2}), 0) + ops::Sum(s, v, 0), {2});
  };
  EXPECT_THAT(Pushed(Loop(scope_, x, body), {x}), IsEmpty());
}

// Of a value whose shape is known when the loop runs only, the shape is saved and not the value.
TEST_F(SavedValuesTest, WhereTheShapeIsReadTheShapeIsSaved) {
  const Output x = Vector("x", Shape({kUnknownDim}));
  const Output y = ops::For(scope_, 3, {x, ops::Const(scope_, Tensor::Scalar<double>(0))},
                            [&](const Scope& s, Output, const Outputs& v) {
                              return Outputs{ops::Mul(s, v[0], 2), v[1] + ops::Sum(s, v[0], 0)};
                            },
                            {.shape_invariants = {Shape({kUnknownDim}), Shape::Scalar()}})[1];
  EXPECT_THAT(Pushed(y, {x}), UnorderedElementsAre("Shape"));
  EXPECT_THAT(Run({{x, Tensor::Vector<double>({1, 1})}}, grads_[0].dense()), ElementsAre(7, 7));
}

TEST_F(SavedValuesTest, InAConditionalItsPredicateAndItsValuesAreSaved) {
  const Output x = Vector("x");
  const auto body = [&](const Scope& s, Output trip, Output v) {
    const Output odd = ops::Equal(s, ops::FloorMod(s, trip, 2), 1);
    return ops::Cond(
        s, odd, [&](const Scope& b) { return Outputs{ops::Sin(b, v)}; },
        [&](const Scope& b) { return Outputs{ops::Neg(b, v)}; })[0];
  };
  // The predicate follows from the trip, so the sine's operand remains.
  EXPECT_THAT(Pushed(Loop(scope_, x, body), {x}), ElementsAre("Switch"));
}

}  // namespace
}  // namespace nabla

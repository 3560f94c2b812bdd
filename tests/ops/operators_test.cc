// Operators on Outputs: which op each adds, where, and with what constants.
#include "nabla/ops/operators.h"

#include <limits>
#include <string>

#include "gtest/gtest.h"
#include "nabla/ops/ops.h"

namespace nabla {
namespace {

class OperatorsTest : public ::testing::Test {
 protected:
  OperatorsTest() : scope_((RegisterAllOps(), &graph_)) {
    x_ = ops::Placeholder(scope_, DType::kFloat, {.shape = Shape({5, 3})});
    y_ = ops::Placeholder(scope_, DType::kFloat, {.shape = Shape({3})});
    i_ = ops::Placeholder(scope_, DType::kInt32, {.shape = Shape({3})});
    b_ = ops::Placeholder(scope_, DType::kBool, {.shape = Shape({3})});
  }
  void ExpectOp(const Output& output, const std::string& op, const Output& first, const Output& second) {
    ASSERT_TRUE(output) << graph_.status();
    EXPECT_EQ(output.node()->op(), op);
    EXPECT_EQ(output.node()->input(0), first);
    EXPECT_EQ(output.node()->input(1), second);
  }
  Graph graph_;
  Scope scope_;
  Output x_, y_, i_, b_;
};

TEST_F(OperatorsTest, EachAddsItsOp) {
  ExpectOp(x_ + y_, "AddV2", x_, y_);
  ExpectOp(x_ - y_, "Sub", x_, y_);
  ExpectOp(x_ * y_, "Mul", x_, y_);
  ExpectOp(x_ / y_, "RealDiv", x_, y_);
  ExpectOp(i_ / i_, "FloorDiv", i_, i_);
  ExpectOp(x_ < y_, "Less", x_, y_);
  ExpectOp(x_ <= y_, "LessEqual", x_, y_);
  ExpectOp(x_ > y_, "Greater", x_, y_);
  ExpectOp(x_ >= y_, "GreaterEqual", x_, y_);
  ExpectOp(And(b_, b_), "LogicalAnd", b_, b_);
  ExpectOp(Or(b_, b_), "LogicalOr", b_, b_);
  EXPECT_EQ((-x_).node()->op(), "Neg");
  EXPECT_EQ(Not(b_).node()->op(), "LogicalNot");
  EXPECT_EQ((x_ + y_).shape(), Shape({5, 3}));
  EXPECT_TRUE(graph_.status().ok()) << graph_.status();
}

TEST_F(OperatorsTest, NumbersTakeTheOperandsDTypeOnEitherSide) {
  const Output left = 2 - x_;
  ASSERT_TRUE(left) << graph_.status();
  EXPECT_EQ(left.node()->op(), "Sub");
  EXPECT_EQ(left.node()->input(1), x_);
  EXPECT_EQ(left.node()->input(0).node()->GetAttr<Tensor>("value").scalar<float>(), 2.0f);
  const Output right = i_ * 3;
  ASSERT_TRUE(right) << graph_.status();
  EXPECT_EQ(right.node()->input(1).node()->GetAttr<Tensor>("value").scalar<int32_t>(), 3);
  EXPECT_EQ((1 / i_).node()->op(), "FloorDiv");
  EXPECT_EQ((x_ > 0).dtype(), DType::kBool);
  EXPECT_TRUE(graph_.status().ok()) << graph_.status();
}

TEST_F(OperatorsTest, AFractionForAnIntegerIsAnError) {
  EXPECT_FALSE(i_ * 0.5);
  EXPECT_FALSE(graph_.status().ok());
}

TEST_F(OperatorsTest, NoneGivesNoneSilently) {
  const Output none;
  const int before = graph_.num_nodes();
  EXPECT_FALSE(none + x_);
  EXPECT_FALSE(x_ / none);
  EXPECT_FALSE(none / none);
  EXPECT_FALSE(2 * none);
  EXPECT_FALSE(-none);
  EXPECT_FALSE(none < 1);
  EXPECT_FALSE(Not(none));
  EXPECT_FALSE(And(b_, none));
  EXPECT_FALSE(Index(none, 0));
  EXPECT_FALSE(SliceRows(none, 0, 1));
  EXPECT_EQ(graph_.num_nodes(), before);
  EXPECT_TRUE(graph_.status().ok());
}

TEST_F(OperatorsTest, AskingWhetherAnOutputIsNoneAddsNoNode) {
  const int before = graph_.num_nodes();
  EXPECT_TRUE(!Output());
  EXPECT_FALSE(!b_);
  EXPECT_TRUE(b_ && x_);
  EXPECT_EQ(graph_.num_nodes(), before);
}

TEST_F(OperatorsTest, NodesGoToTheCurrentScope) {
  const Scope layer = scope_.Sub("layer");
  {
    ScopeGuard guard(layer);
    EXPECT_EQ((x_ * y_).node()->name(), "layer/Mul");
  }
  EXPECT_EQ((x_ * y_).node()->name(), "Mul");
}

TEST_F(OperatorsTest, IndexTakesOneRow) {
  EXPECT_EQ(Index(x_, 0).shape(), Shape({3}));
  EXPECT_EQ(Index(x_, -1).shape(), Shape({3}));
  EXPECT_EQ(Index(Index(x_, 4), 2).shape(), Shape::Scalar());
  EXPECT_TRUE(graph_.status().ok()) << graph_.status();
  EXPECT_FALSE(Index(x_, 5));
  EXPECT_FALSE(graph_.status().ok());
}

TEST_F(OperatorsTest, SliceRowsFollowsPythonsEnds) {
  constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(SliceRows(x_, 1, 3).shape(), Shape({2, 3}));
  EXPECT_EQ(SliceRows(x_, 1, -1).shape(), Shape({3, 3}));
  EXPECT_EQ(SliceRows(x_, -2, 0).shape(), Shape({2, 3}));
  EXPECT_EQ(SliceRows(x_, 2, kEnd).shape(), Shape({3, 3}));
  EXPECT_EQ(SliceRows(x_, 0, 0).shape(), Shape({0, 3}));
  EXPECT_EQ(SliceRows(x_, 3, 2).shape(), Shape({0, 3}));
  EXPECT_EQ(SliceRows(x_, 0, 99).shape(), Shape({5, 3}));
  EXPECT_TRUE(graph_.status().ok()) << graph_.status();
}

}  // namespace
}  // namespace nabla

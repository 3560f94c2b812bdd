// Gradients of gathered rows in loops and branches: IndexedSlices, whose rows are those that were gathered and no more.
#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nabla/gradients/gradients.h"
#include "nabla/gradients/rule.h"
#include "nabla/ops/cond.h"
#include "nabla/ops/ops.h"
#include "nabla/ops/while.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/session.h"

namespace nabla {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

// A table of 5 rows of 2.
std::vector<double> Start() {
  std::vector<double> table;
  for (int i = 0; i < 10; ++i) table.push_back(0.3 + 0.17 * i - 0.02 * i * i);
  return table;
}

class SparseLoopsTest : public ::testing::TestWithParam<Checkpoint> {
 protected:
  static void SetUpTestSuite() {
    RegisterAllOps();
    RegisterAllKernels();
    RegisterAllGradients();
  }

  std::vector<Tensor> Run(const Outputs& fetches, const std::vector<double>& table) {
    std::vector<Tensor> out;
    const absl::Status status =
        session_.Run({{table_, Tensor::Vector<double>(table).Reshaped(Shape({5, 2}))}}, fetches, &out);
    EXPECT_TRUE(status.ok()) << status;
    return out;
  }

  // The gradient of y, a scalar, with respect to the table. Checks it against differences.
  Gradient Differentiate(Output y) {
    GradientOptions options;
    options.loops = {.checkpoint = GetParam(), .every_k = 2, .budget_bytes = 100};
    const absl::StatusOr<Grads> grads = Gradients(scope_, {y}, {table_}, options);
    EXPECT_TRUE(grads.ok()) << grads.status();
    if (!grads.ok() || (*grads)[0].none()) return Gradient();
    const Output dense = ToDense(scope_, (*grads)[0]);
    EXPECT_TRUE(scope_.ok()) << scope_.status();
    const std::vector<Tensor> actual = Run({dense}, Start());
    if (actual.empty()) return Gradient();
    for (int i = 0; i < 10; ++i) {
      const auto moved = [&](double by) {
        std::vector<double> table = Start();
        table[i] += by;
        return Run({y}, table)[0].scalar<double>();
      };
      EXPECT_NEAR(actual[0].flat<double>()[i], (moved(1e-5) - moved(-1e-5)) / 2e-5, 1e-8) << i;
    }
    return (*grads)[0];
  }

  // The rows that the slices have, in order.
  std::vector<int64_t> Rows(const Gradient& gradient) {
    EXPECT_TRUE(gradient.is_slices());
    if (!gradient.is_slices()) return {-1};
    const std::vector<Tensor> slices =
        Run({ops::Cast(scope_, gradient.slices().indices, DType::kInt64), gradient.slices().values}, Start());
    if (slices.empty()) return {-2};
    EXPECT_EQ(slices[1].shape(), Shape({slices[0].num_elements(), 2}));
    return {slices[0].flat<int64_t>().begin(), slices[0].flat<int64_t>().end()};
  }
  std::vector<int64_t> Sorted(std::vector<int64_t> rows) {
    std::sort(rows.begin(), rows.end());
    return rows;
  }

  static Output Total(const Scope& s, Output x) { return ops::Sum(s, x, {0, 1}); }
  Output Zero() { return ops::Const(scope_, Tensor::Scalar<double>(0.5)); }

  Graph graph_;
  Scope scope_{&graph_};
  Session session_{&graph_};
  Output table_ = ops::Placeholder(scope_.Named("table"), DType::kDouble, {.shape = Shape({5, 2})});
};

TEST_P(SparseLoopsTest, RowsOfAllTrips) {
  const Output y = ops::For(scope_, 3, {Zero()}, [&](const Scope& s, Output trip, const Outputs& v) {
    const Output ids = ops::Pack(s, {trip, ops::Const(s, Tensor::Scalar<int32_t>(4))});
    return Outputs{ops::Sin(s, v[0]) + v[0] * Total(s, ops::GatherV2(s, table_, ids, 0))};
  })[0];
  EXPECT_THAT(Sorted(Rows(Differentiate(y))), ElementsAre(0, 1, 2, 4, 4, 4));
}

TEST_P(SparseLoopsTest, NoTripsGiveNoRows) {
  const Output y = ops::For(scope_, 0, {Zero()}, [&](const Scope& s, Output trip, const Outputs& v) {
    return Outputs{v[0] * Total(s, ops::GatherV2(s, table_, ops::ExpandDims(s, trip, 0), 0))};
  })[0];
  EXPECT_THAT(Rows(Differentiate(y)), IsEmpty());
}

TEST_P(SparseLoopsTest, LoopsInLoops) {
  const Output y = ops::For(scope_, 3, {Zero()}, [&](const Scope& s, Output i, const Outputs& v) {
    return ops::For(s, ops::AddV2(s, i, 1), v, [&](const Scope& inner, Output j, const Outputs& u) {
      const Output ids = ops::ExpandDims(inner, ops::AddV2(inner, i, j), 0);
      return Outputs{u[0] * Total(inner, ops::GatherV2(inner, table_, ids, 0)) + 0.1};
    });
  })[0];
  EXPECT_THAT(Sorted(Rows(Differentiate(y))), ElementsAre(0, 1, 2, 2, 3, 4));
}

TEST_P(SparseLoopsTest, ABranchThatIsNotTakenAddsNothing) {
  const Output y = ops::For(scope_, 4, {Zero()}, [&](const Scope& s, Output trip, const Outputs& v) {
    const Output odd = ops::Equal(s, ops::FloorMod(s, trip, 2), 1);
    return ops::Cond(
        s, odd,
        [&](const Scope& b) {
          return Outputs{v[0] * Total(b, ops::GatherV2(b, table_, ops::ExpandDims(b, trip, 0), 0))};
        },
        [&](const Scope& b) { return Outputs{ops::Cos(b, v[0])}; });
  })[0];
  EXPECT_THAT(Sorted(Rows(Differentiate(y))), ElementsAre(1, 3));
}

TEST_P(SparseLoopsTest, BranchesWithDifferentNumbersOfRows) {
  const Output y = ops::For(scope_, 3, {Zero()}, [&](const Scope& s, Output trip, const Outputs& v) {
    const Output odd = ops::Equal(s, ops::FloorMod(s, trip, 2), 1);
    return ops::Cond(
        s, odd,
        [&](const Scope& b) {
          return Outputs{v[0] * Total(b, ops::GatherV2(b, table_, {3, 2, 3}, 0))};
        },
        [&](const Scope& b) { return Outputs{v[0] - Total(b, ops::GatherV2(b, table_, {0}, 0))}; });
  })[0];
  EXPECT_THAT(Sorted(Rows(Differentiate(y))), ElementsAre(0, 0, 2, 3, 3));
}

TEST_P(SparseLoopsTest, ALoopInABranch) {
  for (const bool taken : {true, false}) {
    const Output predicate = ops::Greater(scope_, Total(scope_, table_), taken ? 0.0 : 1000.0);
    const Output y = ops::Cond(
        scope_, predicate,
        [&](const Scope& b) {
          return ops::For(b, 2, {ops::Const(b, Tensor::Scalar<double>(0.5))},
                          [&](const Scope& s, Output, const Outputs& v) {
                            return Outputs{v[0] * Total(s, ops::GatherV2(s, table_, {1, 3}, 0))};
                          });
        },
        [&](const Scope& b) { return Outputs{ops::Const(b, Tensor::Scalar<double>(7))}; })[0];
    if (taken) {
      EXPECT_THAT(Sorted(Rows(Differentiate(y))), ElementsAre(1, 1, 3, 3));
    } else {
      EXPECT_THAT(Rows(Differentiate(y)), IsEmpty());
    }
  }
}

TEST_P(SparseLoopsTest, ATableThatIsALoopVariable) {
  const Outputs last = ops::For(scope_, 2, {Zero(), table_}, [&](const Scope& s, Output trip, const Outputs& v) {
    const Output row = ops::GatherV2(s, v[1], ops::ExpandDims(s, trip, 0), 0);
    return Outputs{ops::Sin(s, v[0]) * Total(s, row), v[1]};
  });
  const Output after = Total(scope_, ops::GatherV2(scope_, last[1], {4}, 0));
  EXPECT_THAT(Sorted(Rows(Differentiate(ops::AddV2(scope_, last[0], after)))), ElementsAre(0, 1, 4));
}

TEST_P(SparseLoopsTest, SparseInsideAndOutside) {
  const Output y = ops::For(scope_, 2, {Zero()}, [&](const Scope& s, Output, const Outputs& v) {
    return Outputs{v[0] * Total(s, ops::GatherV2(s, table_, {2}, 0))};
  })[0];
  const Output outside = Total(scope_, ops::GatherV2(scope_, table_, {0, 3}, 0));
  EXPECT_THAT(Sorted(Rows(Differentiate(ops::Mul(scope_, y, outside)))), ElementsAre(0, 2, 2, 3));
}

TEST_P(SparseLoopsTest, DenseWhereItIsUsedAsAWhole) {
  const Output y = ops::For(scope_, 3, {Zero()}, [&](const Scope& s, Output trip, const Outputs& v) {
    const Output row = ops::GatherV2(s, table_, ops::ExpandDims(s, trip, 0), 0);
    return Outputs{ops::Sin(s, v[0]) * Total(s, row) + Total(s, ops::Cos(s, table_))};
  })[0];
  EXPECT_TRUE(Differentiate(y).is_dense());
}

TEST_P(SparseLoopsTest, GathersOfGathers) {
  const Output y = ops::For(scope_, 2, {Zero()}, [&](const Scope& s, Output trip, const Outputs& v) {
    const Output some = ops::Sin(s, ops::GatherV2(s, table_, {4, 1, 0}, 0));
    const Output row = ops::GatherV2(s, some, ops::ExpandDims(s, trip, 0), 0);
    return Outputs{v[0] + Total(s, row) * v[0]};
  })[0];
  EXPECT_THAT(Sorted(Rows(Differentiate(y))), ElementsAre(1, 4));
}

// The gradient with respect to a variable's handle.
TEST_P(SparseLoopsTest, VariablesAreGatheredFrom) {
  const Output handle = ops::VarHandleOp(scope_, DType::kDouble, Shape({5, 2}));
  const Output ids = ops::Const(scope_, {3, 0, 1});
  const Output y = ops::For(scope_, 3, {Zero()}, [&](const Scope& s, Output trip, const Outputs& v) {
    const Output id = ops::GatherV2(s, ids, ops::ExpandDims(s, trip, 0), 0);
    const Output even = ops::Equal(s, ops::FloorMod(s, trip, 2), 0);
    return ops::Cond(
        s, even,
        [&](const Scope& b) {
          return Outputs{v[0] * Total(b, ops::ResourceGather(b, handle, id, DType::kDouble)) + 1.0};
        },
        [&](const Scope&) { return Outputs{v[0] * 2.0}; });
  })[0];
  GradientOptions options;
  options.loops = {.checkpoint = GetParam(), .every_k = 2, .budget_bytes = 100};
  const absl::StatusOr<Grads> grads = Gradients(scope_, {y}, {handle}, options);
  ASSERT_TRUE(grads.ok()) << grads.status();
  ASSERT_TRUE((*grads)[0].is_slices());
  const IndexedSlices& slices = (*grads)[0].slices();
  const Output values =
      ops::Const(scope_, Tensor::Vector<double>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}).Reshaped(Shape({5, 2})));
  const absl::Status assigned = session_.Run({}, {}, {ops::AssignVariableOp(scope_, handle, values)}, nullptr);
  ASSERT_TRUE(assigned.ok()) << assigned;
  std::vector<Tensor> out;
  const absl::Status status =
      session_.Run({}, {ops::Cast(scope_, slices.indices, DType::kInt64), slices.values, y}, &out);
  ASSERT_TRUE(status.ok()) << status;
  // v = ((0.5 (w30 + w31) + 1) 2) (w10 + w11) + 1 with w30 + w31 = 13 and w10 + w11 = 5.
  EXPECT_DOUBLE_EQ(out[2].scalar<double>(), (0.5 * 13 + 1) * 2 * 5 + 1);
  std::vector<double> dense(5);
  for (int64_t i = 0; i < out[0].num_elements(); ++i) dense[out[0].flat<int64_t>()[i]] += out[1].flat<double>()[2 * i];
  EXPECT_EQ(out[0].num_elements(), 2);
  EXPECT_THAT(dense, ElementsAreArray({0.0, 15.0, 0.0, 5.0, 0.0}));
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, SparseLoopsTest,
                         ::testing::Values(Checkpoint::kNone, Checkpoint::kEveryK, Checkpoint::kSqrt,
                                           Checkpoint::kBudgetBytes));

}  // namespace
}  // namespace nabla

// What checkpoints do with trip counts, states of all kinds, memory, and bodies that cannot be run again.
#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "nabla/gradients/gradients.h"
#include "nabla/gradients/rule.h"
#include "nabla/graph/buffer.h"
#include "nabla/ops/cond.h"
#include "nabla/ops/ops.h"
#include "nabla/ops/scan.h"
#include "nabla/ops/while.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/session.h"
#include "nabla/tests/gradients/count_trip.h"

namespace nabla {
namespace {

using ::testing::HasSubstr;

LoopGradientOptions EveryK(int64_t k) { return {.checkpoint = Checkpoint::kEveryK, .every_k = k}; }
LoopGradientOptions Sqrt() { return {.checkpoint = Checkpoint::kSqrt}; }
LoopGradientOptions Budget(int64_t bytes) { return {.checkpoint = Checkpoint::kBudgetBytes, .budget_bytes = bytes}; }

// y, a scalar, of x, a vector of 2.
using Build = std::function<Output(const Scope& scope, Output x)>;

class CheckpointTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    RegisterAllOps();
    RegisterAllKernels();
    RegisterAllGradients();
    testing::RegisterCountTrip();
  }

  static absl::StatusOr<std::vector<double>> Gradient(const Build& build, const LoopGradientOptions& loops,
                                                      const std::function<Outputs(const Graph&)>& stops = {}) {
    Graph graph;
    Scope scope(&graph);
    const Output x = ops::Placeholder(scope.Named("x"), DType::kDouble, {.shape = Shape({2})});
    GradientOptions options;
    options.loops = loops;
    const Output y = build(scope, x);
    if (!scope.ok()) return scope.status();
    if (stops) options.stop_gradients = stops(graph);
    const absl::StatusOr<Grads> grads = Gradients(scope, {y}, {x}, options);
    if (!grads.ok()) return grads.status();
    const Output dense = ToDense(scope, (*grads)[0]);
    std::vector<Tensor> out;
    const absl::Status status = Session(&graph).Run({{x, Tensor::Vector<double>({0.8, -0.3})}}, {dense}, &out);
    if (!status.ok()) return status;
    return std::vector<double>(out[0].flat<double>().begin(), out[0].flat<double>().end());
  }

  static void ExpectSameWithAll(const Build& build, const std::function<Outputs(const Graph&)>& stops = {}) {
    const auto expected = Gradient(build, {}, stops);
    ASSERT_TRUE(expected.ok()) << expected.status();
    const std::vector<std::pair<std::string, LoopGradientOptions>> all = {
        {"every 1", EveryK(1)},      {"every 4", EveryK(4)},
        {"every 5", EveryK(5)},      {"sqrt", Sqrt()},
        {"budget 1", Budget(1)},     {"budget 70", Budget(70)},
        {"budget 120", Budget(120)}, {"budget 200", Budget(200)},
        {"budget 400", Budget(400)}, {"budget 1e6", Budget(1000000)}};
    for (const auto& [name, loops] : all) {
      const auto actual = Gradient(build, loops, stops);
      ASSERT_TRUE(actual.ok()) << name << ": " << actual.status();
      for (int i = 0; i < 2; ++i) {
        EXPECT_NEAR((*actual)[i], (*expected)[i], 1e-12 * std::max(1.0, std::abs((*expected)[i]))) << name;
      }
    }
  }
};

Output Total(const Scope& s, Output x) { return ops::Sum(s, x, 0); }

TEST_F(CheckpointTest, TripCountsThatAreKnownBeforeTheLoop) {
  for (int trips : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 15, 16, 21, 22, 40}) {
    SCOPED_TRACE(trips);
    ExpectSameWithAll([&](const Scope& scope, Output x) {
      return Total(scope, ops::For(scope, trips, {x}, [&](const Scope& s, Output trip, const Outputs& v) {
                     return Outputs{ops::Sin(s, v[0] * x + ops::Cast(s, trip, DType::kDouble) * 0.1)};
                   })[0]);
    });
  }
}

TEST_F(CheckpointTest, TripCountsThatAreNot) {
  for (int trips : {0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 16, 40}) {
    SCOPED_TRACE(trips);
    ExpectSameWithAll([&](const Scope& scope, Output x) {
      const Output zero = ops::Const(scope, Tensor::Scalar<double>(0));
      return Total(scope, ops::While(
                              scope, {x, zero},
                              [&](const Scope& s, const Outputs& v) { return ops::Less(s, v[1], trips - 0.5); },
                              [&](const Scope& s, const Outputs& v) {
                                return Outputs{ops::Sin(s, v[0] * x) + v[0] * v[1] * 0.01, v[1] + 1.0};
                              })[0]);
    });
  }
}

// Counters that begin elsewhere, go down, or take larger steps.
TEST_F(CheckpointTest, Counters) {
  for (const auto& [start, limit, step] : std::vector<std::tuple<int64_t, int64_t, int64_t>>{
           {3, 14, 1}, {-4, 9, 3}, {20, 2, -2}, {20, 3, -1}, {5, 5, 1}, {7, 5, 2}}) {
    for (const bool or_equal : {false, true}) {
      SCOPED_TRACE(absl::StrCat(start, " to ", limit, " by ", step, or_equal));
      ExpectSameWithAll([&, start = start, limit = limit, step = step](const Scope& scope, Output x) {
        const Output end = ops::Const(scope, Tensor::Scalar<int64_t>(limit));
        return Total(scope, ops::While(
                                scope, {ops::Const(scope, Tensor::Scalar<int64_t>(start)), x},
                                [&](const Scope& s, const Outputs& v) {
                                  if (or_equal)
                                    return step > 0 ? ops::LessEqual(s, v[0], end) : ops::GreaterEqual(s, v[0], end);
                                  return step > 0 ? ops::Greater(s, end, v[0]) : ops::Less(s, end, v[0]);
                                },
                                [&](const Scope& s, const Outputs& v) {
                                  const Output i = ops::Cast(s, v[0], DType::kDouble);
                                  return Outputs{v[0] + step, ops::Sin(s, v[1] * x + i)};
                                })[1]);
      });
    }
  }
}

TEST_F(CheckpointTest, SequencesInAndOut) {
  ExpectSameWithAll([](const Scope& scope, Output x) {
    const Output elements = ops::Sin(scope, ops::Pack(scope, {x, x * x, x + x, x, x * 0.5, x, x}));
    const ops::ScanResult scan =
        ops::Scan(scope, {x, ops::Cast(scope, x, DType::kFloat)}, {elements},
                  [](const Scope& s, const Outputs& state, const Outputs& here) {
                    const Output h = ops::Tanh(s, state[0] * here[0] + 0.3);
                    const Output count = ops::Floor(s, state[1] * 1.5f);  // no gradient, yet needed
                    return ops::ScanStep{{h + ops::Cast(s, count, DType::kDouble) * here[0], count},
                                         {h * here[0], ops::Cos(s, state[0])}};
                  });
    return Total(scope, scan.state[0] + ops::Sum(scope, scan.results[0] * scan.results[1], 0));
  });
}

TEST_F(CheckpointTest, LoopsAndBranchesInTheBody) {
  ExpectSameWithAll([](const Scope& scope, Output x) {
    return Total(scope, ops::For(scope, 7, {x}, [&](const Scope& s, Output trip, const Outputs& v) {
                   const Output odd = ops::Equal(s, ops::FloorMod(s, trip, 2), 1);
                   return ops::Cond(
                       s, odd,
                       [&](const Scope& b) {
                         return ops::For(b, trip, {v[0]}, [&](const Scope& inner, Output i, const Outputs& u) {
                           return Outputs{ops::Sin(inner, u[0] * x + ops::Cast(inner, i, DType::kDouble))};
                         });
                       },
                       [&](const Scope& b) { return Outputs{v[0] * v[0] - ops::Const(b, Tensor::Scalar(0.25))}; });
                 })[0]);
  });
}

// Constants of a branch and of a loop inside that wait for a NoOp there.
TEST_F(CheckpointTest, WhatWaitsInTheBody) {
  ExpectSameWithAll([](const Scope& scope, Output x) {
    return Total(scope, ops::For(scope, 5, {x}, [&](const Scope& s, Output trip, const Outputs& v) {
                   return ops::Cond(
                       s, ops::Less(s, trip, 3),
                       [&](const Scope& b) {
                         Node* const wait = ops::NoOp(b.WithControl({ops::Sin(b, v[0])}));
                         const Output half = ops::Const(b.WithControl({wait}), Tensor::Scalar(0.5));
                         return Outputs{ops::Sin(b, v[0] * x) * half};
                       },
                       [&](const Scope& b) {
                         return ops::For(b, 2, {v[0]}, [&](const Scope& inner, Output, const Outputs& u) {
                           Node* const wait = ops::NoOp(inner.WithControl({ops::Cos(inner, u[0])}));
                           const Output two = ops::Const(inner.WithControl({wait}), Tensor::Scalar(2.0));
                           return Outputs{ops::Sin(inner, u[0] * two)};
                         });
                       });
                 })[0]);
  });
}

// A loop in a branch, taken or not.
TEST_F(CheckpointTest, InABranch) {
  for (const bool taken : {true, false}) {
    SCOPED_TRACE(taken);
    ExpectSameWithAll([&](const Scope& scope, Output x) {
      return Total(scope, ops::Cond(
                              scope, ops::Greater(scope, Total(scope, x), taken ? 0.0 : 10.0),
                              [&](const Scope& b) {
                                return ops::For(b, 6, {x}, [&](const Scope& s, Output, const Outputs& v) {
                                  return Outputs{ops::Sin(s, v[0] * x)};
                                });
                              },
                              [&](const Scope&) { return Outputs{x * x}; })[0]);
    });
  }
}

// The gradient of a loop as part of the body of another.
TEST_F(CheckpointTest, InABody) {
  const auto build = [](const LoopGradientOptions& loops) {
    return [loops](const Scope& scope, Output x) {
      return Total(scope, ops::For(scope, 3, {x}, [&](const Scope& s, Output trip, const Outputs& v) {
                     const Output y = ops::For(
                         s, ops::AddV2(s, trip, 3), {v[0]},
                         [&](const Scope& b, Output, const Outputs& u) { return Outputs{ops::Sin(b, u[0] * x)}; })[0];
                     GradientOptions options;
                     options.loops = loops;
                     const absl::StatusOr<Grads> grads = Gradients(s, {y}, {v[0]}, options);
                     s.RecordError(grads.status());
                     return Outputs{grads.ok() ? (*grads)[0].dense() + v[0] : Output()};
                   })[0]);
    };
  };
  const auto expected = Gradient(build({}), {});
  ASSERT_TRUE(expected.ok()) << expected.status();
  for (const LoopGradientOptions& loops : {EveryK(2), Sqrt(), Budget(1), Budget(200)}) {
    for (const LoopGradientOptions& outer : {LoopGradientOptions(), Sqrt(), Budget(200)}) {
      const auto actual = Gradient(build(loops), outer);
      ASSERT_TRUE(actual.ok()) << actual.status();
      for (int i = 0; i < 2; ++i) EXPECT_NEAR((*actual)[i], (*expected)[i], 1e-12 * std::abs((*expected)[i]));
    }
  }
}

TEST_F(CheckpointTest, StopsInTheBodyAreStopsInItsCopies) {
  const auto build = [](const Scope& scope, Output x) {
    return Total(scope, ops::For(scope, 5, {x}, [&](const Scope& s, Output, const Outputs& v) {
                   return Outputs{ops::Sin(s.Named("stop"), v[0]) * v[0] + x};
                 })[0]);
  };
  const auto stops = [](const Graph& graph) { return Outputs{graph.FindNode("while/stop")->output(0)}; };
  ExpectSameWithAll(build, stops);
  EXPECT_NE(*Gradient(build, Sqrt(), stops), *Gradient(build, Sqrt()));
}

// ---- memory and arithmetic ----

constexpr int64_t kElements = 16384;  // 128 KB
constexpr int kTrips = 200;

struct Cost {
  double peak;   // memory, in states
  double trips;  // times that each trip was made
};

Cost CostOf(const LoopGradientOptions& loops, bool known_in_advance = true) {
  Graph graph;
  const Scope scope(&graph);
  const Output a = ops::Placeholder(scope, DType::kDouble, {.shape = Shape::Scalar()});
  const Output x = ops::Fill(scope, Shape({kElements}), ops::Const(scope, 0.5, DType::kDouble));
  const Output limit = known_in_advance ? ops::Const(scope, Tensor::Scalar<int32_t>(kTrips)) : Output();
  const Output last = ops::While(
      scope, {x, ops::Const(scope, Tensor::Scalar<int32_t>(0))},
      [&](const Scope& s, const Outputs& v) {
        return known_in_advance ? ops::Less(s, v[1], limit)
                                : ops::Less(s, ops::Cast(s, v[1], DType::kDouble), kTrips - 0.5);
      },
      [&](const Scope& s, const Outputs& v) {
        return Outputs{testing::CountTrip(s, ops::Tanh(s, v[0] * a)), v[1] + 1};
      })[0];
  GradientOptions options;
  options.loops = loops;
  const absl::StatusOr<Grads> grads = Gradients(scope, {ops::Sum(scope, last, 0)}, {a}, options);
  EXPECT_TRUE(grads.ok()) << grads.status();
  if (!grads.ok()) return {};
  Session session(&graph);
  testing::NumTrips() = 0;
  const int64_t before = GetBufferPoolStats().bytes_in_use;
  ResetBufferPoolPeak();
  std::vector<Tensor> out;
  const absl::Status status = session.Run({{a, Tensor::Scalar<double>(1.001)}}, {(*grads)[0].dense()}, &out);
  EXPECT_TRUE(status.ok()) << status;
  return {static_cast<double>(GetBufferPoolStats().peak_bytes_in_use - before) / (8 * kElements),
          static_cast<double>(testing::NumTrips()) / kTrips};
}

TEST_F(CheckpointTest, NoneHoldsEveryTrip) {
  const Cost cost = CostOf({});
  EXPECT_GT(cost.peak, kTrips);
  EXPECT_LT(cost.peak, kTrips + 8);  // once: what tanh gives is what the next trip begins with
  EXPECT_EQ(cost.trips, 1);
}

TEST_F(CheckpointTest, SqrtHoldsSqrtAndMakesTripsTwice) {
  const Cost known = CostOf(Sqrt());
  EXPECT_LT(known.peak, std::sqrt(2 * kTrips) + 8);
  EXPECT_EQ(known.trips, 2);
  const Cost unknown = CostOf(Sqrt(), false);
  EXPECT_LT(unknown.peak, 2 * std::sqrt(2 * kTrips) + 8);
  EXPECT_EQ(unknown.trips, 2);
}

TEST_F(CheckpointTest, EveryKHoldsCheckpointsAndASegment) {
  const Cost cost = CostOf(EveryK(20));
  EXPECT_LT(cost.peak, kTrips / 20 + 20 + 8);
  EXPECT_EQ(cost.trips, 2);
}

TEST_F(CheckpointTest, BudgetsAreKeptAndLessMemoryTakesMoreTrips) {
  for (const bool known_in_advance : {true, false}) {
    double before = 1;
    for (int states : {100, 40, 20, 10, 4}) {
      const Cost cost = CostOf(Budget(states * 8 * kElements), known_in_advance);
      EXPECT_LT(cost.peak, states + 8) << states;
      EXPECT_GE(cost.trips, before) << states;
      // In the first descent the loop runs once for itself and for the gradient, if it knows where it ends.
      if (states >= 40) {
        EXPECT_LE(cost.trips, known_in_advance ? 2 : 3);
      }
      before = cost.trips;
    }
    // 2 + 2 states: segments of 2 trips, of which there are 100, with 2 checkpoints: (c + r)! / (c! r!) >= 100 for
    // r = 13.
    EXPECT_LE(before, (known_in_advance ? 1 : 2) + 13);
  }
}

// ---- what is refused ----

std::string Refusal(const std::function<Output(const Scope& s, Output v)>& body) {
  Graph graph;
  const Scope scope(&graph);
  const Output x = ops::Placeholder(scope, DType::kDouble, {.shape = Shape({2})});
  const Output y =
      ops::For(scope, 3, {x}, [&](const Scope& s, Output, const Outputs& v) { return Outputs{body(s, v[0])}; })[0];
  EXPECT_TRUE(scope.ok()) << scope.status();
  GradientOptions options;
  options.loops = Sqrt();
  const absl::StatusOr<Grads> grads = Gradients(scope, {y}, {x}, options);
  if (!grads.ok()) {
    EXPECT_EQ(grads.status().code(), absl::StatusCode::kUnimplemented);
  }
  return grads.ok() ? "" : std::string(grads.status().message());
}

TEST_F(CheckpointTest, WhatWouldDifferTheSecondTimeIsRefusedByName) {
  EXPECT_THAT(
      Refusal([](const Scope& s, Output v) { return v * ops::RandomUniform(s.Named("noise"), {2}, DType::kDouble); }),
      HasSubstr("loop 'while' cannot be checkpointed: 'while/noise' (op type: RandomUniform) has effects or may "
                "give something else"));
  EXPECT_THAT(Refusal([](const Scope& s, Output v) {
                const Output handle = ops::VarHandleOp(s, DType::kDouble, Shape({2}));
                Node* add = ops::AssignAddVariableOp(s.Named("add"), handle, v);
                return v * ops::ReadVariableOp(s.Named("read").WithControl({add}), handle, DType::kDouble);
              }),
              HasSubstr("'while/add' (op type: AssignAddVariableOp) may change what 'while/read' reads"));
}

TEST_F(CheckpointTest, ReadingVariablesIsNot) {
  EXPECT_EQ(Refusal([](const Scope& s, Output v) {
              const Output handle = ops::VarHandleOp(s, DType::kDouble, Shape({2}));
              return v * ops::ReadVariableOp(s, handle, DType::kDouble);
            }),
            "");
  EXPECT_EQ(Refusal([](const Scope& s, Output v) {
              return v * ops::StatelessRandomUniform(s, {2}, {1, 2}, {.dtype = DType::kDouble});
            }),
            "");
}

TEST_F(CheckpointTest, NumbersMustBePositive) {
  const Build build = [](const Scope& scope, Output x) {
    return Total(
        scope, ops::For(scope, 3, {x}, [](const Scope&, Output, const Outputs& v) { return Outputs{v[0] * v[0]}; })[0]);
  };
  EXPECT_THAT(Gradient(build, EveryK(0)).status().message(), HasSubstr("every_k is 0"));
  EXPECT_THAT(Gradient(build, Budget(-5)).status().message(), HasSubstr("budget_bytes is -5"));
}

}  // namespace
}  // namespace nabla

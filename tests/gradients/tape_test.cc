// GradientTape: what it records, and what it refuses. Where values are given without derivation they are
// TensorFlow's tf.GradientTape's for the same program.
#include "nabla/gradients/tape.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nabla/gradients/rule.h"
#include "nabla/ops/ops.h"
#include "nabla/ops/variable.h"
#include "nabla/ops/while.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/session.h"

namespace nabla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Floats = std::vector<float>;

class TapeTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    RegisterAllOps();
    RegisterAllKernels();
    RegisterAllGradients();
  }

  Output Scalar(float value) { return ops::Const(scope_, Tensor::Scalar(value)); }
  Output Variable(const char* name, float value, bool trainable = true) {
    return ops::NewVariable(scope_, name, value, {.trainable = trainable});
  }
  Output Read(Output variable) { return ops::ReadVariable(scope_, variable); }

  // "none", or the values of the dense gradients.
  static constexpr float kNone = -12345;
  Floats Fetch(const absl::StatusOr<Grads>& grads) {
    EXPECT_TRUE(grads.ok()) << grads.status();
    Floats numbers;
    if (!grads.ok()) return numbers;
    for (const Gradient& grad : *grads) {
      if (grad.none()) {
        numbers.push_back(kNone);
        continue;
      }
      const Floats values = Values(ToDense(scope_, grad));
      numbers.insert(numbers.end(), values.begin(), values.end());
    }
    return numbers;
  }
  Floats Values(Output output) {
    EXPECT_TRUE(scope_.ok()) << scope_.status();
    EXPECT_TRUE(session_.Run({}, {}, {ops::InitializeVariables(scope_)}, nullptr).ok());
    std::vector<Tensor> values;
    const absl::Status status = session_.Run({}, {output}, &values);
    EXPECT_TRUE(status.ok()) << status;
    return status.ok() ? Floats(values[0].flat<float>().begin(), values[0].flat<float>().end()) : Floats();
  }
  template <typename Result>
  static std::string ErrorOf(const Result& result) {
    return std::string(result.status().message());
  }

  Graph graph_;
  Scope scope_{&graph_};
  ScopeGuard guard_{scope_};
  Session session_{&graph_, {1}};
};

TEST_F(TapeTest, DifferentiatesWhatWasRecorded) {
  const Output x = Scalar(3);
  GradientTape tape(scope_);
  EXPECT_TRUE(tape.recording());
  tape.Watch(x);
  const Output y = x * x;
  tape.Stop();
  EXPECT_FALSE(tape.recording());
  EXPECT_THAT(Fetch(tape.Gradient({y}, {x})), ElementsAre(6));
}

TEST_F(TapeTest, IntermediatesSeveralTargetsAndOutputGradients) {
  const Output x = Scalar(3);
  GradientTape tape(scope_, {.persistent = true});
  tape.Watch(x);
  const Output y = x * x, z = y * x;
  tape.Stop();
  EXPECT_THAT(Fetch(tape.Gradient({z}, {y})), ElementsAre(3));
  EXPECT_THAT(Fetch(tape.Gradient({z}, {x, y})), ElementsAre(27, 3));
  EXPECT_THAT(Fetch(tape.Gradient({z, y}, {x})), ElementsAre(33));
  EXPECT_THAT(Fetch(tape.Gradient({z}, {x}, {.output_gradients = {Scalar(2)}})), ElementsAre(54));
  EXPECT_THAT(Fetch(tape.Gradient({z, y}, {x}, {.output_gradients = {Scalar(2), Gradient()}})), ElementsAre(60));
  EXPECT_THAT(ErrorOf(tape.Gradient({z, y}, {x}, {.output_gradients = {Scalar(2)}})),
              HasSubstr("1 output_gradients for 2 targets"));
}

TEST_F(TapeTest, GivesOneResultUnlessPersistent) {
  const Output x = Scalar(3);
  GradientTape tape(scope_);
  tape.Watch(x);
  const Output y = x * x;
  // Inside the recording the result ends it.
  EXPECT_THAT(Fetch(tape.Gradient({y}, {x})), ElementsAre(6));
  EXPECT_FALSE(tape.recording());
  EXPECT_THAT(ErrorOf(tape.Gradient({y}, {x})), HasSubstr("not persistent gives one set of gradients"));
  EXPECT_EQ(tape.Gradient({y}, {x}).status().code(), absl::StatusCode::kFailedPrecondition);
  // It may record something new.
  tape.Start();
  tape.Watch(x);
  const Output z = x * x * x;
  EXPECT_THAT(Fetch(tape.Gradient({z}, {x})), ElementsAre(27));
}

TEST_F(TapeTest, ArgumentsThatWereRefusedDoNotUseItUp) {
  const Output x = Scalar(3);
  GradientTape tape(scope_);
  tape.Watch(x);
  const Output y = x * x;
  EXPECT_THAT(ErrorOf(tape.Gradient({}, {x})), HasSubstr("no targets"));
  EXPECT_THAT(ErrorOf(tape.Gradient({y}, {})), HasSubstr("no sources"));
  EXPECT_THAT(ErrorOf(tape.Gradient({Output()}, {x})), HasSubstr("a target is none"));
  EXPECT_THAT(Fetch(tape.Gradient({y}, {x})), ElementsAre(6));
}

TEST_F(TapeTest, SourcesThatAreNotWatchedHaveNone) {
  const Output a = Scalar(2), b = Scalar(5);
  GradientTape tape(scope_, {.persistent = true});
  tape.Watch(a);
  const Output z = a * b, d = z / b, c = b * 2;
  tape.Stop();
  EXPECT_THAT(Fetch(tape.Gradient({z}, {b})), ElementsAre(kNone));
  EXPECT_THAT(Fetch(tape.Gradient({d}, {b})), ElementsAre(kNone));
  EXPECT_THAT(Fetch(tape.Gradient({d}, {a, b})), ElementsAre(1, kNone));
  EXPECT_THAT(Fetch(tape.Gradient({c}, {b})), ElementsAre(kNone));
  EXPECT_THAT(Fetch(tape.Gradient({c}, {a})), ElementsAre(kNone));
  // A tensor is its own derivative.
  EXPECT_THAT(Fetch(tape.Gradient({b}, {b})), ElementsAre(1));
  EXPECT_THAT(Fetch(tape.Gradient({d, b}, {a, b})), ElementsAre(1, 1));
}

TEST_F(TapeTest, UnconnectedSourcesMayHaveZeros) {
  const Output a = Scalar(2), b = ops::Const(scope_, Tensor::Vector<float>({5, 6})), v = Variable("v", 1);
  GradientTape tape(scope_, {.persistent = true});
  tape.Watch(a);
  const Output z = a * b;
  tape.Stop();
  const TapeGradientOptions zeros = {.unconnected = UnconnectedGradients::kZero};
  EXPECT_THAT(Fetch(tape.Gradient({z}, {a, b, v}, zeros)), ElementsAre(11, 0, 0, 0));
  EXPECT_THAT(Fetch(tape.Gradient({b}, {a}, zeros)), ElementsAre(0));
}

TEST_F(TapeTest, CountsFromWhereATensorIsWatched) {
  const Output x = Scalar(3);
  GradientTape tape(scope_, {.persistent = true});
  const Output y = x * x;
  tape.Watch(x);
  const Output z = y + x;
  tape.Watch(x);  // still from the first time on
  tape.Stop();
  EXPECT_THAT(Fetch(tape.Gradient({z}, {x})), ElementsAre(1));
  EXPECT_THAT(Fetch(tape.Gradient({y}, {x})), ElementsAre(kNone));
}

TEST_F(TapeTest, WatchesTrainableVariablesThatAreRead) {
  const Output last = Variable("last", 7), u = Variable("u", 2), fixed = Variable("fixed", 3, /*trainable=*/false);
  const Output unread = Variable("unread", 1);
  const Output before = Read(unread);
  GradientTape tape(scope_, {.persistent = true});
  ops::VariableShape(scope_, unread);
  const Output y = Read(u) * Read(u) * Read(fixed) + before + ops::Square(scope_, Read(last));
  tape.Stop();
  EXPECT_THAT(tape.WatchedVariables(), ElementsAre(last, u));
  EXPECT_THAT(Fetch(tape.Gradient({y}, {u, fixed, unread, last})), ElementsAre(12, kNone, kNone, 14));
  // A variable as the target is its value.
  EXPECT_THAT(Fetch(tape.Gradient({u}, {u, last})), ElementsAre(1, kNone));
}

TEST_F(TapeTest, GathersFromVariablesAreSparse) {
  const Output table = ops::NewVariable(scope_, "table", Tensor::Of<float>({3, 2}, {1, 2, 3, 4, 5, 6}));
  GradientTape tape(scope_);
  const Output rows = ops::ResourceGather(scope_, table, Tensor::Vector<int32_t>({2, 0, 2}), DType::kFloat);
  const Output y = ops::Sum(scope_, rows, {0, 1});
  tape.Stop();
  EXPECT_THAT(tape.WatchedVariables(), ElementsAre(table));
  const absl::StatusOr<Grads> grads = tape.Gradient({y}, {table});
  ASSERT_TRUE(grads.ok() && (*grads)[0].is_slices());
  EXPECT_THAT(Fetch(grads), ElementsAre(1, 1, 0, 0, 2, 2));
}

TEST_F(TapeTest, WatchesOnlyWhatItIsToldTo) {
  const Output u = Variable("u", 2), w = Variable("w", 3, /*trainable=*/false);
  GradientTape tape(scope_, {.persistent = true, .watch_accessed_variables = false});
  tape.Watch(w);
  const Output r = Read(u) * Read(w);
  tape.Stop();
  EXPECT_THAT(tape.WatchedVariables(), ElementsAre(w));
  EXPECT_THAT(Fetch(tape.Gradient({r}, {u, w})), ElementsAre(kNone, 2));
}

TEST_F(TapeTest, HandlesMayTakeDetours) {
  const Output u = Variable("u", 2);
  GradientTape tape(scope_, {.persistent = true});
  const Output handle = ops::Identity(scope_, u);
  const Output y = ops::Square(scope_, Read(handle));
  tape.Stop();
  EXPECT_THAT(tape.WatchedVariables(), ElementsAre(u));
  EXPECT_THAT(Fetch(tape.Gradient({y}, {u})), ElementsAre(4));
}

TEST_F(TapeTest, WhatIsBuiltInAPauseIsConstant) {
  const Output u = Variable("u", 2), x = Scalar(3);
  GradientTape tape(scope_, {.persistent = true});
  tape.Watch(x);
  Output constant;
  {
    const auto pause = tape.StopRecording();
    EXPECT_FALSE(tape.recording());
    constant = Read(u) * 3 * x;
  }
  EXPECT_TRUE(tape.recording());
  const Output q = constant * Read(u) * x;
  tape.Stop();
  // 18 u x with 18 fixed; the variable was watched when it was read again.
  EXPECT_THAT(Fetch(tape.Gradient({q}, {u, x})), ElementsAre(54, 36));
  EXPECT_THAT(Fetch(tape.Gradient({constant}, {u, x})), ElementsAre(kNone, kNone));
  const Output after = x * x;
  EXPECT_THAT(Fetch(tape.Gradient({after}, {x})), ElementsAre(kNone));
}

// Gradients do not reach a source by a path around the border.
TEST_F(TapeTest, PathsThroughWhatIsNotRecordedAreCut) {
  const Output x = Scalar(3);
  const Output before = x * x;
  GradientTape tape(scope_, {.persistent = true});
  tape.Watch(x);
  const Output y = before * x;
  tape.Watch(before);
  const Output z = before * y;
  tape.Stop();
  EXPECT_THAT(Fetch(tape.Gradient({y}, {x})), ElementsAre(9));
  EXPECT_THAT(Fetch(tape.Gradient({z}, {x})), ElementsAre(81));
  EXPECT_THAT(Fetch(tape.Gradient({z}, {before})), ElementsAre(27 + 27));
}

TEST_F(TapeTest, GoesOnAfterAStop) {
  const Output x = Scalar(3);
  GradientTape tape(scope_);
  tape.Watch(x);
  const Output y = x * x;
  tape.Stop();
  tape.Start();
  const Output z = y * x;
  tape.Stop();
  EXPECT_THAT(Fetch(tape.Gradient({z}, {x})), ElementsAre(27));
}

TEST_F(TapeTest, ResetForgets) {
  const Output x = Scalar(3), u = Variable("u", 2);
  GradientTape tape(scope_, {.persistent = true});
  tape.Watch(x);
  const Output y = x * x * Read(u);
  tape.Reset();
  EXPECT_TRUE(tape.recording());
  EXPECT_THAT(tape.WatchedVariables(), IsEmpty());
  const Output z = y * x;
  tape.Watch(x);
  const Output w = z * x;
  tape.Stop();
  EXPECT_THAT(Fetch(tape.Gradient({z}, {x})), ElementsAre(kNone));
  EXPECT_THAT(Fetch(tape.Gradient({w}, {x, u})), ElementsAre(54, kNone));
}

TEST_F(TapeTest, IntegersHaveNone) {
  const Output x = Scalar(3), i = ops::Const(scope_, 2);
  GradientTape tape(scope_, {.persistent = true});
  tape.Watch(x);
  tape.Watch(i);
  const Output y = ops::Cast(scope_, i, DType::kFloat) * 2;
  const Output z = ops::Cast(scope_, ops::Cast(scope_, x, DType::kInt32), DType::kFloat);
  tape.Stop();
  EXPECT_THAT(Fetch(tape.Gradient({y}, {i})), ElementsAre(kNone));
  EXPECT_THAT(Fetch(tape.Gradient({z}, {x})), ElementsAre(kNone));
}

TEST_F(TapeTest, NestedTapesGiveHigherDerivatives) {
  const Output x = Scalar(2);
  GradientTape third(scope_), second(scope_), first(scope_);
  for (GradientTape* tape : {&third, &second, &first}) tape->Watch(x);
  const Output y = x * x * x * x * x;
  first.Stop();
  const absl::StatusOr<Grads> dy = first.Gradient({y}, {x});
  EXPECT_THAT(Fetch(dy), ElementsAre(80));  // 5 x^4
  second.Stop();
  const absl::StatusOr<Grads> ddy = second.Gradient({(*dy)[0].dense()}, {x});
  EXPECT_THAT(Fetch(ddy), ElementsAre(160));  // 20 x^3
  third.Stop();
  EXPECT_THAT(Fetch(third.Gradient({(*ddy)[0].dense()}, {x})), ElementsAre(240));  // 60 x^2
}

// The program of TensorFlow's class comment: an inner gradient as part of the outer's target.
TEST_F(TapeTest, InnerGradientsAreRecordedByOuterTapes) {
  const Output x = Scalar(3);
  GradientTape outer(scope_);
  outer.Watch(x);
  const Output y = x * x;
  GradientTape inner(scope_);
  inner.Watch(y);
  const Output z = y * y;
  const absl::StatusOr<Grads> inner_grad = inner.Gradient({z}, {y, x});
  EXPECT_THAT(Fetch(inner_grad), ElementsAre(18, kNone));
  const Output target = y + (*inner_grad)[0].dense();  // x^2 + 2 x^2
  EXPECT_THAT(Fetch(outer.Gradient({target}, {x})), ElementsAre(18));
}

TEST_F(TapeTest, PersistentTapesRecordTheirOwnGradients) {
  const Output x = Scalar(2);
  GradientTape tape(scope_, {.persistent = true});
  tape.Watch(x);
  const Output y = x * x * x;
  const absl::StatusOr<Grads> dy = tape.Gradient({y}, {x});
  ASSERT_TRUE(dy.ok()) << dy.status();
  tape.Stop();
  EXPECT_THAT(Fetch(tape.Gradient({(*dy)[0].dense()}, {x})), ElementsAre(12));
}

// As in TensorFlow.
TEST_F(TapeTest, WatchedLate) {
  const Output a = Scalar(2), x = Scalar(3);
  GradientTape tape(scope_, {.persistent = true});
  const Output before = a * x;
  tape.Watch(a);
  const Output y = a * x;
  EXPECT_THAT(Fetch(tape.Gradient({y}, {x})), ElementsAre(kNone));
  tape.Watch(x);
  EXPECT_THAT(Fetch(tape.Gradient({y}, {x})), ElementsAre(2));
  EXPECT_THAT(Fetch(tape.Gradient({before}, {a, x})), ElementsAre(kNone, kNone));
}

TEST_F(TapeTest, AResultTakenInAPauseIsTheOnlyOne) {
  const Output x = Scalar(3);
  GradientTape tape(scope_);
  tape.Watch(x);
  const Output y = x * x;
  {
    const auto pause = tape.StopRecording();
    EXPECT_THAT(Fetch(tape.Gradient({y}, {x})), ElementsAre(6));
  }
  EXPECT_FALSE(tape.recording());
  EXPECT_EQ(tape.Gradient({y}, {x}).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(TapeTest, LoopsAreRecordedWhole) {
  const Output x = Scalar(3), a = Scalar(2), b = Scalar(1);
  GradientTape tape(scope_, {.persistent = true});
  tape.Watch({x, a});
  Output constant;
  {
    const auto pause = tape.StopRecording();
    constant = a * b;
  }
  const Outputs last =
      ops::For(scope_, 3, {x}, [&](const Scope&, Output, const Outputs& v) { return Outputs{v[0] * a * constant}; });
  ASSERT_TRUE(scope_.ok()) << scope_.status();
  tape.Stop();
  // x (a c)^3 with c = 2 fixed.
  EXPECT_THAT(Fetch(tape.Gradient({last[0]}, {x, a, b})), ElementsAre(64, 3 * 3 * 4 * 8, kNone));
}

TEST_F(TapeTest, OtherGraphsAreRefused) {
  Graph other;
  const Scope elsewhere(&other);
  const Output foreign = ops::Const(elsewhere, Tensor::Scalar(1.0f)), x = Scalar(3);
  GradientTape tape(scope_, {.persistent = true});
  tape.Watch(x);
  const Output y = x * x;
  EXPECT_THAT(ErrorOf(tape.Gradient({foreign}, {x})), HasSubstr("target 'Const:0' is of another graph"));
  EXPECT_THAT(ErrorOf(tape.Gradient({y}, {foreign})), HasSubstr("source 'Const:0' is of another graph"));
  EXPECT_TRUE(scope_.ok());
  tape.Watch(foreign);
  EXPECT_THAT(std::string(scope_.status().message()), HasSubstr("watched tensor 'Const:0' is of another graph"));
}

TEST_F(TapeTest, StatesThatDoNotFitAreErrorsOfTheScope) {
  const auto error = [](const std::function<void(GradientTape&)>& misuse) {
    Graph graph;
    const Scope scope(&graph);
    GradientTape tape(scope);
    misuse(tape);
    EXPECT_EQ(scope.status().code(), absl::StatusCode::kFailedPrecondition);
    return std::string(scope.status().message());
  };
  EXPECT_THAT(error([](GradientTape& tape) { tape.Start(); }), HasSubstr("recording already"));
  EXPECT_THAT(error([](GradientTape& tape) { tape.Stop(), tape.Stop(); }), HasSubstr("not recording"));
  EXPECT_THAT(error([](GradientTape& tape) { tape.Stop(), tape.Reset(); }), HasSubstr("cannot be reset"));
  EXPECT_THAT(error([](GradientTape& tape) {
                tape.Stop();
                const auto pause = tape.StopRecording();
              }),
              HasSubstr("not recording"));
}

// Only what the target depends on costs anything.
TEST_F(TapeTest, DeepGraphs) {
  const Output x = Scalar(1);
  GradientTape tape(scope_);
  tape.Watch(x);
  Output y = x;
  for (int i = 0; i < 20000; ++i) y = -y;
  tape.Stop();
  EXPECT_THAT(Fetch(tape.Gradient({y}, {x})), ElementsAre(1));
}

TEST_F(TapeTest, Jacobians) {
  const Output x = ops::Const(scope_, Tensor::Vector<float>({1, 2})), s = Scalar(3), other = Scalar(1);
  GradientTape tape(scope_, {.persistent = true});
  tape.Watch({x, s});
  const Output y = x * x * s;
  tape.Stop();
  const absl::StatusOr<Outputs> jacobians = tape.Jacobian(y, {x, other, s});
  ASSERT_TRUE(jacobians.ok()) << jacobians.status();
  EXPECT_THAT(Values((*jacobians)[0]), ElementsAre(6, 0, 0, 12));
  EXPECT_FALSE((*jacobians)[1]);
  EXPECT_THAT(Values((*jacobians)[2]), ElementsAre(1, 4));
  const absl::StatusOr<Outputs> zeros = tape.Jacobian(y, {other}, UnconnectedGradients::kZero);
  ASSERT_TRUE(zeros.ok()) << zeros.status();
  EXPECT_THAT(Values((*zeros)[0]), ElementsAre(0, 0));
}

TEST_F(TapeTest, BatchJacobians) {
  const Output x = ops::Const(scope_, Tensor::Of<float>({2, 2}, {1, 2, 3, 4}));
  GradientTape tape(scope_);
  tape.Watch(x);
  const Output y = x * x;
  tape.Stop();
  const absl::StatusOr<Output> jacobian = tape.BatchJacobian(y, x);
  ASSERT_TRUE(jacobian.ok()) << jacobian.status();
  EXPECT_EQ(jacobian->shape(), Shape({2, 2, 2}));
  EXPECT_THAT(Values(*jacobian), ElementsAre(2, 0, 0, 4, 6, 0, 0, 8));
}

}  // namespace
}  // namespace nabla

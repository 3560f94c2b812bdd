// Calls of functions with inputs from inside and outside of a branch: they are dead where one input is, and with them
// all that they compute, also from constants.
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nabla/graph/function.h"
#include "nabla/ops/cond.h"
#include "nabla/ops/lower_functional.h"
#include "nabla/ops/ops.h"
#include "nabla/ops/registration.h"
#include "nabla/ops/while.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/session.h"

namespace nabla {
namespace {

class CallsInBranchesTest : public ::testing::Test {
 protected:
  CallsInBranchesTest() : scope_(&graph_) {
    RegisterAllOps();
    RegisterAllKernels();
    RegisterFunctionalLowering();
    x_ = ops::Placeholder(scope_.Named("x"), DType::kFloat, {.shape = Shape::Scalar()});
    p_ = ops::Placeholder(scope_.Named("p"), DType::kBool, {.shape = Shape::Scalar()});
    choice_ = ops::Switch(scope_, x_, p_);
  }

  static Output EightFromConstants(const Scope& scope) {
    return ops::For(scope, 3, {ops::Const(scope, 1.0f)},
                    [](const Scope&, Output, const Outputs& state) { return Outputs{state[0] * 2.0f}; })[0];
  }

  // Of the true branch if p, and dead if not, with and without passes.
  void ExpectInBranch(Output result, float expected) {
    const Output y = ops::Merge(scope_, {result, choice_.output_false}).output;
    ASSERT_TRUE(scope_.ok()) << scope_.status();
    for (const int threads : {1, 2}) {
      for (const bool optimise : {true, false}) {
        SessionOptions options;
        options.num_threads = threads;
        if (!optimise) options.disabled_passes = {"all"};
        Session session(&graph_, options);
        for (const bool p : {false, true}) {
          const Feeds feeds = {{x_, Tensor::Scalar(3.0f)}, {p_, Tensor::Scalar(p)}};
          std::vector<Tensor> out;
          const absl::Status status = session.Run(feeds, {y}, &out);
          ASSERT_TRUE(status.ok()) << status;
          EXPECT_EQ(out[0].scalar<float>(), p ? expected : 3.0f) << "optimise " << optimise;
          EXPECT_EQ(session.Run(feeds, {result}, &out).ok(), p);
        }
      }
    }
  }

  Graph graph_;
  Scope scope_;
  Output x_, p_;
  ops::SwitchOutputs choice_;
};

TEST_F(CallsInBranchesTest, ThatAlsoWaitForANodeOutside) {
  const Function f =
      Function::Build(scope_, "f", {{DType::kFloat, Shape::Scalar()}},
                      [](const Scope& body, const Outputs&) { return Outputs{EightFromConstants(body)}; });
  const Output outside = ops::Neg(scope_, x_);
  ExpectInBranch(f.Call(scope_.WithControl({outside.node()}), {choice_.output_true})[0], 8.0f);
}

TEST_F(CallsInBranchesTest, WithTheFirstInputFromOutside) {
  const Function f = Function::Build(scope_, "f", {{DType::kFloat, Shape::Scalar()}, {DType::kFloat, Shape::Scalar()}},
                                     [](const Scope& body, const Outputs& in) {
                                       return Outputs{EightFromConstants(body), in[0] * in[0], in[0]};
                                     });
  const Outputs results = f.Call(scope_, {x_, choice_.output_true});
  ExpectInBranch(results[0], 8.0f);
  ExpectInBranch(results[1], 9.0f);
  ExpectInBranch(ops::Neg(scope_, results[2]), -3.0f);
}

TEST_F(CallsInBranchesTest, InCallsInLoopsAndConditionals) {
  const Function g =
      Function::Build(scope_, "g", {{DType::kFloat, Shape::Scalar()}},
                      [](const Scope& body, const Outputs&) { return Outputs{EightFromConstants(body)}; });
  const Function f =
      Function::Build(scope_, "f", {{DType::kFloat, Shape::Scalar()}, {DType::kFloat, Shape::Scalar()}},
                      [&](const Scope& body, const Outputs& in) {
                        const Outputs inner = ops::Cond(
                            body, ops::Less(body, in[0], 100.0f), [&](const Scope& s) { return g.Call(s, {in[0]}); },
                            [&](const Scope& s) { return Outputs{ops::Const(s, 1.0f)}; });
                        return ops::For(body, 2, {inner[0]}, [&](const Scope& s, Output, const Outputs& state) {
                          return Outputs{state[0] + g.Call(s, {in[0]})[0]};
                        });
                      });
  ExpectInBranch(f.Call(scope_, {x_, choice_.output_true})[0], 24.0f);
}

// While, If and Case are lowered by the same rule.
TEST_F(CallsInBranchesTest, OpsThatCallFunctions) {
  const std::vector<Function::Argument> two = {{DType::kFloat, Shape::Scalar()}, {DType::kFloat, Shape::Scalar()}};
  const Function seven = Function::Build(
      scope_, "seven", two, [](const Scope& body, const Outputs&) { return Outputs{ops::Const(body, 7.0f)}; });
  const Function small = Function::Build(
      scope_, "small", two, [](const Scope& body, const Outputs& in) { return Outputs{ops::Less(body, in[0], 5.0f)}; });
  const Function next = Function::Build(scope_, "next", two, [](const Scope& body, const Outputs& in) {
    return Outputs{in[0] + EightFromConstants(body), in[1]};
  });
  const Inputs in = {x_, choice_.output_true};
  const FunctionRef branch{seven.name(), nullptr};
  ExpectInBranch(ops::StatelessIf(scope_, ops::Less(scope_, x_, 5.0f), in, {DType::kFloat}, branch, branch)[0], 7.0f);
  ExpectInBranch(ops::StatelessCase(scope_, 0, in, {DType::kFloat}, std::vector<FunctionRef>{branch, branch})[0], 7.0f);
  ExpectInBranch(
      ops::StatelessWhile(scope_, in, FunctionRef{small.name(), nullptr}, FunctionRef{next.name(), nullptr})[0], 11.0f);
}

// More conditions than are kept apart for a node or a call.
TEST_F(CallsInBranchesTest, WithInputsFromManyBranches) {
  for (const int n : {20, 150}) {
    std::vector<Output> predicates;
    Inputs inputs = {x_};
    std::vector<Function::Argument> arguments = {{DType::kFloat, Shape::Scalar()}};
    for (int i = 0; i < n; ++i) {
      Output predicate = ops::Placeholder(scope_, DType::kBool, {.shape = Shape::Scalar()});
      predicates.push_back(predicate);
      // Of some it takes a long way to see which one it is.
      for (int k = 0; k < (i % 50 == 7 ? 1100 : 1); ++k) predicate = ops::Identity(scope_, predicate);
      inputs.push_back(ops::Switch(scope_, x_, predicate).output_true);
      arguments.push_back({DType::kFloat, Shape::Scalar()});
    }
    const Function f = Function::Build(
        scope_, "f", arguments, [](const Scope& body, const Outputs&) { return Outputs{EightFromConstants(body)}; });
    const Function g =
        Function::Build(scope_, "g", {{DType::kFloat, Shape::Scalar()}, {DType::kFloat, Shape::Scalar()}},
                        [](const Scope& body, const Outputs&) { return Outputs{EightFromConstants(body)}; });
    const Output of_branches = f.Call(scope_, inputs)[0];
    const Output of_their_sum = g.Call(scope_, {x_, ops::AddN(scope_, inputs)})[0];
    ASSERT_TRUE(scope_.ok()) << scope_.status();
    for (const bool optimise : {true, false}) {
      SessionOptions options;
      if (!optimise) options.disabled_passes = {"all"};
      Session session(&graph_, options);
      for (const int dead : {-1, 0, 7, n / 2, n - 1}) {
        Feeds feeds = {{x_, Tensor::Scalar(3.0f)}};
        for (int i = 0; i < n; ++i) feeds.push_back({predicates[i], Tensor::Scalar(i != dead)});
        for (const Output result : {of_branches, of_their_sum}) {
          std::vector<Tensor> out;
          const absl::Status status = session.Run(feeds, {result}, &out);
          EXPECT_EQ(status.ok(), dead < 0) << n << " branches, " << dead << " not taken: " << status;
          if (status.ok()) {
            EXPECT_EQ(out[0].scalar<float>(), 8.0f);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace nabla

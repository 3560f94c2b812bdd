// The stateful ops' generators live among a session's resources, under names that a graph from anywhere can take.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nabla/ops/ops.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/session.h"

namespace nabla {
namespace {

using ::testing::HasSubstr;

class RandomGeneratorsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    RegisterAllOps();
    RegisterAllKernels();
  }
  // A variable with the name of the random op below.
  Output Handle() {
    return ops::VarHandleOp(scope_, DType::kFloat, Shape({2}), {.container = "_random", .shared_name = "numbers"});
  }
  Output Numbers() { return ops::RandomUniform(scope_.Named("numbers"), {5}, DType::kFloat); }

  Graph graph_;
  Scope scope_{&graph_};
};

TEST_F(RandomGeneratorsTest, AVariableInTheirPlaceIsRefused) {
  Node* assign = ops::AssignVariableOp(scope_, Handle(), Tensor::Vector({1.0f, 2.0f}));
  Output x = Numbers();
  ASSERT_TRUE(scope_.ok()) << scope_.status();
  Session session(&graph_);
  std::vector<Tensor> values;
  ASSERT_TRUE(session.Run({}, {}, {assign}, nullptr).ok());
  absl::Status status = session.Run({}, {x}, &values);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("'numbers' in container '_random' is a Variable"));
}

TEST_F(RandomGeneratorsTest, TheyAreNoVariables) {
  Output x = Numbers();
  Output read = ops::ReadVariableOp(scope_, Handle(), DType::kFloat);
  ASSERT_TRUE(scope_.ok()) << scope_.status();
  Session session(&graph_);
  std::vector<Tensor> values;
  ASSERT_TRUE(session.Run({}, {x}, &values).ok());
  absl::Status status = session.Run({}, {read}, &values);
  EXPECT_THAT(std::string(status.message()), HasSubstr("expected a Variable"));
}

}  // namespace
}  // namespace nabla

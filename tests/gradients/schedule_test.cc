// Learning rates against TensorFlow's (tests/golden/optimizers.txt).
#include "nabla/gradients/schedule.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "nabla/ops/ops.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/session.h"

namespace nabla {
namespace {

class ScheduleTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    RegisterAllOps();
    RegisterAllKernels();
  }
  double At(Output rate, int64_t step) {
    EXPECT_TRUE(scope_.ok()) << scope_.status();
    std::vector<Tensor> values;
    const absl::Status status = session_.Run({{step_, Tensor::Scalar(step)}}, {rate}, &values);
    EXPECT_TRUE(status.ok()) << status;
    if (!status.ok()) return 0;
    EXPECT_EQ(values[0].rank(), 0);
    return rate.dtype() == DType::kDouble ? values[0].scalar<double>() : values[0].scalar<float>();
  }

  Graph graph_;
  Scope scope_{&graph_};
  Session session_{&graph_, {1}};
  Output step_ = ops::Placeholder(scope_, DType::kInt64, {.shape = Shape::Scalar()});
};

TEST_F(ScheduleTest, RatesAreTensorFlows) {
  const std::map<std::string, Output> rates = {
      {"ExponentialDecay", ExponentialDecay(scope_, 0.1, step_, 10, 0.7)},
      {"ExponentialDecayStaircase", ExponentialDecay(scope_, 0.1, step_, 10, 0.7, true)},
      {"InverseTimeDecay", InverseTimeDecay(scope_, 0.1, step_, 10, 0.5)},
      {"InverseTimeDecayStaircase", InverseTimeDecay(scope_, 0.1, step_, 10, 0.5, true)},
      {"PolynomialDecay", PolynomialDecay(scope_, 0.1, step_, 30)},
      {"PolynomialDecayCycle", PolynomialDecay(scope_, 0.1, step_, 30, 0.01, 2, true)},
      {"CosineDecay", CosineDecay(scope_, 0.1, step_, 40, 0.1)},
      {"CosineDecayRestarts", CosineDecayRestarts(scope_, 0.1, step_, 15, 2, 0.8, 0.1)},
      {"CosineDecayRestartsEqual", CosineDecayRestarts(scope_, 0.1, step_, 15, 1, 0.8)},
      {"PiecewiseConstant", PiecewiseConstant(scope_, step_, {10, 25}, {0.1, 0.05, 0.01})},
  };
  std::ifstream file("tests/golden/optimizers.txt");
  int compared = 0;
  for (std::string line, kind, name; std::getline(file, line);) {
    std::istringstream words(line);
    words >> kind;
    if (kind != "schedule") continue;
    int64_t step = 0;
    double want = 0;
    words >> name >> step >> want;
    EXPECT_NEAR(At(rates.at(name), step), want, 1e-7) << name << " at step " << step;
    ++compared;
  }
  EXPECT_EQ(compared, 120);
}

TEST_F(ScheduleTest, WarmUpLeadsIntoAnother) {
  const Output rate = WarmUp(scope_, PiecewiseConstant(scope_, step_, {6}, {0.4, 0.1}), step_, 4);
  const double want[] = {0, 0.1, 0.2, 0.3, 0.4, 0.4, 0.4, 0.1};
  for (int64_t step = 0; step < 8; ++step) EXPECT_NEAR(At(rate, step), want[step], 1e-7) << step;
}

TEST_F(ScheduleTest, TakesTheRatesType) {
  const Output rate = ExponentialDecay(scope_, Tensor::Scalar(0.1), step_, 1, 0.5);
  EXPECT_EQ(rate.dtype(), DType::kDouble);
  EXPECT_DOUBLE_EQ(At(rate, 3), 0.0125);
  EXPECT_DOUBLE_EQ(At(WarmUp(scope_, rate, step_, 4), 2), 0.0125);
}

TEST_F(ScheduleTest, RefusesBoundariesThatDoNotFit) {
  EXPECT_FALSE(PiecewiseConstant(scope_, step_, {1, 2}, {0.1, 0.2}));
  EXPECT_NE(scope_.status().message().find("2 rates for 2 boundaries"), absl::string_view::npos);
  const Scope fresh(&graph_);
  EXPECT_FALSE(PiecewiseConstant(fresh, step_, {2, 2}, {0.1, 0.2, 0.3}));
  EXPECT_NE(fresh.status().message().find("do not increase"), absl::string_view::npos);
}

}  // namespace
}  // namespace nabla

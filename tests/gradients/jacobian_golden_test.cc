// Jacobians and Hessians of models, against those of JAX and TensorFlow (tests/golden/make_jacobians.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "nabla/gradients/hessian.h"
#include "nabla/gradients/jacobian.h"
#include "nabla/gradients/jvp.h"
#include "nabla/tests/gradients/transform_test.h"

namespace nabla {
namespace {

struct Golden {
  Shape shape;
  std::vector<double> values;
};

Golden ReadGolden(const std::string& name) {
  std::ifstream file("tests/golden/jacobians.txt");
  Golden golden;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string first, dims;
    words >> first >> dims;
    if (first != name) continue;
    golden.shape = Shape::Scalar();
    for (absl::string_view dim : absl::StrSplit(dims, ',')) {
      int64_t size = 0;
      if (absl::SimpleAtoi(dim, &size)) golden.shape.AddDim(size);
    }
    for (double value; words >> value;) golden.values.push_back(value);
    return golden;
  }
  ADD_FAILURE() << "no " << name << " in jacobians.txt";
  return golden;
}

class JacobianGoldenTest : public TransformTest {
 protected:
  // sin(k + 1), sin(k + 2), ...
  Output Waves(int k, const Shape& shape) {
    Tensor tensor(DType::kDouble, shape);
    for (int64_t i = 0; i < tensor.num_elements(); ++i) tensor.data<double>()[i] = std::sin(k + 1.0 + i);
    return ops::Const(scope_, tensor);
  }

  void ExpectGolden(const std::string& name, Output output) {
    const Golden want = ReadGolden(name);
    const Tensor got = Value(output);
    ASSERT_EQ(got.shape(), want.shape);
    for (size_t i = 0; i < want.values.size(); ++i) {
      EXPECT_NEAR(got.flat<double>()[i], want.values[i], 1e-12 * std::max(1.0, std::abs(want.values[i])))
          << name << "[" << i << "]";
    }
  }

  Output Single(const absl::StatusOr<Outputs>& outputs) {
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_TRUE(report_.vectorized) << report_.why_not;
    return outputs.ok() ? (*outputs)[0] : Output();
  }

  Output Network(Output x) {
    const Output hidden = ops::Tanh(scope_, ops::MatMul(scope_, x, Waves(0, {4, 5})) + Waves(3, {5}));
    const Output relu = ops::Relu(scope_, ops::MatMul(scope_, hidden, Waves(7, {5, 6})));
    return ops::Softmax(scope_, ops::MatMul(scope_, relu, Waves(11, {6, 3})));
  }

  JacobianReport report_ = {true, ""};
};

TEST_F(JacobianGoldenTest, Network) {
  const Output x = Waves(1, {2, 4}), y = Network(x);
  ExpectGolden("network", Single(Jacobian(scope_, y, {x}, {.report = &report_})));
  const absl::StatusOr<Output> by_row = BatchJacobian(scope_, y, x, {.report = &report_});
  ASSERT_TRUE(by_row.ok()) << by_row.status();
  EXPECT_TRUE(report_.vectorized) << report_.why_not;
  ExpectGolden("network_batch", *by_row);
  ExpectGolden("network_jvp", Single(Jvp(scope_, {y}, {x}, {Waves(20, {2, 4})})));
}

TEST_F(JacobianGoldenTest, HessianOfLogisticRegression) {
  const Output w = Waves(5, {3}), labels = Doubles({0, 1, 1, 0, 1, 0});
  const Output column = ops::ExpandDims(scope_, w, 1);
  const Output logits = ops::Squeeze(scope_, ops::MatMul(scope_, Waves(2, {6, 3}), column), {.squeeze_dims = {1}});
  const Output loss =
      ops::Mean(scope_, ops::Softplus(scope_, logits) - labels * logits, 0) + 0.05 * ops::Sum(scope_, w * w, 0);
  ExpectGolden("logistic_hessian", Single(Hessians(scope_, {loss}, {w}, {.name = "hessian", .report = &report_})));
}

TEST_F(JacobianGoldenTest, Attention) {
  const Output x = Waves(8, {2, 4, 3});
  const auto mean = [&](Output t) { return ops::Mean(scope_, t, {-1}, {.keep_dims = true}); };
  const Output q = ops::BatchMatMulV2(scope_, x, Waves(0, {3, 4})), k = ops::BatchMatMulV2(scope_, x, Waves(4, {3, 4}));
  const Output scores = ops::BatchMatMulV2(scope_, q, k, {.adj_y = true}) / 2.0;
  const Output y = ops::BatchMatMulV2(scope_, ops::Softmax(scope_, scores), x);
  const Output centred = y - mean(y);
  const Output normal = centred * ops::Rsqrt(scope_, mean(centred * centred) + 1e-3);
  const absl::StatusOr<Output> jacobian = BatchJacobian(scope_, normal, x, {.report = &report_});
  ASSERT_TRUE(jacobian.ok()) << jacobian.status();
  EXPECT_TRUE(report_.vectorized) << report_.why_not;
  ExpectGolden("attention_batch", *jacobian);
}

TEST_F(JacobianGoldenTest, RosenbrocksValley) {
  const Output x = Doubles({-1.2, 1});
  const Output x0 = Index(x, 0), x1 = Index(x, 1);
  const Output valley = 100 * ops::Square(scope_, x1 - x0 * x0) + ops::Square(scope_, 1 - x0);
  const Output hessian = Single(Hessians(scope_, {valley}, {x}, {.name = "hessian", .report = &report_}));
  ExpectGolden("valley_hessian", hessian);
  ExpectGolden("valley_third", Single(Jacobian(scope_, hessian, {x}, {.report = &report_})));
}

}  // namespace
}  // namespace nabla

// What the tests of transforms share.
#ifndef NABLA_TESTS_GRADIENTS_TRANSFORM_TEST_H_
#define NABLA_TESTS_GRADIENTS_TRANSFORM_TEST_H_

#include <vector>

#include "nabla/tests/gradients/fixture.h"

namespace nabla {

class TransformTest : public GradientsTest {
 protected:
  Tensor Value(Output output, const Feeds& feeds = {}) {
    EXPECT_TRUE(scope_.ok()) << scope_.status();
    EXPECT_TRUE(output) << "no output";
    if (!scope_.ok() || !output) return Tensor(DType::kDouble, {0});
    Session session(&graph_);
    std::vector<Tensor> fetched(1);
    const absl::Status status = session.Run(feeds, {output}, &fetched);
    EXPECT_TRUE(status.ok()) << status;
    return status.ok() ? fetched[0] : Tensor(DType::kDouble, {0});
  }

  Output Matrix(int64_t rows, int64_t columns, const std::vector<double>& values) {
    return ops::Const(scope_, Tensor::Of<double>({rows, columns}, values));
  }
};

}  // namespace nabla

#endif  // NABLA_TESTS_GRADIENTS_TRANSFORM_TEST_H_

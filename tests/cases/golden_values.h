// What TensorFlow computed for the rows: tests/golden/op_values.txt, written by tests/golden/make_op_values.py.
#ifndef NABLA_TESTS_CASES_GOLDEN_VALUES_H_
#define NABLA_TESTS_CASES_GOLDEN_VALUES_H_

#include <string>
#include <vector>

#include "nabla/graph/tensor.h"

namespace nabla {

struct GoldenValues {
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  // One per differentiable input; invalid where TensorFlow gave None. Absent if it has no gradient for the op.
  bool has_gradients = false;
  std::vector<Tensor> gradients;
};

// nullptr if there are none for the row. Read once.
const GoldenValues* FindGoldenValues(const std::string& row);

}  // namespace nabla

#endif  // NABLA_TESTS_CASES_GOLDEN_VALUES_H_

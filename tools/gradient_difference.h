// How far a symbolic gradient is from central differences.
#ifndef NABLA_TOOLS_GRADIENT_DIFFERENCE_H_
#define NABLA_TOOLS_GRADIENT_DIFFERENCE_H_

#include <cstdint>
#include <random>
#include <string>

#include "absl/status/statusor.h"
#include "nabla/graph/scope.h"
#include "nabla/runtime/session.h"

namespace nabla::tools {

struct DifferenceOptions {
  int samples = 16;      // elements of x to vary, drawn by a fixed seed
  double step = 0;       // 0: 1e-2 for float, 1e-5 for double
  double tolerance = 0;  // relative; 0: 2e-2 for float, 1e-5 for double
};

struct Difference {
  bool agrees = true;
  double worst = 0;  // the largest relative difference
  // Where it is.
  int64_t element = 0;
  double symbolic = 0;
  double numeric = 0;
  int checked = 0;  // elements that were varied
  int64_t elements = 0;

  // "1.2e-09 over 16 of 100 elements", and where it is worst if they do not agree.
  std::string ToString() const;
};

// Compares `gradient`, the gradient of the double scalar `sum` by x, with differences; none stands for zeros. x is
// float or double and any tensor of the graph. Where sum has a kink or a jump, whatever lies between the slopes on
// either side agrees. The error is that of running the graph.
absl::StatusOr<Difference> CompareWithDifferences(Session* session, const Feeds& feeds, Output x, Output gradient,
                                                  Output sum, const DifferenceOptions& options);

// The sum of all elements of ys, as a double scalar.
Output SumInDouble(const Scope& scope, const Outputs& ys);

// Draws of the normal distribution, float or double; false for other types.
bool FillWithNormal(Tensor* tensor, std::mt19937* random);

}  // namespace nabla::tools

#endif  // NABLA_TOOLS_GRADIENT_DIFFERENCE_H_

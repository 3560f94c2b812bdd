// The parts of the math family, one file each; RegisterMathOps calls them.
#ifndef NABLA_OPS_MATH_OPS_H_
#define NABLA_OPS_MATH_OPS_H_

#include "nabla/graph/op_spec.h"

namespace nabla {

void RegisterMathUnaryOps(OpRegistry& registry);      // one argument, element by element
void RegisterMathBinaryOps(OpRegistry& registry);     // two, broadcast against each other; comparisons and logic
void RegisterMathReductionOps(OpRegistry& registry);  // Sum … ArgMin, scans, segments, AddN
void RegisterMathMatrixOps(OpRegistry& registry);     // matrix products

}  // namespace nabla

#endif  // NABLA_OPS_MATH_OPS_H_

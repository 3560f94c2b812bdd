// Arithmetic, comparison and indexing on Outputs, so that formulas read as formulas:
//
//   Output loss = ops::Mean(scope, Square(y - target), 0) + 0.5f * penalty;
//   Output row = Index(x, 3);
//
// Nodes go to Scope::Current(graph) of the first tensor operand (see ScopeGuard). A C++ number takes the other
// operand's dtype. A none operand gives none. Comparison with == and != keeps its C++ meaning (is it the same tensor?):
// use Equal and NotEqual.
#ifndef NABLA_OPS_OPERATORS_H_
#define NABLA_OPS_OPERATORS_H_

#include "nabla/graph/scope.h"

namespace nabla {

Output operator+(const Output& a, const Output& b);  // AddV2
Output operator-(const Output& a, const Output& b);  // Sub
Output operator*(const Output& a, const Output& b);  // Mul
Output operator/(const Output& a, const Output& b);  // RealDiv, FloorDiv for integers
Output operator+(const Output& a, double b);
Output operator-(const Output& a, double b);
Output operator*(const Output& a, double b);
Output operator/(const Output& a, double b);
Output operator+(double a, const Output& b);
Output operator-(double a, const Output& b);
Output operator*(double a, const Output& b);
Output operator/(double a, const Output& b);
Output operator-(const Output& a);  // Neg

Output operator<(const Output& a, const Output& b);   // Less
Output operator<=(const Output& a, const Output& b);  // LessEqual
Output operator>(const Output& a, const Output& b);   // Greater
Output operator>=(const Output& a, const Output& b);  // GreaterEqual
Output operator<(const Output& a, double b);
Output operator<=(const Output& a, double b);
Output operator>(const Output& a, double b);
Output operator>=(const Output& a, double b);

// Logic has no operators: !x asks whether x is none.
Output Not(const Output& a);                   // LogicalNot
Output And(const Output& a, const Output& b);  // LogicalAnd
Output Or(const Output& a, const Output& b);   // LogicalOr

// x[i]: StridedSlice that removes the first axis; negative counts from the end.
Output Index(const Output& x, int64_t i);
// x[begin:end] along the first axis; end 0 means "to the end" when begin is negative, as does INT64_MAX always.
Output SliceRows(const Output& x, int64_t begin, int64_t end);

}  // namespace nabla

#endif  // NABLA_OPS_OPERATORS_H_

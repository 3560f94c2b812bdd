#include "nabla/ops/operators.h"

#include <limits>

#include "nabla/ops/builders.h"
#include "nabla/ops/const.h"

namespace nabla {
namespace {

using BinaryBuilder = Output (*)(const Scope& scope, Input a, Input b);

// A none operand gives none.
Output Apply(BinaryBuilder build, const Output& a, const Output& b) {
  if (!a || !b) return {};
  return build(Scope::Current(a.graph()), a, b);
}

Output Apply(BinaryBuilder build, const Output& a, double b) {
  if (!a) return {};
  return build(Scope::Current(a.graph()), a, b);
}

Output Apply(BinaryBuilder build, double a, const Output& b) {
  if (!b) return {};
  return build(Scope::Current(b.graph()), a, b);
}

BinaryBuilder Division(const Output& operand) {
  return operand && IsInteger(operand.dtype()) ? ops::FloorDiv : ops::RealDiv;
}

}  // namespace

Output operator+(const Output& a, const Output& b) { return Apply(ops::AddV2, a, b); }
Output operator-(const Output& a, const Output& b) { return Apply(ops::Sub, a, b); }
Output operator*(const Output& a, const Output& b) { return Apply(ops::Mul, a, b); }
Output operator/(const Output& a, const Output& b) { return Apply(Division(a), a, b); }
Output operator+(const Output& a, double b) { return Apply(ops::AddV2, a, b); }
Output operator-(const Output& a, double b) { return Apply(ops::Sub, a, b); }
Output operator*(const Output& a, double b) { return Apply(ops::Mul, a, b); }
Output operator/(const Output& a, double b) { return Apply(Division(a), a, b); }
Output operator+(double a, const Output& b) { return Apply(ops::AddV2, a, b); }
Output operator-(double a, const Output& b) { return Apply(ops::Sub, a, b); }
Output operator*(double a, const Output& b) { return Apply(ops::Mul, a, b); }
Output operator/(double a, const Output& b) { return Apply(Division(b), a, b); }

Output operator-(const Output& a) { return a ? ops::Neg(Scope::Current(a.graph()), a) : Output(); }

Output operator<(const Output& a, const Output& b) { return Apply(ops::Less, a, b); }
Output operator<=(const Output& a, const Output& b) { return Apply(ops::LessEqual, a, b); }
Output operator>(const Output& a, const Output& b) { return Apply(ops::Greater, a, b); }
Output operator>=(const Output& a, const Output& b) { return Apply(ops::GreaterEqual, a, b); }
Output operator<(const Output& a, double b) { return Apply(ops::Less, a, b); }
Output operator<=(const Output& a, double b) { return Apply(ops::LessEqual, a, b); }
Output operator>(const Output& a, double b) { return Apply(ops::Greater, a, b); }
Output operator>=(const Output& a, double b) { return Apply(ops::GreaterEqual, a, b); }

Output Not(const Output& a) { return a ? ops::LogicalNot(Scope::Current(a.graph()), a) : Output(); }
Output And(const Output& a, const Output& b) { return Apply(ops::LogicalAnd, a, b); }
Output Or(const Output& a, const Output& b) { return Apply(ops::LogicalOr, a, b); }

Output Index(const Output& x, int64_t i) {
  if (!x) return {};
  // x[-1] ends at the end of the axis, which has no negative number; the shrunk axis ignores its end anyway.
  const int64_t end = i == std::numeric_limits<int64_t>::max() ? i : i + 1;
  const Tensor one = Tensor::Vector<int64_t>({1});
  return ops::StridedSlice(Scope::Current(x.graph()), x, Tensor::Vector<int64_t>({i}), Tensor::Vector<int64_t>({end}),
                           one, {.shrink_axis_mask = 1});
}

Output SliceRows(const Output& x, int64_t begin, int64_t end) {
  if (!x) return {};
  const bool to_the_end = end == std::numeric_limits<int64_t>::max() || (end == 0 && begin < 0);
  const Tensor one = Tensor::Vector<int64_t>({1});
  return ops::StridedSlice(Scope::Current(x.graph()), x, Tensor::Vector<int64_t>({begin}),
                           Tensor::Vector<int64_t>({to_the_end ? 0 : end}), one, {.end_mask = to_the_end ? 1 : 0});
}

}  // namespace nabla

// Floating-point numbers as decimal digits.
#ifndef NABLA_GRAPH_DECIMAL_H_
#define NABLA_GRAPH_DECIMAL_H_

#include <cstdint>
#include <string>

#include "nabla/graph/dtype.h"

namespace nabla {

// A finite number's shortest decimal digits, or the name of one that is not finite.
struct Decimal {
  double value = 0;
  bool negative = false;  // of -0 too
  bool finite = true;
  // d1 d2 …: the value is d1.d2… * 10^exponent. "0" for zero, otherwise no zeros at the end.
  std::string digits;
  int exponent = 0;

  // "-12.5"; without a fraction "12." (point = true) or "12".
  std::string Positional(bool point) const;
  // "-1.25e+01" with at least `min_fraction` digits after the point. Those beyond the shortest ones are the value's
  // own, as NumPy prints them. No fraction: "1e+01", or "1.e+01" if `point`.
  std::string Scientific(int min_fraction, bool point) const;
};

// Of a float, double, half, bfloat16 or float8 at `element`.
Decimal ToDecimal(DType dtype, const void* element);

// float8 types and the 16-bit ones as float, exactly.
float NarrowToFloat(DType dtype, uint16_t bits);

}  // namespace nabla

#endif  // NABLA_GRAPH_DECIMAL_H_

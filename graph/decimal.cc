#include "nabla/graph/decimal.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "nabla/graph/float16.h"

namespace nabla {
namespace {

// "1.25e-03" into digits and exponent.
void SplitScientific(const char* begin, const char* end, Decimal* decimal) {
  const char* p = begin;
  if (*p == '-') ++p;
  for (; p < end && *p != 'e'; ++p) {
    if (*p != '.') decimal->digits += *p;
  }
  while (decimal->digits.size() > 1 && decimal->digits.back() == '0') decimal->digits.pop_back();
  ++p;
  if (p < end && *p == '+') ++p;
  std::from_chars(p, end, decimal->exponent);
}

// The shortest decimal that is nearer to the value of the positive number `bits` than to its neighbours', or as near
// where rounding to even would come back.
void ShortestNarrow(DType dtype, uint16_t bits, Decimal* decimal) {
  const double value = NarrowToFloat(dtype, bits);
  const double below = NarrowToFloat(dtype, static_cast<uint16_t>(bits - 1));
  double above = NarrowToFloat(dtype, static_cast<uint16_t>(bits + 1));
  if (!std::isfinite(above) || above < value) above = value + (value - below);
  const double low = (value + below) / 2;
  const double high = (value + above) / 2;
  const bool even = (bits & 1) == 0;
  char text[64];
  for (int precision = 0; precision < 40; ++precision) {
    // Where the value lies midway between two decimals, printf takes the even one; the other may be the one that fits.
    for (const double candidate : {value, std::nextafter(value, above)}) {
      const int length = std::snprintf(text, sizeof(text), "%.*e", precision, candidate);
      const double read = std::strtod(text, nullptr);
      if ((read > low && read < high) || (even && (read == low || read == high))) {
        SplitScientific(text, text + length, decimal);
        return;
      }
    }
  }
}

// A float of a byte or less.
struct TinyFormat {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  enum {
    kIeee,          // infinities and NaNs have the largest exponent
    kOneNan,        // all ones; no infinities
    kNoNan,         // every bit pattern is a number
    kUnsignedZero,  // the NaN is what would be -0; no infinities
  } special;
};

float TinyToFloat(const TinyFormat& format, uint8_t bits) {
  const int mantissa = bits & ((1 << format.mantissa_bits) - 1);
  const int exponent = (bits >> format.mantissa_bits) & ((1 << format.exponent_bits) - 1);
  const int sign_bit = 1 << (format.mantissa_bits + format.exponent_bits);
  const float sign = (bits & sign_bit) != 0 ? -1.0f : 1.0f;
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  if (format.special == TinyFormat::kUnsignedZero && bits == sign_bit) return kNan;
  if (exponent == (1 << format.exponent_bits) - 1) {
    if (format.special == TinyFormat::kIeee) {
      return mantissa == 0 ? sign * std::numeric_limits<float>::infinity() : kNan;
    }
    if (format.special == TinyFormat::kOneNan && mantissa == (1 << format.mantissa_bits) - 1) return kNan;
  }
  const int scale = -format.bias - format.mantissa_bits;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(mantissa), 1 + scale);
  return sign * std::ldexp(static_cast<float>(mantissa + (1 << format.mantissa_bits)), exponent + scale);
}

template <typename T>
void ShortestWide(T value, Decimal* decimal) {
  char text[64];
  const auto result = std::to_chars(text, text + sizeof(text), value, std::chars_format::scientific);
  SplitScientific(text, result.ptr, decimal);
}

}  // namespace

float NarrowToFloat(DType dtype, uint16_t bits) {
  switch (dtype) {
    case DType::kHalf:
      return static_cast<float>(Half::FromBits(bits));
    case DType::kBFloat16:
      return static_cast<float>(BFloat16::FromBits(bits));
    case DType::kFloat8E5M2:
      return TinyToFloat({5, 2, 15, TinyFormat::kIeee}, static_cast<uint8_t>(bits));
    case DType::kFloat8E4M3FN:
      return TinyToFloat({4, 3, 7, TinyFormat::kOneNan}, static_cast<uint8_t>(bits));
    case DType::kFloat8E4M3FNUZ:
      return TinyToFloat({4, 3, 8, TinyFormat::kUnsignedZero}, static_cast<uint8_t>(bits));
    case DType::kFloat8E4M3B11FNUZ:
      return TinyToFloat({4, 3, 11, TinyFormat::kUnsignedZero}, static_cast<uint8_t>(bits));
    case DType::kFloat8E5M2FNUZ:
      return TinyToFloat({5, 2, 16, TinyFormat::kUnsignedZero}, static_cast<uint8_t>(bits));
    case DType::kFloat4E2M1FN:
      return TinyToFloat({2, 1, 1, TinyFormat::kNoNan}, static_cast<uint8_t>(bits));
    default:
      return 0;
  }
}

Decimal ToDecimal(DType dtype, const void* element) {
  Decimal decimal;
  uint16_t bits = 0;  // of a narrow type, without its sign
  if (dtype == DType::kFloat) {
    float value;
    std::memcpy(&value, element, sizeof(value));
    decimal.value = value;
  } else if (dtype == DType::kDouble) {
    std::memcpy(&decimal.value, element, sizeof(decimal.value));
  } else {
    const size_t size = DTypeSize(dtype);
    std::memcpy(&bits, element, size);
    decimal.value = NarrowToFloat(dtype, bits);
    bits &= dtype == DType::kFloat4E2M1FN ? 0x07 : size == 1 ? 0x7f : 0x7fff;
  }
  decimal.negative = std::signbit(decimal.value);
  if (std::isnan(decimal.value)) {
    decimal.finite = false;
    decimal.negative = false;
    decimal.digits = "nan";
  } else if (std::isinf(decimal.value)) {
    decimal.finite = false;
    decimal.digits = "inf";
  } else if (decimal.value == 0) {
    decimal.digits = "0";
  } else if (dtype == DType::kFloat) {
    ShortestWide(static_cast<float>(decimal.value), &decimal);
  } else if (dtype == DType::kDouble) {
    ShortestWide(decimal.value, &decimal);
  } else {
    ShortestNarrow(dtype, bits, &decimal);
  }
  return decimal;
}

std::string Decimal::Positional(bool point) const {
  std::string text = negative ? "-" : "";
  if (!finite) return text + digits;
  const int count = static_cast<int>(digits.size());
  const int whole = exponent + 1;  // digits before the point
  if (whole <= 0) {
    text += "0.";
    text.append(-whole, '0');
    text += digits;
    if (digits == "0") text.resize(text.size() - 1 - (point ? 0 : 1));
    return text;
  }
  text.append(digits, 0, whole);
  if (count < whole) text.append(whole - count, '0');
  if (count > whole) {
    text += '.';
    text.append(digits, whole, std::string::npos);
  } else if (point) {
    text += '.';
  }
  return text;
}

std::string Decimal::Scientific(int min_fraction, bool point) const {
  if (!finite) return Positional(false);
  std::string mantissa(1, digits[0]);
  int shown_exponent = exponent;
  const int fraction = static_cast<int>(digits.size()) - 1;
  if (fraction < min_fraction) {
    char text[512];
    const int length = std::snprintf(text, sizeof(text), "%.*e", min_fraction, std::fabs(value));
    const absl::string_view all(text, length);
    mantissa = std::string(all.substr(0, all.find('e')));
    std::from_chars(text + mantissa.size() + (text[mantissa.size() + 1] == '+' ? 2 : 1), text + length, shown_exponent);
  } else if (fraction > 0) {
    absl::StrAppend(&mantissa, ".", digits.substr(1));
  } else if (point) {
    mantissa += '.';
  }
  const int magnitude = std::abs(shown_exponent);
  return absl::StrCat(negative ? "-" : "", mantissa, shown_exponent < 0 ? "e-" : "e+", magnitude < 10 ? "0" : "",
                      magnitude);
}

}  // namespace nabla

#include "nabla/graph/float16.h"

namespace nabla {
namespace float16_internal {
namespace {

uint32_t Bits(float value) {
  uint32_t word;
  std::memcpy(&word, &value, sizeof(word));
  return word;
}

float FromBits(uint32_t word) {
  float value;
  std::memcpy(&value, &word, sizeof(value));
  return value;
}

}  // namespace

uint16_t FloatToHalfBits(float value) {
  constexpr uint32_t kInfinity = 0x7f800000u;
  constexpr uint32_t kTooLarge = (127u + 16u) << 23;        // 2^16: infinity in half
  constexpr uint32_t kSmallestNormal = (127u - 14u) << 23;  // 2^-14
  const uint32_t word = Bits(value);
  const uint32_t sign = (word >> 16) & 0x8000u;
  uint32_t magnitude = word & 0x7fffffffu;
  if (magnitude >= kTooLarge) {
    if (magnitude <= kInfinity) return static_cast<uint16_t>(sign | 0x7c00u);
    // A NaN: quiet, with what fits of its payload.
    return static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x1ffu));
  }
  if (magnitude < kSmallestNormal) {
    // Adding 0.5 lines the subnormal's 10 bits up with the float's last 10, rounding to nearest even on the way.
    const float aligned = FromBits(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (Bits(aligned) - Bits(0.5f)));
  }
  // Re-bias the exponent and round to nearest even; a carry may run into the exponent, up to infinity.
  magnitude += ((15u - 127u) << 23) + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<uint16_t>(sign | (magnitude >> 13));
}

float HalfBitsToFloat(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1fu;
  const uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 0x1f) return FromBits(sign | 0x7f800000u | (mantissa << 13));
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return FromBits(sign | Bits(magnitude));
  }
  return FromBits(sign | ((exponent + 127u - 15u) << 23) | (mantissa << 13));
}

}  // namespace float16_internal
}  // namespace nabla

// IEEE half and bfloat16 as storage types: arithmetic is done by converting to float, which is exact one way and
// rounds to nearest even on the way back.
#ifndef NABLA_GRAPH_FLOAT16_H_
#define NABLA_GRAPH_FLOAT16_H_

#include <cstdint>
#include <cstring>

namespace nabla {

namespace float16_internal {
uint16_t FloatToHalfBits(float value);
float HalfBitsToFloat(uint16_t bits);
}  // namespace float16_internal

// IEEE 754 binary16.
struct Half {
  uint16_t bits = 0;

  Half() = default;
  explicit Half(float value) : bits(float16_internal::FloatToHalfBits(value)) {}
  explicit operator float() const { return float16_internal::HalfBitsToFloat(bits); }
  static Half FromBits(uint16_t bits) {
    Half h;
    h.bits = bits;
    return h;
  }
  friend bool operator==(Half a, Half b) { return static_cast<float>(a) == static_cast<float>(b); }
  friend bool operator<(Half a, Half b) { return static_cast<float>(a) < static_cast<float>(b); }
};

// The upper half of an IEEE binary32.
struct BFloat16 {
  uint16_t bits = 0;

  BFloat16() = default;
  explicit BFloat16(float value) {
    uint32_t word;
    std::memcpy(&word, &value, sizeof(word));
    if ((word & 0x7fffffffu) > 0x7f800000u) {
      bits = static_cast<uint16_t>((word >> 16) | 0x40u);  // keep a NaN a (quiet) NaN
    } else {
      bits = static_cast<uint16_t>((word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
    }
  }
  explicit operator float() const {
    uint32_t word = static_cast<uint32_t>(bits) << 16;
    float value;
    std::memcpy(&value, &word, sizeof(value));
    return value;
  }
  static BFloat16 FromBits(uint16_t bits) {
    BFloat16 b;
    b.bits = bits;
    return b;
  }
  friend bool operator==(BFloat16 a, BFloat16 b) { return static_cast<float>(a) == static_cast<float>(b); }
  friend bool operator<(BFloat16 a, BFloat16 b) { return static_cast<float>(a) < static_cast<float>(b); }
};

}  // namespace nabla

#endif  // NABLA_GRAPH_FLOAT16_H_

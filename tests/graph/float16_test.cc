#include "nabla/graph/float16.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "gtest/gtest.h"

namespace nabla {
namespace {

// What the 16 bits mean, straight from the definition.
double HalfValue(uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int mantissa = bits & 1023;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) return mantissa == 0 ? sign * HUGE_VAL : std::nan("");
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

uint32_t FloatBits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

TEST(HalfTest, EveryValueConvertsToFloatAndBack) {
  for (int bits = 0; bits < 65536; ++bits) {
    const Half half = Half::FromBits(static_cast<uint16_t>(bits));
    const float value = static_cast<float>(half);
    const double expected = HalfValue(half.bits);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(value)) << bits;
      EXPECT_TRUE(std::isnan(static_cast<float>(Half(value)))) << bits;
    } else {
      EXPECT_EQ(value, expected) << bits;
      EXPECT_EQ(std::signbit(value), (bits & 0x8000) != 0);
      EXPECT_EQ(Half(value).bits, bits);
    }
  }
}

// Between each two neighbours: the midpoint goes to the even one, anything off it to the nearer one.
TEST(HalfTest, RoundsToNearestEven) {
  for (int bits = 0; bits < 0x7c00; ++bits) {
    const double low = HalfValue(static_cast<uint16_t>(bits));
    // The largest finite value's upper neighbour would be 65536, if it were not infinite.
    const double high = bits == 0x7bff ? 65536.0 : HalfValue(static_cast<uint16_t>(bits + 1));
    const float middle = static_cast<float>((low + high) / 2);
    ASSERT_EQ(middle, (low + high) / 2);
    const int even = bits % 2 == 0 ? bits : bits + 1;
    EXPECT_EQ(Half(middle).bits, even);
    EXPECT_EQ(Half(-middle).bits, even | 0x8000);
    EXPECT_EQ(Half(std::nextafter(middle, 0.0f)).bits, bits);
    EXPECT_EQ(Half(std::nextafter(middle, 1e9f)).bits, bits + 1);
  }
}

TEST(HalfTest, LargeAndSmallFloats) {
  EXPECT_EQ(Half(65519.0f).bits, 0x7bff);
  EXPECT_EQ(Half(65520.0f).bits, 0x7c00);
  EXPECT_EQ(Half(std::numeric_limits<float>::max()).bits, 0x7c00);
  EXPECT_EQ(Half(-std::numeric_limits<float>::infinity()).bits, 0xfc00);
  EXPECT_EQ(Half(std::numeric_limits<float>::denorm_min()).bits, 0);
  EXPECT_EQ(Half(-1e-20f).bits, 0x8000);
  // A NaN whose payload lies in the bits that are lost must not become infinity.
  float nan;
  const uint32_t nan_bits = 0x7f800001;
  std::memcpy(&nan, &nan_bits, sizeof(nan));
  EXPECT_TRUE(std::isnan(static_cast<float>(Half(nan))));
}

TEST(HalfTest, ComparesByValue) {
  EXPECT_TRUE(Half(0.0f) == Half(-0.0f));
  EXPECT_FALSE(Half::FromBits(0x7e00) == Half::FromBits(0x7e00));
  EXPECT_TRUE(Half(-2.0f) < Half(1.0f));
  EXPECT_FALSE(Half(1.0f) < Half(1.0f));
}

TEST(BFloat16Test, EveryValueConvertsToFloatAndBack) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const BFloat16 b = BFloat16::FromBits(static_cast<uint16_t>(bits));
    const float value = static_cast<float>(b);
    EXPECT_EQ(FloatBits(value), bits << 16);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(value))));
    } else {
      EXPECT_EQ(BFloat16(value).bits, bits);
    }
  }
}

TEST(BFloat16Test, RoundsToNearestEven) {
  EXPECT_EQ(BFloat16(1.0f).bits, 0x3f80);
  EXPECT_EQ(BFloat16(1.0f + 0x1p-8f).bits, 0x3f80);             // midway, down to even
  EXPECT_EQ(BFloat16(1.0f + 0x1p-8f + 0x1p-20f).bits, 0x3f81);  // above it
  EXPECT_EQ(BFloat16(1.0f + 0x3p-8f).bits, 0x3f82);             // midway, up to even
  EXPECT_EQ(BFloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
  EXPECT_EQ(BFloat16(-std::numeric_limits<float>::infinity()).bits, 0xff80);
  float nan;
  const uint32_t nan_bits = 0xff800001;
  std::memcpy(&nan, &nan_bits, sizeof(nan));
  EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(nan))));
}

}  // namespace
}  // namespace nabla

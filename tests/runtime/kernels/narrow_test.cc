// Arrays of half and bfloat16 convert as single numbers do: all of them one way, every kind of float the other.
#include "nabla/runtime/kernels/narrow.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "nabla/graph/float16.h"

namespace nabla {
namespace {

template <typename T>
void CheckToFloat(DType dtype) {
  std::vector<T> narrow;
  for (int bits = 0; bits < 65536; ++bits) narrow.push_back(T::FromBits(static_cast<uint16_t>(bits)));
  std::vector<float> wide(narrow.size());
  NarrowToFloat(dtype, narrow.data(), wide.data(), static_cast<int64_t>(narrow.size()));
  for (size_t i = 0; i < narrow.size(); ++i) {
    const float want = static_cast<float>(narrow[i]);
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(wide[i])) << i;
    } else {
      EXPECT_EQ(std::memcmp(&wide[i], &want, sizeof(want)), 0) << i;
    }
  }
}

template <typename T>
void CheckFromFloat(DType dtype) {
  // A step that is odd and not a power of two meets every exponent, and ties among the significands.
  std::vector<float> wide;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 2017) {
    const uint32_t word = static_cast<uint32_t>(bits);
    float value;
    std::memcpy(&value, &word, sizeof(value));
    wide.push_back(value);
  }
  for (int i = 0; i < 4000; ++i)
    wide.push_back(static_cast<float>(i) / 4096 * 0x1p-14f);  // denormals of half, and ties
  std::vector<T> narrow(wide.size());
  FloatToNarrow(dtype, wide.data(), narrow.data(), static_cast<int64_t>(wide.size()));
  for (size_t i = 0; i < wide.size(); ++i) {
    if (std::isnan(wide[i])) {
      EXPECT_TRUE(std::isnan(static_cast<float>(narrow[i]))) << wide[i];
    } else {
      ASSERT_EQ(narrow[i].bits, T(wide[i]).bits) << wide[i];
    }
  }
}

TEST(NarrowTest, EveryHalf) { CheckToFloat<Half>(DType::kHalf); }
TEST(NarrowTest, EveryBFloat16) { CheckToFloat<BFloat16>(DType::kBFloat16); }
TEST(NarrowTest, FloatsToHalf) { CheckFromFloat<Half>(DType::kHalf); }
TEST(NarrowTest, FloatsToBFloat16) { CheckFromFloat<BFloat16>(DType::kBFloat16); }

}  // namespace
}  // namespace nabla

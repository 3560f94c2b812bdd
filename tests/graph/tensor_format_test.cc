#include "nabla/graph/tensor_format.h"

#include <complex>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nabla/graph/tensor.h"

namespace nabla {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Tensor Iota(Shape shape, float step = 1) {
  Tensor t(DType::kFloat, shape);
  for (int64_t i = 0; i < t.num_elements(); ++i) t.data<float>()[i] = static_cast<float>(i) * step;
  return t;
}

Tensor Bits8(DType dtype, std::vector<uint8_t> bits) {
  Tensor t(dtype, {static_cast<int64_t>(bits.size())});
  std::copy(bits.begin(), bits.end(), t.data<uint8_t>());
  return t;
}

TEST(ShortestDigitsTest, Doubles) {
  EXPECT_EQ(ShortestDigits(0.0), "0");
  EXPECT_EQ(ShortestDigits(-0.0), "-0");
  EXPECT_EQ(ShortestDigits(0.1), "0.1");
  EXPECT_EQ(ShortestDigits(-2.0), "-2");
  EXPECT_EQ(ShortestDigits(1.0 / 3), "0.3333333333333333");
  EXPECT_EQ(ShortestDigits(1e15), "1000000000000000");
  EXPECT_EQ(ShortestDigits(1e16), "1e+16");
  EXPECT_EQ(ShortestDigits(1.25e300), "1.25e+300");
  EXPECT_EQ(ShortestDigits(0.00001), "0.00001");
  EXPECT_EQ(ShortestDigits(1e-6), "1e-06");
  EXPECT_EQ(ShortestDigits(5e-324), "5e-324");
  EXPECT_EQ(ShortestDigits(kInf), "inf");
  EXPECT_EQ(ShortestDigits(-kInf), "-inf");
  EXPECT_EQ(ShortestDigits(-kNan), "nan");
}

TEST(ShortestDigitsTest, NarrowTypesNeedFewerDigits) {
  EXPECT_EQ(ShortestDigits(0.1f), "0.1");
  EXPECT_EQ(ShortestDigits(16777216.0f), "16777216");
  EXPECT_EQ(ShortestDigits(Half(0.1f)), "0.1");
  EXPECT_EQ(ShortestDigits(Half(65504.0f)), "65500");
  EXPECT_EQ(ShortestDigits(Half::FromBits(1)), "6e-08");
  EXPECT_EQ(ShortestDigits(Half(0.015625f)), "0.01563");  // midway between two decimals, of which only one will do
  EXPECT_EQ(ShortestDigits(BFloat16(0.1f)), "0.1");
  EXPECT_EQ(ShortestDigits(BFloat16(3.1415926f)), "3.14");
  EXPECT_EQ(ShortestDigits(BFloat16::FromBits(0x7f80)), "inf");
}

TEST(ShortestDigitsTest, EveryNarrowValueReadsBack) {
  for (int bits = 0; bits < 65536; ++bits) {
    const Half half = Half::FromBits(static_cast<uint16_t>(bits));
    const BFloat16 brain = BFloat16::FromBits(static_cast<uint16_t>(bits));
    const std::string half_text = ShortestDigits(half);
    const std::string brain_text = ShortestDigits(brain);
    if (half_text != "nan") {
      EXPECT_EQ(Half(std::strtof(half_text.c_str(), nullptr)).bits, bits) << half_text;
    }
    if (brain_text != "nan") {
      EXPECT_EQ(BFloat16(std::strtof(brain_text.c_str(), nullptr)).bits, bits) << brain_text;
    }
  }
}

TEST(PythonBytesTest, Escapes) {
  EXPECT_EQ(PythonBytes("abc"), "b'abc'");
  EXPECT_EQ(PythonBytes(""), "b''");
  EXPECT_EQ(PythonBytes(absl::string_view("\0\x7f\xff\\\n\t\r", 7)), R"(b'\x00\x7f\xff\\\n\t\r')");
  EXPECT_EQ(PythonBytes("it's"), R"(b"it's")");
  EXPECT_EQ(PythonBytes("'\""), R"(b'\'"')");
}

TEST(ToStringTest, OneLine) {
  EXPECT_EQ(Iota({2, 3}).ToString(), "float [2,3] [[0 1 2] [3 4 5]]");
  EXPECT_EQ(Tensor::Scalar(0.5f).ToString(), "float [] 0.5");
  EXPECT_EQ(Tensor::Vector<double>({1.5, kNan, -kInf}).ToString(), "double [3] [1.5 nan -inf]");
  EXPECT_EQ(Tensor::Zeros(DType::kInt32, {0, 3}).ToString(), "int32 [0,3] []");
  EXPECT_EQ(Tensor::Vector<bool>({true, false}).ToString(), "bool [2] [True False]");
  EXPECT_EQ(Tensor::Scalar<std::string>("a\n").ToString(), R"(string [] b'a\n')");
  EXPECT_EQ(Tensor::Scalar(std::complex<float>(1, -2.5)).ToString(), "complex64 [] 1-2.5j");
  EXPECT_EQ(Iota({100}).ToString(10), "float [100] [0 1 2 ... 97 98 99]");
}

TEST(ToStringTest, Elision) {
  EXPECT_EQ(Iota({7}).ToString(7), "float [7] [0 1 2 3 4 5 6]");
  EXPECT_EQ(Iota({7}).ToString(6), "float [7] [0 1 2 ... 4 5 6]");
  // Six are as short as three, dots and three.
  EXPECT_EQ(Iota({6}).ToString(5), "float [6] [0 1 2 3 4 5]");
  EXPECT_EQ(Iota({10, 2}).ToString(5), "float [10,2] [[0 1] [2 3] [4 5] ... [14 15] [16 17] [18 19]]");
}

// The expected texts below are what NumPy 2.4 prints with floatmode='unique'.
TEST(ValuesToStringTest, FloatsLineUpAtThePoint) {
  EXPECT_EQ(Tensor::Of<float>({2, 2}, {1, -2.5f, 10.25f, 3}).ValuesToString(), "[[ 1.   -2.5 ]\n [10.25  3.  ]]");
  EXPECT_EQ(Iota({2, 3}).ValuesToString(), "[[0. 1. 2.]\n [3. 4. 5.]]");
  EXPECT_EQ(Tensor::Vector<double>({1.5, kNan, -kInf}).ValuesToString(), "[ 1.5  nan -inf]");
  EXPECT_EQ(Tensor::Vector<double>({kNan}).ValuesToString(), "[nan]");
  EXPECT_EQ(Tensor::Vector<double>({kInf, -kInf}).ValuesToString(), "[ inf -inf]");
  EXPECT_EQ(Tensor::Vector<double>({-0.0, 1}).ValuesToString(), "[-0.  1.]");
}

TEST(ValuesToStringTest, LargeRangesGetExponents) {
  EXPECT_EQ(Tensor::Vector<double>({1e8, 1}).ValuesToString(), "[1.e+08 1.e+00]");
  EXPECT_EQ(Tensor::Vector<float>({1e6f, 1e5f}).ValuesToString(), "[1.e+06 1.e+05]");
  EXPECT_EQ(Tensor::Vector<double>({0.1, 1.2345678901234567e-9}).ValuesToString(),
            "[1.0000000000000001e-01 1.2345678901234566e-09]");
  EXPECT_EQ(Tensor::Vector<float>({0.1f, 1.2345678e-9f}).ValuesToString(), "[1.0000000e-01 1.2345678e-09]");
  EXPECT_EQ(Tensor::Vector<Half>({Half(1000), Half(1002)}).ValuesToString(), "[1.000e+03 1.002e+03]");
  EXPECT_EQ(Tensor::Vector<Half>({Half(999), Half(998)}).ValuesToString(), "[999. 998.]");
}

TEST(ValuesToStringTest, Scalars) {
  EXPECT_EQ(Tensor::Scalar(3.0).ValuesToString(), "3.0");
  EXPECT_EQ(Tensor::Scalar(1e15).ValuesToString(), "1000000000000000.0");
  EXPECT_EQ(Tensor::Scalar(1e16).ValuesToString(), "1e+16");
  EXPECT_EQ(Tensor::Scalar(123456789.0f).ValuesToString(), "1.2345679e+08");
  EXPECT_EQ(Tensor::Scalar(1e-5).ValuesToString(), "1e-05");
  EXPECT_EQ(Tensor::Scalar(0.0001).ValuesToString(), "0.0001");
  EXPECT_EQ(Tensor::Scalar(-0.0).ValuesToString(), "-0.0");
  EXPECT_EQ(Tensor::Scalar(std::complex<double>(1, 2)).ValuesToString(), "(1+2j)");
  EXPECT_EQ(Tensor::Scalar(true).ValuesToString(), "True");
  EXPECT_EQ(Tensor::Scalar(int8_t{-7}).ValuesToString(), "-7");
}

TEST(ValuesToStringTest, OtherTypes) {
  EXPECT_EQ(Tensor::Vector<int32_t>({1, -20, 300}).ValuesToString(), "[  1 -20 300]");
  EXPECT_EQ(Tensor::Vector<uint8_t>({65, 200}).ValuesToString(), "[ 65 200]");
  EXPECT_EQ(Tensor::Vector<uint64_t>({~uint64_t{0}}).ValuesToString(), "[18446744073709551615]");
  EXPECT_EQ(Tensor::Vector<bool>({true, false}).ValuesToString(), "[ True False]");
  EXPECT_EQ(Tensor::Vector<std::string>({"a", "bcd"}).ValuesToString(), "[b'a' b'bcd']");
  EXPECT_EQ(Tensor::Vector<std::complex<double>>({{1, 0}, {1.5, -2.25}}).ValuesToString(), "[1. +0.j   1.5-2.25j]");
  EXPECT_EQ(Tensor::Vector<std::complex<double>>({{1, 2}, {kNan, kInf}, {-1.5e-9, -1}}).ValuesToString(),
            "[ 1.0e+00 +2.j      nan+infj -1.5e-09 -1.j]");
  EXPECT_EQ(Tensor::Vector<BFloat16>({BFloat16(1.5f), BFloat16(-0.1f)}).ValuesToString(), "[ 1.5 -0.1]");
  EXPECT_EQ(Bits8(DType::kInt4, {7, 0xf8}).ValuesToString(), "[ 7 -8]");
}

TEST(ValuesToStringTest, Float8) {
  EXPECT_EQ(Bits8(DType::kFloat8E5M2, {0x3e, 0xc0, 0x7b, 0x01}).ToString(), "float8_e5m2 [4] [1.5 -2 60000 0.00002]");
  EXPECT_EQ(Bits8(DType::kFloat8E5M2, {0x7c, 0xfc, 0x7e, 0x80}).ToString(), "float8_e5m2 [4] [inf -inf nan -0]");
  // No infinities: all ones but the last bit is the largest number.
  EXPECT_EQ(Bits8(DType::kFloat8E4M3FN, {0x3c, 0x7e, 0x7f, 0xff}).ToString(), "float8_e4m3fn [4] [1.5 450 nan nan]");
}

// Values from TensorFlow's types of the same names, in as few digits as tell them from their neighbors: the first is
// 1, -1, 2^-7, the second 2^-3, -2^-3, 1. 0x80 is the only NaN where there is no -0.
TEST(ValuesToStringTest, Float8WithoutNegativeZero) {
  EXPECT_EQ(Bits8(DType::kFloat8E4M3FNUZ, {0x40, 0xc0, 0x08, 0x80}).ToString(), "float8_e4m3fnuz [4] [1 -1 0.008 nan]");
  EXPECT_EQ(Bits8(DType::kFloat8E4M3B11FNUZ, {0x40, 0xc0, 0x58, 0x80}).ToString(),
            "float8_e4m3b11fnuz [4] [0.13 -0.13 1 nan]");
  EXPECT_EQ(Bits8(DType::kFloat8E5M2FNUZ, {0x40, 0xc0, 0x3c, 0x80}).ToString(), "float8_e5m2fnuz [4] [1 -1 0.5 nan]");
}

TEST(ValuesToStringTest, TypesOfAFewBits) {
  EXPECT_EQ(Bits8(DType::kFloat4E2M1FN, {0, 1, 2, 3, 4, 5, 6, 7}).ToString(),
            "float4_e2m1fn [8] [0 0.5 1 1.5 2 3 4 6]");
  EXPECT_EQ(Bits8(DType::kFloat4E2M1FN, {8, 9, 15}).ToString(), "float4_e2m1fn [3] [-0 -0.5 -6]");
  EXPECT_EQ(Bits8(DType::kInt2, {1, 0xfe}).ValuesToString(), "[ 1 -2]");
  EXPECT_EQ(Bits8(DType::kUInt2, {1, 3}).ValuesToString(), "[1 3]");
}

TEST(ValuesToStringTest, ElisionIsPerDimension) {
  EXPECT_EQ(Iota({2, 1000}).ValuesToString(),
            "[[0.000e+00 1.000e+00 2.000e+00 ... 9.970e+02 9.980e+02 9.990e+02]\n"
            " [1.000e+03 1.001e+03 1.002e+03 ... 1.997e+03 1.998e+03 1.999e+03]]");
  EXPECT_EQ(Iota({8, 2}, 0.5f).ValuesToString(3),
            "[[0.  0.5]\n [1.  1.5]\n [2.  2.5]\n ...\n [5.  5.5]\n [6.  6.5]\n [7.  7.5]]");
}

TEST(ValuesToStringTest, LongRowsWrapAndBlocksAreSeparated) {
  EXPECT_EQ(Iota({2, 2, 2}).ValuesToString(), "[[[0. 1.]\n  [2. 3.]]\n\n [[4. 5.]\n  [6. 7.]]]");
  EXPECT_EQ(Iota({1, 30}).ValuesToString(),
            "[[ 0.  1.  2.  3.  4.  5.  6.  7.  8.  9. 10. 11. 12. 13. 14. 15. 16. 17.\n"
            "  18. 19. 20. 21. 22. 23. 24. 25. 26. 27. 28. 29.]]");
  // A word longer than a line stays whole.
  EXPECT_EQ(Tensor::Vector<std::string>({std::string(80, 'x'), "y"}).ValuesToString(),
            "[b'" + std::string(80, 'x') + "'\n b'y']");
}

TEST(ValuesToStringTest, EmptyTensors) {
  EXPECT_EQ(Tensor::Zeros(DType::kFloat, {0}).ValuesToString(), "[]");
  EXPECT_EQ(Tensor::Zeros(DType::kString, {3, 0, 2}).ValuesToString(), "[]");
}

TEST(ValuesToStringTest, ResourcesAndVariants) {
  struct Thing : Resource {
    absl::string_view TypeName() const override { return "Thing"; }
  };
  struct Value : VariantValue {
    absl::string_view TypeName() const override { return "Value"; }
    std::string DebugString() const override { return "a value"; }
  };
  Tensor handles(DType::kResource, {2});
  handles.flat<ResourceHandle>()[0] = ResourceHandle("", "v", std::make_shared<Thing>());
  EXPECT_EQ(handles.ValuesToString(), "[<Thing 'v'> <resource ''>]");
  Tensor variants(DType::kVariant, {2});
  variants.flat<Variant>()[0] = Variant(std::make_shared<Value>());
  EXPECT_EQ(variants.ValuesToString(), "[<a value> <empty>]");
}

TEST(ValuesToStringTest, ManyDimensions) {
  const Tensor t = Tensor::Scalar(1.0f).Reshaped(Shape(std::vector<int64_t>(kMaxRank, 1)));
  EXPECT_EQ(t.ValuesToString(), std::string(kMaxRank, '[') + "1." + std::string(kMaxRank, ']'));
}

}  // namespace
}  // namespace nabla

#include <limits>

#include "nabla/runtime/kernels/summarize.h"
#include "nabla/tests/runtime/kernels/tensors.h"

namespace nabla {
namespace {

TEST(Summarize, BracketsInnerDimensionsAndElides) {
  EXPECT_EQ(Summarize(Tensor::Scalar(1.5f), 3), "1.5");
  EXPECT_EQ(Summarize(Ints({1, 2, 3}), 3), "1 2 3");
  EXPECT_EQ(Summarize(Ints({1, 2, 3}), 2), "1 2...");
  EXPECT_EQ(Summarize(Ints({1, 2, 3}), -1), "1 2 3");
  EXPECT_EQ(Summarize(Iota<int32_t>({2, 3}), -1), "[0 1 2][3 4 5]");
  EXPECT_EQ(Summarize(Iota<int32_t>({2, 3}), 3), "[0 1 2]...");
  EXPECT_EQ(Summarize(Iota<int32_t>({2, 3}), 4), "[0 1 2][3...]...");
  EXPECT_EQ(Summarize(Iota<int32_t>({2, 2, 3}), 4), "[[0 1 2][3...]]...");
  EXPECT_EQ(Summarize(Iota<int32_t>({2, 2, 3}), -1), "[[0 1 2][3 4 5]][[6 7 8][9 10 11]]");
  EXPECT_EQ(Summarize(Tensor(DType::kFloat, {0, 3}), 3), "");
  EXPECT_EQ(Summarize(Tensor(DType::kFloat, {int64_t{1} << 40, 0}), 3), "");
}

TEST(Summarize, NumbersReadBackAsThemselves) {
  EXPECT_EQ(Summarize(Floats({3}, {0.1f, 1e10f, 1.0f / 3}), 3), "0.1 1e+10 0.333333343");
  EXPECT_EQ(Summarize(Tensor::Vector<double>({0.1, 1e10, 1.0 / 3}), 3), "0.1 10000000000 0.33333333333333331");
  EXPECT_EQ(Summarize(Tensor::Vector<bool>({true, false}), 3), "1 0");
  EXPECT_EQ(Summarize(Tensor::Vector<std::string>({"a b", "c"}), 3), "a b c");
  EXPECT_EQ(Summarize(Tensor::Vector<int8_t>({65, -1}), 3), "65 -1");
}

TEST(Assert, ShowsTheData) {
  const AttrMap attrs = Attrs({{"T", DTypes{DType::kString, DType::kInt32}}, {"summarize", int64_t{2}}});
  const Tensor text = Tensor::Scalar(std::string("x is"));
  ExpectRefused("assertion failed: [x is] [1 2...]", "Assert", {Tensor::Scalar(false), text, Ints({1, 2, 3})}, attrs);
  EXPECT_TRUE(RunOp("Assert", {Tensor::Scalar(true), text, Ints({1, 2, 3})}, attrs).ok());
  ExpectRefused("condition must be a scalar", "Assert", {Tensor::Of<bool>({1}, {true}), text, Ints({1})}, attrs);
}

TEST(Print, WritesToStderrAndPassesItsInputOn) {
  const Tensor x = Iota<float>({8});
  testing::internal::CaptureStderr();
  const Tensor y = RunOp1(
      "Print", {x, Ints({1, 2}), Tensor::Scalar(true)},
      Attrs({{"T", DType::kFloat}, {"U", DTypes{DType::kInt32, DType::kBool}}, {"message", std::string("now: ")}}));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "now: [1 2][1]\n");
  EXPECT_TRUE(y.SharesBufferWith(x));
}

TEST(PrintV2, WritesStringsButNoFiles) {
  testing::internal::CaptureStderr();
  EXPECT_TRUE(RunOp("PrintV2", {Tensor::Scalar(std::string("hello"))}, Attrs({{"end", std::string("!\n")}})).ok());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "hello!\n");
  ExpectRefused("graphs may not write files", "PrintV2", {Tensor::Scalar(std::string("hello"))},
                Attrs({{"output_stream", std::string("file:///tmp/x")}}));
}

TEST(CheckNumerics, SaysWhatItFound) {
  const AttrMap attrs = Attrs({{"T", DType::kFloat}, {"message", std::string("loss")}});
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  ExpectRefused("loss : Tensor had NaN values", "CheckNumerics", {Floats({2}, {nan, 1})}, attrs);
  ExpectRefused("loss : Tensor had Inf values", "CheckNumerics", {Floats({2}, {-inf, 1})}, attrs);
  ExpectRefused("loss : Tensor had Inf and NaN values", "CheckNumerics", {Floats({2}, {inf, nan})}, attrs);
  const Tensor x = Iota<float>({10});
  EXPECT_TRUE(RunOp1("CheckNumerics", {x}, attrs).SharesBufferWith(x));
  ExpectRefused("NaN", "CheckNumerics", {Tensor::Vector<Half>({Half(nan)})},
                Attrs({{"T", DType::kHalf}, {"message", std::string()}}));
}

TEST(EnsureShape, ComparesWithTheAttr) {
  const Tensor x = Iota<float>({2, 3});
  EXPECT_TRUE(RunOp1("EnsureShape", {x}, Attrs({{"shape", Shape({kUnknownDim, 3})}})).SharesBufferWith(x));
  ExpectRefused("the input has shape [2,3], expected [?,4]", "EnsureShape", {x},
                Attrs({{"shape", Shape({kUnknownDim, 4})}}));
}

TEST(Placeholder, MustBeFed) {
  for (const char* op : {"Placeholder", "PlaceholderV2"}) {
    ExpectRefused("a value must be fed, of type float and shape [?,3]", op, {},
                  Attrs({{"dtype", DType::kFloat}, {"shape", Shape({kUnknownDim, 3})}}));
  }
}

TEST(Const, HoldsItsValue) {
  const Tensor value = Iota<float>({100});
  const Tensor y = RunOp1("Const", {}, Attrs({{"dtype", DType::kFloat}, {"value", value}}));
  EXPECT_TRUE(y.SharesBufferWith(value));
  ExpectRefused("attr dtype is double", "Const", {}, Attrs({{"dtype", DType::kDouble}, {"value", value}}));
}

}  // namespace
}  // namespace nabla

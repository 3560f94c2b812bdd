#include "nabla/tools/feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <complex>

namespace nabla::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string ErrorOf(absl::string_view text, DType dtype = DType::kFloat) {
  return std::string(ParseTensor(text, dtype).status().message());
}

TEST(ParseTensorTest, Scalars) {
  EXPECT_EQ(ParseTensor("2.5", DType::kFloat)->scalar<float>(), 2.5f);
  EXPECT_EQ(ParseTensor(" -7 ", DType::kInt64)->scalar<int64_t>(), -7);
  EXPECT_EQ(ParseTensor("true", DType::kBool)->scalar<bool>(), true);
  EXPECT_EQ(static_cast<float>(ParseTensor("1.5", DType::kHalf)->scalar<Half>()), 1.5f);
  EXPECT_TRUE(ParseTensor("1", DType::kFloat)->shape().IsScalar());
}

TEST(ParseTensorTest, ComplexNumbers) {
  using Complex = std::complex<double>;
  absl::StatusOr<Tensor> t = ParseTensor("[1.5, 2j, -1e3+2.5j, 1e-3-4E+2j, -.5j]", DType::kComplex128);
  ASSERT_TRUE(t.ok()) << t.status();
  EXPECT_THAT(t->flat<Complex>(),
              ElementsAre(Complex(1.5, 0), Complex(0, 2), Complex(-1000, 2.5), Complex(1e-3, -400), Complex(0, -0.5)));
  // As they are printed.
  for (const char* text : {"3.-0.25j", "(3-0.25j)"}) {
    absl::StatusOr<Tensor> again = ParseTensor(text, DType::kComplex64);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->scalar<std::complex<float>>(), std::complex<float>(3, -0.25f));
  }
}

TEST(ParseTensorTest, NestedLists) {
  absl::StatusOr<Tensor> t = ParseTensor("[[1, 2, 3], [4,5,6]]", DType::kInt32);
  ASSERT_TRUE(t.ok()) << t.status();
  EXPECT_EQ(t->shape(), Shape({2, 3}));
  EXPECT_THAT(t->flat<int32_t>(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(ParseTensor("[]", DType::kFloat)->shape(), Shape({0}));
  EXPECT_EQ(ParseTensor("[[],[]]", DType::kFloat)->shape(), Shape({2, 0}));
}

TEST(ParseTensorTest, Strings) {
  EXPECT_EQ(ParseTensor("hello, world", DType::kString)->scalar<std::string>(), "hello, world");
  EXPECT_THAT(ParseTensor("['a,b', \"c\\n\", d]", DType::kString)->flat<std::string>(), ElementsAre("a,b", "c\n", "d"));
}

TEST(ParseTensorTest, MalformedValues) {
  EXPECT_THAT(ErrorOf("x"), HasSubstr("'x' is no value of type float"));
  EXPECT_THAT(ErrorOf("300", DType::kUInt8), HasSubstr("'300' is no value of type uint8"));
  EXPECT_THAT(ErrorOf("-1", DType::kUInt32), HasSubstr("'-1' is no value of type uint32"));
  EXPECT_THAT(ErrorOf("1.5", DType::kInt32), HasSubstr("'1.5' is no value of type int32"));
  EXPECT_THAT(ErrorOf("[1,2"), HasSubstr("expected ',' or ']'"));
  EXPECT_THAT(ErrorOf("[1,[2]]"), HasSubstr("nested to different depths"));
  EXPECT_THAT(ErrorOf("[[1,2],[3]]"), HasSubstr("different lengths"));
  EXPECT_THAT(ErrorOf("[1,,2]"), HasSubstr("expected a value"));
  EXPECT_THAT(ErrorOf("[1] 2"), HasSubstr("nothing more was expected"));
  EXPECT_THAT(ErrorOf(std::string(100000, '[')), HasSubstr("nested too deeply"));
  EXPECT_THAT(ErrorOf("1", DType::kResource), HasSubstr("values of type resource cannot be fed from the command line"));
  for (const char* wrong : {"", "j", "1+j", "1+2", "1+2i", "1++2j", "1j2", "2j+1", "(1", "()"}) {
    EXPECT_FALSE(ParseTensor(wrong, DType::kComplex64).ok()) << wrong;
  }
  EXPECT_THAT(ErrorOf(""), HasSubstr("expected a value"));
  EXPECT_THAT(ErrorOf("['a", DType::kString), HasSubstr("does not end"));
}

}  // namespace
}  // namespace nabla::tools

#include "nabla/graph/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "absl/strings/str_cat.h"

namespace nabla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string File(const std::string& header_text, const std::string& data) {
  std::string header = header_text;
  std::string file("\x93NUMPY\x01\x00", 8);
  file.push_back(static_cast<char>(header.size() & 0xff));
  file.push_back(static_cast<char>(header.size() >> 8));
  return file + header + data;
}

TEST(NpyTest, RoundTripsEveryType) {
  std::vector<Tensor> tensors = {
      Tensor::Of<float>({2, 3}, {1, 2, 3, 4, 5, 6}),
      Tensor::Of<double>({2}, {1.5, -2}),
      Tensor::Scalar<int64_t>(-7),
      Tensor::Of<int32_t>({1, 1, 3}, {1, 2, 3}),
      Tensor::Of<uint8_t>({3}, {0, 128, 255}),
      Tensor::Of<bool>({2}, {true, false}),
      Tensor::Of<Half>({2}, {Half(1.5f), Half(-2.0f)}),
      Tensor::Of<std::complex<float>>({2}, {{1, 2}, {3, 4}}),
      Tensor::Of<std::string>({3}, {"a", "", "long one"}),
      Tensor(DType::kFloat, {0, 3}),
  };
  for (const Tensor& tensor : tensors) {
    absl::StatusOr<std::string> bytes = FormatNpy(tensor);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    absl::StatusOr<Tensor> back = ParseNpy(*bytes, "test");
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_TRUE(BitwiseEqual(tensor, *back)) << tensor.ToString() << " became " << back->ToString();
  }
}

TEST(NpyTest, BFloat16IsWrittenAsFloat) {
  absl::StatusOr<Tensor> back = ParseNpy(*FormatNpy(Tensor::Of<BFloat16>({1}, {BFloat16(2.5f)})), "test");
  ASSERT_TRUE(back.ok());
  EXPECT_THAT(back->flat<float>(), ElementsAre(2.5f));
}

TEST(NpyTest, FortranOrderAndBigEndian) {
  absl::StatusOr<Tensor> t = ParseNpy(File("{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }",
                                           std::string("\x00\x01\x00\x02\x00\x03\x00\x04\x00\x05\x00\x06", 12)),
                                      "test");
  ASSERT_TRUE(t.ok()) << t.status();
  EXPECT_THAT(t->flat<int16_t>(), ElementsAre(1, 3, 5, 2, 4, 6));
}

TEST(NpyTest, UnicodeBecomesUtf8) {
  absl::StatusOr<Tensor> t = ParseNpy(File("{'descr': '<U2', 'fortran_order': False, 'shape': (1,), }",
                                           std::string("\xe9\x00\x00\x00\x00\x00\x00\x00", 8)),
                                      "test");
  ASSERT_TRUE(t.ok()) << t.status();
  EXPECT_THAT(t->flat<std::string>(), ElementsAre("\xc3\xa9"));
}

TEST(NpyTest, MalformedFilesAreErrors) {
  auto error = [](const std::string& bytes) { return std::string(ParseNpy(bytes, "f.npy").status().message()); };
  EXPECT_THAT(error(""), HasSubstr("f.npy: not a NumPy .npy file"));
  EXPECT_THAT(error("hello, this is text"), HasSubstr("not a NumPy .npy file"));
  EXPECT_THAT(error(std::string("\x93NUMPY\x01\x00\xff\x7f{", 11)), HasSubstr("cut off"));
  EXPECT_THAT(error(File("{'descr': '<f4', 'shape': (2,), }", "1234")), HasSubstr("does not match the 4 bytes"));
  EXPECT_THAT(error(File("{'descr': '<f4', 'shape': (9223372036854775807, 9), }", "")), HasSubstr("f.npy: "));
  EXPECT_THAT(error(File("{'descr': '<m8', 'shape': (), }", "12345678")), HasSubstr("'m8' is not supported"));
  EXPECT_THAT(error(File("{'descr': [('a', '<f4')], 'shape': (), }", "")), HasSubstr("structured"));
  EXPECT_THAT(error(File("{'descr': '<f4', 'shape': (-1,), }", "")), HasSubstr("a dimension is no number"));
  EXPECT_THAT(error(File("{'descr': '|S0', 'shape': (1000000000000,), }", "")), HasSubstr("too many empty elements"));
  EXPECT_THAT(error(File("{'descr': '<f4'", "")), HasSubstr("malformed"));
}

TEST(NpyTest, FilesAreReadAsTheirBytesAre) {
  const std::string path = absl::StrCat(getenv("TEST_TMPDIR"), "/read.npy");
  const std::string big(300000, '\1');
  for (const std::string& bytes :
       {File("{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }", std::string("\0\1\0\4\0\2\0\5\0\3\0\6", 12)),
        File("{'descr': '>i2', 'fortran_order': False, 'shape': (3,), }", std::string("\0\1\0\4\0\2", 6)),
        File("{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }", std::string("\0\1\4", 3)),
        File("{'descr': '|S2', 'fortran_order': False, 'shape': (2,), }", "abcd"),
        File("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 3), }", ""),
        File("{'descr': '|i1', 'fortran_order': False, 'shape': (300000,), }", big)}) {
    std::ofstream(path, std::ios::binary) << bytes;
    absl::StatusOr<Tensor> read = ReadNpy(path), parsed = ParseNpy(bytes, path);
    ASSERT_TRUE(read.ok() && parsed.ok()) << read.status() << parsed.status();
    EXPECT_TRUE(BitwiseEqual(*read, *parsed)) << read->ToString() << parsed->ToString();
  }
  // Shorter and longer than it says.
  for (const std::string& elements : {big.substr(1), big + "x"}) {
    const std::string bytes = File("{'descr': '|i1', 'fortran_order': False, 'shape': (300000,), }", elements);
    std::ofstream(path, std::ios::binary) << bytes;
    EXPECT_EQ(ReadNpy(path).status().message(), ParseNpy(bytes, path).status().message());
    EXPECT_THAT(std::string(ReadNpy(path).status().message()), HasSubstr("does not match"));
  }
  std::ofstream(path, std::ios::binary) << "";
  EXPECT_THAT(std::string(ReadNpy(path).status().message()), HasSubstr("not a NumPy .npy file"));
}

TEST(NpyTest, MissingFile) { EXPECT_EQ(ReadNpy("/nonexistent/x.npy").status().code(), absl::StatusCode::kNotFound); }

TEST(NpyTest, WritesFiles) {
  std::string path = absl::StrCat(getenv("TEST_TMPDIR"), "/t.npy");
  Tensor t = Tensor::Of<float>({2}, {1, 2});
  ASSERT_TRUE(WriteNpy(path, t).ok());
  absl::StatusOr<Tensor> back = ReadNpy(path);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_TRUE(BitwiseEqual(t, *back));
  EXPECT_FALSE(WriteNpy("/nonexistent/t.npy", t).ok());
}

}  // namespace
}  // namespace nabla

// Runs every case of goldens.txt (see make_goldens.py) and array_goldens.txt (see make_array_goldens.py) and compares
// with what TensorFlow gave, on one thread and in place.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "nabla/runtime/dtype_switch.h"
#include "nabla/tests/runtime/kernels/run_op.h"

namespace nabla {
namespace {

struct Case {
  int line = 0;
  std::string name;
  std::string op;
  double tolerance = 0;
  bool absolute = false;
  bool error = false;
  AttrMap attrs;
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
};

Shape ParseShape(const std::string& text) {
  Shape shape = Shape::Scalar();
  if (text == "-") return shape;
  for (absl::string_view dim : absl::StrSplit(text, ',')) shape.AddDim(std::atoll(std::string(dim).c_str()));
  return shape;
}

template <typename T>
T ParseNumber(const std::string& text) {
  if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
    const std::vector<std::string> parts = absl::StrSplit(text, ';');
    using Part = typename T::value_type;
    return T(static_cast<Part>(std::strtod(parts[0].c_str(), nullptr)),
             static_cast<Part>(std::strtod(parts[1].c_str(), nullptr)));
  } else if constexpr (std::is_same_v<T, uint64_t>) {
    return std::strtoull(text.c_str(), nullptr, 10);
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(std::strtoll(text.c_str(), nullptr, 10));
  } else {
    return static_cast<T>(static_cast<ComputeType<T>>(std::strtod(text.c_str(), nullptr)));
  }
}

DType TensorFlowName(const std::string& name) {
  const std::string ours = name == "float32"   ? "float"
                           : name == "float64" ? "double"
                           : name == "float16" ? "half"
                                               : name;
  return ParseDType(ours).value_or(DType::kInvalid);
}

Tensor ParseTensor(std::istringstream& words) {
  std::string dtype_name, shape_text, word;
  words >> dtype_name >> shape_text;
  const DType dtype = TensorFlowName(dtype_name);
  EXPECT_NE(dtype, DType::kInvalid) << dtype_name;
  Tensor tensor(dtype, ParseShape(shape_text));
  if (dtype == DType::kString) {
    for (std::string& s : tensor.flat<std::string>()) words >> s;
  } else if (dtype == DType::kBool) {
    for (bool& b : tensor.flat<bool>()) words >> word, b = word == "1";
  } else {
    const absl::Status status = SwitchNumeric(dtype, [&](auto zero) {
      using T = decltype(zero);
      for (T& v : tensor.flat<T>()) words >> word, v = ParseNumber<T>(word);
      return absl::OkStatus();
    });
    EXPECT_TRUE(status.ok()) << status;
  }
  return tensor;
}

Attr ParseAttr(const std::string& kind, const std::string& value) {
  if (kind == "type") return static_cast<DType>(std::atoi(value.c_str()));
  if (kind == "b") return value == "1";
  if (kind == "f") return static_cast<float>(std::strtod(value.c_str(), nullptr));
  if (kind == "i") return static_cast<int64_t>(std::atoll(value.c_str()));
  if (kind == "shape") return ParseShape(value);
  return value;
}

std::vector<Case> ReadCases(const std::string& name) {
  std::vector<Case> cases;
  std::ifstream file("tests/runtime/kernels/" + name);
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word == "case") {
      Case& c = cases.emplace_back();
      c.line = number;
      words >> c.name >> c.op >> c.tolerance >> word;
      c.absolute = word == "ABSOLUTE";
    } else if (word == "attr") {
      std::string name, kind, value;
      words >> name >> kind >> value;
      cases.back().attrs.Set(name, ParseAttr(kind, value));
    } else if (word == "in") {
      cases.back().inputs.push_back(ParseTensor(words));
    } else if (word == "out") {
      cases.back().outputs.push_back(ParseTensor(words));
    } else if (word == "error") {
      cases.back().error = true;
    }
  }
  return cases;
}

bool Close(double got, double want, const Case& c) {
  if (std::isnan(want)) return std::isnan(got);
  if (std::isinf(want) || std::isinf(got)) return got == want;
  const double scale = c.absolute ? std::max(1.0, std::abs(want)) : std::abs(want);
  return std::abs(got - want) <= c.tolerance * scale;
}
template <typename T>
bool Close(std::complex<T> got, std::complex<T> want, const Case& c) {
  if (got == want) return true;
  if (std::isnan(want.real()) || std::isnan(want.imag())) return std::isnan(got.real()) || std::isnan(got.imag());
  const double scale = c.absolute ? std::max<double>(1.0, std::abs(want)) : std::abs(want);
  return std::abs(got - want) <= c.tolerance * scale;
}

void ExpectClose(const Tensor& got, const Tensor& want, const Case& c) {
  ASSERT_EQ(got.dtype(), want.dtype());
  ASSERT_EQ(got.shape(), want.shape());
  if (!IsFloating(want.dtype()) && !IsComplex(want.dtype())) {
    EXPECT_TRUE(BitwiseEqual(got, want)) << got.ToString() << "\nTensorFlow: " << want.ToString();
    return;
  }
  const absl::Status status = SwitchNumeric(want.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_integral_v<T>) {
      for (int64_t i = 0; i < want.num_elements(); ++i) {
        using C = ComputeType<T>;
        EXPECT_TRUE(Close(static_cast<C>(got.data<T>()[i]), static_cast<C>(want.data<T>()[i]), c))
            << "element " << i << ": got " << static_cast<C>(got.data<T>()[i]) << ", TensorFlow "
            << static_cast<C>(want.data<T>()[i]);
      }
    }
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
}

void RunCases(const std::string& file) {
  const std::vector<Case> cases = ReadCases(file);
  ASSERT_GT(cases.size(), 1000u);
  for (const Case& c : cases) {
    std::string inputs;
    for (const Tensor& input : c.inputs) absl::StrAppend(&inputs, " ", input.ToString(60), "\n");
    SCOPED_TRACE(absl::StrCat(file, ":", c.line, ": ", c.op, "\n", inputs));
    for (bool in_place : {false, true}) {
      const absl::StatusOr<std::vector<Tensor>> outputs = RunOp(c.op, c.inputs, c.attrs, {1, in_place});
      if (c.error) {
        EXPECT_EQ(outputs.status().code(), absl::StatusCode::kInvalidArgument) << outputs.status();
        continue;
      }
      ASSERT_TRUE(outputs.ok()) << outputs.status();
      ASSERT_EQ(outputs->size(), c.outputs.size());
      for (size_t i = 0; i < c.outputs.size(); ++i) ExpectClose((*outputs)[i], c.outputs[i], c);
    }
  }
}

TEST(GoldensTest, AgreeWithTensorFlow) { RunCases("goldens.txt"); }
TEST(GoldensTest, AgreeWithTensorFlowOnMovingElements) { RunCases("array_goldens.txt"); }

}  // namespace
}  // namespace nabla

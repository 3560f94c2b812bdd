#include "nabla/runtime/kernels/summarize.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace nabla {
namespace {

// The shorter of the two usual precisions that reads back as the same number.
std::string FormatFloat(double value, bool is_float) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.*g", is_float ? 6 : 15, value);
  const bool same =
      is_float ? std::strtof(text, nullptr) == static_cast<float>(value) : std::strtod(text, nullptr) == value;
  if (!same && !std::isnan(value)) std::snprintf(text, sizeof(text), "%.*g", is_float ? 9 : 17, value);
  return std::isnan(value) ? "nan" : text;
}

template <typename T>
std::string FormatComplex(const std::complex<T>& value) {
  constexpr bool kIsFloat = sizeof(T) == sizeof(float);
  return absl::StrCat("(", FormatFloat(value.real(), kIsFloat), ",", FormatFloat(value.imag(), kIsFloat), ")");
}

std::string FormatElement(const Tensor& tensor, int64_t i) {
  switch (tensor.dtype()) {
    case DType::kFloat:
      return FormatFloat(tensor.flat<float>()[i], true);
    case DType::kDouble:
      return FormatFloat(tensor.flat<double>()[i], false);
    case DType::kHalf:
      return FormatFloat(static_cast<float>(tensor.flat<Half>()[i]), true);
    case DType::kBFloat16:
      return FormatFloat(static_cast<float>(tensor.flat<BFloat16>()[i]), true);
    case DType::kInt8:
    case DType::kQInt8:
      return absl::StrCat(static_cast<int>(tensor.flat<int8_t>()[i]));
    case DType::kUInt8:
    case DType::kQUInt8:
      return absl::StrCat(static_cast<int>(tensor.flat<uint8_t>()[i]));
    case DType::kInt16:
    case DType::kQInt16:
      return absl::StrCat(tensor.flat<int16_t>()[i]);
    case DType::kUInt16:
    case DType::kQUInt16:
      return absl::StrCat(tensor.flat<uint16_t>()[i]);
    case DType::kInt32:
    case DType::kQInt32:
      return absl::StrCat(tensor.flat<int32_t>()[i]);
    case DType::kUInt32:
      return absl::StrCat(tensor.flat<uint32_t>()[i]);
    case DType::kInt64:
      return absl::StrCat(tensor.flat<int64_t>()[i]);
    case DType::kUInt64:
      return absl::StrCat(tensor.flat<uint64_t>()[i]);
    case DType::kBool:
      return tensor.flat<bool>()[i] ? "1" : "0";
    case DType::kString:
      return tensor.flat<std::string>()[i];
    case DType::kComplex64:
      return FormatComplex(tensor.flat<std::complex<float>>()[i]);
    case DType::kComplex128:
      return FormatComplex(tensor.flat<std::complex<double>>()[i]);
    default:
      return "?";
  }
}

}  // namespace

std::string Summarize(const Tensor& tensor, int64_t max_elements) {
  const int64_t count = tensor.num_elements();
  const int64_t shown = max_elements < 0 ? count : std::min(max_elements, count);
  const int rank = tensor.rank();
  std::string text;
  for (int64_t i = 0; i < shown; ++i) {
    // The brackets that end and begin between element i - 1 and i: one of each for every inner dimension whose end
    // was reached.
    int ended = 0;
    int64_t block = 1;
    for (int d = rank - 1; d > 0; --d) {
      block *= tensor.dim(d);
      if (i % block != 0) break;
      ++ended;
    }
    if (i > 0) text.append(ended, ']');
    text.append(ended, '[');
    if (i > 0 && ended == 0) text.push_back(' ');
    text.append(FormatElement(tensor, i));
  }
  if (shown > 0 && rank > 1) {
    if (shown % tensor.dim(rank - 1) != 0) text.append("...");
    text.append(rank - 1, ']');
  }
  if (shown < count) text.append("...");
  return text;
}

}  // namespace nabla

#include "nabla/graph/tensor_format.h"

#include <algorithm>
#include <complex>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nabla/graph/decimal.h"
#include "nabla/graph/tensor.h"

namespace nabla {
namespace {

constexpr int64_t kEdgeItems = 3;
constexpr int kLineWidth = 75;

// From this magnitude on an array of the type is printed with exponents.
double ExponentFrom(DType dtype) {
  switch (dtype) {
    case DType::kDouble:
      return 1e8;
    case DType::kHalf:
      return 1e3;
    default:
      return 1e6;
  }
}

// Which elements are shown: all, or the first and last kEdgeItems along each long dimension.
class Elision {
 public:
  Elision(const Shape& shape, bool elide) : shape_(shape), elide_(elide) {}

  bool Elided(int axis) const { return elide_ && shape_.dim(axis) > 2 * kEdgeItems; }
  int64_t ShownCount(int axis) const { return Elided(axis) ? 2 * kEdgeItems : shape_.dim(axis); }
  // Of the i-th shown entry.
  int64_t Index(int axis, int64_t i) const {
    return Elided(axis) && i >= kEdgeItems ? shape_.dim(axis) - 2 * kEdgeItems + i : i;
  }
  bool GapBefore(int axis, int64_t i) const { return Elided(axis) && i == kEdgeItems; }

  // Flat indices of the shown elements, in order. Requires that there are elements.
  std::vector<int64_t> ShownIndices() const {
    std::vector<int64_t> indices = {0};
    for (int axis = 0; axis < shape_.rank(); ++axis) {
      std::vector<int64_t> next;
      next.reserve(indices.size() * ShownCount(axis));
      for (int64_t base : indices) {
        for (int64_t i = 0; i < ShownCount(axis); ++i) next.push_back(base * shape_.dim(axis) + Index(axis, i));
      }
      indices = std::move(next);
    }
    return indices;
  }

 private:
  const Shape& shape_;
  const bool elide_;
};

void PadLeft(std::string* word, size_t width) {
  if (word->size() < width) word->insert(0, width - word->size(), ' ');
}

void PadLeft(std::vector<std::string>* words) {
  size_t width = 0;
  for (const std::string& word : *words) width = std::max(width, word.size());
  for (std::string& word : *words) PadLeft(&word, width);
}

// Floats of one array, with their points below each other.
std::vector<std::string> AlignFloats(DType dtype, const std::vector<Decimal>& values, bool plus) {
  double largest = 0;
  double smallest = 0;
  bool any_finite = false;
  for (const Decimal& d : values) {
    if (!d.finite) continue;
    any_finite = true;
    const double magnitude = std::abs(d.value);
    if (magnitude == 0) continue;
    largest = std::max(largest, magnitude);
    smallest = smallest == 0 ? magnitude : std::min(smallest, magnitude);
  }
  const bool exponents =
      largest != 0 && (largest >= ExponentFrom(dtype) || smallest < 0.0001 || largest / smallest > 1000);
  int fraction_digits = 0;
  if (exponents) {
    for (const Decimal& d : values) {
      if (d.finite) fraction_digits = std::max(fraction_digits, static_cast<int>(d.digits.size()) - 1);
    }
  }
  std::vector<std::string> words;
  words.reserve(values.size());
  size_t left = 0;   // before the point
  size_t right = 0;  // after it
  for (const Decimal& d : values) {
    std::string word = plus && !d.negative ? "+" : "";
    word += exponents ? d.Scientific(fraction_digits, /*point=*/true) : d.Positional(/*point=*/true);
    if (d.finite) {
      const size_t point = word.find('.');
      left = std::max(left, point);
      right = std::max(right, word.size() - point - 1);
    }
    words.push_back(std::move(word));
  }
  size_t width = any_finite ? left + 1 + right : 0;
  for (size_t i = 0; i < words.size(); ++i) {
    if (!values[i].finite) width = std::max(width, words[i].size());
  }
  for (size_t i = 0; i < words.size(); ++i) {
    if (values[i].finite) words[i].append(right - (words[i].size() - words[i].find('.') - 1), ' ');
    PadLeft(&words[i], width);
  }
  return words;
}

// One float as NumPy prints a scalar: "2.0". As a part of a complex scalar: "2".
std::string ScalarFloat(DType dtype, const Decimal& d, bool part) {
  if (!d.finite) return d.Positional(/*point=*/false);
  const double magnitude = std::abs(d.value);
  const double limit = dtype == DType::kDouble ? 1e16 : ExponentFrom(dtype);
  if (magnitude != 0 && (magnitude < 1e-4 || magnitude >= limit)) return d.Scientific(0, /*point=*/false);
  std::string text = d.Positional(/*point=*/!part);
  if (text.back() == '.') text += '0';
  return text;
}

std::string ShortFloat(const Decimal& d) {
  if (!d.finite || (d.exponent >= -5 && d.exponent < 16)) return d.Positional(/*point=*/false);
  return d.Scientific(0, /*point=*/false);
}

// How a list of elements becomes words.
enum class Style {
  kAligned,  // an array's, padded to one width
  kScalar,   // the only element of a tensor of rank 0
  kShort,    // each on its own
};

std::vector<std::string> FloatWords(DType dtype, const char* data, const std::vector<int64_t>& indices, size_t stride,
                                    Style style, bool part, bool plus) {
  std::vector<Decimal> values;
  values.reserve(indices.size());
  for (int64_t i : indices) values.push_back(ToDecimal(dtype, data + i * stride));
  if (style == Style::kAligned) return AlignFloats(dtype, values, plus);
  std::vector<std::string> words;
  for (const Decimal& d : values) {
    std::string word = plus && !d.negative ? "+" : "";
    word += style == Style::kScalar ? ScalarFloat(dtype, d, part) : ShortFloat(d);
    words.push_back(std::move(word));
  }
  return words;
}

std::vector<std::string> ComplexWords(const Tensor& tensor, const std::vector<int64_t>& indices, Style style) {
  const DType part = RealDType(tensor.dtype());
  const char* data = static_cast<const char*>(tensor.raw_data());
  const size_t size = DTypeSize(tensor.dtype());
  std::vector<std::string> words = FloatWords(part, data, indices, size, style, /*part=*/true, /*plus=*/false);
  std::vector<std::string> imaginary =
      FloatWords(part, data + DTypeSize(part), indices, size, style, /*part=*/true, /*plus=*/true);
  for (size_t i = 0; i < words.size(); ++i) {
    const size_t end = imaginary[i].find_last_not_of(' ') + 1;
    imaginary[i].insert(end, "j");
    words[i] =
        style == Style::kScalar ? absl::StrCat("(", words[i], imaginary[i], ")") : absl::StrCat(words[i], imaginary[i]);
  }
  return words;
}

template <typename T>
std::vector<std::string> IntegerWords(const Tensor& tensor, const std::vector<int64_t>& indices) {
  std::vector<std::string> words;
  words.reserve(indices.size());
  const T* data = tensor.data<T>();
  for (int64_t i : indices) words.push_back(absl::StrCat(+data[i]));
  return words;
}

std::vector<std::string> PlainWords(const Tensor& tensor, const std::vector<int64_t>& indices) {
  switch (tensor.dtype()) {
    case DType::kInt8:
    case DType::kQInt8:
    case DType::kInt4:
    case DType::kInt2:
      return IntegerWords<int8_t>(tensor, indices);
    case DType::kUInt8:
    case DType::kQUInt8:
    case DType::kUInt4:
    case DType::kUInt2:
      return IntegerWords<uint8_t>(tensor, indices);
    case DType::kInt16:
    case DType::kQInt16:
      return IntegerWords<int16_t>(tensor, indices);
    case DType::kUInt16:
    case DType::kQUInt16:
      return IntegerWords<uint16_t>(tensor, indices);
    case DType::kInt32:
    case DType::kQInt32:
      return IntegerWords<int32_t>(tensor, indices);
    case DType::kUInt32:
      return IntegerWords<uint32_t>(tensor, indices);
    case DType::kInt64:
      return IntegerWords<int64_t>(tensor, indices);
    case DType::kUInt64:
      return IntegerWords<uint64_t>(tensor, indices);
    default:
      break;
  }
  std::vector<std::string> words;
  words.reserve(indices.size());
  for (int64_t i : indices) {
    switch (tensor.dtype()) {
      case DType::kBool:
        words.push_back(tensor.data<bool>()[i] ? "True" : "False");
        break;
      case DType::kString:
        words.push_back(PythonBytes(tensor.data<std::string>()[i]));
        break;
      case DType::kResource: {
        const ResourceHandle& handle = tensor.data<ResourceHandle>()[i];
        const absl::string_view type = handle.resource() != nullptr ? handle.resource()->TypeName() : "resource";
        words.push_back(absl::StrCat("<", type, " '", handle.name(), "'>"));
        break;
      }
      case DType::kVariant: {
        const Variant& variant = tensor.data<Variant>()[i];
        words.push_back(variant.empty() ? "<empty>" : absl::StrCat("<", variant.value()->DebugString(), ">"));
        break;
      }
      default:
        words.push_back("?");
    }
  }
  return words;
}

std::vector<std::string> Words(const Tensor& tensor, const std::vector<int64_t>& indices, Style style) {
  const DType dtype = tensor.dtype();
  if (IsComplex(dtype)) return ComplexWords(tensor, indices, style);
  if (IsFloating(dtype)) {
    return FloatWords(dtype, static_cast<const char*>(tensor.raw_data()), indices, DTypeSize(dtype), style,
                      /*part=*/false, /*plus=*/false);
  }
  std::vector<std::string> words = PlainWords(tensor, indices);
  if (style == Style::kAligned && IsPod(dtype)) {
    PadLeft(&words);
    // NumPy reserves the width of False.
    if (dtype == DType::kBool) {
      for (std::string& word : words) PadLeft(&word, 5);
    }
  }
  return words;
}

// Puts words between brackets.
class Layout {
 public:
  Layout(const Shape& shape, const Elision& elision, std::vector<std::string> words, bool one_line)
      : rank_(shape.rank()), elision_(elision), words_(std::move(words)), one_line_(one_line) {}

  std::string Run() {
    if (rank_ == 0) return words_[0];
    Open(0);
    return std::move(text_);
  }

 private:
  // Recursion goes as deep as the rank, which is at most kMaxRank.
  void Open(int axis) {
    text_ += '[';
    column_ = axis + 1;
    const bool innermost = axis == rank_ - 1;
    const int64_t count = elision_.ShownCount(axis);
    for (int64_t i = 0; i < count; ++i) {
      if (i > 0) Separate(axis);
      if (elision_.GapBefore(axis, i)) {
        Put(axis, "...");
        Separate(axis);
      }
      if (innermost) {
        Put(axis, words_[next_word_++]);
      } else {
        Open(axis + 1);
      }
    }
    text_ += ']';
  }

  void Separate(int axis) {
    if (one_line_ || axis == rank_ - 1) {
      text_ += ' ';
      ++column_;
    } else {
      text_.append(rank_ - 1 - axis, '\n');
      text_.append(axis + 1, ' ');
    }
  }

  // A word of the row that is being written, on a new line if this one is full.
  void Put(int axis, absl::string_view word) {
    const int indent = axis + 1;
    const bool full = column_ + static_cast<int>(word.size()) > kLineWidth - indent;
    if (!one_line_ && axis == rank_ - 1 && full && column_ > indent) {
      text_.resize(text_.find_last_not_of(' ') + 1);
      text_ += '\n';
      text_.append(indent, ' ');
      column_ = indent;
    }
    absl::StrAppend(&text_, word);
    column_ += static_cast<int>(word.size());
  }

  const int rank_;
  const Elision& elision_;
  const std::vector<std::string> words_;
  const bool one_line_;
  std::string text_;
  size_t next_word_ = 0;
  int column_ = 0;
};

std::string Format(const Tensor& tensor, int64_t max_elements, bool one_line) {
  if (tensor.num_elements() == 0) return "[]";
  const Shape& shape = tensor.shape();
  const Elision elision(shape, tensor.num_elements() > max_elements);
  const Style style = one_line ? Style::kShort : shape.IsScalar() ? Style::kScalar : Style::kAligned;
  return Layout(shape, elision, Words(tensor, elision.ShownIndices(), style), one_line).Run();
}

}  // namespace

std::string ShortestDigits(double value) { return ShortFloat(ToDecimal(DType::kDouble, &value)); }
std::string ShortestDigits(float value) { return ShortFloat(ToDecimal(DType::kFloat, &value)); }
std::string ShortestDigits(Half value) { return ShortFloat(ToDecimal(DType::kHalf, &value)); }
std::string ShortestDigits(BFloat16 value) { return ShortFloat(ToDecimal(DType::kBFloat16, &value)); }

std::string PythonBytes(absl::string_view bytes) {
  const char quote = bytes.find('\'') != bytes.npos && bytes.find('"') == bytes.npos ? '"' : '\'';
  std::string text = {'b', quote};
  for (const char c : bytes) {
    const unsigned char byte = static_cast<unsigned char>(c);
    if (c == quote || c == '\\') {
      text += '\\';
      text += c;
    } else if (c == '\n') {
      text += "\\n";
    } else if (c == '\t') {
      text += "\\t";
    } else if (c == '\r') {
      text += "\\r";
    } else if (byte < 0x20 || byte >= 0x7f) {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\x%02x", byte);
      text += escape;
    } else {
      text += c;
    }
  }
  text += quote;
  return text;
}

std::string Tensor::ToString(int64_t max_elements) const {
  if (!valid()) return "invalid";
  return absl::StrCat(DTypeName(dtype_), " ", shape_.ToString(), " ", Format(*this, max_elements, /*one_line=*/true));
}

std::string Tensor::ValuesToString(int64_t max_elements) const {
  return valid() ? Format(*this, max_elements, /*one_line=*/false) : "";
}

}  // namespace nabla

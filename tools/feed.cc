#include "nabla/tools/feed.h"

#include <algorithm>
#include <cctype>
#include <complex>
#include <limits>
#include <type_traits>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "nabla/graph/npy.h"
#include "nabla/graph/status_macros.h"
#include "nabla/tools/command.h"

namespace nabla::tools {
namespace {

// Deeper than any tensor.
constexpr int kMaxDepth = 32;

// Splits nested lists into their shape and the texts of their elements.
class LiteralParser {
 public:
  explicit LiteralParser(absl::string_view text) : text_(text) {}

  absl::Status Parse() {
    NABLA_RETURN_IF_ERROR(Value(0));
    SkipSpace();
    if (at_ < text_.size()) return Error("nothing more was expected");
    return absl::OkStatus();
  }

  const std::vector<std::string>& elements() const { return elements_; }
  absl::StatusOr<Shape> shape() const { return Shape::FromDims(dims_); }

 private:
  absl::Status Error(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(what, " at character ", at_ + 1));
  }
  void SkipSpace() {
    while (at_ < text_.size() && absl::ascii_isspace(text_[at_])) ++at_;
  }
  absl::Status Value(size_t depth) {
    SkipSpace();
    if (at_ < text_.size() && text_[at_] == '[') return List(depth);
    if (depth_known_ && depth != dims_.size()) return Error("lists are nested to different depths");
    depth_known_ = true;
    return Element();
  }
  absl::Status List(size_t depth) {
    if (depth >= kMaxDepth) return Error("lists are nested too deeply");
    if (depth_known_ && depth >= dims_.size()) return Error("lists are nested to different depths");
    const bool first_of_depth = depth >= dims_.size();
    if (first_of_depth) dims_.push_back(0);
    ++at_;
    int64_t count = 0;
    SkipSpace();
    while (at_ < text_.size() && text_[at_] != ']') {
      NABLA_RETURN_IF_ERROR(Value(depth + 1));
      ++count;
      SkipSpace();
      if (at_ < text_.size() && text_[at_] == ',') {
        ++at_;
        SkipSpace();
      } else if (at_ >= text_.size() || text_[at_] != ']') {
        return Error("expected ',' or ']'");
      }
    }
    if (at_ >= text_.size()) return Error("a list does not end");
    ++at_;
    if (count == 0) depth_known_ = true;
    if (!first_of_depth && dims_[depth] != count) return Error("lists of different lengths stand side by side");
    dims_[depth] = count;
    return absl::OkStatus();
  }
  absl::Status Element() {
    if (at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'')) return Quoted();
    const size_t end = dims_.empty() ? text_.size() : std::min(text_.find_first_of(",]", at_), text_.size());
    elements_.emplace_back(absl::StripAsciiWhitespace(text_.substr(at_, end - at_)));
    if (elements_.back().empty()) return Error("expected a value");
    at_ = end;
    return absl::OkStatus();
  }
  absl::Status Quoted() {
    const char quote = text_[at_];
    size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != quote) end += text_[end] == '\\' ? 2 : 1;
    if (end >= text_.size()) return Error("a string does not end");
    std::string value;
    if (!absl::CUnescape(text_.substr(at_ + 1, end - at_ - 1), &value)) return Error("malformed escape in a string");
    elements_.push_back(std::move(value));
    at_ = end + 1;
    return absl::OkStatus();
  }

  absl::string_view text_;
  size_t at_ = 0;
  bool depth_known_ = false;
  std::vector<int64_t> dims_;
  std::vector<std::string> elements_;
};

template <typename T>
bool ParseInteger(const std::string& text, T* value) {
  if constexpr (std::is_signed_v<T>) {
    int64_t wide;
    if (!absl::SimpleAtoi(text, &wide) || wide < std::numeric_limits<T>::min() ||
        wide > std::numeric_limits<T>::max()) {
      return false;
    }
    *value = static_cast<T>(wide);
  } else {
    uint64_t wide;
    if (!absl::SimpleAtoi(text, &wide) || wide > std::numeric_limits<T>::max()) return false;
    *value = static_cast<T>(wide);
  }
  return true;
}

template <typename T>
bool ParseFloating(const std::string& text, T* value) {
  double wide;
  if (!absl::SimpleAtod(text, &wide)) return false;
  if constexpr (std::is_same_v<T, double>) {
    *value = wide;
  } else {
    *value = T(static_cast<float>(wide));
  }
  return true;
}

// "1.5", "2j", "-1e3+2.5j", "(1+2j)".
template <typename T>
bool ParseComplex(const std::string& text, std::complex<T>* value) {
  absl::string_view real = text, imaginary = "0";
  if (absl::StartsWith(real, "(") && absl::EndsWith(real, ")")) real = real.substr(1, real.size() - 2);
  if (absl::ConsumeSuffix(&real, "j")) {
    // The sign between the parts is the last that is no exponent's.
    size_t sign = real.size();
    while (sign > 0) {
      --sign;
      const bool is_sign = real[sign] == '+' || real[sign] == '-';
      if (is_sign && (sign == 0 || absl::ascii_tolower(real[sign - 1]) != 'e')) break;
    }
    imaginary = real.substr(sign);
    real = sign == 0 ? "0" : real.substr(0, sign);
  }
  T parts[2];
  if (!ParseFloating(std::string(real), &parts[0]) || !ParseFloating(std::string(imaginary), &parts[1])) return false;
  *value = {parts[0], parts[1]};
  return true;
}

template <typename T>
absl::Status SetElements(const std::vector<std::string>& texts, bool (*parse)(const std::string&, T*), Tensor* tensor) {
  for (size_t i = 0; i < texts.size(); ++i) {
    if (!parse(texts[i], &tensor->data<T>()[i])) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", texts[i], "' is no value of type ", DTypeName(tensor->dtype())));
    }
  }
  return absl::OkStatus();
}

bool ParseBool(const std::string& text, bool* value) { return absl::SimpleAtob(text, value); }

absl::Status SetAll(const std::vector<std::string>& texts, Tensor* tensor) {
  switch (tensor->dtype()) {
    case DType::kFloat:
      return SetElements<float>(texts, ParseFloating<float>, tensor);
    case DType::kDouble:
      return SetElements<double>(texts, ParseFloating<double>, tensor);
    case DType::kHalf:
      return SetElements<Half>(texts, ParseFloating<Half>, tensor);
    case DType::kBFloat16:
      return SetElements<BFloat16>(texts, ParseFloating<BFloat16>, tensor);
    case DType::kInt8:
      return SetElements<int8_t>(texts, ParseInteger<int8_t>, tensor);
    case DType::kInt16:
      return SetElements<int16_t>(texts, ParseInteger<int16_t>, tensor);
    case DType::kInt32:
      return SetElements<int32_t>(texts, ParseInteger<int32_t>, tensor);
    case DType::kInt64:
      return SetElements<int64_t>(texts, ParseInteger<int64_t>, tensor);
    case DType::kUInt8:
      return SetElements<uint8_t>(texts, ParseInteger<uint8_t>, tensor);
    case DType::kUInt16:
      return SetElements<uint16_t>(texts, ParseInteger<uint16_t>, tensor);
    case DType::kUInt32:
      return SetElements<uint32_t>(texts, ParseInteger<uint32_t>, tensor);
    case DType::kUInt64:
      return SetElements<uint64_t>(texts, ParseInteger<uint64_t>, tensor);
    case DType::kBool:
      return SetElements<bool>(texts, ParseBool, tensor);
    case DType::kComplex64:
      return SetElements<std::complex<float>>(texts, ParseComplex<float>, tensor);
    case DType::kComplex128:
      return SetElements<std::complex<double>>(texts, ParseComplex<double>, tensor);
    case DType::kString:
      std::copy(texts.begin(), texts.end(), tensor->data<std::string>());
      return absl::OkStatus();
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("values of type ", DTypeName(tensor->dtype()), " cannot be fed from the command line"));
  }
}

}  // namespace

absl::StatusOr<Tensor> ParseTensor(absl::string_view text, DType dtype) {
  LiteralParser parser(text);
  NABLA_RETURN_IF_ERROR(parser.Parse());
  NABLA_ASSIGN_OR_RETURN(Shape shape, parser.shape());
  NABLA_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(dtype, shape));
  NABLA_RETURN_IF_ERROR(SetAll(parser.elements(), &tensor));
  return tensor;
}

absl::StatusOr<Feeds> ParseFeeds(const Graph& graph, const std::vector<std::string>& flags) {
  Feeds feeds;
  for (const std::string& flag : flags) {
    const size_t equals = flag.find('=');
    if (equals == std::string::npos || equals == 0) {
      return UsageError(absl::StrCat("--feed ", flag, ": expected NAME=VALUE or NAME=@FILE.npy"));
    }
    const std::string name(absl::StripAsciiWhitespace(flag.substr(0, equals)));
    const absl::string_view value = absl::string_view(flag).substr(equals + 1);
    NABLA_ASSIGN_OR_RETURN(Output output, graph.FindOutput(name));
    if (value == "@") return UsageError(absl::StrCat("--feed ", flag, ": expected the name of a .npy file after '@'"));
    absl::StatusOr<Tensor> tensor =
        absl::StartsWith(value, "@") ? ReadNpy(std::string(value.substr(1))) : ParseTensor(value, output.dtype());
    if (!tensor.ok()) {
      return absl::Status(tensor.status().code(), absl::StrCat("--feed ", name, ": ", tensor.status().message()));
    }
    feeds.emplace_back(output, *std::move(tensor));
  }
  return feeds;
}

}  // namespace nabla::tools

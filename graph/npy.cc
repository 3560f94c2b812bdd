#include "nabla/graph/npy.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "nabla/graph/byte_reader.h"
#include "nabla/graph/status_macros.h"

namespace nabla {
namespace {

constexpr absl::string_view kMagic("\x93NUMPY", 6);
// What NumPy itself writes is far below; a longer header is not worth reading.
constexpr size_t kMaxHeader = 1 << 20;

struct Header {
  char kind = 0;          // 'f', 'i', 'S', …
  int64_t item_size = 0;  // bytes of one element
  bool swapped = false;
  bool fortran_order = false;
  std::vector<int64_t> dims;
};

// Reads the Python dictionary literal that the header is: {'descr': '<f4',
// 'fortran_order': False, 'shape': (2, 3), }
class HeaderParser {
 public:
  HeaderParser(absl::string_view text, absl::string_view source) : text_(text), source_(source) {}

  absl::StatusOr<Header> Parse() {
    NABLA_RETURN_IF_ERROR(Expect('{'));
    while (!TryTake('}')) {
      NABLA_ASSIGN_OR_RETURN(std::string key, QuotedString());
      NABLA_RETURN_IF_ERROR(Expect(':'));
      if (key == "descr") {
        NABLA_RETURN_IF_ERROR(Descr());
      } else if (key == "fortran_order") {
        NABLA_RETURN_IF_ERROR(FortranOrder());
      } else if (key == "shape") {
        NABLA_RETURN_IF_ERROR(ShapeTuple());
      } else {
        return Error(absl::StrCat("unknown key '", key, "'"));
      }
      if (!TryTake(',') && Peek() != '}') return Error("expected ',' or '}'");
    }
    if (header_.kind == 0 || !has_shape_) return Error("'descr' or 'shape' is missing");
    return header_;
  }

 private:
  absl::Status Error(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(source_, ": malformed .npy header: ", what));
  }
  char Peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool TryTake(char c) {
    if (Peek() != c) return false;
    ++at_;
    return true;
  }
  absl::Status Expect(char c) {
    if (TryTake(c)) return absl::OkStatus();
    return Error(absl::StrCat("expected '", std::string(1, c), "'"));
  }
  absl::StatusOr<std::string> QuotedString() {
    char quote = Peek();
    if (quote != '\'' && quote != '"') return Error("expected a quoted string");
    size_t end = text_.find(quote, at_ + 1);
    if (end == absl::string_view::npos) return Error("a string does not end");
    std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return value;
  }
  absl::Status Descr() {
    if (Peek() == '[') return Error("structured dtypes are not supported");
    NABLA_ASSIGN_OR_RETURN(std::string descr, QuotedString());
    if (descr.size() < 3 || absl::string_view("<>|=").find(descr[0]) == absl::string_view::npos ||
        !absl::SimpleAtoi(absl::string_view(descr).substr(2), &header_.item_size) || header_.item_size < 0 ||
        header_.item_size > INT32_MAX / 4) {
      return Error(absl::StrCat("dtype '", descr, "' is not supported"));
    }
    header_.kind = descr[1];
    header_.swapped = descr[0] == '>';
    if (header_.kind == 'U') header_.item_size *= 4;
    return absl::OkStatus();
  }
  absl::Status FortranOrder() {
    Peek();
    for (bool value : {true, false}) {
      absl::string_view word = value ? "True" : "False";
      if (text_.substr(at_, word.size()) == word) {
        header_.fortran_order = value;
        at_ += word.size();
        return absl::OkStatus();
      }
    }
    return Error("'fortran_order' is neither True nor False");
  }
  absl::Status ShapeTuple() {
    has_shape_ = true;
    NABLA_RETURN_IF_ERROR(Expect('('));
    while (!TryTake(')')) {
      Peek();
      size_t end = std::min(text_.find_first_not_of("0123456789", at_), text_.size());
      int64_t dim;
      if (!absl::SimpleAtoi(text_.substr(at_, end - at_), &dim)) return Error("a dimension is no number");
      header_.dims.push_back(dim);
      at_ = end;
      if (!TryTake(',') && Peek() != ')') return Error("expected ',' or ')'");
    }
    return absl::OkStatus();
  }

  absl::string_view text_;
  absl::string_view source_;
  size_t at_ = 0;
  bool has_shape_ = false;
  Header header_;
};

DType DTypeOfHeader(const Header& header) {
  switch (header.kind) {
    case 'b':
      return header.item_size == 1 ? DType::kBool : DType::kInvalid;
    case 'f':
      return header.item_size == 2   ? DType::kHalf
             : header.item_size == 4 ? DType::kFloat
             : header.item_size == 8 ? DType::kDouble
                                     : DType::kInvalid;
    case 'i':
      return header.item_size == 1   ? DType::kInt8
             : header.item_size == 2 ? DType::kInt16
             : header.item_size == 4 ? DType::kInt32
             : header.item_size == 8 ? DType::kInt64
                                     : DType::kInvalid;
    case 'u':
      return header.item_size == 1   ? DType::kUInt8
             : header.item_size == 2 ? DType::kUInt16
             : header.item_size == 4 ? DType::kUInt32
             : header.item_size == 8 ? DType::kUInt64
                                     : DType::kInvalid;
    case 'c':
      return header.item_size == 8 ? DType::kComplex64 : header.item_size == 16 ? DType::kComplex128 : DType::kInvalid;
    case 'S':
    case 'a':
    case 'U':
      return DType::kString;
    default:
      return DType::kInvalid;
  }
}

void AppendUtf8(uint32_t code, std::string* out) {
  if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) code = 0xfffd;  // not a character
  if (code < 0x80) {
    out->push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    out->push_back(static_cast<char>(0xc0 | code >> 6));
    out->push_back(static_cast<char>(0x80 | (code & 0x3f)));
  } else if (code < 0x10000) {
    out->push_back(static_cast<char>(0xe0 | code >> 12));
    out->push_back(static_cast<char>(0x80 | (code >> 6 & 0x3f)));
    out->push_back(static_cast<char>(0x80 | (code & 0x3f)));
  } else {
    out->push_back(static_cast<char>(0xf0 | code >> 18));
    out->push_back(static_cast<char>(0x80 | (code >> 12 & 0x3f)));
    out->push_back(static_cast<char>(0x80 | (code >> 6 & 0x3f)));
    out->push_back(static_cast<char>(0x80 | (code & 0x3f)));
  }
}

std::string StringElement(const char* bytes, const Header& header) {
  if (header.kind != 'U') {
    absl::string_view value(bytes, header.item_size);
    while (!value.empty() && value.back() == '\0') value.remove_suffix(1);
    return std::string(value);
  }
  std::string value;
  for (int64_t i = 0; i + 4 <= header.item_size; i += 4) {
    uint32_t code;
    std::memcpy(&code, bytes + i, 4);
    if (header.swapped) code = __builtin_bswap32(code);
    if (code == 0) break;
    AppendUtf8(code, &value);
  }
  return value;
}

// The source position of each element in row-major order, for data in
// column-major order.
class ElementOrder {
 public:
  explicit ElementOrder(const Header& header) : dims_(header.dims), index_(header.dims.size()) {
    strides_.resize(dims_.size());
    int64_t stride = 1;
    for (size_t i = 0; i < dims_.size(); ++i) {
      size_t axis = header.fortran_order ? i : dims_.size() - 1 - i;
      strides_[axis] = stride;
      stride *= dims_[axis];
    }
  }
  int64_t Next() {
    int64_t position = position_;
    for (size_t axis = dims_.size(); axis-- > 0;) {
      position_ += strides_[axis];
      if (++index_[axis] < dims_[axis]) break;
      position_ -= dims_[axis] * strides_[axis];
      index_[axis] = 0;
    }
    return position;
  }

 private:
  std::vector<int64_t> dims_, strides_, index_;
  int64_t position_ = 0;
};

// '<f4' and the like; empty if NumPy has no such type.
std::string DescrOf(const Tensor& tensor, int64_t string_size) {
  auto sized = [&](absl::string_view kind) { return absl::StrCat(kind, DTypeSize(tensor.dtype())); };
  DType dtype = tensor.dtype();
  if (dtype == DType::kBool) return "|b1";
  if (dtype == DType::kString) return absl::StrCat("|S", string_size);
  if (dtype == DType::kHalf || dtype == DType::kFloat || dtype == DType::kDouble) return sized("<f");
  if (IsComplex(dtype)) return sized("<c");
  if (dtype == DType::kInt4 || dtype == DType::kUInt4 || dtype == DType::kInt2 || dtype == DType::kUInt2) return "";
  if (IsInteger(dtype))
    return absl::StrCat(DTypeSize(dtype) == 1 ? "|" : "<", IsUnsigned(dtype) ? "u" : "i", DTypeSize(dtype));
  return "";
}

}  // namespace

namespace {

struct Parsed {
  Header header;
  DType dtype = DType::kInvalid;
  Shape shape;
  int64_t size = 0;  // of the elements
  size_t data_start = 0;
};

// What precedes the elements. `bytes` is the beginning of a file of `file_size` bytes, all of the header included if
// the file has it.
absl::StatusOr<Parsed> ParsePreamble(absl::string_view bytes, uint64_t file_size, absl::string_view source) {
  if (bytes.substr(0, kMagic.size()) != kMagic || bytes.size() < 10) {
    return absl::InvalidArgumentError(absl::StrCat(source, ": not a NumPy .npy file"));
  }
  int version = bytes[6];
  size_t header_size, data_start;
  if (version == 1) {
    header_size = static_cast<uint8_t>(bytes[8]) | static_cast<uint8_t>(bytes[9]) << 8;
    data_start = 10;
  } else if ((version == 2 || version == 3) && bytes.size() >= 12) {
    header_size = static_cast<uint8_t>(bytes[8]) | static_cast<uint8_t>(bytes[9]) << 8 |
                  static_cast<uint8_t>(bytes[10]) << 16 | static_cast<size_t>(static_cast<uint8_t>(bytes[11])) << 24;
    data_start = 12;
  } else {
    return absl::InvalidArgumentError(absl::StrCat(source, ": unknown .npy version ", version));
  }
  if (header_size > kMaxHeader || header_size > bytes.size() - data_start) {
    return absl::InvalidArgumentError(absl::StrCat(source, ": the .npy header is cut off"));
  }
  NABLA_ASSIGN_OR_RETURN(Header header, HeaderParser(bytes.substr(data_start, header_size), source).Parse());
  data_start += header_size;
  DType dtype = DTypeOfHeader(header);
  if (dtype == DType::kInvalid) {
    return absl::InvalidArgumentError(
        absl::StrCat(source, ": NumPy type '", std::string(1, header.kind), header.item_size, "' is not supported"));
  }
  absl::StatusOr<Shape> shape = Shape::FromDims(header.dims);
  if (!shape.ok()) return absl::InvalidArgumentError(absl::StrCat(source, ": ", shape.status().message()));
  int64_t count = shape->num_elements(), size;
  bool fits = CheckedMultiply(count, header.item_size, &size);
  const uint64_t left = file_size - std::min<uint64_t>(file_size, data_start);
  if (!fits || static_cast<uint64_t>(size) != left) {
    return absl::InvalidArgumentError(absl::StrCat(source, ": shape ", shape->ToString(), " of ", header.item_size,
                                                   "-byte elements does not match the ", left,
                                                   " bytes that follow the header"));
  }
  // Elements without bytes (|S0) would let a few bytes of file stand for any
  // number of strings.
  if (header.item_size == 0 && count > (1 << 20)) {
    return absl::InvalidArgumentError(absl::StrCat(source, ": too many empty elements: ", count));
  }
  return Parsed{std::move(header), dtype, *std::move(shape), size, data_start};
}

// The elements as the file has them are made those of the tensor, in place.
void Normalise(const Parsed& parsed, char* elements) {
  if (parsed.header.swapped) {
    int64_t word = parsed.header.kind == 'c' ? parsed.header.item_size / 2 : parsed.header.item_size;
    for (int64_t at = 0; at < parsed.size; at += word) std::reverse(elements + at, elements + at + word);
  }
  if (parsed.dtype == DType::kBool) {
    for (int64_t i = 0; i < parsed.size; ++i) elements[i] = elements[i] != 0;
  }
}

bool IsRowMajor(const Header& header) { return !header.fortran_order || header.dims.size() < 2; }

}  // namespace

absl::StatusOr<Tensor> ParseNpy(absl::string_view bytes, absl::string_view source) {
  NABLA_ASSIGN_OR_RETURN(const Parsed parsed, ParsePreamble(bytes, bytes.size(), source));
  const Header& header = parsed.header;
  const int64_t count = parsed.shape.num_elements();
  NABLA_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(parsed.dtype, parsed.shape));
  const char* data = bytes.data() + parsed.data_start;
  if (parsed.dtype == DType::kString) {
    ElementOrder order(header);
    for (int64_t i = 0; i < count; ++i) {
      tensor.data<std::string>()[i] = StringElement(data + order.Next() * header.item_size, header);
    }
    return tensor;
  }
  char* out = static_cast<char*>(tensor.raw_data());
  if (IsRowMajor(header)) {
    if (parsed.size > 0) std::memcpy(out, data, parsed.size);
  } else {
    ElementOrder order(header);
    for (int64_t i = 0; i < count; ++i) {
      std::memcpy(out + i * header.item_size, data + order.Next() * header.item_size, header.item_size);
    }
  }
  Normalise(parsed, out);
  return tensor;
}

absl::StatusOr<Tensor> ReadNpy(const std::string& path) {
  NABLA_ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> reader, ByteReader::OpenFile(path));
  // Elements that lie in the file as in memory are read to where they stay.
  if (reader->size() != UINT64_MAX) {
    absl::StatusOr<Parsed> parsed = ParsePreamble(reader->Peek(ByteReader::kMaxView), reader->size(), path);
    if (parsed.ok() && parsed->dtype != DType::kString && IsRowMajor(parsed->header)) {
      Buffer* const elements = reader->Skip(parsed->data_start) ? reader->ReadBuffer(parsed->size) : nullptr;
      if (elements == nullptr) {
        return absl::InvalidArgumentError(absl::StrCat(path, ": cannot be read, or does not fit into memory"));
      }
      Normalise(*parsed, static_cast<char*>(elements->data()));
      return Tensor::FromBuffer(parsed->dtype, std::move(parsed->shape), elements);
    }
  }
  std::string bytes;
  for (absl::string_view piece; !(piece = reader->Peek(ByteReader::kMaxView)).empty(); reader->Skip(piece.size())) {
    bytes.append(piece.data(), piece.size());
  }
  if (reader->failed()) return absl::InvalidArgumentError(absl::StrCat(path, ": cannot be read"));
  return ParseNpy(bytes, path);
}

absl::StatusOr<std::string> FormatNpy(const Tensor& original) {
  Tensor tensor = original;
  if (tensor.dtype() == DType::kBFloat16) {
    NABLA_ASSIGN_OR_RETURN(tensor, Tensor::Allocate(DType::kFloat, original.shape()));
    for (int64_t i = 0; i < tensor.num_elements(); ++i) {
      tensor.data<float>()[i] = static_cast<float>(original.data<BFloat16>()[i]);
    }
  }
  size_t string_size = 1;
  if (tensor.dtype() == DType::kString) {
    for (const std::string& value : tensor.flat<std::string>()) string_size = std::max(string_size, value.size());
  }
  std::string descr = DescrOf(tensor, static_cast<int64_t>(string_size));
  if (descr.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a tensor of type ", DTypeName(tensor.dtype()), " cannot be written as .npy"));
  }
  absl::Span<const int64_t> dims = tensor.shape().dims();
  std::string header = absl::StrCat("{'descr': '", descr, "', 'fortran_order': False, 'shape': (",
                                    absl::StrJoin(dims, ", "), dims.size() == 1 ? ",), }" : "), }");
  // The data starts at a multiple of 64 bytes.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header.push_back('\n');
  std::string file(kMagic);
  file.push_back(1);
  file.push_back(0);
  file.push_back(static_cast<char>(header.size() & 0xff));
  file.push_back(static_cast<char>(header.size() >> 8));
  file += header;
  if (tensor.dtype() == DType::kString) {
    for (const std::string& value : tensor.flat<std::string>()) {
      file += value;
      file.append(string_size - value.size(), '\0');
    }
  } else {
    file.append(static_cast<const char*>(static_cast<const Tensor&>(tensor).raw_data()), tensor.num_bytes());
  }
  return file;
}

absl::Status WriteNpy(const std::string& path, const Tensor& tensor) {
  NABLA_ASSIGN_OR_RETURN(std::string bytes, FormatNpy(tensor));
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) return absl::InternalError(absl::StrCat(path, ": cannot be written: ", strerror(errno)));
  return absl::OkStatus();
}

}  // namespace nabla

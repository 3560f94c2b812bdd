#include "nabla/graph/tensor_proto.h"

#include <algorithm>
#include <complex>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "nabla/graph/status_macros.h"
#include "nabla/proto/tensor.pb.h"
#include "nabla/proto/tensor_shape.pb.h"

namespace nabla {
namespace {

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "tensor_content is little-endian and is used as it stands"
#endif

// A few bytes can ask for any number of copies of one value. No tensor_content could be longer than a protobuf may be,
// so neither may what stands for it.
constexpr size_t kMaxRepeatedBytes = size_t{1} << 31;

absl::Status TooManyValues(const char* field, int64_t count, const Tensor& tensor) {
  return absl::InvalidArgumentError(absl::StrCat(field, " has ", count, " values, but a tensor of shape ",
                                                 tensor.shape().ToString(), " has room for ", tensor.num_elements()));
}

// Elements from one entry each; a short field's last entry repeats, an empty field means zeros.
template <typename T, typename Field, typename Convert>
absl::Status FillFrom(const char* name, const Field& field, Convert convert, Tensor* tensor) {
  const int64_t count = field.size();
  const int64_t n = tensor->num_elements();
  if (count > n) return TooManyValues(name, count, *tensor);
  T* out = tensor->data<T>();
  for (int64_t i = 0; i < count; ++i) out[i] = convert(field.Get(static_cast<int>(i)));
  std::fill(out + count, out + n, count > 0 ? T(out[count - 1]) : T());
  return absl::OkStatus();
}

// Complex elements from two entries each.
template <typename R, typename Field>
absl::Status FillComplex(const char* name, const Field& field, Tensor* tensor) {
  if (field.size() % 2 != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " has ", field.size(), " values; expected real and imaginary parts in pairs"));
  }
  const int64_t count = field.size() / 2;
  const int64_t n = tensor->num_elements();
  if (count > n) return TooManyValues(name, count, *tensor);
  std::complex<R>* out = tensor->data<std::complex<R>>();
  for (int i = 0; i < count; ++i) out[i] = {field.Get(2 * i), field.Get(2 * i + 1)};
  std::fill(out + count, out + n, count > 0 ? std::complex<R>(out[count - 1]) : std::complex<R>());
  return absl::OkStatus();
}

template <typename T, typename Field>
absl::Status FillCast(const char* name, const Field& field, Tensor* tensor) {
  return FillFrom<T>(
      name, field, [](auto entry) { return static_cast<T>(entry); }, tensor);
}

absl::Status FillStrings(const TensorProto& proto, Tensor* tensor) {
  const int64_t count = proto.string_val_size();
  const int64_t n = tensor->num_elements();
  if (count > 0 && count < n) {
    const size_t size = proto.string_val(static_cast<int>(count - 1)).size();
    if (size > kMaxRepeatedBytes / static_cast<size_t>(n - count)) {
      return absl::ResourceExhaustedError(absl::StrCat("a string of ", size, " bytes is to be repeated ", n - count,
                                                       " times; at most ", kMaxRepeatedBytes, " bytes are accepted"));
    }
  }
  return FillFrom<std::string>(
      "string_val", proto.string_val(), [](const std::string& entry) { return entry; }, tensor);
}

// The lowest kBits of a byte as a signed number.
template <int kBits>
int8_t SignExtend(uint8_t byte) {
  return static_cast<int8_t>(static_cast<int8_t>(byte << (8 - kBits)) >> (8 - kBits));
}

absl::Status FillTinyFloat(const std::string& field, Tensor* tensor) {
  const int64_t count = static_cast<int64_t>(field.size());
  const int64_t n = tensor->num_elements();
  if (count > n) return TooManyValues("float8_val", count, *tensor);
  uint8_t* out = tensor->data<uint8_t>();
  std::copy(field.begin(), field.end(), out);
  if (tensor->dtype() == DType::kFloat4E2M1FN) {
    for (int64_t i = 0; i < count; ++i) out[i] &= 15;
  }
  std::fill(out + count, out + n, count > 0 ? out[count - 1] : 0);
  return absl::OkStatus();
}

// Elements from the typed field of the tensor's dtype.
absl::Status FillFromValues(const TensorProto& proto, Tensor* tensor) {
  if (IsTinyFloat(tensor->dtype())) return FillTinyFloat(proto.float8_val(), tensor);
  switch (tensor->dtype()) {
    case DType::kFloat:
      return FillCast<float>("float_val", proto.float_val(), tensor);
    case DType::kDouble:
      return FillCast<double>("double_val", proto.double_val(), tensor);
    case DType::kInt32:
    case DType::kQInt32:
      return FillCast<int32_t>("int_val", proto.int_val(), tensor);
    case DType::kUInt8:
    case DType::kQUInt8:
      return FillCast<uint8_t>("int_val", proto.int_val(), tensor);
    case DType::kInt16:
    case DType::kQInt16:
      return FillCast<int16_t>("int_val", proto.int_val(), tensor);
    case DType::kInt8:
    case DType::kQInt8:
      return FillCast<int8_t>("int_val", proto.int_val(), tensor);
    case DType::kUInt16:
    case DType::kQUInt16:
      return FillCast<uint16_t>("int_val", proto.int_val(), tensor);
    case DType::kInt4:
      return FillFrom<int8_t>(
          "int_val", proto.int_val(), [](int32_t entry) { return SignExtend<4>(static_cast<uint8_t>(entry)); }, tensor);
    case DType::kUInt4:
      return FillFrom<uint8_t>(
          "int_val", proto.int_val(), [](int32_t entry) { return static_cast<uint8_t>(entry & 15); }, tensor);
    case DType::kInt2:
      return FillFrom<int8_t>(
          "int_val", proto.int_val(), [](int32_t entry) { return SignExtend<2>(static_cast<uint8_t>(entry)); }, tensor);
    case DType::kUInt2:
      return FillFrom<uint8_t>(
          "int_val", proto.int_val(), [](int32_t entry) { return static_cast<uint8_t>(entry & 3); }, tensor);
    case DType::kHalf:
    case DType::kBFloat16:
      return FillCast<uint16_t>("half_val", proto.half_val(), tensor);
    case DType::kInt64:
      return FillCast<int64_t>("int64_val", proto.int64_val(), tensor);
    case DType::kUInt32:
      return FillCast<uint32_t>("uint32_val", proto.uint32_val(), tensor);
    case DType::kUInt64:
      return FillCast<uint64_t>("uint64_val", proto.uint64_val(), tensor);
    case DType::kBool:
      return FillCast<bool>("bool_val", proto.bool_val(), tensor);
    case DType::kComplex64:
      return FillComplex<float>("scomplex_val", proto.scomplex_val(), tensor);
    case DType::kComplex128:
      return FillComplex<double>("dcomplex_val", proto.dcomplex_val(), tensor);
    case DType::kString:
      return FillStrings(proto, tensor);
    default:
      return absl::InternalError(absl::StrCat("no field holds elements of type ", DTypeName(tensor->dtype())));
  }
}

// Deals with bytes that are no value of the dtype, so that nothing downstream need expect a bool that is 2.
absl::Status CheckContent(Tensor* tensor) {
  uint8_t* bytes = static_cast<uint8_t*>(tensor->raw_data());
  const size_t n = tensor->num_bytes();
  switch (tensor->dtype()) {
    case DType::kBool:
      for (size_t i = 0; i < n; ++i) {
        if (bytes[i] > 1) {
          return absl::InvalidArgumentError(
              absl::StrCat("element ", i, " of a bool tensor's content is ", bytes[i], "; expected 0 or 1"));
        }
      }
      break;
    case DType::kInt4:
      for (size_t i = 0; i < n; ++i) bytes[i] = static_cast<uint8_t>(SignExtend<4>(bytes[i]));
      break;
    case DType::kUInt4:
    case DType::kFloat4E2M1FN:
      for (size_t i = 0; i < n; ++i) bytes[i] &= 15;
      break;
    case DType::kInt2:
      for (size_t i = 0; i < n; ++i) bytes[i] = static_cast<uint8_t>(SignExtend<2>(bytes[i]));
      break;
    case DType::kUInt2:
      for (size_t i = 0; i < n; ++i) bytes[i] &= 3;
      break;
    default:
      break;
  }
  return absl::OkStatus();
}

bool ReadVarint(absl::string_view* bytes, uint64_t* value) {
  *value = 0;
  for (int shift = 0; shift < 64 && !bytes->empty(); shift += 7) {
    const uint8_t byte = static_cast<uint8_t>(bytes->front());
    bytes->remove_prefix(1);
    *value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

// Strings as raw bytes: the length of each as a varint, then all of their bytes.
absl::StatusOr<Tensor> StringsFromContent(const Shape& shape, absl::string_view content) {
  const int64_t n = shape.num_elements();
  const auto malformed = [&] {
    return absl::InvalidArgumentError(absl::StrCat("tensor_content of ", content.size(),
                                                   " bytes does not hold the strings of shape ", shape.ToString()));
  };
  // Each length takes a byte, so this bounds what is allocated.
  if (n > static_cast<int64_t>(content.size())) return malformed();
  absl::string_view lengths = content;
  uint64_t total = 0;
  for (int64_t i = 0; i < n; ++i) {
    uint64_t length;
    if (!ReadVarint(&lengths, &length) || length > content.size()) return malformed();
    total += length;
  }
  if (total != lengths.size()) return malformed();
  NABLA_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(DType::kString, shape));
  absl::string_view bytes = lengths;
  lengths = content;
  for (std::string& element : tensor.flat<std::string>()) {
    uint64_t length = 0;
    ReadVarint(&lengths, &length);
    element.assign(bytes.data(), length);
    bytes.remove_prefix(length);
  }
  return tensor;
}

struct Header {
  DType dtype;
  Shape shape;
  size_t bytes = 0;  // of the elements as they lie in memory
};

absl::StatusOr<Header> ReadHeader(const TensorProto& proto) {
  Header header;
  const int number = static_cast<int>(proto.dtype());
  header.dtype = number > 0 && number < kRefOffset ? static_cast<DType>(number) : DType::kInvalid;
  if (!IsKnown(header.dtype)) {
    return absl::InvalidArgumentError(absl::StrCat("a tensor of unknown dtype ", number));
  }
  NABLA_ASSIGN_OR_RETURN(header.shape, ShapeFromProto(proto.tensor_shape()));
  if (!header.shape.IsFullyDefined()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a tensor's shape is ", header.shape.ToString(), "; expected all dimensions to be known"));
  }
  if (__builtin_mul_overflow(static_cast<size_t>(header.shape.num_elements()), DTypeSize(header.dtype),
                             &header.bytes)) {
    return absl::InvalidArgumentError(absl::StrCat("a tensor of type ", DTypeName(header.dtype), " and shape ",
                                                   header.shape.ToString(), " has more than 2^64 bytes"));
  }
  return header;
}

absl::Status CheckContentSize(const Header& header, size_t bytes) {
  if (bytes == header.bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("tensor_content has ", bytes, " bytes; a tensor of type ",
                                                 DTypeName(header.dtype), " and shape ", header.shape.ToString(),
                                                 " has ", header.bytes));
}

// All elements have the same bytes. Requires at least one.
bool IsSplat(const Tensor& tensor) {
  const uint8_t* bytes = static_cast<const uint8_t*>(tensor.raw_data());
  const size_t size = DTypeSize(tensor.dtype());
  return std::memcmp(bytes, bytes + size, tensor.num_bytes() - size) == 0;
}

void WriteStrings(absl::Span<const std::string> elements, TensorProto* proto) {
  const bool splat = std::all_of(elements.begin(), elements.end(),
                                 [&](const std::string& element) { return element == elements.front(); });
  if (splat) elements = elements.first(1);
  for (const std::string& element : elements) proto->add_string_val(element);
}

// One value as the typed field's entries.
void AddValue(const Tensor& tensor, TensorProto* proto) {
  switch (tensor.dtype()) {
    case DType::kFloat:
      proto->add_float_val(tensor.scalar<float>());
      break;
    case DType::kDouble:
      proto->add_double_val(tensor.scalar<double>());
      break;
    case DType::kInt32:
    case DType::kQInt32:
      proto->add_int_val(tensor.scalar<int32_t>());
      break;
    case DType::kInt16:
    case DType::kQInt16:
      proto->add_int_val(tensor.scalar<int16_t>());
      break;
    case DType::kInt8:
    case DType::kQInt8:
    case DType::kInt4:
    case DType::kInt2:
      proto->add_int_val(tensor.scalar<int8_t>());
      break;
    case DType::kUInt8:
    case DType::kQUInt8:
    case DType::kUInt4:
    case DType::kUInt2:
      proto->add_int_val(tensor.scalar<uint8_t>());
      break;
    case DType::kUInt16:
    case DType::kQUInt16:
      proto->add_int_val(tensor.scalar<uint16_t>());
      break;
    case DType::kHalf:
    case DType::kBFloat16:
      proto->add_half_val(tensor.scalar<uint16_t>());
      break;
    case DType::kInt64:
      proto->add_int64_val(tensor.scalar<int64_t>());
      break;
    case DType::kUInt32:
      proto->add_uint32_val(tensor.scalar<uint32_t>());
      break;
    case DType::kUInt64:
      proto->add_uint64_val(tensor.scalar<uint64_t>());
      break;
    case DType::kBool:
      proto->add_bool_val(tensor.scalar<bool>());
      break;
    case DType::kComplex64:
      proto->add_scomplex_val(tensor.scalar<std::complex<float>>().real());
      proto->add_scomplex_val(tensor.scalar<std::complex<float>>().imag());
      break;
    case DType::kComplex128:
      proto->add_dcomplex_val(tensor.scalar<std::complex<double>>().real());
      proto->add_dcomplex_val(tensor.scalar<std::complex<double>>().imag());
      break;
    default:
      if (IsTinyFloat(tensor.dtype())) proto->set_float8_val(tensor.raw_data(), 1);
      break;
  }
}

}  // namespace

absl::StatusOr<Tensor> TensorFromProto(const TensorProto& proto) {
  NABLA_ASSIGN_OR_RETURN(Header header, ReadHeader(proto));
  const std::string& content = proto.tensor_content();
  if (!content.empty()) {
    if (header.dtype == DType::kString) return StringsFromContent(header.shape, content);
    if (IsPod(header.dtype)) {
      NABLA_RETURN_IF_ERROR(CheckContentSize(header, content.size()));
      NABLA_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(header.dtype, std::move(header.shape)));
      std::memcpy(tensor.raw_data(), content.data(), content.size());
      NABLA_RETURN_IF_ERROR(CheckContent(&tensor));
      return tensor;
    }
  }
  if (header.dtype == DType::kResource || header.dtype == DType::kVariant) {
    if (header.bytes == 0) return Tensor::Allocate(header.dtype, std::move(header.shape));
    return absl::UnimplementedError(absl::StrCat("a tensor of type ", DTypeName(header.dtype), " and shape ",
                                                 header.shape.ToString(),
                                                 " in a file: its elements exist only inside a running program"));
  }
  if (header.bytes > kMaxRepeatedBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a tensor of type ", DTypeName(header.dtype), " and shape ", header.shape.ToString(), " is ",
                     header.bytes, " bytes; without tensor_content at most ", kMaxRepeatedBytes, " are accepted"));
  }
  NABLA_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(header.dtype, std::move(header.shape)));
  NABLA_RETURN_IF_ERROR(FillFromValues(proto, &tensor));
  return tensor;
}

absl::StatusOr<Tensor> TensorFromProto(TensorProto&& proto) {
  // Small values live inside the Tensor, so there is nothing to take over.
  if (proto.tensor_content().size() <= Tensor::kInlineBytes) return TensorFromProto(proto);
  NABLA_ASSIGN_OR_RETURN(Header header, ReadHeader(proto));
  if (!IsPod(header.dtype)) return TensorFromProto(proto);
  NABLA_RETURN_IF_ERROR(CheckContentSize(header, proto.tensor_content().size()));
  NABLA_ASSIGN_OR_RETURN(Tensor tensor, Tensor::FromBuffer(header.dtype, std::move(header.shape),
                                                           Buffer::Adopt(std::move(*proto.mutable_tensor_content()))));
  NABLA_RETURN_IF_ERROR(CheckContent(&tensor));
  return tensor;
}

void TensorToProto(const Tensor& tensor, TensorProto* proto) {
  proto->Clear();
  proto->set_dtype(static_cast<DataType>(tensor.dtype()));
  ShapeToProto(tensor.shape(), proto->mutable_tensor_shape());
  const int64_t n = tensor.num_elements();
  if (n == 0) return;
  switch (tensor.dtype()) {
    case DType::kString:
      WriteStrings(tensor.flat<std::string>(), proto);
      break;
    case DType::kResource:
      for (const ResourceHandle& handle : tensor.flat<ResourceHandle>()) {
        ResourceHandleProto* value = proto->add_resource_handle_val();
        value->set_container(handle.container());
        value->set_name(handle.name());
      }
      break;
    case DType::kVariant:
      for (const Variant& variant : tensor.flat<Variant>()) {
        VariantTensorDataProto* value = proto->add_variant_val();
        if (!variant.empty()) value->set_type_name(std::string(variant.value()->TypeName()));
      }
      break;
    default:
      if (IsSplat(tensor)) {
        AddValue(tensor, proto);
      } else {
        proto->set_tensor_content(tensor.raw_data(), tensor.num_bytes());
      }
  }
}

absl::StatusOr<Shape> ShapeFromProto(const TensorShapeProto& proto) {
  if (proto.unknown_rank()) {
    if (proto.dim_size() > 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("a shape of unknown rank has ", proto.dim_size(), " dimensions; expected none"));
    }
    return Shape::Unknown();
  }
  if (proto.dim_size() > kMaxRank) {
    return absl::InvalidArgumentError(
        absl::StrCat("a shape of ", proto.dim_size(), " dimensions; at most ", kMaxRank, " are possible"));
  }
  Shape::Dims dims;
  for (const TensorShapeProto::Dim& dim : proto.dim()) dims.push_back(dim.size());
  return Shape::FromDims(dims, /*allow_unknown=*/true);
}

void ShapeToProto(const Shape& shape, TensorShapeProto* proto) {
  proto->Clear();
  if (!shape.has_rank()) {
    proto->set_unknown_rank(true);
    return;
  }
  for (int64_t dim : shape.dims()) proto->add_dim()->set_size(dim);
}

}  // namespace nabla

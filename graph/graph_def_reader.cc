#include "nabla/graph/graph_def_reader.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/stubs/common.h>

#include "absl/strings/str_cat.h"
#include "nabla/graph/error_text.h"
#include "nabla/graph/status_macros.h"
#include "nabla/graph/tensor_proto.h"
#include "nabla/graph/unknown_fields.h"
#include "nabla/proto/graph_debug_info.pb.h"
#include "nabla/proto/node_def.pb.h"

namespace nabla {
namespace {

constexpr uint32_t kVarint = 0;
constexpr uint32_t kFixed64 = 1;
constexpr uint32_t kBytes = 2;
constexpr uint32_t kFixed32 = 5;

// Lengths in protobuf messages are signed 32-bit integers.
constexpr uint64_t kLongestMessage = 0x7fffffff;

void AppendVarint(uint64_t value, std::string* out) {
  uint8_t bytes[10];
  out->append(reinterpret_cast<char*>(bytes),
              google::protobuf::io::CodedOutputStream::WriteVarint64ToArray(value, bytes) - bytes);
}

// One byte of tag and a varint that fill `bytes`, as most attrs are.
bool ReadTaggedVarint(absl::string_view bytes, uint64_t* value) {
  uint64_t result = 0;
  int shift = 0;
  for (size_t i = 1; i < bytes.size() && shift < 64; ++i, shift += 7) {
    const uint8_t byte = static_cast<uint8_t>(bytes[i]);
    result |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) {
      *value = result;
      return i + 1 == bytes.size();
    }
  }
  return false;
}

// The packed *_val field that holds this dtype's elements as they lie in memory, or 0.
uint32_t RawValueField(DType dtype) {
  switch (dtype) {
    case DType::kFloat:
      return TensorProto::kFloatValFieldNumber;
    case DType::kDouble:
      return TensorProto::kDoubleValFieldNumber;
    case DType::kComplex64:
      return TensorProto::kScomplexValFieldNumber;
    case DType::kComplex128:
      return TensorProto::kDcomplexValFieldNumber;
    default:
      return 0;
  }
}

bool IsRawValueField(uint32_t field) {
  return field == TensorProto::kTensorContentFieldNumber || field == TensorProto::kFloatValFieldNumber ||
         field == TensorProto::kDoubleValFieldNumber || field == TensorProto::kScomplexValFieldNumber ||
         field == TensorProto::kDcomplexValFieldNumber;
}

// Elements whose every bit pattern is a value.
bool AnyBitsAreValid(DType dtype) {
  switch (dtype) {
    case DType::kFloat:
    case DType::kDouble:
    case DType::kHalf:
    case DType::kBFloat16:
    case DType::kInt8:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kInt64:
    case DType::kUInt8:
    case DType::kUInt16:
    case DType::kUInt32:
    case DType::kUInt64:
    case DType::kComplex64:
    case DType::kComplex128:
      return true;
    default:
      return false;
  }
}

struct BufferUnref {
  void operator()(Buffer* buffer) const { buffer->Unref(); }
};

}  // namespace

absl::Status GraphDefReader::Truncated() const {
  if (reader_.failed()) return absl::DataLossError("the system reports an error in reading it");
  return absl::InvalidArgumentError(absl::StrCat(
      "truncated: the data ends at byte ", std::min(reader_.position(), reader_.size()), ", in the middle of a field"));
}

absl::Status GraphDefReader::Malformed(const std::string& what) const {
  return absl::InvalidArgumentError(absl::StrCat("malformed near byte ", reader_.position(), ": ", what));
}

absl::Status GraphDefReader::ReadTag(uint64_t end, Tag* tag) {
  uint64_t value;
  if (!reader_.ReadVarint(&value)) return Truncated();
  tag->field = static_cast<uint32_t>(value >> 3);
  tag->type = value & 7;
  if (value > UINT32_MAX || tag->field == 0) {
    return Malformed(absl::StrCat("tag ", value, " is no valid field number and type"));
  }
  tag->length = 0;
  switch (tag->type) {
    case kVarint:
      break;
    case kFixed64:
      tag->length = 8;
      break;
    case kFixed32:
      tag->length = 4;
      break;
    case kBytes:
      if (!reader_.ReadVarint(&tag->length)) {
        return reader_.AtEnd() ? Truncated() : Malformed("a length is no valid varint");
      }
      break;
    default:
      return Malformed(absl::StrCat("field ", tag->field, " has wire type ", tag->type));
  }
  if (reader_.position() > end || tag->length > end - reader_.position()) {
    if (end == reader_.size()) {
      return absl::InvalidArgumentError(absl::StrCat("truncated: field ", tag->field, " at byte ", reader_.position(),
                                                     " has ", tag->length, " bytes, but only ",
                                                     end - std::min(end, reader_.position()), " are left"));
    }
    return Malformed(absl::StrCat("field ", tag->field, " is longer than the message around it"));
  }
  return absl::OkStatus();
}

absl::Status GraphDefReader::ReadText(uint64_t length, std::string* text) {
  absl::string_view view;
  if (length <= ByteReader::kMaxView) {
    if (!reader_.View(length, &view)) return Truncated();
    text->assign(view.data(), view.size());
  } else {
    text->clear();
    if (!reader_.Append(length, text)) return Truncated();
  }
  if (!google::protobuf::internal::IsStructurallyValidUTF8(text->data(), static_cast<int>(text->size()))) {
    return Malformed(absl::StrCat("the text ", Quoted(*text), " is not UTF-8"));
  }
  return absl::OkStatus();
}

absl::Status GraphDefReader::ReadMessage(uint64_t length, const char* what, google::protobuf::MessageLite* message) {
  if (length > kLongestMessage) return Malformed(absl::StrCat(what, " is longer than 2 GiB"));
  absl::string_view bytes;
  if (length <= ByteReader::kMaxView) {
    if (!reader_.View(length, &bytes)) return Truncated();
  } else {
    scratch_.clear();
    if (!reader_.Append(length, &scratch_)) return Truncated();
    bytes = scratch_;
  }
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const uint8_t*>(bytes.data()),
                                            static_cast<int>(bytes.size()));
  const bool parsed = message->MergePartialFromCodedStream(&in) && in.ConsumedEntireMessage();
  if (scratch_.size() > ByteReader::kMaxView) std::string().swap(scratch_);
  if (!parsed) return Malformed(absl::StrCat(what, " is no valid message, or nested more than 100 deep"));
  return absl::OkStatus();
}

absl::Status GraphDefReader::ReadRaw(const Tag& tag, std::string* raw) {
  AppendVarint(tag.field << 3 | tag.type, raw);
  if (tag.type == kVarint) {
    uint64_t value;
    if (!reader_.ReadVarint(&value)) return Truncated();
    AppendVarint(value, raw);
    return absl::OkStatus();
  }
  if (tag.type == kBytes) AppendVarint(tag.length, raw);
  return reader_.Append(tag.length, raw) ? absl::OkStatus() : Truncated();
}

absl::Status GraphDefReader::ReadTensor(uint64_t length, Attr* attr) {
  // The last large field of raw elements stays apart, the rest is for protobuf to decode.
  std::unique_ptr<Buffer, BufferUnref> elements;
  uint32_t elements_field = 0;
  std::string rest;
  const uint64_t end = reader_.position() + length;
  while (reader_.position() < end) {
    Tag tag;
    NABLA_RETURN_IF_ERROR(ReadTag(end, &tag));
    if (elements == nullptr && tag.type == kBytes && IsRawValueField(tag.field) && tag.length > Tensor::kInlineBytes) {
      elements.reset(reader_.ReadBuffer(tag.length));
      elements_field = tag.field;
      if (elements == nullptr) {
        if (reader_.failed() || reader_.AtEnd()) return Truncated();
        return absl::ResourceExhaustedError(absl::StrCat("no memory for a constant of ", tag.length, " bytes"));
      }
    } else {
      NABLA_RETURN_IF_ERROR(ReadRaw(tag, &rest));
    }
  }
  if (reader_.position() != end) return Malformed("a tensor is longer than the message around it");
  TensorProto proto;
  if (rest.size() > kLongestMessage || !proto.ParseFromString(rest)) {
    return Malformed("a tensor is no valid message, or nested more than 100 deep");
  }
  if (HasUnknownFields(proto)) {
    unknown_attr_.emplace();
    *unknown_attr_->mutable_tensor() = proto;
    KeepOnlyUnknownFields(&*unknown_attr_);
  }
  const DType dtype = static_cast<DType>(proto.dtype());
  if (elements != nullptr && DataType_IsValid(proto.dtype()) && AnyBitsAreValid(dtype) &&
      (elements_field == TensorProto::kTensorContentFieldNumber || elements_field == RawValueField(dtype))) {
    NABLA_ASSIGN_OR_RETURN(Shape shape, ShapeFromProto(proto.tensor_shape()));
    int64_t bytes = 0;
    if (shape.IsFullyDefined() &&
        CheckedMultiply(shape.num_elements(), static_cast<int64_t>(DTypeSize(dtype)), &bytes) &&
        static_cast<uint64_t>(bytes) == elements->size()) {
      NABLA_ASSIGN_OR_RETURN(Tensor tensor, Tensor::FromBuffer(dtype, std::move(shape), elements.release()));
      *attr = std::move(tensor);
      return absl::OkStatus();
    }
  }
  if (elements != nullptr) {
    // Not what it usually is, so the general way: the field is put back, and any error is found there.
    rest.clear();
    AppendVarint(elements_field << 3 | kBytes, &rest);
    AppendVarint(elements->size(), &rest);
    rest.append(static_cast<const char*>(elements->data()), elements->size());
    elements.reset();
    if (rest.size() > kLongestMessage || !proto.MergeFromString(rest)) {
      return Malformed("a tensor's list of values is no valid packed list");
    }
    std::string().swap(rest);
  }
  NABLA_RETURN_IF_ERROR(budget_.Charge(proto));
  NABLA_ASSIGN_OR_RETURN(Tensor tensor, TensorFromProto(std::move(proto)));
  *attr = std::move(tensor);
  return absl::OkStatus();
}

absl::Status GraphDefReader::ReadAttr(uint64_t length, Attr* attr) {
  *attr = Attr();
  unknown_attr_.reset();
  if (length == 0) return absl::OkStatus();
  constexpr uint8_t kTensorTag = AttrValue::kTensorFieldNumber << 3 | kBytes;
  if (length > ByteReader::kMaxView && static_cast<uint8_t>(reader_.Peek(1)[0]) == kTensorTag) {
    return ReadLargeTensorAttr(length, attr);
  }
  if (length <= ByteReader::kMaxView) {
    const absl::string_view bytes = reader_.Peek(length);
    if (bytes.size() < length) return Truncated();
    const uint8_t tag = static_cast<uint8_t>(bytes[0]);
    uint64_t value;
    bool done = false;
    if (tag == (AttrValue::kTypeFieldNumber << 3 | kVarint) && ReadTaggedVarint(bytes, &value)) {
      done = value <= UINT8_MAX && IsKnown(static_cast<DType>(value));
      if (done) *attr = static_cast<DType>(value);
    } else if (tag == (AttrValue::kIFieldNumber << 3 | kVarint) && ReadTaggedVarint(bytes, &value)) {
      *attr = static_cast<int64_t>(value);
      done = true;
    } else if (tag == (AttrValue::kBFieldNumber << 3 | kVarint) && ReadTaggedVarint(bytes, &value)) {
      *attr = value != 0;
      done = true;
    } else if (tag == (AttrValue::kSFieldNumber << 3 | kBytes) && length >= 2 && length < 0x80 &&
               static_cast<uint8_t>(bytes[1]) == length - 2) {
      *attr = std::string(bytes.substr(2));
      done = true;
    }
    if (done) return reader_.Skip(length) ? absl::OkStatus() : Truncated();
  }
  scratch_attr_.Clear();
  NABLA_RETURN_IF_ERROR(ReadMessage(length, "an attr value", &scratch_attr_));
  if (HasUnknownFields(scratch_attr_)) {
    unknown_attr_ = scratch_attr_;
    KeepOnlyUnknownFields(&*unknown_attr_);
  }
  NABLA_RETURN_IF_ERROR(budget_.Charge(scratch_attr_));
  NABLA_ASSIGN_OR_RETURN(*attr, AttrFromProto(std::move(scratch_attr_)));
  return absl::OkStatus();
}

absl::Status GraphDefReader::ReadLargeTensorAttr(uint64_t length, Attr* attr) {
  const uint64_t end = reader_.position() + length;
  Tag tag;
  NABLA_RETURN_IF_ERROR(ReadTag(end, &tag));
  NABLA_RETURN_IF_ERROR(ReadTensor(tag.length, attr));
  std::string others;
  while (reader_.position() < end) {
    NABLA_RETURN_IF_ERROR(ReadTag(end, &tag));
    if (AttrValue::descriptor()->FindFieldByNumber(static_cast<int>(tag.field)) != nullptr) {
      return Malformed("an attr has more than one value");
    }
    NABLA_RETURN_IF_ERROR(ReadRaw(tag, &others));
  }
  if (others.empty()) return absl::OkStatus();
  if (!unknown_attr_.has_value()) unknown_attr_.emplace();
  return unknown_attr_->MergeFromString(others) ? absl::OkStatus() : Malformed("an attr value is no valid message");
}

absl::Status GraphDefReader::ReadAttrEntry(uint64_t end, NodeRecord* record) {
  unknown_attr_.reset();
  std::string name;
  Attr value;
  while (reader_.position() < end) {
    Tag tag;
    NABLA_RETURN_IF_ERROR(ReadTag(end, &tag));
    if (tag.field == 1 && tag.type == kBytes) {
      NABLA_RETURN_IF_ERROR(ReadText(tag.length, &name));
    } else if (tag.field == 2 && tag.type == kBytes) {
      absl::Status status = ReadAttr(tag.length, &value);
      if (!status.ok()) return WithContext(absl::StrCat("attr ", Quoted(name)), status);
    } else {
      scratch_.clear();
      NABLA_RETURN_IF_ERROR(ReadRaw(tag, &scratch_));
    }
  }
  if (reader_.position() != end) return Malformed("an attr is longer than the message around it");
  record->attrs.Set(name, std::move(value));
  if (unknown_attr_.has_value()) {
    AppendUnknownAttr(name, *std::move(unknown_attr_), &record->foreign.unknown_fields);
  }
  return absl::OkStatus();
}

absl::Status GraphDefReader::ReadNode(uint64_t end, NodeRecord* record) {
  size_t inputs = 0;
  record->name.clear();
  record->op.clear();
  record->device.clear();
  record->attrs = AttrMap();
  record->foreign = ForeignFields();
  while (reader_.position() < end) {
    Tag tag;
    NABLA_RETURN_IF_ERROR(ReadTag(end, &tag));
    switch (tag.type == kBytes ? tag.field : 0) {
      case NodeDef::kNameFieldNumber:
        NABLA_RETURN_IF_ERROR(ReadText(tag.length, &record->name));
        break;
      case NodeDef::kOpFieldNumber:
        NABLA_RETURN_IF_ERROR(ReadText(tag.length, &record->op));
        break;
      case NodeDef::kInputFieldNumber:
        // The strings of the record that was read before are used again.
        if (inputs == record->inputs.size()) record->inputs.emplace_back();
        NABLA_RETURN_IF_ERROR(ReadText(tag.length, &record->inputs[inputs++]));
        break;
      case NodeDef::kDeviceFieldNumber:
        NABLA_RETURN_IF_ERROR(ReadText(tag.length, &record->device));
        break;
      case NodeDef::kAttrFieldNumber:
        NABLA_RETURN_IF_ERROR(ReadAttrEntry(reader_.position() + tag.length, record));
        break;
      case NodeDef::kExperimentalDebugInfoFieldNumber: {
        NodeDef::ExperimentalDebugInfo message;
        NABLA_RETURN_IF_ERROR(ReadMessage(tag.length, "experimental_debug_info", &message));
        std::string bytes;
        message.SerializeToString(&bytes);
        record->foreign.experimental_debug_info += bytes;
        // Present but empty: only the field itself can say so.
        if (bytes.empty()) {
          AppendVarint(tag.field << 3 | tag.type, &record->foreign.unknown_fields);
          AppendVarint(0, &record->foreign.unknown_fields);
        }
        break;
      }
      case NodeDef::kExperimentalTypeFieldNumber: {
        FullTypeDef message;
        NABLA_RETURN_IF_ERROR(ReadMessage(tag.length, "experimental_type", &message));
        std::string bytes;
        message.SerializeToString(&bytes);
        record->foreign.experimental_type += bytes;
        if (bytes.empty()) {
          AppendVarint(tag.field << 3 | tag.type, &record->foreign.unknown_fields);
          AppendVarint(0, &record->foreign.unknown_fields);
        }
        break;
      }
      default:
        NABLA_RETURN_IF_ERROR(ReadRaw(tag, &record->foreign.unknown_fields));
    }
  }
  if (reader_.position() != end) return Malformed("a field is longer than the message around it");
  record->inputs.resize(inputs);
  return absl::OkStatus();
}

absl::Status GraphDefReader::Read(const std::function<absl::Status(NodeRecord* record)>& node, GraphDefRest* rest) {
  NodeRecord record;
  int64_t num_nodes = 0;
  while (!reader_.AtEnd()) {
    Tag tag;
    NABLA_RETURN_IF_ERROR(ReadTag(reader_.size(), &tag));
    const uint64_t end = reader_.position() + tag.length;
    // Of a source whose length was not known before.
    if (end > kLongestMessage) return Malformed("a GraphDef is at most 2 GiB long");
    if (tag.field == 1 && tag.type == kBytes) {
      absl::Status status = ReadNode(end, &record);
      if (!status.ok()) {
        return WithContext(absl::StrCat("node ", num_nodes, record.name.empty() ? "" : " ",
                                        record.name.empty() ? "" : Quoted(record.name)),
                           status);
      }
      NABLA_RETURN_IF_ERROR(node(&record));
      ++num_nodes;
    } else if (tag.field == 2 && tag.type == kBytes) {
      NABLA_RETURN_IF_ERROR(ReadMessage(tag.length, "the function library", &rest->library));
    } else if (tag.field == 4 && tag.type == kBytes) {
      NABLA_RETURN_IF_ERROR(ReadMessage(tag.length, "the versions field", &rest->versions));
    } else if (tag.field == 5 && tag.type == kBytes) {
      NABLA_RETURN_IF_ERROR(ReadRaw(tag, &rest->foreign_fields));
      // Kept as it is, so it must at least be what it says.
      GraphDebugInfo message;
      if (!message.ParsePartialFromArray(rest->foreign_fields.data() + (rest->foreign_fields.size() - tag.length),
                                         static_cast<int>(tag.length))) {
        return Malformed("debug_info is no valid message");
      }
    } else if (tag.field < 5 && !(tag.field == 3 && tag.type == kVarint)) {
      return Malformed(absl::StrCat("field ", tag.field, " has wire type ", tag.type, ", which no GraphDef's has"));
    } else {
      NABLA_RETURN_IF_ERROR(ReadRaw(tag, &rest->foreign_fields));
    }
  }
  if (reader_.failed()) return Truncated();
  return absl::OkStatus();
}

}  // namespace nabla

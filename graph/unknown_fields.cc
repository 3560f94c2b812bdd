#include "nabla/graph/unknown_fields.h"

#include <utility>
#include <vector>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/unknown_field_set.h>

#include "absl/container/flat_hash_map.h"
#include "nabla/proto/attr_value.pb.h"
#include "nabla/proto/node_def.pb.h"
#include "nabla/proto/tensor.pb.h"

// Recursion here is no deeper than protobuf's parser lets messages nest, a hundred levels.
namespace nabla {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// In the message itself.
template <typename M>
bool HasOwn(const M& message) {
  return !M::GetReflection()->GetUnknownFields(message).empty();
}

bool HasUnknown(const TensorShapeProto& shape) {
  if (HasOwn(shape)) return true;
  for (const TensorShapeProto::Dim& dim : shape.dim()) {
    if (HasOwn(dim)) return true;
  }
  return false;
}

bool HasUnknown(const NameAttrList& function) {
  if (HasOwn(function)) return true;
  for (const auto& [name, value] : function.attr()) {
    if (HasUnknownFields(value)) return true;
  }
  return false;
}

bool HasUnknown(const AttrValue::ListValue& list) {
  if (HasOwn(list)) return true;
  for (const TensorShapeProto& shape : list.shape()) {
    if (HasUnknown(shape)) return true;
  }
  for (const TensorProto& tensor : list.tensor()) {
    if (HasUnknownFields(tensor)) return true;
  }
  for (const NameAttrList& function : list.func()) {
    if (HasUnknown(function)) return true;
  }
  return false;
}

// `from` has nothing but unknown fields. Lists that differ in length do not match; entries of maps do by their keys,
// which all are strings.
void MergeUnknown(const Message& from, Message* to) {
  const Reflection* const reflection = from.GetReflection();
  reflection->MutableUnknownFields(to)->MergeFrom(reflection->GetUnknownFields(from));
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(from, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      if (reflection->HasField(*to, field)) {
        MergeUnknown(reflection->GetMessage(from, field), reflection->MutableMessage(to, field));
      }
      continue;
    }
    const int count = reflection->FieldSize(from, field);
    if (field->is_map()) {
      const auto key = [field](const Message& entry) {
        return entry.GetReflection()->GetString(entry, field->message_type()->map_key());
      };
      absl::flat_hash_map<std::string, Message*> entries;
      for (int i = 0; i < reflection->FieldSize(*to, field); ++i) {
        Message* const entry = reflection->MutableRepeatedMessage(to, field, i);
        entries.emplace(key(*entry), entry);
      }
      for (int i = 0; i < count; ++i) {
        const Message& entry = reflection->GetRepeatedMessage(from, field, i);
        if (const auto it = entries.find(key(entry)); it != entries.end()) MergeUnknown(entry, it->second);
      }
    } else if (count == reflection->FieldSize(*to, field)) {
      for (int i = 0; i < count; ++i) {
        MergeUnknown(reflection->GetRepeatedMessage(from, field, i), reflection->MutableRepeatedMessage(to, field, i));
      }
    }
  }
}

}  // namespace

bool HasUnknownFields(const TensorProto& tensor) {
  if (HasOwn(tensor) || HasUnknown(tensor.tensor_shape())) return true;
  for (const ResourceHandleProto& handle : tensor.resource_handle_val()) {
    if (HasOwn(handle)) return true;
  }
  return false;
}

bool HasUnknownFields(const AttrValue& attr) {
  if (HasOwn(attr)) return true;
  switch (attr.value_case()) {
    case AttrValue::kTensor:
      return HasUnknownFields(attr.tensor());
    case AttrValue::kShape:
      return HasUnknown(attr.shape());
    case AttrValue::kList:
      return HasUnknown(attr.list());
    case AttrValue::kFunc:
      return HasUnknown(attr.func());
    default:
      return false;
  }
}

void KeepOnlyUnknownFields(Message* message) {
  const Reflection* const reflection = message->GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(*message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
      reflection->ClearField(message, field);
    } else if (!field->is_repeated()) {
      KeepOnlyUnknownFields(reflection->MutableMessage(message, field));
    } else {
      for (int i = 0; i < reflection->FieldSize(*message, field); ++i) {
        Message* element = reflection->MutableRepeatedMessage(message, field, i);
        // The key of a map's entry stays, to find its counterpart.
        if (field->is_map())
          element = element->GetReflection()->MutableMessage(element, field->message_type()->map_value());
        KeepOnlyUnknownFields(element);
      }
    }
  }
}

void AppendUnknownAttr(absl::string_view name, AttrValue&& only_unknown, std::string* node_def) {
  NodeDef def;
  (*def.mutable_attr())[std::string(name)] = std::move(only_unknown);
  def.AppendToString(node_def);
}

void MergeUnknownFields(const std::string& node_def, NodeDef* def) {
  NodeDef unknown;
  if (!unknown.ParseFromString(node_def)) return;
  for (const auto& [name, value] : unknown.attr()) {
    const auto it = def->mutable_attr()->find(name);
    if (it != def->mutable_attr()->end()) MergeUnknown(value, &it->second);
  }
  unknown.clear_attr();
  def->MergeFrom(unknown);
}

void DropUnknownAttr(absl::string_view name, std::string* node_def) {
  NodeDef unknown;
  if (!unknown.ParseFromString(*node_def) || unknown.mutable_attr()->erase(std::string(name)) == 0) return;
  unknown.SerializeToString(node_def);
}

}  // namespace nabla

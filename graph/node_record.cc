#include "nabla/graph/node_record.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "nabla/graph/dtype.h"
#include "nabla/graph/shape.h"
#include "nabla/graph/status_macros.h"
#include "nabla/graph/tensor_proto.h"
#include "nabla/graph/unknown_fields.h"
#include "nabla/proto/node_def.pb.h"

namespace nabla {
namespace {

// A tensor this many times larger than its file form counts as expanded.
constexpr int64_t kFairExpansion = 16;

}  // namespace

absl::Status ExpansionBudget::Charge(const TensorProto& tensor) {
  const int64_t wire_bytes = static_cast<int64_t>(std::max<size_t>(tensor.ByteSizeLong(), 16));
  int64_t bytes = std::max<int64_t>(1, DTypeSize(static_cast<DType>(tensor.dtype())));
  for (const TensorShapeProto::Dim& dim : tensor.tensor_shape().dim()) {
    // What is wrong with the shape is for TensorFromProto to say.
    if (dim.size() <= 0) return absl::OkStatus();
    if (!CheckedMultiply(bytes, dim.size(), &bytes)) bytes = INT64_MAX;
  }
  if (bytes / kFairExpansion <= wire_bytes) return absl::OkStatus();
  if (bytes > bytes_left) {
    std::string shape;
    for (const TensorShapeProto::Dim& dim : tensor.tensor_shape().dim()) {
      if (shape.size() > 60) {
        absl::StrAppend(&shape, ",...");
        break;
      }
      absl::StrAppend(&shape, shape.empty() ? "" : ",", dim.size());
    }
    return absl::ResourceExhaustedError(absl::StrCat("a tensor of shape [", shape, "] is given by ", wire_bytes,
                                                     " bytes but would take ", bytes, "; at most ", bytes_left,
                                                     " more are allowed for such tensors"));
  }
  bytes_left -= bytes;
  return absl::OkStatus();
}

absl::Status ExpansionBudget::Charge(const AttrValue& attr, int depth) {
  if (attr.has_tensor()) return Charge(attr.tensor());
  // Deeper than any message that was parsed; AttrFromProto will refuse it.
  if (depth > 100) return absl::OkStatus();
  if (attr.has_func()) {
    for (const auto& [name, value] : attr.func().attr()) NABLA_RETURN_IF_ERROR(Charge(value, depth + 1));
  }
  if (attr.has_list()) {
    for (const TensorProto& tensor : attr.list().tensor()) NABLA_RETURN_IF_ERROR(Charge(tensor));
    for (const NameAttrList& func : attr.list().func()) {
      for (const auto& [name, value] : func.attr()) NABLA_RETURN_IF_ERROR(Charge(value, depth + 1));
    }
  }
  return absl::OkStatus();
}

absl::Status NodeRecordFromProto(NodeDef&& def, ExpansionBudget* budget, NodeRecord* record) {
  record->name = std::move(*def.mutable_name());
  record->op = std::move(*def.mutable_op());
  record->device = std::move(*def.mutable_device());
  record->inputs.resize(def.input_size());
  for (int i = 0; i < def.input_size(); ++i) record->inputs[i] = std::move(*def.mutable_input(i));
  record->attrs = AttrMap();
  record->foreign = ForeignFields();
  for (auto& [name, value] : *def.mutable_attr()) {
    if (HasUnknownFields(value)) {
      AttrValue unknown = value;
      KeepOnlyUnknownFields(&unknown);
      AppendUnknownAttr(name, std::move(unknown), &record->foreign.unknown_fields);
    }
    absl::Status status = budget->Charge(value);
    if (status.ok()) {
      absl::StatusOr<Attr> attr = AttrFromProto(std::move(value));
      status = attr.status();
      if (status.ok()) record->attrs.Set(name, *std::move(attr));
    }
    if (!status.ok()) {
      return absl::Status(status.code(), absl::StrCat("attr '", name, "': ", status.message()));
    }
  }
  NodeDef rest;
  if (def.has_experimental_debug_info()) {
    def.experimental_debug_info().SerializeToString(&record->foreign.experimental_debug_info);
    // Present but empty: only the field itself can say so.
    if (record->foreign.experimental_debug_info.empty()) rest.mutable_experimental_debug_info();
  }
  if (def.has_experimental_type()) {
    def.experimental_type().SerializeToString(&record->foreign.experimental_type);
    if (record->foreign.experimental_type.empty()) rest.mutable_experimental_type();
  }
  const google::protobuf::UnknownFieldSet& unknown = NodeDef::GetReflection()->GetUnknownFields(def);
  if (!unknown.empty()) rest.GetReflection()->MutableUnknownFields(&rest)->MergeFrom(unknown);
  rest.AppendToString(&record->foreign.unknown_fields);
  return absl::OkStatus();
}

}  // namespace nabla

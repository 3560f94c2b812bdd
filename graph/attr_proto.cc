// Attrs to and from their protobuf messages; declared in graph/tensor_proto.h.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nabla/graph/attr.h"
#include "nabla/graph/status_macros.h"
#include "nabla/graph/tensor_proto.h"
#include "nabla/proto/attr_value.pb.h"

namespace nabla {
namespace {

// Functions in attrs of functions in attrs …: deeper than this is no graph that anybody meant, and a risk to the stack.
constexpr int kMaxFunctionDepth = 32;

absl::StatusOr<DType> DTypeFromNumber(int number) {
  if (number == 0) return DType::kInvalid;
  const DType dtype = number > 0 && number < 2 * kRefOffset ? static_cast<DType>(number) : DType::kInvalid;
  if (!IsKnown(dtype)) return absl::InvalidArgumentError(absl::StrCat("unknown dtype ", number));
  return dtype;
}

// `Proto` is AttrValue or const AttrValue: tensors in the former may be moved from.
template <typename Proto>
absl::StatusOr<Attr> ReadAttr(Proto& proto, int depth);

absl::StatusOr<FunctionRef> ReadFunction(const NameAttrList& proto, int depth) {
  if (depth >= kMaxFunctionDepth) {
    return absl::InvalidArgumentError(absl::StrCat("function attrs are nested more than ", kMaxFunctionDepth, " deep"));
  }
  FunctionRef function;
  function.name = proto.name();
  if (proto.attr().empty()) return function;
  auto attrs = std::make_shared<AttrMap>();
  for (const auto& entry : proto.attr()) {
    absl::StatusOr<Attr> attr = ReadAttr(entry.second, depth + 1);
    if (!attr.ok()) {
      return absl::Status(attr.status().code(), absl::StrCat("attr ", entry.first, " of function ", function.name, ": ",
                                                             attr.status().message()));
    }
    attrs->Set(entry.first, *std::move(attr));
  }
  function.attrs = std::move(attrs);
  return function;
}

absl::StatusOr<Tensor> ReadTensor(const TensorProto& proto) { return TensorFromProto(proto); }
absl::StatusOr<Tensor> ReadTensor(TensorProto& proto) { return TensorFromProto(std::move(proto)); }

// Each element converted by `read`, which gives a StatusOr<T>.
template <typename T, typename Field, typename Read>
absl::StatusOr<Attr> ReadList(Field& field, Read read) {
  std::vector<T> values;
  values.reserve(field.size());
  for (auto& element : field) {
    NABLA_ASSIGN_OR_RETURN(T value, read(element));
    values.push_back(std::move(value));
  }
  return Attr(std::move(values));
}

template <typename T, typename Field>
Attr CopyList(const Field& field) {
  return Attr(std::vector<T>(field.begin(), field.end()));
}

template <typename List>
absl::StatusOr<Attr> ReadListValue(List& list, int depth) {
  const int kinds = (list.s_size() > 0) + (list.i_size() > 0) + (list.f_size() > 0) + (list.b_size() > 0) +
                    (list.type_size() > 0) + (list.shape_size() > 0) + (list.tensor_size() > 0) +
                    (list.func_size() > 0);
  if (kinds == 0) return Attr::EmptyList();
  if (kinds > 1) return absl::InvalidArgumentError("a list attr has elements of more than one kind");
  if (list.s_size() > 0) return CopyList<std::string>(list.s());
  if (list.i_size() > 0) return CopyList<int64_t>(list.i());
  if (list.f_size() > 0) return CopyList<float>(list.f());
  if (list.b_size() > 0) return CopyList<bool>(list.b());
  if (list.type_size() > 0) return ReadList<DType>(list.type(), &DTypeFromNumber);
  if (list.shape_size() > 0) return ReadList<Shape>(list.shape(), &ShapeFromProto);
  if (list.func_size() > 0) {
    return ReadList<FunctionRef>(list.func(),
                                 [depth](const NameAttrList& function) { return ReadFunction(function, depth); });
  }
  if constexpr (std::is_const_v<List>) {
    return ReadList<Tensor>(list.tensor(), [](const TensorProto& tensor) { return ReadTensor(tensor); });
  } else {
    return ReadList<Tensor>(*list.mutable_tensor(), [](TensorProto& tensor) { return ReadTensor(tensor); });
  }
}

template <typename Proto>
absl::StatusOr<Attr> ReadAttr(Proto& proto, int depth) {
  constexpr bool kMayMove = !std::is_const_v<Proto>;
  switch (proto.value_case()) {
    case AttrValue::VALUE_NOT_SET:
      return Attr();
    case AttrValue::kS:
      return Attr(proto.s());
    case AttrValue::kI:
      return Attr(int64_t{proto.i()});
    case AttrValue::kF:
      return Attr(proto.f());
    case AttrValue::kB:
      return Attr(proto.b());
    case AttrValue::kType: {
      NABLA_ASSIGN_OR_RETURN(DType dtype, DTypeFromNumber(static_cast<int>(proto.type())));
      return Attr(dtype);
    }
    case AttrValue::kShape: {
      NABLA_ASSIGN_OR_RETURN(Shape shape, ShapeFromProto(proto.shape()));
      return Attr(std::move(shape));
    }
    case AttrValue::kTensor: {
      absl::StatusOr<Tensor> tensor;
      if constexpr (kMayMove) {
        tensor = ReadTensor(*proto.mutable_tensor());
      } else {
        tensor = ReadTensor(proto.tensor());
      }
      if (!tensor.ok()) return std::move(tensor).status();
      return Attr(*std::move(tensor));
    }
    case AttrValue::kFunc: {
      NABLA_ASSIGN_OR_RETURN(FunctionRef function, ReadFunction(proto.func(), depth));
      return Attr(std::move(function));
    }
    case AttrValue::kPlaceholder:
      return Attr(AttrPlaceholder{proto.placeholder()});
    case AttrValue::kList:
      if constexpr (kMayMove) {
        return ReadListValue(*proto.mutable_list(), depth);
      } else {
        return ReadListValue(proto.list(), depth);
      }
  }
  return absl::InvalidArgumentError("an attr of unknown kind");
}

void WriteFunction(const FunctionRef& function, NameAttrList* proto) {
  proto->set_name(function.name);
  if (function.attrs == nullptr) return;
  for (const AttrMap::Entry& entry : *function.attrs) AttrToProto(entry.second, &(*proto->mutable_attr())[entry.first]);
}

}  // namespace

absl::StatusOr<Attr> AttrFromProto(const AttrValue& proto) { return ReadAttr(proto, 0); }
absl::StatusOr<Attr> AttrFromProto(AttrValue&& proto) { return ReadAttr(proto, 0); }

void AttrToProto(const Attr& attr, AttrValue* proto) {
  proto->Clear();
  // Written even when empty: the list must be there.
  AttrValue::ListValue* list = attr.IsList() ? proto->mutable_list() : nullptr;
  switch (attr.kind()) {
    case Attr::Kind::kNone:
    case Attr::Kind::kEmptyList:
      break;
    case Attr::Kind::kString:
      proto->set_s(*attr.As<std::string>());
      break;
    case Attr::Kind::kInt:
      proto->set_i(*attr.As<int64_t>());
      break;
    case Attr::Kind::kFloat:
      proto->set_f(*attr.As<float>());
      break;
    case Attr::Kind::kBool:
      proto->set_b(*attr.As<bool>());
      break;
    case Attr::Kind::kType:
      proto->set_type(static_cast<DataType>(*attr.As<DType>()));
      break;
    case Attr::Kind::kShape:
      ShapeToProto(*attr.As<Shape>(), proto->mutable_shape());
      break;
    case Attr::Kind::kTensor:
      TensorToProto(*attr.As<Tensor>(), proto->mutable_tensor());
      break;
    case Attr::Kind::kFunc:
      WriteFunction(*attr.As<FunctionRef>(), proto->mutable_func());
      break;
    case Attr::Kind::kPlaceholder:
      proto->set_placeholder(attr.As<AttrPlaceholder>()->name);
      break;
    case Attr::Kind::kListString:
      for (const std::string& value : *attr.As<std::vector<std::string>>()) list->add_s(value);
      break;
    case Attr::Kind::kListInt:
      for (int64_t value : *attr.As<std::vector<int64_t>>()) list->add_i(value);
      break;
    case Attr::Kind::kListFloat:
      for (float value : *attr.As<std::vector<float>>()) list->add_f(value);
      break;
    case Attr::Kind::kListBool:
      for (bool value : *attr.As<std::vector<bool>>()) list->add_b(value);
      break;
    case Attr::Kind::kListType:
      for (DType value : *attr.As<std::vector<DType>>()) list->add_type(static_cast<DataType>(value));
      break;
    case Attr::Kind::kListShape:
      for (const Shape& value : *attr.As<std::vector<Shape>>()) ShapeToProto(value, list->add_shape());
      break;
    case Attr::Kind::kListTensor:
      for (const Tensor& value : *attr.As<std::vector<Tensor>>()) TensorToProto(value, list->add_tensor());
      break;
    case Attr::Kind::kListFunc:
      for (const FunctionRef& value : *attr.As<std::vector<FunctionRef>>()) WriteFunction(value, list->add_func());
      break;
  }
}

}  // namespace nabla

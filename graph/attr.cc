#include "nabla/graph/attr.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "nabla/graph/tensor_format.h"

namespace nabla {
namespace {

// More elements than this tell a reader of an attr nothing.
constexpr int64_t kTensorElementsShown = 8;

std::string Quoted(absl::string_view text) { return absl::StrCat("\"", absl::CHexEscape(text), "\""); }

std::string ElementToString(const std::string& value) { return Quoted(value); }
std::string ElementToString(int64_t value) { return absl::StrCat(value); }
std::string ElementToString(float value) { return ShortestDigits(value); }
std::string ElementToString(bool value) { return value ? "true" : "false"; }
std::string ElementToString(DType value) { return std::string(DTypeName(value)); }
std::string ElementToString(const Shape& value) { return value.ToString(); }
std::string ElementToString(const Tensor& value) { return value.ToString(kTensorElementsShown); }
std::string ElementToString(const AttrPlaceholder& value) { return absl::StrCat("$", value.name); }

// A function's attrs may again hold functions. Import bounds how deep that goes.
std::string ElementToString(const FunctionRef& value) {
  std::string text = value.name;
  if (value.attrs == nullptr || value.attrs->empty()) return text;
  text += '[';
  absl::string_view separator = "";
  for (const AttrMap::Entry& entry : *value.attrs) {
    absl::StrAppend(&text, separator, entry.first, "=", entry.second.ToString());
    separator = ", ";
  }
  text += ']';
  return text;
}

template <typename T>
std::string ElementToString(const std::vector<T>& values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i) {
    const T& value = values[i];  // a copy for vector<bool>
    absl::StrAppend(&text, i > 0 ? ", " : "", ElementToString(value));
  }
  text += ']';
  return text;
}

// Attrs are compared to tell whether nodes are interchangeable, so floats and tensors go by their bits.
template <typename T>
bool Same(const T& a, const T& b) {
  return a == b;
}
bool Same(float a, float b) { return std::memcmp(&a, &b, sizeof(a)) == 0; }
bool Same(const Tensor& a, const Tensor& b) { return BitwiseEqual(a, b); }
bool Same(const AttrPlaceholder& a, const AttrPlaceholder& b) { return a.name == b.name; }
bool Same(const FunctionRef& a, const FunctionRef& b) {
  static const AttrMap* const kNone = new AttrMap;
  const AttrMap& a_attrs = a.attrs == nullptr ? *kNone : *a.attrs;
  const AttrMap& b_attrs = b.attrs == nullptr ? *kNone : *b.attrs;
  return a.name == b.name && a_attrs == b_attrs;
}
template <typename T>
bool Same(const std::vector<T>& a, const std::vector<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const T& x, const T& y) { return Same(x, y); });
}

template <typename T>
struct IsVector : std::false_type {};
template <typename T>
struct IsVector<std::vector<T>> : std::true_type {};

// Calls f with the attr's value; kNone and kEmptyList have none and give `otherwise`.
template <typename F, typename Result>
Result Visit(const Attr& attr, Result otherwise, F f) {
  switch (attr.kind()) {
    case Attr::Kind::kNone:
    case Attr::Kind::kEmptyList:
      return otherwise;
    case Attr::Kind::kString:
      return f(*attr.As<std::string>());
    case Attr::Kind::kInt:
      return f(*attr.As<int64_t>());
    case Attr::Kind::kFloat:
      return f(*attr.As<float>());
    case Attr::Kind::kBool:
      return f(*attr.As<bool>());
    case Attr::Kind::kType:
      return f(*attr.As<DType>());
    case Attr::Kind::kShape:
      return f(*attr.As<Shape>());
    case Attr::Kind::kTensor:
      return f(*attr.As<Tensor>());
    case Attr::Kind::kFunc:
      return f(*attr.As<FunctionRef>());
    case Attr::Kind::kPlaceholder:
      return f(*attr.As<AttrPlaceholder>());
    case Attr::Kind::kListString:
      return f(*attr.As<std::vector<std::string>>());
    case Attr::Kind::kListInt:
      return f(*attr.As<std::vector<int64_t>>());
    case Attr::Kind::kListFloat:
      return f(*attr.As<std::vector<float>>());
    case Attr::Kind::kListBool:
      return f(*attr.As<std::vector<bool>>());
    case Attr::Kind::kListType:
      return f(*attr.As<std::vector<DType>>());
    case Attr::Kind::kListShape:
      return f(*attr.As<std::vector<Shape>>());
    case Attr::Kind::kListTensor:
      return f(*attr.As<std::vector<Tensor>>());
    case Attr::Kind::kListFunc:
      return f(*attr.As<std::vector<FunctionRef>>());
  }
  return otherwise;
}

bool IsEmptyList(const Attr& attr) {
  return Visit(attr, attr.kind() == Attr::Kind::kEmptyList, [](const auto& value) {
    using T = std::decay_t<decltype(value)>;
    if constexpr (IsVector<T>::value) {
      return value.empty();
    } else {
      return false;
    }
  });
}

}  // namespace

#define NABLA_ATTR_ON_HEAP(type, kind)                                                           \
  Attr::Attr(type value) : kind_(kind), heap_(std::make_shared<const type>(std::move(value))) {} \
  template <>                                                                                    \
  const type* Attr::As<type>() const {                                                           \
    return kind_ == kind ? static_cast<const type*>(heap_.get()) : nullptr;                      \
  }
NABLA_ATTR_ON_HEAP(std::string, Kind::kString)
NABLA_ATTR_ON_HEAP(Shape, Kind::kShape)
NABLA_ATTR_ON_HEAP(Tensor, Kind::kTensor)
NABLA_ATTR_ON_HEAP(FunctionRef, Kind::kFunc)
NABLA_ATTR_ON_HEAP(AttrPlaceholder, Kind::kPlaceholder)
#undef NABLA_ATTR_ON_HEAP

#define NABLA_ATTR_LIST(type, kind)                                                        \
  Attr::Attr(std::vector<type> value)                                                      \
      : kind_(kind), heap_(std::make_shared<const std::vector<type>>(std::move(value))) {} \
  template <>                                                                              \
  const std::vector<type>* Attr::As<std::vector<type>>() const {                           \
    if (kind_ == kind) return static_cast<const std::vector<type>*>(heap_.get());          \
    static const auto* const kEmpty = new std::vector<type>;                               \
    return kind_ == Kind::kEmptyList ? kEmpty : nullptr;                                   \
  }
NABLA_ATTR_LIST(std::string, Kind::kListString)
NABLA_ATTR_LIST(int64_t, Kind::kListInt)
NABLA_ATTR_LIST(float, Kind::kListFloat)
NABLA_ATTR_LIST(bool, Kind::kListBool)
NABLA_ATTR_LIST(DType, Kind::kListType)
NABLA_ATTR_LIST(Shape, Kind::kListShape)
NABLA_ATTR_LIST(Tensor, Kind::kListTensor)
NABLA_ATTR_LIST(FunctionRef, Kind::kListFunc)
#undef NABLA_ATTR_LIST

#define NABLA_ATTR_INLINE(type, kind, field)       \
  template <>                                      \
  const type* Attr::As<type>() const {             \
    return kind_ == kind ? &bits_.field : nullptr; \
  }
NABLA_ATTR_INLINE(int64_t, Kind::kInt, i)
NABLA_ATTR_INLINE(float, Kind::kFloat, f)
NABLA_ATTR_INLINE(bool, Kind::kBool, b)
NABLA_ATTR_INLINE(DType, Kind::kType, t)
#undef NABLA_ATTR_INLINE

Attr Attr::EmptyList() {
  Attr attr;
  attr.kind_ = Kind::kEmptyList;
  return attr;
}

absl::string_view Attr::KindName() const {
  switch (kind_) {
    case Kind::kNone:
      return "none";
    case Kind::kString:
      return "string";
    case Kind::kInt:
      return "int";
    case Kind::kFloat:
      return "float";
    case Kind::kBool:
      return "bool";
    case Kind::kType:
      return "type";
    case Kind::kShape:
      return "shape";
    case Kind::kTensor:
      return "tensor";
    case Kind::kFunc:
      return "func";
    case Kind::kPlaceholder:
      return "placeholder";
    case Kind::kListString:
      return "list(string)";
    case Kind::kListInt:
      return "list(int)";
    case Kind::kListFloat:
      return "list(float)";
    case Kind::kListBool:
      return "list(bool)";
    case Kind::kListType:
      return "list(type)";
    case Kind::kListShape:
      return "list(shape)";
    case Kind::kListTensor:
      return "list(tensor)";
    case Kind::kListFunc:
      return "list(func)";
    case Kind::kEmptyList:
      return "list";
  }
  return "none";
}

std::string Attr::ToString() const {
  return Visit(*this, std::string(kind_ == Kind::kEmptyList ? "[]" : "none"),
               [](const auto& value) { return ElementToString(value); });
}

bool operator==(const Attr& a, const Attr& b) {
  if (a.kind_ != b.kind_) {
    const bool maybe_empty = a.kind_ == Attr::Kind::kEmptyList || b.kind_ == Attr::Kind::kEmptyList;
    return maybe_empty && IsEmptyList(a) && IsEmptyList(b);
  }
  if (a.heap_ != nullptr && a.heap_ == b.heap_) return true;
  return Visit(a, true, [&b](const auto& value) {
    using T = std::decay_t<decltype(value)>;
    return Same(value, *b.As<T>());
  });
}

namespace {

template <typename Entries>
auto LowerBound(Entries& entries, absl::string_view name) {
  return std::lower_bound(entries.begin(), entries.end(), name,
                          [](const AttrMap::Entry& entry, absl::string_view key) { return entry.first < key; });
}

}  // namespace

const Attr* AttrMap::Find(absl::string_view name) const {
  const auto it = LowerBound(entries_, name);
  return it != entries_.end() && it->first == name ? &it->second : nullptr;
}

void AttrMap::Set(absl::string_view name, Attr value) {
  const auto it = LowerBound(entries_, name);
  if (it != entries_.end() && it->first == name) {
    it->second = std::move(value);
  } else {
    entries_.insert(it, {std::string(name), std::move(value)});
  }
}

void AttrMap::Erase(absl::string_view name) {
  const auto it = LowerBound(entries_, name);
  if (it != entries_.end() && it->first == name) entries_.erase(it);
}

}  // namespace nabla

// Attribute values of nodes: what GraphDef's AttrValue holds, as a small immutable value.
//
//   Attr a = int64_t{3};                     a.As<int64_t>() -> pointer to 3
//   Attr t = DType::kFloat;                  t.As<std::string>() -> nullptr
//   Attr l = std::vector<int64_t>{1, 2, 1};
//
// 32 bytes; copies share what is large. Thread-safe to read and copy.
#ifndef NABLA_GRAPH_ATTR_H_
#define NABLA_GRAPH_ATTR_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "nabla/graph/dtype.h"
#include "nabla/graph/shape.h"
#include "nabla/graph/tensor.h"

namespace nabla {

class AttrMap;

// GraphDef's NameAttrList: a function by name, with the attrs that instantiate it.
struct FunctionRef {
  std::string name;
  std::shared_ptr<const AttrMap> attrs;  // nullptr: none
};

// GraphDef's AttrValue.placeholder: inside a function body, the name of the function attr that replaces this value.
struct AttrPlaceholder {
  std::string name;
};

class Attr {
 public:
  // In the order of the spec language: "int", "list(int)", …
  enum class Kind : uint8_t {
    kNone,
    kString,
    kInt,
    kFloat,
    kBool,
    kType,
    kShape,
    kTensor,
    kFunc,
    kPlaceholder,
    kListString,
    kListInt,
    kListFloat,
    kListBool,
    kListType,
    kListShape,
    kListTensor,
    kListFunc,
    kEmptyList,  // an empty list on the wire does not say of what; equal to an empty list of any kind
  };

  Attr() = default;
  Attr(int64_t value) : kind_(Kind::kInt) { bits_.i = value; }  // NOLINT: implicit by design, all of these
  Attr(int value) : Attr(int64_t{value}) {}                     // NOLINT
  Attr(float value) : kind_(Kind::kFloat) { bits_.f = value; }  // NOLINT
  Attr(bool value) : kind_(Kind::kBool) { bits_.b = value; }    // NOLINT
  Attr(DType value) : kind_(Kind::kType) { bits_.t = value; }   // NOLINT
  Attr(std::string value);                                      // NOLINT
  Attr(const char* value) : Attr(std::string(value)) {}         // NOLINT
  Attr(Shape value);                                            // NOLINT
  Attr(Tensor value);                                           // NOLINT
  Attr(FunctionRef value);                                      // NOLINT
  Attr(AttrPlaceholder value);                                  // NOLINT
  Attr(std::vector<std::string> value);                         // NOLINT
  Attr(std::vector<int64_t> value);                             // NOLINT
  Attr(std::vector<float> value);                               // NOLINT
  Attr(std::vector<bool> value);                                // NOLINT
  Attr(std::vector<DType> value);                               // NOLINT
  Attr(std::vector<Shape> value);                               // NOLINT
  Attr(std::vector<Tensor> value);                              // NOLINT
  Attr(std::vector<FunctionRef> value);                         // NOLINT
  static Attr EmptyList();

  Kind kind() const { return kind_; }
  bool IsList() const { return kind_ >= Kind::kListString; }

  // The value as T, one of the constructors' types (int64_t for integers), or nullptr if it is something else. An
  // empty list is an empty vector of any element type. Lives as long as this Attr or a copy of it.
  template <typename T>
  const T* As() const;

  // The spec language's word for the kind: "int", "list(type)", …
  absl::string_view KindName() const;
  // As op specs and text dumps write it: 3, "abc", true, float, [2,?], [1, 2]; tensors in short.
  std::string ToString() const;

  friend bool operator==(const Attr& a, const Attr& b);
  friend bool operator!=(const Attr& a, const Attr& b) { return !(a == b); }

 private:
  Kind kind_ = Kind::kNone;
  union {
    int64_t i;
    float f;
    bool b;
    DType t;
  } bits_ = {0};
  std::shared_ptr<const void> heap_;  // the kinds that do not fit bits_
};

#define NABLA_ATTR_AS(...) \
  template <>              \
  const __VA_ARGS__* Attr::As<__VA_ARGS__>() const
NABLA_ATTR_AS(int64_t);
NABLA_ATTR_AS(float);
NABLA_ATTR_AS(bool);
NABLA_ATTR_AS(DType);
NABLA_ATTR_AS(std::string);
NABLA_ATTR_AS(Shape);
NABLA_ATTR_AS(Tensor);
NABLA_ATTR_AS(FunctionRef);
NABLA_ATTR_AS(AttrPlaceholder);
NABLA_ATTR_AS(std::vector<std::string>);
NABLA_ATTR_AS(std::vector<int64_t>);
NABLA_ATTR_AS(std::vector<float>);
NABLA_ATTR_AS(std::vector<bool>);
NABLA_ATTR_AS(std::vector<DType>);
NABLA_ATTR_AS(std::vector<Shape>);
NABLA_ATTR_AS(std::vector<Tensor>);
NABLA_ATTR_AS(std::vector<FunctionRef>);
#undef NABLA_ATTR_AS

// A node's attributes, kept sorted by name.
class AttrMap {
 public:
  using Entry = std::pair<std::string, Attr>;

  // nullptr if absent.
  const Attr* Find(absl::string_view name) const;
  // nullptr if absent or of another kind.
  template <typename T>
  const T* Find(absl::string_view name) const {
    const Attr* attr = Find(name);
    return attr == nullptr ? nullptr : attr->As<T>();
  }
  void Set(absl::string_view name, Attr value);
  void Erase(absl::string_view name);
  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }
  std::vector<Entry>::const_iterator begin() const { return entries_.begin(); }
  std::vector<Entry>::const_iterator end() const { return entries_.end(); }
  friend bool operator==(const AttrMap& a, const AttrMap& b) { return a.entries_ == b.entries_; }

 private:
  std::vector<Entry> entries_;
};

}  // namespace nabla

#endif  // NABLA_GRAPH_ATTR_H_

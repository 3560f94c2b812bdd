// What an operation is: its name, typed inputs and outputs, attributes, documentation and shape rule. Specs stand in
// ops/<family>.cc, in the small language that the field uses:
//
//   registry.Add("MatMul")
//       .Input("a: T")
//       .Input("b: T")
//       .Output("product: T")
//       .Attr("transpose_a: bool = false")
//       .Attr("transpose_b: bool = false")
//       .Attr("T: {bfloat16, half, float, double, int32, int64, complex64, complex128}")
//       .Doc("Matrix product of two matrices. …")
//       .Shape(MatMulShape);
//
// Inputs and outputs: "name: TYPE", TYPE one of
//   float            a fixed dtype                      T          a type attr
//   N * T, N * int32 a list of N of one type            Tlist      a list(type) attr: a list of mixed types
// with "Ref(TYPE)" for reference types. Attributes: "name: TYPE [>= min] [= default]", TYPE one of string int float
// bool type shape tensor func, list(…) of those, {a, b} for a restricted type (or 'x', 'y' in quotes for a
// restricted string), numbertype and realnumbertype for the usual sets.
//
// Thread safety: an OpRegistry is filled before use and read from any thread afterwards.
#ifndef NABLA_GRAPH_OP_SPEC_H_
#define NABLA_GRAPH_OP_SPEC_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "nabla/graph/attr.h"
#include "nabla/graph/dtype.h"

namespace nabla {

class ShapeContext;
// Sets the output shapes from the input shapes (and values, where constant); see graph/shape_inference.h.
using ShapeFn = absl::Status (*)(ShapeContext& c);

// One formal input or output.
struct ArgSpec {
  std::string name;
  DType dtype = DType::kInvalid;  // fixed type, or kInvalid if an attr gives it
  std::string type_attr;          // "T"
  std::string number_attr;        // "N": a list of that many
  std::string type_list_attr;     // "Tlist": a list with these types
  bool is_ref = false;
  bool IsList() const { return !number_attr.empty() || !type_list_attr.empty(); }
};

struct AttrSpec {
  std::string name;
  Attr::Kind kind = Attr::Kind::kNone;
  absl::optional<Attr> default_value;
  absl::optional<int64_t> minimum;           // of an int, or of a list's length
  std::vector<DType> allowed_types;          // empty: any
  std::vector<std::string> allowed_strings;  // empty: any
  // Some input's type_attr, number_attr or type_list_attr: builders work it out from the inputs.
  bool inferred_from_inputs = false;
};

class OpSpec {
 public:
  const std::string& name() const { return name_; }
  const std::vector<ArgSpec>& inputs() const { return inputs_; }
  const std::vector<ArgSpec>& outputs() const { return outputs_; }
  const std::vector<AttrSpec>& attrs() const { return attrs_; }
  const std::string& doc() const { return doc_; }
  // The folder-like family that registered it ("math_ops"), which names its generated header.
  const std::string& family() const { return family_; }
  ShapeFn shape_fn() const { return shape_fn_; }
  // Stateful: has effects or reads state, so is never folded, merged or pruned as a duplicate.
  bool is_stateful() const { return stateful_; }
  bool is_commutative() const { return commutative_; }
  bool allows_uninitialized_input() const { return allows_uninitialized_; }
  // Stands for an op that nobody knows, after a lenient import: its nodes have inputs and outputs that the spec does
  // not list, the outputs of dtype kInvalid.
  bool is_opaque() const { return opaque_; }

  const AttrSpec* FindAttr(absl::string_view name) const;  // nullptr if there is none
  // The index of the formal input called `name`, or -1.
  int FindInput(absl::string_view name) const;
  int FindOutput(absl::string_view name) const;

  // The spec in the language above with its documentation, as `nabla show --op` prints it.
  std::string ToString() const;

 private:
  friend class OpSpecBuilder;
  friend class OpRegistry;
  friend class ForeignSpec;  // graph/foreign_spec.h
  std::string name_;
  std::vector<ArgSpec> inputs_;
  std::vector<ArgSpec> outputs_;
  std::vector<AttrSpec> attrs_;
  std::string doc_;
  std::string family_;
  ShapeFn shape_fn_ = nullptr;
  bool stateful_ = false;
  bool commutative_ = false;
  bool allows_uninitialized_ = false;
  bool opaque_ = false;
};

// Fills in one spec. A malformed line is remembered, and OpRegistry::Validate() reports it.
class OpSpecBuilder {
 public:
  explicit OpSpecBuilder(OpSpec* spec, std::vector<std::string>* errors) : spec_(spec), errors_(errors) {}
  OpSpecBuilder& Input(absl::string_view spec);
  OpSpecBuilder& Output(absl::string_view spec);
  OpSpecBuilder& Attr(absl::string_view spec);
  OpSpecBuilder& Doc(absl::string_view doc);
  OpSpecBuilder& Shape(ShapeFn fn);
  OpSpecBuilder& Stateful();
  OpSpecBuilder& Commutative();
  OpSpecBuilder& AllowsUninitializedInput();

 private:
  OpSpec* spec_;
  std::vector<std::string>* errors_;
};

class OpRegistry {
 public:
  // The process-wide registry, empty until nabla::RegisterAllOps() (ops/ops.h) has filled it.
  static OpRegistry& Global();

  // Starts a spec. The family applies to what is added until the next SetFamily.
  void SetFamily(absl::string_view family) { family_ = std::string(family); }
  OpSpecBuilder Add(absl::string_view name);

  const OpSpec* Find(absl::string_view name) const;  // nullptr if unknown
  // Names that resemble `name`, best first, for error messages.
  std::vector<std::string> Similar(absl::string_view name) const;
  std::vector<const OpSpec*> All() const;  // sorted by name
  // The first malformed or duplicate spec.
  absl::Status Validate() const;

 private:
  std::string family_;
  absl::flat_hash_map<std::string, std::unique_ptr<OpSpec>> specs_;
  std::vector<std::unique_ptr<OpSpec>> duplicates_;  // second specs of one name, which Validate() refuses
  std::vector<std::string> errors_;
};

// The dtypes of a node's inputs or outputs, formal arguments flattened, given its attrs. InvalidArgument if an attr
// is missing, of the wrong kind, or negative.
absl::Status ArgDTypes(const std::vector<ArgSpec>& args, const AttrMap& attrs, DTypes* dtypes);

// Fills in defaults and checks names' kinds, minimums and allowed values. Attrs whose names start with '_' pass
// unchecked, others that the spec does not name are errors.
absl::Status CompleteAttrs(const OpSpec& spec, AttrMap* attrs);

}  // namespace nabla

#endif  // NABLA_GRAPH_OP_SPEC_H_

// NodeBuilder: from operands of several kinds to a NodeDesc. The operands are bound to the spec's formal inputs; the
// attrs that the inputs determine are worked out; C++ numbers then take the dtypes that this gave; constants become
// Const nodes; and the graph checks the rest.
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "nabla/graph/error_text.h"
#include "nabla/graph/op_spec_language.h"
#include "nabla/graph/scope.h"
#include "nabla/graph/scope_state.h"
#include "nabla/graph/similar_names.h"
#include "nabla/graph/status_macros.h"
#include "nabla/graph/weak_constant.h"

namespace nabla {
namespace {

// The dtype that an operand has by itself; kInvalid for a number, which has none, and for a Merge's open input.
DType OwnDType(const Input& input) {
  if (input.is_weak()) return DType::kInvalid;
  if (input.is_constant()) return input.value().dtype();
  return input.output() ? BaseDType(input.output().dtype()) : DType::kInvalid;
}

std::string OperandLabel(const ArgSpec& arg, size_t i) {
  return arg.IsList() ? absl::StrCat("input '", arg.name, "[", i, "]'") : absl::StrCat("input '", arg.name, "'");
}

// Works out a node's attrs from its operands.
class AttrInference {
 public:
  AttrInference(const OpSpec& spec, AttrMap* attrs) : spec_(spec), attrs_(*attrs) {}

  // Operands with dtypes, and the lengths of lists.
  absl::Status Observe(const ArgSpec& arg, const Inputs& operands) {
    if (!arg.number_attr.empty()) {
      const int64_t length = static_cast<int64_t>(operands.size());
      const int64_t* known = attrs_.Find<int64_t>(arg.number_attr);
      if (known == nullptr) {
        attrs_.Set(arg.number_attr, length);
      } else if (*known != length) {
        return absl::InvalidArgumentError(absl::StrCat("input '", arg.name, "' has ", length, " tensors, expected ",
                                                       *known, Because(arg.number_attr)));
      }
      Remember(arg.number_attr, arg.name);
    }
    if (arg.type_attr.empty()) return absl::OkStatus();
    for (size_t i = 0; i < operands.size(); ++i) {
      const DType given = OwnDType(operands[i]);
      if (given == DType::kInvalid) continue;
      const DType* known = attrs_.Find<DType>(arg.type_attr);
      if (known == nullptr) {
        attrs_.Set(arg.type_attr, given);
      } else if (*known != given) {
        return absl::InvalidArgumentError(absl::StrCat(OperandLabel(arg, i), " has dtype ", DTypeName(given),
                                                       ", expected ", DTypeName(*known), Because(arg.type_attr)));
      }
      Remember(arg.type_attr, OperandLabel(arg, i));
    }
    return absl::OkStatus();
  }

  // After all were observed: type attrs for which only numbers speak.
  void Default(const std::vector<std::pair<const ArgSpec*, const Inputs*>>& bound) {
    for (const AttrSpec& attr : spec_.attrs()) {
      if (attr.kind != Attr::Kind::kType || !attr.inferred_from_inputs || attrs_.Find(attr.name) != nullptr) continue;
      std::vector<const Tensor*> numbers;
      for (const auto& [arg, operands] : bound) {
        if (arg->type_attr != attr.name) continue;
        for (const Input& operand : *operands) {
          if (operand.is_weak()) numbers.push_back(&operand.value());
        }
      }
      if (!numbers.empty()) attrs_.Set(attr.name, DefaultWeakDType(numbers, &attr));
    }
  }

  // The dtype that operand i of `arg` is to have, if anything says so; kInvalid otherwise.
  DType ExpectedDType(const ArgSpec& arg, size_t i) const {
    if (!arg.type_list_attr.empty()) {
      const std::vector<DType>* types = attrs_.Find<std::vector<DType>>(arg.type_list_attr);
      return types != nullptr && i < types->size() ? (*types)[i] : DType::kInvalid;
    }
    if (arg.type_attr.empty()) return arg.dtype;
    const DType* type = attrs_.Find<DType>(arg.type_attr);
    return type == nullptr ? DType::kInvalid : *type;
  }

 private:
  void Remember(const std::string& attr, std::string source) { sources_.emplace_back(attr, std::move(source)); }

  // " like input 'x' (attr T)", or " by attr T" if it was given explicitly.
  std::string Because(const std::string& attr) const {
    for (const auto& [name, source] : sources_) {
      if (name == attr) return absl::StrCat(", like ", source, " (attr ", attr, ")");
    }
    return absl::StrCat(" by attr ", attr);
  }

  const OpSpec& spec_;
  AttrMap& attrs_;
  std::vector<std::pair<std::string, std::string>> sources_;  // attr, the operand that set it first
};

std::string ArgNames(const OpSpec& spec) {
  return absl::StrJoin(spec.inputs(), ", ",
                       [](std::string* out, const ArgSpec& arg) { absl::StrAppend(out, arg.name); });
}

// A literal of the kind next to the one the spec wants: Attr("alpha", 1) for a float.
void AdaptLiteral(const AttrSpec& spec, Attr* value) {
  if (spec.kind == Attr::Kind::kFloat && value->kind() == Attr::Kind::kInt) {
    *value = static_cast<float>(*value->As<int64_t>());
  }
}

}  // namespace

NodeBuilder::NodeBuilder(const Scope& scope, absl::string_view op) : scope_(scope), op_(op) {}

NodeBuilder& NodeBuilder::Input(nabla::Input input) {
  Argument argument;
  argument.inputs.push_back(std::move(input));
  arguments_.push_back(std::move(argument));
  return *this;
}

NodeBuilder& NodeBuilder::InputList(const Inputs& inputs) {
  arguments_.push_back(Argument{true, inputs});
  return *this;
}

NodeBuilder& NodeBuilder::InputList(const Outputs& inputs) {
  arguments_.push_back(Argument{true, Inputs(inputs.begin(), inputs.end())});
  return *this;
}

NodeBuilder& NodeBuilder::Attr(absl::string_view name, nabla::Attr value) {
  attrs_.Set(name, std::move(value));
  return *this;
}

bool NodeBuilder::HasNoneOperand() const {
  if (op_ == "Merge" || op_ == "RefMerge") return false;  // its back edge comes later
  for (const Argument& argument : arguments_) {
    for (const nabla::Input& input : argument.inputs) {
      if (!input.output() && !input.is_constant()) return true;
    }
  }
  return false;
}

absl::StatusOr<Node*> NodeBuilder::AddConstant(const std::string& name, const nabla::Input& input, DType dtype) {
  NodeDesc desc;
  desc.op = "Const";
  Tensor value = input.value();
  if (input.is_weak()) {
    if (dtype == DType::kInvalid) dtype = DefaultWeakDType({&value}, nullptr);
    NABLA_ASSIGN_OR_RETURN(value, ConvertWeakConstant(value, dtype));
  }
  const Scope::State& state = scope_.state();
  desc.name = state.graph->UniqueName(name);
  desc.attrs.Set("dtype", value.dtype());
  desc.attrs.Set("value", std::move(value));
  for (const auto& [attr, attr_value] : state.attrs) {
    if (attr[0] == '_') desc.attrs.Set(attr, attr_value);
  }
  desc.control_inputs = state.control;
  desc.device = state.device;
  return state.graph->AddNode(std::move(desc));
}

absl::StatusOr<Node*> NodeBuilder::Build(const OpSpec& spec, const std::string& name) {
  const std::vector<ArgSpec>& formals = spec.inputs();
  if (arguments_.size() != formals.size()) {
    return absl::InvalidArgumentError(absl::StrCat("has ", arguments_.size(), " inputs, expected ", formals.size(),
                                                   formals.empty() ? "" : " (", ArgNames(spec),
                                                   formals.empty() ? "" : ")"));
  }
  const Scope::State& state = scope_.state();
  NodeDesc desc;
  desc.attrs = state.attrs;
  for (const auto& [attr, value] : attrs_) {
    nabla::Attr adapted = value;
    if (const AttrSpec* expected = spec.FindAttr(attr)) AdaptLiteral(*expected, &adapted);
    desc.attrs.Set(attr, std::move(adapted));
  }

  AttrInference inference(spec, &desc.attrs);
  std::vector<std::pair<const ArgSpec*, const Inputs*>> bound;
  for (size_t i = 0; i < formals.size(); ++i) {
    if (formals[i].IsList() != arguments_[i].is_list) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input '", formals[i].name, "' is ",
          formals[i].IsList() ? "one tensor, expected a list of tensors" : "a list of tensors, expected one tensor"));
    }
    bound.emplace_back(&formals[i], &arguments_[i].inputs);
    NABLA_RETURN_IF_ERROR(inference.Observe(formals[i], arguments_[i].inputs));
  }
  inference.Default(bound);

  for (const auto& [formal, operands] : bound) {
    std::vector<DType> types;
    for (size_t i = 0; i < operands->size(); ++i) {
      const nabla::Input& operand = (*operands)[i];
      Output output = operand.output();
      if (operand.is_constant()) {
        const DType expected = inference.ExpectedDType(*formal, i);
        if (!operand.is_weak() && expected != DType::kInvalid && expected != operand.value().dtype()) {
          return absl::InvalidArgumentError(absl::StrCat(OperandLabel(*formal, i), " has dtype ",
                                                         DTypeName(operand.value().dtype()), ", expected ",
                                                         DTypeName(expected)));
        }
        const std::string constant_name =
            formal->IsList() ? absl::StrCat(name, "/", formal->name, "_", i) : absl::StrCat(name, "/", formal->name);
        absl::StatusOr<Node*> constant = AddConstant(constant_name, operand, expected);
        if (!constant.ok()) {
          return absl::Status(constant.status().code(),
                              absl::StrCat(OperandLabel(*formal, i), ": ", constant.status().message()));
        }
        output = (*constant)->output(0);
      }
      if (!formal->type_list_attr.empty()) types.push_back(BaseDType(output.dtype()));
      desc.inputs.push_back(output);
    }
    if (formal->type_list_attr.empty()) continue;
    const std::vector<DType>* known = desc.attrs.Find<std::vector<DType>>(formal->type_list_attr);
    if (known == nullptr) {
      desc.attrs.Set(formal->type_list_attr, std::move(types));
    } else if (known->size() != types.size()) {
      return absl::InvalidArgumentError(absl::StrCat("input '", formal->name, "' has ", types.size(),
                                                     " tensors, expected ", known->size(), " by attr ",
                                                     formal->type_list_attr));
    }
  }

  desc.name = name;
  desc.op = op_;
  desc.control_inputs = state.control;
  desc.device = state.device;
  return state.graph->AddNode(std::move(desc));
}

Node* NodeBuilder::Finish() {
  if (HasNoneOperand()) return nullptr;
  Graph* graph = scope_.graph();
  const auto lock = graph->Lock();  // the name stays free until the node is there
  const OpSpec* spec = graph->FindSpec(op_);
  if (spec == nullptr) {
    scope_.RecordError(
        absl::NotFoundError(absl::StrCat("unknown op ", Quoted(op_), DidYouMean(graph->registry().Similar(op_)))));
    return nullptr;
  }
  const std::string name = scope_.NodeName(scope_.state().TakeName(op_));
  absl::StatusOr<Node*> node = Build(*spec, name);
  if (node.ok()) return *node;
  // The graph's errors name the node already.
  const std::string prefix = absl::StrCat("node ", Quoted(name), " (op ", op_, "): ");
  const absl::string_view message = node.status().message();
  scope_.RecordError(absl::Status(
      node.status().code(), absl::StartsWith(message, prefix) ? std::string(message) : absl::StrCat(prefix, message)));
  return nullptr;
}

Output NodeBuilder::FinishOutput() {
  Node* node = Finish();
  return node == nullptr || node->num_outputs() == 0 ? Output() : node->output(0);
}

}  // namespace nabla

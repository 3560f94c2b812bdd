// NodeBuilder: from operands of several kinds to a NodeDesc. The operands are bound to the spec's formal inputs; the
// attrs that the inputs determine are worked out; C++ numbers then take the dtypes that this gave; constants become
// Const nodes; and the graph checks the rest.
#include <utility>

#include "absl/container/inlined_vector.h"
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
      Remember(arg.number_attr, arg, kWholeList);
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
      Remember(arg.type_attr, arg, i);
    }
    return absl::OkStatus();
  }

  // After all were observed: type attrs for which only numbers speak.
  void Default(const std::vector<const Inputs*>& operands) {
    for (const AttrSpec& attr : spec_.attrs()) {
      if (attr.kind != Attr::Kind::kType || !attr.inferred_from_inputs || attrs_.Find(attr.name) != nullptr) continue;
      std::vector<const Tensor*> numbers;
      for (size_t i = 0; i < operands.size(); ++i) {
        if (spec_.inputs()[i].type_attr != attr.name) continue;
        for (const Input& operand : *operands[i]) {
          if (operand.is_weak()) numbers.push_back(&operand.value());
        }
      }
      if (!numbers.empty()) attrs_.Set(attr.name, DefaultWeakDType(numbers, &attr));
    }
  }

 private:
  static constexpr size_t kWholeList = static_cast<size_t>(-1);
  // The operand that set an attr, or was the first to agree with it.
  struct Source {
    const std::string* attr;
    const ArgSpec* arg;
    size_t i;
  };

  void Remember(const std::string& attr, const ArgSpec& arg, size_t i) {
    if (FindSource(attr) == nullptr) sources_.push_back({&attr, &arg, i});
  }

  const Source* FindSource(const std::string& attr) const {
    for (const Source& source : sources_) {
      if (*source.attr == attr) return &source;
    }
    return nullptr;
  }

  // ", like input 'x' (attr T)", or " by attr T" if it was given explicitly.
  std::string Because(const std::string& attr) const {
    const Source* source = FindSource(attr);
    if (source == nullptr) return absl::StrCat(" by attr ", attr);
    const std::string label = source->i == kWholeList ? absl::StrCat("input '", source->arg->name, "'")
                                                      : OperandLabel(*source->arg, source->i);
    return absl::StrCat(", like ", label, " (attr ", attr, ")");
  }

  const OpSpec& spec_;
  AttrMap& attrs_;
  absl::InlinedVector<Source, 2> sources_;
};

// The dtype that operand i of `arg` is to have, if its type or the attrs say so; kInvalid otherwise.
DType ExpectedDType(const ArgSpec& arg, const AttrMap& attrs, size_t i) {
  if (!arg.type_list_attr.empty()) {
    const std::vector<DType>* types = attrs.Find<std::vector<DType>>(arg.type_list_attr);
    return types != nullptr && i < types->size() ? (*types)[i] : DType::kInvalid;
  }
  if (arg.type_attr.empty()) return arg.dtype;
  const DType* type = attrs.Find<DType>(arg.type_attr);
  return type == nullptr ? DType::kInvalid : *type;
}

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

absl::Status NodeBuilder::InferAttrs(const OpSpec& spec, AttrMap* attrs) const {
  *attrs = scope_.state().attrs;
  for (const auto& [name, value] : attrs_) {
    nabla::Attr adapted = value;
    if (const AttrSpec* expected = spec.FindAttr(name)) AdaptLiteral(*expected, &adapted);
    attrs->Set(name, std::move(adapted));
  }
  AttrInference inference(spec, attrs);
  std::vector<const Inputs*> operands;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    NABLA_RETURN_IF_ERROR(inference.Observe(spec.inputs()[i], arguments_[i].inputs));
    operands.push_back(&arguments_[i].inputs);
  }
  inference.Default(operands);
  return absl::OkStatus();
}

absl::StatusOr<Node*> NodeBuilder::AddConstant(const std::string& name, const nabla::Input& input, DType dtype) const {
  NodeDesc desc;
  desc.op = "Const";
  Tensor value = input.value();
  if (input.is_weak()) {
    if (dtype == DType::kInvalid) dtype = DefaultWeakDType({&value}, nullptr);
    NABLA_ASSIGN_OR_RETURN(value, ConvertWeakConstant(value, dtype));
  } else if (dtype != DType::kInvalid && dtype != value.dtype()) {
    return absl::InvalidArgumentError(
        absl::StrCat("has dtype ", DTypeName(value.dtype()), ", expected ", DTypeName(dtype)));
  }
  const Scope::State& state = scope_.state();
  desc.name = state.graph->UniqueName(name);
  desc.attrs.Set("dtype", value.dtype());
  desc.attrs.Set("value", std::move(value));
  for (const auto& [attr, attr_value] : state.attrs) {
    if (attr[0] == '_') desc.attrs.Set(attr, attr_value);
  }
  desc.control_inputs = control();
  desc.device = state.device;
  return AddNode(std::move(desc));
}

absl::Status NodeBuilder::AddOperands(const ArgSpec& formal, const Inputs& operands, NodeDesc* desc,
                                      std::vector<Node*>* constants) const {
  std::vector<DType> types;
  for (size_t i = 0; i < operands.size(); ++i) {
    Output output = operands[i].output();
    if (operands[i].is_constant()) {
      std::string name = absl::StrCat(desc->name, "/", formal.name);
      if (formal.IsList()) absl::StrAppend(&name, "_", i);
      absl::StatusOr<Node*> constant = AddConstant(name, operands[i], ExpectedDType(formal, desc->attrs, i));
      if (!constant.ok()) return WithContext(OperandLabel(formal, i), constant.status());
      constants->push_back(*constant);
      output = (*constant)->output(0);
    }
    if (!formal.type_list_attr.empty()) types.push_back(BaseDType(output.dtype()));
    desc->inputs.push_back(output);
  }
  if (formal.type_list_attr.empty()) return absl::OkStatus();
  const std::vector<DType>* known = desc->attrs.Find<std::vector<DType>>(formal.type_list_attr);
  if (known == nullptr) {
    desc->attrs.Set(formal.type_list_attr, std::move(types));
  } else if (known->size() != types.size()) {
    return absl::InvalidArgumentError(absl::StrCat("input '", formal.name, "' has ", types.size(),
                                                   " tensors, expected ", known->size(), " by attr ",
                                                   formal.type_list_attr));
  }
  return absl::OkStatus();
}

absl::StatusOr<Node*> NodeBuilder::Build(const OpSpec& spec, const std::string& name,
                                         std::vector<Node*>* constants) const {
  const std::vector<ArgSpec>& formals = spec.inputs();
  if (arguments_.size() != formals.size()) {
    return absl::InvalidArgumentError(absl::StrCat("has ", arguments_.size(), " inputs, expected ", formals.size(),
                                                   formals.empty() ? "" : " (", ArgNames(spec),
                                                   formals.empty() ? "" : ")"));
  }
  for (size_t i = 0; i < formals.size(); ++i) {
    if (formals[i].IsList() != arguments_[i].is_list) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input '", formals[i].name, "' is ",
          formals[i].IsList() ? "one tensor, expected a list of tensors" : "a list of tensors, expected one tensor"));
    }
  }
  NodeDesc desc;
  desc.name = name;
  desc.op = op_;
  desc.control_inputs = control();
  desc.device = scope_.state().device;
  NABLA_RETURN_IF_ERROR(InferAttrs(spec, &desc.attrs));
  for (size_t i = 0; i < formals.size(); ++i) {
    NABLA_RETURN_IF_ERROR(AddOperands(formals[i], arguments_[i].inputs, &desc, constants));
  }
  return AddNode(std::move(desc));
}

absl::Status NodeBuilder::CaptureInputs() {
  for (const std::shared_ptr<Capture>& capture : scope_.state().captures) {
    for (Argument& argument : arguments_) {
      for (nabla::Input& input : argument.inputs) {
        if (!input.output()) continue;
        NABLA_ASSIGN_OR_RETURN(input, capture->CaptureInput(input.output()));
      }
    }
  }
  for (Node* source : scope_.control()) {
    for (const std::shared_ptr<Capture>& capture : scope_.state().captures) {
      if (source == nullptr) break;
      NABLA_ASSIGN_OR_RETURN(source, capture->CaptureControl(source));
    }
    if (source != nullptr) captured_control_.push_back(source);
  }
  return absl::OkStatus();
}

const std::vector<Node*>& NodeBuilder::control() const {
  return scope_.state().captures.empty() ? scope_.control() : captured_control_;
}

absl::StatusOr<Node*> NodeBuilder::AddNode(NodeDesc desc) const {
  NABLA_ASSIGN_OR_RETURN(Node * node, scope_.graph()->AddNode(std::move(desc)));
  const auto& captures = scope_.state().captures;
  for (const std::shared_ptr<Capture>& capture : captures) capture->Added(node, capture == captures.back());
  return node;
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
  if (!scope_.state().captures.empty()) {
    const absl::Status status = CaptureInputs();
    if (!status.ok()) {
      scope_.RecordError(WithContext(absl::StrCat("an input of op ", Quoted(op_)), status));
      return nullptr;
    }
  }
  const std::string name = scope_.NodeName(scope_.state().TakeName(op_));
  std::vector<Node*> constants;
  absl::StatusOr<Node*> node = Build(*spec, name, &constants);
  if (node.ok()) return *node;
  // What was refused leaves nothing behind.
  for (Node* constant : constants) graph->RemoveNode(constant).IgnoreError();
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

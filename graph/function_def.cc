#include "nabla/graph/function_def.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "nabla/graph/error_text.h"
#include "nabla/graph/export.h"
#include "nabla/graph/status_macros.h"
#include "nabla/graph/tensor_proto.h"
#include "nabla/proto/function.pb.h"

namespace nabla {
namespace {

// [a-z][a-z0-9_]*, what TensorFlow allows as the name of an argument.
std::string ArgumentName(absl::string_view name) {
  std::string result;
  for (const char c : name) {
    if (result.empty() && !absl::ascii_isalpha(c)) continue;
    result += absl::ascii_isalnum(c) ? absl::ascii_tolower(c) : '_';
  }
  return result.empty() ? "x" : result;
}

class Maker {
 public:
  Maker(const Graph& body, const Outputs& arguments, const Outputs& results, const FunctionDefOptions& options)
      : body_(body), arguments_(arguments), results_(results), options_(options) {}

  absl::StatusOr<FunctionDef> Run(absl::string_view name) {
    OpDef& signature = *def_.mutable_signature();
    signature.set_name(std::string(name));
    NABLA_RETURN_IF_ERROR(CheckTensors());
    NABLA_RETURN_IF_ERROR(FindNeeded());
    AddArguments();
    for (size_t i = 0; i < results_.size(); ++i) {
      OpDef::ArgDef& arg = *signature.add_output_arg();
      arg.set_name(UniqueName(i < options_.result_names.size() ? options_.result_names[i] : results_[i].node()->name(),
                              &result_names_));
      arg.set_type(static_cast<DataType>(BaseDType(results_[i].dtype())));
      NABLA_ASSIGN_OR_RETURN((*def_.mutable_ret())[arg.name()], TensorName(results_[i]));
    }
    for (int id = 0; id < static_cast<int>(needed_.size()); ++id) {
      if (needed_[id]) NABLA_RETURN_IF_ERROR(AddNode(*body_.node(id)));
    }
    return std::move(def_);
  }

 private:
  absl::Status CheckTensors() {
    const auto check = [this](const Output& tensor, const char* what, size_t i) -> absl::Status {
      if (tensor && tensor.graph() == &body_) return absl::OkStatus();
      return absl::InvalidArgumentError(
          absl::StrCat(what, " ", i,
                       tensor ? absl::StrCat(", '", tensor.name(), "', belongs to another graph than the body")
                              : std::string(" is none")));
    };
    for (size_t i = 0; i < arguments_.size(); ++i) {
      NABLA_RETURN_IF_ERROR(check(arguments_[i], "argument", i));
      if (!argument_of_.emplace(arguments_[i], static_cast<int>(i)).second) {
        return absl::InvalidArgumentError(absl::StrCat("the argument '", arguments_[i].name(), "' stands there twice"));
      }
      argument_nodes_.insert(arguments_[i].node());
    }
    for (size_t i = 0; i < results_.size(); ++i) NABLA_RETURN_IF_ERROR(check(results_[i], "result", i));
    return absl::OkStatus();
  }

  absl::Status FindNeeded() {
    needed_.resize(body_.num_node_ids());
    std::vector<const Node*> stack;
    const auto need = [&](const Node* node) {
      if (argument_nodes_.contains(node) || needed_[node->id()]) return;
      needed_[node->id()] = true;
      stack.push_back(node);
    };
    for (const Output& result : results_) need(result.node());
    body_.ForEachNode([&](Node* node) {
      if (node->spec().is_stateful()) need(node);
    });
    while (!stack.empty()) {
      const Node* node = stack.back();
      stack.pop_back();
      node_names_.insert(node->name());
      for (int i = 0; i < node->num_inputs(); ++i) {
        if (!node->input(i)) {
          return absl::InvalidArgumentError(
              absl::StrCat("node '", node->name(), "' (op ", node->op(), "): input ", i, " is not connected"));
        }
        need(node->input(i).node());
      }
      for (const Node* source : node->control_inputs()) need(source);
    }
    return absl::OkStatus();
  }

  std::string UniqueName(absl::string_view name, absl::flat_hash_set<std::string>* taken) const {
    const std::string base = ArgumentName(name);
    std::string unique = base;
    // Arguments and nodes share one space of names.
    for (int i = 1; node_names_.contains(unique) || !taken->insert(unique).second; ++i) {
      unique = absl::StrCat(base, "_", i);
    }
    return unique;
  }

  void AddArguments() {
    for (size_t i = 0; i < arguments_.size(); ++i) {
      const Output& argument = arguments_[i];
      OpDef::ArgDef& arg = *def_.mutable_signature()->add_input_arg();
      arg.set_name(UniqueName(i < options_.argument_names.size() ? options_.argument_names[i] : argument.node()->name(),
                              &argument_names_));
      arg.set_type(static_cast<DataType>(BaseDType(argument.dtype())));
      if (argument.dtype() == DType::kResource || !argument.shape().has_rank()) continue;
      AttrValue& shapes = (*(*def_.mutable_arg_attr())[static_cast<uint32_t>(i)].mutable_attr())["_output_shapes"];
      ShapeToProto(argument.shape(), shapes.mutable_list()->add_shape());
    }
  }

  // "argument", or "node:output:number".
  absl::StatusOr<std::string> TensorName(const Output& tensor) const {
    const auto argument = argument_of_.find(tensor);
    if (argument != argument_of_.end()) return def_.signature().input_arg(argument->second).name();
    const Node& node = *tensor.node();
    if (argument_nodes_.contains(&node)) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", tensor.name(), "' is used, but of its node another output is an argument"));
    }
    int begin = 0;
    for (const ArgSpec& formal : node.spec().outputs()) {
      int count = 1;
      if (formal.IsList()) {
        DTypes dtypes;
        NABLA_RETURN_IF_ERROR(ArgDTypes({formal}, node.attrs(), &dtypes));
        count = static_cast<int>(dtypes.size());
      }
      if (tensor.index() < begin + count) {
        return absl::StrCat(node.name(), ":", formal.name, ":", tensor.index() - begin);
      }
      begin += count;
    }
    return absl::InvalidArgumentError(absl::StrCat("'", tensor.name(), "' is no output that op ", node.op(), " names"));
  }

  absl::Status AddNode(const Node& node) {
    NodeDef& def = *def_.add_node_def();
    ExportNode(node, &def);
    def.clear_input();
    for (int i = 0; i < node.num_inputs(); ++i) {
      NABLA_ASSIGN_OR_RETURN(*def.add_input(), TensorName(node.input(i)));
    }
    for (const Node* source : node.control_inputs()) {
      if (!argument_nodes_.contains(source)) def.add_input(absl::StrCat("^", source->name()));
    }
    if (!node.spec().is_stateful()) return absl::OkStatus();
    OpDef& signature = *def_.mutable_signature();
    signature.set_is_stateful(true);
    signature.add_control_output(node.name());
    (*def_.mutable_control_ret())[node.name()] = node.name();
    return absl::OkStatus();
  }

  const Graph& body_;
  const Outputs& arguments_;
  const Outputs& results_;
  const FunctionDefOptions& options_;
  absl::flat_hash_map<Output, int> argument_of_;
  absl::flat_hash_set<const Node*> argument_nodes_;
  std::vector<bool> needed_;  // by id
  absl::flat_hash_set<std::string> node_names_;
  absl::flat_hash_set<std::string> argument_names_, result_names_;
  FunctionDef def_;
};

}  // namespace

absl::StatusOr<FunctionDef> MakeFunctionDef(const Graph& body, absl::string_view name, const Outputs& arguments,
                                            const Outputs& results, const FunctionDefOptions& options) {
  const auto lock = body.Lock();
  absl::StatusOr<FunctionDef> def = Maker(body, arguments, results, options).Run(name);
  if (!def.ok()) return WithContext(absl::StrCat("function ", Quoted(name)), def.status());
  return def;
}

}  // namespace nabla

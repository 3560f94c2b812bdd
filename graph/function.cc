#include "nabla/graph/function.h"

#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "nabla/graph/capture.h"
#include "nabla/graph/error_text.h"
#include "nabla/graph/function_body.h"
#include "nabla/graph/function_def.h"
#include "nabla/graph/function_library.h"
#include "nabla/graph/status_macros.h"
#include "nabla/proto/function.pb.h"

namespace nabla {
namespace {

absl::StatusOr<Output> AddArgument(Graph* body, const std::string& name, DType dtype, const Shape& shape) {
  NodeDesc desc;
  desc.name = body->UniqueName(name);
  desc.op = "Placeholder";
  desc.attrs.Set("dtype", BaseDType(dtype));
  desc.attrs.Set("shape", shape);
  NABLA_ASSIGN_OR_RETURN(Node * node, body->AddNode(std::move(desc)));
  return node->output(0);
}

// Turns what a body uses of the graphs around it into arguments.
class FunctionCapture : public Capture {
 public:
  FunctionCapture(Graph* body, const Scope& outside) : body_(body), outside_(outside) {}

  absl::StatusOr<Output> CaptureInput(Output source) override {
    if (source.graph() == body_) return source;
    if (!Captures(source.graph())) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", source.name(), "' is neither of the function's body nor of the graph around it"));
    }
    const auto [it, added] = argument_of_.try_emplace(source);
    if (added) {
      NABLA_ASSIGN_OR_RETURN(
          it->second, AddArgument(body_, absl::StrCat("captured_", captured_.size()), source.dtype(), source.shape()));
      captured_.push_back(source);
      arguments_.push_back(it->second);
    }
    return it->second;
  }

  // A call waits as a whole, so there is nothing to wait for in here.
  absl::StatusOr<Node*> CaptureControl(Node* source) override {
    if (source->graph() == body_) return source;
    return absl::InvalidArgumentError(
        absl::StrCat("node '", source->name(), "' is outside of the function; let the call wait for it"));
  }

  bool Captures(const Graph* graph) const override { return outside_.Accepts(graph); }

  const Outputs& captured() const { return captured_; }
  const Outputs& arguments() const { return arguments_; }

 private:
  Graph* body_;
  Scope outside_;
  absl::flat_hash_map<Output, Output> argument_of_;
  Outputs captured_, arguments_;
};

absl::Status CheckResults(const Outputs& results) {
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i]) return absl::InvalidArgumentError(absl::StrCat("result ", i, " is none"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Function> AddToLibrary(Graph* graph, FunctionDef def) {
  const auto lock = graph->Lock();
  const std::string base = def.signature().name();
  std::string name = graph->functions().UniqueName(base);
  for (int i = 1; graph->registry().Find(name) != nullptr; ++i) {
    name = graph->functions().UniqueName(absl::StrCat(base, "_", i));
  }
  def.mutable_signature()->set_name(name);
  NABLA_RETURN_IF_ERROR(graph->functions().Add(def));
  return Function::Find(*graph, name);
}

}  // namespace

Function Function::Build(const Scope& scope, absl::string_view name, const std::vector<Argument>& arguments,
                         const Body& body) {
  const std::unique_ptr<Graph> graph = Graph::SharingFunctions(*scope.graph());
  const auto capture = std::make_shared<FunctionCapture>(graph.get(), scope);
  const Scope inside = Scope(graph.get()).WithCapture(capture);
  const auto build = [&]() -> absl::StatusOr<Function> {
    if (!IsValidNodeName(name)) return absl::InvalidArgumentError("is no valid name");
    FunctionDefOptions options;
    Outputs formals;
    for (size_t i = 0; i < arguments.size(); ++i) {
      options.argument_names.push_back(arguments[i].name.empty() ? absl::StrCat("arg_", i) : arguments[i].name);
      NABLA_ASSIGN_OR_RETURN(Output formal,
                             AddArgument(graph.get(), absl::StrCat("arg_", i), arguments[i].dtype, arguments[i].shape));
      formals.push_back(formal);
    }
    Outputs results;
    {
      const ScopeGuard guard(inside);
      results = body(inside, formals);
    }
    NABLA_RETURN_IF_ERROR(inside.status());
    NABLA_RETURN_IF_ERROR(graph->status());
    NABLA_RETURN_IF_ERROR(CheckResults(results));
    // An argument or a tensor from outside as a result: TensorFlow wants each result to be a node's.
    for (Output& result : results) {
      if (result.graph() == graph.get() && result.node()->op() != "Placeholder") continue;
      result = NodeBuilder(inside, "Identity").Input(result).FinishOutput();
      NABLA_RETURN_IF_ERROR(inside.status());
    }
    formals.insert(formals.end(), capture->arguments().begin(), capture->arguments().end());
    NABLA_ASSIGN_OR_RETURN(FunctionDef def, MakeFunctionDef(*graph, name, formals, results, options));
    return AddToLibrary(scope.graph(), std::move(def));
  };
  absl::StatusOr<Function> function = build();
  if (!function.ok()) {
    scope.RecordError(WithContext(absl::StrCat("building function ", Quoted(name)), function.status()));
    return {};
  }
  function->captures_ = capture->captured();
  return *std::move(function);
}

absl::StatusOr<Function> Function::Find(const Graph& graph, absl::string_view name) {
  NABLA_RETURN_IF_ERROR(graph.functions().Body(name).status());
  Function function;
  function.name_ = std::string(name);
  return function;
}

Outputs Function::Call(const Scope& scope, const Inputs& inputs, CallOp op, const AttrMap& attrs) const {
  const OpSpec* spec = scope.graph()->functions().FindSpec(name_);
  if (spec == nullptr) {
    if (!name_.empty()) {
      scope.RecordError(absl::NotFoundError(absl::StrCat("the graph has no function ", Quoted(name_))));
    }
    return {};
  }
  Inputs operands = inputs;
  operands.insert(operands.end(), captures_.begin(), captures_.end());
  Node* node = nullptr;
  size_t num_outputs = spec->outputs().size();
  if (op == CallOp::kFunctionName) {
    NodeBuilder builder(scope, name_);
    for (Input& operand : operands) builder.Input(std::move(operand));
    for (const auto& [attr, value] : attrs) builder.Attr(attr, value);
    node = builder.Finish();
  } else {
    AttrMap complete = attrs;
    DTypes takes, gives;
    absl::Status status = CompleteAttrs(*spec, &complete);
    if (status.ok()) status = ArgDTypes(spec->inputs(), complete, &takes);
    if (status.ok()) status = ArgDTypes(spec->outputs(), complete, &gives);
    if (!status.ok()) {
      scope.RecordError(WithContext(absl::StrCat("call of function ", Quoted(name_)), status));
      return Outputs(num_outputs);
    }
    num_outputs = gives.size();
    FunctionRef function{name_, std::make_shared<AttrMap>(attrs)};
    node = NodeBuilder(scope, spec->is_stateful() ? "StatefulPartitionedCall" : "PartitionedCall")
               .InputList(operands)
               .Attr("Tin", std::vector<DType>(takes.begin(), takes.end()))
               .Attr("Tout", std::vector<DType>(gives.begin(), gives.end()))
               .Attr("f", std::move(function))
               .Finish();
  }
  Outputs outputs(num_outputs);
  for (size_t i = 0; i < num_outputs && node != nullptr; ++i) outputs[i] = node->output(static_cast<int>(i));
  return outputs;
}

}  // namespace nabla

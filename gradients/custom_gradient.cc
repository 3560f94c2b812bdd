#include "nabla/gradients/custom_gradient.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "nabla/graph/error_text.h"
#include "nabla/graph/function_library.h"
#include "nabla/graph/inline.h"
#include "nabla/graph/status_macros.h"

namespace nabla {
namespace {

class RuleGradient : public FunctionGradient {
 public:
  explicit RuleGradient(CustomRule rule) : rule_(std::move(rule)) {}
  const CustomRule& rule() const { return rule_; }

 private:
  CustomRule rule_;
};

std::string TypesText(const DTypes& types) {
  return absl::StrCat(
      "(", absl::StrJoin(types, ", ", [](std::string* out, DType type) { absl::StrAppend(out, DTypeName(type)); }),
      ")");
}

// The attrs that a gradient function shares with its function.
FunctionRef GradientRef(const OpSpec& spec, const FunctionRef& function) {
  auto attrs = std::make_shared<AttrMap>();
  if (function.attrs != nullptr) {
    for (const auto& [name, value] : *function.attrs) {
      if (spec.FindAttr(name) != nullptr) attrs->Set(name, value);
    }
  }
  return {spec.name(), std::move(attrs)};
}

// That `gradient` takes the call's inputs and its outputs' gradients and gives the inputs' gradients.
absl::Status CheckSignature(const Node& call, const OpSpec& spec, const FunctionRef& gradient) {
  AttrMap attrs = *gradient.attrs;
  DTypes takes, gives, expected_takes, expected_gives;
  NABLA_RETURN_IF_ERROR(CompleteAttrs(spec, &attrs));
  NABLA_RETURN_IF_ERROR(ArgDTypes(spec.inputs(), attrs, &takes));
  NABLA_RETURN_IF_ERROR(ArgDTypes(spec.outputs(), attrs, &gives));
  for (int i = 0; i < call.num_inputs(); ++i) {
    expected_takes.push_back(BaseDType(call.input(i).dtype()));
    // That of a resource is its value's, of a type that the call does not say.
    const bool is_resource = expected_takes.back() == DType::kResource && i < static_cast<int>(gives.size());
    expected_gives.push_back(is_resource ? gives[i] : expected_takes.back());
  }
  for (int i = 0; i < call.num_outputs(); ++i) expected_takes.push_back(BaseDType(call.output_dtype(i)));
  if (takes == expected_takes && gives == expected_gives) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("its gradient function ", Quoted(gradient.name), " has the signature ", TypesText(takes), " -> ",
                   TypesText(gives), ", expected ", TypesText(expected_takes), " -> ", TypesText(expected_gives),
                   ": from the inputs and the outputs' gradients to the inputs' gradients"));
}

Grads CallGradientFunction(RuleContext& c, const FunctionRef& function, const std::string& name) {
  const OpSpec* spec = c.op()->graph()->functions().FindSpec(name);
  if (spec == nullptr) return c.Fail(absl::NotFoundError(absl::StrCat("the graph has no function ", Quoted(name))));
  const FunctionRef gradient = GradientRef(*spec, function);
  const absl::Status status = CheckSignature(*c.op(), *spec, gradient);
  if (!status.ok()) return c.Fail(WithContext(absl::StrCat("function ", Quoted(function.name)), status));
  const absl::StatusOr<Function> callee = Function::Find(*c.op()->graph(), name);
  if (!callee.ok()) return c.Fail(callee.status());
  Inputs inputs;
  for (int i = 0; i < c.num_inputs(); ++i) inputs.push_back(c.input(i));
  for (int i = 0; i < c.num_outputs(); ++i) inputs.push_back(c.grad(i));
  const Outputs grads = callee->Call(c.scope(), inputs, Function::CallOp::kPartitionedCall, *gradient.attrs);
  return Grads(grads.begin(), grads.end());
}

}  // namespace

Outputs CustomGradient(const Scope& scope, const Outputs& inputs, const Function::Body& forward, CustomRule backward) {
  std::vector<Function::Argument> arguments;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]) return {};  // its error is recorded
    arguments.push_back({BaseDType(inputs[i].dtype()), inputs[i].shape(), ""});
  }
  const Function function = Function::Build(scope, "custom_gradient", arguments, forward);
  if (!function) return {};
  const absl::Status status = SetCustomGradient(scope.graph(), function.name(), std::move(backward));
  if (!status.ok()) {
    scope.RecordError(status);
    return {};
  }
  return function.Call(scope, Inputs(inputs.begin(), inputs.end()));
}

absl::Status SetCustomGradient(Graph* graph, absl::string_view function, CustomRule rule) {
  FunctionLibrary& library = graph->functions();
  const std::string in_library = library.FindGradient(function);
  if (!in_library.empty()) {
    return absl::AlreadyExistsError(absl::StrCat("function ", Quoted(function), " has the gradient function ",
                                                 Quoted(in_library), " in the graph's library"));
  }
  return library.SetGradient(function, std::make_shared<RuleGradient>(std::move(rule)));
}

bool HasCustomGradient(const Node& node) {
  const absl::optional<FunctionRef> function = CalledFunction(node);
  if (!function.has_value()) return false;
  const FunctionLibrary& library = node.graph()->functions();
  return library.FindSetGradient(function->name) != nullptr || !library.FindGradient(function->name).empty();
}

Grads CallGradient(RuleContext& c) {
  const absl::optional<FunctionRef> function = CalledFunction(*c.op());
  if (!function.has_value()) return c.Fail(absl::InvalidArgumentError("has no attr f, which names the function"));
  const FunctionLibrary& library = c.op()->graph()->functions();
  const std::shared_ptr<const FunctionGradient> in_memory = library.FindSetGradient(function->name);
  const std::string in_library = library.FindGradient(function->name);
  if (in_memory != nullptr && !in_library.empty()) {
    return c.Fail(absl::InvalidArgumentError(absl::StrCat("function ", Quoted(function->name),
                                                          " has two gradients, the function ", Quoted(in_library),
                                                          " of the library and one in C++, expected one of them")));
  }
  if (!in_library.empty()) return CallGradientFunction(c, *function, in_library);
  const auto* rule = static_cast<const RuleGradient*>(in_memory.get());
  if (rule == nullptr) {
    return c.Fail(absl::UnimplementedError(
        absl::StrCat("function ", Quoted(function->name), " has no gradient of its own; the call must be expanded")));
  }
  Grads grads = rule->rule()(c);
  if (c.status().ok() && static_cast<int>(grads.size()) != c.num_inputs()) {
    return c.Fail(absl::InvalidArgumentError(
        absl::StrCat("the gradient that function ", Quoted(function->name), " has in C++ returns ", grads.size(),
                     " gradients, expected ", c.num_inputs(), ", one for each input, captured tensors among them")));
  }
  return grads;
}

}  // namespace nabla

#include "nabla/graph/function_library.h"

#include <set>
#include <utility>

#include <google/protobuf/util/message_differencer.h>

#include "absl/strings/str_cat.h"
#include "nabla/graph/error_text.h"
#include "nabla/graph/foreign_spec.h"
#include "nabla/graph/status_macros.h"
#include "nabla/proto/function.pb.h"

namespace nabla {
namespace {

using google::protobuf::util::MessageDifferencer;

absl::Status CheckFunction(const FunctionDef& function) {
  const OpDef& signature = function.signature();
  if (signature.name().empty()) return absl::InvalidArgumentError("a function has no name");
  NABLA_RETURN_IF_ERROR(ForeignSpec::FromSignature(signature).status());
  std::set<absl::string_view> names;
  for (const OpDef::ArgDef& arg : signature.input_arg()) {
    if (!names.insert(arg.name()).second) {
      return absl::InvalidArgumentError(absl::StrCat("input ", Quoted(arg.name()), " stands there twice"));
    }
  }
  for (const NodeDef& node : function.node_def()) {
    if (node.name().empty() || node.op().empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("node ", Quoted(node.name()), " of op ", Quoted(node.op()), ": expected a name and an op"));
    }
    if (!names.insert(node.name()).second) {
      return absl::InvalidArgumentError(absl::StrCat("two nodes or inputs are called ", Quoted(node.name())));
    }
  }
  // `ret` says for each output which tensor it is.
  std::set<absl::string_view> outputs;
  for (const OpDef::ArgDef& arg : signature.output_arg()) {
    if (!outputs.insert(arg.name()).second) {
      return absl::InvalidArgumentError(absl::StrCat("output ", Quoted(arg.name()), " stands there twice"));
    }
    if (function.ret().count(arg.name()) == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("output ", Quoted(arg.name()), " has no entry in 'ret', which says where it comes from"));
    }
  }
  // In the order of the alphabet, so that the same file always gets the same error.
  for (const auto& [output, tensor] :
       std::map<std::string, std::string>(function.ret().begin(), function.ret().end())) {
    if (outputs.count(output) == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("'ret' has an entry for ", Quoted(output), ", which is no output"));
    }
    const absl::string_view producer = absl::string_view(tensor).substr(0, tensor.find(':'));
    if (names.count(producer) == 0) {
      return absl::InvalidArgumentError(absl::StrCat("output ", Quoted(output), " comes from ", Quoted(tensor),
                                                     ", but there is no such node or input"));
    }
  }
  for (const auto& [output, node] :
       std::map<std::string, std::string>(function.control_ret().begin(), function.control_ret().end())) {
    if (names.count(node) == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("control output ", Quoted(output), " comes from ", Quoted(node), ", but there is no such node"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

FunctionLibrary::FunctionLibrary() : library_(std::make_unique<FunctionDefLibrary>()) {}
FunctionLibrary::~FunctionLibrary() = default;

absl::Status FunctionLibrary::Add(const FunctionDef& function) {
  FunctionDefLibrary library;
  *library.add_function() = function;
  return AddLibrary(std::move(library));
}

absl::Status FunctionLibrary::Check(const FunctionDefLibrary& library) const {
  std::map<absl::string_view, const FunctionDef*> added;
  for (const FunctionDef& function : library.function()) {
    const std::string& name = function.signature().name();
    absl::Status status = CheckFunction(function);
    if (!status.ok()) return WithContext(absl::StrCat("function ", Quoted(name)), status);
    const FunctionDef* earlier = Find(name);
    if (earlier == nullptr) {
      const auto [it, inserted] = added.emplace(name, &function);
      if (!inserted) earlier = it->second;
    }
    if (earlier != nullptr && !MessageDifferencer::Equals(*earlier, function)) {
      return absl::AlreadyExistsError(
          absl::StrCat("function ", Quoted(name), ": another function of that name is there already"));
    }
  }
  const auto is_known = [&](const std::string& name) { return Find(name) != nullptr || added.count(name) != 0; };
  std::map<absl::string_view, absl::string_view> gradients;
  for (const GradientDef& gradient : library.gradient()) {
    for (const std::string& name : {gradient.function_name(), gradient.gradient_func()}) {
      if (!is_known(name)) {
        return absl::InvalidArgumentError(absl::StrCat("the gradient entry ", Quoted(gradient.function_name()), " -> ",
                                                       Quoted(gradient.gradient_func()), " names the function ",
                                                       Quoted(name), ", which is not there"));
      }
    }
    std::string earlier = FindGradient(gradient.function_name());
    if (earlier.empty()) {
      earlier = std::string(gradients.emplace(gradient.function_name(), gradient.gradient_func()).first->second);
    }
    if (earlier != gradient.gradient_func()) {
      return absl::AlreadyExistsError(absl::StrCat("function ", Quoted(gradient.function_name()),
                                                   " has two gradient functions, ", Quoted(earlier), " and ",
                                                   Quoted(gradient.gradient_func())));
    }
  }
  return absl::OkStatus();
}

absl::Status FunctionLibrary::AddLibrary(const FunctionDefLibrary& library) {
  return AddLibrary(FunctionDefLibrary(library));
}

absl::Status FunctionLibrary::AddLibrary(FunctionDefLibrary&& library) {
  NABLA_RETURN_IF_ERROR(Check(library));
  for (FunctionDef& function : *library.mutable_function()) {
    const std::string name = function.signature().name();
    if (!index_.emplace(name, library_->function_size()).second) continue;
    *library_->add_function() = std::move(function);
  }
  for (GradientDef& gradient : *library.mutable_gradient()) {
    if (!gradients_.emplace(gradient.function_name(), gradient.gradient_func()).second) continue;
    *library_->add_gradient() = std::move(gradient);
  }
  for (RegisteredGradient& gradient : *library.mutable_registered_gradients()) {
    if (!registered_gradients_.emplace(gradient.registered_op_type(), gradient.gradient_func()).second) continue;
    *library_->add_registered_gradients() = std::move(gradient);
  }
  FunctionDefLibrary::GetReflection()
      ->MutableUnknownFields(library_.get())
      ->MergeFrom(FunctionDefLibrary::GetReflection()->GetUnknownFields(library));
  return absl::OkStatus();
}

const FunctionDef* FunctionLibrary::Find(absl::string_view name) const {
  const auto it = index_.find(std::string(name));
  return it == index_.end() ? nullptr : &library_->function(it->second);
}

std::string FunctionLibrary::FindGradient(absl::string_view function) const {
  const auto it = gradients_.find(std::string(function));
  return it == gradients_.end() ? "" : it->second;
}

std::vector<std::string> FunctionLibrary::Names() const {
  std::vector<std::string> names;
  names.reserve(index_.size());
  for (const auto& [name, index] : index_) names.push_back(name);
  return names;
}

bool FunctionLibrary::empty() const {
  return library_->function_size() == 0 && library_->gradient_size() == 0 && library_->registered_gradients_size() == 0;
}

void FunctionLibrary::ToProto(FunctionDefLibrary* library) const { *library = *library_; }

}  // namespace nabla

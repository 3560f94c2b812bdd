#include "nabla/graph/function_library.h"

#include <algorithm>
#include <set>
#include <utility>

#include <google/protobuf/util/message_differencer.h>

#include "absl/strings/str_cat.h"
#include "nabla/graph/error_text.h"
#include "nabla/graph/foreign_spec.h"
#include "nabla/graph/function_body.h"
#include "nabla/graph/function_shapes.h"
#include "nabla/graph/similar_names.h"
#include "nabla/graph/status_macros.h"
#include "nabla/proto/function.pb.h"

namespace nabla {
namespace {

using google::protobuf::util::MessageDifferencer;

// What a file's functions may make out of constants that are a few bytes in the file.
constexpr int64_t kMaxExpandedBytes = int64_t{1} << 30;

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

FunctionLibrary::FunctionLibrary()
    : shape_memo_(std::make_unique<FunctionShapeMemo>()),
      library_(std::make_unique<FunctionDefLibrary>()),
      budget_(ExpansionBudget{kMaxExpandedBytes}) {}
FunctionLibrary::~FunctionLibrary() = default;

absl::Status FunctionLibrary::Add(const FunctionDef& function) {
  FunctionDefLibrary library;
  *library.add_function() = function;
  return AddLibrary(std::move(library));
}

absl::Status FunctionLibrary::Check(const FunctionDefLibrary& library) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return CheckLocked(library);
}

absl::Status FunctionLibrary::CheckLocked(const FunctionDefLibrary& library) const {
  std::map<absl::string_view, const FunctionDef*> added;
  for (const FunctionDef& function : library.function()) {
    const std::string& name = function.signature().name();
    absl::Status status = CheckFunction(function);
    if (!status.ok()) return WithContext(absl::StrCat("function ", Quoted(name)), status);
    const FunctionDef* earlier = FindLocked(name);
    if (earlier == nullptr) {
      const auto [it, inserted] = added.emplace(name, &function);
      if (!inserted) earlier = it->second;
    }
    if (earlier != nullptr && !MessageDifferencer::Equals(*earlier, function)) {
      return absl::AlreadyExistsError(
          absl::StrCat("function ", Quoted(name), ": another function of that name is there already"));
    }
  }
  const auto is_known = [&](const std::string& name) { return FindLocked(name) != nullptr || added.count(name) != 0; };
  std::map<absl::string_view, absl::string_view> gradients;
  for (const GradientDef& gradient : library.gradient()) {
    for (const std::string& name : {gradient.function_name(), gradient.gradient_func()}) {
      if (!is_known(name)) {
        return absl::InvalidArgumentError(absl::StrCat("the gradient entry ", Quoted(gradient.function_name()), " -> ",
                                                       Quoted(gradient.gradient_func()), " names the function ",
                                                       Quoted(name), ", which is not there"));
      }
    }
    std::string earlier = FindGradientLocked(gradient.function_name());
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
  const std::lock_guard<std::mutex> lock(mutex_);
  NABLA_RETURN_IF_ERROR(CheckLocked(library));
  for (FunctionDef& function : *library.mutable_function()) {
    const auto [it, added] = entries_.try_emplace(function.signature().name());
    if (!added) continue;
    it->second.index = library_->function_size();
    it->second.spec = *ForeignSpec::FromSignature(function.signature());  // checked above
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

const FunctionDef* FunctionLibrary::FindLocked(absl::string_view name) const {
  const auto it = entries_.find(name);
  return it == entries_.end() ? nullptr : &library_->function(it->second.index);
}

const FunctionDef* FunctionLibrary::Find(absl::string_view name) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return FindLocked(name);
}

const OpSpec* FunctionLibrary::FindSpec(absl::string_view name) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto it = entries_.find(name);
  return it == entries_.end() ? nullptr : it->second.spec.get();
}

absl::StatusOr<const FunctionBody*> FunctionLibrary::Body(absl::string_view name) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto it = entries_.find(name);
  if (it == entries_.end()) {
    SimilarNames similar(name);
    for (const auto& [other, entry] : entries_) similar.Consider(other);
    return absl::NotFoundError(absl::StrCat("the graph has no function ", Quoted(name), DidYouMean(similar.Take())));
  }
  Entry& entry = it->second;
  if (entry.body == nullptr) {
    absl::StatusOr<FunctionBody> body = ParseFunctionBody(library_->function(entry.index), &budget_);
    if (!body.ok()) return WithContext(absl::StrCat("function ", Quoted(name)), body.status());
    SetSpec(entry.spec.get(), &*body);
    entry.body = std::make_unique<const FunctionBody>(*std::move(body));
  }
  return entry.body.get();
}

void FunctionLibrary::LimitExpansion(int64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  budget_.bytes_left = std::min(budget_.bytes_left, bytes);
}

std::string FunctionLibrary::UniqueName(absl::string_view name) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::string unique(name);
  for (int i = 1; entries_.find(unique) != entries_.end(); ++i) unique = absl::StrCat(name, "_", i);
  return unique;
}

std::string FunctionLibrary::FindGradientLocked(absl::string_view function) const {
  const auto it = gradients_.find(function);
  return it == gradients_.end() ? "" : it->second;
}

std::string FunctionLibrary::FindGradient(absl::string_view function) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return FindGradientLocked(function);
}

absl::Status FunctionLibrary::SetGradient(absl::string_view function,
                                          std::shared_ptr<const FunctionGradient> gradient) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto it = entries_.find(function);
  if (it == entries_.end()) return absl::NotFoundError(absl::StrCat("the graph has no function ", Quoted(function)));
  if (it->second.gradient != nullptr) {
    return absl::AlreadyExistsError(absl::StrCat("function ", Quoted(function), " has a gradient in C++ already"));
  }
  it->second.gradient = std::move(gradient);
  return absl::OkStatus();
}

std::shared_ptr<const FunctionGradient> FunctionLibrary::FindSetGradient(absl::string_view function) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto it = entries_.find(function);
  return it == entries_.end() ? nullptr : it->second.gradient;
}

std::vector<std::string> FunctionLibrary::Names() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::string> names;
  names.reserve(entries_.size());
  for (const auto& [name, entry] : entries_) names.push_back(name);
  return names;
}

bool FunctionLibrary::empty() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return library_->function_size() == 0 && library_->gradient_size() == 0 && library_->registered_gradients_size() == 0;
}

void FunctionLibrary::ToProto(FunctionDefLibrary* library) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  *library = *library_;
}

FunctionLibrary::Mark FunctionLibrary::GetMark() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return {library_->function_size(), library_->gradient_size(), library_->registered_gradients_size(),
          FunctionDefLibrary::GetReflection()->GetUnknownFields(*library_).field_count()};
}

void FunctionLibrary::TakeBack(const Mark& mark) {
  const std::lock_guard<std::mutex> lock(mutex_);
  while (library_->function_size() > mark.functions) {
    entries_.erase(library_->function(library_->function_size() - 1).signature().name());
    library_->mutable_function()->RemoveLast();
  }
  while (library_->gradient_size() > mark.gradients) {
    gradients_.erase(library_->gradient(library_->gradient_size() - 1).function_name());
    library_->mutable_gradient()->RemoveLast();
  }
  while (library_->registered_gradients_size() > mark.registered_gradients) {
    const RegisteredGradient& last = library_->registered_gradients(library_->registered_gradients_size() - 1);
    registered_gradients_.erase({last.registered_op_type(), last.gradient_func()});
    library_->mutable_registered_gradients()->RemoveLast();
  }
  google::protobuf::UnknownFieldSet* unknown =
      FunctionDefLibrary::GetReflection()->MutableUnknownFields(library_.get());
  unknown->DeleteSubrange(mark.unknown_fields, unknown->field_count() - mark.unknown_fields);
}

}  // namespace nabla

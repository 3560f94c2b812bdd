#include "nabla/runtime/resources.h"

#include <cstring>
#include <mutex>

#include "absl/strings/str_cat.h"

namespace nabla {

absl::Status Variable::MakeExclusive() {
  if (!value_.valid() || value_.IsExclusive()) return absl::OkStatus();
  // Clone aborts when memory runs out; asking first turns that into an error.
  absl::StatusOr<Tensor> copy = Tensor::Allocate(value_.dtype(), value_.shape());
  if (!copy.ok()) return copy.status();
  if (IsPod(value_.dtype())) {
    std::memcpy(copy->raw_data(), value_.raw_data(), value_.num_bytes());
    value_ = *std::move(copy);
  } else {
    value_ = value_.Clone();
  }
  return absl::OkStatus();
}

absl::StatusOr<Tensor> Variable::Read(absl::string_view name) {
  std::shared_lock<std::shared_mutex> lock(mutex_);
  if (!value_.valid()) {
    return absl::FailedPreconditionError(
        absl::StrCat("variable '", name, "' is read before it is initialized: run its assignment first"));
  }
  return value_;
}

void Variable::Assign(Tensor value) {
  std::unique_lock<std::shared_mutex> lock(mutex_);
  // The old value dies after the lock is released: freeing it may take a while.
  std::swap(value_, value);
  lock.unlock();
}

std::shared_ptr<Resource> ResourceContainer::LookupOrCreate(absl::string_view container, absl::string_view name,
                                                            absl::FunctionRef<std::shared_ptr<Resource>()> create) {
  std::pair<std::string, std::string> key{std::string(container), std::string(name)};
  {
    std::shared_lock<std::shared_mutex> lock(mutex_);
    auto it = resources_.find(key);
    if (it != resources_.end()) return it->second;
  }
  std::unique_lock<std::shared_mutex> lock(mutex_);
  auto [it, added] = resources_.try_emplace(std::move(key));
  if (added) it->second = create();
  return it->second;
}

std::shared_ptr<Resource> ResourceContainer::Lookup(absl::string_view container, absl::string_view name) const {
  std::shared_lock<std::shared_mutex> lock(mutex_);
  auto it = resources_.find({std::string(container), std::string(name)});
  return it == resources_.end() ? nullptr : it->second;
}

absl::Status ResourceContainer::Remove(absl::string_view container, absl::string_view name) {
  std::shared_ptr<Resource> removed;  // dies after the lock is released
  std::unique_lock<std::shared_mutex> lock(mutex_);
  auto it = resources_.find({std::string(container), std::string(name)});
  if (it == resources_.end()) {
    return absl::NotFoundError(absl::StrCat("no resource '", name, "' in container '", container, "'"));
  }
  removed = std::move(it->second);
  resources_.erase(it);
  lock.unlock();
  return absl::OkStatus();
}

void ResourceContainer::Clear() {
  std::map<std::pair<std::string, std::string>, std::shared_ptr<Resource>> removed;
  std::unique_lock<std::shared_mutex> lock(mutex_);
  removed.swap(resources_);
  lock.unlock();
}

std::vector<std::string> ResourceContainer::Names() const {
  std::shared_lock<std::shared_mutex> lock(mutex_);
  std::vector<std::string> names;
  names.reserve(resources_.size());
  for (const auto& [key, resource] : resources_) {
    names.push_back(key.first.empty() ? key.second : absl::StrCat(key.first, "/", key.second));
  }
  return names;
}

void DestroyInTurn(std::vector<Tensor> tensors) {
  thread_local std::vector<Tensor>* waiting = nullptr;
  if (waiting != nullptr) {
    for (Tensor& tensor : tensors) waiting->push_back(std::move(tensor));
    return;
  }
  waiting = &tensors;
  while (!tensors.empty()) {
    Tensor gone = std::move(tensors.back());
    tensors.pop_back();
    gone = Tensor();  // may make more wait
  }
  waiting = nullptr;
}

absl::StatusOr<Variable*> VariableFromHandle(const Tensor& handle) {
  if (handle.dtype() != DType::kResource || handle.num_elements() < 1) {
    return absl::InvalidArgumentError(absl::StrCat("expected the handle of a variable, got a tensor of type ",
                                                   DTypeName(handle.dtype()), " and shape ",
                                                   handle.shape().ToString()));
  }
  const ResourceHandle& element = handle.data<ResourceHandle>()[0];
  Variable* variable = element.get<Variable>();
  if (variable == nullptr) {
    return absl::InvalidArgumentError(element.resource() == nullptr
                                          ? std::string("expected the handle of a variable, got an empty handle")
                                          : absl::StrCat("resource '", element.name(), "' is a ",
                                                         element.resource()->TypeName(), ", expected a Variable"));
  }
  return variable;
}

}  // namespace nabla

// Named resources of a session: variables now; whatever else holds state between runs later.
#ifndef NABLA_RUNTIME_RESOURCES_H_
#define NABLA_RUNTIME_RESOURCES_H_

#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nabla/graph/tensor.h"

namespace nabla {

// A variable's value. Readers share the tensor; a writer that finds it shared copies first (so a value that was read
// never changes under its reader), and read-modify-write ops hold the mutex throughout, so concurrent updates are
// atomic and none is lost.
class Variable : public Resource {
 public:
  absl::string_view TypeName() const override { return "Variable"; }

  std::shared_mutex& mutex() { return mutex_; }
  // Both under mutex(): shared to read, exclusive to write. Invalid if uninitialised.
  const Tensor& value() const { return value_; }
  Tensor& mutable_value() { return value_; }
  // Under the exclusive lock: makes the value's bytes this variable's own (copies if they are shared).
  absl::Status MakeExclusive();

  // FailedPrecondition naming `name` if uninitialised.
  absl::StatusOr<Tensor> Read(absl::string_view name);
  void Assign(Tensor value);

 private:
  std::shared_mutex mutex_;
  Tensor value_;
};

// Resources by (container, name). Thread-safe.
class ResourceContainer {
 public:
  // The resource of that name, made by `create` if there is none.
  std::shared_ptr<Resource> LookupOrCreate(absl::string_view container, absl::string_view name,
                                           absl::FunctionRef<std::shared_ptr<Resource>()> create);
  std::shared_ptr<Resource> Lookup(absl::string_view container, absl::string_view name) const;  // nullptr if absent
  // NotFound if absent. Handles that exist keep the object alive.
  absl::Status Remove(absl::string_view container, absl::string_view name);
  void Clear();
  std::vector<std::string> Names() const;

 private:
  mutable std::shared_mutex mutex_;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<Resource>> resources_;
};

// Destroys tensors that may hold resources that hold tensors …, without recursing: what dies meanwhile and is given to
// this, too, waits until the outermost call comes to it. For the destructors of such resources.
void DestroyInTurn(std::vector<Tensor> tensors);

// The variable that element 0 of a DT_RESOURCE tensor refers to. InvalidArgument if it is not a variable.
absl::StatusOr<Variable*> VariableFromHandle(const Tensor& handle);

}  // namespace nabla

#endif  // NABLA_RUNTIME_RESOURCES_H_

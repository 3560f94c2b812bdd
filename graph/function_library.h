// The functions of a graph, as the messages that a file holds; in the form that calls need once they are called.
#ifndef NABLA_GRAPH_FUNCTION_LIBRARY_H_
#define NABLA_GRAPH_FUNCTION_LIBRARY_H_

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nabla/graph/node_record.h"
#include "nabla/graph/op_spec.h"

namespace nabla {

class FunctionDef;
class FunctionDefLibrary;
struct FunctionBody;      // graph/function_body.h
class FunctionShapeMemo;  // graph/function_shapes.h

// A gradient that a program has given to a function; what it is, gradients/custom_gradient.h knows.
class FunctionGradient {
 public:
  virtual ~FunctionGradient() = default;
};

// Functions are added, never changed or removed, so what is found stays as long as the library. Several graphs may
// share one (the body of a function that is being built, the private graph of a plan). Thread-safe.
class FunctionLibrary {
 public:
  FunctionLibrary();
  ~FunctionLibrary();

  // AlreadyExists if the name is taken by a different function; the same one again is fine.
  absl::Status Add(const FunctionDef& function);
  // Adds all, or none. Gradient entries (function -> its gradient function) must name known functions.
  absl::Status AddLibrary(const FunctionDefLibrary& library);
  absl::Status AddLibrary(FunctionDefLibrary&& library);
  // What AddLibrary would return.
  absl::Status Check(const FunctionDefLibrary& library) const;

  const FunctionDef* Find(absl::string_view name) const;  // nullptr if absent
  // The spec of a node that calls the function by its name; nullptr if there is no such function.
  const OpSpec* FindSpec(absl::string_view name) const;
  // Made when it is first asked for. NotFound if absent; InvalidArgument for a body in which the inputs do not lead to
  // nodes or form a cycle. Errors name the function.
  absl::StatusOr<const FunctionBody*> Body(absl::string_view name) const;
  // A few bytes can describe a constant of any size. This is what such constants of all bodies may take together (1 GiB
  // unless told otherwise); a call only lowers it.
  void LimitExpansion(int64_t bytes);
  FunctionShapeMemo& shape_memo() const { return *shape_memo_; }
  // `name`, or the first of name_1, name_2, … that no function has.
  std::string UniqueName(absl::string_view name) const;

  // The gradient function's name, or "".
  std::string FindGradient(absl::string_view function) const;
  // A gradient in C++, which no file holds. AlreadyExists if the function has one; NotFound if there is no function.
  absl::Status SetGradient(absl::string_view function, std::shared_ptr<const FunctionGradient> gradient);
  // nullptr if there is none.
  std::shared_ptr<const FunctionGradient> FindSetGradient(absl::string_view function) const;

  std::vector<std::string> Names() const;  // sorted
  bool empty() const;
  void ToProto(FunctionDefLibrary* library) const;

  // For an import that fails: back to what there was at `mark`.
  struct Mark {
    int functions;
    int gradients;
    int registered_gradients;
    int unknown_fields;
  };
  Mark GetMark() const;
  void TakeBack(const Mark& mark);

 private:
  struct Entry {
    int index;  // in library_
    std::unique_ptr<const OpSpec> spec;
    std::unique_ptr<const FunctionBody> body;
    std::shared_ptr<const FunctionGradient> gradient;
  };

  const FunctionDef* FindLocked(absl::string_view name) const;
  std::string FindGradientLocked(absl::string_view function) const;
  absl::Status CheckLocked(const FunctionDefLibrary& library) const;

  mutable std::mutex mutex_;
  const std::unique_ptr<FunctionShapeMemo> shape_memo_;
  std::unique_ptr<FunctionDefLibrary> library_;
  mutable std::map<std::string, Entry, std::less<>> entries_;
  mutable ExpansionBudget budget_;
  std::map<std::string, std::string, std::less<>> gradients_;           // function -> its gradient function
  std::set<std::pair<std::string, std::string>> registered_gradients_;  // (op type, gradient function)
};

}  // namespace nabla

#endif  // NABLA_GRAPH_FUNCTION_LIBRARY_H_

// The functions of a graph. They are kept as messages, and checked for their signatures, until they are called.
#ifndef NABLA_GRAPH_FUNCTION_LIBRARY_H_
#define NABLA_GRAPH_FUNCTION_LIBRARY_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace nabla {

class FunctionDef;
class FunctionDefLibrary;

// Thread safety: as its Graph's, under the Graph's lock.
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
  // The gradient function's name, or "".
  std::string FindGradient(absl::string_view function) const;
  std::vector<std::string> Names() const;  // sorted
  bool empty() const;
  void ToProto(FunctionDefLibrary* library) const;

 private:
  std::unique_ptr<FunctionDefLibrary> library_;
  std::map<std::string, int> index_;                                    // function -> index in library_
  std::map<std::string, std::string> gradients_;                        // function -> its gradient function
  std::set<std::pair<std::string, std::string>> registered_gradients_;  // (op type, gradient function)
};

}  // namespace nabla

#endif  // NABLA_GRAPH_FUNCTION_LIBRARY_H_

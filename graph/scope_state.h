// What a Scope is made of: for scope.cc and node_builder.cc.
#ifndef NABLA_GRAPH_SCOPE_STATE_H_
#define NABLA_GRAPH_SCOPE_STATE_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "nabla/graph/capture.h"
#include "nabla/graph/scope.h"

namespace nabla {

// Where a family of scopes keeps its first error. Thread-safe.
class ScopeErrors {
 public:
  // Errors go to graph->RecordError if `graph` is not null.
  explicit ScopeErrors(Graph* graph) : graph_(graph) {}
  void Record(const absl::Status& status);
  absl::Status Get() const;

 private:
  Graph* graph_;
  mutable std::mutex mutex_;
  absl::Status status_;
};

struct Scope::State {
  State(Graph* graph, std::shared_ptr<ScopeErrors> errors) : graph(graph), errors(std::move(errors)) {}
  State(const State& other)
      : graph(other.graph),
        errors(other.errors),
        prefix(other.prefix),
        chosen_name(other.chosen_name),
        chosen_name_used(other.chosen_name_used.load(std::memory_order_relaxed)),
        control(other.control),
        device(other.device),
        attrs(other.attrs),
        captures(other.captures) {}

  // The chosen name, the first time that it is asked for, else `op`.
  const std::string& TakeName(const std::string& op) const {
    if (chosen_name.empty() || chosen_name_used.exchange(true, std::memory_order_relaxed)) return op;
    return chosen_name;
  }

  Graph* graph;
  std::shared_ptr<ScopeErrors> errors;
  std::string prefix;       // without a '/' at its end
  std::string chosen_name;  // by Named; "" if none
  mutable std::atomic<bool> chosen_name_used{false};
  std::vector<Node*> control;  // each once
  std::string device;
  AttrMap attrs;                                   // _class among them
  std::vector<std::shared_ptr<Capture>> captures;  // the outermost body's first
};

}  // namespace nabla

#endif  // NABLA_GRAPH_SCOPE_STATE_H_

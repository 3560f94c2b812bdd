// Forward rules: from the tangents of an op's inputs to those of its outputs. Only ops for which that is leaner than
// transposing their gradient rule have one.
//
//   Outputs MatMulForward(ForwardContext& c);  // MatMul(ta, b) + MatMul(a, tb)
#ifndef NABLA_GRADIENTS_FORWARD_RULE_H_
#define NABLA_GRADIENTS_FORWARD_RULE_H_

#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "nabla/graph/graph.h"
#include "nabla/graph/scope.h"

namespace nabla {

class ForwardContext {
 public:
  ForwardContext(const Scope& scope, Node* op, Outputs tangents)
      : scope_(scope), op_(op), tangents_(std::move(tangents)) {}

  const Scope& scope() const { return scope_; }
  Node* op() const { return op_; }
  int num_inputs() const { return op_->num_inputs(); }
  Output input(int i) const { return op_->input(i); }
  Output output(int i) const { return op_->output(i); }
  template <typename T>
  const T& attr(absl::string_view name) const {
    return op_->GetAttr<T>(name);
  }
  // None if input i does not change.
  Output tangent(int i) const { return tangents_[i]; }
  // Zeros instead of none.
  Output TangentOrZeros(int i) const;
  // All outputs of an op like this one with other inputs.
  Outputs Copy(const Outputs& inputs) const;
  Outputs Inputs() const;

 private:
  const Scope& scope_;
  Node* op_;
  Outputs tangents_;
};

// One tangent per output, none where it does not change; all none, or empty, if nothing does. Called if at least one
// input has a tangent.
using ForwardRule = Outputs (*)(ForwardContext& c);

// Rules by op. Filled once by RegisterAllGradients(), read from any thread afterwards.
class ForwardRegistry {
 public:
  struct Entry {
    ForwardRule rule = nullptr;
    bool real_only = false;  // not for complex inputs
  };
  static ForwardRegistry& Global();
  void Add(std::initializer_list<absl::string_view> ops, ForwardRule rule) {
    for (absl::string_view op : ops) entries_[op] = {rule, false};
  }
  void AddReal(std::initializer_list<absl::string_view> ops, ForwardRule rule) {
    for (absl::string_view op : ops) entries_[op] = {rule, true};
  }
  const Entry* Find(absl::string_view op) const {  // nullptr if there is none
    const auto it = entries_.find(op);
    return it == entries_.end() ? nullptr : &it->second;
  }

 private:
  absl::flat_hash_map<std::string, Entry> entries_;
};

void RegisterAllForward(ForwardRegistry& registry);

}  // namespace nabla

#endif  // NABLA_GRADIENTS_FORWARD_RULE_H_

// Loops and conditionals node by node, as a file may have them, for tests of what runs them.
//
//   Loop loop(scope, "count", {i, x});
//   loop.Condition(ops::Less(scope, loop.test(0), loop.Invariant(n)));
//   loop.Close({loop.body(0) + 1, loop.body(1) * 2.0f});
//   … loop.exit(1) …
#ifndef NABLA_TESTS_RUNTIME_FRAMES_PRIMITIVES_H_
#define NABLA_TESTS_RUNTIME_FRAMES_PRIMITIVES_H_

#include <functional>
#include <string>
#include <vector>

#include "nabla/graph/scope.h"
#include "nabla/ops/ops.h"

namespace nabla::testing {

// A Merge of an Enter and a back edge that is still open. Aborts on errors, as all of these do.
Node* OpenMerge(const Scope& scope, Output enter);

class Loop {
 public:
  Loop(const Scope& scope, const std::string& frame, const Outputs& initial, int64_t parallel_iterations = 10);

  // Where nodes of the loop go: the control dependencies of the scope around it belong to another frame.
  const Scope& scope() const { return inside_; }
  Output Invariant(Output value);
  Output test(int i) { return merges_[i]->output(0); }
  void Condition(Output predicate);
  // After Condition: the variable in the body.
  Output body(int i) { return switches_[i].output_true; }
  // A constant in the body.
  Output Constant(Tensor value);
  void Close(const Outputs& next);
  Output exit(int i) { return exits_[i]; }
  Node* merge(int i) { return merges_[i]; }
  Node* loop_cond() { return cond_.node(); }

 private:
  const Scope scope_;
  const Scope inside_;
  const std::string frame_;
  const int64_t parallel_iterations_;
  std::vector<Node*> merges_;
  Output cond_;
  std::vector<ops::SwitchOutputs> switches_;
  Outputs exits_;
};

// Merge of what the branches make of the values, each passed through a Switch.
using Branch = std::function<Output(const Scope& scope, const Outputs& values)>;
ops::MergeOutputs Conditional(const Scope& scope, Output predicate, const Outputs& values, const Branch& if_true,
                              const Branch& if_false);

// i = 0; while (i < n) { ++i; x *= a }: returns i and x.
Outputs PowerLoop(const Scope& scope, const std::string& frame, Output n, Output x, Output a,
                  int64_t parallel_iterations = 10);

}  // namespace nabla::testing

#endif  // NABLA_TESTS_RUNTIME_FRAMES_PRIMITIVES_H_

#include "nabla/tests/runtime/frames/primitives.h"

#include <utility>

#include "nabla/graph/check.h"

namespace nabla::testing {

Node* OpenMerge(const Scope& scope, Output enter) {
  NodeDesc desc;
  desc.name = scope.graph()->UniqueName("Merge");
  desc.op = "Merge";
  desc.inputs = {enter, Output()};
  desc.attrs.Set("T", enter.dtype());
  desc.attrs.Set("N", int64_t{2});
  absl::StatusOr<Node*> merge = scope.graph()->AddNode(std::move(desc));
  NABLA_CHECK(merge.ok());
  return *merge;
}

Loop::Loop(const Scope& scope, const std::string& frame, const Outputs& initial, int64_t parallel_iterations)
    : scope_(scope), inside_(scope.WithoutControl()), frame_(frame), parallel_iterations_(parallel_iterations) {
  for (const Output& value : initial) {
    merges_.push_back(
        OpenMerge(inside_, ops::Enter(scope, value, frame, {.parallel_iterations = parallel_iterations})));
  }
}

Output Loop::Invariant(Output value) {
  return ops::Enter(scope_, value, frame_, {.is_constant = true, .parallel_iterations = parallel_iterations_});
}

void Loop::Condition(Output predicate) {
  cond_ = ops::LoopCond(inside_, predicate);
  for (Node* merge : merges_) switches_.push_back(ops::Switch(inside_, merge->output(0), cond_));
}

Output Loop::Constant(Tensor value) {
  return ops::Const(inside_.WithControl({ops::Identity(inside_, body(0)).node()}), std::move(value));
}

void Loop::Close(const Outputs& next) {
  for (size_t i = 0; i < merges_.size(); ++i) {
    const Output back = ops::NextIteration(inside_, next[i]);
    NABLA_CHECK(scope_.graph()->SetBackEdge(merges_[i], 1, back).ok());
    exits_.push_back(ops::Exit(inside_, switches_[i].output_false));
  }
  NABLA_CHECK(scope_.ok());
}

ops::MergeOutputs Conditional(const Scope& scope, Output predicate, const Outputs& values, const Branch& if_true,
                              const Branch& if_false) {
  Outputs of_true, of_false;
  for (const Output& value : values) {
    const ops::SwitchOutputs branches = ops::Switch(scope, value, predicate);
    of_true.push_back(branches.output_true);
    of_false.push_back(branches.output_false);
  }
  const ops::SwitchOutputs pivots = ops::Switch(scope, predicate, predicate);
  const auto branch = [&](Output pivot, const Branch& make, const Outputs& inputs) {
    return make(scope.WithControl({ops::Identity(scope, pivot).node()}), inputs);
  };
  const Output a = branch(pivots.output_true, if_true, of_true);
  const Output b = branch(pivots.output_false, if_false, of_false);
  return ops::Merge(scope, {a, b});
}

Outputs PowerLoop(const Scope& scope, const std::string& frame, Output n, Output x, Output a,
                  int64_t parallel_iterations) {
  Loop loop(scope, frame, {ops::Const(scope, 0), x}, parallel_iterations);
  loop.Condition(ops::Less(loop.scope(), loop.test(0), loop.Invariant(n)));
  const Output one = loop.Constant(Tensor::Scalar<int32_t>(1));
  loop.Close({ops::Add(loop.scope(), loop.body(0), one), ops::Mul(loop.scope(), loop.body(1), loop.Invariant(a))});
  return {loop.exit(0), loop.exit(1)};
}

}  // namespace nabla::testing

// What the passes' tests share: a graph to write down and a compilation of it.
#ifndef NABLA_TESTS_GRAPH_PASSES_PASS_FIXTURE_H_
#define NABLA_TESTS_GRAPH_PASSES_PASS_FIXTURE_H_

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nabla/graph/graph.h"
#include "nabla/graph/passes/compilation.h"
#include "nabla/graph/passes/pipeline.h"
#include "nabla/graph/scope.h"
#include "nabla/tests/runtime/test_ops.h"

namespace nabla {

class PassTest : public ::testing::Test {
 protected:
  PassTest() : scope_(&graph_) {
    testing::RegisterTestOps();
    compilation_.graph = &graph_;
  }
  // Runs the pass and checks that it left a sound graph.
  void Apply(absl::Status (*pass)(Compilation& compilation)) {
    const absl::Status status = pass(compilation_);
    ASSERT_TRUE(status.ok()) << status;
    const absl::Status sound = VerifyCompilation(compilation_);
    ASSERT_TRUE(sound.ok()) << sound;
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const Node* node : graph_.TopologicalOrder()) names.push_back(node->name());
    return names;
  }
  static std::vector<std::string> ControlNames(const Node* node) {
    std::vector<std::string> names;
    for (const Node* control : node->control_inputs()) names.push_back(control->name());
    return names;
  }
  Output Placeholder(const std::string& name, const Shape& shape) { return testing::Placeholder(scope_, name, shape); }
  // `name` becomes the node's name.
  Output Call(const std::string& name, const std::string& op, const Outputs& inputs, AttrMap attrs = {}) {
    return testing::Call(scope_.Named(name), op, inputs, std::move(attrs));
  }
  Output Constant(const std::string& name, Tensor value) {
    return testing::Constant(scope_.Named(name), std::move(value));
  }

  Graph graph_;
  Scope scope_;
  Compilation compilation_;
};

}  // namespace nabla

#endif  // NABLA_TESTS_GRAPH_PASSES_PASS_FIXTURE_H_

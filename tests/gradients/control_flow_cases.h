// Loops and conditionals to differentiate: one scalar function each, built from the values that it depends on.
#ifndef NABLA_TESTS_GRADIENTS_CONTROL_FLOW_CASES_H_
#define NABLA_TESTS_GRADIENTS_CONTROL_FLOW_CASES_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "nabla/graph/scope.h"

namespace nabla {

struct ControlFlowCase {
  std::string name;
  // Where the derivatives are taken; x is one vector of doubles for each.
  std::vector<std::vector<double>> at;
  // y, a scalar double. Loops are built with `parallel_iterations`.
  std::function<Output(const Scope& scope, const Outputs& x, int64_t parallel_iterations)> build;
};

std::vector<ControlFlowCase> LoopCases();
std::vector<ControlFlowCase> ConditionalCases();
std::vector<ControlFlowCase> MixedCases();

}  // namespace nabla

#endif  // NABLA_TESTS_GRADIENTS_CONTROL_FLOW_CASES_H_

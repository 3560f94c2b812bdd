// What is checked of every row.
#ifndef NABLA_TESTS_CASES_CHECKS_H_
#define NABLA_TESTS_CASES_CHECKS_H_

#include <vector>

#include "nabla/tests/cases/op_case.h"

namespace nabla {

struct Check {
  const char* name;
  bool (*applies)(const OpCase& row);
  void (*run)(const OpCase& row);  // reports by GoogleTest's expectations
};

const std::vector<Check>& AllChecks();

// RegisterAllOps, RegisterAllKernels, RegisterAllGradients.
void RegisterEverything();

}  // namespace nabla

#endif  // NABLA_TESTS_CASES_CHECKS_H_

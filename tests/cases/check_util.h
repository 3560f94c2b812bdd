// What the checks are made of.
#ifndef NABLA_TESTS_CASES_CHECK_UTIL_H_
#define NABLA_TESTS_CASES_CHECK_UTIL_H_

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nabla/tests/cases/op_case.h"

#define NABLA_JOIN_(a, b) a##b
#define NABLA_JOIN(a, b) NABLA_JOIN_(a, b)
#define ASSERT_OK_AND_ASSIGN(declaration, ...)                                                     \
  auto NABLA_JOIN(status_or_, __LINE__) = (__VA_ARGS__);                                           \
  ASSERT_TRUE(NABLA_JOIN(status_or_, __LINE__).ok()) << NABLA_JOIN(status_or_, __LINE__).status(); \
  declaration = *std::move(NABLA_JOIN(status_or_, __LINE__))

namespace nabla {

// Floating or complex.
bool IsContinuous(DType dtype);
// Whether the row's op has a gradient rule.
bool HasRule(const OpCase& row);

// Each to within the tolerance, relative to what is wanted or, if that is less than 1, absolute. NaN is NaN.
void ExpectClose(const std::vector<double>& got, const std::vector<double>& want, double tolerance,
                 const std::string& what);

// ---- the checks of transforms, in transform_checks.cc ----

// Row by row, or all at once; with known and unknown shapes.
void JacobiansMatchEachOther(const OpCase& row);
// Forward mode is the Jacobian times a tangent.
void JvpMatchesJacobian(const OpCase& row);
// Whether the row's op has a batching rule, or should have: if it is differentiable.
bool CanBeBatched(const OpCase& row);
// A batch of inputs gives the results of its examples.
void BatchMatchesExamples(const OpCase& row);

}  // namespace nabla

#endif  // NABLA_TESTS_CASES_CHECK_UTIL_H_

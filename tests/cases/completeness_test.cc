// Every registered op has all that belongs to one: a shape rule, a kernel, a row of cases or a test of its own, and a
// gradient or the word that it has none.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "nabla/gradients/rule.h"
#include "nabla/graph/op_spec.h"
#include "nabla/runtime/kernel.h"
#include "nabla/tests/cases/checks.h"

namespace nabla {
namespace {

// The executor itself runs these, or they stand for what is fed.
const std::map<std::string, const char*>& WithoutKernel() {
  static const auto* const ops = new std::map<std::string, const char*>{
      {"RefEnter", "references occur in old files, which are imported and shown only"},
      {"RefExit", "as RefEnter"},
      {"RefMerge", "as RefEnter"},
      {"RefNextIteration", "as RefEnter"},
      {"RefSwitch", "as RefEnter"},
  };
  return *ops;
}

// Ops that a row cannot describe, with the test that has them.
const std::map<std::string, const char*>& TestedElsewhere() {
  static const auto* const ops = new std::map<std::string, const char*>{};
  return *ops;
}

const std::map<std::string, const char*>& WithoutGradientYet() {
  static const auto* const ops = new std::map<std::string, const char*>{};
  return *ops;
}

class CompletenessTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { RegisterEverything(); }
};

TEST_F(CompletenessTest, EveryOpHasAShapeRule) {
  for (const OpSpec* op : OpRegistry::Global().All()) EXPECT_NE(op->shape_fn(), nullptr) << op->name();
}

TEST_F(CompletenessTest, EveryOpHasAKernel) {
  for (const OpSpec* op : OpRegistry::Global().All()) {
    EXPECT_NE(KernelRegistry::Global().Has(op->name()), WithoutKernel().count(op->name()) > 0) << op->name();
  }
}

TEST_F(CompletenessTest, EveryOpHasCases) {
  std::set<std::string> with_rows;
  for (const OpCase& row : AllCases()) with_rows.insert(row.op);
  for (const OpSpec* op : OpRegistry::Global().All()) {
    EXPECT_NE(with_rows.count(op->name()) > 0, TestedElsewhere().count(op->name()) > 0) << op->name();
  }
}

TEST_F(CompletenessTest, EveryOpHasAGradientOrSaysThatItHasNone) {
  for (const OpSpec* op : OpRegistry::Global().All()) {
    EXPECT_NE(GradientRegistry::Global().Find(op->name()) != nullptr, WithoutGradientYet().count(op->name()) > 0)
        << op->name();
  }
}

}  // namespace
}  // namespace nabla

// Every check of every row is a test of its own: OpCases/OpCaseTest.Passes/Tanh_Gradient.
#include <gtest/gtest.h>

#include <set>

#include "absl/strings/str_cat.h"
#include "nabla/tests/cases/checks.h"

namespace nabla {
namespace {

struct RowCheck {
  const OpCase* row;
  const Check* check;
};

void PrintTo(const RowCheck& test, std::ostream* out) { *out << test.row->Name() << " " << test.check->name; }

std::vector<RowCheck> AllRowChecks() {
  RegisterEverything();
  std::vector<RowCheck> tests;
  for (const OpCase& row : AllCases()) {
    for (const Check& check : AllChecks()) {
      if (check.applies(row)) tests.push_back({&row, &check});
    }
  }
  return tests;
}

class OpCaseTest : public ::testing::TestWithParam<RowCheck> {};

TEST_P(OpCaseTest, Passes) { GetParam().check->run(*GetParam().row); }

INSTANTIATE_TEST_SUITE_P(OpCases, OpCaseTest, ::testing::ValuesIn(AllRowChecks()), [](const auto& info) {
  return absl::StrCat(info.param.row->Name(), "_", info.param.check->name);
});

TEST(OpCaseNames, AreUnique) {
  std::set<std::string> names;
  for (const OpCase& row : AllCases()) EXPECT_TRUE(names.insert(row.Name()).second) << row.Name();
}

}  // namespace
}  // namespace nabla

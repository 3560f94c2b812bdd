#include "nabla/tests/cases/check_util.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "nabla/gradients/rule.h"
#include "nabla/graph/status_macros.h"

namespace nabla {

bool IsContinuous(DType dtype) { return IsFloating(dtype) || IsComplex(dtype); }

bool HasRule(const OpCase& row) {
  if (row.spec.build != nullptr) return true;
  const GradientRegistry::Entry* const entry = GradientRegistry::Global().Find(row.op);
  return entry != nullptr && entry->rule != nullptr;
}

void ExpectClose(const std::vector<double>& got, const std::vector<double>& want, double tolerance,
                 const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  int shown = 0;
  for (size_t i = 0; i < got.size() && shown < 5; ++i) {
    if (std::isnan(got[i]) && std::isnan(want[i])) continue;
    if (got[i] == want[i]) continue;
    if (std::abs(got[i] - want[i]) <= tolerance * std::max(1.0, std::abs(want[i]))) continue;
    ++shown;
    ADD_FAILURE() << what << ", element " << i << ": got " << got[i] << ", want " << want[i];
  }
}

}  // namespace nabla

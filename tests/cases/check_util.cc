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

bool ChecksGradient(const OpCase& row) {
  const DType dtype = row.spec.dtype;
  const bool generic = std::any_of(row.spec.inputs.begin(), row.spec.inputs.end(), [](const CaseInput& input) {
    return !input.constant && (input.dtype == DType::kInvalid || IsContinuous(input.dtype));
  });
  return row.spec.gradient && HasRule(row) && generic && (dtype == DType::kDouble || dtype == DType::kComplex128);
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

absl::StatusOr<std::vector<Tensor>> Run(BuiltCase& built, const Outputs& fetches, SessionOptions options) {
  Session session(built.graph.get(), std::move(options));
  std::vector<Tensor> results;
  NABLA_RETURN_IF_ERROR(session.Run(built.feeds(), fetches, {built.node}, &results));
  return results;
}

}  // namespace nabla

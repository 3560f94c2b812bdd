#include "nabla/ops/cond.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "nabla/ops/branch_capture.h"
#include "nabla/ops/ops.h"

namespace nabla {
namespace ops {
namespace {

// The branch's results, each made in it.
Outputs BuildBranch(const Scope& scope, Output predicate, bool side, const BranchBuilder& build) {
  const Scope branch = scope.WithoutControl().WithCapture(std::make_shared<BranchCapture>(scope, predicate, side));
  ScopeGuard guard(branch);
  Outputs results = build(branch);
  for (Output& result : results) result = Identity(branch, result);
  return results;
}

absl::Status CheckPredicate(Output predicate) {
  if (predicate.dtype() == DType::kBool && predicate.shape().IsCompatibleWith(Shape::Scalar())) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("Cond: the predicate '", predicate.name(), "' is ",
                                                 DTypeName(predicate.dtype()), predicate.shape().ToString(),
                                                 ", expected a scalar bool"));
}

absl::Status CheckResults(const Outputs& then, const Outputs& otherwise) {
  if (then.size() != otherwise.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Cond: one branch gives ", then.size(), " results, the other ", otherwise.size()));
  }
  for (size_t i = 0; i < then.size(); ++i) {
    if (!then[i] || !otherwise[i] || then[i].dtype() == otherwise[i].dtype()) continue;
    return absl::InvalidArgumentError(absl::StrCat("Cond: result ", i, " is ", DTypeName(then[i].dtype()),
                                                   " in one branch and ", DTypeName(otherwise[i].dtype()),
                                                   " in the other"));
  }
  return absl::OkStatus();
}

Outputs CaseFrom(const Scope& scope, Output index, const std::vector<BranchBuilder>& branches, size_t first) {
  const Output here = Equal(scope, index, Const(scope, Tensor::Scalar<int32_t>(static_cast<int32_t>(first))));
  return Cond(
      scope, here, branches[first], first + 2 == branches.size() ? branches.back() : [&](const Scope& s) {
        return CaseFrom(s, index, branches, first + 1);
      });
}

}  // namespace

Outputs Cond(const Scope& scope, Output predicate, const BranchBuilder& then, const BranchBuilder& otherwise,
             const std::string& name) {
  if (!predicate) return {};
  const absl::Status status = CheckPredicate(predicate);
  if (!status.ok()) {
    scope.RecordError(status);
    return {};
  }
  const Scope inside = scope.Sub(name);
  const Outputs if_true = BuildBranch(inside, predicate, true, then);
  const Outputs if_false = BuildBranch(inside, predicate, false, otherwise);
  scope.RecordError(CheckResults(if_true, if_false));
  Outputs results(if_true.size());
  if (!scope.ok()) return results;
  for (size_t i = 0; i < results.size(); ++i) results[i] = Merge(inside, {if_false[i], if_true[i]}).output;
  return results;
}

Outputs Case(const Scope& scope, Output index, const std::vector<BranchBuilder>& branches, const std::string& name) {
  if (!index) return {};
  if (branches.empty()) {
    scope.RecordError(absl::InvalidArgumentError("Case: there are no branches"));
    return {};
  }
  const Scope inside = scope.Sub(name);
  if (branches.size() > 1) return CaseFrom(inside, index, branches, 0);
  ScopeGuard guard(inside);
  return branches[0](inside);
}

}  // namespace ops
}  // namespace nabla

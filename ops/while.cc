#include "nabla/ops/while.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "nabla/ops/loop_builder.h"
#include "nabla/ops/ops.h"

namespace nabla {
namespace ops {
namespace {

// Whether all tensors of `shape` are of `general` too.
bool IsAtLeast(const nabla::Shape& shape, const nabla::Shape& general) {
  const absl::StatusOr<nabla::Shape> merged = shape.MergeWith(general);
  return merged.ok() && *merged == shape;
}

// A trip count as a scalar int32 tensor.
Output TripLimit(const Scope& scope, const Input& trips) {
  if (!trips.is_constant()) return trips.output();
  const Tensor& value = trips.value();
  if (value.dtype() != DType::kInt64 || !value.shape().IsScalar()) return Const(scope, value);
  const int64_t limit = std::min<int64_t>(std::max<int64_t>(value.scalar<int64_t>(), 0), INT32_MAX);
  return Const(scope, Tensor::Scalar<int32_t>(static_cast<int32_t>(limit)));
}

absl::Status CheckArguments(const Outputs& init, const WhileOptions& options) {
  if (init.empty()) return absl::InvalidArgumentError("While: there are no loop variables");
  if (!options.shape_invariants.empty() && options.shape_invariants.size() != init.size()) {
    return absl::InvalidArgumentError(absl::StrCat("While: ", options.shape_invariants.size(), " shape_invariants for ",
                                                   init.size(), " loop variables"));
  }
  for (size_t i = 0; i < options.shape_invariants.size(); ++i) {
    const nabla::Shape& invariant = options.shape_invariants[i];
    if (IsAtLeast(init[i].shape(), invariant)) continue;
    return absl::InvalidArgumentError(absl::StrCat("While: loop variable ", i, " ('", init[i].name(), "') has shape ",
                                                   init[i].shape().ToString(), ", which is not of its invariant ",
                                                   invariant.ToString()));
  }
  return absl::OkStatus();
}

absl::Status CheckCondition(Output condition) {
  if (condition.dtype() == DType::kBool && condition.shape().IsCompatibleWith(nabla::Shape::Scalar()))
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("While: the condition '", condition.name(), "' is ",
                                                 DTypeName(condition.dtype()), condition.shape().ToString(),
                                                 ", expected a scalar bool"));
}

absl::Status CheckNext(size_t i, Output next, Output variable) {
  if (next.dtype() != variable.dtype()) {
    return absl::InvalidArgumentError(absl::StrCat("While: the body gives ", DTypeName(next.dtype()), " ('",
                                                   next.name(), "') for loop variable ", i, ", expected ",
                                                   DTypeName(variable.dtype())));
  }
  if (IsAtLeast(next.shape(), variable.shape())) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("While: the body gives shape ", next.shape().ToString(), " ('",
                                                 next.name(), "') for loop variable ", i, ", which has ",
                                                 variable.shape().ToString(), "; say so in shape_invariants"));
}

}  // namespace

Outputs While(const Scope& scope, const Outputs& init, const LoopCondition& condition, const LoopBody& body,
              const WhileOptions& options) {
  Outputs results(init.size());
  if (std::any_of(init.begin(), init.end(), [](Output value) { return !value; })) return results;
  const absl::Status status = CheckArguments(init, options);
  if (!status.ok()) {
    scope.RecordError(status);
    return results;
  }
  LoopBuilder loop(scope, options.name, options.parallel_iterations);
  Outputs entering, inside;
  for (size_t i = 0; i < init.size(); ++i) {
    loop.AddVariable(init[i], options.shape_invariants.empty() ? init[i].shape() : options.shape_invariants[i]);
    entering.push_back(loop.Entering(static_cast<int>(i)));
  }
  int trips = -1;
  if (options.maximum_iterations >= 0) trips = loop.AddVariable(Const(scope, int64_t{0}), nabla::Shape::Scalar());
  {
    ScopeGuard guard(loop.condition());
    Output go_on = condition(loop.condition(), entering);
    if (!go_on) return results;
    scope.RecordError(CheckCondition(go_on));
    if (trips >= 0) {
      go_on =
          LogicalAnd(loop.condition(), Less(loop.condition(), loop.Entering(trips), options.maximum_iterations), go_on);
    }
    loop.SetCondition(go_on);
  }
  for (size_t i = 0; i < init.size(); ++i) inside.push_back(loop.Inside(static_cast<int>(i)));
  {
    ScopeGuard guard(loop.body());
    const Outputs next = body(loop.body(), inside);
    if (next.size() != init.size()) {
      scope.RecordError(absl::InvalidArgumentError(
          absl::StrCat("While: the body gives ", next.size(), " values for ", init.size(), " loop variables")));
      return results;
    }
    for (size_t i = 0; i < next.size(); ++i) {
      if (!next[i] || !scope.ok()) return results;
      scope.RecordError(CheckNext(i, next[i], entering[i]));
      loop.SetNext(static_cast<int>(i), next[i]);
    }
    if (trips >= 0) loop.SetNext(trips, AddV2(loop.body(), loop.Inside(trips), 1));
  }
  if (!scope.ok()) return results;
  for (size_t i = 0; i < init.size(); ++i) {
    results[i] = loop.Exit(static_cast<int>(i));
    if (!options.back_prop) results[i] = StopGradient(scope, results[i]);
  }
  return results;
}

Outputs For(const Scope& scope, const Input& trips, const Outputs& init, const ForBody& body,
            const WhileOptions& options) {
  const Output limit = TripLimit(scope, trips);
  Outputs variables = {Const(scope, Tensor::Scalar<int32_t>(0))};
  variables.insert(variables.end(), init.begin(), init.end());
  WhileOptions with_trip = options;
  if (!options.shape_invariants.empty()) {
    with_trip.shape_invariants.insert(with_trip.shape_invariants.begin(), nabla::Shape::Scalar());
  }
  const auto rest = [](const Outputs& all) { return Outputs(all.begin() + 1, all.end()); };
  return rest(While(
      scope, variables, [&](const Scope& s, const Outputs& v) { return Less(s, v[0], limit); },
      [&](const Scope& s, const Outputs& v) {
        Outputs next = body(s, v[0], rest(v));
        next.insert(next.begin(), AddV2(s, v[0], 1));
        return next;
      },
      with_trip));
}

}  // namespace ops
}  // namespace nabla

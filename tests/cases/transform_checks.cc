// Checks of what is built on gradient rules: Jacobians, forward mode, batching.
#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "nabla/gradients/batching.h"
#include "nabla/gradients/jacobian.h"
#include "nabla/gradients/jvp.h"
#include "nabla/gradients/rule.h"
#include "nabla/graph/status_macros.h"
#include "nabla/tests/cases/check_util.h"

namespace nabla {
namespace {

constexpr double kTolerance = 1e-9;

Outputs DifferentiableInputs(const BuiltCase& built) {
  Outputs xs;
  for (int i : built.differentiable) xs.push_back(built.inputs[i]);
  return xs;
}

Output Constant(const Scope& scope, const Tensor& value) {
  return NodeBuilder(scope, "Const").Attr("value", value).Attr("dtype", value.dtype()).FinishOutput();
}

// The Jacobians of output k by all differentiable inputs; invalid tensors where there is none.
absl::StatusOr<std::vector<Tensor>> Jacobians(BuiltCase& built, int k, bool vectorize) {
  JacobianReport report;
  NABLA_ASSIGN_OR_RETURN(const Outputs jacobians, Jacobian(built.scope, built.outputs[k], DifferentiableInputs(built),
                                                           {.vectorize = vectorize, .report = &report}));
  if (vectorize && !report.vectorized) return absl::InternalError(report.why_not);
  std::vector<Tensor> values(jacobians.size());
  for (size_t i = 0; i < jacobians.size(); ++i) {
    if (!jacobians[i]) continue;
    NABLA_ASSIGN_OR_RETURN(const std::vector<Tensor> value, RunCase(built, {jacobians[i]}));
    EXPECT_TRUE(jacobians[i].shape().IsCompatibleWith(value[0].shape()));
    values[i] = value[0];
  }
  return values;
}

}  // namespace

void JacobiansMatchEachOther(const OpCase& row) {
  ASSERT_OK_AND_ASSIGN(BuiltCase unrolled, BuildCase(row, row.spec.dtype, Feeding::kStaticShape));
  for (int k = 0; k < static_cast<int>(unrolled.outputs.size()); ++k) {
    if (!IsContinuous(unrolled.outputs[k].dtype())) continue;
    if (!unrolled.outputs[k].shape().IsFullyDefined()) continue;  // it cannot be unrolled
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> want, Jacobians(unrolled, k, false));
    for (Feeding feeding : {Feeding::kStaticShape, Feeding::kKnownRank, Feeding::kUnknownShape}) {
      SCOPED_TRACE(absl::StrCat("output ", k, ", feeding ", static_cast<int>(feeding)));
      ASSERT_OK_AND_ASSIGN(BuiltCase built, BuildCase(row, row.spec.dtype, feeding));
      ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> got, Jacobians(built, k, true));
      for (size_t i = 0; i < want.size(); ++i) {
        const std::string what = absl::StrCat("Jacobian by input ", built.differentiable[i]);
        ASSERT_EQ(got[i].valid(), want[i].valid()) << what;
        if (!want[i].valid()) continue;
        EXPECT_EQ(got[i].shape(), want[i].shape()) << what;
        ExpectClose(ToDoubles(got[i]), ToDoubles(want[i]), kTolerance, what);
      }
    }
  }
}

void JvpMatchesJacobian(const OpCase& row) {
  for (Feeding feeding : {Feeding::kStaticShape, Feeding::kUnknownShape}) {
    SCOPED_TRACE(static_cast<int>(feeding));
    ASSERT_OK_AND_ASSIGN(BuiltCase built, BuildCase(row, row.spec.dtype, feeding));
    const Outputs xs = DifferentiableInputs(built);
    // Every x alone, and all together.
    for (size_t only = 0; only <= xs.size(); ++only) {
      std::vector<std::vector<double>> tangents;
      Outputs tangent_nodes;
      for (size_t i = 0; i < xs.size(); ++i) {
        const Tensor value = WeightsLike(built.values[built.differentiable[i]], static_cast<int64_t>(i) + 20);
        const bool moves = only == xs.size() || only == i;
        tangents.push_back(moves ? ToDoubles(value) : std::vector<double>(ToDoubles(value).size()));
        tangent_nodes.push_back(moves ? Constant(built.scope, value) : Output());
      }
      ASSERT_OK_AND_ASSIGN(const Outputs jvp, Jvp(built.scope, built.outputs, xs, tangent_nodes));
      for (size_t k = 0; k < jvp.size(); ++k) {
        if (!IsContinuous(built.outputs[k].dtype())) {
          EXPECT_FALSE(jvp[k]);
          continue;
        }
        ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> y, RunCase(built, {built.outputs[k]}));
        std::vector<double> got(ToDoubles(y[0]).size());  // none is zero
        if (jvp[k]) {
          ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> value, RunCase(built, {jvp[k]}));
          EXPECT_EQ(value[0].shape(), y[0].shape());
          got = ToDoubles(value[0]);
        }
        const std::string what = absl::StrCat("tangent of output ", k, " for input ", only);
        // Weighed with a cotangent, it is the gradient times the tangent. (Of a complex number, as of two real ones.)
        const Tensor weights = WeightsLike(y[0], static_cast<int64_t>(k));
        GradientOptions options;
        options.grad_ys = {Constant(built.scope, weights)};
        ASSERT_OK_AND_ASSIGN(const Grads grads, Gradients(built.scope, {built.outputs[k]}, xs, options));
        double want_dot = 0;
        for (size_t i = 0; i < xs.size(); ++i) {
          if (grads[i].none()) continue;
          ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> value, RunCase(built, {ToDense(built.scope, grads[i])}));
          const std::vector<double> gradient = ToDoubles(value[0]);
          want_dot = std::inner_product(gradient.begin(), gradient.end(), tangents[i].begin(), want_dot);
        }
        const std::vector<double> w = ToDoubles(weights);
        ExpectClose({std::inner_product(w.begin(), w.end(), got.begin(), 0.0)}, {want_dot}, kTolerance, what);
        // And element by element.
        if (row.spec.build != nullptr || IsComplex(row.spec.dtype) || IsComplex(y[0].dtype()) ||
            feeding != Feeding::kStaticShape)
          continue;
        ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> jacobians, Jacobians(built, static_cast<int>(k), true));
        std::vector<double> want(got.size());
        for (size_t i = 0; i < xs.size(); ++i) {
          if (!jacobians[i].valid()) continue;
          const std::vector<double> jacobian = ToDoubles(jacobians[i]);
          const size_t n = tangents[i].size();
          for (size_t j = 0; j < want.size(); ++j) {
            want[j] = std::inner_product(tangents[i].begin(), tangents[i].end(), jacobian.begin() + j * n, want[j]);
          }
        }
        ExpectClose(got, want, kTolerance, what);
      }
    }
  }
}

bool CanBeBatched(const OpCase& row) {
  // Whoever feeds it feeds one example.
  if (row.op == "PlaceholderWithDefault" || row.spec.build != nullptr) return false;
  const bool floating = std::any_of(row.spec.inputs.begin(), row.spec.inputs.end(), [](const CaseInput& input) {
    return !input.constant && input.dtype == DType::kInvalid;
  });
  return floating && IsContinuous(row.spec.dtype) &&
         (HasRule(row) || BatchingRegistry::Global().Find(row.op) != nullptr);
}

namespace {

constexpr int kExamples = 3;

// Input i of example number `e`: the row's own values, and others with the same signs and within the same bounds.
Tensor ExampleValue(const Tensor& value, int e) {
  std::vector<double> values = ToDoubles(value);
  if (value.dtype() == DType::kBool) {
    for (double& v : values) v = e == 1 ? 1 - v : v;
  } else {
    for (double& v : values) v *= 1 - 0.25 * e;
  }
  return FromDoubles(value.dtype(), value.shape(), values);
}

// Batches the inputs `chosen` (indices of built.fed).
void ExpectBatchMatches(const OpCase& row, Feeding feeding, const std::vector<size_t>& chosen, bool may_decline) {
  ASSERT_OK_AND_ASSIGN(BuiltCase built, BuildCase(row, row.spec.dtype, feeding));
  Outputs examples;
  std::vector<Batched> batches;
  Feeds feeds = built.feeds();
  for (size_t i : chosen) {
    const Tensor& value = built.fed_values[i];
    Shape shape = value.shape();
    shape.InsertDim(0, kExamples);
    std::vector<double> values;
    for (int e = 0; e < kExamples; ++e) {
      const std::vector<double> one = ToDoubles(ExampleValue(value, e));
      values.insert(values.end(), one.begin(), one.end());
    }
    const Shape known = feeding == Feeding::kStaticShape ? shape : Shape();
    examples.push_back(built.fed[i]);
    batches.emplace_back(
        NodeBuilder(built.scope, "Placeholder").Attr("dtype", value.dtype()).Attr("shape", known).FinishOutput());
    feeds.push_back({batches.back().value, FromDoubles(value.dtype(), shape, values)});
  }
  const auto batched = Batch(built.scope, built.outputs, examples, batches);
  if (absl::IsUnimplemented(batched.status()) && may_decline) return;
  ASSERT_TRUE(batched.ok()) << batched.status();
  Session session(built.graph.get(), {1});
  for (size_t k = 0; k < built.outputs.size(); ++k) {
    std::vector<Tensor> got, want;
    absl::Status status = session.Run(feeds, {(*batched)[k].value}, &got);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_TRUE((*batched)[k].value.shape().IsCompatibleWith(got[0].shape()));
    const std::vector<double> all = ToDoubles(got[0]);
    for (int e = 0; e < kExamples; ++e) {
      Feeds example = built.feeds();
      for (size_t i : chosen) example[i].second = ExampleValue(built.fed_values[i], e);
      status = session.Run(example, {built.outputs[k]}, &want);
      ASSERT_TRUE(status.ok()) << status;
      Shape shape = want[0].shape();
      const std::vector<double> of_one = ToDoubles(want[0]);
      auto begin = all.begin();
      if ((*batched)[k].has_batch_axis) {
        shape.InsertDim(0, kExamples);
        begin += e * static_cast<int64_t>(of_one.size());
      }
      ASSERT_EQ(got[0].shape(), shape) << "output " << k;
      ExpectClose(std::vector<double>(begin, begin + static_cast<int64_t>(of_one.size())), of_one, kTolerance,
                  absl::StrCat("output ", k, " of example ", e));
    }
  }
}

}  // namespace

void BatchMatchesExamples(const OpCase& row) {
  ASSERT_OK_AND_ASSIGN(const BuiltCase built, BuildCase(row, row.spec.dtype, Feeding::kStaticShape));
  std::vector<size_t> floating, bools;
  for (size_t i = 0; i < built.fed.size(); ++i) {
    if (IsContinuous(built.fed[i].dtype())) floating.push_back(i);
    if (built.fed[i].dtype() == DType::kBool) bools.push_back(i);
  }
  // No gradient depends on the others.
  const bool may_decline = !HasRule(row);
  for (Feeding feeding : {Feeding::kStaticShape, Feeding::kUnknownShape}) {
    SCOPED_TRACE(feeding == Feeding::kStaticShape ? "known shapes" : "unknown shapes");
    for (size_t i : floating) {
      SCOPED_TRACE(absl::StrCat("input ", i, " alone"));
      ExpectBatchMatches(row, feeding, {i}, may_decline);
    }
    if (floating.size() > 1) ExpectBatchMatches(row, feeding, floating, may_decline);
    if (bools.empty()) continue;
    ExpectBatchMatches(row, feeding, bools, true);
    std::vector<size_t> all = floating;
    all.insert(all.end(), bools.begin(), bools.end());
    ExpectBatchMatches(row, feeding, all, true);
  }
}

}  // namespace nabla

#include "nabla/tests/cases/checks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "nabla/gradients/gradients.h"
#include "nabla/gradients/rule.h"
#include "nabla/graph/export.h"
#include "nabla/graph/import.h"
#include "nabla/graph/status_macros.h"
#include "nabla/ops/registration.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/tests/cases/golden_values.h"
#include "nabla/tests/cases/numeric_gradient.h"

namespace nabla {
namespace {

bool IsContinuous(DType dtype) { return IsFloating(dtype) || IsComplex(dtype); }

// ---- comparing ----

void ExpectSameBits(const std::vector<Tensor>& got, const std::vector<Tensor>& want, const char* what) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_TRUE(BitwiseEqual(got[i], want[i]))
        << what << ", result " << i << "\ngot  " << got[i].ToString(40) << "\nwant " << want[i].ToString(40);
  }
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

// The most by which one operation of this type is off, with some room for sums.
double Tolerance(DType dtype) {
  switch (dtype) {
    case DType::kDouble:
    case DType::kComplex128:
      return 1e-11;
    case DType::kFloat:
    case DType::kComplex64:
      return 1e-5;
    case DType::kHalf:
      return 4e-3;
    case DType::kBFloat16:
      return 3e-2;
    default:
      return 0;
  }
}

void ExpectClose(const Tensor& got, const Tensor& want, double factor, const std::string& what) {
  ASSERT_EQ(got.shape(), want.shape()) << what;
  if (got.dtype() == DType::kString || want.dtype() == DType::kString) {
    EXPECT_TRUE(BitwiseEqual(got, want)) << what << ": got " << got.ToString() << ", want " << want.ToString();
    return;
  }
  ExpectClose(ToDoubles(got), ToDoubles(want), Tolerance(got.dtype()) * factor, what);
}

// ---- running ----

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define ASSERT_OK_AND_ASSIGN(declaration, ...)                                         \
  auto JOIN(status_or_, __LINE__) = (__VA_ARGS__);                                     \
  ASSERT_TRUE(JOIN(status_or_, __LINE__).ok()) << JOIN(status_or_, __LINE__).status(); \
  declaration = *std::move(JOIN(status_or_, __LINE__))

absl::StatusOr<std::vector<Tensor>> Evaluate(const OpCase& row, DType dtype) {
  NABLA_ASSIGN_OR_RETURN(BuiltCase built, BuildCase(row, dtype, Feeding::kStaticShape));
  return RunCase(built, built.outputs);
}

// ---- the checks ----

void MatchesReference(const OpCase& row) {
  std::vector<Doubles> inputs;
  for (const Tensor& value : CaseValues(row, row.spec.dtype)) inputs.push_back({value.shape(), ToDoubles(value)});
  const std::vector<Doubles> want = row.spec.reference(inputs);
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> got, Evaluate(row, row.spec.dtype));
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].shape(), want[i].shape);
    ExpectClose(ToDoubles(got[i]), want[i].values, Tolerance(got[i].dtype()), absl::StrCat("output ", i));
  }
}

void MatchesTensorFlow(const OpCase& row) {
  const GoldenValues* const golden = FindGoldenValues(row.Name());
  ASSERT_NE(golden, nullptr) << "run tests/golden/make_op_values.py";
  const std::vector<Tensor> values = CaseValues(row, row.spec.dtype);
  ExpectSameBits(values, golden->inputs, "run tests/golden/make_op_values.py: it saw other inputs");
  ASSERT_OK_AND_ASSIGN(BuiltCase built, BuildDifferentiated(row, Feeding::kStaticShape));
  ASSERT_OK_AND_ASSIGN(std::vector<Tensor> got, RunCase(built, built.fetches()));
  ASSERT_EQ(built.outputs.size(), golden->outputs.size());
  size_t next = 0;
  for (const Tensor& want : golden->outputs) {
    EXPECT_EQ(got[next].dtype(), want.dtype());
    ExpectClose(got[next], want, row.spec.golden_tolerance, absl::StrCat("output ", next));
    ++next;
  }
  if (!IsDifferentiated(row) || !row.spec.golden_gradient) return;
  ASSERT_TRUE(golden->has_gradients);
  for (size_t i = 0; i < built.differentiable.size(); ++i) {
    const Tensor& want = golden->gradients[i];
    const bool none = built.gradients.empty() || built.gradients[i].none();
    EXPECT_EQ(none, !want.valid()) << "gradient of input " << built.differentiable[i] << ": ours is "
                                   << (none ? "none" : "a tensor") << ", TensorFlow's the other";
    if (none) continue;
    if (want.valid()) ExpectClose(got[next], want, 10, absl::StrCat("gradient of input ", built.differentiable[i]));
    ++next;
  }
}

// The types of the row's own inputs that the op allows.
std::vector<DType> OtherTypes(const OpCase& row) {
  const OpSpec* const op = OpRegistry::Global().Find(row.op);
  size_t formal = 0;
  for (const CaseInput& input : row.spec.inputs) {
    if (input.dtype == DType::kInvalid) break;
    ++formal;
  }
  if (row.spec.build != nullptr) {
    if (!row.spec.narrow) return {};
    return {DType::kFloat, DType::kHalf, DType::kBFloat16};
  }
  if (op == nullptr || op->inputs().empty()) return {};
  const ArgSpec& arg = op->inputs()[std::min(formal, op->inputs().size() - 1)];
  const AttrSpec* const attr = op->FindAttr(arg.type_attr);
  const bool complex = IsComplex(row.spec.dtype);
  std::vector<DType> types;
  const auto add = [&](DType dtype) {
    if (dtype == row.spec.dtype) return;
    if (attr != nullptr && !attr->allowed_types.empty() &&
        std::count(attr->allowed_types.begin(), attr->allowed_types.end(), dtype) == 0) {
      return;
    }
    if (attr != nullptr || !arg.type_list_attr.empty()) types.push_back(dtype);
  };
  if (row.spec.narrow) {
    for (DType dtype : {DType::kFloat, DType::kHalf, DType::kBFloat16}) {
      if (!complex) add(dtype);
    }
    if (complex) add(DType::kComplex64);
  }
  if (row.spec.integers) {
    for (DType dtype : {DType::kInt32, DType::kInt64, DType::kInt16, DType::kInt8}) add(dtype);
  }
  return types;
}

void OtherTypesAgree(const OpCase& row) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> want, Evaluate(row, row.spec.dtype));
  for (DType dtype : OtherTypes(row)) {
    SCOPED_TRACE(DTypeName(dtype));
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> got, Evaluate(row, dtype));
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) {
      ExpectClose(got[i], want[i], row.spec.narrow_tolerance, absl::StrCat("output ", i));
    }
  }
}

void ShapesAgree(const OpCase& row) {
  std::vector<Tensor> first;
  for (Feeding feeding : {Feeding::kStaticShape, Feeding::kConstants, Feeding::kKnownRank, Feeding::kUnknownShape}) {
    SCOPED_TRACE(static_cast<int>(feeding));
    ASSERT_OK_AND_ASSIGN(BuiltCase built, BuildDifferentiated(row, feeding));
    const Outputs fetches = built.fetches();
    ASSERT_OK_AND_ASSIGN(std::vector<Tensor> got, RunCase(built, fetches));
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_TRUE(fetches[i].shape().IsCompatibleWith(got[i].shape()))
          << "result " << i << " has shape " << got[i].shape() << ", inferred " << fetches[i].shape();
      EXPECT_EQ(fetches[i].dtype(), got[i].dtype());
      if (feeding == Feeding::kStaticShape && i < built.outputs.size() && !row.spec.dynamic_shape) {
        EXPECT_EQ(fetches[i].shape(), got[i].shape()) << "output " << i << " could have been known";
      }
    }
    // What rules do where shapes are not known must come to the same.
    if (feeding == Feeding::kStaticShape) {
      first = std::move(got);
      continue;
    }
    ASSERT_EQ(got.size(), first.size());
    for (size_t i = 0; i < got.size(); ++i) ExpectClose(got[i], first[i], 1, absl::StrCat("result ", i));
  }
}

// Gradients of `ys` (with the given weights), as built, against differences.
void ExpectGradientsOf(BuiltCase& built, const Outputs& ys, const std::vector<Tensor>& weights, const Outputs& dense) {
  Session session(built.graph.get(), {1});
  const Feeds feeds = built.feeds();
  for (size_t i = 0; i < built.differentiable.size(); ++i) {
    const Output x = built.inputs[built.differentiable[i]];
    const auto fed = std::find(built.fed.begin(), built.fed.end(), x) - built.fed.begin();
    ASSERT_OK_AND_ASSIGN(const std::vector<double> want,
                         NumericGradient(session, feeds, static_cast<size_t>(fed), ys, weights));
    std::vector<double> got(want.size());  // none is zero
    if (i < dense.size() && dense[i]) {
      std::vector<Tensor> fetched;
      const absl::Status status = session.Run(feeds, {dense[i]}, &fetched);
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_EQ(fetched[0].shape(), built.fed_values[fed].shape());
      got = ToDoubles(fetched[0]);
    }
    ExpectClose(got, want, 2e-8, absl::StrCat("gradient of input ", built.differentiable[i]));
  }
}

void GradientMatchesDifferences(const OpCase& row) {
  ASSERT_OK_AND_ASSIGN(BuiltCase built, BuildDifferentiated(row, Feeding::kStaticShape));
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> outputs, RunCase(built, built.outputs));
  Outputs ys;
  std::vector<Tensor> weights;
  for (size_t k = 0; k < outputs.size(); ++k) {
    if (!IsContinuous(outputs[k].dtype())) continue;
    ys.push_back(built.outputs[k]);
    weights.push_back(WeightsLike(outputs[k], static_cast<int64_t>(k)));
  }
  ExpectGradientsOf(built, ys, weights, built.dense_gradients);
}

// With respect to the inputs, of the gradients: a graph that was differentiated is differentiated again.
void SecondOrderMatchesDifferences(const OpCase& row) {
  for (Feeding feeding : {Feeding::kStaticShape, Feeding::kUnknownShape}) {
    SCOPED_TRACE(static_cast<int>(feeding));
    ASSERT_OK_AND_ASSIGN(BuiltCase built, BuildDifferentiated(row, feeding));
    Outputs ys, xs;
    for (Output gradient : built.dense_gradients) {
      if (gradient) ys.push_back(gradient);
    }
    if (ys.empty()) return;
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> gradients, RunCase(built, ys));
    std::vector<Tensor> weights;
    GradientOptions options;
    for (size_t k = 0; k < ys.size(); ++k) {
      weights.push_back(WeightsLike(gradients[k], static_cast<int64_t>(k) + 5));
      options.grad_ys.push_back(
          NodeBuilder(built.scope, "Const").Attr("value", weights[k]).Attr("dtype", ys[k].dtype()).FinishOutput());
    }
    for (int i : built.differentiable) xs.push_back(built.inputs[i]);
    ASSERT_OK_AND_ASSIGN(const Grads second, Gradients(built.scope, ys, xs, options));
    Outputs dense;
    for (const Gradient& gradient : second) {
      dense.push_back(gradient.none() ? Output() : ToDense(built.scope, gradient));
    }
    ExpectGradientsOf(built, ys, weights, dense);
  }
}

// Written out and read back, gradients included.
void SurvivesExport(const OpCase& row) {
  ASSERT_OK_AND_ASSIGN(BuiltCase built, BuildDifferentiated(row, Feeding::kStaticShape));
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> want, RunCase(built, built.fetches()));
  std::string bytes, again;
  ASSERT_TRUE(ExportGraphDefString(*built.graph, {}, &bytes).ok());
  Graph graph;
  const absl::Status imported = ImportGraphDefString(bytes, {}, &graph);
  ASSERT_TRUE(imported.ok()) << imported;
  ASSERT_TRUE(ExportGraphDefString(graph, {}, &again).ok());
  EXPECT_EQ(again, bytes);
  Feeds feeds;
  Outputs fetches;
  const auto find = [&](Output output) { return graph.FindOutput(output.name()).value_or(Output()); };
  for (const auto& [output, value] : built.feeds()) feeds.push_back({find(output), value});
  for (Output output : built.fetches()) fetches.push_back(find(output));
  Session session(&graph, {1});
  std::vector<Tensor> got;
  const absl::Status status = session.Run(feeds, fetches, {graph.FindNode(built.node->name())}, &got);
  ASSERT_TRUE(status.ok()) << status;
  ExpectSameBits(got, want, "after a round trip");
}

void OptimisedIsTheSame(const OpCase& row) {
  for (Feeding feeding : {Feeding::kConstants, Feeding::kUnknownShape}) {
    ASSERT_OK_AND_ASSIGN(BuiltCase built, BuildDifferentiated(row, feeding));
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> got, RunCase(built, built.fetches()));
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> want, RunCase(built, built.fetches(), {1, {"all"}}));
    ExpectSameBits(got, want, feeding == Feeding::kConstants ? "constants, optimised" : "fed, optimised");
  }
}

void ThreadsDoNotMatter(const OpCase& row) {
  ASSERT_OK_AND_ASSIGN(BuiltCase built, BuildDifferentiated(row, Feeding::kStaticShape));
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> want, RunCase(built, built.fetches()));
  ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> got, RunCase(built, built.fetches(), {3}));
  ExpectSameBits(got, want, "on three threads");
}

}  // namespace

void RegisterEverything() {
  RegisterAllOps();
  RegisterAllKernels();
  RegisterAllGradients();
}

const std::vector<Check>& AllChecks() {
  static const auto* const checks = new std::vector<Check>{
      {"Reference", [](const OpCase& row) { return row.spec.reference != nullptr; }, MatchesReference},
      {"TensorFlow", [](const OpCase& row) { return row.spec.golden && !row.spec.big; }, MatchesTensorFlow},
      {"OtherTypes", [](const OpCase& row) { return !OtherTypes(row).empty() && !row.spec.big; }, OtherTypesAgree},
      {"Shapes", [](const OpCase& row) { return !row.spec.big; }, ShapesAgree},
      {"Gradient", [](const OpCase& row) { return IsDifferentiated(row) && !row.spec.big && !row.spec.at_kink; },
       GradientMatchesDifferences},
      {"SecondOrder",
       [](const OpCase& row) {
         return IsDifferentiated(row) && row.spec.second_order && !row.spec.big && !row.spec.at_kink;
       },
       SecondOrderMatchesDifferences},
      {"RoundTrip", [](const OpCase& row) { return !row.spec.big; }, SurvivesExport},
      {"Optimised", [](const OpCase&) { return true; }, OptimisedIsTheSame},
      {"Threads", [](const OpCase&) { return true; }, ThreadsDoNotMatter},
  };
  return *checks;
}

}  // namespace nabla

#include "nabla/tests/cases/op_case.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "nabla/gradients/gradients.h"
#include "nabla/gradients/rule.h"
#include "nabla/graph/check.h"
#include "nabla/graph/status_macros.h"
#include "nabla/runtime/dtype_switch.h"

namespace nabla {
namespace {

// S. Vigna's SplitMix64: enough for test values, and the same everywhere.
class Draws {
 public:
  explicit Draws(const std::string& name) {
    for (char c : name) state_ = state_ * 1099511628211u + static_cast<unsigned char>(c);
  }
  // In [0, 1).
  double Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
  }

 private:
  uint64_t state_ = 14695981039346656037u;
};

double ToGrid(double x) { return std::round(x * 64) / 64; }

std::vector<double> DrawDistinct(int64_t count, Draws& draws) {
  std::vector<double> values(count);
  for (int64_t i = 0; i < count; ++i) values[i] = (static_cast<double>(i) - static_cast<double>(count / 2) + 0.5) / 8;
  for (int64_t i = count - 1; i > 0; --i) {
    std::swap(values[i], values[static_cast<int64_t>(draws.Next() * static_cast<double>(i + 1))]);
  }
  return values;
}

std::vector<double> Draw(const CaseInput& input, int64_t count, Draws& draws) {
  if (input.distinct) return DrawDistinct(count, draws);
  std::vector<double> values(count);
  for (double& value : values) {
    do {
      value = ToGrid(input.low + draws.Next() * (input.high - input.low));
    } while (std::abs(value) < input.gap || value < input.low || value > input.high);
  }
  return values;
}

}  // namespace

CaseInput In(Shape shape, double low, double high) {
  CaseInput input;
  input.shape = std::move(shape);
  input.low = low;
  input.high = high;
  return input;
}

CaseInput Distinct(Shape shape) {
  CaseInput input = In(std::move(shape));
  input.distinct = true;
  return input;
}

CaseInput Values(Shape shape, std::vector<double> values) {
  CaseInput input = In(std::move(shape));
  input.values = std::move(values);
  return input;
}

CaseInput IntsOf(Shape shape, std::vector<double> values, DType dtype) {
  CaseInput input = Values(std::move(shape), std::move(values));
  input.dtype = dtype;
  input.constant = true;
  return input;
}

CaseInput Ints(std::vector<double> values, DType dtype) {
  const auto count = static_cast<int64_t>(values.size());
  return IntsOf({count}, std::move(values), dtype);
}

CaseInput Int(double value, DType dtype) { return IntsOf(Shape::Scalar(), {value}, dtype); }

CaseInput Bools(Shape shape, std::vector<double> values) {
  return Fed(IntsOf(std::move(shape), std::move(values), DType::kBool));
}

CaseInput Strings(Shape shape, std::vector<std::string> values) {
  CaseInput input = In(std::move(shape));
  input.strings = std::move(values);
  input.dtype = DType::kString;
  return input;
}

CaseInput Fed(CaseInput input) {
  input.constant = false;
  return input;
}

std::string OpCase::Name() const { return spec.name.empty() ? op : absl::StrCat(op, "_", spec.name); }

const std::vector<OpCase>& AllCases() {
  static const auto* const all = [] {
    auto* const cases = new std::vector<OpCase>;
    for (const auto& family : {MathUnaryCases, MathBinaryCases, ReductionCases, MatMulCases, ArrayCases, SliceCases,
                               GatherCases, NnCases, RandomCases, TensorListCases}) {
      for (OpCase& row : family()) cases->push_back(std::move(row));
    }
    return cases;
  }();
  return *all;
}

double CaseWeight(int64_t k, int64_t j) { return static_cast<double>((7 * j + 3 * k + j / 11) % 13 - 4) / 8 + 0.0625; }

std::vector<double> ToDoubles(const Tensor& tensor) {
  std::vector<double> result;
  result.reserve(tensor.num_elements());
  if (tensor.dtype() == DType::kBool) {
    for (bool b : tensor.flat<bool>()) result.push_back(b ? 1 : 0);
    return result;
  }
  const absl::Status status = SwitchNumeric(tensor.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (const T& value : tensor.flat<T>()) {
      if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
        result.push_back(value.real());
        result.push_back(value.imag());
      } else {
        result.push_back(static_cast<double>(static_cast<ComputeType<T>>(value)));
      }
    }
    return absl::OkStatus();
  });
  NABLA_CHECK(status.ok());
  return result;
}

Tensor FromDoubles(DType dtype, const Shape& shape, const std::vector<double>& values) {
  Tensor tensor(dtype, shape);
  const int64_t per_element = IsComplex(dtype) ? 2 : 1;
  NABLA_CHECK(static_cast<int64_t>(values.size()) == tensor.num_elements() * per_element);
  if (dtype == DType::kBool) {
    for (size_t i = 0; i < values.size(); ++i) tensor.data<bool>()[i] = values[i] != 0;
    return tensor;
  }
  const absl::Status status = SwitchNumeric(dtype, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < tensor.num_elements(); ++i) {
      if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
        using Part = typename T::value_type;
        tensor.data<T>()[i] = T(static_cast<Part>(values[2 * i]), static_cast<Part>(values[2 * i + 1]));
      } else {
        tensor.data<T>()[i] = T(static_cast<ComputeType<T>>(values[i]));
      }
    }
    return absl::OkStatus();
  });
  NABLA_CHECK(status.ok());
  return tensor;
}

Tensor WeightsLike(const Tensor& like, int64_t k) {
  std::vector<double> weights(like.num_elements() * (IsComplex(like.dtype()) ? 2 : 1));
  for (size_t j = 0; j < weights.size(); ++j) weights[j] = CaseWeight(k, static_cast<int64_t>(j));
  return FromDoubles(like.dtype(), like.shape(), weights);
}

std::vector<Tensor> CaseValues(const OpCase& row, DType dtype) {
  Draws draws(row.Name());
  std::vector<Tensor> tensors;
  for (const CaseInput& input : row.spec.inputs) {
    const DType type = input.dtype == DType::kInvalid ? dtype : input.dtype;
    if (type == DType::kString) {
      tensors.push_back(Tensor::Of<std::string>(input.shape, input.strings));
      continue;
    }
    // Both parts of complex numbers are drawn only if the row is complex.
    const int64_t count = input.shape.num_elements() * (IsComplex(type) ? 2 : 1);
    std::vector<double> values = input.values.empty() ? Draw(input, count, draws) : input.values;
    if (input.dtype == DType::kInvalid && row.spec.integers) {
      for (double& value : values) value = std::round(value * 4);
    }
    tensors.push_back(FromDoubles(type, input.shape, values));
  }
  return tensors;
}

namespace {

// The node "case" on the row's inputs.
absl::StatusOr<Node*> AddCaseNode(const OpCase& row, const BuiltCase& built) {
  const Scope scope = built.scope.Named("case");
  if (row.spec.build != nullptr) {
    const Outputs outputs = row.spec.build(built.scope, built.inputs);
    NABLA_RETURN_IF_ERROR(built.scope.status());
    Node* const node = NodeBuilder(scope, "IdentityN").InputList(outputs).Finish();
    if (node == nullptr) return built.scope.status();
    return node;
  }
  const OpSpec* op_spec = built.graph->FindSpec(row.op);
  if (op_spec == nullptr) return absl::NotFoundError(absl::StrCat("no op ", row.op));
  NodeBuilder builder(scope, row.op);
  for (const auto& [name, value] : row.spec.attrs) builder.Attr(name, value);
  size_t next = 0;
  const size_t in_list = built.inputs.size() + 1 - std::min(built.inputs.size() + 1, op_spec->inputs().size());
  for (const ArgSpec& formal : op_spec->inputs()) {
    const size_t count = formal.IsList() ? in_list : 1;
    if (next + count > built.inputs.size()) return absl::InvalidArgumentError("the row has too few inputs");
    const Outputs operands(built.inputs.begin() + next, built.inputs.begin() + next + count);
    if (formal.IsList()) {
      builder.InputList(operands);
    } else {
      builder.Input(operands[0]);
    }
    next += count;
  }
  Node* const node = builder.Finish();
  if (node == nullptr) return built.scope.status();
  return node;
}

}  // namespace

absl::StatusOr<BuiltCase> BuildCase(const OpCase& row, DType dtype, Feeding feeding) {
  BuiltCase built;
  built.values = CaseValues(row, dtype);
  for (size_t i = 0; i < built.values.size(); ++i) {
    const CaseInput& input = row.spec.inputs[i];
    const Tensor& value = built.values[i];
    const bool constant = input.constant || feeding == Feeding::kConstants;
    const Scope scope = built.scope.Named(absl::StrCat(input.constant ? "constant" : "x", i));
    Output output;
    if (constant) {
      output = NodeBuilder(scope, "Const").Attr("value", value).Attr("dtype", value.dtype()).FinishOutput();
    } else {
      Shape shape;
      if (feeding == Feeding::kStaticShape) shape = value.shape();
      if (feeding == Feeding::kKnownRank) shape = Shape::UnknownOfRank(value.rank());
      output = NodeBuilder(scope, "Placeholder").Attr("dtype", value.dtype()).Attr("shape", shape).FinishOutput();
      built.fed.push_back(output);
      built.fed_values.push_back(value);
    }
    built.inputs.push_back(output);
    if (!input.constant && (IsFloating(value.dtype()) || IsComplex(value.dtype()))) {
      built.differentiable.push_back(static_cast<int>(i));
    }
  }
  NABLA_ASSIGN_OR_RETURN(Node* const node, AddCaseNode(row, built));
  built.node = node;
  for (int i = 0; i < node->num_outputs(); ++i) built.outputs.push_back(node->output(i));
  return built;
}

absl::Status Differentiate(const std::vector<Tensor>& outputs, BuiltCase* built) {
  Outputs ys, xs;
  GradientOptions options;
  for (size_t k = 0; k < outputs.size(); ++k) {
    const DType dtype = outputs[k].dtype();
    if (!IsFloating(dtype) && !IsComplex(dtype)) continue;
    ys.push_back(built->outputs[k]);
    options.grad_ys.push_back(NodeBuilder(built->scope.Named(absl::StrCat("weights", k)), "Const")
                                  .Attr("value", WeightsLike(outputs[k], static_cast<int64_t>(k)))
                                  .Attr("dtype", dtype)
                                  .FinishOutput());
  }
  for (int i : built->differentiable) xs.push_back(built->inputs[i]);
  if (ys.empty() || xs.empty()) return absl::OkStatus();
  NABLA_ASSIGN_OR_RETURN(built->gradients, Gradients(built->scope, ys, xs, options));
  for (const Gradient& gradient : built->gradients) {
    built->dense_gradients.push_back(gradient.none() ? Output() : ToDense(built->scope, gradient));
  }
  return built->scope.status();
}

Feeds BuiltCase::feeds() const {
  Feeds feeds;
  for (size_t i = 0; i < fed.size(); ++i) feeds.push_back({fed[i], fed_values[i]});
  return feeds;
}

Outputs BuiltCase::fetches() const {
  Outputs all = outputs;
  for (Output gradient : dense_gradients) {
    if (gradient) all.push_back(gradient);
  }
  return all;
}

bool IsDifferentiated(const OpCase& row) {
  const GradientRegistry::Entry* const entry = GradientRegistry::Global().Find(row.op);
  const bool has_rule = row.spec.build != nullptr || (entry != nullptr && entry->rule != nullptr);
  if (!row.spec.gradient || !has_rule) return false;
  if (row.spec.dtype != DType::kDouble && row.spec.dtype != DType::kComplex128) return false;
  return std::any_of(row.spec.inputs.begin(), row.spec.inputs.end(), [](const CaseInput& input) {
    return !input.constant && (input.dtype == DType::kInvalid || IsFloating(input.dtype) || IsComplex(input.dtype));
  });
}

absl::StatusOr<BuiltCase> BuildDifferentiated(const OpCase& row, Feeding feeding) {
  NABLA_ASSIGN_OR_RETURN(BuiltCase built, BuildCase(row, row.spec.dtype, feeding));
  if (!IsDifferentiated(row)) return built;
  NABLA_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, RunCase(built, built.outputs));
  NABLA_RETURN_IF_ERROR(Differentiate(outputs, &built));
  return built;
}

absl::StatusOr<std::vector<Tensor>> RunCase(BuiltCase& built, const Outputs& fetches, SessionOptions options) {
  Session session(built.graph.get(), std::move(options));
  std::vector<Tensor> results;
  NABLA_RETURN_IF_ERROR(session.Run(built.feeds(), fetches, {built.node}, &results));
  return results;
}

}  // namespace nabla

#include "nabla/ops/scan.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "nabla/ops/loop_builder.h"
#include "nabla/ops/ops.h"

namespace nabla {
namespace ops {
namespace {

absl::Status CheckElements(const Outputs& elements, const std::string& name) {
  if (elements.empty()) return absl::InvalidArgumentError(absl::StrCat(name, ": there are no elements"));
  int64_t length = kUnknownDim;
  for (Output tensor : elements) {
    if (!tensor.shape().has_rank()) continue;
    if (tensor.shape().rank() == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, ": '", tensor.name(), "' is a scalar, expected a tensor to step through"));
    }
    const int64_t dim = tensor.shape().dim(0);
    if (dim == kUnknownDim) continue;
    if (length != kUnknownDim && dim != length) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, ": '", tensor.name(), "' has ", dim, " elements, others have ", length));
    }
    length = dim;
  }
  return absl::OkStatus();
}

// The number of elements, a scalar int32.
Output LengthOf(const Scope& scope, const Outputs& elements) {
  for (Output tensor : elements) {
    if (tensor.shape().has_rank() && tensor.shape().dim(0) != kUnknownDim) {
      return Const(scope, Tensor::Scalar<int32_t>(static_cast<int32_t>(tensor.shape().dim(0))));
    }
  }
  return StridedSlice(scope, Shape(scope, elements[0]), {0}, {1}, {1}, {.shrink_axis_mask = 1});
}

// A list for results whose shapes are not known yet.
Output NewList(const Scope& scope, DType dtype) {
  return EmptyTensorList(scope, Tensor::Scalar<int32_t>(-1), -1, dtype);
}

Output Stack(const Scope& scope, Output list, DType dtype, const nabla::Shape& element, bool reverse) {
  const Input shape = element.has_rank() ? Input(element) : Input(Tensor::Scalar<int32_t>(-1));
  const Output stacked = TensorListStack(scope, list, shape, dtype);
  return reverse ? ReverseV2(scope, stacked, {0}) : stacked;
}

}  // namespace

ScanResult Scan(const Scope& scope, const Outputs& state, const Outputs& elements, const ScanBody& body,
                const ScanOptions& options) {
  ScanResult result;
  result.state.resize(state.size());
  const auto is_none = [](Output tensor) { return !tensor; };
  if (std::any_of(state.begin(), state.end(), is_none) || std::any_of(elements.begin(), elements.end(), is_none)) {
    return result;
  }
  const absl::Status status = CheckElements(elements, options.name);
  if (!status.ok()) {
    scope.RecordError(status);
    return result;
  }
  const Scope inside = scope.Sub(options.name);
  const Output length = LengthOf(inside, elements);
  // How many results there are, and what they are, is known when the body has been built: the lists are loop variables
  // that are added at its end.
  LoopBuilder loop(inside, "while", options.parallel_iterations);
  std::vector<int> carried;
  const int trip = loop.AddVariable(Const(inside, Tensor::Scalar<int32_t>(0)), nabla::Shape::Scalar());
  for (Output value : state) carried.push_back(loop.AddVariable(value, value.shape()));
  loop.SetCondition(Less(loop.condition(), loop.Entering(trip), length));
  loop.SetNext(trip, AddV2(loop.body(), loop.Inside(trip), 1));
  ScanStep step;
  {
    ScopeGuard guard(loop.body());
    Output at = loop.Inside(trip);
    if (options.reverse) at = Sub(loop.body(), Sub(loop.body(), length, 1), at);
    Outputs current, here;
    for (int variable : carried) current.push_back(loop.Inside(variable));
    for (Output tensor : elements) here.push_back(GatherV2(loop.body(), tensor, at, 0));
    step = body(loop.body(), current, here);
  }
  if (!scope.ok()) return result;
  if (step.state.size() != state.size()) {
    scope.RecordError(absl::InvalidArgumentError(absl::StrCat(options.name, ": the body gives ", step.state.size(),
                                                              " tensors of state, expected ", state.size())));
    return result;
  }
  for (size_t i = 0; i < state.size(); ++i) {
    if (!step.state[i]) return result;
    loop.SetNext(carried[i], step.state[i]);
    result.state[i] = loop.Exit(carried[i]);
  }
  for (Output value : step.results) {
    if (!value) return result;
    const int list = loop.AddVariable(NewList(inside, value.dtype()), nabla::Shape::Scalar());
    loop.SetNext(list, TensorListPushBack(loop.body(), loop.Inside(list), value));
    result.results.push_back(Stack(inside, loop.Exit(list), value.dtype(), value.shape(), options.reverse));
  }
  if (!options.back_prop) {
    for (Outputs* all : {&result.state, &result.results}) {
      for (Output& value : *all) value = StopGradient(inside, value);
    }
  }
  return result;
}

Outputs MapFn(const Scope& scope, const Outputs& elements,
              const std::function<Outputs(const Scope& scope, const Outputs& elements)>& body,
              const ScanOptions& options) {
  ScanOptions named = options;
  if (named.name == ScanOptions().name) named.name = "map";
  const auto step = [&](const Scope& s, const Outputs&, const Outputs& here) { return ScanStep{{}, body(s, here)}; };
  return Scan(scope, {}, elements, step, named).results;
}

Outputs FoldLeft(const Scope& scope, const Outputs& state, const Outputs& elements,
                 const std::function<Outputs(const Scope& scope, const Outputs& state, const Outputs& elements)>& body,
                 const ScanOptions& options) {
  ScanOptions named = options;
  if (named.name == ScanOptions().name) named.name = "fold";
  const auto step = [&](const Scope& s, const Outputs& current, const Outputs& here) {
    return ScanStep{body(s, current, here), {}};
  };
  return Scan(scope, state, elements, step, named).state;
}

}  // namespace ops
}  // namespace nabla

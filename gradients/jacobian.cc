#include "nabla/gradients/jacobian.h"

#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "nabla/gradients/batching.h"
#include "nabla/gradients/rule_util.h"
#include "nabla/gradients/transform_util.h"
#include "nabla/graph/logging.h"
#include "nabla/graph/resource_handle.h"
#include "nabla/graph/status_macros.h"
#include "nabla/ops/ops.h"

namespace nabla {
namespace {

// [a..., b...] as an operand; a constant if both are.
Input Joined(const Scope& scope, const Input& a, const Input& b) {
  if (a.output() || b.output()) return ops::ConcatV2(scope, {a, b}, 0);
  std::vector<int64_t> dims(a.value().flat<int64_t>().begin(), a.value().flat<int64_t>().end());
  dims.insert(dims.end(), b.value().flat<int64_t>().begin(), b.value().flat<int64_t>().end());
  return dims;
}

Shape JoinedShape(const Shape& a, const Shape& b) {
  if (!a.has_rank() || !b.has_rank()) return Shape();
  Shape joined = a;
  for (int64_t dim : b.dims()) joined.AddDim(dim);
  return joined;
}

// A number of cotangents: a scalar int32, and what is known of it.
struct Count {
  Output tensor;
  int64_t known = kUnknownDim;
  Input vector(const Scope& scope) const {
    return known == kUnknownDim ? Input(ops::ExpandDims(scope, tensor, 0)) : Input({known});
  }
};

Count NumElements(const Scope& scope, const Shape& known, const std::function<Input()>& shape) {
  const int64_t n = known.num_elements();
  if (n == kUnknownDim) return {ops::Prod(scope, shape(), {0}), n};
  if (n > std::numeric_limits<int32_t>::max()) {
    scope.RecordError(absl::InvalidArgumentError(
        absl::StrCat("the Jacobian of a tensor of shape ", known.ToString(), " has too many rows")));
  }
  return {ops::Const(scope, static_cast<int32_t>(n)), n};
}

// The n unit vectors, as [n] + shape.
Output MakeUnitVectors(const Scope& scope, const Count& n, const Input& shape, DType dtype) {
  const DType real = dtype == DType::kComplex64 ? DType::kFloat : dtype == DType::kComplex128 ? DType::kDouble : dtype;
  Output rows = ops::OneHot(scope, ops::Range(scope, 0, n.tensor, 1), n.tensor, ops::Const(scope, 1, real),
                            ops::Const(scope, 0, real));
  if (real != dtype) rows = ops::Cast(scope, rows, dtype);
  return ops::Reshape(scope, rows, Joined(scope, n.vector(scope), shape));
}

// The gradients of y for many cotangents at once.
class MultiVjp {
 public:
  MultiVjp(const Scope& scope, Output y, const Outputs& xs, const JacobianOptions& options)
      : scope_(scope), y_(y), xs_(xs), options_(options) {}

  // For `cotangents`, [n] + y.shape: [n] + x.shape for each x, none where y does not depend on it.
  absl::StatusOr<Outputs> Run(const Batched& cotangents) {
    JacobianReport report;
    absl::StatusOr<Outputs> rows = absl::UnimplementedError("JacobianOptions::vectorize is false");
    if (options_.vectorize) rows = Vectorized(cotangents);
    report.vectorized = rows.ok();
    if (absl::IsUnimplemented(rows.status()) && scope_.ok()) {
      report.why_not = std::string(rows.status().message());
      rows = OneByOne(cotangents.value);
      if (rows.ok() && options_.vectorize) {
        NABLA_LOG(WARNING) << "the Jacobian of '" << y_.name()
                           << "' takes a backward graph for each element: " << report.why_not;
      }
    }
    if (options_.report != nullptr) *options_.report = std::move(report);
    return rows;
  }

 private:
  absl::StatusOr<Outputs> Pull(Output cotangent) {
    GradientOptions options;
    options.grad_ys = {cotangent};
    options.stop_gradients = options_.stop_gradients;
    NABLA_ASSIGN_OR_RETURN(const Grads grads, Gradients(scope_, {y_}, xs_, options));
    Outputs dense;
    for (const Gradient& grad : grads) dense.push_back(ToDense(scope_, grad));
    NABLA_RETURN_IF_ERROR(scope_.status());
    return dense;
  }

  absl::StatusOr<Outputs> Vectorized(const Batched& cotangents) {
    const Output example = ops::Placeholder(scope_.Named("cotangent"), BaseDType(y_.dtype()), {.shape = y_.shape()});
    NABLA_ASSIGN_OR_RETURN(const Outputs of_one, Pull(example));
    Outputs connected, rows(xs_.size());
    for (Output gradient : of_one) {
      if (gradient) connected.push_back(gradient);
    }
    absl::StatusOr<std::vector<Batched>> batched = Batch(scope_.Sub("batched"), connected, {example}, {cotangents});
    if (batched.ok()) {
      size_t next = 0;
      for (size_t i = 0; i < xs_.size(); ++i) {
        if (of_one[i]) rows[i] = WithBatchAxis((*batched)[next++], cotangents.value, xs_[i]);
      }
    }
    NABLA_RETURN_IF_ERROR(batched.status());
    NABLA_RETURN_IF_ERROR(scope_.status());
    return rows;
  }

  // A gradient that is the same for all cotangents is repeated.
  Output WithBatchAxis(const Batched& row, Output cotangents, Output x) {
    if (row.has_batch_axis) return row.value;
    const ScopeGuard guard(scope_);
    const Output n = SliceRows(ops::Shape(scope_, cotangents), 0, 1);
    return ops::BroadcastTo(scope_, row.value, ops::ConcatV2(scope_, {n, ValueShapeOperand(scope_, x)}, 0));
  }

  absl::StatusOr<Outputs> OneByOne(Output cotangents) {
    const int64_t n = cotangents.shape().rank() > 0 ? cotangents.shape().dim(0) : kUnknownDim;
    if (n == kUnknownDim) {
      return absl::UnimplementedError(absl::StrCat("the Jacobian of '", y_.name(), "' of shape ", y_.shape().ToString(),
                                                   " cannot be unrolled, as its size is unknown"));
    }
    Outputs rows(xs_.size());
    if (n == 0) {
      NABLA_ASSIGN_OR_RETURN(const Outputs row, Pull(ops::ZerosLike(scope_, y_)));
      for (size_t i = 0; i < xs_.size(); ++i) {
        if (row[i]) rows[i] = WithBatchAxis(Batched::Same(row[i]), cotangents, xs_[i]);
      }
      return rows;
    }
    std::vector<Inputs> parts(xs_.size());
    for (Output cotangent : ops::Unpack(scope_, cotangents, n)) {
      NABLA_ASSIGN_OR_RETURN(const Outputs row, Pull(cotangent));
      for (size_t i = 0; i < xs_.size(); ++i) {
        if (row[i]) parts[i].push_back(row[i]);
      }
    }
    for (size_t i = 0; i < xs_.size(); ++i) {
      if (!parts[i].empty()) rows[i] = ops::Pack(scope_, parts[i]);
    }
    return rows;
  }

  const Scope& scope_;
  const Output y_;
  const Outputs& xs_;
  const JacobianOptions& options_;
};

absl::Status CheckTensor(const Scope& scope, Output tensor, absl::string_view what) {
  if (!tensor) return absl::InvalidArgumentError(absl::StrCat(what, " is none"));
  if (tensor.graph() == scope.graph()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, ", '", tensor.name(), "', belongs to another graph than the scope"));
}

absl::Status CheckTensors(const Scope& scope, Output y, const Outputs& xs, absl::string_view what) {
  NABLA_RETURN_IF_ERROR(scope.status());
  NABLA_RETURN_IF_ERROR(CheckTensor(scope, y, absl::StrCat(what, ": y")));
  for (Output x : xs) NABLA_RETURN_IF_ERROR(CheckTensor(scope, x, absl::StrCat(what, ": an x")));
  const DType dtype = BaseDType(y.dtype());
  if (IsFloating(dtype) || IsComplex(dtype)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, ": '", y.name(), "' is of type ", DTypeName(dtype), ", expected a floating or complex type"));
}

// `value` under the shape `shape`, of which `known` is known.
Output Reshaped(const Scope& scope, Output value, const Shape& known, const std::function<Input()>& shape) {
  if (known.IsFullyDefined() && value.shape() == known) return value;
  const Output reshaped = ops::Reshape(scope, value, known.IsFullyDefined() ? Input(known) : shape());
  if (reshaped) scope.RecordError(scope.graph()->RefineShape(reshaped, known));
  return reshaped;
}

// The derivative by an x on which y does not depend.
Output Zeros(const Scope& scope, const Input& shape, Output x) {
  const DType dtype = x.dtype() == DType::kResource ? FindResource(x).dtype : BaseDType(x.dtype());
  return ops::Fill(scope, shape, ops::Const(scope, 0, dtype));
}

}  // namespace

absl::StatusOr<Outputs> Jacobian(const Scope& scope, Output y, const Outputs& xs, const JacobianOptions& options) {
  NABLA_RETURN_IF_ERROR(CheckTensors(scope, y, xs, "Jacobian"));
  const auto lock = scope.graph()->Lock();
  const int first_id = scope.graph()->num_node_ids();
  const Scope inner = scope.Sub(options.name);
  const DType dtype = BaseDType(y.dtype());
  const auto y_shape = [&]() { return ShapeOperand(inner, y); };
  const Count n = NumElements(inner, y.shape(), y_shape);
  const Output units = MakeUnitVectors(inner, n, y_shape(), dtype);
  NABLA_ASSIGN_OR_RETURN(Outputs jacobians, MultiVjp(inner, y, xs, options).Run({units, UnitVectors::kAll}));
  for (size_t i = 0; i < xs.size(); ++i) {
    const auto shape = [&]() { return Joined(inner, y_shape(), ValueShapeOperand(inner, xs[i])); };
    if (jacobians[i]) {
      jacobians[i] = Reshaped(inner, jacobians[i], JoinedShape(y.shape(), ValueShape(xs[i])), shape);
    } else if (options.unconnected == UnconnectedGradients::kZero) {
      jacobians[i] = Zeros(inner, shape(), xs[i]);
    }
  }
  RemoveUnused(scope.graph(), first_id, jacobians);
  NABLA_RETURN_IF_ERROR(inner.status());
  return jacobians;
}

absl::StatusOr<Output> BatchJacobian(const Scope& scope, Output y, Output x, const JacobianOptions& options) {
  NABLA_RETURN_IF_ERROR(CheckTensors(scope, y, {x}, "BatchJacobian"));
  const auto rows_of = [](Output tensor) { return tensor.shape().rank() > 0 ? tensor.shape().dim(0) : kUnknownDim; };
  if (y.shape().rank() == 0 || x.shape().rank() == 0 || x.dtype() == DType::kResource ||
      (rows_of(y) != rows_of(x) && rows_of(y) != kUnknownDim && rows_of(x) != kUnknownDim)) {
    return absl::InvalidArgumentError(absl::StrCat("BatchJacobian: y, '", y.name(), "' of shape ", y.shape().ToString(),
                                                   ", and x, '", x.name(), "' of shape ", x.shape().ToString(),
                                                   ", are not batches of one size"));
  }
  const auto lock = scope.graph()->Lock();
  const int first_id = scope.graph()->num_node_ids();
  const Scope inner = scope.Sub(options.name);
  const ScopeGuard guard(inner);
  const DType dtype = BaseDType(y.dtype());
  // Of one row.
  const auto without_batch = [](Shape shape) {
    if (shape.has_rank()) shape.RemoveDim(0);
    return shape;
  };
  const Shape y_row = without_batch(y.shape()), x_row = without_batch(x.shape());
  const auto row_shape = [&](Output tensor, const Shape& known) {
    return known.IsFullyDefined() ? Input(known) : Input(SliceRows(ops::Shape(inner, tensor), 1, INT64_MAX));
  };
  const Count n = NumElements(inner, y_row, [&]() { return row_shape(y, y_row); });
  // The same cotangent for every row.
  Output cotangents = MakeUnitVectors(inner, n, Joined(inner, Input({1}), row_shape(y, y_row)), dtype);
  cotangents = ops::BroadcastTo(inner, cotangents, Joined(inner, n.vector(inner), ShapeOperand(inner, y)));
  NABLA_ASSIGN_OR_RETURN(const Outputs pulled,
                         MultiVjp(inner, y, {x}, options).Run({cotangents, UnitVectors::kOfEachRow}));
  const auto shape = [&]() { return Joined(inner, ShapeOperand(inner, y), row_shape(x, x_row)); };
  Output jacobian = pulled[0];  // [n, b, m...]
  if (jacobian) {
    Input order = Input(0);
    if (const int rank = jacobian.shape().rank(); rank != kUnknownRank) {
      std::vector<int64_t> swapped(rank);
      std::iota(swapped.begin(), swapped.end(), 0);
      std::swap(swapped[0], swapped[1]);
      order = swapped;
    } else {
      order = ops::ConcatV2(inner, {{1, 0}, ops::Range(inner, 2, ops::Rank(inner, jacobian), 1)}, 0);
    }
    jacobian = Reshaped(inner, ops::Transpose(inner, jacobian, order), JoinedShape(y.shape(), x_row), shape);
  } else if (options.unconnected == UnconnectedGradients::kZero) {
    jacobian = Zeros(inner, shape(), x);
  }
  RemoveUnused(scope.graph(), first_id, {jacobian});
  NABLA_RETURN_IF_ERROR(inner.status());
  return jacobian;
}

}  // namespace nabla

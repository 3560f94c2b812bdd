// Reading and writing at indices that are tensors.
#include "absl/strings/str_cat.h"
#include "nabla/ops/array_ops.h"
#include "nabla/ops/index_rules.h"
#include "nabla/ops/rule_util.h"

namespace nabla {
namespace {

absl::Status GatherShape(ShapeContext& c) {
  NABLA_ASSIGN_OR_RETURN(Shape output, GatherResult(c.input(0), c.input(1), 0, 0));
  return SetCheckedOutput(c, 0, output);
}

absl::Status GatherV2Shape(ShapeContext& c) {
  NABLA_ASSIGN_OR_RETURN(const absl::optional<int64_t> axis, ConstantScalar(c, 2, "axis"));
  NABLA_ASSIGN_OR_RETURN(Shape output, GatherResult(c.input(0), c.input(1), axis, c.attr<int64_t>("batch_dims")));
  return SetCheckedOutput(c, 0, output);
}

absl::Status GatherNdShape(ShapeContext& c) {
  NABLA_ASSIGN_OR_RETURN(Shape output, GatherNdResult(c.input(0), c.input(1)));
  return SetCheckedOutput(c, 0, output);
}

absl::Status ScatterNdShape(ShapeContext& c) {
  NABLA_RETURN_IF_ERROR(c.InputOfRank(2, 1).status());
  if (const auto dims = ConstantInts(c, 2)) {
    for (size_t i = 0; i < dims->size(); ++i) {
      if ((*dims)[i] < 0) {
        return absl::InvalidArgumentError(absl::StrCat("shape[", i, "] is ", (*dims)[i], ", must be at least 0"));
      }
    }
  }
  const Shape output = c.InputAsShape(2);
  NABLA_RETURN_IF_ERROR(CheckScatterNd(c.input(0), c.input(1), output));
  return SetCheckedOutput(c, 0, output);
}

absl::Status TensorScatterShape(ShapeContext& c) {
  NABLA_RETURN_IF_ERROR(CheckScatterNd(c.input(1), c.input(2), c.input(0)));
  c.SetOutput(0, c.input(0));
  return absl::OkStatus();
}

absl::Status OneHotShape(ShapeContext& c) {
  NABLA_ASSIGN_OR_RETURN(const absl::optional<int64_t> depth, ConstantScalar(c, 1, "depth"));
  NABLA_RETURN_IF_ERROR(c.InputOfRank(2, 0).status());
  NABLA_RETURN_IF_ERROR(c.InputOfRank(3, 0).status());
  const int64_t axis = c.attr<int64_t>("axis");
  if (axis < -1) return absl::InvalidArgumentError(absl::StrCat("attr axis is ", axis, ", must be at least -1"));
  if (depth.has_value() && *depth < 0) {
    return absl::InvalidArgumentError(absl::StrCat("depth is ", *depth, ", must be at least 0"));
  }
  Shape output = c.input(0);
  if (!output.has_rank()) return absl::OkStatus();
  NABLA_ASSIGN_OR_RETURN(const int at, ShapeContext::ResolveAxis(axis, output.rank() + 1));
  output.InsertDim(at, depth.value_or(kUnknownDim));
  return SetCheckedOutput(c, 0, output);
}

absl::Status WhereShape(ShapeContext& c) {
  const Shape& input = c.input(0);
  c.SetOutput(0, Shape({kUnknownDim, input.has_rank() ? input.rank() : kUnknownDim}));
  return absl::OkStatus();
}

absl::Status UniqueShape(ShapeContext& c) {
  NABLA_ASSIGN_OR_RETURN(Shape x, c.InputOfRank(0, 1));
  c.SetOutput(0, Shape({kUnknownDim}));
  c.SetOutput(1, std::move(x));
  return absl::OkStatus();
}

absl::Status UniqueV2Shape(ShapeContext& c) {
  NABLA_ASSIGN_OR_RETURN(const Shape axis_shape, c.InputOfRank(1, 1));
  const Shape& x = c.input(0);
  c.SetOutput(1, Shape({kUnknownDim}));
  const absl::optional<std::vector<int64_t>> axes = ConstantInts(c, 1);
  const int64_t num_axes = axes.has_value() ? static_cast<int64_t>(axes->size()) : axis_shape.dim(0);
  if (num_axes > 1) {
    return absl::InvalidArgumentError(absl::StrCat("axis must have at most one element, got ", num_axes));
  }
  if (num_axes == 0) {
    // No axis: x must be a vector.
    NABLA_ASSIGN_OR_RETURN(Shape vector, c.InputOfRank(0, 1));
    c.SetOutput(0, Shape({kUnknownDim}));
    c.SetOutput(1, std::move(vector));
    return absl::OkStatus();
  }
  if (!x.has_rank()) return absl::OkStatus();
  if (!axes.has_value()) {
    c.SetOutput(0, Shape::UnknownOfRank(x.rank()));
    return absl::OkStatus();
  }
  NABLA_ASSIGN_OR_RETURN(const int axis, ShapeContext::ResolveAxis((*axes)[0], x.rank()));
  Shape y = x;
  y.set_dim(axis, kUnknownDim);
  c.SetOutput(0, std::move(y));
  c.SetOutput(1, Shape({x.dim(axis)}));
  return absl::OkStatus();
}

}  // namespace

void RegisterGatherArrayOps(OpRegistry& registry) {
  registry.Add("Gather")
      .Input("params: Tparams")
      .Input("indices: Tindices")
      .Output("output: Tparams")
      .Attr("validate_indices: bool = true")
      .Attr("Tparams: type")
      .Attr("Tindices: {int32, int64}")
      .Doc(R"(Rows of a tensor: output[i…] = params[indices[i…]].

params: rank 1 or more. indices: any shape, values in [0, params.shape[0]).
output: indices.shape + params.shape[1:].
Gradient: for `params`, IndexedSlices of the output's gradient at `indices`.)")
      .Shape(GatherShape);

  registry.Add("GatherV2")
      .Input("params: Tparams")
      .Input("indices: Tindices")
      .Input("axis: Taxis")
      .Output("output: Tparams")
      .Attr("batch_dims: int = 0")
      .Attr("Tparams: type")
      .Attr("Tindices: {int16, int32, int64}")
      .Attr("Taxis: {int32, int64}")
      .Doc(R"(Slices of a tensor along one dimension, picked by index.

axis: the dimension, a scalar in [-rank, rank).
indices: any shape, values in [0, params.shape[axis]).
batch_dims: how many leading dimensions params and indices have in common (each batch picks from its own part); at most
  `axis`; negative counts from the end of indices' dimensions.
output: params.shape[:axis] + indices.shape[batch_dims:] + params.shape[axis + 1:].
Gradient: for `params`, IndexedSlices if axis is 0, else a sum over equal indices.)")
      .Shape(GatherV2Shape);

  registry.Add("GatherNd")
      .Input("params: Tparams")
      .Input("indices: Tindices")
      .Output("output: Tparams")
      .Attr("Tparams: type")
      .Attr("Tindices: {int16, int32, int64}")
      .Attr("bad_indices_policy: string = ''")
      .Doc(R"(Slices of a tensor picked by index tuples: output[i…] = params[indices[i…, 0], indices[i…, 1], …].

indices: [..., K] with K at most the rank of params.
bad_indices_policy: what an index that is out of range does: "" or ERROR fails the run, IGNORE gives zeros.
output: indices.shape[:-1] + params.shape[K:].
Gradient: for `params`, ScatterNd of the output's gradient.)")
      .Shape(GatherNdShape);

  registry.Add("ScatterNd")
      .Input("indices: Tindices")
      .Input("updates: T")
      .Input("shape: Tindices")
      .Output("output: T")
      .Attr("T: type")
      .Attr("Tindices: {int16, int32, int64}")
      .Attr("bad_indices_policy: string = ''")
      .Doc(R"(Zeros of shape `shape`, to which slices are added at index tuples.

indices: [..., K] with K at most the output's rank; slices at equal tuples add up, in their order.
updates: indices.shape[:-1] + shape[K:].
shape: the output's shape, a vector.
bad_indices_policy: what an index that is out of range does: "" or ERROR fails the run, IGNORE skips it.
Gradient: for `updates`, GatherNd of the output's gradient.)")
      .Shape(ScatterNdShape);

  registry.Add("TensorScatterUpdate")
      .Input("tensor: T")
      .Input("indices: Tindices")
      .Input("updates: T")
      .Output("output: T")
      .Attr("T: type")
      .Attr("Tindices: {int16, int32, int64, uint16}")
      .Attr("bad_indices_policy: string = ''")
      .Doc(R"(A copy of `tensor` with slices replaced at index tuples; of equal tuples the last wins.

indices: [..., K] with K at most the rank of tensor. updates: indices.shape[:-1] + tensor.shape[K:].
bad_indices_policy: what an index that is out of range does: "" or ERROR fails the run, IGNORE skips it.
Gradient: for `updates`, the output's gradient gathered at indices; for `tensor`, it with zeros there.)")
      .Shape(TensorScatterShape);

  registry.Add("TensorScatterAdd")
      .Input("tensor: T")
      .Input("indices: Tindices")
      .Input("updates: T")
      .Output("output: T")
      .Attr("T: type")
      .Attr("Tindices: {int32, int64}")
      .Attr("bad_indices_policy: string = ''")
      .Doc(R"(A copy of `tensor` with slices added at index tuples; those at equal tuples add up, in their order.

indices: [..., K] with K at most the rank of tensor. updates: indices.shape[:-1] + tensor.shape[K:].
bad_indices_policy: what an index that is out of range does: "" or ERROR fails the run, IGNORE skips it.
Gradient: for `tensor`, passes unchanged; for `updates`, gathered at indices.)")
      .Shape(TensorScatterShape);

  registry.Add("TensorScatterSub")
      .Input("tensor: T")
      .Input("indices: Tindices")
      .Input("updates: T")
      .Output("output: T")
      .Attr("T: type")
      .Attr("Tindices: {int32, int64}")
      .Attr("bad_indices_policy: string = ''")
      .Doc(R"(A copy of `tensor` with slices subtracted at index tuples, in their order.

indices: [..., K] with K at most the rank of tensor. updates: indices.shape[:-1] + tensor.shape[K:].
bad_indices_policy: what an index that is out of range does: "" or ERROR fails the run, IGNORE skips it.
Gradient: for `tensor`, passes unchanged; for `updates`, negated and gathered at indices.)")
      .Shape(TensorScatterShape);

  registry.Add("OneHot")
      .Input("indices: TI")
      .Input("depth: int32")
      .Input("on_value: T")
      .Input("off_value: T")
      .Output("output: T")
      .Attr("axis: int = -1")
      .Attr("T: type")
      .Attr("TI: {uint8, int8, int32, int64} = int64")
      .Doc(R"(A new dimension of size `depth` with `on_value` at each index and `off_value` elsewhere.

indices: any shape; an index outside [0, depth) gives only off_value.
depth, on_value, off_value: scalars.
axis: where the dimension is inserted; -1 is last.
Gradient: for `on_value` and `off_value`, the sum of the output's gradient over their places.)")
      .Shape(OneHotShape);

  registry.Add("Where")
      .Input("input: T")
      .Output("index: int64")
      .Attr(
          "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, "
          "quint16, uint16, complex128, half, uint32, uint64, bool} = bool")
      .Doc(R"(The indices of the elements that are true (or not zero), in row-major order.

index: [n, rank of input]. No gradient.)")
      .Shape(WhereShape);

  registry.Add("Unique")
      .Input("x: T")
      .Output("y: T")
      .Output("idx: out_idx")
      .Attr("T: type")
      .Attr("out_idx: {int32, int64} = int32")
      .Doc(R"(The distinct elements of a vector, in the order of their first occurrence.

y: the distinct elements. idx: for each element of x, where it is in y: y[idx[i]] = x[i]. No gradient.)")
      .Shape(UniqueShape);

  registry.Add("UniqueV2")
      .Input("x: T")
      .Input("axis: Taxis")
      .Output("y: T")
      .Output("idx: out_idx")
      .Attr("T: type")
      .Attr("Taxis: {int32, int64} = int64")
      .Attr("out_idx: {int32, int64} = int32")
      .Doc(R"(The distinct slices of a tensor along one dimension, in the order of their first occurrence.

axis: a vector of the one dimension, in [-rank, rank); or of none, if x is a vector.
y: x with repeated slices dropped. idx: for each slice of x, where it is in y. No gradient.)")
      .Shape(UniqueV2Shape);
}

}  // namespace nabla

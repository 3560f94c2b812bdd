// Functions that combine the elements along axes: reductions, arg-reductions, scans, segment sums, and sums of lists.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "nabla/graph/shape_inference.h"
#include "nabla/ops/math_ops.h"
#include "nabla/ops/rule_util.h"

namespace nabla {
namespace {

void Reduction(OpRegistry& registry, const char* name, const char* types, const char* doc) {
  registry.Add(name)
      .Input("input: T")
      .Input("reduction_indices: Tidx")
      .Output("output: T")
      .Attr("keep_dims: bool = false")
      .Attr(types)
      .Attr("Tidx: {int32, int64} = int32")
      .Doc(doc)
      .Shape(ReductionShape);
}

void BoolReduction(OpRegistry& registry, const char* name, const char* doc) {
  registry.Add(name)
      .Input("input: bool")
      .Input("reduction_indices: Tidx")
      .Output("output: bool")
      .Attr("keep_dims: bool = false")
      .Attr("Tidx: {int32, int64} = int32")
      .Doc(doc)
      .Shape(ReductionShape);
}

void RegisterReductions(OpRegistry& registry) {
  constexpr char kNumbers[] = "T: numbertype";
  constexpr char kOrdered[] =
      "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, qint8, quint8, "
      "qint32, qint16, quint16}";
  Reduction(registry, "Sum", kNumbers,
            "The sum over the axes reduction_indices (a scalar or vector; negative ones count from the end; an empty "
            "vector changes nothing), which go, or stay with size 1 if keep_dims.\nGradient: dy broadcast to input.");
  Reduction(registry, "Mean", kNumbers,
            "The average over the axes reduction_indices (as for Sum); NaN over no elements, and truncated for "
            "integers.\nGradient: dy broadcast to input, divided by the number of elements averaged.");
  Reduction(registry, "Prod", kNumbers,
            "The product over the axes reduction_indices (as for Sum); 1 over no elements.\n"
            "Gradient: dy times the product of the other elements.");
  Reduction(registry, "Max", kOrdered,
            "The largest element over the axes reduction_indices (as for Sum); the lowest value of T over no "
            "elements.\nGradient: dy, shared equally by the elements that reach the maximum.");
  Reduction(registry, "Min", kOrdered,
            "The smallest element over the axes reduction_indices (as for Sum); the highest value of T over no "
            "elements.\nGradient: dy, shared equally by the elements that reach the minimum.");
  BoolReduction(registry, "All",
                "Whether all elements over the axes reduction_indices (as for Sum) are true; true over none. Not "
                "differentiable.");
  BoolReduction(registry, "Any",
                "Whether some element over the axes reduction_indices (as for Sum) is true; false over none. Not "
                "differentiable.");
}

// The input's shape without one axis.
absl::Status ArgReductionShape(ShapeContext& c) {
  NABLA_RETURN_IF_ERROR(c.InputOfRank(1, 0).status());
  const Shape& input = c.input(0);
  if (!input.has_rank()) return absl::OkStatus();
  NABLA_ASSIGN_OR_RETURN(absl::optional<int64_t> axis, ConstantScalar(c, 1, "dimension"));
  if (!axis.has_value()) {
    c.SetOutput(0, input.rank() <= 1 ? Shape::Scalar() : Shape::UnknownOfRank(input.rank() - 1));
    return absl::OkStatus();
  }
  // A scalar counts as a vector of one element.
  NABLA_ASSIGN_OR_RETURN(int resolved, c.ResolveAxis(*axis, std::max(input.rank(), 1)));
  Shape output = input;
  if (input.rank() > 0) output.RemoveDim(resolved);
  c.SetOutput(0, output);
  return absl::OkStatus();
}

void RegisterArgReductions(OpRegistry& registry) {
  constexpr char kTypes[] =
      "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64, qint8, quint8, "
      "qint32, qint16, quint16, bool}";
  registry.Add("ArgMax")
      .Input("input: T")
      .Input("dimension: Tidx")
      .Output("output: output_type")
      .Attr(kTypes)
      .Attr("Tidx: {int16, int32, int64} = int32")
      .Attr("output_type: {int16, uint16, int32, int64} = int64")
      .Doc(
          "The index of the largest element along the axis `dimension` (a scalar), the first one of equals. The axis "
          "goes. Not differentiable.")
      .Shape(ArgReductionShape);
  registry.Add("ArgMin")
      .Input("input: T")
      .Input("dimension: Tidx")
      .Output("output: output_type")
      .Attr(kTypes)
      .Attr("Tidx: {int32, int64} = int32")
      .Attr("output_type: {int32, int64} = int64")
      .Doc(
          "The index of the smallest element along the axis `dimension` (a scalar), the first one of equals. The "
          "axis goes. Not differentiable.")
      .Shape(ArgReductionShape);
}

absl::Status ScanShape(ShapeContext& c) {
  NABLA_ASSIGN_OR_RETURN(Shape input, c.InputOfRankAtLeast(0, 0));
  NABLA_ASSIGN_OR_RETURN(absl::optional<int64_t> axis, ConstantScalar(c, 1, "axis"));
  if (axis.has_value() && input.has_rank()) NABLA_RETURN_IF_ERROR(c.ResolveAxis(*axis, input.rank()).status());
  c.SetOutput(0, c.input(0));
  return absl::OkStatus();
}

void Scan(OpRegistry& registry, const char* name, const char* doc) {
  registry.Add(name)
      .Input("x: T")
      .Input("axis: Tidx")
      .Output("out: T")
      .Attr("exclusive: bool = false")
      .Attr("reverse: bool = false")
      .Attr("T: numbertype")
      .Attr("Tidx: {int32, int64} = int32")
      .Doc(doc)
      .Shape(ScanShape);
}

// [segments] + the data's dimensions after those of the ids, which must be the data's first ones.
absl::Status SegmentsShape(ShapeContext& c, int64_t segments) {
  const Shape& data = c.input(0);
  const Shape& ids = c.input(1);
  if (!ids.has_rank()) return absl::OkStatus();
  NABLA_ASSIGN_OR_RETURN(Shape checked, c.InputOfRankAtLeast(0, ids.rank()));
  if (!data.has_rank()) return absl::OkStatus();
  for (int i = 0; i < ids.rank(); ++i) NABLA_RETURN_IF_ERROR(c.MergeDims(data.dim(i), ids.dim(i)).status());
  return SetCheckedOutput(c, 0, ConcatShapes(Shape({segments}), SubShape(data, ids.rank(), data.rank())));
}

absl::Status UnsortedSegmentShape(ShapeContext& c) {
  NABLA_RETURN_IF_ERROR(c.InputOfRank(2, 0).status());
  NABLA_ASSIGN_OR_RETURN(absl::optional<int64_t> segments, ConstantScalar(c, 2, "num_segments"));
  if (segments.has_value() && *segments < 0) {
    return absl::InvalidArgumentError(absl::StrCat("num_segments must not be negative, but is ", *segments));
  }
  return SegmentsShape(c, segments.value_or(kUnknownDim));
}

absl::Status SegmentShape(ShapeContext& c) {
  NABLA_RETURN_IF_ERROR(c.InputOfRank(1, 1).status());
  NABLA_RETURN_IF_ERROR(c.InputOfRankAtLeast(0, 1).status());
  const Shape& data = c.input(0);
  if (!data.has_rank()) return absl::OkStatus();
  if (c.input(1).has_rank()) NABLA_RETURN_IF_ERROR(c.MergeDims(data.dim(0), c.input(1).dim(0)).status());
  Shape output = data;
  output.set_dim(0, kUnknownDim);
  c.SetOutput(0, output);
  return absl::OkStatus();
}

void RegisterScansAndSegments(OpRegistry& registry) {
  Scan(registry, "Cumsum",
       "Running sums along `axis` (a scalar): out[i] = x[0] + … + x[i].\nexclusive: without x[i] itself; reverse: "
       "from the end. Gradient: Cumsum of dy the other way round.");
  Scan(registry, "Cumprod",
       "Running products along `axis` (a scalar): out[i] = x[0] · … · x[i].\nexclusive: without x[i] itself; "
       "reverse: from the end. Gradient: Cumsum of out dy the other way round, divided by x.");
  registry.Add("UnsortedSegmentSum")
      .Input("data: T")
      .Input("segment_ids: Tindices")
      .Input("num_segments: Tnumsegments")
      .Output("output: T")
      .Attr("T: numbertype")
      .Attr("Tindices: {int16, int32, int64}")
      .Attr("Tnumsegments: {int32, int64} = int32")
      .Doc(
          "output[s] is the sum of the data whose id is s, for s below num_segments; 0 where there are none, and "
          "negative ids are left out. segment_ids' shape is that of data's first axes.\n"
          "Gradient: Gather of dy's rows, zero for negative ids.")
      .Shape(UnsortedSegmentShape);
  registry.Add("SegmentSum")
      .Input("data: T")
      .Input("segment_ids: Tindices")
      .Output("output: T")
      .Attr("T: numbertype")
      .Attr("Tindices: {int32, int64}")
      .Doc(
          "output[s] is the sum of the rows of data whose id is s. segment_ids is a vector, one per row, that does "
          "not decrease; its last element tells the number of segments. Gradient: Gather of dy's rows.")
      .Shape(SegmentShape);
}

absl::Status AccumulateShape(ShapeContext& c) {
  Shape sum = c.attr<Shape>("shape");
  for (int i = 0; i < c.num_inputs(); ++i) {
    NABLA_ASSIGN_OR_RETURN(sum, sum.MergeWith(c.input(i)));
  }
  c.SetOutput(0, sum);
  return absl::OkStatus();
}

void RegisterSumsOfLists(OpRegistry& registry) {
  registry.Add("AddN")
      .Input("inputs: N * T")
      .Output("sum: T")
      .Attr("N: int >= 1")
      .Attr(
          "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, "
          "quint16, uint16, complex128, half, uint32, uint64, variant}")
      .Doc("The sum of tensors of one shape, added in their order. Gradients: dy for each.")
      .Commutative()
      .Shape(MergedInputsShape);
  registry.Add("AccumulateNV2")
      .Input("inputs: N * T")
      .Output("sum: T")
      .Attr("N: int >= 1")
      .Attr("T: numbertype")
      .Attr("shape: shape")
      .Doc(
          "AddN for tensors whose shape is known and given, which may be added as they arrive. Gradients: dy for each.")
      .Commutative()
      .Shape(AccumulateShape);
}

}  // namespace

void RegisterMathReductionOps(OpRegistry& registry) {
  RegisterReductions(registry);
  RegisterArgReductions(registry);
  RegisterScansAndSegments(registry);
  RegisterSumsOfLists(registry);
}

}  // namespace nabla

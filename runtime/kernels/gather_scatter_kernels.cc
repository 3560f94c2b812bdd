// Gathers, scatters and segment sums of tensors.
#include "nabla/runtime/kernels/gather_scatter.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "nabla/runtime/dtype_switch.h"
#include "nabla/runtime/kernels/arguments.h"
#include "nabla/runtime/kernels/copy.h"
#include "nabla/runtime/kernels/indices.h"
#include "nabla/runtime/kernels/kernels.h"

namespace nabla {

absl::StatusOr<bool> IgnoresBadIndices(const Node& node) {
  const std::string* policy = node.attr<std::string>("bad_indices_policy");
  if (policy == nullptr || policy->empty() || *policy == "DEFAULT" || *policy == "ERROR") return false;
  if (*policy == "IGNORE") return true;
  return absl::InvalidArgumentError(
      absl::StrCat("bad_indices_policy is '", *policy, "', must be '', DEFAULT, ERROR or IGNORE"));
}

namespace {

absl::Status GatherCompute(KernelContext& ctx) { return GatherSlices(ctx, ctx.input(0), ctx.input(1), 0, 0, 0); }

absl::Status GatherV2Compute(KernelContext& ctx) {
  NABLA_ASSIGN_OR_RETURN(const int64_t axis, IntegerScalar(ctx.input(2), "axis"));
  return GatherSlices(ctx, ctx.input(0), ctx.input(1), axis, ctx.node().GetAttr<int64_t>("batch_dims"), 0);
}

absl::Status GatherNdCompute(KernelContext& ctx) {
  NABLA_ASSIGN_OR_RETURN(const bool ignore, IgnoresBadIndices(ctx.node()));
  return GatherTuples(ctx, ctx.input(0), ctx.input(1), ignore, 0);
}

absl::Status ScatterNdCompute(KernelContext& ctx) {
  NABLA_ASSIGN_OR_RETURN(const bool ignore, IgnoresBadIndices(ctx.node()));
  NABLA_ASSIGN_OR_RETURN(const Shape shape, ShapeFromVector(ctx.input(2), "shape"));
  NABLA_ASSIGN_OR_RETURN(Tensor * output, ctx.AllocateOutput(0, shape));
  NABLA_RETURN_IF_ERROR(ZeroElements(ctx, output->dtype(), output->num_elements(), output->raw_data()));
  return ScatterTuples(ctx, ScatterMode::kAdd, ctx.input(0), ctx.input(1), ignore, output);
}

// `tensor` with bytes of this op's own: in place if nobody else needs it.
absl::StatusOr<Tensor> OwnCopy(KernelContext& ctx, int i) {
  Tensor taken = ctx.TakeInput(i);
  if (taken.valid()) return taken;
  const Tensor& input = ctx.input(i);
  NABLA_ASSIGN_OR_RETURN(Tensor copy, ctx.AllocateTemp(input.dtype(), input.shape()));
  NABLA_RETURN_IF_ERROR(CopyRun(ctx, input.dtype(), input.num_elements(), input.raw_data(), copy.raw_data()));
  return copy;
}

template <ScatterMode mode>
absl::Status TensorScatterCompute(KernelContext& ctx) {
  NABLA_ASSIGN_OR_RETURN(const bool ignore, IgnoresBadIndices(ctx.node()));
  NABLA_ASSIGN_OR_RETURN(Tensor target, OwnCopy(ctx, 0));
  NABLA_RETURN_IF_ERROR(ScatterTuples(ctx, mode, ctx.input(1), ctx.input(2), ignore, &target));
  ctx.SetOutput(0, std::move(target));
  return absl::OkStatus();
}

absl::Status UnsortedSegmentSumCompute(KernelContext& ctx) {
  const Tensor& data = ctx.input(0);
  NABLA_ASSIGN_OR_RETURN(const Tensor segments, WideIndices(ctx.input(1)));
  if (ctx.input(2).rank() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_segments must be a scalar, has shape ", ctx.input(2).shape().ToString()));
  }
  NABLA_ASSIGN_OR_RETURN(const int64_t count, IntegerScalar(ctx.input(2), "num_segments"));
  if (count < 0) return absl::InvalidArgumentError(absl::StrCat("num_segments is ", count, ", must be at least 0"));
  bool prefix = segments.rank() <= data.rank();
  for (int i = 0; prefix && i < segments.rank(); ++i) prefix = segments.dim(i) == data.dim(i);
  if (!prefix) {
    return absl::InvalidArgumentError(
        absl::StrCat("data.shape = ", data.shape().ToString(),
                     " does not start with segment_ids.shape = ", segments.shape().ToString()));
  }
  Shape shape({count});
  for (int i = segments.rank(); i < data.rank(); ++i) shape.AddDim(data.dim(i));
  NABLA_ASSIGN_OR_RETURN(shape, Shape::FromDims(shape.dims()));
  NABLA_ASSIGN_OR_RETURN(Tensor * output, ctx.AllocateOutput(0, shape));
  NABLA_RETURN_IF_ERROR(ZeroElements(ctx, output->dtype(), output->num_elements(), output->raw_data()));
  if (data.num_elements() == 0) return absl::OkStatus();
  return AddSegments(ctx, segments, data, output);
}

absl::Status SegmentSumCompute(KernelContext& ctx) {
  const Tensor& data = ctx.input(0);
  NABLA_ASSIGN_OR_RETURN(const Tensor segments, WideIndices(ctx.input(1)));
  if (segments.rank() != 1 || data.rank() < 1 || segments.dim(0) != data.dim(0)) {
    return absl::InvalidArgumentError(absl::StrCat("segment_ids must be a vector with an element for each row of data ",
                                                   data.shape().ToString(), ", but has shape ",
                                                   segments.shape().ToString()));
  }
  int64_t count = 0;
  NABLA_RETURN_IF_ERROR(SwitchIndex(segments.dtype(), [&](auto zero) -> absl::Status {
    using Index = decltype(zero);
    const absl::Span<const Index> ids = segments.flat<Index>();
    for (size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] < (i == 0 ? 0 : ids[i - 1])) {
        return absl::InvalidArgumentError(
            absl::StrCat("segment_ids[", i, "] is ", ids[i], ", must not be negative or below the one before it"));
      }
    }
    if (!ids.empty()) {
      if (ids.back() == std::numeric_limits<int64_t>::max()) {
        return absl::InvalidArgumentError("the last segment id is too large");
      }
      count = int64_t{ids.back()} + 1;
    }
    return absl::OkStatus();
  }));
  Shape shape = data.shape();
  shape.set_dim(0, count);
  NABLA_ASSIGN_OR_RETURN(shape, Shape::FromDims(shape.dims()));
  NABLA_ASSIGN_OR_RETURN(Tensor * output, ctx.AllocateOutput(0, shape));
  NABLA_RETURN_IF_ERROR(ZeroElements(ctx, output->dtype(), output->num_elements(), output->raw_data()));
  if (data.num_elements() == 0) return absl::OkStatus();
  return AddSegments(ctx, segments, data, output);
}

}  // namespace

void RegisterGatherScatterKernels(KernelRegistry& registry) {
  registry.Add("Gather", GatherCompute);
  registry.Add("GatherV2", GatherV2Compute);
  registry.Add("GatherNd", GatherNdCompute);
  registry.Add("ScatterNd", ScatterNdCompute);
  registry.Add("TensorScatterUpdate", TensorScatterCompute<ScatterMode::kUpdate>);
  registry.Add("TensorScatterAdd", TensorScatterCompute<ScatterMode::kAdd>);
  registry.Add("TensorScatterSub", TensorScatterCompute<ScatterMode::kSub>);
  registry.Add("UnsortedSegmentSum", UnsortedSegmentSumCompute);
  registry.Add("SegmentSum", SegmentSumCompute);
  RegisterIndexKernels(registry);
}

}  // namespace nabla

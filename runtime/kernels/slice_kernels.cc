// Taking parts of tensors, and putting borders around them.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "nabla/graph/strided_slice.h"
#include "nabla/runtime/kernels/arguments.h"
#include "nabla/runtime/kernels/copy.h"
#include "nabla/runtime/kernels/kernels.h"

namespace nabla {
namespace {

absl::StatusOr<Integers> VectorOfRank(const Tensor& tensor, int rank, absl::string_view what) {
  NABLA_ASSIGN_OR_RETURN(Integers values, IntegerVector(tensor, what));
  if (static_cast<int>(values.size()) != rank) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " has ", values.size(), " elements, but the input has ", rank, " dimensions"));
  }
  return values;
}

absl::Status SliceCompute(KernelContext& ctx) {
  const Tensor& input = ctx.input(0);
  const int rank = input.rank();
  NABLA_ASSIGN_OR_RETURN(const Integers begin, VectorOfRank(ctx.input(1), rank, "begin"));
  NABLA_ASSIGN_OR_RETURN(Integers size, VectorOfRank(ctx.input(2), rank, "size"));
  for (int i = 0; i < rank; ++i) {
    const int64_t dim = input.dim(i);
    if (begin[i] < 0 || begin[i] > dim) {
      return absl::InvalidArgumentError(absl::StrCat("begin[", i, "] = ", begin[i], " is not in [0, ", dim, "]"));
    }
    if (size[i] == -1) size[i] = dim - begin[i];
    if (size[i] < 0 || size[i] > dim - begin[i]) {
      return absl::InvalidArgumentError(
          absl::StrCat("size[", i, "] = ", size[i], " is not in [0, ", dim - begin[i], "] (or -1)"));
    }
  }
  const Shape shape(size);
  if (shape == input.shape()) {
    ctx.SetOutput(0, input);
    return absl::OkStatus();
  }
  NABLA_ASSIGN_OR_RETURN(Tensor * output, ctx.AllocateOutput(0, shape));
  if (output->num_elements() == 0) return absl::OkStatus();
  const auto from = StridesOf(input.shape()), to = StridesOf(shape);
  CopyLoops loops;
  int64_t offset = 0;
  for (int i = 0; i < rank; ++i) {
    offset += begin[i] * from[i];
    loops.Add(size[i], from[i], to[i]);
  }
  return CopyElements(ctx, input.dtype(), std::move(loops), ElementAt(input.dtype(), input.raw_data(), offset),
                      output->raw_data());
}

absl::StatusOr<ResolvedSlice> ResolveSlice(KernelContext& ctx, const Shape& shape, const StridedSliceMasks& masks) {
  NABLA_ASSIGN_OR_RETURN(const Integers begin, IntegerVector(ctx.input(1), "begin"));
  NABLA_ASSIGN_OR_RETURN(const Integers end, IntegerVector(ctx.input(2), "end"));
  NABLA_ASSIGN_OR_RETURN(const Integers strides, IntegerVector(ctx.input(3), "strides"));
  if (begin.size() != strides.size() || end.size() != strides.size()) {
    return absl::InvalidArgumentError(absl::StrCat("begin, end and strides must have the same length, got ",
                                                   begin.size(), ", ", end.size(), " and ", strides.size()));
  }
  return ResolveStridedSlice(shape, begin, end, strides, masks);
}

// The place of the slice's elements in a tensor of the sliced shape: the first one's offset, and the loops over all,
// with the strides of that tensor and those of the slice.
struct SlicePlaces {
  struct Place {
    int64_t size, sliced_stride, compact_stride;
  };
  int64_t offset = 0;
  absl::InlinedVector<Place, 6> places;
};

SlicePlaces PlacesOf(const ResolvedSlice& slice, const Shape& sliced) {
  SlicePlaces result;
  const auto strides = StridesOf(sliced);
  int64_t compact = 1;
  result.places.resize(slice.dims.size());
  for (int i = static_cast<int>(slice.dims.size()) - 1; i >= 0; --i) {
    const ResolvedSlice::Dimension& dim = slice.dims[i];
    result.offset += dim.begin * strides[i];
    // The stride of a single element may be anything, also too large to multiply with.
    result.places[i] = {dim.size, dim.size > 1 ? dim.stride * strides[i] : 0, compact};
    compact *= dim.size;
  }
  return result;
}

class StridedSliceKernel : public Kernel {
 public:
  explicit StridedSliceKernel(const KernelInit& init) : masks_(MasksFromAttrs(init.node().attrs())) {}
  absl::Status Compute(KernelContext& ctx) const override {
    const Tensor& input = ctx.input(0);
    NABLA_ASSIGN_OR_RETURN(const ResolvedSlice slice, ResolveSlice(ctx, input.shape(), masks_));
    NABLA_ASSIGN_OR_RETURN(Shape shape, Shape::FromDims(slice.output.dims()));
    if (slice.is_whole) {
      ctx.SetOutput(0, input.Reshaped(std::move(shape)));
      return absl::OkStatus();
    }
    NABLA_ASSIGN_OR_RETURN(Tensor * output, ctx.AllocateOutput(0, shape));
    if (output->num_elements() == 0) return absl::OkStatus();
    const SlicePlaces places = PlacesOf(slice, input.shape());
    CopyLoops loops;
    for (const auto& place : places.places) loops.Add(place.size, place.sliced_stride, place.compact_stride);
    return CopyElements(ctx, input.dtype(), std::move(loops), ElementAt(input.dtype(), input.raw_data(), places.offset),
                        output->raw_data());
  }

 private:
  const StridedSliceMasks masks_;
};

class StridedSliceGradKernel : public Kernel {
 public:
  explicit StridedSliceGradKernel(const KernelInit& init) : masks_(MasksFromAttrs(init.node().attrs())) {}
  absl::Status Compute(KernelContext& ctx) const override {
    const Tensor& dy = ctx.input(4);
    NABLA_ASSIGN_OR_RETURN(const Shape shape, ShapeFromVector(ctx.input(0), "shape"));
    NABLA_ASSIGN_OR_RETURN(const ResolvedSlice slice, ResolveSlice(ctx, shape, masks_));
    if (slice.output != dy.shape()) {
      return absl::InvalidArgumentError(
          absl::StrCat("dy has shape ", dy.shape().ToString(), ", but the slice has ", slice.output.ToString()));
    }
    if (slice.is_whole) {
      ctx.SetOutput(0, dy.Reshaped(shape));
      return absl::OkStatus();
    }
    NABLA_ASSIGN_OR_RETURN(Tensor * output, ctx.AllocateOutput(0, shape));
    NABLA_RETURN_IF_ERROR(ZeroElements(ctx, output->dtype(), output->num_elements(), output->raw_data()));
    if (dy.num_elements() == 0) return absl::OkStatus();
    const SlicePlaces places = PlacesOf(slice, shape);
    CopyLoops loops;
    for (const auto& place : places.places) loops.Add(place.size, place.compact_stride, place.sliced_stride);
    return CopyElements(ctx, dy.dtype(), std::move(loops), dy.raw_data(),
                        ElementAt(output->dtype(), output->raw_data(), places.offset));
  }

 private:
  const StridedSliceMasks masks_;
};

absl::StatusOr<Integers> ReadPaddings(const Tensor& paddings, int rank) {
  if (paddings.rank() != 2 || paddings.dim(0) != rank || paddings.dim(1) != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("paddings must have shape [", rank, ",2], has ", paddings.shape().ToString()));
  }
  NABLA_ASSIGN_OR_RETURN(Integers values,
                         IntegerVector(paddings.Reshaped(Shape({2 * rank})), "paddings", 2 * kMaxRank));
  for (int i = 0; i < rank; ++i) {
    if (values[2 * i] < 0 || values[2 * i + 1] < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("paddings[", i, "] is (", values[2 * i], ", ", values[2 * i + 1], "), must not be negative"));
    }
  }
  return values;
}

// Pad and PadV2.
absl::Status PadCompute(KernelContext& ctx) {
  const Tensor& input = ctx.input(0);
  const int rank = input.rank();
  NABLA_ASSIGN_OR_RETURN(const Integers paddings, ReadPaddings(ctx.input(1), rank));
  if (ctx.num_inputs() > 2 && ctx.input(2).rank() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("constant_values must be a scalar, has shape ", ctx.input(2).shape().ToString()));
  }
  Shape shape = input.shape();
  for (int i = 0; i < rank; ++i) {
    int64_t dim = shape.dim(i);
    if (__builtin_add_overflow(dim, paddings[2 * i], &dim) || __builtin_add_overflow(dim, paddings[2 * i + 1], &dim)) {
      return absl::InvalidArgumentError(absl::StrCat("dimension ", i, " of the result does not fit int64"));
    }
    shape.set_dim(i, dim);
  }
  NABLA_ASSIGN_OR_RETURN(shape, Shape::FromDims(shape.dims()));
  if (shape == input.shape()) {
    ctx.SetOutput(0, input);
    return absl::OkStatus();
  }
  NABLA_ASSIGN_OR_RETURN(Tensor * output, ctx.AllocateOutput(0, shape));
  const DType dtype = output->dtype();
  const auto fill = [&](int64_t offset, int64_t count) -> absl::Status {
    void* at = ElementAt(dtype, output->raw_data(), offset);
    return ctx.num_inputs() > 2 ? FillElements(ctx, dtype, count, ctx.input(2).raw_data(), at)
                                : ZeroElements(ctx, dtype, count, at);
  };
  if (input.num_elements() == 0) return fill(0, output->num_elements());
  const auto from = StridesOf(input.shape()), to = StridesOf(shape);
  CopyLoops loops;
  int64_t offset = 0;
  int outermost = -1, num_padded = 0;
  for (int i = 0; i < rank; ++i) {
    offset += paddings[2 * i] * to[i];
    loops.Add(input.dim(i), from[i], to[i]);
    if (paddings[2 * i] == 0 && paddings[2 * i + 1] == 0) continue;
    if (num_padded++ == 0) outermost = i;
  }
  if (num_padded == 1 && DimProduct(shape, 0, outermost) == 1) {
    // The border is one run before and one after.
    NABLA_RETURN_IF_ERROR(fill(0, offset));
    NABLA_RETURN_IF_ERROR(fill(offset + input.num_elements(), paddings[2 * outermost + 1] * to[outermost]));
  } else {
    NABLA_RETURN_IF_ERROR(fill(0, output->num_elements()));
  }
  return CopyElements(ctx, dtype, std::move(loops), input.raw_data(), ElementAt(dtype, output->raw_data(), offset));
}

absl::Status ReverseDims(KernelContext& ctx, const absl::InlinedVector<bool, 8>& reversed) {
  const Tensor& input = ctx.input(0);
  const auto strides = StridesOf(input.shape());
  CopyLoops loops;
  int64_t offset = 0;
  bool any = false;
  for (int i = 0; i < input.rank(); ++i) {
    const bool backward = reversed[i] && input.dim(i) > 1;
    any |= backward;
    if (backward) offset += (input.dim(i) - 1) * strides[i];
    loops.Add(input.dim(i), backward ? -strides[i] : strides[i], strides[i]);
  }
  if (!any || input.num_elements() == 0) {
    ctx.SetOutput(0, input);
    return absl::OkStatus();
  }
  NABLA_ASSIGN_OR_RETURN(Tensor * output, ctx.AllocateOutput(0, input.shape()));
  return CopyElements(ctx, input.dtype(), std::move(loops), ElementAt(input.dtype(), input.raw_data(), offset),
                      output->raw_data());
}

absl::Status ReverseCompute(KernelContext& ctx) {
  const Tensor& dims = ctx.input(1);
  const int rank = ctx.input(0).rank();
  if (dims.rank() != 1 || dims.dim(0) != rank) {
    return absl::InvalidArgumentError(absl::StrCat("dims must have shape [", rank, "], has ", dims.shape().ToString()));
  }
  const absl::Span<const bool> values = dims.flat<bool>();
  return ReverseDims(ctx, absl::InlinedVector<bool, 8>(values.begin(), values.end()));
}

absl::Status ReverseV2Compute(KernelContext& ctx) {
  const int rank = ctx.input(0).rank();
  NABLA_ASSIGN_OR_RETURN(const Integers axes, IntegerVector(ctx.input(1), "axis"));
  absl::InlinedVector<bool, 8> reversed(rank, false);
  for (int64_t value : axes) {
    NABLA_ASSIGN_OR_RETURN(const int axis, ResolveAxis(value, rank));
    if (reversed[axis]) {
      return absl::InvalidArgumentError(absl::StrCat("axis names dimension ", axis, " more than once"));
    }
    reversed[axis] = true;
  }
  return ReverseDims(ctx, reversed);
}

}  // namespace

void RegisterSliceKernels(KernelRegistry& registry) {
  registry.Add("Slice", SliceCompute);
  registry.Add<StridedSliceKernel>("StridedSlice");
  registry.Add<StridedSliceGradKernel>("StridedSliceGrad");
  registry.Add("Pad", PadCompute);
  registry.Add("PadV2", PadCompute);
  registry.Add("Reverse", ReverseCompute);
  registry.Add("ReverseV2", ReverseV2Compute);
}

}  // namespace nabla

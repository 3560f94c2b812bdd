// Joining tensors and taking them apart.
#include "absl/strings/str_cat.h"
#include "nabla/runtime/kernels/arguments.h"
#include "nabla/runtime/kernels/copy.h"
#include "nabla/runtime/kernels/kernels.h"

namespace nabla {
namespace {

// Inputs [first, first + count) joined along an axis: each is `outer` runs of a length of its own, which lie in the
// output side by side.
absl::Status Concatenate(KernelContext& ctx, int first, int count, const Tensor& axis_input) {
  NABLA_ASSIGN_OR_RETURN(const int64_t axis_value, IntegerScalar(axis_input, "axis"));
  const Shape& model = ctx.input(first).shape();
  if (model.rank() == 0) {
    return absl::InvalidArgumentError("value 0 is a scalar; only tensors of rank 1 or more can be concatenated");
  }
  NABLA_ASSIGN_OR_RETURN(const int axis, ResolveAxis(axis_value, model.rank()));
  int64_t total = 0;
  for (int i = 0; i < count; ++i) {
    const Shape& shape = ctx.input(first + i).shape();
    bool fits = shape.rank() == model.rank();
    for (int d = 0; fits && d < model.rank(); ++d) fits = d == axis || shape.dim(d) == model.dim(d);
    if (!fits) {
      return absl::InvalidArgumentError(absl::StrCat("values must agree in all dimensions but ", axis, ", but value ",
                                                     i, " has shape ", shape.ToString(), " and value 0 ",
                                                     model.ToString()));
    }
    if (__builtin_add_overflow(total, shape.dim(axis), &total)) {
      return absl::InvalidArgumentError(absl::StrCat("dimension ", axis, " of the result does not fit int64"));
    }
  }
  Shape shape = model;
  shape.set_dim(axis, total);
  NABLA_ASSIGN_OR_RETURN(shape, Shape::FromDims(shape.dims()));
  // Where only one input has elements, it is the result.
  for (int i = 0; i < count; ++i) {
    const Tensor& input = ctx.input(first + i);
    if (input.shape() == shape) {
      ctx.SetOutput(0, input);
      return absl::OkStatus();
    }
  }
  NABLA_ASSIGN_OR_RETURN(Tensor * output, ctx.AllocateOutput(0, shape));
  if (shape.num_elements() == 0) return absl::OkStatus();
  const int64_t outer = DimProduct(shape, 0, axis), inner = DimProduct(shape, axis + 1, shape.rank());
  int64_t offset = 0;
  for (int i = 0; i < count; ++i) {
    const Tensor& input = ctx.input(first + i);
    const int64_t run = input.dim(axis) * inner;
    CopyLoops loops;
    loops.Add(outer, run, total * inner);
    loops.Add(run, 1, 1);
    NABLA_RETURN_IF_ERROR(CopyElements(ctx, output->dtype(), std::move(loops), input.raw_data(),
                                       ElementAt(output->dtype(), output->raw_data(), offset)));
    offset += run;
  }
  return absl::OkStatus();
}

absl::Status ConcatCompute(KernelContext& ctx) { return Concatenate(ctx, 1, ctx.num_inputs() - 1, ctx.input(0)); }
absl::Status ConcatV2Compute(KernelContext& ctx) {
  return Concatenate(ctx, 0, ctx.num_inputs() - 1, ctx.input(ctx.num_inputs() - 1));
}

absl::Status ConcatOffsetCompute(KernelContext& ctx) {
  NABLA_ASSIGN_OR_RETURN(const int64_t axis_value, IntegerScalar(ctx.input(0), "concat_dim"));
  NABLA_ASSIGN_OR_RETURN(const Integers model, IntegerVector(ctx.input(1), "shape 0"));
  const int rank = static_cast<int>(model.size());
  NABLA_ASSIGN_OR_RETURN(const int axis, ResolveAxis(axis_value, rank, "concat_dim"));
  Integers offset(rank, 0);
  for (int i = 0; i < ctx.num_outputs(); ++i) {
    NABLA_ASSIGN_OR_RETURN(const Integers shape, IntegerVector(ctx.input(1 + i), absl::StrCat("shape ", i)));
    bool fits = shape.size() == model.size();
    for (int d = 0; fits && d < rank; ++d) fits = d == axis || shape[d] == model[d];
    if (!fits) {
      return absl::InvalidArgumentError(absl::StrCat("shapes must agree in all dimensions but ", axis, ", but shape ",
                                                     i, " is ", Shape(shape).ToString(), " and shape 0 ",
                                                     Shape(model).ToString()));
    }
    NABLA_ASSIGN_OR_RETURN(Tensor * output, ctx.AllocateOutput(i, Shape({rank})));
    NABLA_RETURN_IF_ERROR(WriteIntegers(offset, output));
    if (__builtin_add_overflow(offset[axis], shape[axis], &offset[axis])) {
      return absl::InvalidArgumentError("the sizes add up to more than fits int64");
    }
  }
  return absl::OkStatus();
}

absl::Status PackCompute(KernelContext& ctx) {
  const Shape& part = ctx.input(0).shape();
  const int64_t count = ctx.num_inputs();
  NABLA_ASSIGN_OR_RETURN(const int axis, ResolveAxis(ctx.node().GetAttr<int64_t>("axis"), part.rank() + 1));
  for (int i = 1; i < count; ++i) {
    if (ctx.input(i).shape() != part) {
      return absl::InvalidArgumentError(absl::StrCat("values must have one shape, but value ", i, " has ",
                                                     ctx.input(i).shape().ToString(), " and value 0 ",
                                                     part.ToString()));
    }
  }
  Shape shape = part;
  shape.InsertDim(axis, count);
  NABLA_ASSIGN_OR_RETURN(shape, Shape::FromDims(shape.dims()));
  if (count == 1) {
    ctx.SetOutput(0, ctx.input(0).Reshaped(std::move(shape)));
    return absl::OkStatus();
  }
  NABLA_ASSIGN_OR_RETURN(Tensor * output, ctx.AllocateOutput(0, shape));
  if (shape.num_elements() == 0) return absl::OkStatus();
  const int64_t outer = DimProduct(part, 0, axis), inner = DimProduct(part, axis, part.rank());
  for (int i = 0; i < count; ++i) {
    CopyLoops loops;
    loops.Add(outer, inner, count * inner);
    loops.Add(inner, 1, 1);
    NABLA_RETURN_IF_ERROR(CopyElements(ctx, output->dtype(), std::move(loops), ctx.input(i).raw_data(),
                                       ElementAt(output->dtype(), output->raw_data(), i * inner)));
  }
  return absl::OkStatus();
}

// Output `i` gets, of each of `outer` runs of `stride` elements, those in [offset, offset + run).
absl::Status TakeRuns(KernelContext& ctx, const Tensor& input, int i, const Shape& shape, int64_t outer, int64_t stride,
                      int64_t offset, int64_t run) {
  NABLA_ASSIGN_OR_RETURN(Tensor * output, ctx.AllocateOutput(i, shape));
  if (output->num_elements() == 0) return absl::OkStatus();
  CopyLoops loops;
  loops.Add(outer, stride, run);
  loops.Add(run, 1, 1);
  return CopyElements(ctx, input.dtype(), std::move(loops), ElementAt(input.dtype(), input.raw_data(), offset),
                      output->raw_data());
}

absl::Status UnpackCompute(KernelContext& ctx) {
  const Tensor& input = ctx.input(0);
  if (input.rank() == 0) return absl::InvalidArgumentError("value must have rank 1 or more, is a scalar");
  NABLA_ASSIGN_OR_RETURN(const int axis, ResolveAxis(ctx.node().GetAttr<int64_t>("axis"), input.rank()));
  if (input.dim(axis) != ctx.num_outputs()) {
    return absl::InvalidArgumentError(absl::StrCat("attr num is ", ctx.num_outputs(), ", but dimension ", axis, " of ",
                                                   input.shape().ToString(), " is ", input.dim(axis)));
  }
  Shape shape = input.shape();
  shape.RemoveDim(axis);
  if (ctx.num_outputs() == 1) {
    ctx.SetOutput(0, input.Reshaped(std::move(shape)));
    return absl::OkStatus();
  }
  const int64_t outer = DimProduct(shape, 0, axis), inner = DimProduct(shape, axis, shape.rank());
  for (int i = 0; i < ctx.num_outputs(); ++i) {
    NABLA_RETURN_IF_ERROR(TakeRuns(ctx, input, i, shape, outer, ctx.num_outputs() * inner, i * inner, inner));
  }
  return absl::OkStatus();
}

// Parts of the given sizes, which add up to the dimension.
absl::Status CutAlong(KernelContext& ctx, const Tensor& input, int axis, absl::Span<const int64_t> sizes) {
  const int64_t dim = input.dim(axis);
  const int64_t outer = DimProduct(input.shape(), 0, axis);
  const int64_t inner = DimProduct(input.shape(), axis + 1, input.rank());
  int64_t offset = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == dim) {
      ctx.SetOutput(static_cast<int>(i), input);
      continue;
    }
    Shape shape = input.shape();
    shape.set_dim(axis, sizes[i]);
    NABLA_RETURN_IF_ERROR(
        TakeRuns(ctx, input, static_cast<int>(i), shape, outer, dim * inner, offset * inner, sizes[i] * inner));
    offset += sizes[i];
  }
  return absl::OkStatus();
}

absl::StatusOr<int> SplitAxis(const Tensor& input, const Tensor& split_dim) {
  if (input.rank() == 0) return absl::InvalidArgumentError("value must have rank 1 or more, is a scalar");
  NABLA_ASSIGN_OR_RETURN(const int64_t axis, IntegerScalar(split_dim, "split_dim"));
  return ResolveAxis(axis, input.rank(), "split_dim");
}

absl::Status SplitCompute(KernelContext& ctx) {
  const Tensor& input = ctx.input(1);
  NABLA_ASSIGN_OR_RETURN(const int axis, SplitAxis(input, ctx.input(0)));
  const int64_t count = ctx.num_outputs(), dim = input.dim(axis);
  if (dim % count != 0) {
    return absl::InvalidArgumentError(absl::StrCat("dimension ", axis, " of ", input.shape().ToString(),
                                                   " does not divide into ", count, " equal parts"));
  }
  return CutAlong(ctx, input, axis, Integers(count, dim / count));
}

absl::Status SplitVCompute(KernelContext& ctx) {
  const Tensor& input = ctx.input(0);
  NABLA_ASSIGN_OR_RETURN(const int axis, SplitAxis(input, ctx.input(2)));
  NABLA_ASSIGN_OR_RETURN(Integers sizes, IntegerVector(ctx.input(1), "size_splits", ctx.num_outputs()));
  if (static_cast<int>(sizes.size()) != ctx.num_outputs()) {
    return absl::InvalidArgumentError(
        absl::StrCat("size_splits has ", sizes.size(), " elements, attr num_split is ", ctx.num_outputs()));
  }
  const int64_t dim = input.dim(axis);
  int64_t left = dim;
  int rest = -1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == -1 && rest < 0) {
      rest = static_cast<int>(i);
      continue;
    }
    if (sizes[i] < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("size_splits[", i, "] is ", sizes[i], ", must be at least 0 (one of them may be -1)"));
    }
    if (sizes[i] > left) {
      return absl::InvalidArgumentError(absl::StrCat("size_splits up to ", i, " add up to more than ", dim,
                                                     ", dimension ", axis, " of ", input.shape().ToString()));
    }
    left -= sizes[i];
  }
  if (rest >= 0) {
    sizes[rest] = left;
  } else if (left != 0) {
    return absl::InvalidArgumentError(absl::StrCat("size_splits add up to ", dim - left, ", but dimension ", axis,
                                                   " of ", input.shape().ToString(), " is ", dim));
  }
  return CutAlong(ctx, input, axis, sizes);
}

}  // namespace

void RegisterConcatSplitKernels(KernelRegistry& registry) {
  registry.Add("Concat", ConcatCompute);
  registry.Add("ConcatV2", ConcatV2Compute);
  registry.Add("ConcatOffset", ConcatOffsetCompute);
  registry.Add("Pack", PackCompute);
  registry.Add("Unpack", UnpackCompute);
  registry.Add("Split", SplitCompute);
  registry.Add("SplitV", SplitVCompute);
}

}  // namespace nabla

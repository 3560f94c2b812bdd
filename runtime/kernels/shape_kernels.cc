// Ops about shapes, ops that give a tensor another shape, and ops that fill one.
#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "nabla/runtime/dtype_switch.h"
#include "nabla/runtime/kernels/arguments.h"
#include "nabla/runtime/kernels/copy.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/kernels/tensor_list_math.h"

namespace nabla {
namespace {

absl::Status ShapeCompute(KernelContext& ctx) {
  // Shape and ShapeN.
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    const Shape& shape = ctx.input(i).shape();
    NABLA_ASSIGN_OR_RETURN(Tensor * output, ctx.AllocateOutput(i, Shape({shape.rank()})));
    NABLA_RETURN_IF_ERROR(WriteIntegers(shape.dims(), output));
  }
  return absl::OkStatus();
}

absl::Status SizeCompute(KernelContext& ctx) {
  NABLA_ASSIGN_OR_RETURN(Tensor * output, ctx.AllocateOutput(0, Shape::Scalar()));
  return WriteIntegers({ctx.input(0).num_elements()}, output);
}

absl::Status RankCompute(KernelContext& ctx) {
  NABLA_ASSIGN_OR_RETURN(Tensor * output, ctx.AllocateOutput(0, Shape::Scalar()));
  return WriteIntegers({ctx.input(0).rank()}, output);
}

absl::Status ReshapeCompute(KernelContext& ctx) {
  const Tensor& input = ctx.input(0);
  NABLA_ASSIGN_OR_RETURN(Integers dims, IntegerVector(ctx.input(1), "shape"));
  int inferred = -1;
  bool has_zero = false;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < -1) {
      return absl::InvalidArgumentError(absl::StrCat("shape[", i, "] is ", dims[i], ", must be at least -1"));
    }
    if (dims[i] == -1) {
      if (inferred >= 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("only one dimension of the new shape may be -1, but ", inferred, " and ", i, " are"));
      }
      inferred = static_cast<int>(i);
    }
    has_zero |= dims[i] == 0;
  }
  if (inferred >= 0) {
    // What the others leave. If one of them is 0 any size would do; by convention it is what it would be without the
    // zeros of both shapes.
    int64_t product = 1;
    for (int64_t dim : dims) {
      if (dim > 0 && !CheckedMultiply(product, dim, &product)) {
        return absl::InvalidArgumentError("the new shape has too many elements");
      }
    }
    uint64_t count = 1;  // of a tensor that exists: does not overflow, or has a 0 and is checked below
    for (int64_t dim : input.shape().dims()) {
      if (dim > 0 || !has_zero) count *= static_cast<uint64_t>(dim);
    }
    dims[inferred] = static_cast<int64_t>(count / static_cast<uint64_t>(product));
  }
  NABLA_ASSIGN_OR_RETURN(Shape shape, Shape::FromDims(dims));
  if (shape.num_elements() != input.num_elements()) {
    return absl::InvalidArgumentError(absl::StrCat("cannot reshape ", input.num_elements(), " elements, of shape ",
                                                   input.shape().ToString(), " to ", shape.ToString()));
  }
  ctx.SetOutput(0, input.Reshaped(std::move(shape)));
  return absl::OkStatus();
}

absl::Status ExpandDimsCompute(KernelContext& ctx) {
  const Tensor& input = ctx.input(0);
  NABLA_ASSIGN_OR_RETURN(const int64_t dim, IntegerScalar(ctx.input(1), "dim"));
  NABLA_ASSIGN_OR_RETURN(const int axis, ResolveAxis(dim, input.rank() + 1, "dim"));
  Shape shape = input.shape();
  shape.InsertDim(axis, 1);
  NABLA_ASSIGN_OR_RETURN(shape, Shape::FromDims(shape.dims()));
  ctx.SetOutput(0, input.Reshaped(std::move(shape)));
  return absl::OkStatus();
}

absl::Status SqueezeCompute(KernelContext& ctx) {
  const Tensor& input = ctx.input(0);
  const std::vector<int64_t>& axes = ctx.node().GetAttr<std::vector<int64_t>>("squeeze_dims");
  absl::InlinedVector<bool, 8> drop(input.rank(), false);
  for (int64_t value : axes) {
    NABLA_ASSIGN_OR_RETURN(const int axis, ResolveAxis(value, input.rank(), "squeeze_dims"));
    if (input.dim(axis) != 1) {
      return absl::InvalidArgumentError(absl::StrCat("cannot squeeze dimension ", axis, " of ",
                                                     input.shape().ToString(), ": it is ", input.dim(axis), ", not 1"));
    }
    drop[axis] = true;
  }
  Shape shape = Shape::Scalar();
  for (int i = 0; i < input.rank(); ++i) {
    if (axes.empty() ? input.dim(i) != 1 : !drop[i]) shape.AddDim(input.dim(i));
  }
  ctx.SetOutput(0, input.Reshaped(std::move(shape)));
  return absl::OkStatus();
}

absl::Status FillCompute(KernelContext& ctx) {
  NABLA_ASSIGN_OR_RETURN(const Shape shape, ShapeFromVector(ctx.input(0), "dims"));
  const Tensor& value = ctx.input(1);
  if (value.rank() != 0) {
    return absl::InvalidArgumentError(absl::StrCat("value must be a scalar, has shape ", value.shape().ToString()));
  }
  NABLA_ASSIGN_OR_RETURN(Tensor * output, ctx.AllocateOutput(0, shape));
  return FillElements(ctx, output->dtype(), output->num_elements(), value.raw_data(), output->raw_data());
}

absl::Status ZerosLikeCompute(KernelContext& ctx) {
  const Tensor& input = ctx.input(0);
  if (input.dtype() == DType::kVariant) return ZerosLikeVariants(ctx);
  if (!IsPod(input.dtype()) && input.dtype() != DType::kString) return UnsupportedDType(input.dtype());
  NABLA_ASSIGN_OR_RETURN(Tensor * output, ctx.ForwardOrAllocateOutput({0}, 0, input.shape()));
  return ZeroElements(ctx, output->dtype(), output->num_elements(), output->raw_data());
}

absl::Status OnesLikeCompute(KernelContext& ctx) {
  const Tensor& input = ctx.input(0);
  NABLA_ASSIGN_OR_RETURN(Tensor * output, ctx.ForwardOrAllocateOutput({0}, 0, input.shape()));
  const auto fill = [&](auto one) -> absl::Status {
    return FillElements(ctx, output->dtype(), output->num_elements(), &one, output->raw_data());
  };
  if (input.dtype() == DType::kBool) return fill(true);
  return SwitchNumeric(input.dtype(), [&](auto zero) -> absl::Status { return fill(decltype(zero)(1.0f)); });
}

// The number of steps from `start` by `delta` that stay short of `limit`; the caller has checked the signs.
// The number of steps from `start` by `delta` that stay short of `limit`; the caller has checked the signs. Numbers are
// rounded to the element type where the field's implementations round, so that counts agree with theirs.
template <typename T, typename C>
absl::StatusOr<int64_t> CountRange(C start, C limit, C delta) {
  if constexpr (std::is_integral_v<T>) {
    // In unsigned arithmetic, where the distance between any two fits.
    const uint64_t distance = delta > 0 ? static_cast<uint64_t>(limit) - static_cast<uint64_t>(start)
                                        : static_cast<uint64_t>(start) - static_cast<uint64_t>(limit);
    const uint64_t step = delta > 0 ? static_cast<uint64_t>(delta) : uint64_t{0} - static_cast<uint64_t>(delta);
    const uint64_t count = distance / step + (distance % step != 0 ? 1 : 0);
    if (count > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return absl::InvalidArgumentError("the range has more than 2^63 - 1 elements");
    }
    return static_cast<int64_t>(count);
  } else {
    const C distance = static_cast<C>(static_cast<T>(limit - start));
    const C count = std::ceil(std::abs(static_cast<C>(static_cast<T>(distance / delta))));
    if (!(count < static_cast<C>(9.2e18))) {
      return absl::InvalidArgumentError("the range has no finite number of elements");
    }
    return static_cast<int64_t>(count);
  }
}

absl::Status RangeCompute(KernelContext& ctx) {
  static constexpr const char* kNames[] = {"start", "limit", "delta"};
  for (int i = 0; i < 3; ++i) {
    if (ctx.input(i).rank() > 1 || ctx.input(i).num_elements() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat(kNames[i], " must be a scalar, has shape ", ctx.input(i).shape().ToString()));
    }
  }
  return SwitchReal(ctx.output_dtype(0), [&](auto zero) -> absl::Status {
    using T = decltype(zero);
    using C = ComputeType<T>;
    const C start = static_cast<C>(ctx.input(0).scalar<T>());
    const C limit = static_cast<C>(ctx.input(1).scalar<T>());
    const C delta = static_cast<C>(ctx.input(2).scalar<T>());
    if (delta == C(0)) return absl::InvalidArgumentError("delta must not be 0");
    if (delta > C(0) ? start > limit : start < limit) {
      return absl::InvalidArgumentError(absl::StrCat("no step of ", +delta, " leads from ", +start, " to ", +limit));
    }
    NABLA_ASSIGN_OR_RETURN(const int64_t count, (CountRange<T, C>(start, limit, delta)));
    NABLA_ASSIGN_OR_RETURN(Tensor * output, ctx.AllocateOutput(0, Shape({count})));
    T* const y = output->data<T>();
    ctx.ParallelFor(count, 0.5, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if constexpr (std::is_integral_v<T>) {
          y[i] = static_cast<T>(static_cast<uint64_t>(start) + static_cast<uint64_t>(i) * static_cast<uint64_t>(delta));
        } else {
          const C index = static_cast<C>(static_cast<T>(static_cast<C>(i)));
          y[i] = static_cast<T>(start + static_cast<C>(static_cast<T>(index * delta)));
        }
      }
    });
    return absl::OkStatus();
  });
}

absl::Status InvertPermutationCompute(KernelContext& ctx) {
  const Tensor& input = ctx.input(0);
  if (input.rank() != 1) {
    return absl::InvalidArgumentError(absl::StrCat("x must be a vector, has shape ", input.shape().ToString()));
  }
  return SwitchIndex(input.dtype(), [&](auto zero) -> absl::Status {
    using T = decltype(zero);
    const int64_t n = input.num_elements();
    NABLA_ASSIGN_OR_RETURN(Tensor * output, ctx.AllocateOutput(0, input.shape()));
    T* const y = output->data<T>();
    const T* const x = input.data<T>();
    std::fill(y, y + n, T{-1});
    for (int64_t i = 0; i < n; ++i) {
      if (x[i] < 0 || x[i] >= n) {
        return absl::InvalidArgumentError(absl::StrCat("x[", i, "] = ", x[i], " is not in [0, ", n, ")"));
      }
      if (y[x[i]] != -1) {
        return absl::InvalidArgumentError(absl::StrCat(x[i], " is in x more than once, at ", y[x[i]], " and ", i));
      }
      y[x[i]] = static_cast<T>(i);
    }
    return absl::OkStatus();
  });
}

// The shapes that the inputs, vectors, hold, aligned at the end: dims[k][i] for dimension i of the result.
absl::Status AlignedShapes(KernelContext& ctx, Shape shapes[2], Integers dims[2]) {
  for (int k = 0; k < 2; ++k) {
    NABLA_ASSIGN_OR_RETURN(shapes[k], ShapeFromVector(ctx.input(k), k == 0 ? "s0" : "s1"));
  }
  const int rank = std::max(shapes[0].rank(), shapes[1].rank());
  for (int k = 0; k < 2; ++k) {
    dims[k].assign(rank - shapes[k].rank(), 1);
    dims[k].insert(dims[k].end(), shapes[k].dims().begin(), shapes[k].dims().end());
  }
  for (int i = 0; i < rank; ++i) {
    if (dims[0][i] != dims[1][i] && dims[0][i] != 1 && dims[1][i] != 1) {
      return absl::InvalidArgumentError(absl::StrCat("Incompatible shapes: ", shapes[0].ToString(), " vs. ",
                                                     shapes[1].ToString(), " cannot be broadcast together"));
    }
  }
  return absl::OkStatus();
}

absl::Status BroadcastArgsCompute(KernelContext& ctx) {
  Shape shapes[2];
  Integers dims[2];
  NABLA_RETURN_IF_ERROR(AlignedShapes(ctx, shapes, dims));
  Integers joint;
  for (size_t i = 0; i < dims[0].size(); ++i) joint.push_back(dims[0][i] == 1 ? dims[1][i] : dims[0][i]);
  NABLA_ASSIGN_OR_RETURN(Tensor * output, ctx.AllocateOutput(0, Shape({static_cast<int64_t>(joint.size())})));
  return WriteIntegers(joint, output);
}

absl::Status BroadcastGradientArgsCompute(KernelContext& ctx) {
  Shape shapes[2];
  Integers dims[2];
  NABLA_RETURN_IF_ERROR(AlignedShapes(ctx, shapes, dims));
  Integers axes[2];
  // Equal shapes need no sums at all. Otherwise a dimension of 1 on both sides is summed too, which changes nothing
  // but lets it be dropped.
  if (shapes[0] != shapes[1]) {
    for (size_t i = 0; i < dims[0].size(); ++i) {
      for (int k = 0; k < 2; ++k) {
        if (dims[k][i] == 1) axes[k].push_back(static_cast<int64_t>(i));
      }
    }
  }
  for (int k = 0; k < 2; ++k) {
    NABLA_ASSIGN_OR_RETURN(Tensor * output, ctx.AllocateOutput(k, Shape({static_cast<int64_t>(axes[k].size())})));
    NABLA_RETURN_IF_ERROR(WriteIntegers(axes[k], output));
  }
  return absl::OkStatus();
}

}  // namespace

void RegisterShapeKernels(KernelRegistry& registry) {
  registry.Add("Shape", ShapeCompute);
  registry.Add("ShapeN", ShapeCompute);
  registry.Add("Size", SizeCompute);
  registry.Add("Rank", RankCompute);
  registry.Add("Reshape", ReshapeCompute);
  registry.Add("ExpandDims", ExpandDimsCompute);
  registry.Add("Squeeze", SqueezeCompute);
  registry.Add("Fill", FillCompute);
  registry.Add("ZerosLike", ZerosLikeCompute);
  registry.Add("OnesLike", OnesLikeCompute);
  registry.Add("Range", RangeCompute);
  registry.Add("InvertPermutation", InvertPermutationCompute);
  registry.Add("BroadcastArgs", BroadcastArgsCompute);
  registry.Add("BroadcastGradientArgs", BroadcastGradientArgsCompute);
}

}  // namespace nabla

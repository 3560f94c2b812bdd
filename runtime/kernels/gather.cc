#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "nabla/runtime/dtype_switch.h"
#include "nabla/runtime/kernels/arguments.h"
#include "nabla/runtime/kernels/copy.h"
#include "nabla/runtime/kernels/gather_scatter.h"
#include "nabla/runtime/kernels/indices.h"

namespace nabla {
namespace {

// Nanoseconds to fetch `bytes` from a place that the hardware could not foresee.
double RowCost(int64_t bytes) { return 2 + 0.1 * static_cast<double>(bytes); }

template <typename T>
void CopySlice(const T* from, T* to, int64_t n) {
  if constexpr (std::is_trivially_copyable_v<T>) {
    std::memcpy(to, from, static_cast<size_t>(n) * sizeof(T));
  } else {
    std::copy(from, from + n, to);
  }
}

// y[b, i, :] = x[b, indices[batch of b, i], :]: `blocks` blocks of `dim` slices, from each of which `count` are picked;
// `blocks_per_batch` blocks after one another share their indices.
struct Picks {
  int64_t blocks, blocks_per_batch, dim, count, slice;
};

template <typename T, typename Index>
void PickSlices(KernelContext& ctx, const Picks& picks, const T* x, const Index* indices, T* y) {
  const double cost = std::is_trivially_copyable_v<T> ? RowCost(picks.slice * sizeof(T)) : 20.0 * picks.slice;
  ctx.ParallelFor(picks.blocks * picks.count, cost, [&](int64_t begin, int64_t end) {
    const int64_t block = begin / picks.count;
    int64_t i = begin % picks.count, block_of_batch = block % picks.blocks_per_batch;
    const Index* index = indices + block / picks.blocks_per_batch * picks.count;
    const T* from = x + block * picks.dim * picks.slice;
    T* to = y + begin * picks.slice;
    for (int64_t at = begin; at < end;) {
      const int64_t stop = std::min(picks.count, i + end - at);
      at += stop - i;
      if (picks.slice == 1) {
        for (; i < stop; ++i) *to++ = from[index[i]];
      } else {
        for (; i < stop; ++i, to += picks.slice) CopySlice(from + index[i] * picks.slice, to, picks.slice);
      }
      i = 0;
      from += picks.dim * picks.slice;
      if (++block_of_batch == picks.blocks_per_batch) {
        block_of_batch = 0;
        index += picks.count;
      }
    }
  });
}

}  // namespace

absl::Status GatherSlices(KernelContext& ctx, const Tensor& params, const Tensor& narrow_indices, int64_t axis_value,
                          int64_t batch_dims, int output) {
  NABLA_ASSIGN_OR_RETURN(const Tensor indices, WideIndices(narrow_indices));
  if (params.rank() == 0) return absl::InvalidArgumentError("params must have rank 1 or more, is a scalar");
  NABLA_ASSIGN_OR_RETURN(const int axis, ResolveAxis(axis_value, params.rank()));
  const int64_t batch_value = batch_dims < 0 ? batch_dims + indices.rank() : batch_dims;
  if (batch_value < 0 || batch_value > indices.rank() || batch_value > axis) {
    return absl::InvalidArgumentError(absl::StrCat("batch_dims ", batch_dims, " is not possible for axis ", axis,
                                                   " and indices of shape ", indices.shape().ToString()));
  }
  const int batch = static_cast<int>(batch_value);
  Shape shape = Shape::Scalar();
  for (int i = 0; i < axis; ++i) {
    if (i < batch && params.dim(i) != indices.dim(i)) {
      return absl::InvalidArgumentError(absl::StrCat("params ", params.shape().ToString(), " and indices ",
                                                     indices.shape().ToString(), " must agree in their first ", batch,
                                                     " dimensions"));
    }
    shape.AddDim(params.dim(i));
  }
  for (int i = batch; i < indices.rank(); ++i) shape.AddDim(indices.dim(i));
  for (int i = axis + 1; i < params.rank(); ++i) shape.AddDim(params.dim(i));
  NABLA_ASSIGN_OR_RETURN(shape, Shape::FromDims(shape.dims()));
  NABLA_RETURN_IF_ERROR(CheckIndices(ctx, indices, params.dim(axis)));
  NABLA_ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(output, shape));
  if (y->num_elements() == 0) return absl::OkStatus();
  Picks picks;
  picks.blocks = DimProduct(params.shape(), 0, axis);
  picks.blocks_per_batch = DimProduct(params.shape(), batch, axis);
  picks.dim = params.dim(axis);
  picks.count = DimProduct(indices.shape(), batch, indices.rank());
  picks.slice = DimProduct(params.shape(), axis + 1, params.rank());
  return SwitchMovable(params.dtype(), [&](auto zero) -> absl::Status {
    using T = decltype(zero);
    if (indices.dtype() == DType::kInt32) {
      PickSlices(ctx, picks, params.data<T>(), indices.data<int32_t>(), y->data<T>());
    } else {
      PickSlices(ctx, picks, params.data<T>(), indices.data<int64_t>(), y->data<T>());
    }
    return absl::OkStatus();
  });
}

absl::Status GatherTuples(KernelContext& ctx, const Tensor& params, const Tensor& narrow_indices,
                          bool ignore_bad_indices, int output) {
  NABLA_ASSIGN_OR_RETURN(const Tensor indices, WideIndices(narrow_indices));
  if (indices.rank() == 0) return absl::InvalidArgumentError("indices must have rank 1 or more, is a scalar");
  const int64_t depth = indices.dim(indices.rank() - 1);
  if (depth > params.rank()) {
    return absl::InvalidArgumentError(absl::StrCat("indices ", indices.shape().ToString(), " have tuples of ", depth,
                                                   ", but params has only ", params.rank(), " dimensions"));
  }
  Shape shape = indices.shape();
  shape.RemoveDim(shape.rank() - 1);
  NABLA_ASSIGN_OR_RETURN(shape, Shape::FromDims(shape.dims()));
  const int64_t count = shape.num_elements();
  for (int i = static_cast<int>(depth); i < params.rank(); ++i) shape.AddDim(params.dim(i));
  NABLA_ASSIGN_OR_RETURN(shape, Shape::FromDims(shape.dims()));
  NABLA_ASSIGN_OR_RETURN(Tensor offsets, ctx.AllocateTemp(DType::kInt64, Shape({count})));
  int64_t* const offset = offsets.data<int64_t>();
  if (depth > 0) {
    NABLA_RETURN_IF_ERROR(TupleOffsets(ctx, indices, params.shape(), ignore_bad_indices, offset));
  } else {
    std::fill(offset, offset + count, 0);  // empty tuples: all of params, each time
  }
  NABLA_ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(output, shape));
  if (y->num_elements() == 0) return absl::OkStatus();
  const int64_t slice = DimProduct(params.shape(), static_cast<int>(depth), params.rank());
  return SwitchMovable(params.dtype(), [&](auto zero) -> absl::Status {
    using T = decltype(zero);
    const T* const from = params.data<T>();
    T* const to = y->data<T>();
    const double cost = std::is_trivially_copyable_v<T> ? RowCost(slice * sizeof(T)) : 20.0 * slice;
    ctx.ParallelFor(count, cost, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if (offset[i] < 0) {
          std::fill(to + i * slice, to + (i + 1) * slice, T());
        } else {
          CopySlice(from + offset[i], to + i * slice, slice);
        }
      }
    });
    return absl::OkStatus();
  });
}

}  // namespace nabla

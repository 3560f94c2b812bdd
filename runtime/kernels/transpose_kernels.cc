// Permuting, repeating and broadcasting dimensions.
#include "absl/strings/str_cat.h"
#include "nabla/runtime/dtype_switch.h"
#include "nabla/runtime/kernels/arguments.h"
#include "nabla/runtime/kernels/copy.h"
#include "nabla/runtime/kernels/kernels.h"

namespace nabla {
namespace {

absl::Status ConjugateInPlace(KernelContext& ctx, Tensor* tensor) {
  const auto conjugate = [&](auto zero) -> absl::Status {
    using T = decltype(zero);
    T* const x = tensor->data<T>();
    ctx.ParallelFor(tensor->num_elements(), 0.5, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) x[i] = std::conj(x[i]);
    });
    return absl::OkStatus();
  };
  return tensor->dtype() == DType::kComplex64 ? conjugate(std::complex<float>()) : conjugate(std::complex<double>());
}

absl::Status TransposeTensor(KernelContext& ctx, bool conjugate) {
  const Tensor& input = ctx.input(0);
  const int rank = input.rank();
  conjugate = conjugate && IsComplex(input.dtype());
  NABLA_ASSIGN_OR_RETURN(const Integers perm, IntegerVector(ctx.input(1), "perm"));
  if (static_cast<int>(perm.size()) != rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("perm has ", perm.size(), " elements, but the input has ", rank, " dimensions"));
  }
  const auto from = StridesOf(input.shape());
  absl::InlinedVector<bool, 8> seen(rank, false);
  absl::InlinedVector<int, 8> source(rank);
  Shape shape = input.shape();
  bool in_order = true;  // dimensions other than 1 keep their order, so the elements do
  int last = -1;
  for (int i = 0; i < rank; ++i) {
    const int64_t axis = perm[i] < 0 ? perm[i] + rank : perm[i];
    if (axis < 0 || axis >= rank || seen[axis]) {
      return absl::InvalidArgumentError(
          absl::StrCat("perm[", i, "] = ", perm[i], ": perm must name each of ", rank, " dimensions once"));
    }
    seen[axis] = true;
    source[i] = static_cast<int>(axis);
    shape.set_dim(i, input.dim(source[i]));
    if (shape.dim(i) != 1) {
      in_order = in_order && source[i] > last;
      last = source[i];
    }
  }
  if ((in_order && !conjugate) || input.num_elements() == 0) {
    ctx.SetOutput(0, input.Reshaped(std::move(shape)));
    return absl::OkStatus();
  }
  NABLA_ASSIGN_OR_RETURN(Tensor * output, ctx.AllocateOutput(0, shape));
  const auto to = StridesOf(shape);
  CopyLoops loops;
  for (int i = 0; i < rank; ++i) loops.Add(shape.dim(i), from[source[i]], to[i]);
  NABLA_RETURN_IF_ERROR(CopyElements(ctx, input.dtype(), std::move(loops), input.raw_data(), output->raw_data()));
  return conjugate ? ConjugateInPlace(ctx, output) : absl::OkStatus();
}

absl::Status TileCompute(KernelContext& ctx) {
  const Tensor& input = ctx.input(0);
  const int rank = input.rank();
  NABLA_ASSIGN_OR_RETURN(const Integers multiples, IntegerVector(ctx.input(1), "multiples"));
  if (static_cast<int>(multiples.size()) != rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("multiples has ", multiples.size(), " elements, but the input has ", rank, " dimensions"));
  }
  Shape shape = input.shape();
  for (int i = 0; i < rank; ++i) {
    int64_t dim = 0;
    if (multiples[i] < 0) {
      return absl::InvalidArgumentError(absl::StrCat("multiples[", i, "] is ", multiples[i], ", must be at least 0"));
    }
    if (!CheckedMultiply(input.dim(i), multiples[i], &dim)) {
      return absl::InvalidArgumentError(
          absl::StrCat("dimension ", i, " becomes too large: ", input.dim(i), " times ", multiples[i]));
    }
    shape.set_dim(i, dim);
  }
  NABLA_ASSIGN_OR_RETURN(shape, Shape::FromDims(shape.dims()));
  if (shape == input.shape()) {
    ctx.SetOutput(0, input);
    return absl::OkStatus();
  }
  NABLA_ASSIGN_OR_RETURN(Tensor * output, ctx.AllocateOutput(0, shape));
  if (output->num_elements() == 0) return absl::OkStatus();
  const auto from = StridesOf(input.shape()), to = StridesOf(shape);
  CopyLoops loops;
  for (int i = 0; i < rank; ++i) {
    loops.Add(multiples[i], 0, input.dim(i) * to[i]);
    loops.Add(input.dim(i), from[i], to[i]);
  }
  return CopyElements(ctx, input.dtype(), std::move(loops), input.raw_data(), output->raw_data());
}

absl::Status BroadcastToCompute(KernelContext& ctx) {
  const Tensor& input = ctx.input(0);
  NABLA_ASSIGN_OR_RETURN(const Shape shape, ShapeFromVector(ctx.input(1), "shape"));
  const int extra = shape.rank() - input.rank();
  bool possible = extra >= 0;
  for (int i = 0; possible && i < input.rank(); ++i) {
    possible = input.dim(i) == 1 || input.dim(i) == shape.dim(extra + i);
  }
  if (!possible) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot broadcast ", input.shape().ToString(), " to ", shape.ToString()));
  }
  if (shape.num_elements() == input.num_elements()) {
    ctx.SetOutput(0, input.Reshaped(shape));
    return absl::OkStatus();
  }
  NABLA_ASSIGN_OR_RETURN(Tensor * output, ctx.AllocateOutput(0, shape));
  if (output->num_elements() == 0) return absl::OkStatus();
  const auto from = StridesOf(input.shape()), to = StridesOf(shape);
  CopyLoops loops;
  for (int i = 0; i < shape.rank(); ++i) {
    const bool repeated = i < extra || input.dim(i - extra) == 1;
    loops.Add(shape.dim(i), repeated ? 0 : from[i - extra], to[i]);
  }
  return CopyElements(ctx, input.dtype(), std::move(loops), input.raw_data(), output->raw_data());
}

}  // namespace

void RegisterTransposeKernels(KernelRegistry& registry) {
  registry.Add("Transpose", [](KernelContext& ctx) { return TransposeTensor(ctx, /*conjugate=*/false); });
  registry.Add("ConjugateTranspose", [](KernelContext& ctx) { return TransposeTensor(ctx, /*conjugate=*/true); });
  registry.Add("Tile", TileCompute);
  registry.Add("BroadcastTo", BroadcastToCompute);
}

}  // namespace nabla

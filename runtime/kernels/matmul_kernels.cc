// MatMul, BatchMatMul and BatchMatMulV2.
#include <complex>
#include <cstdint>
#include <mutex>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "nabla/runtime/dtype_switch.h"
#include "nabla/runtime/kernels/broadcast.h"
#include "nabla/runtime/kernels/gemm.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/kernels/narrow.h"
#include "nabla/runtime/kernels/scalar_loops.h"

namespace nabla {
namespace {

// The matrices of one product: op(a) [m, k] times op(b) [k, n].
struct Product {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  bool transpose_a = false;
  bool transpose_b = false;
  // Complex: the transposes are conjugate ones.
  bool conjugate_a = false;
  bool conjugate_b = false;
  // Use the pool (else the caller has cut the work already).
  bool parallel = true;
};

template <typename T>
GemmOperand<T> OperandA(const Product& p, const T* a) {
  return p.transpose_a ? GemmOperand<T>{a, 1, p.m} : GemmOperand<T>{a, p.k, 1};
}
template <typename T>
GemmOperand<T> OperandB(const Product& p, const T* b) {
  return p.transpose_b ? GemmOperand<T>{b, 1, p.k} : GemmOperand<T>{b, p.n, 1};
}

template <typename T>
std::enable_if_t<std::is_floating_point_v<T>, absl::Status> Multiply(KernelContext& ctx, const Product& p, const T* a,
                                                                     const T* b, T* c) {
  return Gemm(ctx, p.parallel, p.m, p.n, p.k, T(1), OperandA(p, a), OperandB(p, b), false, c);
}

// Wraps.
template <typename T>
std::enable_if_t<std::is_integral_v<T>, absl::Status> Multiply(KernelContext& ctx, const Product& p, const T* a,
                                                               const T* b, T* c) {
  using W = Wrapping<T>;
  const GemmOperand<T> left = OperandA(p, a);
  // Rows of B in order.
  Tensor copy;
  const T* right = b;
  if (p.transpose_b) {
    NABLA_ASSIGN_OR_RETURN(copy, ctx.AllocateTemp(kDTypeOf<T>, Shape({p.k, p.n})));
    T* to = copy.data<T>();
    for (int64_t j = 0; j < p.n; ++j) {
      for (int64_t i = 0; i < p.k; ++i) to[i * p.n + j] = b[j * p.k + i];
    }
    right = to;
  }
  const auto rows = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      T* row = c + i * p.n;
      std::fill(row, row + p.n, T(0));
      for (int64_t q = 0; q < p.k; ++q) {
        const W factor = static_cast<W>(left.data[i * left.row_stride + q * left.column_stride]);
        const T* from = right + q * p.n;
        for (int64_t j = 0; j < p.n; ++j) {
          row[j] = static_cast<T>(static_cast<W>(row[j]) + factor * static_cast<W>(from[j]));
        }
      }
    }
  };
  if (p.parallel) {
    ctx.StoppableParallelFor(p.m, 0.3 * static_cast<double>(p.n * p.k) + 1, rows);
  } else {
    rows(0, p.m);
  }
  return absl::OkStatus();
}

// half and bfloat16.
template <typename T>
std::enable_if_t<std::is_same_v<ComputeType<T>, float> && !std::is_same_v<T, float>, absl::Status> Multiply(
    KernelContext& ctx, const Product& p, const T* a, const T* b, T* c) {
  NABLA_ASSIGN_OR_RETURN(Tensor wide_a, ctx.AllocateTemp(DType::kFloat, Shape({p.m, p.k})));
  NABLA_ASSIGN_OR_RETURN(Tensor wide_b, ctx.AllocateTemp(DType::kFloat, Shape({p.k, p.n})));
  NABLA_ASSIGN_OR_RETURN(Tensor wide_c, ctx.AllocateTemp(DType::kFloat, Shape({p.m, p.n})));
  NarrowToFloat(kDTypeOf<T>, a, wide_a.data<float>(), p.m * p.k);
  NarrowToFloat(kDTypeOf<T>, b, wide_b.data<float>(), p.k * p.n);
  NABLA_RETURN_IF_ERROR(Multiply<float>(ctx, p, wide_a.data<float>(), wide_b.data<float>(), wide_c.data<float>()));
  FloatToNarrow(kDTypeOf<T>, wide_c.data<float>(), c, p.m * p.n);
  return absl::OkStatus();
}

// By real and imaginary parts: four real products.
template <typename T>
absl::Status Multiply(KernelContext& ctx, const Product& p, const std::complex<T>* a, const std::complex<T>* b,
                      std::complex<T>* c) {
  // The parts of a matrix as two real ones, one after the other.
  const auto split = [&](const std::complex<T>* x, int64_t n, bool conjugate) -> absl::StatusOr<Tensor> {
    NABLA_ASSIGN_OR_RETURN(Tensor parts, ctx.AllocateTemp(kDTypeOf<T>, Shape({2, n})));
    T* real = parts.data<T>();
    T* imag = real + n;
    for (int64_t i = 0; i < n; ++i) {
      real[i] = x[i].real();
      imag[i] = conjugate ? -x[i].imag() : x[i].imag();
    }
    return parts;
  };
  NABLA_ASSIGN_OR_RETURN(const Tensor left, split(a, p.m * p.k, p.conjugate_a));
  NABLA_ASSIGN_OR_RETURN(const Tensor right, split(b, p.k * p.n, p.conjugate_b));
  NABLA_ASSIGN_OR_RETURN(Tensor product, ctx.AllocateTemp(kDTypeOf<T>, Shape({2, p.m * p.n})));
  const T* left_real = left.data<T>();
  const T* left_imag = left_real + p.m * p.k;
  const T* right_real = right.data<T>();
  const T* right_imag = right_real + p.k * p.n;
  T* real = product.data<T>();
  T* imag = real + p.m * p.n;
  const auto gemm = [&](T alpha, const T* l, const T* r, bool accumulate, T* to) {
    return Gemm(ctx, p.parallel, p.m, p.n, p.k, alpha, OperandA(p, l), OperandB(p, r), accumulate, to);
  };
  NABLA_RETURN_IF_ERROR(gemm(1, left_real, right_real, false, real));
  NABLA_RETURN_IF_ERROR(gemm(-1, left_imag, right_imag, true, real));
  NABLA_RETURN_IF_ERROR(gemm(1, left_real, right_imag, false, imag));
  NABLA_RETURN_IF_ERROR(gemm(1, left_imag, right_real, true, imag));
  for (int64_t i = 0; i < p.m * p.n; ++i) c[i] = {real[i], imag[i]};
  return absl::OkStatus();
}

template <typename Fn>
absl::Status SwitchMatMul(DType dtype, Fn&& fn) {
  switch (dtype) {
    case DType::kFloat:
      return fn(float());
    case DType::kDouble:
      return fn(double());
    case DType::kHalf:
      return fn(Half());
    case DType::kBFloat16:
      return fn(BFloat16());
    case DType::kComplex64:
      return fn(std::complex<float>());
    case DType::kComplex128:
      return fn(std::complex<double>());
    default:
      return IsInteger(dtype) ? SwitchInteger(dtype, fn) : UnsupportedDType(dtype);
  }
}

// Fills in m, n and k from the last two dimensions.
absl::Status SetSizes(const Shape& a, const Shape& b, Product& p) {
  const int64_t a_rows = a.DimFromEnd(2), a_columns = a.DimFromEnd(1);
  const int64_t b_rows = b.DimFromEnd(2), b_columns = b.DimFromEnd(1);
  p.m = p.transpose_a ? a_columns : a_rows;
  p.k = p.transpose_a ? a_rows : a_columns;
  p.n = p.transpose_b ? b_rows : b_columns;
  const int64_t b_depth = p.transpose_b ? b_columns : b_rows;
  if (p.k == b_depth) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("matrices do not fit: ", a.ToString(),
                                                 p.transpose_a ? " transposed" : "", " times ", b.ToString(),
                                                 p.transpose_b ? " transposed" : ""));
}

class MatMulKernel : public Kernel {
 public:
  explicit MatMulKernel(const KernelInit& init)
      : transpose_a_(init.attr<bool>("transpose_a")), transpose_b_(init.attr<bool>("transpose_b")) {}

  absl::Status Compute(KernelContext& ctx) const override {
    const Tensor& a = ctx.input(0);
    const Tensor& b = ctx.input(1);
    if (a.rank() != 2 || b.rank() != 2) {
      return absl::InvalidArgumentError(absl::StrCat("the arguments must be matrices, but have shapes ",
                                                     a.shape().ToString(), " and ", b.shape().ToString()));
    }
    Product p;
    p.transpose_a = transpose_a_;
    p.transpose_b = transpose_b_;
    NABLA_RETURN_IF_ERROR(SetSizes(a.shape(), b.shape(), p));
    NABLA_ASSIGN_OR_RETURN(Tensor* const c, ctx.AllocateOutput(0, Shape({p.m, p.n})));
    return SwitchMatMul(a.dtype(), [&](auto zero) {
      using T = decltype(zero);
      return Multiply(ctx, p, a.data<T>(), b.data<T>(), c->data<T>());
    });
  }

 private:
  bool transpose_a_;
  bool transpose_b_;
};

class BatchMatMulKernel : public Kernel {
 public:
  explicit BatchMatMulKernel(const KernelInit& init)
      : adjoint_x_(init.attr<bool>("adj_x")), adjoint_y_(init.attr<bool>("adj_y")) {}

  absl::Status Compute(KernelContext& ctx) const override {
    const Tensor& x = ctx.input(0);
    const Tensor& y = ctx.input(1);
    if (x.rank() < 2 || y.rank() < 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("the arguments must have at least two dimensions, but have shapes ", x.shape().ToString(),
                       " and ", y.shape().ToString()));
    }
    Product p;
    p.transpose_a = p.conjugate_a = adjoint_x_;
    p.transpose_b = p.conjugate_b = adjoint_y_;
    NABLA_RETURN_IF_ERROR(SetSizes(x.shape(), y.shape(), p));
    const Shape x_batch(x.shape().dims().first(x.rank() - 2));
    const Shape y_batch(y.shape().dims().first(y.rank() - 2));
    NABLA_ASSIGN_OR_RETURN(const Broadcast batches, Broadcast::Make({&x_batch, &y_batch}));
    Shape shape = batches.shape();
    shape.AddDim(p.m);
    shape.AddDim(p.n);
    NABLA_ASSIGN_OR_RETURN(Tensor* const z, ctx.AllocateOutput(0, shape));
    if (z->num_elements() == 0) return absl::OkStatus();

    const int64_t count = batches.num_elements();
    // Many products are done side by side, a few big ones one after the other.
    const double flops = 2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
    p.parallel = count < 4 * ctx.num_threads() && flops > 1e6;
    return SwitchMatMul(x.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const T* from_x = x.data<T>();
      const T* from_y = y.data<T>();
      T* to = z->data<T>();
      std::mutex mutex;
      absl::Status failure;
      const auto multiply = [&](int64_t begin, int64_t end) {
        batches.ForEachRun(begin, end, [&](const int64_t* at, int64_t out, int64_t n) {
          const int64_t step_x = batches.is_scalar(0) ? 0 : 1;
          const int64_t step_y = batches.is_scalar(1) ? 0 : 1;
          for (int64_t i = 0; i < n; ++i) {
            const absl::Status status = Multiply(ctx, p, from_x + (at[0] + i * step_x) * p.m * p.k,
                                                 from_y + (at[1] + i * step_y) * p.k * p.n, to + (out + i) * p.m * p.n);
            if (!status.ok()) {
              const std::lock_guard<std::mutex> lock(mutex);
              failure = status;
            }
          }
        });
      };
      if (p.parallel) {
        multiply(0, count);
      } else {
        ctx.StoppableParallelFor(count, 300 + 0.02 * flops, multiply);
      }
      return failure;
    });
  }

 private:
  bool adjoint_x_;
  bool adjoint_y_;
};

}  // namespace

void RegisterMatMulKernels(KernelRegistry& registry) {
  registry.Add<MatMulKernel>("MatMul");
  registry.Add<BatchMatMulKernel>("BatchMatMul");
  registry.Add<BatchMatMulKernel>("BatchMatMulV2");
}

}  // namespace nabla

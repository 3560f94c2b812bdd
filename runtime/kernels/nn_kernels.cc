// BiasAdd and its gradient, softmax, cross-entropies, InTopK.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nabla/runtime/dtype_switch.h"
#include "nabla/runtime/kernels/binary_runner.h"
#include "nabla/runtime/kernels/broadcast.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/kernels/narrow.h"
#include "nabla/runtime/kernels/reduce.h"
#include "nabla/runtime/kernels/simd_softmax.h"
#include "nabla/runtime/kernels/stream.h"

namespace nabla {
namespace {

// ---- BiasAdd ----

// Whether the attr data_format says that the channels are dimension 1 (else the last).
bool ChannelsFirst(const KernelInit& init) {
  const std::string* format = init.find_attr<std::string>("data_format");
  if (format == nullptr || *format == "NHWC") return false;
  if (*format != "NCHW") {
    init.Fail(absl::InvalidArgumentError(absl::StrCat("data_format must be NHWC or NCHW, not ", *format)));
  }
  return true;
}

class BiasAddKernel : public Kernel {
 public:
  explicit BiasAddKernel(const KernelInit& init) : runner_(init, AddLoops()), channels_first_(ChannelsFirst(init)) {}

  absl::Status Compute(KernelContext& ctx) const override {
    const Tensor& value = ctx.input(0);
    const Tensor& bias = ctx.input(1);
    if (value.rank() < 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("the value must have at least two dimensions, but has shape ", value.shape().ToString()));
    }
    const int channel = channels_first_ ? 1 : value.rank() - 1;
    const int64_t channels = value.dim(channel);
    if (bias.rank() != 1 || bias.dim(0) != channels) {
      return absl::InvalidArgumentError(
          absl::StrCat("the bias must be a vector of as many elements as there are channels, ", channels,
                       ", but has shape ", bias.shape().ToString()));
    }
    NABLA_ASSIGN_OR_RETURN(Tensor* const y, ctx.ForwardOrAllocateOutput({0}, 0, value.shape()));
    Shape spread({channels});
    for (int i = channel + 1; i < value.rank(); ++i) spread.AddDim(1);
    NABLA_ASSIGN_OR_RETURN(const Broadcast broadcast, Broadcast::Make({&value.shape(), &spread}));
    const char* from = static_cast<const char*>(value.raw_data());
    const char* biases = static_cast<const char*>(bias.raw_data());
    char* to = static_cast<char*>(y->raw_data());
    const BinaryKind kind = broadcast.is_scalar(1) ? BinaryKind::kVectorScalar : BinaryKind::kVectorVector;
    const double cost = 0.1 + 5.0 / static_cast<double>(std::max<int64_t>(broadcast.run_length(), 1));
    ctx.ParallelFor(value.num_elements(), cost, [&](int64_t begin, int64_t end) {
      broadcast.ForEachRun(begin, end, [&](const int64_t* at, int64_t out, int64_t n) {
        runner_.Run(from, at[0], biases, at[1], to, out, n, kind);
      });
    });
    return absl::OkStatus();
  }

 private:
  BinaryRunner runner_;
  bool channels_first_;
};

class BiasAddGradKernel : public Kernel {
 public:
  explicit BiasAddGradKernel(const KernelInit& init) : channels_first_(ChannelsFirst(init)) {}

  absl::Status Compute(KernelContext& ctx) const override {
    const Tensor& dy = ctx.input(0);
    if (dy.rank() < 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("the gradient must have at least two dimensions, but has shape ", dy.shape().ToString()));
    }
    const int channel = channels_first_ ? 1 : dy.rank() - 1;
    ReduceAxes axes(dy.rank(), true);
    axes[channel] = false;
    return Reduce(ctx, ReduceOp::kSum, dy, axes, Shape({dy.dim(channel)}));
  }

 private:
  bool channels_first_;
};

// ---- softmax ----

constexpr double kSoftmaxCost = 0.6;

// Rows of any floating type as rows of the type that is computed in. Without a copy where that is the same.
template <typename T>
class ReadRow {
 public:
  using C = ComputeType<T>;
  explicit ReadRow(int64_t n) : buffer_(std::is_same_v<T, C> ? 0 : n) {}
  const C* operator()(const T* row, int64_t n) {
    if constexpr (std::is_same_v<T, C>) {
      return row;
    } else {
      NarrowToFloat(kDTypeOf<T>, row, buffer_.data(), n);
      return buffer_.data();
    }
  }

 private:
  std::vector<C> buffer_;
};

// The same for writing: Get() gives where to, Put() puts it in place.
template <typename T>
class WriteRow {
 public:
  using C = ComputeType<T>;
  explicit WriteRow(int64_t n) : buffer_(std::is_same_v<T, C> ? 0 : n) {}
  C* Get(T* row) {
    if constexpr (std::is_same_v<T, C>)
      return row;
    else
      return buffer_.data();
  }
  void Put(T* row, int64_t n) {
    if constexpr (!std::is_same_v<T, C>) FloatToNarrow(kDTypeOf<T>, buffer_.data(), row, n);
  }

 private:
  std::vector<C> buffer_;
};

template <bool kLog>
absl::Status Softmax(KernelContext& ctx) {
  const Tensor& x = ctx.input(0);
  if (x.rank() < 1) return absl::InvalidArgumentError("the logits must have at least one dimension, but are a scalar");
  NABLA_ASSIGN_OR_RETURN(Tensor* const y, ctx.ForwardOrAllocateOutput({0}, 0, x.shape()));
  if (x.num_elements() == 0) return absl::OkStatus();
  const int64_t n = x.dim(x.rank() - 1);
  return SwitchFloating(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto& rows = SimdSoftmaxRows(ComputeType<T>());
    const T* from = x.data<T>();
    T* to = y->data<T>();
    const bool stream = y->num_bytes() >= kStreamBytes && to != from && std::is_same_v<T, ComputeType<T>>;
    ctx.ParallelFor(x.num_elements() / n, kSoftmaxCost * static_cast<double>(n) + 20, [&](int64_t begin, int64_t end) {
      ReadRow<T> read(n);
      WriteRow<T> write(n);
      for (int64_t i = begin; i < end; ++i) {
        (kLog ? rows.log_softmax : rows.softmax)(read(from + i * n, n), write.Get(to + i * n), n, stream);
        write.Put(to + i * n, n);
      }
      if (stream) FinishStreaming();
    });
    return absl::OkStatus();
  });
}

// ---- cross-entropies ----

// x broadcast to [rows, columns], into a tensor of its own.
template <typename T>
absl::StatusOr<Tensor> Spread(KernelContext& ctx, const Tensor& x, const Broadcast& broadcast, int operand) {
  NABLA_ASSIGN_OR_RETURN(Tensor result, ctx.AllocateTemp(x.dtype(), broadcast.shape()));
  const T* from = x.data<T>();
  T* to = result.data<T>();
  const int64_t step = broadcast.is_scalar(operand) ? 0 : 1;
  broadcast.ForEachRun(0, broadcast.num_elements(), [&](const int64_t* at, int64_t out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) to[out + i] = from[at[operand] + i * step];
  });
  return result;
}

// Outputs: the loss of each row, and its derivative with respect to the logits.
absl::Status SoftmaxCrossEntropy(KernelContext& ctx) {
  Tensor logits = ctx.input(0);
  Tensor labels = ctx.input(1);
  NABLA_ASSIGN_OR_RETURN(const Broadcast broadcast, Broadcast::Make({&logits.shape(), &labels.shape()}));
  const Shape& shape = broadcast.shape();
  if (shape.rank() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("logits and labels must be matrices, or broadcast to one; they have shapes ",
                     logits.shape().ToString(), " and ", labels.shape().ToString()));
  }
  const int64_t count = shape.dim(0);
  const int64_t n = shape.dim(1);
  return SwitchFloating(logits.dtype(), [&](auto zero) -> absl::Status {
    using T = decltype(zero);
    if (logits.shape() != shape) {
      NABLA_ASSIGN_OR_RETURN(logits, Spread<T>(ctx, logits, broadcast, 0));
    }
    if (labels.shape() != shape) {
      NABLA_ASSIGN_OR_RETURN(labels, Spread<T>(ctx, labels, broadcast, 1));
    }
    NABLA_ASSIGN_OR_RETURN(Tensor* const loss, ctx.AllocateOutput(0, Shape({count})));
    NABLA_ASSIGN_OR_RETURN(Tensor* const backprop, ctx.AllocateOutput(1, shape));
    T* losses = loss->data<T>();
    if (n == 0) {
      std::fill(losses, losses + count, T(0));
      return absl::OkStatus();
    }
    const auto& rows = SimdSoftmaxRows(ComputeType<T>());
    const T* x = logits.data<T>();
    const T* l = labels.data<T>();
    T* out = backprop->data<T>();
    ctx.ParallelFor(count, 2 * kSoftmaxCost * static_cast<double>(n) + 30, [&](int64_t begin, int64_t end) {
      ReadRow<T> read_x(n);
      ReadRow<T> read_labels(n);
      WriteRow<T> write(n);
      for (int64_t i = begin; i < end; ++i) {
        losses[i] = static_cast<T>(
            rows.cross_entropy(read_x(x + i * n, n), read_labels(l + i * n, n), write.Get(out + i * n), n));
        write.Put(out + i * n, n);
      }
    });
    return absl::OkStatus();
  });
}

template <typename Index>
absl::Status CheckLabels(const Tensor& labels, int64_t classes) {
  for (Index label : labels.flat<Index>()) {
    if (label >= 0 && static_cast<int64_t>(label) < classes) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("label ", label, " is not in [0, ", classes, "), the range of the classes"));
  }
  return absl::OkStatus();
}

absl::Status SparseSoftmaxCrossEntropy(KernelContext& ctx) {
  const Tensor& logits = ctx.input(0);
  const Tensor& labels = ctx.input(1);
  if (logits.rank() != 2 || labels.rank() != 1 || labels.dim(0) != logits.dim(0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "logits must be a matrix and labels a vector of as many elements as it has rows; they have shapes ",
        logits.shape().ToString(), " and ", labels.shape().ToString()));
  }
  const int64_t count = logits.dim(0);
  const int64_t n = logits.dim(1);
  if (n == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("there must be at least one class, but the logits have shape ", logits.shape().ToString()));
  }
  const bool wide = labels.dtype() == DType::kInt64;
  NABLA_RETURN_IF_ERROR(wide ? CheckLabels<int64_t>(labels, n) : CheckLabels<int32_t>(labels, n));
  NABLA_ASSIGN_OR_RETURN(Tensor* const loss, ctx.AllocateOutput(0, Shape({count})));
  NABLA_ASSIGN_OR_RETURN(Tensor* const backprop, ctx.ForwardOrAllocateOutput({0}, 1, logits.shape()));
  return SwitchFloating(logits.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto& rows = SimdSoftmaxRows(ComputeType<T>());
    const T* x = logits.data<T>();
    T* losses = loss->data<T>();
    T* out = backprop->data<T>();
    ctx.ParallelFor(count, kSoftmaxCost * static_cast<double>(n) + 30, [&](int64_t begin, int64_t end) {
      ReadRow<T> read(n);
      WriteRow<T> write(n);
      for (int64_t i = begin; i < end; ++i) {
        const int64_t label = wide ? labels.data<int64_t>()[i] : labels.data<int32_t>()[i];
        losses[i] = static_cast<T>(rows.sparse_cross_entropy(read(x + i * n, n), label, write.Get(out + i * n), n));
        write.Put(out + i * n, n);
      }
    });
    return absl::OkStatus();
  });
}

// ---- InTopK ----

// Whether fewer than k classes have a higher prediction than the target. False where that cannot be said: a target
// that is no class, predictions that are not finite.
absl::Status InTopK(KernelContext& ctx, int64_t k) {
  const Tensor& predictions = ctx.input(0);
  const Tensor& targets = ctx.input(1);
  if (predictions.rank() != 2 || targets.rank() != 1 || targets.dim(0) != predictions.dim(0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "predictions must be a matrix and targets a vector of as many elements as it has rows; they have shapes ",
        predictions.shape().ToString(), " and ", targets.shape().ToString()));
  }
  const int64_t count = predictions.dim(0);
  const int64_t n = predictions.dim(1);
  NABLA_ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, Shape({count})));
  return SwitchIndex(targets.dtype(), [&](auto zero) {
    using Index = decltype(zero);
    const float* p = predictions.data<float>();
    const Index* target = targets.data<Index>();
    bool* in = y->data<bool>();
    ctx.ParallelFor(count, static_cast<double>(n) + 5, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        in[i] = false;
        if (target[i] < 0 || static_cast<int64_t>(target[i]) >= n) continue;
        const float* row = p + i * n;
        const float mine = row[target[i]];
        int64_t higher = 0;
        bool finite = true;
        for (int64_t c = 0; c < n; ++c) {
          finite &= std::isfinite(row[c]);
          higher += row[c] > mine;
        }
        in[i] = finite && higher < k;
      }
    });
    return absl::OkStatus();
  });
}

class InTopKKernel : public Kernel {
 public:
  explicit InTopKKernel(const KernelInit& init) : k_(init.attr<int64_t>("k")) {}
  absl::Status Compute(KernelContext& ctx) const override { return InTopK(ctx, k_); }

 private:
  int64_t k_;
};

absl::Status InTopKV2(KernelContext& ctx) {
  const Tensor& k = ctx.input(2);
  if (k.rank() != 0) {
    return absl::InvalidArgumentError(absl::StrCat("k must be a scalar, not of shape ", k.shape().ToString()));
  }
  return InTopK(ctx, k.dtype() == DType::kInt64 ? *k.data<int64_t>() : *k.data<int32_t>());
}

}  // namespace

void RegisterNnKernels(KernelRegistry& registry) {
  registry.Add<BiasAddKernel>("BiasAdd");
  registry.Add<BiasAddKernel>("BiasAddV1");
  registry.Add<BiasAddGradKernel>("BiasAddGrad");
  registry.Add("Softmax", &Softmax<false>);
  registry.Add("LogSoftmax", &Softmax<true>);
  registry.Add("SoftmaxCrossEntropyWithLogits", &SoftmaxCrossEntropy);
  registry.Add("SparseSoftmaxCrossEntropyWithLogits", &SparseSoftmaxCrossEntropy);
  registry.Add<InTopKKernel>("InTopK");
  registry.Add("InTopKV2", &InTopKV2);
}

}  // namespace nabla

// Cast and Bitcast.
#include <algorithm>
#include <array>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/kernels/narrow.h"
#include "nabla/runtime/kernels/scalar_loops.h"

namespace nabla {
namespace {

using CastLoop = void (*)(const void* x, void* y, int64_t n);

// A real number as integer To, rounded toward zero, for every argument: what x86 instructions give, which is what
// TensorFlow gives. Out of range and NaN become the least int32 or int64; narrower types take the low bits of an
// int32. Unsigned 32 and 64 bits wrap negative numbers, and become 2^31 or 2^63 out of range.
template <typename To, typename From>
To RealToInteger(From x) {
  constexpr From kTwo31 = 2147483648.0;
  constexpr From kTwo63 = 9223372036854775808.0;
  if constexpr (std::is_same_v<To, int64_t>) {
    return x >= -kTwo63 && x < kTwo63 ? static_cast<int64_t>(x) : std::numeric_limits<int64_t>::min();
  } else if constexpr (std::is_same_v<To, uint64_t>) {
    if (x >= -kTwo63 && x < kTwo63) return static_cast<uint64_t>(static_cast<int64_t>(x));
    return x >= kTwo63 && x < 2 * kTwo63 ? static_cast<uint64_t>(x) : uint64_t{1} << 63;
  } else if constexpr (std::is_same_v<To, uint32_t>) {
    return x > -kTwo31 && x < 2 * kTwo31 ? static_cast<uint32_t>(static_cast<int64_t>(x)) : uint32_t{1} << 31;
  } else {
    const int32_t value = x > -kTwo31 - 1 && x < kTwo31 ? static_cast<int32_t>(x) : std::numeric_limits<int32_t>::min();
    return static_cast<To>(value);
  }
}

template <typename To, typename From>
To CastElement(From x) {
  if constexpr (kIsComplex<From>) {
    if constexpr (kIsComplex<To>) {
      using Part = typename To::value_type;
      return To(static_cast<Part>(x.real()), static_cast<Part>(x.imag()));
    } else {
      return CastElement<To>(x.real());
    }
  } else if constexpr (kIsComplex<To>) {
    return To(static_cast<typename To::value_type>(x), 0);
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return RealToInteger<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

template <typename From, typename To>
void RunCast(const void* x_bytes, void* y_bytes, int64_t n) {
  const From* x = static_cast<const From*>(x_bytes);
  To* y = static_cast<To*>(y_bytes);
  for (int64_t i = 0; i < n; ++i) y[i] = CastElement<To>(x[i]);
}

// half and bfloat16 go through float.
using CastTypes = Types<float, double, int32_t, int64_t, int8_t, int16_t, uint8_t, uint16_t, uint32_t, uint64_t, bool,
                        std::complex<float>, std::complex<double>>;

template <typename From, typename... Tos>
CastLoop FindCastTo(DType to, Types<Tos...>) {
  CastLoop loop = nullptr;
  ((to == kDTypeOf<Tos> ? void(loop = &RunCast<From, Tos>) : void()), ...);
  return loop;
}

template <typename... Froms>
CastLoop FindCast(DType from, DType to, Types<Froms...>) {
  CastLoop loop = nullptr;
  ((from == kDTypeOf<Froms> ? void(loop = FindCastTo<Froms>(to, CastTypes())) : void()), ...);
  return loop;
}

// ---- Truncate: rounding toward zero to a narrower floating type, by clearing the bits that will be dropped ----

void TruncateDoubles(const void* x_bytes, void* y_bytes, int64_t n, int dropped_bits) {
  const double* x = static_cast<const double*>(x_bytes);
  double* y = static_cast<double*>(y_bytes);
  for (int64_t i = 0; i < n; ++i) {
    uint64_t bits;
    std::memcpy(&bits, &x[i], sizeof(bits));
    if (x[i] == x[i]) bits &= ~uint64_t{0} << dropped_bits;
    std::memcpy(&y[i], &bits, sizeof(bits));
  }
}

void TruncateFloats(const void* x_bytes, void* y_bytes, int64_t n, int dropped_bits) {
  const float* x = static_cast<const float*>(x_bytes);
  float* y = static_cast<float*>(y_bytes);
  for (int64_t i = 0; i < n; ++i) {
    uint32_t bits;
    std::memcpy(&bits, &x[i], sizeof(bits));
    if (x[i] == x[i]) bits &= ~uint32_t{0} << dropped_bits;
    std::memcpy(&y[i], &bits, sizeof(bits));
  }
}

// Bits of the significand that `to` does not have; 0 where the attr Truncate has no effect.
int DroppedBits(DType from, DType to) {
  if (from == DType::kDouble && to == DType::kFloat) return 52 - 23;
  if (from == DType::kDouble && to == DType::kHalf) return 52 - 10;
  if (from == DType::kFloat && to == DType::kHalf) return 23 - 10;
  if (from == DType::kFloat && to == DType::kBFloat16) return 23 - 7;
  return 0;
}

class CastKernel : public Kernel {
 public:
  explicit CastKernel(const KernelInit& init) : from_(init.input_dtype(0)), to_(init.output_dtype(0)) {
    if (from_ == to_) return;
    const DType wide_from = IsNarrow(from_) ? DType::kFloat : from_;
    const DType wide_to = IsNarrow(to_) ? DType::kFloat : to_;
    loop_ = FindCast(wide_from, wide_to, CastTypes());
    if (loop_ == nullptr) {
      init.Fail(absl::UnimplementedError(
          absl::StrCat("casting ", DTypeName(from_), " to ", DTypeName(to_), " is not supported")));
    }
    const bool* truncate = init.find_attr<bool>("Truncate");
    if (truncate != nullptr && *truncate) dropped_bits_ = DroppedBits(from_, to_);
  }

  absl::Status Compute(KernelContext& ctx) const override {
    const Tensor& x = ctx.input(0);
    if (from_ == to_) {
      ctx.SetOutput(0, x);
      return absl::OkStatus();
    }
    NABLA_ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, x.shape()));
    const char* from = static_cast<const char*>(x.raw_data());
    char* to = static_cast<char*>(y->raw_data());
    const int64_t from_size = static_cast<int64_t>(DTypeSize(from_));
    const int64_t to_size = static_cast<int64_t>(DTypeSize(to_));
    ctx.ParallelFor(x.num_elements(), 0.5, [&](int64_t begin, int64_t end) {
      Run(from + begin * from_size, to + begin * to_size, end - begin);
    });
    return absl::OkStatus();
  }

 private:
  void Run(const char* x, char* y, int64_t n) const {
    if (!IsNarrow(from_) && !IsNarrow(to_) && dropped_bits_ == 0) {
      loop_(x, y, n);
      return;
    }
    const int64_t from_size = static_cast<int64_t>(DTypeSize(from_));
    const int64_t to_size = static_cast<int64_t>(DTypeSize(to_));
    // float or double, whichever a step needs
    alignas(8) char first[kNarrowBlock * 8];
    float second[kNarrowBlock];
    for (int64_t i = 0; i < n; i += kNarrowBlock) {
      const int64_t count = std::min(kNarrowBlock, n - i);
      const void* source = x + i * from_size;
      if (IsNarrow(from_)) {
        NarrowToFloat(from_, source, reinterpret_cast<float*>(first), count);
        source = first;
      } else if (dropped_bits_ != 0) {
        (from_ == DType::kDouble ? TruncateDoubles : TruncateFloats)(source, first, count, dropped_bits_);
        source = first;
      }
      if (IsNarrow(to_)) {
        loop_(source, second, count);
        FloatToNarrow(to_, second, y + i * to_size, count);
      } else {
        loop_(source, y + i * to_size, count);
      }
    }
  }

  DType from_;
  DType to_;
  CastLoop loop_ = nullptr;
  int dropped_bits_ = 0;
};

absl::Status Bitcast(KernelContext& ctx) {
  const Tensor& x = ctx.input(0);
  const DType to = ctx.output_dtype(0);
  if (!IsPod(x.dtype())) return UnsupportedDType(x.dtype());
  if (!IsPod(to)) return UnsupportedDType(to);
  const int64_t from_size = static_cast<int64_t>(DTypeSize(x.dtype()));
  const int64_t to_size = static_cast<int64_t>(DTypeSize(to));
  if (from_size == to_size) {
    ctx.SetOutput(0, x.BitcastTo(to));
    return absl::OkStatus();
  }
  Shape shape = x.shape();
  if (from_size > to_size) {
    shape.AddDim(from_size / to_size);
  } else {
    const int64_t ratio = to_size / from_size;
    if (shape.rank() == 0 || shape.dim(shape.rank() - 1) != ratio) {
      return absl::InvalidArgumentError(absl::StrCat("cannot bitcast ", DTypeName(x.dtype()), " of shape ",
                                                     shape.ToString(), " to ", DTypeName(to),
                                                     ": the last dimension must be ", ratio));
    }
    shape.RemoveDim(shape.rank() - 1);
  }
  NABLA_ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, shape));
  if (x.num_bytes() > 0) std::memcpy(y->raw_data(), x.raw_data(), x.num_bytes());
  return absl::OkStatus();
}

}  // namespace

void RegisterCastKernels(KernelRegistry& registry) {
  registry.Add<CastKernel>("Cast");
  registry.Add("Bitcast", &Bitcast);
}

}  // namespace nabla

// Dispatch on dtype, in one place. The callback is a generic lambda that gets a value of the C++ type:
//
//   return SwitchNumeric(ctx.input(0).dtype(), [&](auto zero) -> absl::Status {
//     using T = decltype(zero);
//     …
//   });
//
// Use the narrowest switch that will do: each case instantiates the lambda. Kernels that only move bytes switch on the
// element size instead (SwitchSize).
#ifndef NABLA_RUNTIME_DTYPE_SWITCH_H_
#define NABLA_RUNTIME_DTYPE_SWITCH_H_

#include <complex>
#include <cstdint>

#include "absl/status/status.h"
#include "nabla/graph/dtype.h"
#include "nabla/runtime/kernel.h"

namespace nabla {

#define NABLA_DTYPE_CASE(enumerator, T) \
  case DType::enumerator:               \
    return fn(T());

// float and double
template <typename Fn>
absl::Status SwitchFloatDouble(DType dtype, Fn&& fn) {
  switch (dtype) {
    NABLA_DTYPE_CASE(kFloat, float)
    NABLA_DTYPE_CASE(kDouble, double)
    default:
      return UnsupportedDType(dtype);
  }
}

// half, bfloat16 (compute in float), float and double
template <typename Fn>
absl::Status SwitchFloating(DType dtype, Fn&& fn) {
  switch (dtype) {
    NABLA_DTYPE_CASE(kFloat, float)
    NABLA_DTYPE_CASE(kDouble, double)
    NABLA_DTYPE_CASE(kHalf, Half)
    NABLA_DTYPE_CASE(kBFloat16, BFloat16)
    default:
      return UnsupportedDType(dtype);
  }
}

// Integers of every width
template <typename Fn>
absl::Status SwitchInteger(DType dtype, Fn&& fn) {
  switch (dtype) {
    NABLA_DTYPE_CASE(kInt32, int32_t)
    NABLA_DTYPE_CASE(kInt64, int64_t)
    NABLA_DTYPE_CASE(kInt8, int8_t)
    NABLA_DTYPE_CASE(kInt16, int16_t)
    NABLA_DTYPE_CASE(kUInt8, uint8_t)
    NABLA_DTYPE_CASE(kUInt16, uint16_t)
    NABLA_DTYPE_CASE(kUInt32, uint32_t)
    NABLA_DTYPE_CASE(kUInt64, uint64_t)
    default:
      return UnsupportedDType(dtype);
  }
}

// Indices: int32 and int64
template <typename Fn>
absl::Status SwitchIndex(DType dtype, Fn&& fn) {
  switch (dtype) {
    NABLA_DTYPE_CASE(kInt32, int32_t)
    NABLA_DTYPE_CASE(kInt64, int64_t)
    default:
      return UnsupportedDType(dtype);
  }
}

// Floating and integer
template <typename Fn>
absl::Status SwitchReal(DType dtype, Fn&& fn) {
  if (IsInteger(dtype)) return SwitchInteger(dtype, fn);
  return SwitchFloating(dtype, fn);
}

// Floating, integer and complex
template <typename Fn>
absl::Status SwitchNumeric(DType dtype, Fn&& fn) {
  switch (dtype) {
    NABLA_DTYPE_CASE(kComplex64, std::complex<float>)
    NABLA_DTYPE_CASE(kComplex128, std::complex<double>)
    default:
      return SwitchReal(dtype, fn);
  }
}

// POD elements by size, as unsigned integers (16 bytes: complex<double>), for kernels that move bytes.
template <typename Fn>
absl::Status SwitchSize(DType dtype, Fn&& fn) {
  if (!IsPod(dtype)) return UnsupportedDType(dtype);
  switch (DTypeSize(dtype)) {
    case 1:
      return fn(uint8_t());
    case 2:
      return fn(uint16_t());
    case 4:
      return fn(uint32_t());
    case 8:
      return fn(uint64_t());
    case 16:
      return fn(std::complex<double>());
    default:
      return UnsupportedDType(dtype);
  }
}

// SwitchSize, and strings, resources and variants as themselves.
template <typename Fn>
absl::Status SwitchMovable(DType dtype, Fn&& fn) {
  switch (dtype) {
    NABLA_DTYPE_CASE(kString, std::string)
    NABLA_DTYPE_CASE(kResource, ResourceHandle)
    NABLA_DTYPE_CASE(kVariant, Variant)
    default:
      return SwitchSize(dtype, fn);
  }
}

#undef NABLA_DTYPE_CASE

// The type to compute in: float for half and bfloat16, T itself otherwise.
template <typename T>
struct ComputeTypeOf {
  using type = T;
};
template <>
struct ComputeTypeOf<Half> {
  using type = float;
};
template <>
struct ComputeTypeOf<BFloat16> {
  using type = float;
};
template <typename T>
using ComputeType = typename ComputeTypeOf<T>::type;

}  // namespace nabla

#endif  // NABLA_RUNTIME_DTYPE_SWITCH_H_

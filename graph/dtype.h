// Element types. The numeric values are those of GraphDef's DataType enum, so that a DType converts to and from
// the wire by a cast.
//
//   DType t = DType::kFloat;
//   DTypeName(t);      // "float"      (op specs, error messages)
//   DTypeEnumName(t);  // "DT_FLOAT"   (text GraphDef)
//   DTypeSize(t);      // 4
//
// Thread safety: everything here is a pure function.
#ifndef NABLA_GRAPH_DTYPE_H_
#define NABLA_GRAPH_DTYPE_H_

#include <complex>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "nabla/graph/float16.h"

namespace nabla {

enum class DType : uint8_t {
  kInvalid = 0,
  kFloat = 1,
  kDouble = 2,
  kInt32 = 3,
  kUInt8 = 4,
  kInt16 = 5,
  kInt8 = 6,
  kString = 7,
  kComplex64 = 8,
  kInt64 = 9,
  kBool = 10,
  kQInt8 = 11,
  kQUInt8 = 12,
  kQInt32 = 13,
  kBFloat16 = 14,
  kQInt16 = 15,
  kQUInt16 = 16,
  kUInt16 = 17,
  kComplex128 = 18,
  kHalf = 19,
  kResource = 20,
  kVariant = 21,
  kUInt32 = 22,
  kUInt64 = 23,
  kFloat8E5M2 = 24,
  kFloat8E4M3FN = 25,
  kFloat8E4M3FNUZ = 26,
  kFloat8E4M3B11FNUZ = 27,
  kFloat8E5M2FNUZ = 28,
  kInt4 = 29,
  kUInt4 = 30,
  kInt2 = 31,
  kUInt2 = 32,
  kFloat4E2M1FN = 33,
};

// Reference types (DT_FLOAT_REF = 101, …) are the base type plus this offset. They occur only in imported graphs.
inline constexpr int kRefOffset = 100;

using DTypes = std::vector<DType>;

class ResourceHandle;  // graph/tensor.h
class Variant;         // graph/tensor.h

// "float", "int32", "resource", …; "invalid" for kInvalid and unnamed values. Reference types get the suffix "_ref".
absl::string_view DTypeName(DType dtype);
// "DT_FLOAT", …
absl::string_view DTypeEnumName(DType dtype);
// The type of either spelling ("float", "DT_FLOAT"), or nullopt.
absl::optional<DType> ParseDType(absl::string_view name);

bool IsKnown(DType dtype);  // one of the enumerators other than kInvalid, or a reference to one
bool IsRef(DType dtype);
DType BaseDType(DType dtype);  // without the reference offset
DType MakeRef(DType dtype);

// Bytes of one element as this library stores it; 0 for kInvalid and unknown values. Types narrower than a byte take
// one.
size_t DTypeSize(DType dtype);
bool IsFloating(DType dtype);   // half, bfloat16, float, double, the float8 and float4 types
bool IsTinyFloat(DType dtype);  // the float8 and float4 types: one byte each, kept and shown but not computed with
bool IsComplex(DType dtype);
bool IsInteger(DType dtype);  // signed or unsigned, not quantized, not bool
bool IsUnsigned(DType dtype);
bool IsQuantized(DType dtype);
// Elements that may be copied with memcpy (everything but string, resource and variant).
bool IsPod(DType dtype);
// The real type of a complex type's parts (float for complex64), the type itself otherwise.
DType RealDType(DType dtype);

std::ostream& operator<<(std::ostream& os, DType dtype);

// The C++ type of a DType and back: DTypeOf<float>::value == DType::kFloat.
template <typename T>
struct DTypeOf;
#define NABLA_DTYPE_OF(cpp, enumerator)               \
  template <>                                         \
  struct DTypeOf<cpp> {                               \
    static constexpr DType value = DType::enumerator; \
  };
NABLA_DTYPE_OF(float, kFloat)
NABLA_DTYPE_OF(double, kDouble)
NABLA_DTYPE_OF(int32_t, kInt32)
NABLA_DTYPE_OF(uint8_t, kUInt8)
NABLA_DTYPE_OF(int16_t, kInt16)
NABLA_DTYPE_OF(int8_t, kInt8)
NABLA_DTYPE_OF(std::string, kString)
NABLA_DTYPE_OF(std::complex<float>, kComplex64)
NABLA_DTYPE_OF(int64_t, kInt64)
NABLA_DTYPE_OF(bool, kBool)
NABLA_DTYPE_OF(BFloat16, kBFloat16)
NABLA_DTYPE_OF(uint16_t, kUInt16)
NABLA_DTYPE_OF(std::complex<double>, kComplex128)
NABLA_DTYPE_OF(Half, kHalf)
NABLA_DTYPE_OF(ResourceHandle, kResource)
NABLA_DTYPE_OF(Variant, kVariant)
NABLA_DTYPE_OF(uint32_t, kUInt32)
NABLA_DTYPE_OF(uint64_t, kUInt64)
#undef NABLA_DTYPE_OF

template <typename T>
inline constexpr DType kDTypeOf = DTypeOf<T>::value;

}  // namespace nabla

#endif  // NABLA_GRAPH_DTYPE_H_

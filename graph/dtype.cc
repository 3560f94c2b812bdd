#include "nabla/graph/dtype.h"

#include <ostream>

#include "nabla/graph/tensor.h"

namespace nabla {
namespace {

enum Trait : uint8_t {
  kPod = 1,
  kFloating = 2,
  kComplex = 4,
  kInteger = 8,
  kUnsignedInteger = 16,
  kQuantized = 32,
};

struct Info {
  const char* name = nullptr;  // followed by "_ref" where the reference's name is meant
  const char* enum_name = nullptr;
  uint8_t size = 0;
  uint8_t traits = 0;
};

constexpr int kNumTypes = static_cast<int>(DType::kFloat4E2M1FN) + 1;

// By enum value; a row without a name is a value that no type has.
constexpr Info kInfo[kNumTypes] = {
    {},
    {"float_ref", "DT_FLOAT_REF", 4, kPod | kFloating},
    {"double_ref", "DT_DOUBLE_REF", 8, kPod | kFloating},
    {"int32_ref", "DT_INT32_REF", 4, kPod | kInteger},
    {"uint8_ref", "DT_UINT8_REF", 1, kPod | kInteger | kUnsignedInteger},
    {"int16_ref", "DT_INT16_REF", 2, kPod | kInteger},
    {"int8_ref", "DT_INT8_REF", 1, kPod | kInteger},
    {"string_ref", "DT_STRING_REF", sizeof(std::string), 0},
    {"complex64_ref", "DT_COMPLEX64_REF", 8, kPod | kComplex},
    {"int64_ref", "DT_INT64_REF", 8, kPod | kInteger},
    {"bool_ref", "DT_BOOL_REF", 1, kPod},
    {"qint8_ref", "DT_QINT8_REF", 1, kPod | kQuantized},
    {"quint8_ref", "DT_QUINT8_REF", 1, kPod | kQuantized},
    {"qint32_ref", "DT_QINT32_REF", 4, kPod | kQuantized},
    {"bfloat16_ref", "DT_BFLOAT16_REF", 2, kPod | kFloating},
    {"qint16_ref", "DT_QINT16_REF", 2, kPod | kQuantized},
    {"quint16_ref", "DT_QUINT16_REF", 2, kPod | kQuantized},
    {"uint16_ref", "DT_UINT16_REF", 2, kPod | kInteger | kUnsignedInteger},
    {"complex128_ref", "DT_COMPLEX128_REF", 16, kPod | kComplex},
    {"half_ref", "DT_HALF_REF", 2, kPod | kFloating},
    {"resource_ref", "DT_RESOURCE_REF", sizeof(ResourceHandle), 0},
    {"variant_ref", "DT_VARIANT_REF", sizeof(Variant), 0},
    {"uint32_ref", "DT_UINT32_REF", 4, kPod | kInteger | kUnsignedInteger},
    {"uint64_ref", "DT_UINT64_REF", 8, kPod | kInteger | kUnsignedInteger},
    {"float8_e5m2_ref", "DT_FLOAT8_E5M2_REF", 1, kPod | kFloating},
    {"float8_e4m3fn_ref", "DT_FLOAT8_E4M3FN_REF", 1, kPod | kFloating},
    {"float8_e4m3fnuz_ref", "DT_FLOAT8_E4M3FNUZ_REF", 1, kPod | kFloating},
    {"float8_e4m3b11fnuz_ref", "DT_FLOAT8_E4M3B11FNUZ_REF", 1, kPod | kFloating},
    {"float8_e5m2fnuz_ref", "DT_FLOAT8_E5M2FNUZ_REF", 1, kPod | kFloating},
    {"int4_ref", "DT_INT4_REF", 1, kPod | kInteger},
    {"uint4_ref", "DT_UINT4_REF", 1, kPod | kInteger | kUnsignedInteger},
    {"int2_ref", "DT_INT2_REF", 1, kPod | kInteger},
    {"uint2_ref", "DT_UINT2_REF", 1, kPod | kInteger | kUnsignedInteger},
    {"float4_e2m1fn_ref", "DT_FLOAT4_E2M1FN_REF", 1, kPod | kFloating},
};
constexpr size_t kRefSuffix = 4;  // the length of "_ref"

// The row of a non-reference type; the empty row for everything else.
const Info& InfoOf(DType dtype) {
  const int value = static_cast<int>(dtype);
  return kInfo[value < kNumTypes ? value : 0];
}

bool Has(DType dtype, int trait) { return (InfoOf(dtype).traits & trait) != 0; }

absl::string_view NameFor(DType dtype, const char* Info::*field) {
  const char* with_suffix = InfoOf(BaseDType(dtype)).*field;
  if (with_suffix == nullptr) return {};
  absl::string_view name = with_suffix;
  if (!IsRef(dtype)) name.remove_suffix(kRefSuffix);
  return name;
}

}  // namespace

absl::string_view DTypeName(DType dtype) {
  const absl::string_view name = NameFor(dtype, &Info::name);
  return name.empty() ? "invalid" : name;
}

absl::string_view DTypeEnumName(DType dtype) {
  const absl::string_view name = NameFor(dtype, &Info::enum_name);
  return name.empty() ? "DT_INVALID" : name;
}

absl::optional<DType> ParseDType(absl::string_view name) {
  for (int value = 1; value < kNumTypes; ++value) {
    const DType dtype = static_cast<DType>(value);
    if (!IsKnown(dtype)) continue;
    for (DType candidate : {dtype, MakeRef(dtype)}) {
      if (name == DTypeName(candidate) || name == DTypeEnumName(candidate)) return candidate;
    }
  }
  return absl::nullopt;
}

bool IsKnown(DType dtype) { return InfoOf(BaseDType(dtype)).name != nullptr; }

bool IsRef(DType dtype) { return static_cast<int>(dtype) > kRefOffset; }

DType BaseDType(DType dtype) { return IsRef(dtype) ? static_cast<DType>(static_cast<int>(dtype) - kRefOffset) : dtype; }

DType MakeRef(DType dtype) {
  return IsRef(dtype) || dtype == DType::kInvalid ? dtype : static_cast<DType>(static_cast<int>(dtype) + kRefOffset);
}

size_t DTypeSize(DType dtype) { return InfoOf(dtype).size; }
bool IsFloating(DType dtype) { return Has(dtype, kFloating); }
bool IsTinyFloat(DType dtype) { return IsFloating(dtype) && DTypeSize(dtype) == 1; }
bool IsComplex(DType dtype) { return Has(dtype, kComplex); }
bool IsInteger(DType dtype) { return Has(dtype, kInteger); }
bool IsUnsigned(DType dtype) { return Has(dtype, kUnsignedInteger); }
bool IsQuantized(DType dtype) { return Has(dtype, kQuantized); }
bool IsPod(DType dtype) { return Has(dtype, kPod); }

DType RealDType(DType dtype) {
  switch (dtype) {
    case DType::kComplex64:
      return DType::kFloat;
    case DType::kComplex128:
      return DType::kDouble;
    default:
      return dtype;
  }
}

std::ostream& operator<<(std::ostream& os, DType dtype) { return os << DTypeName(dtype); }

}  // namespace nabla

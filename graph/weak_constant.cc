#include "nabla/graph/weak_constant.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <type_traits>

#include "absl/strings/str_cat.h"

namespace nabla {
namespace {

absl::Status DoesNotFit(const std::string& value, DType dtype) {
  return absl::InvalidArgumentError(absl::StrCat("the number ", value, " does not fit ", DTypeName(dtype)));
}

// Integers from integers, and from doubles without a fraction (operators on Outputs take every number as a double).
template <typename T>
bool ToInteger(int64_t value, T* result) {
  if constexpr (std::is_unsigned_v<T>) {
    if (value < 0 || static_cast<uint64_t>(value) > std::numeric_limits<T>::max()) return false;
  } else {
    if (value < std::numeric_limits<T>::min() || value > std::numeric_limits<T>::max()) return false;
  }
  *result = static_cast<T>(value);
  return true;
}

template <typename T>
bool ToInteger(double value, T* result) {
  // Both bounds are powers of two, or zero, and so exact.
  const double low = static_cast<double>(std::numeric_limits<T>::min());
  const double above = std::ldexp(1.0, std::numeric_limits<T>::digits);
  if (!(value >= low && value < above) || value != std::floor(value)) return false;
  *result = static_cast<T>(value);
  return true;
}

template <typename From, typename To>
absl::StatusOr<Tensor> Convert(const Tensor& value) {
  Tensor result(kDTypeOf<To>, value.shape());
  const absl::Span<const From> from = value.flat<From>();
  const absl::Span<To> to = result.flat<To>();
  for (size_t i = 0; i < from.size(); ++i) {
    if constexpr (std::is_integral_v<To>) {
      if (!ToInteger(from[i], &to[i])) return DoesNotFit(absl::StrCat(from[i]), kDTypeOf<To>);
    } else if constexpr (std::is_same_v<To, std::complex<float>> || std::is_same_v<To, std::complex<double>>) {
      to[i] = To(static_cast<typename To::value_type>(from[i]));
    } else if constexpr (std::is_same_v<To, double>) {
      to[i] = static_cast<double>(from[i]);
    } else {
      to[i] = To(static_cast<float>(from[i]));
    }
  }
  return result;
}

template <typename From>
absl::StatusOr<Tensor> ConvertFrom(const Tensor& value, DType dtype) {
  switch (dtype) {
    case DType::kFloat:
      return Convert<From, float>(value);
    case DType::kDouble:
      return Convert<From, double>(value);
    case DType::kHalf:
      return Convert<From, Half>(value);
    case DType::kBFloat16:
      return Convert<From, BFloat16>(value);
    case DType::kInt8:
      return Convert<From, int8_t>(value);
    case DType::kInt16:
      return Convert<From, int16_t>(value);
    case DType::kInt32:
      return Convert<From, int32_t>(value);
    case DType::kInt64:
      return Convert<From, int64_t>(value);
    case DType::kUInt8:
      return Convert<From, uint8_t>(value);
    case DType::kUInt16:
      return Convert<From, uint16_t>(value);
    case DType::kUInt32:
      return Convert<From, uint32_t>(value);
    case DType::kUInt64:
      return Convert<From, uint64_t>(value);
    case DType::kComplex64:
      return Convert<From, std::complex<float>>(value);
    case DType::kComplex128:
      return Convert<From, std::complex<double>>(value);
    default:
      return absl::InvalidArgumentError(absl::StrCat("a number cannot become ", DTypeName(dtype)));
  }
}

}  // namespace

absl::StatusOr<Tensor> ConvertWeakConstant(const Tensor& value, DType dtype) {
  if (value.dtype() == dtype) return value;
  return value.dtype() == DType::kDouble ? ConvertFrom<double>(value, dtype) : ConvertFrom<int64_t>(value, dtype);
}

DType DefaultWeakDType(absl::Span<const Tensor* const> values, const AttrSpec* attr) {
  const auto allowed = [&](DType dtype) {
    return attr == nullptr || attr->allowed_types.empty() ||
           std::find(attr->allowed_types.begin(), attr->allowed_types.end(), dtype) != attr->allowed_types.end();
  };
  const auto fit = [&](DType dtype) {
    return std::all_of(values.begin(), values.end(),
                       [dtype](const Tensor* value) { return ConvertWeakConstant(*value, dtype).ok(); });
  };
  const bool has_point =
      std::any_of(values.begin(), values.end(), [](const Tensor* value) { return value->dtype() == DType::kDouble; });
  if (attr != nullptr && attr->default_value.has_value()) {
    const DType fallback = *attr->default_value->As<DType>();
    if (!(has_point && IsInteger(fallback)) && fit(fallback)) return fallback;
  }
  if (!has_point) {
    if (allowed(DType::kInt32) && fit(DType::kInt32)) return DType::kInt32;
    if (allowed(DType::kInt64)) return DType::kInt64;
  }
  if (allowed(DType::kFloat)) return DType::kFloat;
  return attr->allowed_types.front();
}

}  // namespace nabla

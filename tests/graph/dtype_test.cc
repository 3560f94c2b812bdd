#include "nabla/graph/dtype.h"

#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nabla/graph/tensor.h"
#include "nabla/proto/types.pb.h"

namespace nabla {
namespace {

std::vector<DType> AllDTypes() {
  std::vector<DType> all;
  for (int value = 0; value < 256; ++value) {
    const DType dtype = static_cast<DType>(value);
    if (IsKnown(dtype) && !IsRef(dtype)) all.push_back(dtype);
  }
  return all;
}

TEST(DTypeTest, AllTypesOfTheSchemaAreKnown) {
  EXPECT_EQ(AllDTypes().size(), 33u);
  for (int number = 1; number < 256; ++number) {
    EXPECT_EQ(IsKnown(static_cast<DType>(number)), DataType_IsValid(number)) << number;
  }
  EXPECT_FALSE(IsKnown(DType::kInvalid));
  EXPECT_FALSE(IsKnown(static_cast<DType>(34)));
  EXPECT_FALSE(IsKnown(static_cast<DType>(100)));
  EXPECT_FALSE(IsKnown(static_cast<DType>(134)));
  EXPECT_FALSE(IsKnown(static_cast<DType>(255)));
}

TEST(DTypeTest, EnumNamesAndNumbersAreThoseOfTheSchema) {
  for (DType dtype : AllDTypes()) {
    for (DType d : {dtype, MakeRef(dtype)}) {
      EXPECT_EQ(std::string(DTypeEnumName(d)), DataType_Name(static_cast<DataType>(d)));
    }
  }
}

TEST(DTypeTest, NamesAreDistinctAndParse) {
  std::set<std::string> names;
  for (DType dtype : AllDTypes()) {
    for (DType d : {dtype, MakeRef(dtype)}) {
      EXPECT_TRUE(names.insert(std::string(DTypeName(d))).second) << d;
      EXPECT_EQ(ParseDType(DTypeName(d)), d);
      EXPECT_EQ(ParseDType(DTypeEnumName(d)), d);
    }
  }
  EXPECT_EQ(DTypeName(DType::kFloat), "float");
  EXPECT_EQ(DTypeName(DType::kHalf), "half");
  EXPECT_EQ(DTypeName(DType::kFloat8E4M3FN), "float8_e4m3fn");
  EXPECT_EQ(DTypeName(MakeRef(DType::kFloat)), "float_ref");
  EXPECT_EQ(DTypeName(DType::kInvalid), "invalid");
  EXPECT_EQ(DTypeName(static_cast<DType>(77)), "invalid");
  for (const char* unknown : {"", "Float", "float32", "DT_", "DT_INVALID", "invalid", "_ref", "float_ref_ref"}) {
    EXPECT_EQ(ParseDType(unknown), absl::nullopt) << unknown;
  }
}

TEST(DTypeTest, ReferencesGoBackAndForth) {
  const DType ref = MakeRef(DType::kInt64);
  EXPECT_EQ(static_cast<int>(ref), 109);
  EXPECT_TRUE(IsRef(ref));
  EXPECT_TRUE(IsKnown(ref));
  EXPECT_FALSE(IsRef(DType::kInt64));
  EXPECT_EQ(BaseDType(ref), DType::kInt64);
  EXPECT_EQ(BaseDType(DType::kInt64), DType::kInt64);
  EXPECT_EQ(MakeRef(ref), ref);
  EXPECT_EQ(MakeRef(DType::kInvalid), DType::kInvalid);
}

TEST(DTypeTest, SizesAreThoseOfTheCppTypes) {
  EXPECT_EQ(DTypeSize(DType::kFloat), sizeof(float));
  EXPECT_EQ(DTypeSize(DType::kComplex128), sizeof(std::complex<double>));
  EXPECT_EQ(DTypeSize(DType::kHalf), sizeof(Half));
  EXPECT_EQ(DTypeSize(DType::kBool), sizeof(bool));
  EXPECT_EQ(DTypeSize(DType::kString), sizeof(std::string));
  EXPECT_EQ(DTypeSize(DType::kResource), sizeof(ResourceHandle));
  EXPECT_EQ(DTypeSize(DType::kVariant), sizeof(Variant));
  EXPECT_EQ(DTypeSize(DType::kInt4), 1u);
  EXPECT_EQ(DTypeSize(DType::kFloat8E5M2), 1u);
  EXPECT_EQ(DTypeSize(DType::kInvalid), 0u);
  EXPECT_EQ(DTypeSize(static_cast<DType>(34)), 0u);
  EXPECT_EQ(DTypeSize(static_cast<DType>(200)), 0u);
  for (DType dtype : AllDTypes()) EXPECT_GT(DTypeSize(dtype), 0u) << dtype;
}

TEST(DTypeTest, EachTypeIsOfOneSort) {
  for (DType dtype : AllDTypes()) {
    const int sorts = IsFloating(dtype) + IsComplex(dtype) + IsInteger(dtype) + IsQuantized(dtype) +
                      (dtype == DType::kBool) + !IsPod(dtype);
    EXPECT_EQ(sorts, 1) << dtype;
    EXPECT_TRUE(!IsUnsigned(dtype) || IsInteger(dtype)) << dtype;
  }
  EXPECT_TRUE(IsUnsigned(DType::kUInt4));
  EXPECT_FALSE(IsUnsigned(DType::kInt4));
  EXPECT_FALSE(IsUnsigned(DType::kQUInt8));
  EXPECT_TRUE(IsFloating(DType::kBFloat16));
  EXPECT_FALSE(IsPod(DType::kInvalid));
}

TEST(DTypeTest, RealTypeOfComplexParts) {
  EXPECT_EQ(RealDType(DType::kComplex64), DType::kFloat);
  EXPECT_EQ(RealDType(DType::kComplex128), DType::kDouble);
  EXPECT_EQ(RealDType(DType::kInt32), DType::kInt32);
}

TEST(DTypeTest, PrintsItsName) {
  std::ostringstream os;
  os << DType::kBFloat16 << ' ' << MakeRef(DType::kBool);
  EXPECT_EQ(os.str(), "bfloat16 bool_ref");
}

}  // namespace
}  // namespace nabla

#include "nabla/graph/tensor.h"

#include <complex>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace nabla {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

static_assert(std::is_nothrow_move_constructible_v<Tensor>);
static_assert(std::is_nothrow_move_assignable_v<Tensor>);

std::string Message(const absl::Status& status) { return std::string(status.message()); }

TEST(TensorTest, DefaultIsInvalid) {
  Tensor t;
  EXPECT_FALSE(t.valid());
  EXPECT_EQ(t.num_bytes(), 0u);
  EXPECT_EQ(t.ToString(), "invalid");
  Tensor copy = t;
  EXPECT_FALSE(copy.valid());
  EXPECT_FALSE(t.Clone().valid());
}

TEST(TensorTest, MakesAndReads) {
  const Tensor t = Tensor::Of<int32_t>({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(t.dtype(), DType::kInt32);
  EXPECT_EQ(t.shape(), Shape({2, 3}));
  EXPECT_EQ(t.rank(), 2);
  EXPECT_EQ(t.dim(1), 3);
  EXPECT_EQ(t.num_elements(), 6);
  EXPECT_EQ(t.num_bytes(), 24u);
  EXPECT_THAT(t.flat<int32_t>(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(Tensor::Scalar(2.5).scalar<double>(), 2.5);
  EXPECT_THAT(Tensor::Vector<std::string>({"a", "b"}).flat<std::string>(), ElementsAre("a", "b"));
}

TEST(TensorTest, ZerosOfEveryKind) {
  EXPECT_THAT(Tensor::Zeros(DType::kFloat, {100}).flat<float>(), Each(0.0f));
  EXPECT_THAT(Tensor::Zeros(DType::kBool, {3}).flat<bool>(), Each(false));
  EXPECT_THAT(Tensor::Zeros(DType::kComplex128, Shape::Scalar()).flat<std::complex<double>>(), ElementsAre(0.0));
  EXPECT_THAT(Tensor::Zeros(DType::kString, {3}).flat<std::string>(), Each(""));
  EXPECT_TRUE(Tensor::Zeros(DType::kVariant, {2}).flat<Variant>()[1].empty());
  EXPECT_EQ(Tensor::Zeros(DType::kResource, {2}).flat<ResourceHandle>()[1].resource(), nullptr);
  EXPECT_EQ(Tensor::Zeros(DType::kFloat, {2, 0}).num_elements(), 0);
}

TEST(TensorTest, SmallValuesTakeNoMemoryFromThePool) {
  const int64_t before = GetBufferPoolStats().bytes_in_use;
  const Tensor scalar = Tensor::Scalar(1.0f);
  const Tensor complex = Tensor::Scalar(std::complex<double>(1, 2));
  const Tensor four = Tensor::Of<float>({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(GetBufferPoolStats().bytes_in_use, before);
  const Tensor five = Tensor::Of<float>({5}, {1, 2, 3, 4, 5});
  EXPECT_GT(GetBufferPoolStats().bytes_in_use, before);
}

TEST(TensorTest, CopiesShareLargeBytesAndOwnSmallOnes) {
  Tensor large = Tensor::Zeros(DType::kFloat, {100});
  EXPECT_TRUE(large.IsExclusive());
  {
    const Tensor copy = large;
    EXPECT_TRUE(copy.SharesBufferWith(large));
    EXPECT_FALSE(large.IsExclusive());
    EXPECT_EQ(copy.raw_data(), large.raw_data());
  }
  EXPECT_TRUE(large.IsExclusive());

  Tensor small = Tensor::Scalar(1.0f);
  const Tensor copy = small;
  small.data<float>()[0] = 2.0f;
  EXPECT_EQ(copy.scalar<float>(), 1.0f);
  EXPECT_TRUE(small.IsExclusive());
  EXPECT_FALSE(small.SharesBufferWith(copy));
}

TEST(TensorTest, MovesLeaveAnInvalidTensor) {
  Tensor large = Tensor::Zeros(DType::kInt64, {100});
  const void* data = large.raw_data();
  Tensor moved = std::move(large);
  EXPECT_EQ(moved.raw_data(), data);
  EXPECT_TRUE(moved.IsExclusive());
  EXPECT_FALSE(large.valid());  // NOLINT: what a moved-from tensor is, is being tested
  EXPECT_EQ(large.num_elements(), 0);

  Tensor small = Tensor::Scalar(int64_t{5});
  moved = std::move(small);
  EXPECT_EQ(moved.scalar<int64_t>(), 5);
  EXPECT_EQ(moved.shape(), Shape::Scalar());
  EXPECT_FALSE(small.valid());  // NOLINT
}

TEST(TensorTest, AssignmentToItself) {
  Tensor t = Tensor::Vector<float>({1, 2, 3, 4, 5});
  Tensor& same = t;
  t = same;
  EXPECT_THAT(t.flat<float>(), ElementsAre(1, 2, 3, 4, 5));
  t = std::move(same);
  EXPECT_THAT(t.flat<float>(), ElementsAre(1, 2, 3, 4, 5));
  Tensor copy = t;
  copy = t;
  EXPECT_TRUE(copy.SharesBufferWith(t));
}

TEST(TensorTest, AssignmentReleasesWhatWasThere) {
  const int64_t before = GetBufferPoolStats().bytes_in_use;
  {
    Tensor t = Tensor::Zeros(DType::kFloat, {1000});
    t = Tensor::Scalar(1.0f);
    EXPECT_EQ(GetBufferPoolStats().bytes_in_use, before);
    const Tensor other = Tensor::Zeros(DType::kFloat, {1000});
    t = other;
    t = other;
    EXPECT_FALSE(other.IsExclusive());
  }
  EXPECT_EQ(GetBufferPoolStats().bytes_in_use, before);
}

TEST(TensorTest, AllocateRefusesWhatCannotBe) {
  EXPECT_EQ(Tensor::Allocate(DType::kInvalid, {2}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Tensor::Allocate(MakeRef(DType::kFloat), {2}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Tensor::Allocate(static_cast<DType>(34), {2}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Tensor::Allocate(DType::kFloat, Shape()).status().code(), absl::StatusCode::kInvalidArgument);
  const absl::Status unknown = Tensor::Allocate(DType::kFloat, {2, kUnknownDim}).status();
  EXPECT_EQ(unknown.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(unknown), HasSubstr("[2,?]"));
  EXPECT_EQ(Tensor::Allocate(DType::kFloat, {0, kUnknownDim}).status().code(), absl::StatusCode::kInvalidArgument);

  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  for (DType dtype : {DType::kFloat, DType::kInt8, DType::kString, DType::kVariant, DType::kComplex128}) {
    const absl::Status status = Tensor::Allocate(dtype, {kHuge}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << dtype;
    EXPECT_THAT(Message(status), HasSubstr("9223372036854775807"));
    EXPECT_EQ(Tensor::Allocate(dtype, {int64_t{1} << 42}).status().code(), absl::StatusCode::kResourceExhausted);
    // 2^64 bytes and a few, for elements of 4 or more: must not wrap around.
    EXPECT_EQ(Tensor::Allocate(dtype, {(int64_t{1} << 62) + 1}).status().code(), absl::StatusCode::kResourceExhausted);
  }
  EXPECT_TRUE(Tensor::Allocate(DType::kFloat, {0, kHuge}).ok());
}

TEST(TensorTest, ImpossibleConstructionStopsTheProgram) {
  EXPECT_DEATH(Tensor(DType::kFloat, Shape()), "check failed");
  EXPECT_DEATH(Tensor(DType::kInvalid, {1}), "check failed");
  EXPECT_DEATH(Tensor::Zeros(DType::kFloat, {6}).Reshaped({5}), "check failed");
  EXPECT_DEATH(Tensor::Zeros(DType::kFloat, {6}).BitcastTo(DType::kInt64), "check failed");
}

TEST(TensorTest, FromBuffer) {
  const absl::StatusOr<Tensor> t = Tensor::FromBuffer(DType::kInt32, {2, 2}, Buffer::Adopt(std::string(16, '\1')));
  ASSERT_TRUE(t.ok());
  EXPECT_THAT(t->flat<int32_t>(), Each(0x01010101));
  EXPECT_TRUE(t->IsExclusive());

  const absl::Status size = Tensor::FromBuffer(DType::kInt32, {2, 3}, Buffer::Adopt(std::string(16, '\1'))).status();
  EXPECT_EQ(size.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(size), HasSubstr("16 bytes"));
  EXPECT_FALSE(Tensor::FromBuffer(DType::kInt32, Shape(), Buffer::Allocate(4)).ok());
  EXPECT_FALSE(Tensor::FromBuffer(DType::kString, {1}, Buffer::Allocate(sizeof(std::string))).ok());
  EXPECT_FALSE(Tensor::FromBuffer(DType::kInvalid, {0}, Buffer::Allocate(0)).ok());
  EXPECT_FALSE(Tensor::FromBuffer(DType::kDouble, {(int64_t{1} << 61) + 1}, Buffer::Allocate(8)).ok());
}

TEST(TensorTest, FailuresReleaseTheBuffer) {
  const int64_t before = GetBufferPoolStats().bytes_in_use;
  EXPECT_FALSE(Tensor::FromBuffer(DType::kFloat, {7}, Buffer::Allocate(1000)).ok());
  EXPECT_EQ(GetBufferPoolStats().bytes_in_use, before);
}

TEST(TensorTest, ReshapeSharesBytes) {
  Tensor t = Tensor::Of<int32_t>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor r = t.Reshaped({3, 2});
  EXPECT_TRUE(r.SharesBufferWith(t));
  EXPECT_EQ(r.shape(), Shape({3, 2}));
  EXPECT_EQ(t.shape(), Shape({2, 3}));
  const Tensor moved = std::move(t).Reshaped({6});
  EXPECT_THAT(moved.flat<int32_t>(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(Tensor::Scalar(3.0f).Reshaped({1, 1}).scalar<float>(), 3.0f);
}

TEST(TensorTest, BitcastSharesBytes) {
  const Tensor t = Tensor::Vector<float>({1, -0.0f, 3, 4, 5});
  const Tensor bits = t.BitcastTo(DType::kInt32);
  EXPECT_EQ(bits.dtype(), DType::kInt32);
  EXPECT_EQ(bits.flat<int32_t>()[0], 0x3f800000);
  EXPECT_TRUE(bits.SharesBufferWith(t));
}

TEST(TensorTest, CloneOwnsItsBytes) {
  Tensor t = Tensor::Vector<std::string>({"first", "second"});
  const Tensor clone = t.Clone();
  t.flat<std::string>()[0] = "changed";
  EXPECT_THAT(clone.flat<std::string>(), ElementsAre("first", "second"));
  const Tensor numbers = Tensor::Zeros(DType::kDouble, {50});
  EXPECT_FALSE(numbers.Clone().SharesBufferWith(numbers));
  EXPECT_TRUE(BitwiseEqual(numbers, numbers.Clone()));
}

TEST(TensorTest, ElementsWithDestructorsAreReleased) {
  struct Value : VariantValue {
    absl::string_view TypeName() const override { return "Value"; }
    std::string DebugString() const override { return "a value"; }
  };
  auto value = std::make_shared<const Value>();
  {
    Tensor t(DType::kVariant, {3});
    t.flat<Variant>()[1] = Variant(value);
    const Tensor clone = t.Clone();
    EXPECT_EQ(value.use_count(), 3);
    EXPECT_NE(t.flat<Variant>()[1].get<Value>(), nullptr);
  }
  EXPECT_EQ(value.use_count(), 1);
}

TEST(TensorTest, BitwiseEquality) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(BitwiseEqual(Tensor::Scalar(nan), Tensor::Scalar(nan)));
  EXPECT_FALSE(BitwiseEqual(Tensor::Scalar(0.0f), Tensor::Scalar(-0.0f)));
  EXPECT_FALSE(BitwiseEqual(Tensor::Scalar(0.0f), Tensor::Scalar(int32_t{0})));
  EXPECT_FALSE(BitwiseEqual(Tensor::Zeros(DType::kFloat, {2, 3}), Tensor::Zeros(DType::kFloat, {3, 2})));
  EXPECT_TRUE(BitwiseEqual(Tensor(), Tensor()));
  EXPECT_FALSE(BitwiseEqual(Tensor(), Tensor::Scalar(0.0f)));
  EXPECT_TRUE(BitwiseEqual(Tensor::Vector<std::string>({"a", ""}), Tensor::Vector<std::string>({"a", ""})));
  EXPECT_FALSE(BitwiseEqual(Tensor::Vector<std::string>({"a", ""}), Tensor::Vector<std::string>({"a", "b"})));
  const Tensor large = Tensor::Zeros(DType::kInt8, {1000});
  Tensor other = large.Clone();
  EXPECT_TRUE(BitwiseEqual(large, other));
  other.flat<int8_t>()[999] = 1;
  EXPECT_FALSE(BitwiseEqual(large, other));
  EXPECT_TRUE(BitwiseEqual(Tensor::Zeros(DType::kVariant, {2}), Tensor::Zeros(DType::kVariant, {2})));
}

TEST(ResourceHandleTest, GivesTheResourceAsItsType) {
  struct Counter : Resource {
    absl::string_view TypeName() const override { return "Counter"; }
    int count = 3;
  };
  struct Other : Resource {
    absl::string_view TypeName() const override { return "Other"; }
  };
  const ResourceHandle handle("box", "name", std::make_shared<Counter>());
  ASSERT_NE(handle.get<Counter>(), nullptr);
  EXPECT_EQ(handle.get<Counter>()->count, 3);
  EXPECT_EQ(handle.get<Other>(), nullptr);
  EXPECT_EQ(ResourceHandle().get<Counter>(), nullptr);
  EXPECT_EQ(handle.container(), "box");
}

}  // namespace
}  // namespace nabla

#include "nabla/tests/runtime/kernels/tensors.h"

namespace nabla {
namespace {

AttrMap Joined(int64_t n) { return Attrs({{"T", DType::kFloat}, {"N", n}}); }
AttrMap SplitAttrs(int64_t n) { return Attrs({{"T", DType::kFloat}, {"num_split", n}}); }
AttrMap SplitVAttrs(int64_t n) { return Attrs({{"T", DType::kFloat}, {"Tlen", DType::kInt32}, {"num_split", n}}); }

TEST(Concat, AlongAnInnerDimension) {
  const Tensor a = Floats({2, 1}, {1, 2}), b = Floats({2, 2}, {3, 4, 5, 6});
  ExpectTensor(RunOp1("ConcatV2", {a, b, Int(1)}, Joined(2)), Floats({2, 3}, {1, 3, 4, 2, 5, 6}));
  ExpectTensor(RunOp1("Concat", {Int(-1), a, b}, Joined(2)), Floats({2, 3}, {1, 3, 4, 2, 5, 6}));
}

TEST(Concat, EmptyOnesAddNothingAndOneThatIsAllIsNotCopied) {
  const Tensor a = Iota<float>({5, 2}), none(DType::kFloat, {0, 2});
  const Tensor y = RunOp1("ConcatV2", {none, a, none, Int(0)}, Joined(3));
  ExpectTensor(y, a);
  EXPECT_TRUE(y.SharesBufferWith(a));
  EXPECT_EQ(RunOp1("ConcatV2", {none, none, Int(1)}, Joined(2)).shape(), Shape({0, 4}));
}

TEST(Concat, RefusesShapesThatDisagree) {
  ExpectRefused("value 1 has shape [3,2]", "ConcatV2", {Iota<float>({2, 3}), Iota<float>({3, 2}), Int(0)}, Joined(2));
  ExpectRefused("value 1 has shape [3]", "ConcatV2", {Iota<float>({2, 3}), Iota<float>({3}), Int(0)}, Joined(2));
  ExpectRefused("is a scalar", "ConcatV2", {Tensor::Scalar(1.0f), Tensor::Scalar(1.0f), Int(0)}, Joined(2));
  ExpectRefused("axis 2 is not in [-2, 2)", "ConcatV2", {Iota<float>({2, 3}), Iota<float>({2, 3}), Int(2)}, Joined(2));
  const int64_t big = int64_t{1} << 62;
  const Tensor huge(DType::kFloat, {0, big});
  ExpectRefused("does not fit int64", "ConcatV2", {huge, huge, huge, Int(1)}, Joined(3));
}

TEST(ConcatOffset, SumsAlongTheDimension) {
  const AttrMap attrs = Attrs({{"N", int64_t{3}}});
  const auto offsets = RunOp("ConcatOffset", {Int(-1), Ints({2, 1}), Ints({2, 4}), Ints({2, 2})}, attrs).value();
  ExpectTensor(offsets[0], Ints({0, 0}));
  ExpectTensor(offsets[2], Ints({0, 5}));
  ExpectRefused("shape 1 is [3,4]", "ConcatOffset", {Int(1), Ints({2, 1}), Ints({3, 4}), Ints({2, 2})}, attrs);
  ExpectRefused("shape 2 is [2]", "ConcatOffset", {Int(1), Ints({2, 1}), Ints({2, 4}), Ints({2})}, attrs);
}

TEST(Pack, StacksAlongAnyDimension) {
  const Tensor a = Floats({2}, {1, 2}), b = Floats({2}, {3, 4});
  ExpectTensor(RunOp1("Pack", {a, b}, Joined(2)), Floats({2, 2}, {1, 2, 3, 4}));
  AttrMap last = Joined(2);
  last.Set("axis", int64_t{-1});
  ExpectTensor(RunOp1("Pack", {a, b}, last), Floats({2, 2}, {1, 3, 2, 4}));
  last.Set("axis", int64_t{2});
  ExpectRefused("2", "Pack", {a, b}, last);
  ExpectRefused("value 1 has [3]", "Pack", {a, Iota<float>({3})}, Joined(2));
}

TEST(Unpack, GivesTheSlices) {
  const AttrMap attrs = Attrs({{"T", DType::kFloat}, {"num", int64_t{2}}, {"axis", int64_t{1}}});
  const auto parts = RunOp("Unpack", {Floats({2, 2}, {1, 2, 3, 4})}, attrs).value();
  ExpectTensor(parts[0], Floats({2}, {1, 3}));
  ExpectTensor(parts[1], Floats({2}, {2, 4}));
  ExpectRefused("attr num is 2", "Unpack", {Iota<float>({2, 3})}, attrs);
  ExpectRefused("", "Unpack", {Tensor::Scalar(1.0f)}, attrs);
}

TEST(Split, CutsIntoEqualParts) {
  const auto parts = RunOp("Split", {Int(1), Floats({2, 2}, {1, 2, 3, 4})}, SplitAttrs(2)).value();
  ExpectTensor(parts[1], Floats({2, 1}, {2, 4}));
  ExpectRefused("does not divide into 2", "Split", {Int(0), Iota<float>({3})}, SplitAttrs(2));
  ExpectRefused("split_dim 1", "Split", {Int(1), Iota<float>({4})}, SplitAttrs(2));
  const auto empty = RunOp("Split", {Int(0), Tensor(DType::kFloat, {0, 3})}, SplitAttrs(2)).value();
  EXPECT_EQ(empty[1].shape(), Shape({0, 3}));
}

TEST(SplitV, OneSizeMayBeLeftOpen) {
  const Tensor x = Iota<float>({5});
  const auto parts = RunOp("SplitV", {x, Ints({1, -1, 0}), Int(0)}, SplitVAttrs(3)).value();
  ExpectTensor(parts[0], Floats({1}, {0}));
  ExpectTensor(parts[1], Floats({4}, {1, 2, 3, 4}));
  EXPECT_EQ(parts[2].shape(), Shape({0}));
  ExpectRefused("add up to 4, but dimension 0 of [5] is 5", "SplitV", {x, Ints({1, 3}), Int(0)}, SplitVAttrs(2));
  ExpectRefused("add up to more than 5", "SplitV", {x, Ints({6, -1}), Int(0)}, SplitVAttrs(2));
  ExpectRefused("size_splits[1] is -1", "SplitV", {x, Ints({-1, -1}), Int(0)}, SplitVAttrs(2));
  ExpectRefused("size_splits[0] is -2", "SplitV", {x, Ints({-2, 7}), Int(0)}, SplitVAttrs(2));
  ExpectRefused("size_splits", "SplitV", {x, Ints({1, 2, 2}), Int(0)}, SplitVAttrs(2));
}

}  // namespace
}  // namespace nabla

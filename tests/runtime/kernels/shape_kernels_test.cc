#include <limits>

#include "nabla/tests/runtime/kernels/tensors.h"

namespace nabla {
namespace {

TEST(Reshape, SharesTheBufferAndInfersOneDimension) {
  const Tensor x = Iota<float>({2, 3, 4});
  const Tensor y = RunOp1("Reshape", {x, Ints({-1, 6})});
  EXPECT_EQ(y.shape(), Shape({4, 6}));
  EXPECT_TRUE(y.SharesBufferWith(x));
}

TEST(Reshape, InfersADimensionOfAnEmptyTensor) {
  EXPECT_EQ(RunOp1("Reshape", {Tensor(DType::kFloat, {0, 3}), Ints({-1, 3})}).shape(), Shape({0, 3}));
  EXPECT_EQ(RunOp1("Reshape", {Tensor(DType::kFloat, {0, 3}), Ints({0, -1})}).shape(), Shape({0, 3}));
  EXPECT_EQ(RunOp1("Reshape", {Tensor(DType::kFloat, {0, 3}), Ints({-1, 0})}).shape(), Shape({3, 0}));
}

TEST(Reshape, RefusesWhatDoesNotFit) {
  const Tensor x = Iota<float>({2, 3});
  ExpectRefused("cannot reshape 6 elements", "Reshape", {x, Ints({4})});
  ExpectRefused("cannot reshape 6 elements", "Reshape", {x, Ints({-1, 4})});
  ExpectRefused("cannot reshape 6 elements", "Reshape", {x, Ints({-1, 0})});
  ExpectRefused("only one dimension of the new shape may be -1", "Reshape", {x, Ints({-1, -1})});
  ExpectRefused("shape[1] is -2", "Reshape", {x, Ints({3, -2})});
  const int64_t big = int64_t{1} << 40;
  const AttrMap wide = Attrs({{"Tshape", DType::kInt64}});
  ExpectRefused("2^63", "Reshape", {x, Tensor::Vector<int64_t>({big, big})}, wide);
  ExpectRefused("too many elements", "Reshape", {x, Tensor::Vector<int64_t>({big, big, -1})}, wide);
}

TEST(ExpandDims, CountsFromTheEnd) {
  const Tensor x = Iota<float>({2, 3});
  EXPECT_EQ(RunOp1("ExpandDims", {x, Int(0)}).shape(), Shape({1, 2, 3}));
  EXPECT_EQ(RunOp1("ExpandDims", {x, Int(-1)}).shape(), Shape({2, 3, 1}));
  EXPECT_EQ(RunOp1("ExpandDims", {x, Int(-3)}).shape(), Shape({1, 2, 3}));
  EXPECT_TRUE(RunOp1("ExpandDims", {x, Int(1)}).SharesBufferWith(x));
  ExpectRefused("dim 3 is not in [-3, 3)", "ExpandDims", {x, Int(3)});
  ExpectRefused("must be a scalar", "ExpandDims", {x, Ints({0, 1})});
}

TEST(Squeeze, DropsOnesOnly) {
  const Tensor x = Iota<float>({1, 2, 1, 3});
  EXPECT_EQ(RunOp1("Squeeze", {x}).shape(), Shape({2, 3}));
  EXPECT_EQ(RunOp1("Squeeze", {x}, Attrs({{"squeeze_dims", std::vector<int64_t>{-2}}})).shape(), Shape({1, 2, 3}));
  ExpectRefused("it is 2, not 1", "Squeeze", {x}, Attrs({{"squeeze_dims", std::vector<int64_t>{1}}}));
  ExpectRefused("is not in [-4, 4)", "Squeeze", {x}, Attrs({{"squeeze_dims", std::vector<int64_t>{4}}}));
}

TEST(Fill, ChecksItsShapeBeforeItAllocates) {
  ExpectTensor(RunOp1("Fill", {Ints({2, 2}), Tensor::Scalar(3.0f)}, Attrs({{"T", DType::kFloat}})),
               Floats({2, 2}, {3, 3, 3, 3}));
  ExpectTensor(RunOp1("Fill", {Ints({}), Tensor::Scalar(std::string("a"))}, Attrs({{"T", DType::kString}})),
               Tensor::Scalar(std::string("a")));
  const AttrMap floats = Attrs({{"T", DType::kFloat}});
  ExpectRefused("dims[1] is -1", "Fill", {Ints({2, -1}), Tensor::Scalar(3.0f)}, floats);
  ExpectRefused("value must be a scalar", "Fill", {Ints({2}), Floats({2}, {1, 2})}, floats);
  const int32_t big = std::numeric_limits<int32_t>::max();
  ExpectRefused("2^63", "Fill", {Ints({big, big, big}), Tensor::Scalar(3.0f)}, floats);
  const absl::StatusOr<std::vector<Tensor>> huge = RunOp("Fill", {Ints({big, big}), Tensor::Scalar(3.0f)}, floats);
  EXPECT_EQ(huge.status().code(), absl::StatusCode::kResourceExhausted) << huge.status();
}

TEST(ZerosAndOnes, OfManyTypes) {
  ExpectTensor(RunOp1("OnesLike", {Tensor(DType::kBool, {3})}), Tensor::Of<bool>({3}, {true, true, true}));
  ExpectTensor(RunOp1("OnesLike", {Tensor(DType::kComplex64, {1})}),
               Tensor::Of<std::complex<float>>({1}, {std::complex<float>(1, 0)}));
  ExpectTensor(RunOp1("ZerosLike", {Tensor::Of<std::string>({2}, {"a", "b"})}, {}, {1, true}),
               Tensor::Of<std::string>({2}, {"", ""}));
  ExpectTensor(RunOp1("ZerosLike", {Iota<float>({100})}, {}, {1, true}), Tensor::Zeros(DType::kFloat, {100}));
}

TEST(ShapeOp, RefusesWhatInt32CannotHold) {
  // No element, so no memory.
  const Tensor x(DType::kFloat, {int64_t{1} << 40, 0});
  ExpectRefused("does not fit int32", "Shape", {x});
  ExpectTensor(RunOp1("Shape", {x}, Attrs({{"out_type", DType::kInt64}})),
               Tensor::Vector<int64_t>({int64_t{1} << 40, 0}));
}

TEST(Range, CountsWithoutOverflow) {
  const AttrMap ints = Attrs({{"Tidx", DType::kInt32}});
  ExpectTensor(RunOp1("Range", {Int(5), Int(-1), Int(-2)}, ints), Ints({5, 3, 1}));
  ExpectTensor(RunOp1("Range", {Int(3), Int(3), Int(1)}, ints), Ints({}));
  ExpectRefused("delta must not be 0", "Range", {Int(0), Int(1), Int(0)}, ints);
  ExpectRefused("no step of -1 leads from 0 to 1", "Range", {Int(0), Int(1), Int(-1)}, ints);
  const int32_t max = std::numeric_limits<int32_t>::max(), min = std::numeric_limits<int32_t>::min();
  ExpectTensor(RunOp1("Range", {Int(min), Int(max), Int(max)}, ints), Ints({min, -1, max - 1}));
  const AttrMap wide = Attrs({{"Tidx", DType::kInt64}});
  const int64_t last = std::numeric_limits<int64_t>::max();
  const auto range =
      RunOp("Range", {Tensor::Scalar<int64_t>(-last), Tensor::Scalar(last), Tensor::Scalar<int64_t>(1)}, wide);
  EXPECT_FALSE(range.ok());
  const float inf = std::numeric_limits<float>::infinity();
  ExpectRefused("no finite number", "Range", {Tensor::Scalar(0.0f), Tensor::Scalar(inf), Tensor::Scalar(1.0f)},
                Attrs({{"Tidx", DType::kFloat}}));
  ExpectRefused("must be a scalar", "Range", {Ints({}), Int(1), Int(1)}, ints);
}

TEST(InvertPermutation, RefusesWhatIsNone) {
  ExpectTensor(RunOp1("InvertPermutation", {Ints({2, 0, 1})}), Ints({1, 2, 0}));
  ExpectRefused("x[1] = 3 is not in [0, 3)", "InvertPermutation", {Ints({0, 3, 1})});
  ExpectRefused("x[0] = -1 is not in [0, 1)", "InvertPermutation", {Ints({-1})});
  ExpectRefused("1 is in x more than once", "InvertPermutation", {Ints({1, 0, 1})});
}

TEST(BroadcastGradientArgs, NamesTheDimensionsToSum) {
  const auto axes = [](std::initializer_list<int32_t> a, std::initializer_list<int32_t> b) {
    return RunOp("BroadcastGradientArgs", {Ints(a), Ints(b)}).value();
  };
  ExpectTensor(axes({2, 1, 3}, {1, 3})[0], Ints({1}));
  ExpectTensor(axes({2, 1, 3}, {1, 3})[1], Ints({0, 1}));
  ExpectTensor(axes({2, 3}, {})[1], Ints({0, 1}));
  // Equal shapes: nothing, not even dimensions of 1.
  ExpectTensor(axes({1, 3}, {1, 3})[0], Ints({}));
  ExpectTensor(axes({0}, {1})[0], Ints({}));
  ExpectTensor(axes({0}, {1})[1], Ints({0}));
  ExpectRefused("Incompatible shapes: [2,3] vs. [3,3]", "BroadcastGradientArgs", {Ints({2, 3}), Ints({3, 3})});
  ExpectRefused("s1[0] is -1", "BroadcastGradientArgs", {Ints({2}), Ints({-1})});
  ExpectTensor(RunOp1("BroadcastArgs", {Ints({2, 1}), Ints({3})}), Ints({2, 3}));
}

}  // namespace
}  // namespace nabla

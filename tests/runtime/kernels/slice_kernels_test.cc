#include <limits>

#include "nabla/tests/runtime/kernels/tensors.h"

namespace nabla {
namespace {

AttrMap IndexAttrs(std::initializer_list<std::pair<const char*, int64_t>> masks = {}) {
  AttrMap attrs = Attrs({{"T", DType::kFloat}, {"Index", DType::kInt32}});
  for (const auto& [name, mask] : masks) attrs.Set(name, mask);
  return attrs;
}

TEST(Slice, ChecksTheBox) {
  const Tensor x = Iota<float>({3, 4});
  ExpectTensor(RunOp1("Slice", {x, Ints({1, 2}), Ints({-1, 1})}, IndexAttrs()), Floats({2, 1}, {6, 10}));
  EXPECT_TRUE(RunOp1("Slice", {x, Ints({0, 0}), Ints({-1, 4})}, IndexAttrs()).SharesBufferWith(x));
  EXPECT_EQ(RunOp1("Slice", {x, Ints({3, 0}), Ints({0, 4})}, IndexAttrs()).shape(), Shape({0, 4}));
  ExpectRefused("begin[0] = 4 is not in [0, 3]", "Slice", {x, Ints({4, 0}), Ints({0, 0})}, IndexAttrs());
  ExpectRefused("begin[1] = -1", "Slice", {x, Ints({0, -1}), Ints({1, 1})}, IndexAttrs());
  ExpectRefused("size[1] = 3 is not in [0, 2]", "Slice", {x, Ints({0, 2}), Ints({1, 3})}, IndexAttrs());
  ExpectRefused("size[1] = -2", "Slice", {x, Ints({0, 2}), Ints({1, -2})}, IndexAttrs());
  ExpectRefused("begin has 1 elements", "Slice", {x, Ints({0}), Ints({1})}, IndexAttrs());
}

TEST(StridedSlice, GoesBackwards) {
  const Tensor x = Iota<float>({5});
  ExpectTensor(RunOp1("StridedSlice", {x, Ints({-1}), Ints({-100}), Ints({-2})}, IndexAttrs()), Floats({3}, {4, 2, 0}));
  ExpectTensor(
      RunOp1("StridedSlice", {x, Ints({0}), Ints({0}), Ints({-1})}, IndexAttrs({{"begin_mask", 1}, {"end_mask", 1}})),
      Floats({5}, {4, 3, 2, 1, 0}));
  const int32_t min = std::numeric_limits<int32_t>::min();
  ExpectTensor(RunOp1("StridedSlice", {x, Ints({3}), Ints({min}), Ints({min})}, IndexAttrs()), Floats({1}, {3}));
}

TEST(StridedSlice, TakesExtremeIndices) {
  AttrMap attrs = Attrs({{"T", DType::kFloat}, {"Index", DType::kInt64}});
  const int64_t min = std::numeric_limits<int64_t>::min(), max = std::numeric_limits<int64_t>::max();
  const auto vector = [](int64_t v) { return Tensor::Vector<int64_t>({v}); };
  const Tensor x = Iota<float>({5});
  EXPECT_EQ(RunOp1("StridedSlice", {x, vector(min), vector(max), vector(max)}, attrs).shape(), Shape({1}));
  EXPECT_EQ(RunOp1("StridedSlice", {x, vector(max), vector(min), vector(min)}, attrs).shape(), Shape({1}));
  EXPECT_EQ(RunOp1("StridedSlice", {x, vector(max), vector(min), vector(1)}, attrs).shape(), Shape({0}));
  attrs.Set("shrink_axis_mask", int64_t{1});
  ExpectRefused("slice index", "StridedSlice", {x, vector(min), vector(max), vector(1)}, attrs);
  ExpectRefused("slice index", "StridedSlice", {x, vector(max), vector(max), vector(1)}, attrs);
}

TEST(StridedSlice, MasksCombine) {
  const Tensor x = Iota<float>({2, 3, 4});
  // x[..., newaxis, 1]
  ExpectTensor(RunOp1("StridedSlice", {x, Ints({0, 0, 1}), Ints({0, 0, 2}), Ints({1, 1, 1})},
                      IndexAttrs({{"ellipsis_mask", 1}, {"new_axis_mask", 2}, {"shrink_axis_mask", 4}})),
               Floats({2, 3, 1}, {1, 5, 9, 13, 17, 21}));
  // x[1, ..., 2:]
  ExpectTensor(RunOp1("StridedSlice", {x, Ints({1, 0, 2}), Ints({0, 0, 0}), Ints({1, 1, 1})},
                      IndexAttrs({{"ellipsis_mask", 2}, {"shrink_axis_mask", 1}, {"end_mask", 4}})),
               Floats({3, 2}, {14, 15, 18, 19, 22, 23}));
  // All of it under new axes: no copy.
  const Tensor y = RunOp1("StridedSlice", {x, Ints({0}), Ints({0}), Ints({1})}, IndexAttrs({{"new_axis_mask", 1}}));
  EXPECT_EQ(y.shape(), Shape({1, 2, 3, 4}));
  EXPECT_TRUE(y.SharesBufferWith(x));
}

TEST(StridedSlice, RefusesImpossibleSlices) {
  const Tensor x = Iota<float>({2, 3});
  const Tensor one = Ints({1}), zero = Ints({0});
  ExpectRefused("strides[0] must not be zero", "StridedSlice", {x, zero, one, zero}, IndexAttrs());
  ExpectRefused("slice index 2 of dimension 0", "StridedSlice", {x, Ints({2}), Ints({3}), one},
                IndexAttrs({{"shrink_axis_mask", 1}}));
  ExpectRefused("slice index -3 of dimension 0", "StridedSlice", {x, Ints({-3}), Ints({3}), one},
                IndexAttrs({{"shrink_axis_mask", 1}}));
  ExpectRefused("positive stride", "StridedSlice", {x, zero, one, Ints({-1})}, IndexAttrs({{"shrink_axis_mask", 1}}));
  ExpectRefused("at most one ellipsis", "StridedSlice", {x, Ints({0, 0}), Ints({0, 0}), Ints({1, 1})},
                IndexAttrs({{"ellipsis_mask", 3}}));
  ExpectRefused("indexes 3 dimensions", "StridedSlice", {x, Ints({0, 0, 0}), Ints({1, 1, 1}), Ints({1, 1, 1})},
                IndexAttrs());
  ExpectRefused("same length", "StridedSlice", {x, zero, Ints({1, 1}), one}, IndexAttrs());
  ExpectRefused("", "StridedSlice", {x, Ints({}), one, one}, IndexAttrs());
  Tensor many(DType::kInt32, {40});
  std::fill(many.data<int32_t>(), many.data<int32_t>() + 40, 1);
  ExpectRefused("at most 32 entries", "StridedSlice", {x, many, many, many}, IndexAttrs({{"new_axis_mask", -1}}));
}

TEST(StridedSliceGrad, PutsTheGradientBack) {
  ExpectTensor(
      RunOp1("StridedSliceGrad", {Ints({5}), Ints({4}), Ints({0}), Ints({-2}), Floats({2}, {1, 2})}, IndexAttrs()),
      Floats({5}, {0, 0, 2, 0, 1}));
  ExpectTensor(RunOp1("StridedSliceGrad", {Ints({2, 2}), Ints({1}), Ints({0}), Ints({1}), Floats({2}, {1, 2})},
                      IndexAttrs({{"shrink_axis_mask", 1}})),
               Floats({2, 2}, {0, 0, 1, 2}));
  ExpectRefused("dy has shape [3], but the slice has [2]", "StridedSliceGrad",
                {Ints({5}), Ints({0}), Ints({2}), Ints({1}), Floats({3}, {1, 2, 3})}, IndexAttrs());
  ExpectRefused("shape[0] is -5", "StridedSliceGrad",
                {Ints({-5}), Ints({0}), Ints({2}), Ints({1}), Floats({2}, {1, 2})}, IndexAttrs());
}

TEST(Pad, Borders) {
  const Tensor x = Floats({1, 2}, {1, 2});
  const Tensor paddings = Tensor::Of<int32_t>({2, 2}, {1, 0, 0, 1});
  const AttrMap attrs = Attrs({{"T", DType::kFloat}});
  ExpectTensor(RunOp1("Pad", {x, paddings}, attrs), Floats({2, 3}, {0, 0, 0, 1, 2, 0}));
  ExpectTensor(RunOp1("PadV2", {x, paddings, Tensor::Scalar(7.0f)}, attrs), Floats({2, 3}, {7, 7, 7, 1, 2, 7}));
  // Rows before and after only.
  ExpectTensor(RunOp1("PadV2", {x, Tensor::Of<int32_t>({2, 2}, {1, 2, 0, 0}), Tensor::Scalar(7.0f)}, attrs),
               Floats({4, 2}, {7, 7, 1, 2, 7, 7, 7, 7}));
  ExpectTensor(RunOp1("Pad", {Tensor(DType::kFloat, {0, 1}), paddings}, attrs), Floats({1, 2}, {0, 0}));
  ExpectRefused("paddings[1] is (0, -1)", "Pad", {x, Tensor::Of<int32_t>({2, 2}, {1, 0, 0, -1})}, attrs);
  ExpectRefused("paddings must have shape [2,2]", "Pad", {x, Tensor::Of<int32_t>({1, 2}, {1, 0})}, attrs);
  AttrMap wide = attrs;
  wide.Set("Tpaddings", DType::kInt64);
  const int64_t max = std::numeric_limits<int64_t>::max();
  ExpectRefused("does not fit int64", "Pad", {x, Tensor::Of<int64_t>({2, 2}, {max, max, 0, 0})}, wide);
  ExpectRefused("2^63", "Pad", {x, Tensor::Of<int64_t>({2, 2}, {int64_t{1} << 40, 0, int64_t{1} << 40, 0})}, wide);
}

TEST(Reverse, AlongSomeDimensions) {
  const Tensor x = Iota<float>({2, 3});
  const AttrMap attrs = Attrs({{"T", DType::kFloat}});
  ExpectTensor(RunOp1("ReverseV2", {x, Ints({-1})}, attrs), Floats({2, 3}, {2, 1, 0, 5, 4, 3}));
  ExpectTensor(RunOp1("ReverseV2", {x, Ints({0, 1})}, attrs), Floats({2, 3}, {5, 4, 3, 2, 1, 0}));
  ExpectTensor(RunOp1("Reverse", {x, Tensor::Of<bool>({2}, {true, false})}, attrs), Floats({2, 3}, {3, 4, 5, 0, 1, 2}));
  EXPECT_TRUE(RunOp1("ReverseV2", {x, Ints({})}, attrs).SharesBufferWith(x));
  ExpectRefused("more than once", "ReverseV2", {x, Ints({1, -1})}, attrs);
  ExpectRefused("axis 2 is not in [-2, 2)", "ReverseV2", {x, Ints({2})}, attrs);
}

}  // namespace
}  // namespace nabla

#include <cmath>

#include "nabla/tests/runtime/kernels/tensors.h"

namespace nabla {
namespace {

TEST(Where, FindsWhatIsNotZero) {
  ExpectTensor(RunOp1("Where", {Tensor::Of<bool>({2, 2}, {true, false, true, true})}),
               Tensor::Of<int64_t>({3, 2}, {0, 0, 1, 0, 1, 1}));
  ExpectTensor(RunOp1("Where", {Floats({4}, {0.0f, -0.0f, std::nanf(""), 2})}), Tensor::Of<int64_t>({2, 1}, {2, 3}));
  EXPECT_EQ(RunOp1("Where", {Tensor(DType::kBool, {0, 3})}).shape(), Shape({0, 2}));
  EXPECT_EQ(RunOp1("Where", {Tensor::Scalar(true)}).shape(), Shape({1, 0}));
  EXPECT_EQ(RunOp1("Where", {Tensor::Scalar(false)}).shape(), Shape({0, 0}));
}

TEST(Where, KeepsOrderOverManyParts) {
  Tensor x = Tensor::Zeros(DType::kInt32, {700, 3, 97});
  std::vector<int64_t> want;
  for (int64_t i = 0; i < x.num_elements(); i += 1 + i % 11) {
    x.data<int32_t>()[i] = -1;
    want.insert(want.end(), {i / 97 / 3, i / 97 % 3, i % 97});
  }
  for (int threads : {1, 4}) {
    ExpectTensor(RunOp1("Where", {x}, {}, {.threads = threads}),
                 Tensor::Of<int64_t>({static_cast<int64_t>(want.size()) / 3, 3}, absl::MakeConstSpan(want)));
  }
}

TEST(Unique, KeepsTheOrderOfFirstOccurrence) {
  const auto strings = RunOp("Unique", {Tensor::Vector<std::string>({"b", "a", "b"})}).value();
  ExpectTensor(strings[0], Tensor::Vector<std::string>({"b", "a"}));
  ExpectTensor(strings[1], Ints({0, 1, 0}));
  const auto ints = RunOp("Unique", {Ints({5, -1, 5, 7, -1})}, Attrs({{"out_idx", DType::kInt64}})).value();
  ExpectTensor(ints[0], Ints({5, -1, 7}));
  ExpectTensor(ints[1], Tensor::Vector<int64_t>({0, 1, 0, 2, 1}));
  EXPECT_EQ(RunOp("Unique", {Ints({})}).value()[0].shape(), Shape({0}));
  ExpectRefused("x must", "UniqueV2", {Iota<float>({2, 2}), Ints({})}, Attrs({{"Taxis", DType::kInt32}}));
}

TEST(Unique, ZerosAreEqualAndNansAreNot) {
  const float nan = std::nanf("");
  const auto y = RunOp("Unique", {Floats({5}, {0.0f, -0.0f, nan, nan, 1})}).value();
  ExpectTensor(y[1], Ints({0, 0, 1, 2, 3}));
}

TEST(UniqueV2, ComparesSlices) {
  const AttrMap attrs = Attrs({{"Taxis", DType::kInt32}});
  const auto columns = RunOp("UniqueV2", {Floats({2, 3}, {1, 2, 1, 3, 4, 3}), Ints({-1})}, attrs).value();
  ExpectTensor(columns[0], Floats({2, 2}, {1, 2, 3, 4}));
  ExpectTensor(columns[1], Ints({0, 1, 0}));
  const auto strings =
      RunOp("UniqueV2", {Tensor::Of<std::string>({2, 2}, {"ab", "c", "a", "bc"}), Ints({0})}, attrs).value();
  ExpectTensor(strings[1], Ints({0, 1}));
  EXPECT_EQ(RunOp("UniqueV2", {Tensor(DType::kFloat, {3, 0}), Ints({0})}, attrs).value()[0].shape(), Shape({1, 0}));
  ExpectRefused("axis", "UniqueV2", {Iota<float>({2}), Ints({1})}, attrs);
  ExpectRefused("axis must have at most one element", "UniqueV2", {Iota<float>({2}), Ints({0, 0})}, attrs);
}

TEST(OneHot, OutOfRangeMarksNothing) {
  const AttrMap attrs = Attrs({{"T", DType::kFloat}, {"TI", DType::kInt32}});
  const Tensor on = Tensor::Scalar(1.0f), off = Tensor::Scalar(0.0f);
  ExpectTensor(RunOp1("OneHot", {Ints({1, -1, 2}), Int(2), on, off}, attrs), Floats({3, 2}, {0, 1, 0, 0, 0, 0}));
  AttrMap first = attrs;
  first.Set("axis", int64_t{0});
  ExpectTensor(RunOp1("OneHot", {Ints({1, 0}), Int(3), on, off}, first), Floats({3, 2}, {0, 1, 1, 0, 0, 0}));
  EXPECT_EQ(RunOp1("OneHot", {Ints({1, 0}), Int(0), on, off}, attrs).shape(), Shape({2, 0}));
  ExpectRefused("depth is -1", "OneHot", {Ints({1}), Int(-1), on, off}, attrs);
  ExpectRefused("on_value must be a scalar", "OneHot", {Ints({1}), Int(2), Floats({1}, {1}), off}, attrs);
}

}  // namespace
}  // namespace nabla

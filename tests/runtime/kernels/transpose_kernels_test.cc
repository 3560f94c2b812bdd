#include <random>

#include "nabla/tests/runtime/kernels/tensors.h"

namespace nabla {
namespace {

// Element by element, with no idea of runs or blocks.
template <typename T>
Tensor NaiveTranspose(const Tensor& x, const std::vector<int32_t>& perm) {
  const int rank = x.rank();
  std::vector<int64_t> strides(rank, 1);
  for (int i = rank - 2; i >= 0; --i) strides[i] = strides[i + 1] * x.dim(i + 1);
  Shape shape = x.shape();
  for (int i = 0; i < rank; ++i) shape.set_dim(i, x.dim(perm[i]));
  Tensor y(x.dtype(), shape);
  for (int64_t at = 0; at < y.num_elements(); ++at) {
    int64_t rest = at, from = 0;
    for (int i = rank - 1; i >= 0; --i) {
      from += rest % shape.dim(i) * strides[perm[i]];
      rest /= shape.dim(i);
    }
    y.data<T>()[at] = x.data<T>()[from];
  }
  return y;
}

template <typename T>
void CompareWithNaive(int trials) {
  std::mt19937 random(7);
  for (int trial = 0; trial < trials; ++trial) {
    const int rank = 1 + random() % 5;
    Shape shape = Shape::Scalar();
    std::vector<int32_t> perm(rank);
    int64_t count = 1;
    for (int i = 0; i < rank; ++i) {
      const int64_t sizes[] = {1, 2, 3, 5, 16, 17, 33, 64, 70, 130};
      int64_t size = sizes[random() % 10];
      if (count * size > 200'000) size = 1;
      count *= size;
      shape.AddDim(size);
      perm[i] = i;
    }
    std::shuffle(perm.begin(), perm.end(), random);
    const Tensor x = Iota<T>(shape);
    const Tensor want = NaiveTranspose<T>(x, perm);
    for (int threads : {1, 3}) {
      const Tensor got =
          RunOp1("Transpose", {x, Tensor::Vector<int32_t>(perm)}, Attrs({{"T", kDTypeOf<T>}}), {.threads = threads});
      ASSERT_TRUE(BitwiseEqual(got, want)) << shape.ToString() << " by " << Tensor::Vector<int32_t>(perm).ToString();
    }
  }
}

TEST(Transpose, BytesAgreeWithTheDefinition) { CompareWithNaive<int8_t>(40); }
TEST(Transpose, HalvesAgreeWithTheDefinition) { CompareWithNaive<int16_t>(40); }
TEST(Transpose, FloatsAgreeWithTheDefinition) { CompareWithNaive<float>(100); }
TEST(Transpose, DoublesAgreeWithTheDefinition) { CompareWithNaive<double>(40); }
TEST(Transpose, WideElementsAgreeWithTheDefinition) { CompareWithNaive<std::complex<double>>(20); }

TEST(Transpose, MovesNothingWhereTheOrderStays) {
  const Tensor x = Iota<float>({1, 8, 1, 3});
  const Tensor y = RunOp1("Transpose", {x, Ints({1, 0, 3, 2})});
  EXPECT_EQ(y.shape(), Shape({8, 1, 3, 1}));
  EXPECT_TRUE(y.SharesBufferWith(x));
}

TEST(Transpose, Strings) {
  ExpectTensor(RunOp1("Transpose", {Tensor::Of<std::string>({2, 2}, {"a", "b", "c", "d"}), Ints({1, 0})}),
               Tensor::Of<std::string>({2, 2}, {"a", "c", "b", "d"}));
}

TEST(Transpose, RefusesWhatIsNoPermutation) {
  const Tensor x = Iota<float>({2, 3});
  ExpectRefused("perm[1] = 0", "Transpose", {x, Ints({0, 0})});
  ExpectRefused("perm[0] = 2", "Transpose", {x, Ints({2, 0})});
  ExpectRefused("perm[1] = -3", "Transpose", {x, Ints({0, -3})});
  ExpectRefused("perm has 1 elements", "Transpose", {x, Ints({0})});
}

TEST(ConjugateTranspose, Conjugates) {
  using C = std::complex<float>;
  const Tensor x = Tensor::Of<C>({1, 2}, {C(1, 2), C(3, -4)});
  ExpectTensor(RunOp1("ConjugateTranspose", {x, Ints({1, 0})}), Tensor::Of<C>({2, 1}, {C(1, -2), C(3, 4)}));
  ExpectTensor(x, Tensor::Of<C>({1, 2}, {C(1, 2), C(3, -4)}));
}

TEST(Tile, RepeatsEachDimension) {
  ExpectTensor(RunOp1("Tile", {Floats({1, 2}, {1, 2}), Ints({2, 2})}), Floats({2, 4}, {1, 2, 1, 2, 1, 2, 1, 2}));
  EXPECT_EQ(RunOp1("Tile", {Iota<float>({2, 3}), Ints({0, 2})}).shape(), Shape({0, 6}));
  ExpectRefused("multiples[0] is -1", "Tile", {Iota<float>({2}), Ints({-1})});
  ExpectRefused("multiples has 2 elements", "Tile", {Iota<float>({2}), Ints({1, 1})});
  const int64_t big = int64_t{1} << 40;
  ExpectRefused("2^63", "Tile", {Iota<float>({2, 2}), Tensor::Vector<int64_t>({big, big})},
                Attrs({{"Tmultiples", DType::kInt64}}));
  ExpectRefused("becomes too large", "Tile", {Iota<float>({4}), Tensor::Vector<int64_t>({big << 21})},
                Attrs({{"Tmultiples", DType::kInt64}}));
}

TEST(BroadcastTo, AlignsAtTheLastDimension) {
  ExpectTensor(RunOp1("BroadcastTo", {Floats({2, 1}, {1, 2}), Ints({2, 2, 2})}),
               Floats({2, 2, 2}, {1, 1, 2, 2, 1, 1, 2, 2}));
  EXPECT_EQ(RunOp1("BroadcastTo", {Iota<float>({1}), Ints({0})}).shape(), Shape({0}));
  ExpectRefused("cannot broadcast [3] to [2,2]", "BroadcastTo", {Iota<float>({3}), Ints({2, 2})});
  ExpectRefused("cannot broadcast [2,3] to [3]", "BroadcastTo", {Iota<float>({2, 3}), Ints({3})});
  ExpectRefused("shape[0] is -1", "BroadcastTo", {Iota<float>({3}), Ints({-1, 3})});
}

}  // namespace
}  // namespace nabla

#include <random>

#include "nabla/tests/runtime/kernels/tensors.h"

namespace nabla {
namespace {

AttrMap GatherAttrs(int64_t batch_dims = 0) {
  return Attrs(
      {{"Tparams", DType::kFloat}, {"Tindices", DType::kInt32}, {"Taxis", DType::kInt32}, {"batch_dims", batch_dims}});
}
AttrMap NdAttrs(const char* policy = "") {
  return Attrs({{"Tparams", DType::kFloat}, {"Tindices", DType::kInt32}, {"bad_indices_policy", std::string(policy)}});
}
AttrMap ScatterAttrs(DType t = DType::kFloat, const char* policy = "") {
  return Attrs({{"T", t}, {"Tindices", DType::kInt32}, {"bad_indices_policy", std::string(policy)}});
}

TEST(Gather, NamesTheBadIndex) {
  const AttrMap attrs = Attrs({{"Tparams", DType::kFloat}, {"Tindices", DType::kInt32}});
  const Tensor x = Iota<float>({5, 2});
  ExpectTensor(RunOp1("Gather", {x, Ints({4, 0})}, attrs), Floats({2, 2}, {8, 9, 0, 1}));
  ExpectRefused("indices[3] = 7 is not in [0, 5)", "Gather", {x, Ints({0, 1, 2, 7, 8})}, attrs);
  ExpectRefused("indices[1,0] = -1 is not in [0, 5)", "Gather", {x, Tensor::Of<int32_t>({2, 2}, {0, 1, -1, 9})}, attrs);
  ExpectRefused("indices = 5 is not in [0, 5)", "Gather", {x, Int(5)}, attrs);
  ExpectRefused("indices[0] = 0 is not in [0, 0)", "Gather", {Tensor(DType::kFloat, {0, 2}), Ints({0})}, attrs);
  EXPECT_EQ(RunOp1("Gather", {Tensor(DType::kFloat, {0, 2}), Ints({})}, attrs).shape(), Shape({0, 2}));
}

TEST(Gather, TheFirstBadIndexIsNamedOnAnyNumberOfThreads) {
  Tensor indices = Tensor::Zeros(DType::kInt32, {1'000'000});
  indices.data<int32_t>()[777'777] = 3;
  indices.data<int32_t>()[999'999] = 4;
  const auto result = RunOp("GatherV2", {Iota<float>({2}), indices, Int(0)}, GatherAttrs(), {.threads = 3});
  EXPECT_NE(result.status().message().find("indices[777777] = 3"), std::string::npos) << result.status();
}

TEST(GatherV2, BatchesPickFromTheirOwnPart) {
  const Tensor x = Iota<float>({2, 3, 2});
  const Tensor indices = Tensor::Of<int32_t>({2, 1}, {2, 0});
  ExpectTensor(RunOp1("GatherV2", {x, indices, Int(1)}, GatherAttrs(1)), Floats({2, 1, 2}, {4, 5, 6, 7}));
  ExpectTensor(RunOp1("GatherV2", {x, indices, Int(-2)}, GatherAttrs(-1)), Floats({2, 1, 2}, {4, 5, 6, 7}));
  // Blocks between the batch and the axis share their batch's indices.
  ExpectTensor(RunOp1("GatherV2", {x, Tensor::Of<int32_t>({2, 1}, {1, 0}), Int(2)}, GatherAttrs(1)),
               Floats({2, 3, 1}, {1, 3, 5, 6, 8, 10}));
  ExpectRefused("batch_dims", "GatherV2", {x, indices, Int(0)}, GatherAttrs(1));
  ExpectRefused("batch_dims", "GatherV2", {x, indices, Int(2)}, GatherAttrs(3));
  ExpectRefused("batch_dims", "GatherV2", {x, indices, Int(2)}, GatherAttrs(-3));
  ExpectRefused("must agree", "GatherV2", {x, Tensor::Of<int32_t>({1, 1}, {0}), Int(1)}, GatherAttrs(1));
  ExpectRefused("axis 3", "GatherV2", {x, indices, Int(3)}, GatherAttrs());
}

TEST(GatherV2, NarrowIndices) {
  AttrMap attrs = GatherAttrs();
  attrs.Set("Tindices", DType::kInt16);
  ExpectTensor(RunOp1("GatherV2", {Iota<float>({4}), Tensor::Vector<int16_t>({3, 1}), Int(0)}, attrs),
               Floats({2}, {3, 1}));
  ExpectRefused("indices[1] = -1", "GatherV2", {Iota<float>({4}), Tensor::Vector<int16_t>({3, -1}), Int(0)}, attrs);
}

TEST(GatherNd, TuplesOfAnyDepth) {
  const Tensor x = Iota<float>({2, 3});
  ExpectTensor(RunOp1("GatherNd", {x, Tensor::Of<int32_t>({2, 2}, {1, 2, 0, 0})}, NdAttrs()), Floats({2}, {5, 0}));
  ExpectTensor(RunOp1("GatherNd", {x, Tensor::Of<int32_t>({1, 1}, {1})}, NdAttrs()), Floats({1, 3}, {3, 4, 5}));
  ExpectTensor(RunOp1("GatherNd", {x, Tensor(DType::kInt32, {2, 0})}, NdAttrs()),
               Floats({2, 2, 3}, {0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5}));
  ExpectRefused("tuples of 3", "GatherNd", {x, Tensor::Of<int32_t>({1, 3}, {0, 0, 0})}, NdAttrs());
}

TEST(GatherNd, BadTuples) {
  const Tensor x = Iota<float>({2, 3});
  const Tensor bad = Tensor::Of<int32_t>({2, 2}, {1, 1, 0, 3});
  ExpectRefused("indices[1] = [0, 3] does not index into shape [2,3]", "GatherNd", {x, bad}, NdAttrs());
  ExpectRefused("indices = [-1] does not", "GatherNd", {x, Ints({-1})}, NdAttrs());
  ExpectTensor(RunOp1("GatherNd", {x, bad}, NdAttrs("IGNORE")), Floats({2}, {4, 0}));
  ExpectRefused("bad_indices_policy is 'MAYBE'", "GatherNd", {x, bad}, NdAttrs("MAYBE"));
}

TEST(ScatterNd, DuplicatesAddUp) {
  ExpectTensor(
      RunOp1("ScatterNd", {Tensor::Of<int32_t>({3, 1}, {2, 0, 2}), Floats({3}, {1, 2, 4}), Ints({4})}, ScatterAttrs()),
      Floats({4}, {2, 0, 5, 0}));
  ExpectTensor(
      RunOp1("ScatterNd", {Tensor(DType::kInt32, {2, 0}), Floats({2, 2}, {1, 2, 3, 4}), Ints({2})}, ScatterAttrs()),
      Floats({2}, {4, 6}));
  const Tensor indices = Tensor::Of<int32_t>({2, 1}, {0, 0});
  ExpectTensor(
      RunOp1("ScatterNd", {indices, Tensor::Of<std::string>({2}, {"a", "b"}), Ints({2})}, ScatterAttrs(DType::kString)),
      Tensor::Of<std::string>({2}, {"ab", ""}));
}

TEST(ScatterNd, RefusesWhatDoesNotFit) {
  const Tensor index = Tensor::Of<int32_t>({1, 1}, {7});
  ExpectRefused("indices[0] = [7] does not index into shape [5]", "ScatterNd", {index, Floats({1}, {1}), Ints({5})},
                ScatterAttrs());
  ExpectTensor(RunOp1("ScatterNd", {index, Floats({1}, {1}), Ints({2})}, ScatterAttrs(DType::kFloat, "IGNORE")),
               Floats({2}, {0, 0}));
  ExpectRefused("updates must have shape [1,2]", "ScatterNd", {index, Floats({1}, {1}), Ints({5, 2})}, ScatterAttrs());
  ExpectRefused("shape[0] is -5", "ScatterNd", {index, Floats({1}, {1}), Ints({-5})}, ScatterAttrs());
}

TEST(TensorScatter, LeavesItsInputAloneUnlessItIsTheLastReader) {
  const Tensor x = Iota<float>({6}), indices = Tensor::Of<int32_t>({2, 1}, {1, 1}), updates = Floats({2}, {10, 20});
  ExpectTensor(RunOp1("TensorScatterUpdate", {x, indices, updates}, ScatterAttrs()), Floats({6}, {0, 20, 2, 3, 4, 5}));
  ExpectTensor(RunOp1("TensorScatterAdd", {x, indices, updates}, ScatterAttrs()), Floats({6}, {0, 31, 2, 3, 4, 5}));
  ExpectTensor(RunOp1("TensorScatterSub", {x, indices, updates}, ScatterAttrs(), {1, true}),
               Floats({6}, {0, -29, 2, 3, 4, 5}));
  ExpectTensor(x, Iota<float>({6}));
  ExpectRefused("indices[1] = [6]", "TensorScatterAdd", {x, Tensor::Of<int32_t>({2, 1}, {1, 6}), updates},
                ScatterAttrs());
}

TEST(UnsortedSegmentSum, DropsNegativeSegments) {
  const AttrMap attrs = Attrs({{"T", DType::kFloat}, {"Tindices", DType::kInt32}});
  ExpectTensor(RunOp1("UnsortedSegmentSum", {Floats({3}, {1, 2, 4}), Ints({1, -1, 1}), Int(3)}, attrs),
               Floats({3}, {0, 5, 0}));
  ExpectRefused("segment_ids[2] = 3 is not in [0, 3)", "UnsortedSegmentSum",
                {Floats({3}, {1, 2, 4}), Ints({1, -1, 3}), Int(3)}, attrs);
  ExpectRefused("does not start with segment_ids.shape = [2]", "UnsortedSegmentSum",
                {Floats({3}, {1, 2, 4}), Ints({1, -1}), Int(3)}, attrs);
  ExpectRefused("num_segments is -1", "UnsortedSegmentSum", {Floats({1}, {1}), Ints({0}), Int(-1)}, attrs);
}

// Sums of floats that depend on their order come out the same on any number of threads, for slices of every size.
TEST(UnsortedSegmentSum, SameBitsOnAnyNumberOfThreads) {
  std::mt19937 random(3);
  for (int64_t slice : {1, 7, 600}) {
    const int64_t count = 60'000 / slice + 1;
    Tensor data(DType::kFloat, {count, slice}), segments(DType::kInt32, {count});
    for (float& v : data.flat<float>()) v = std::uniform_real_distribution<float>(-1e3f, 1e3f)(random);
    for (int32_t& s : segments.flat<int32_t>()) s = static_cast<int32_t>(random() % 13) - 1;
    std::vector<float> want(12 * slice, 0.0f);
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t k = 0; k < slice && segments.data<int32_t>()[i] >= 0; ++k) {
        want[segments.data<int32_t>()[i] * slice + k] += data.data<float>()[i * slice + k];
      }
    }
    const AttrMap attrs = Attrs({{"T", DType::kFloat}, {"Tindices", DType::kInt32}});
    for (int threads : {1, 2, 5}) {
      ExpectTensor(RunOp1("UnsortedSegmentSum", {data, segments, Int(12)}, attrs, {.threads = threads}),
                   Tensor::Of<float>({12, slice}, absl::MakeConstSpan(want)));
    }
  }
}

}  // namespace
}  // namespace nabla

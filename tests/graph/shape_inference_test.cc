#include "nabla/graph/shape_inference.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nabla/tests/graph/small_ops.h"

namespace nabla {
namespace {

using ::testing::HasSubstr;

class ShapeInferenceTest : public ::testing::Test {
 protected:
  Output Placeholder(Shape shape) {
    return AddPlaceholder(graph_, graph_.UniqueName("p"), DType::kFloat, std::move(shape));
  }
  Output Ints(std::vector<int32_t> values) {
    return AddConst(graph_, graph_.UniqueName("c"), Tensor::Vector<int32_t>(absl::MakeConstSpan(values)));
  }
  // Runs `rule` as that of `op` on the inputs, and gives output 0's shape or the error.
  absl::StatusOr<Shape> Run(ShapeFn rule, const char* op, Outputs inputs, AttrMap attrs = {}) {
    ShapeContext context(*SmallOps().Find(op), attrs, inputs, 1);
    NABLA_RETURN_IF_ERROR(rule(context));
    return context.outputs()[0];
  }
  static AttrMap KeepDims(bool keep) {
    AttrMap attrs;
    attrs.Set("keep_dims", keep);
    return attrs;
  }

  Graph graph_{&SmallOps()};
};

TEST_F(ShapeInferenceTest, RanksAreChecked) {
  AttrMap attrs;
  Outputs inputs = {Placeholder(Shape({2, 3})), Placeholder(Shape()), Output()};
  ShapeContext c(*SmallOps().Find("MatMul"), attrs, inputs, 1);
  EXPECT_EQ(*c.InputOfRank(0, 2), Shape({2, 3}));
  EXPECT_EQ(*c.InputOfRank(1, 2), Shape::UnknownOfRank(2));
  EXPECT_EQ(*c.InputOfRank(2, 2), Shape::UnknownOfRank(2));
  EXPECT_EQ(c.InputOfRank(0, 3).status().message(), "input 'a' has shape [2,3], expected rank 3");
  EXPECT_EQ(*c.InputOfRankAtLeast(0, 1), Shape({2, 3}));
  EXPECT_EQ(*c.InputOfRankAtLeast(1, 9), Shape());
  EXPECT_EQ(c.InputOfRankAtLeast(0, 3).status().message(), "input 'a' has shape [2,3], expected rank at least 3");
  EXPECT_EQ(c.input_dtype(0), DType::kFloat);
  EXPECT_EQ(c.input_dtype(2), DType::kInvalid);
  EXPECT_FALSE(c.InputValue(2).has_value());
  EXPECT_EQ(c.InputAsShape(2), Shape());
}

TEST_F(ShapeInferenceTest, AxesAndDimensions) {
  EXPECT_EQ(*ShapeContext::ResolveAxis(0, 2), 0);
  EXPECT_EQ(*ShapeContext::ResolveAxis(-1, 2), 1);
  EXPECT_EQ(*ShapeContext::ResolveAxis(-2, 2), 0);
  EXPECT_EQ(ShapeContext::ResolveAxis(2, 2).status().message(), "axis 2 is out of range, expected one in [-2, 2)");
  EXPECT_FALSE(ShapeContext::ResolveAxis(-3, 2).ok());
  EXPECT_FALSE(ShapeContext::ResolveAxis(0, 0).ok());
  EXPECT_FALSE(ShapeContext::ResolveAxis(int64_t{1} << 40, 2).ok());
  EXPECT_EQ(*ShapeContext::MergeDims(3, kUnknownDim), 3);
  EXPECT_EQ(*ShapeContext::MergeDims(kUnknownDim, 3), 3);
  EXPECT_EQ(*ShapeContext::MergeDims(kUnknownDim, kUnknownDim), kUnknownDim);
  EXPECT_EQ(ShapeContext::MergeDims(3, 4).status().message(), "dimensions 3 and 4 differ, expected equal ones");
}

TEST_F(ShapeInferenceTest, SharedRules) {
  Output a = Placeholder(Shape({2, 1}));
  Output b = Placeholder(Shape({kUnknownDim, 3}));
  EXPECT_EQ(*Run(ScalarShape, "Size", {a}), Shape::Scalar());
  EXPECT_EQ(*Run(UnchangedShape, "Identity", {a}), Shape({2, 1}));
  EXPECT_EQ(*Run(BroadcastBinaryShape, "Add", {a, b}), Shape({2, 3}));
  EXPECT_FALSE(Run(BroadcastBinaryShape, "Add", {a, Placeholder(Shape({3, 1}))}).ok());
  EXPECT_EQ(*Run(UnknownShape, "Identity", {a}), Shape());
  EXPECT_EQ(*Run(MergedInputsShape, "AddN", {Placeholder(Shape({2, kUnknownDim})), b, Output()}), Shape({2, 3}));
  EXPECT_EQ(Run(MergedInputsShape, "AddN", {a, b}).status().message(),
            "input 1 has shape [?,3], expected [2,1] like the inputs before it");
}

TEST_F(ShapeInferenceTest, Reductions) {
  Output x = Placeholder(Shape({2, kUnknownDim, 4}));
  EXPECT_EQ(*Run(ReductionShape, "Sum", {x, Ints({0, -1})}, KeepDims(false)), Shape({kUnknownDim}));
  EXPECT_EQ(*Run(ReductionShape, "Sum", {x, Ints({0, -1})}, KeepDims(true)), Shape({1, kUnknownDim, 1}));
  EXPECT_EQ(*Run(ReductionShape, "Sum", {x, Ints({})}, KeepDims(false)), Shape({2, kUnknownDim, 4}));
  EXPECT_EQ(*Run(ReductionShape, "Sum", {x, Ints({1, 1})}, KeepDims(false)), Shape({2, 4}));
  // Unknown axes, unknown data.
  Output axes = AddPlaceholder(graph_, "axes", DType::kInt32, Shape({1}));
  EXPECT_EQ(*Run(ReductionShape, "Sum", {x, axes}, KeepDims(false)), Shape());
  EXPECT_EQ(*Run(ReductionShape, "Sum", {x, axes}, KeepDims(true)), Shape::UnknownOfRank(3));
  EXPECT_EQ(*Run(ReductionShape, "Sum", {Placeholder(Shape()), Ints({5})}, KeepDims(true)), Shape());
  EXPECT_THAT(std::string(Run(ReductionShape, "Sum", {x, Ints({3})}, KeepDims(true)).status().message()),
              HasSubstr("axis 3 is out of range, expected one in [-3, 3)"));
  Output matrix = AddPlaceholder(graph_, "matrix", DType::kInt32, Shape({1, 1}));
  EXPECT_THAT(std::string(Run(ReductionShape, "Sum", {x, matrix}, KeepDims(true)).status().message()),
              HasSubstr("input 'reduction_indices' has shape [1,1], expected a scalar or a vector of axes"));
}

TEST_F(ShapeInferenceTest, AMissingAttrStopsTheProgram) {
  AttrMap attrs;
  ShapeContext c(*SmallOps().Find("MatMul"), attrs, {}, 1);
  EXPECT_EQ(c.find_attr<bool>("transpose_a"), nullptr);
  EXPECT_DEATH(c.attr<bool>("transpose_a"), "the shape rule of op MatMul asks for attr 'transpose_a'");
}

}  // namespace
}  // namespace nabla

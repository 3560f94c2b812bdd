// Shapes that depend on partly known values, and on what a resource handle is of: what the table of shape_rules_test
// cannot say.
#include <string>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "nabla/graph/resource_handle.h"
#include "nabla/graph/scope.h"
#include "nabla/ops/registration.h"

namespace nabla {
namespace {

class ArrayShapes : public ::testing::Test {
 protected:
  ArrayShapes() : scope_((RegisterAllOps(), &graph_)) {}

  Output Placeholder(DType dtype, Shape shape) {
    return NodeBuilder(scope_, "Placeholder").Attr("dtype", dtype).Attr("shape", std::move(shape)).FinishOutput();
  }
  Output Op(const std::string& op, std::initializer_list<Input> inputs, AttrMap attrs = {}) {
    NodeBuilder builder(scope_, op);
    for (const Input& input : inputs) builder.Input(input);
    for (const auto& [name, value] : attrs) builder.Attr(name, value);
    Node* node = builder.Finish();
    EXPECT_TRUE(scope_.ok()) << scope_.status();
    return node == nullptr || node->num_outputs() == 0 ? Output() : node->output(0);
  }
  // The error of adding such a node.
  std::string Refusal(const std::string& op, std::initializer_list<Input> inputs, AttrMap attrs = {}) {
    NodeBuilder builder(scope_, op);
    for (const Input& input : inputs) builder.Input(input);
    for (const auto& [name, value] : attrs) builder.Attr(name, value);
    EXPECT_EQ(builder.Finish(), nullptr) << op;
    const std::string message(scope_.status().message());
    scope_ = Scope(&graph_);
    return message;
  }
  Output Pack(const Inputs& values) { return NodeBuilder(scope_, "Pack").InputList(values).FinishOutput(); }
  // vector[i]
  Output Element(Output vector, int i) {
    AttrMap attrs;
    attrs.Set("shrink_axis_mask", 1);
    return Op("StridedSlice",
              {vector, Tensor::Vector<int32_t>({i}), Tensor::Vector<int32_t>({i + 1}), Tensor::Vector<int32_t>({1})},
              attrs);
  }
  Output Variable(DType dtype, Shape shape) {
    AttrMap attrs;
    attrs.Set("dtype", dtype);
    attrs.Set("shape", std::move(shape));
    return Op("VarHandleOp", {}, attrs);
  }
  static AttrMap DTypeAttr(DType dtype) {
    AttrMap attrs;
    attrs.Set("dtype", dtype);
    return attrs;
  }

  Graph graph_;
  Scope scope_;
};

constexpr int64_t kAny = kUnknownDim;

TEST_F(ArrayShapes, ReshapeToAPackOfPartlyKnownDimensions) {
  const Output x = Placeholder(DType::kFloat, {kAny, 5, 2});
  const Output rows = Element(Op("Shape", {x}), 0);
  EXPECT_EQ(Op("Reshape", {x, Pack({rows, 10})}).shape(), Shape({kAny, 10}));
  EXPECT_EQ(Op("Reshape", {x, Pack({rows, -1})}).shape(), Shape({kAny, kAny}));
  const Output y = Placeholder(DType::kFloat, {32, 5, 2});
  EXPECT_EQ(Op("Reshape", {y, Pack({Element(Op("Shape", {y}), 0), -1})}).shape(), Shape({32, 10}));
  // The one dimension that is unknown follows from the number of elements.
  EXPECT_EQ(Op("Reshape", {y, Pack({rows, 10})}).shape(), Shape({32, 10}));
}

TEST_F(ArrayShapes, ShapesOfPartlyKnownTensorsCarryOver) {
  const Output x = Placeholder(DType::kFloat, {kAny, 3});
  const Output shape = Op("Shape", {x});
  EXPECT_EQ(Op("Fill", {shape, Tensor::Scalar(0.0f)}).shape(), Shape({kAny, 3}));
  EXPECT_EQ(Op("BroadcastTo", {Tensor::Scalar(0.0f), shape}).shape(), Shape({kAny, 3}));
  EXPECT_EQ(Op("Slice", {x, Tensor::Vector<int32_t>({0, 0}), shape}).shape(), Shape({kAny, 3}));
  EXPECT_EQ(Op("Tile", {Placeholder(DType::kFloat, {2, 2}), shape}).shape(), Shape({kAny, 6}));
  const Output indices = Placeholder(DType::kInt32, {7, 1});
  EXPECT_EQ(Op("ScatterNd", {indices, Placeholder(DType::kFloat, {7, 3}), shape}).shape(), Shape({kAny, 3}));
  EXPECT_TRUE(absl::StrContains(Refusal("ScatterNd", {indices, Placeholder(DType::kFloat, {7, 4}), shape}),
                                "updates must have shape"));
  const Output dy = Placeholder(DType::kFloat, {kAny, 2});
  EXPECT_EQ(Op("StridedSliceGrad", {shape, Tensor::Vector<int32_t>({0, 0}), Tensor::Vector<int32_t>({0, 2}),
                                    Tensor::Vector<int32_t>({1, 1}), dy})
                .shape(),
            Shape({kAny, 3}));
}

TEST_F(ArrayShapes, VariablesGiveTheShapesOfWhatIsRead) {
  const Output handle = Variable(DType::kFloat, {4, kAny, 6});
  const AttrMap is_float = DTypeAttr(DType::kFloat);
  EXPECT_EQ(Op("ReadVariableOp", {handle}, is_float).shape(), Shape({4, kAny, 6}));
  EXPECT_EQ(Op("VariableShape", {handle}).shape(), Shape({3}));
  const Output indices = Placeholder(DType::kInt32, {2, 3});
  EXPECT_EQ(Op("ResourceGather", {handle, indices}, is_float).shape(), Shape({2, 3, kAny, 6}));
  AttrMap batched = is_float;
  batched.Set("batch_dims", 1);
  EXPECT_EQ(Op("ResourceGather", {handle, Placeholder(DType::kInt32, {4, 9})}, batched).shape(), Shape({4, 9, 6}));
  EXPECT_EQ(Op("ResourceGatherNd", {handle, Placeholder(DType::kInt32, {5, 2})}, is_float).shape(), Shape({5, 6}));
  Op("ResourceScatterAdd", {handle, indices, Placeholder(DType::kFloat, {2, 3, 8, 6})});
  Op("ResourceScatterAdd", {handle, indices, Placeholder(DType::kFloat, {})});
  EXPECT_TRUE(absl::StrContains(
      Refusal("ResourceScatterAdd", {handle, indices, Placeholder(DType::kFloat, {2, 3, 8, 7})}), "updates must have"));
  EXPECT_TRUE(absl::StrContains(Refusal("ReadVariableOp", {handle}, DTypeAttr(DType::kDouble)), "is of type float"));
  EXPECT_TRUE(absl::StrContains(Refusal("AssignVariableOp", {handle, Placeholder(DType::kFloat, {5, 5, 6})}),
                                "has shape [4,?,6]"));
  Op("AssignAddVariableOp", {handle, Placeholder(DType::kFloat, {kAny, 5, 6})});
}

TEST_F(ArrayShapes, HandlesAreFollowedThroughWhatPassesThemOn) {
  const Output handle = Variable(DType::kFloat, {4, 5});
  AttrMap frame;
  frame.Set("frame_name", "loop");
  const Output entered = Op("Enter", {Op("Identity", {handle})}, frame);
  Node* merge = NodeBuilder(scope_, "Merge").InputList(Outputs{entered, Output()}).Finish();
  ASSERT_NE(merge, nullptr) << scope_.status();
  const Output live = Op("Switch", {merge->output(0), Placeholder(DType::kBool, {})});
  const Output next = Op("NextIteration", {live.node()->output(1)});
  ASSERT_TRUE(graph_.SetBackEdge(merge, 1, next).ok());
  const ResourceInfo info = FindResource(Op("Exit", {live}));
  EXPECT_EQ(info.node, handle.node());
  EXPECT_EQ(info.dtype, DType::kFloat);
  EXPECT_EQ(info.shape, Shape({4, 5}));
  EXPECT_EQ(Op("ReadVariableOp", {next}, DTypeAttr(DType::kFloat)).shape(), Shape({4, 5}));
}

TEST_F(ArrayShapes, HandlesFromElsewhereAreUnknown) {
  const ResourceInfo info = FindResource(Placeholder(DType::kResource, Shape::Scalar()));
  EXPECT_EQ(info.node, nullptr);
  EXPECT_EQ(info.dtype, DType::kInvalid);
  EXPECT_FALSE(info.shape.has_rank());
}

TEST_F(ArrayShapes, LongChainsAreFollowedWithoutRecursion) {
  Output handle = Variable(DType::kFloat, {4});
  const Output first = handle;
  for (int i = 0; i < 5000; ++i) handle = Op("Identity", {handle});
  EXPECT_EQ(FindResource(handle).node, first.node());
}

TEST_F(ArrayShapes, ShapesThatGrowAreChecked) {
  const int64_t big = int64_t{1} << 40;
  const Output x = Placeholder(DType::kFloat, {big, 1 << 20});
  EXPECT_FALSE(Refusal("Tile", {x, Tensor::Vector<int32_t>({1 << 20, 1 << 20})}).empty());
  EXPECT_FALSE(Refusal("ExpandDims", {Placeholder(DType::kFloat, Shape::UnknownOfRank(kMaxRank)), 0}).empty());
  EXPECT_FALSE(Refusal("OneHot", {x, 1 << 20, Tensor::Scalar(1.0f), Tensor::Scalar(0.0f)}).empty());
  EXPECT_FALSE(Refusal("Fill", {Tensor::Vector<int64_t>({big, big}), Tensor::Scalar(1.0f)}).empty());
  const int64_t most = (int64_t{1} << 62);
  EXPECT_FALSE(
      Refusal("Pad", {Placeholder(DType::kFloat, {kAny, most}), Tensor::Of<int64_t>({2, 2}, {0, 0, most, most})})
          .empty());
}

}  // namespace
}  // namespace nabla

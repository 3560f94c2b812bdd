#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nabla/graph/scope.h"
#include "nabla/graph/weak_constant.h"
#include "nabla/tests/graph/small_ops.h"

namespace nabla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class NodeBuilderTest : public ::testing::Test {
 protected:
  Node* Binary(const char* op, const Input& a, const Input& b) {
    return NodeBuilder(scope_, op).Input(a).Input(b).Finish();
  }
  const Tensor& Value(Output output) { return output.node()->GetAttr<Tensor>("value"); }
  // The error that building this gives, from a scope of its own.
  template <typename Build>
  std::string ErrorOf(Build build) {
    Scope scope(&graph_);
    const int before = graph_.num_nodes();
    build(scope);
    EXPECT_FALSE(scope.ok());
    EXPECT_EQ(graph_.num_nodes(), before);  // no constants of a node that is not there
    return std::string(scope.status().message());
  }

  Graph graph_{&SmallOps()};
  Scope scope_{&graph_};
  Output f_ = AddPlaceholder(graph_, "f", DType::kFloat, Shape({2, 3}));
  Output d_ = AddPlaceholder(graph_, "d", DType::kDouble, Shape({2, 3}));
  Output i_ = AddPlaceholder(graph_, "i", DType::kInt32, Shape({2, 3}));
};

TEST_F(NodeBuilderTest, InfersTypesAndFillsInDefaults) {
  Node* product = NodeBuilder(scope_, "MatMul").Input(d_).Input(d_).Attr("transpose_b", true).Finish();
  ASSERT_NE(product, nullptr) << scope_.status();
  EXPECT_EQ(product->GetAttr<DType>("T"), DType::kDouble);
  EXPECT_TRUE(product->GetAttr<bool>("transpose_b"));
  EXPECT_FALSE(product->GetAttr<bool>("transpose_a"));
  EXPECT_EQ(product->output_shape(0), Shape({2, 2}));
}

TEST_F(NodeBuilderTest, NumbersTakeTheOtherOperandsDType) {
  Node* sum = Binary("Add", d_, 1);
  ASSERT_NE(sum, nullptr) << scope_.status();
  EXPECT_EQ(sum->name(), "Add");
  EXPECT_EQ(sum->input(1).name(), "Add/y:0");
  EXPECT_EQ(Value(sum->input(1)).dtype(), DType::kDouble);
  EXPECT_EQ(Value(sum->input(1)).scalar<double>(), 1.0);

  Node* reversed = Binary("Sub", 1.5, f_);
  EXPECT_EQ(reversed->input(0).name(), "Sub/x:0");
  EXPECT_EQ(Value(reversed->input(0)).scalar<float>(), 1.5f);

  // Operators take all numbers as doubles.
  Node* integers = Binary("Mul", i_, 2.0);
  ASSERT_NE(integers, nullptr) << scope_.status();
  EXPECT_EQ(Value(integers->input(1)).scalar<int32_t>(), 2);

  Output half = AddPlaceholder(graph_, "h", DType::kHalf, Shape());
  EXPECT_EQ(static_cast<float>(Value(Binary("Add", half, 0.5)->input(1)).scalar<Half>()), 0.5f);
  Output complex = AddPlaceholder(graph_, "c", DType::kComplex64, Shape());
  EXPECT_EQ(Value(Binary("Add", complex, 2)->input(1)).scalar<std::complex<float>>(), std::complex<float>(2, 0));
}

TEST_F(NodeBuilderTest, NumbersAloneAreFloatOrInt32OrTheDefault) {
  EXPECT_EQ(Binary("Add", 1, 2)->output_dtype(0), DType::kInt32);
  EXPECT_EQ(Binary("Add", 1, 2.5)->output_dtype(0), DType::kFloat);
  EXPECT_EQ(Binary("Add", 1, int64_t{1} << 40)->output_dtype(0), DType::kInt64);
  // Where integers are not allowed, a number is what is.
  EXPECT_EQ(NodeBuilder(scope_, "Sqrt").Input(4).Finish()->output_dtype(0), DType::kFloat);
  // An attr's default speaks before that.
  Node* sum = Binary("Sum", f_, 0);
  EXPECT_EQ(sum->GetAttr<DType>("Tidx"), DType::kInt32);
  EXPECT_EQ(sum->input(1).name(), "Sum/reduction_indices:0");
  EXPECT_EQ(sum->output_shape(0), Shape({3}));
  Node* range = NodeBuilder(scope_, "Range").Input(0).Input(3.5).Input(1).Finish();
  EXPECT_EQ(range->output_dtype(0), DType::kFloat);
  EXPECT_EQ(NodeBuilder(scope_, "Range").Input(0).Input(3).Input(1).Finish()->output_dtype(0), DType::kInt32);
}

TEST_F(NodeBuilderTest, VectorsShapesStringsAndTensorsAreOperands) {
  Node* reshape = Binary("Reshape", f_, {3, -1});
  ASSERT_NE(reshape, nullptr) << scope_.status();
  EXPECT_EQ(reshape->input(1).name(), "Reshape/shape:0");
  EXPECT_THAT(Value(reshape->input(1)).flat<int32_t>(), ElementsAre(3, -1));
  EXPECT_EQ(Binary("Reshape", f_, Shape({3, 2}))->output_shape(0), Shape({3, 2}));
  EXPECT_EQ(Binary("Reshape", f_, std::vector<int64_t>{6})->output_shape(0), Shape({6}));
  // Tensors keep their dtype.
  EXPECT_EQ(Binary("Reshape", f_, Tensor::Vector<int64_t>({6}))->GetAttr<DType>("Tshape"), DType::kInt64);
  Node* text = NodeBuilder(scope_, "Identity").Input("text").Finish();
  EXPECT_EQ(text->output_dtype(0), DType::kString);
  EXPECT_EQ(Value(text->input(0)).scalar<std::string>(), "text");
  EXPECT_EQ(NodeBuilder(scope_, "Identity").Input(true).Finish()->output_dtype(0), DType::kBool);
}

TEST_F(NodeBuilderTest, ListsSetTheirAttrs) {
  Output x = AddPlaceholder(graph_, "x", DType::kFloat, Shape::Scalar());
  Node* sum = NodeBuilder(scope_, "AddN").InputList(Inputs{x, 1.0, x}).Finish();
  ASSERT_NE(sum, nullptr) << scope_.status();
  EXPECT_EQ(sum->GetAttr<int64_t>("N"), 3);
  EXPECT_EQ(sum->GetAttr<DType>("T"), DType::kFloat);
  EXPECT_EQ(sum->input(1).name(), "AddN/inputs_1:0");
  Node* pair = NodeBuilder(scope_, "IdentityN").InputList(Inputs{f_, i_, 2}).Finish();
  ASSERT_NE(pair, nullptr) << scope_.status();
  EXPECT_THAT(pair->GetAttr<std::vector<DType>>("T"), ElementsAre(DType::kFloat, DType::kInt32, DType::kInt32));
  EXPECT_EQ(pair->num_outputs(), 3);
  Node* outputs = NodeBuilder(scope_, "AddN").InputList(Outputs{f_, f_}).Finish();
  EXPECT_EQ(outputs->num_inputs(), 2);
  Node* split = NodeBuilder(scope_, "Split").Input(0).Input(f_).Attr("num_split", 2).Finish();
  ASSERT_NE(split, nullptr) << scope_.status();
  EXPECT_EQ(split->num_outputs(), 2);
}

TEST_F(NodeBuilderTest, ExplicitAttrsWinForNumbers) {
  Node* sum = NodeBuilder(scope_, "Add").Input(1).Input(2).Attr("T", DType::kDouble).Finish();
  EXPECT_EQ(sum->output_dtype(0), DType::kDouble);
  Node* relu = NodeBuilder(scope_, "LeakyRelu").Input(f_).Attr("alpha", 1).Finish();
  ASSERT_NE(relu, nullptr) << scope_.status();
  EXPECT_EQ(relu->GetAttr<float>("alpha"), 1.0f);
}

TEST_F(NodeBuilderTest, ConstantsGetWhatTheScopeGives) {
  Node* first = NodeBuilder(scope_, "NoOp").Finish();
  Scope scope = scope_.Sub("s").WithControl({first}).WithDevice("/cpu:0").WithAttr("_mark", 1).Named("sum");
  Node* sum = NodeBuilder(scope, "Add").Input(f_).Input(1).Finish();
  ASSERT_NE(sum, nullptr) << scope.status();
  EXPECT_EQ(sum->name(), "s/sum");
  Node* constant = sum->input(1).node();
  EXPECT_EQ(constant->name(), "s/sum/y");
  EXPECT_THAT(constant->control_inputs(), ElementsAre(first));
  EXPECT_EQ(constant->device(), "/cpu:0");
  EXPECT_EQ(*constant->attr<int64_t>("_mark"), 1);
}

TEST_F(NodeBuilderTest, NoneGivesNoneSilently) {
  EXPECT_EQ(Binary("Add", f_, Output()), nullptr);
  EXPECT_FALSE(NodeBuilder(scope_, "AddN").InputList(Outputs{f_, Output()}).FinishOutput());
  EXPECT_TRUE(scope_.ok());
  // A Merge waits for its back edge.
  Node* merge = NodeBuilder(scope_, "Merge").InputList(Outputs{f_, Output()}).Finish();
  ASSERT_NE(merge, nullptr) << scope_.status();
  EXPECT_EQ(merge->num_inputs(), 2);
  EXPECT_FALSE(NodeBuilder(scope_, "NoOp").FinishOutput());  // no output to give
  EXPECT_TRUE(scope_.ok());
}

TEST_F(NodeBuilderTest, ErrorsNameOpArgumentExpectedAndGiven) {
  EXPECT_EQ(ErrorOf([&](Scope& s) { NodeBuilder(s, "Add").Input(f_).Input(i_).Finish(); }),
            "node 'Add' (op Add): input 'y' has dtype int32, expected float, like input 'x' (attr T)");
  EXPECT_EQ(ErrorOf([&](Scope& s) { NodeBuilder(s, "Add").Input(f_).Input(f_).Attr("T", DType::kDouble).Finish(); }),
            "node 'Add' (op Add): input 'x' has dtype float, expected double by attr T");
  EXPECT_EQ(ErrorOf([&](Scope& s) { NodeBuilder(s, "Add").Input(f_).Finish(); }),
            "node 'Add' (op Add): has 1 inputs, expected 2 (x, y)");
  EXPECT_EQ(ErrorOf([&](Scope& s) { NodeBuilder(s, "Add").Input(i_).Input(1.5).Finish(); }),
            "node 'Add' (op Add): input 'y': the number 1.5 does not fit int32");
  EXPECT_EQ(ErrorOf([&](Scope& s) { NodeBuilder(s, "Add").Input(f_).InputList(Outputs{f_}).Finish(); }),
            "node 'Add' (op Add): input 'y' is a list of tensors, expected one tensor");
  EXPECT_EQ(ErrorOf([&](Scope& s) { NodeBuilder(s, "AddN").Input(f_).Finish(); }),
            "node 'AddN' (op AddN): input 'inputs' is one tensor, expected a list of tensors");
  EXPECT_EQ(
      ErrorOf([&](Scope& s) {
        NodeBuilder(s, "AddN").InputList(Outputs{f_, i_}).Finish();
      }),
      "node 'AddN' (op AddN): input 'inputs[1]' has dtype int32, expected float, like input 'inputs[0]' (attr T)");
  EXPECT_EQ(ErrorOf([&](Scope& s) {
              NodeBuilder(s, "AddN").InputList(Outputs{f_, f_}).Attr("N", 3).Finish();
            }),
            "node 'AddN' (op AddN): input 'inputs' has 2 tensors, expected 3 by attr N");
  EXPECT_EQ(ErrorOf([&](Scope& s) { NodeBuilder(s, "Addd").Input(f_).Finish(); }),
            "unknown op 'Addd'; did you mean 'Add' or 'AddN'?");
  EXPECT_THAT(ErrorOf([&](Scope& s) { NodeBuilder(s, "Add").Input(f_).Input(f_).Attr("U", 1).Finish(); }),
              HasSubstr("node 'Add' (op Add): op Add has no attr 'U', but has: T"));
  EXPECT_THAT(ErrorOf([&](Scope& s) { NodeBuilder(s, "Split").Input(Tensor::Scalar(1.0f)).Input(f_).Finish(); }),
              HasSubstr("input 'split_dim': has dtype float, expected int32"));
  EXPECT_THAT(ErrorOf([&](Scope& s) { NodeBuilder(s, "MatMul").Input(f_).Input(f_).Finish(); }),
              HasSubstr("node 'MatMul' (op MatMul): dimensions 3 and 2 differ"));
  Graph other(&SmallOps());
  Output foreign = AddConst(other, "foreign", Tensor::Scalar(1.0f));
  EXPECT_THAT(ErrorOf([&](Scope& s) { NodeBuilder(s, "Add").Input(f_).Input(foreign).Finish(); }),
              HasSubstr("input 'y' belongs to another graph"));
}

TEST(WeakConstantTest, ConvertsWhatFits) {
  const auto from_int = [](int64_t value, DType dtype) { return ConvertWeakConstant(Tensor::Scalar(value), dtype); };
  const auto from_double = [](double value, DType dtype) { return ConvertWeakConstant(Tensor::Scalar(value), dtype); };
  EXPECT_EQ(from_int(255, DType::kUInt8)->scalar<uint8_t>(), 255);
  EXPECT_FALSE(from_int(256, DType::kUInt8).ok());
  EXPECT_FALSE(from_int(-1, DType::kUInt64).ok());
  EXPECT_EQ(from_int(-128, DType::kInt8)->scalar<int8_t>(), -128);
  EXPECT_FALSE(from_int(-129, DType::kInt8).ok());
  EXPECT_EQ(from_double(-0x1p63, DType::kInt64)->scalar<int64_t>(), std::numeric_limits<int64_t>::min());
  EXPECT_FALSE(from_double(0x1p63, DType::kInt64).ok());
  EXPECT_EQ(from_double(0x1p63, DType::kUInt64)->scalar<uint64_t>(), uint64_t{1} << 63);
  EXPECT_FALSE(from_double(0x1p64, DType::kUInt64).ok());
  EXPECT_FALSE(from_double(std::numeric_limits<double>::quiet_NaN(), DType::kInt32).ok());
  EXPECT_FALSE(from_double(0.5, DType::kInt32).ok());
  EXPECT_EQ(static_cast<float>(from_double(0.5, DType::kBFloat16)->scalar<BFloat16>()), 0.5f);
  EXPECT_FALSE(from_int(1, DType::kBool).ok());
  EXPECT_FALSE(from_int(1, DType::kString).ok());
  EXPECT_FALSE(from_int(1, DType::kResource).ok());
}

}  // namespace
}  // namespace nabla

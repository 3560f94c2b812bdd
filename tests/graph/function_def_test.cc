#include "nabla/graph/function_def.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nabla/graph/function.h"
#include "nabla/graph/function_instance.h"
#include "nabla/graph/function_library.h"
#include "nabla/proto/function.pb.h"
#include "nabla/tests/graph/small_ops.h"

namespace nabla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FunctionDefTest : public ::testing::Test {
 protected:
  Graph graph_{&SmallOps()};
  Scope scope_{&graph_};
  Output x_ = AddPlaceholder(graph_, "In/X", DType::kFloat, Shape({2, kUnknownDim}));
};

TEST_F(FunctionDefTest, InputsAreWrittenInTheFormOfFunctions) {
  Output y = AddPlaceholder(graph_, "y", DType::kFloat, Shape());
  Output axis = AddConst(graph_, "axis", Tensor::Scalar<int32_t>(0));
  Node* split = NodeBuilder(scope_.Named("split"), "Split").Input(axis).Input(x_).Attr("num_split", 2).Finish();
  ASSERT_NE(split, nullptr) << scope_.status();
  Output sum = NodeBuilder(scope_.Named("sum").WithControl({axis.node()}), "Add")
                   .Input(split->output(1))
                   .Input(y)
                   .FinishOutput();
  NodeBuilder(scope_.Named("dead"), "Sqrt").Input(y).Finish();
  const auto def = MakeFunctionDef(graph_, "f", {x_, y}, {sum, split->output(0)}, {{}, {"Total Sum", "2nd"}});
  ASSERT_TRUE(def.ok()) << def.status();
  const OpDef& signature = def->signature();
  EXPECT_EQ(signature.input_arg(0).name(), "in_x");
  EXPECT_EQ(signature.input_arg(0).type(), DT_FLOAT);
  EXPECT_EQ(signature.input_arg(1).name(), "y");
  EXPECT_EQ(signature.output_arg(0).name(), "total_sum");
  EXPECT_EQ(signature.output_arg(1).name(), "nd");
  EXPECT_FALSE(signature.is_stateful());
  ASSERT_EQ(def->node_def_size(), 3) << "what nothing needs is left out";
  EXPECT_EQ(def->node_def(1).name(), "split");
  EXPECT_THAT(def->node_def(1).input(), ElementsAre("axis:output:0", "in_x"));
  EXPECT_THAT(def->node_def(2).input(), ElementsAre("split:output:1", "y", "^axis"));
  EXPECT_EQ(def->ret().at("total_sum"), "sum:z:0");
  EXPECT_EQ(def->ret().at("nd"), "split:output:0");
  const TensorShapeProto& shape = def->arg_attr().at(0).attr().at("_output_shapes").list().shape(0);
  EXPECT_EQ(shape.dim(0).size(), 2);
  EXPECT_EQ(shape.dim(1).size(), -1);
  EXPECT_EQ(def->arg_attr().count(1), 0u);
}

TEST_F(FunctionDefTest, StatefulNodesAreControlOutputs) {
  NodeBuilder(scope_.Named("var"), "Variable").Attr("dtype", DType::kFloat).Finish();
  const auto def = MakeFunctionDef(graph_, "f", {}, {});
  ASSERT_TRUE(def.ok()) << def.status();
  EXPECT_TRUE(def->signature().is_stateful());
  EXPECT_THAT(def->signature().control_output(), ElementsAre("var"));
  EXPECT_EQ(def->control_ret().at("var"), "var");
  EXPECT_EQ(def->node_def_size(), 1);
}

TEST_F(FunctionDefTest, NamesOfArgumentsAndNodesDoNotMeet) {
  Output y = NodeBuilder(scope_.Named("in_x"), "Sqrt").Input(x_).FinishOutput();
  const auto def = MakeFunctionDef(graph_, "f", {x_}, {y});
  ASSERT_TRUE(def.ok()) << def.status();
  EXPECT_EQ(def->signature().input_arg(0).name(), "in_x_1");
  EXPECT_THAT(def->node_def(0).input(), ElementsAre("in_x_1"));
}

TEST_F(FunctionDefTest, ThereAndBackAgain) {
  Output y =
      NodeBuilder(scope_, "Sqrt").Input(NodeBuilder(scope_, "Add").Input(x_).Input(x_).FinishOutput()).FinishOutput();
  const auto def = MakeFunctionDef(graph_, "f", {x_}, {y, x_});
  ASSERT_TRUE(def.ok()) << def.status();
  Graph other(&SmallOps());
  ASSERT_TRUE(other.functions().Add(*def).ok());
  Output z = AddPlaceholder(other, "z", DType::kFloat, Shape({2, 3}));
  const auto instance = InstantiateFunction(&other, {"f", nullptr}, {z}, {});
  ASSERT_TRUE(instance.ok()) << instance.status();
  EXPECT_EQ(instance->results[0].name(), "Sqrt:0");
  EXPECT_EQ(instance->results[0].shape(), Shape({2, 3}));
  EXPECT_EQ(instance->results[1], z);
  const auto again = MakeFunctionDef(other, "f", {z}, instance->results, {{"in_x"}, {"sqrt", "in_x"}});
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->node_def_size(), def->node_def_size());
  for (int i = 0; i < def->node_def_size(); ++i) {
    EXPECT_EQ(again->node_def(i).SerializeAsString(), def->node_def(i).SerializeAsString());
  }
}

TEST_F(FunctionDefTest, WhatCannotBeAFunctionIsRefused) {
  Graph other(&SmallOps());
  Output stranger = AddConst(other, "s", Tensor::Scalar(1.0f));
  const auto error = [&](const Outputs& arguments, const Outputs& results) {
    return std::string(MakeFunctionDef(graph_, "f", arguments, results).status().message());
  };
  EXPECT_EQ(error({stranger}, {}), "function 'f': argument 0, 's:0', belongs to another graph than the body");
  EXPECT_EQ(error({}, {Output()}), "function 'f': result 0 is none");
  EXPECT_EQ(error({x_, x_}, {}), "function 'f': the argument 'In/X:0' stands there twice");
}

TEST_F(FunctionDefTest, AFunctionIsBuiltFromAnyScope) {
  const Function f =
      Function::Build(scope_, "f", {{DType::kFloat, Shape({2}), "Left"}}, [&](const Scope& s, const Outputs& in) {
        return Outputs{NodeBuilder(s, "Add").Input(in[0]).Input(x_).FinishOutput(), in[0]};
      });
  ASSERT_TRUE(f) << scope_.status();
  EXPECT_THAT(f.captures(), ElementsAre(x_));
  const FunctionDef* def = graph_.functions().Find("f");
  ASSERT_NE(def, nullptr);
  EXPECT_EQ(def->signature().input_arg(0).name(), "left");
  EXPECT_EQ(def->signature().input_arg(1).name(), "captured_0");
  EXPECT_EQ(def->ret().at("identity"), "Identity:output:0") << "an argument is not a result by itself";
  EXPECT_EQ(graph_.num_nodes(), 1) << "only the graph's own";
  // SmallOps has no PartitionedCall.
  const Outputs y = f.Call(scope_.Named("call"), {AddConst(graph_, "c", Tensor::Vector({1.0f, 2.0f}))},
                           Function::CallOp::kFunctionName);
  ASSERT_EQ(y.size(), 2u) << scope_.status();
  EXPECT_EQ(y[0].name(), "call:0");
  EXPECT_EQ(y[0].node()->input(1), x_);
  EXPECT_EQ(y[1].shape(), Shape({2}));
}

}  // namespace
}  // namespace nabla

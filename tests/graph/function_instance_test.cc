#include "nabla/graph/function_instance.h"

#include <google/protobuf/text_format.h>

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nabla/graph/function_body.h"
#include "nabla/graph/function_library.h"
#include "nabla/graph/verifier.h"
#include "nabla/proto/function.pb.h"
#include "nabla/tests/graph/small_ops.h"

namespace nabla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Attr entries of a NodeDef.
const char kT[] = " attr { key: 'T' value { placeholder: 'T' } } ";
const char kFloat[] = " attr { key: 'T' value { type: DT_FLOAT } } ";

class FunctionInstanceTest : public ::testing::Test {
 protected:
  void Define(const std::string& text) {
    FunctionDef function;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &function)) << text;
    const absl::Status status = graph_.functions().Add(function);
    ASSERT_TRUE(status.ok()) << status;
  }

  // f(a) = a + a, for the attr T.
  void DefineTwice() {
    Define(std::string("signature { name: 'Twice' input_arg { name: 'a' type_attr: 'T' } output_arg { name: 'b' "
                       "type_attr: 'T' } attr { name: 'T' type: 'type' } }"
                       "node_def { name: 'sum' op: 'Add' input: 'a' input: 'a'") +
           kT + "} ret { key: 'b' value: 'sum:z:0' }");
  }

  FunctionRef Ref(const std::string& name, DType dtype = DType::kInvalid) {
    auto attrs = std::make_shared<AttrMap>();
    if (dtype != DType::kInvalid) attrs->Set("T", dtype);
    return {name, attrs};
  }

  std::string ErrorOf(const FunctionRef& function, const Outputs& arguments) {
    const int nodes = graph_.num_nodes();
    const auto instance = InstantiateFunction(&graph_, function, arguments, {});
    EXPECT_EQ(graph_.num_nodes(), nodes) << "what was added is taken back";
    return std::string(instance.status().message());
  }

  Graph graph_{&SmallOps()};
  Output x_ = AddPlaceholder(graph_, "x", DType::kFloat, Shape({2}));
};

TEST_F(FunctionInstanceTest, NodesStandUnderThePrefixWithTheCallsAttrs) {
  DefineTwice();
  const auto instance = InstantiateFunction(&graph_, Ref("Twice", DType::kFloat), {x_}, {.prefix = "call"});
  ASSERT_TRUE(instance.ok()) << instance.status();
  ASSERT_EQ(instance->results.size(), 1u);
  EXPECT_EQ(instance->results[0].name(), "call/sum:0");
  EXPECT_EQ(instance->results[0].dtype(), DType::kFloat);
  EXPECT_EQ(instance->results[0].shape(), Shape({2}));
  EXPECT_EQ(instance->nodes[0]->input(0), x_);
  EXPECT_TRUE(VerifyGraph(graph_).ok()) << VerifyGraph(graph_);
}

TEST_F(FunctionInstanceTest, ArgumentsAndAttrsMustFit) {
  DefineTwice();
  EXPECT_EQ(ErrorOf(Ref("Twice", DType::kDouble), {x_}),
            "function 'Twice': input 'a' is 'x:0' of dtype float, expected double");
  EXPECT_EQ(ErrorOf(Ref("Twice", DType::kFloat), {x_, x_}), "function 'Twice': is called with 2 inputs, expected 1");
  EXPECT_EQ(ErrorOf(Ref("Twice", DType::kFloat), {Output()}), "function 'Twice': input 'a' is none");
  EXPECT_THAT(ErrorOf(Ref("Twice"), {x_}), HasSubstr("attr 'T' is missing"));
  EXPECT_EQ(ErrorOf(Ref("Twic"), {x_}), "the graph has no function 'Twic'; did you mean 'Twice'?");
}

TEST_F(FunctionInstanceTest, BodiesMayStandInAnyOrder) {
  Define(std::string("signature { name: 'F' input_arg { name: 'a' type: DT_FLOAT } output_arg { name: 'b' type: "
                     "DT_FLOAT } }"
                     "node_def { name: 'last' op: 'Sqrt' input: 'first:y:0'") +
         kFloat + "} node_def { name: 'first' op: 'Sqrt' input: 'a' input: '^gate'" + kFloat +
         "} node_def { name: 'gate' op: 'NoOp' input: '^a' } ret { key: 'b' value: 'last:y:0' }");
  Node* before = AddNodeOrDie(graph_, {"before", "NoOp", {}, {}, {}, ""});
  const auto instance = InstantiateFunction(&graph_, Ref("F"), {x_}, {.control_inputs = {before}, .device = "/cpu:0"});
  ASSERT_TRUE(instance.ok()) << instance.status();
  EXPECT_EQ(instance->results[0].name(), "last:0");
  EXPECT_THAT(graph_.FindNode("gate")->control_inputs(), ElementsAre(x_.node(), before));
  EXPECT_THAT(graph_.FindNode("first")->control_inputs(), ElementsAre(graph_.FindNode("gate")))
      << "waits through the gate";
  EXPECT_EQ(graph_.FindNode("last")->device(), "/cpu:0");
}

TEST_F(FunctionInstanceTest, ListsAreIndexedAndPassedWhole) {
  Define(
      "signature { name: 'Swap' input_arg { name: 'a' type_attr: 'T' number_attr: 'N' } output_arg { name: 'b' "
      "type_attr: 'T' number_attr: 'N' } output_arg { name: 'c' type_attr: 'T' } attr { name: 'N' type: 'int' } attr { "
      "name: 'T' type: 'type' } }"
      "node_def { name: 'n' op: 'IdentityN' input: 'a:1' input: 'a:0' attr { key: 'T' value { list { type: DT_FLOAT "
      "type: DT_FLOAT } } } } ret { key: 'b' value: 'n:output' } ret { key: 'c' value: 'n:output:1' }");
  FunctionRef swap = Ref("Swap", DType::kFloat);
  auto attrs = std::make_shared<AttrMap>(*swap.attrs);
  attrs->Set("N", 2);
  swap.attrs = attrs;
  Output y = AddPlaceholder(graph_, "y", DType::kFloat, Shape({3}));
  const auto instance = InstantiateFunction(&graph_, swap, {x_, y}, {});
  ASSERT_TRUE(instance.ok()) << instance.status();
  Node* n = graph_.FindNode("n");
  EXPECT_THAT(instance->results, ElementsAre(n->output(0), n->output(1), n->output(1)));
  EXPECT_EQ(n->input(0), y);
}

TEST_F(FunctionInstanceTest, EffectsAreTheControlOutputsOrAllStatefulNodes) {
  const std::string body =
      "node_def { name: 'v' op: 'Variable' attr { key: 'dtype' value { type: DT_FLOAT } } }"
      "node_def { name: 'w' op: 'Variable' attr { key: 'dtype' value { type: DT_FLOAT } } }"
      "node_def { name: 'n' op: 'NoOp' }";
  Define("signature { name: 'All' }" + body);
  Define("signature { name: 'Some' control_output: 'e' }" + body + "control_ret { key: 'e' value: 'n' }");
  auto all = InstantiateFunction(&graph_, Ref("All"), {}, {.prefix = "all"});
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_THAT(all->effects, ElementsAre(graph_.FindNode("all/v"), graph_.FindNode("all/w")));
  auto some = InstantiateFunction(&graph_, Ref("Some"), {}, {.prefix = "some"});
  ASSERT_TRUE(some.ok()) << some.status();
  EXPECT_THAT(some->effects, ElementsAre(graph_.FindNode("some/n")));
}

TEST_F(FunctionInstanceTest, LoopsCloseAndFramesAndColocationAreRenamed) {
  Define(
      std::string("signature { name: 'Loop' input_arg { name: 'a' type: DT_FLOAT } output_arg { name: 'b' type: "
                  "DT_FLOAT } }"
                  "node_def { name: 'enter' op: 'Enter' input: 'a' attr { key: 'frame_name' value { s: 'f' } }") +
      kFloat + "} node_def { name: 'merge' op: 'Merge' input: 'enter:output:0' input: 'next:output:0'" + kFloat +
      "attr { key: 'N' value { i: 2 } } attr { key: '_class' value { list { s: 'loc:@enter' s: 'loc:@elsewhere' } } }"
      "} node_def { name: 'next' op: 'NextIteration' input: 'merge:output:0'" +
      kFloat + "} ret { key: 'b' value: 'merge:output:0' }");
  const auto instance = InstantiateFunction(&graph_, Ref("Loop"), {x_}, {.prefix = "c"});
  ASSERT_TRUE(instance.ok()) << instance.status();
  Node* merge = graph_.FindNode("c/merge");
  EXPECT_EQ(merge->input(1), graph_.FindNode("c/next")->output(0));
  EXPECT_EQ(*graph_.FindNode("c/enter")->attr<std::string>("frame_name"), "c/f");
  EXPECT_THAT(*merge->attr<std::vector<std::string>>("_class"), ElementsAre("loc:@c/enter"));
  RemoveNodes(&graph_, instance->nodes);
  EXPECT_EQ(graph_.num_nodes(), 1);
}

TEST_F(FunctionInstanceTest, ConstantsAreShared) {
  Define(
      "signature { name: 'C' output_arg { name: 'b' type: DT_FLOAT } } node_def { name: 'c' op: 'Const' attr { key: "
      "'dtype' value { type: DT_FLOAT } } attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape { dim { "
      "size: 2 } } float_val: 1 float_val: 2 } } } } ret { key: 'b' value: 'c:output:0' }");
  const auto one = InstantiateFunction(&graph_, Ref("C"), {}, {.prefix = "one"});
  const auto two = InstantiateFunction(&graph_, Ref("C"), {}, {.prefix = "two"});
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_EQ(graph_.FindNode("one/c")->attr<Tensor>("value")->raw_data(),
            graph_.FindNode("two/c")->attr<Tensor>("value")->raw_data());
}

TEST_F(FunctionInstanceTest, WhatABodyCannotMeanIsAnErrorThatNamesIt) {
  const std::string head =
      "output_arg { name: 'b' type: DT_FLOAT } input_arg { name: 'a' type: DT_FLOAT } } ret { key: 'b' value: ";
  const auto sqrt = [](const std::string& name, const std::string& inputs) {
    return "node_def { name: '" + name + "' op: 'Sqrt' " + inputs + kFloat + "}";
  };
  struct Case {
    const char* name;
    std::string rest;
    const char* error;
  };
  const Case cases[] = {
      {"Cycle", head + "'s:y:0' }" + sqrt("s", "input: 't:y:0'") + sqrt("t", "input: 's:y:0'"),
       "function 'Cycle': node 's' is part of a cycle, or waits for one; expected only cycles from a NextIteration to "
       "a "
       "Merge"},
      {"NoNode", head + "'s:y:0' }" + sqrt("s", "input: 'q:y:0'"),
       "function 'NoNode': node 's': 'q:y:0' is neither an argument nor of a node of the function"},
      {"NoOutput", head + "'s:z:0' }" + sqrt("s", "input: 'a'"),
       "function 'NoOutput': node 's' (op Sqrt) has no output 'z'; it has y"},
      {"NoIndex", head + "'s:y:1' }" + sqrt("s", "input: 'a'"),
       "function 'NoIndex': there is no tensor 1 of output 'y' of node 's', only 1"},
      {"BadIndex", head + "'s:y:-1' }" + sqrt("s", "input: 'a'"),
       "function 'BadIndex': output 'b': 's:y:-1' is no tensor, expected 'argument' or 'node:output:number'"},
      {"NoArgument", head + "'a:1' }", "function 'NoArgument': there is no tensor 1 of argument 'a', only 1"},
      {"NoOp", head + "'s:y:0' } node_def { name: 's' op: 'Sqr' }", "function 'NoOp': node 's': node 's': unknown op"},
      {"ControlFirst", head + "'s:y:0' }" + sqrt("s", "input: '^a' input: 'a'"),
       "function 'ControlFirst': node 's': input 'a' follows a control input, expected control inputs last"},
      {"Placeholder", head + "'s:y:0' } node_def { name: 's' op: 'Sqrt' input: 'a' " + kT + "}",
       "function 'Placeholder': node 's': attr 'T': stands for the function's attr 'T', which the call does not give"},
      {"WrongType",
       head + "'s:y:0' } node_def { name: 's' op: 'Cast' input: 'a' attr { key: 'SrcT' value { type: DT_FLOAT } } attr "
              "{ key: 'DstT' value { type: DT_INT32 } } }",
       "function 'WrongType': the types of the results are not those of the signature"},
      {"Huge",
       head +
           "'a' } node_def { name: 'c' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: "
           "'value' value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 1000000000000 } } float_val: 1 } } } "
           "}",
       "function 'Huge': node 'c': attr 'value': a tensor of shape [1000000000000]"},
  };
  for (const Case& c : cases) {
    Define(std::string("signature { name: '") + c.name + "' " + c.rest);
    EXPECT_THAT(ErrorOf(Ref(c.name), {x_}), ::testing::StartsWith(c.error));
  }
}

}  // namespace
}  // namespace nabla

// Every registered op has all that belongs to one: a shape rule, a kernel, a row of cases or a test of its own, and a
// gradient or the word that it has none.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string>

#include "nabla/gradients/rule.h"
#include "nabla/graph/op_spec.h"
#include "nabla/runtime/kernel.h"
#include "nabla/tests/cases/checks.h"

namespace nabla {
namespace {

using Reasons = std::map<std::string, std::string>;

void Add(const std::string& reason, std::initializer_list<const char*> ops, Reasons* reasons) {
  for (const char* op : ops) (*reasons)[op] = reason;
}

void AddReferences(const std::string& reason, Reasons* reasons) {
  Add(reason, {"RefSwitch", "RefMerge", "RefEnter", "RefExit", "RefNextIteration"}, reasons);
}

void AddCalls(const std::string& reason, Reasons* reasons) {
  Add(reason, {"PartitionedCall", "StatefulPartitionedCall", "SymbolicGradient"}, reasons);
}

void AddFunctional(const std::string& reason, Reasons* reasons) {
  Add(reason, {"While", "StatelessWhile", "If", "StatelessIf", "Case", "StatelessCase"}, reasons);
}

Reasons WithoutKernel() {
  Reasons reasons;
  Add("loops and conditionals are jumps in a plan, see runtime/frame_planner.h",
      {"Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond", "ControlTrigger"}, &reasons);
  Add("no graph should end the program", {"Abort"}, &reasons);
  AddReferences("like their kin for values", &reasons);
  AddCalls("calls of functions are expanded before a run", &reasons);
  AddFunctional("lowered before a run", &reasons);
  return reasons;
}

// Ops that a row cannot describe, with the test that has them.
Reasons TestedElsewhere() {
  Reasons reasons;
  Add("tests/runtime/kernels/variable_kernels_test.cc",
      {"VarHandleOp",           "ReadVariableOp",          "AssignVariableOp",     "AssignAddVariableOp",
       "AssignSubVariableOp",   "VarIsInitializedOp",      "VariableShape",        "DestroyResourceOp",
       "ResourceGather",        "ResourceGatherNd",        "ResourceScatterAdd",   "ResourceScatterSub",
       "ResourceScatterMul",    "ResourceScatterDiv",      "ResourceScatterMin",   "ResourceScatterMax",
       "ResourceScatterUpdate", "ResourceScatterNdUpdate", "ResourceScatterNdAdd", "ResourceScatterNdSub",
       "ResourceScatterNdMin",  "ResourceScatterNdMax"},
      &reasons);
  for (const char* rule :
       {"GradientDescent", "Adam", "AdamWithAmsgrad", "AdaMax", "ProximalGradientDescent", "Momentum", "KerasMomentum",
        "Adagrad", "AdagradV2", "ProximalAdagrad", "Adadelta", "RMSProp", "CenteredRMSProp", "Ftrl", "FtrlV2"}) {
    for (const char* form : {"ResourceApply", "ResourceSparseApply"}) {
      const std::string op = std::string(form) + rule;
      if (OpRegistry::Global().Find(op) != nullptr) reasons[op] = "tests/runtime/kernels/training_kernels_test.cc";
    }
  }
  Add("tests/runtime/kernels/basic_kernels_test.cc", {"PrintV2", "Placeholder", "PlaceholderV2"}, &reasons);
  Add("tests/runtime/frames", {"Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond", "ControlTrigger"},
      &reasons);
  Add("tests/runtime/kernels/tensor_array_test.cc",
      {"TensorArrayV3", "TensorArrayGradV3", "TensorArrayGradWithShape", "TensorArraySizeV3", "TensorArrayCloseV3",
       "TensorArrayWriteV3", "TensorArrayReadV3", "TensorArrayGatherV3", "TensorArrayScatterV3", "TensorArrayConcatV3",
       "TensorArraySplitV3", "StackV2", "StackPushV2", "StackPopV2", "StackCloseV2"},
      &reasons);
  Add("tests/ops/op_defs_test.cc", {"Abort"}, &reasons);
  AddReferences("tests/ops/op_defs_test.cc: described for import, not run", &reasons);
  AddCalls("tests/gradients/function_gradients_test.cc", &reasons);
  AddFunctional("tests/gradients/golden_loop_gradients_test.cc", &reasons);
  return reasons;
}

Reasons WithoutGradient() {
  Reasons reasons;
  Add("the engine differentiates loops and conditionals as a whole",
      {"Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond"}, &reasons);
  AddReferences("references to variables occur in old files only", &reasons);
  Add("is expanded, and what it expands to has gradients", {"SymbolicGradient"}, &reasons);
  AddFunctional("lowered, and what they become has gradients", &reasons);
  return reasons;
}

class CompletenessTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { RegisterEverything(); }
};

TEST_F(CompletenessTest, EveryOpHasAShapeRule) {
  for (const OpSpec* op : OpRegistry::Global().All()) EXPECT_NE(op->shape_fn(), nullptr) << op->name();
}

// Each op either has it or stands in the list, and not both.
void ExpectAllButListed(const std::function<bool(const OpSpec& op)>& has, const Reasons& listed, const char* what) {
  for (const OpSpec* op : OpRegistry::Global().All()) {
    const auto reason = listed.find(op->name());
    if (reason == listed.end()) {
      EXPECT_TRUE(has(*op)) << op->name() << " has no " << what;
    } else {
      EXPECT_FALSE(has(*op)) << op->name() << " has a " << what << ", although: " << reason->second;
    }
  }
  for (const auto& [op, reason] : listed) EXPECT_NE(OpRegistry::Global().Find(op), nullptr) << op;
}

TEST_F(CompletenessTest, EveryOpHasAKernel) {
  ExpectAllButListed([](const OpSpec& op) { return KernelRegistry::Global().Has(op.name()); }, WithoutKernel(),
                     "kernel");
}

TEST_F(CompletenessTest, EveryOpHasARow) {
  std::set<std::string> with_rows;
  for (const OpCase& row : AllCases()) with_rows.insert(row.op);
  ExpectAllButListed([&](const OpSpec& op) { return with_rows.count(op.name()) > 0; }, TestedElsewhere(), "row");
}

TEST_F(CompletenessTest, EveryOpHasAGradientOrSaysThatItHasNone) {
  ExpectAllButListed([](const OpSpec& op) { return GradientRegistry::Global().Find(op.name()) != nullptr; },
                     WithoutGradient(), "gradient");
}

}  // namespace
}  // namespace nabla

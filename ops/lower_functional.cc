#include "nabla/ops/lower_functional.h"

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nabla/graph/call_expander.h"
#include "nabla/graph/capture.h"
#include "nabla/graph/function_shapes.h"
#include "nabla/graph/inline.h"
#include "nabla/graph/scope.h"
#include "nabla/graph/shape_inference.h"
#include "nabla/graph/status_macros.h"
#include "nabla/ops/branch_capture.h"
#include "nabla/ops/loop_builder.h"
#include "nabla/ops/ops.h"

namespace nabla {
namespace {

// Lets nodes without inputs wait for a node, so that they are in its frame and branch.
class WaitFor : public Capture {
 public:
  explicit WaitFor(Node* anchor) : anchor_(anchor) {}
  absl::StatusOr<Output> CaptureInput(Output source) override { return source; }
  absl::StatusOr<Node*> CaptureControl(Node* source) override { return source; }
  void Added(Node* node, bool innermost) override {
    if (innermost && node->num_inputs() == 0) node->graph()->AddControlEdge(anchor_, node);
  }

 private:
  Node* anchor_;
};

// Nodes named "<node>/…", which wait for what `node` waits for, placed as it is.
Scope ScopeOf(Node* node, bool among_control_flow) {
  Scope scope =
      Scope(node->graph()).Absolute(node->name()).WithControl(node->control_inputs()).WithDevice(node->device());
  if (node->num_inputs() == 0 || !among_control_flow) return scope;
  const Output entered = ops::Identity(scope.Named("entered"), node->input(0));
  return entered ? scope.WithCapture(std::make_shared<WaitFor>(entered.node())) : scope;
}

bool IsStateful(const Node& node) { return node.spec().is_stateful(); }

// What `cond` of While and If means as a bool.
Output AsPredicate(const Scope& scope, Output condition) {
  if (condition.dtype() == DType::kBool && condition.shape().IsScalar()) return condition;
  if (condition.dtype() == DType::kBool && !condition.shape().has_rank()) return condition;
  if (condition.shape().has_rank() && condition.shape().rank() > 0) {
    return ops::Greater(scope, ops::Size(scope, condition), 0);
  }
  if (condition.dtype() == DType::kString) return ops::NotEqual(scope, condition, "");
  return ops::NotEqual(scope, condition, ops::Const(scope, 0, condition.dtype()));
}

Node* Call(const Scope& scope, bool stateful, const FunctionRef& function, const Outputs& arguments,
           std::vector<DType> results) {
  return NodeBuilder(scope, stateful ? "StatefulPartitionedCall" : "PartitionedCall")
      .InputList(arguments)
      .Attr("f", function)
      .Attr("Tout", std::move(results))
      .Finish();
}

Outputs AllOutputs(Node* node) {
  Outputs outputs;
  for (int i = 0; node != nullptr && i < node->num_outputs(); ++i) outputs.push_back(node->output(i));
  return outputs;
}

Outputs InputsFrom(const Node& node, int first) {
  Outputs inputs;
  for (int i = first; i < node.num_inputs(); ++i) inputs.push_back(node.input(i));
  return inputs;
}

// Makes the node what hands on `results`; if there are none, what waits for `done`.
absl::Status Replace(Node* node, const Outputs& results, Output done) {
  NodeDesc desc;
  desc.inputs = results;
  if (results.empty()) {
    desc.op = "NoOp";
    desc.control_inputs = {done.node()};
  } else if (results.size() == 1) {
    desc.op = "Identity";
    desc.attrs.Set("T", results[0].dtype());
  } else {
    std::vector<DType> types;
    for (Output result : results) types.push_back(result.dtype());
    desc.op = "IdentityN";
    desc.attrs.Set("T", std::move(types));
  }
  return node->graph()->Morph(node, std::move(desc));
}

absl::Status ExpandWhile(Graph* graph, Node* node, bool among_control_flow) {
  const Scope scope = ScopeOf(node, among_control_flow);
  const int count = node->num_inputs();
  const Outputs initial = InputsFrom(*node, 0);
  const std::vector<Shape> shapes = WhileShapes(ShapeContext(node->spec(), node->attrs(), initial, count, graph));
  const bool stateful = IsStateful(*node);
  LoopBuilder loop(scope, "while", node->GetAttr<int64_t>("parallel_iterations"));
  Outputs entering, inside;
  for (int i = 0; i < count; ++i) {
    loop.AddVariable(initial[i], shapes[i]);
    entering.push_back(loop.Entering(i));
  }
  // A loop that is run for its effects only still needs something to go round.
  const int last = count > 0 ? 0 : loop.AddVariable(ops::Const(scope, Tensor::Scalar(true)), Shape::Scalar());
  Node* condition = Call(loop.condition(), stateful, node->GetAttr<FunctionRef>("cond"), entering, {DType::kBool});
  if (condition != nullptr) loop.SetCondition(AsPredicate(loop.condition(), condition->output(0)));
  NABLA_RETURN_IF_ERROR(scope.status());
  for (int i = 0; i < count; ++i) inside.push_back(loop.Inside(i));
  Node* body =
      Call(loop.body(), stateful, node->GetAttr<FunctionRef>("body"), inside, node->GetAttr<std::vector<DType>>("T"));
  NABLA_RETURN_IF_ERROR(scope.status());
  Outputs results;
  for (int i = 0; i < count; ++i) {
    loop.SetNext(i, body->output(i));
    results.push_back(loop.Exit(i));
  }
  if (count == 0) loop.SetNext(last, ops::Identity(loop.body().WithControl({body}), loop.Inside(last)));
  const Output done = loop.Exit(last);
  NABLA_RETURN_IF_ERROR(scope.status());
  return Replace(node, results, done);
}

// The results of one of two branches, and last a tensor that is there when the branch has run.
using BranchBuilder = std::function<Outputs(const Scope& scope)>;
Outputs Choose(const Scope& scope, Output predicate, const BranchBuilder& then, const BranchBuilder& otherwise) {
  Outputs sides[2];
  for (const bool side : {false, true}) {
    const Scope branch = scope.WithCapture(std::make_shared<BranchCapture>(scope, predicate, side)).WithoutControl();
    sides[side] = (side ? then : otherwise)(branch);
  }
  Outputs results;
  for (size_t i = 0; i < sides[0].size() && i < sides[1].size(); ++i) {
    results.push_back(ops::Merge(scope, {sides[0][i], sides[1][i]}).output);
  }
  return results;
}

// Calls a branch's function in the branch.
Outputs CallBranch(const Scope& branch, Node* node, const FunctionRef& function, Output predicate) {
  Node* call =
      Call(branch, IsStateful(*node), function, InputsFrom(*node, 1), node->GetAttr<std::vector<DType>>("Tout"));
  if (call == nullptr) return {};
  Outputs results = AllOutputs(call);
  for (Output& result : results) result = ops::Identity(branch, result);
  results.push_back(ops::Identity(branch.WithControl({call}), predicate));
  return results;
}

absl::Status ReplaceByBranches(const Scope& scope, Node* node, Outputs results) {
  NABLA_RETURN_IF_ERROR(scope.status());
  const Output done = results.back();
  results.pop_back();
  for (size_t i = 0; i < results.size(); ++i) {
    NABLA_RETURN_IF_ERROR(node->graph()->RefineShape(results[i], node->output_shape(static_cast<int>(i))));
  }
  return Replace(node, results, done);
}

absl::Status ExpandIf(Graph*, Node* node, bool among_control_flow) {
  const Scope scope = ScopeOf(node, among_control_flow);
  const Output predicate = AsPredicate(scope, node->input(0));
  const auto branch = [&](const char* attr) {
    return [=](const Scope& s) { return CallBranch(s, node, node->GetAttr<FunctionRef>(attr), predicate); };
  };
  return ReplaceByBranches(scope, node, Choose(scope, predicate, branch("then_branch"), branch("else_branch")));
}

// A chain of conditionals would be as deep as there are branches; halving keeps it at the logarithm.
Outputs ChooseAmong(const Scope& scope, Node* node, Output index, size_t first, size_t end) {
  const auto& branches = node->GetAttr<std::vector<FunctionRef>>("branches");
  if (end - first == 1) return CallBranch(scope, node, branches[first], index);
  const size_t middle = first + (end - first) / 2;
  const Output before = ops::Less(scope, index, static_cast<int64_t>(middle));
  return Choose(
      scope, before, [&](const Scope& s) { return ChooseAmong(s, node, index, first, middle); },
      [&](const Scope& s) { return ChooseAmong(s, node, index, middle, end); });
}

absl::Status ExpandCase(Graph*, Node* node, bool among_control_flow) {
  const int64_t last = static_cast<int64_t>(node->GetAttr<std::vector<FunctionRef>>("branches").size()) - 1;
  // Each branch takes in all inputs.
  if ((last + 1) * node->num_inputs() > kMaxExpandedNodes) {
    return absl::ResourceExhaustedError(absl::StrCat("has ", last + 1, " branches for ", node->num_inputs(),
                                                     " inputs, which expand to more than ", kMaxExpandedNodes,
                                                     " nodes"));
  }
  const Scope scope = ScopeOf(node, among_control_flow);
  // An index that names no branch counts as the last.
  const Output index = node->input(0);
  const Output named = ops::LogicalAnd(scope, ops::GreaterEqual(scope, index, 0), ops::LessEqual(scope, index, last));
  const Output valid = ops::SelectV2(scope, named, index, last);
  return ReplaceByBranches(scope, node, ChooseAmong(scope, node, valid, 0, static_cast<size_t>(last) + 1));
}

}  // namespace

void RegisterFunctionalLowering() {
  static std::once_flag once;
  std::call_once(once, [] {
    CallExpanders& expanders = CallExpanders::Global();
    for (const char* stateful : {"", "Stateless"}) {
      expanders.Add(absl::StrCat(stateful, "While"), ExpandWhile);
      expanders.Add(absl::StrCat(stateful, "If"), ExpandIf);
      expanders.Add(absl::StrCat(stateful, "Case"), ExpandCase);
    }
  });
}

}  // namespace nabla

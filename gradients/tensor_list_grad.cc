// Gradients of lists. The gradient of a list is a list of the same length that has each element's gradient; elements
// that are not set stand for zeros, so that no rule makes zeros that nobody reads. For that, every rule that reads a
// list of gradients gives the elements' shape, and none reads a forward value where the gradient would tell as much.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "nabla/gradients/loop_counter.h"
#include "nabla/gradients/registration.h"
#include "nabla/gradients/rule_util.h"
#include "nabla/graph/branch_contexts.h"
#include "nabla/graph/constant_value.h"
#include "nabla/graph/control_flow.h"

namespace nabla {
namespace {

// As an operand: elements of any shape.
constexpr int kAnyShape = -1;
// What made a list is looked at no further back.
constexpr size_t kMaxListNodes = 200;

bool IsContinuous(DType dtype) { return IsFloating(dtype) || IsComplex(dtype) || dtype == DType::kVariant; }

// A list of `length` elements that are not set.
Output ZeroList(const Scope& scope, DType element_dtype, Input length) {
  return ops::TensorListReserve(scope, kAnyShape, std::move(length), element_dtype);
}

// The shape of the slices of x along its first dimension.
Input RowShape(const Scope& scope, Output x) {
  const Shape& shape = x.shape();
  if (!shape.IsFullyDefined()) return SliceRows(ops::Shape(scope, x), 1, INT64_MAX);
  return Input(Shape(shape.dims().subspan(1)));
}

// The shape of parts of x along its first dimension, which differ in that one.
Input PartShape(const Scope& scope, Output x) {
  const Shape& shape = x.shape();
  if (!shape.IsFullyDefined()) return ops::ConcatV2(scope, {{-1}, RowShape(scope, x)}, 0);
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  dims[0] = -1;
  return dims;
}

// A number for the attr num_elements.
int64_t NumRows(Output x) { return x.shape().rank() > 0 ? x.shape().dim(0) : kUnknownDim; }

// The graph shows that no index occurs twice.
bool AreDistinct(Output indices) {
  const absl::optional<Tensor> value = ConstantValue(indices);
  if (!value.has_value() || value->dtype() != DType::kInt32) return false;
  std::vector<int32_t> sorted(value->flat<int32_t>().begin(), value->flat<int32_t>().end());
  std::sort(sorted.begin(), sorted.end());
  return std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
}

Grads PushBackGrad(RuleContext& c) {
  Output tensor = c.input(1);
  auto [list, last] = ops::TensorListPopBack(c.scope(), c.grad(0), ShapeOperand(c.scope(), tensor), tensor.dtype());
  return {list, IsContinuous(tensor.dtype()) ? Gradient(last) : Gradient()};
}

Grads PopBackGrad(RuleContext& c) {
  const Scope& scope = c.scope();
  const DType dtype = c.output(1).dtype();
  if (!c.has_grad(1) && dtype == DType::kVariant) {
    // Whoever pops from a list of lists needs to find lists, as long as the forward ones.
    return {ops::TensorListPushBack(scope, c.grad(0), ops::ZerosLike(scope, c.output(1))), Gradient()};
  }
  if (!c.has_grad(1)) {
    // One element more, which stays zero.
    return {ops::TensorListResize(scope, c.grad(0), ops::TensorListLength(scope, c.grad(0)) + 1), Gradient()};
  }
  Output list = c.has_grad(0) || dtype == DType::kVariant
                    ? c.grad(0)
                    : ZeroList(scope, dtype, ops::TensorListLength(scope, c.output(0)));
  return {ops::TensorListPushBack(scope, list, c.grad(1)), Gradient()};
}

Grads PushBackBatchGrad(RuleContext& c) {
  const Scope& scope = c.scope();
  const int64_t count = c.output(0).shape().DimFromEnd(1);
  if (count == kUnknownDim) {
    return c.Fail(
        absl::UnimplementedError("the number of lists must be known to differentiate TensorListPushBackBatch"));
  }
  Output tensor = c.input(1);
  Inputs lists, rows;
  for (Output list : ops::Unpack(scope, c.grad(0), count)) {
    auto [rest, last] = ops::TensorListPopBack(scope, list, RowShape(scope, tensor), tensor.dtype());
    lists.push_back(rest);
    rows.push_back(last);
  }
  if (lists.empty()) return {c.grad(0), ops::ZerosLike(scope, tensor)};
  return {ops::Pack(scope, lists), IsContinuous(tensor.dtype()) ? Gradient(ops::Pack(scope, rows)) : Gradient()};
}

Grads GetItemGrad(RuleContext& c) {
  const Scope& scope = c.scope();
  const DType dtype = c.output(0).dtype();
  Output zeros = dtype == DType::kVariant ? ops::ZerosLike(scope, c.input(0))
                                          : ZeroList(scope, dtype, ops::TensorListLength(scope, c.input(0)));
  return {ops::TensorListSetItem(scope, zeros, c.input(1), c.grad(0)), Gradient(), Gradient()};
}

// The loop variable whose value in the body `tensor` is; without nodes if it is none.
LoopVariable VariableOf(Output tensor) {
  tensor = BehindIdentities(tensor);
  LoopVariable variable;
  if (!IsSwitch(*tensor.node()) || tensor.index() != 1) return {};
  variable.switch_node = tensor.node();
  variable.merge = BehindIdentities(tensor.node()->input(0)).node();
  if (!IsMerge(*variable.merge)) return {};
  for (int i = 0; i < variable.merge->num_inputs(); ++i) {
    Node* const source = variable.merge->input(i).node();
    if (source != nullptr && IsEnter(*source)) variable.enter = source;
    if (source != nullptr && IsNextIteration(*source)) variable.next_iteration = source;
  }
  return variable.enter == nullptr || variable.next_iteration == nullptr ? LoopVariable() : variable;
}

// Each trip of a loop sets another element of a list that had none before, as loops do that collect their results.
bool SetsEachElementOnce(Node* set_item) {
  const LoopVariable list = VariableOf(set_item->input(0)), index = VariableOf(set_item->input(1));
  if (list.merge == nullptr || index.merge == nullptr) return false;
  if (list.switch_node->input(1) != index.switch_node->input(1)) return false;
  if (BehindIdentities(list.enter->input(0)).node()->op() != "TensorListReserve") return false;
  const absl::optional<LoopCounter> counter = AsCounter(index);
  return counter && counter->step != 0 && BehindIdentities(list.next_iteration->input(0)) == set_item->output(0);
}

// The graph shows that all elements of the list that are set have one shape, which is that of what is set now, `item`.
bool ElementsLookLike(Output list, const Shape& item) {
  bool same_items = item.IsFullyDefined();
  bool same_by_declaration = true;
  const auto declared = [&](Output element_shape) {
    const absl::optional<Tensor> value = ConstantValue(element_shape);
    same_by_declaration = same_by_declaration && value && value->shape().rank() == 1;
    for (int64_t i = 0; same_by_declaration && i < value->num_elements(); ++i) {
      same_by_declaration =
          (value->dtype() == DType::kInt32 ? value->data<int32_t>()[i] : value->data<int64_t>()[i]) >= 0;
    }
  };
  std::vector<Output> stack = {list};
  absl::flat_hash_set<const Node*> seen;
  while (!stack.empty() && (same_items || same_by_declaration)) {
    const Output tensor = stack.back();
    Node* const node = tensor.node();
    stack.pop_back();
    if (!seen.insert(node).second) continue;
    if (seen.size() > kMaxListNodes) return false;
    const std::string& op = node->op();
    if (op == "TensorListReserve" || op == "EmptyTensorList") {
      declared(node->input(0));
    } else if (op == "TensorListFromTensor") {
      declared(node->input(1));
      const Shape& rows = node->input(0).shape();
      same_items = same_items && rows.rank() > 0 && Shape(rows.dims().subspan(1)) == item;
    } else if (op == "TensorListSetItem" || op == "TensorListPushBack") {
      same_items = same_items && node->input(node->num_inputs() - 1).shape() == item;
      stack.push_back(node->input(0));
    } else if (op == "TensorListResize" || (op == "TensorListPopBack" && tensor.index() == 0) || op == "Identity" ||
               IsSwitch(*node) || IsEnter(*node) || IsExit(*node) || IsNextIteration(*node)) {
      stack.push_back(node->input(0));
    } else if (IsMerge(*node)) {
      for (int i = 0; i < node->num_inputs(); ++i) stack.push_back(node->input(i));
    } else {
      return false;
    }
  }
  return same_items || same_by_declaration;
}

// A tensor of the shape that the element had which SetItem overwrites; of the item's, if that element was not set.
Output Overwritten(RuleContext& c, Output item_grad) {
  const Scope& scope = c.scope();
  Node* const op = c.op();
  const DType dtype = item_grad.dtype();
  if (dtype == DType::kVariant || SetsEachElementOnce(op) || ElementsLookLike(op->input(0), op->input(2).shape())) {
    return item_grad;
  }
  Output list = c.input(0);
  if (c.attr<bool>("resize_if_index_out_of_bounds")) {
    list = ops::TensorListResize(scope, list, ops::TensorListLength(scope, c.grad(0)));
  }
  // What the graph may not take for the shape of an element that was set.
  Output if_not_set = ops::PlaceholderWithDefault(scope, ops::Shape(scope, item_grad), Shape());
  return ops::TensorListGetItem(scope, list, c.input(1), if_not_set, dtype);
}

Grads SetItemGrad(RuleContext& c) {
  const Scope& scope = c.scope();
  Output index = c.input(1), item = c.input(2);
  Output item_grad = ops::TensorListGetItem(scope, c.grad(0), index, ShapeOperand(scope, item), item.dtype());
  Gradient list_grad;
  if (c.needs_input_grad(0)) {
    Output list = ops::TensorListSetItem(scope, c.grad(0), index, ops::ZerosLike(scope, Overwritten(c, item_grad)));
    if (c.attr<bool>("resize_if_index_out_of_bounds")) {
      list = ops::TensorListResize(scope, list, ops::TensorListLength(scope, c.input(0)));
    }
    list_grad = list;
  }
  return {list_grad, Gradient(), IsContinuous(item.dtype()) ? Gradient(item_grad) : Gradient()};
}

Grads StackGrad(RuleContext& c) { return {ops::TensorListFromTensor(c.scope(), c.grad(0), c.input(1)), Gradient()}; }

Grads FromTensorGrad(RuleContext& c) {
  Output tensor = c.input(0);
  if (!IsContinuous(tensor.dtype())) return {Gradient(), Gradient()};
  return {ops::TensorListStack(c.scope(), c.grad(0), RowShape(c.scope(), tensor), tensor.dtype(),
                               {.num_elements = NumRows(tensor)}),
          Gradient()};
}

Grads ConcatGrad(RuleContext& c) {
  Input element_shape = kAnyShape;
  return {ops::TensorListSplit(c.scope(), c.grad(0), element_shape, c.output(1))};
}

Grads ConcatV2Grad(RuleContext& c) {
  return {ops::TensorListSplit(c.scope(), c.grad(0), c.input(1), c.output(1)), Gradient(), Gradient()};
}

Grads SplitGrad(RuleContext& c) {
  const Scope& scope = c.scope();
  Output tensor = c.input(0), lengths = c.input(2);
  if (!IsContinuous(tensor.dtype())) return {Gradient(), Gradient(), Gradient()};
  return {ops::TensorListConcatV2(scope, c.grad(0), PartShape(scope, tensor), lengths, tensor.dtype()).tensor,
          Gradient(), Gradient()};
}

Grads GatherGrad(RuleContext& c) {
  const Scope& scope = c.scope();
  Output indices = c.input(1), element_shape = c.input(2), dy = c.grad(0);
  Output length = ops::TensorListLength(scope, c.input(0));
  if (AreDistinct(indices)) {
    return {ops::TensorListScatterV2(scope, dy, indices, element_shape, length), Gradient(), Gradient()};
  }
  if (dy.dtype() == DType::kVariant) {
    return c.Fail(absl::UnimplementedError("lists gathered from a list at indices that may repeat have no gradient"));
  }
  Output sums = ops::UnsortedSegmentSum(scope, dy, indices, length);
  return {ops::TensorListFromTensor(scope, sums, element_shape), Gradient(), Gradient()};
}

// The gradient of the tensor whose rows went to `indices` of a list with gradient `list_grad`: none for rows that a
// later one with the same index overwrote.
Output ScatteredGrad(const Scope& scope, Output list_grad, Output tensor, Output indices) {
  Output rows = ops::TensorListGather(scope, list_grad, indices, RowShape(scope, tensor), tensor.dtype());
  if (AreDistinct(indices) || tensor.dtype() == DType::kVariant) return rows;
  // Row numbers that go the same way show who is there in the end.
  Output numbers = ops::Range(scope, 0, ops::Size(scope, indices), 1);
  const Input scalar = Tensor(DType::kInt32, {0});
  Output winners = ops::TensorListGather(scope, ops::TensorListScatter(scope, numbers, indices, scalar), indices,
                                         scalar, DType::kInt32);
  return ops::Select(scope, ops::Equal(scope, numbers, winners), rows, ops::ZerosLike(scope, rows));
}

Grads ScatterGrad(RuleContext& c) {
  Grads grads(c.num_inputs());
  if (IsContinuous(c.input(0).dtype())) grads[0] = ScatteredGrad(c.scope(), c.grad(0), c.input(0), c.input(1));
  return grads;
}

Grads ScatterIntoGrad(RuleContext& c) {
  const Scope& scope = c.scope();
  Output tensor = c.input(1), indices = c.input(2);
  Output tensor_grad = ScatteredGrad(scope, c.grad(0), tensor, indices);
  Gradient list_grad;
  if (c.needs_input_grad(0)) {
    Output list = ops::TensorListScatterIntoExistingList(scope, c.grad(0), ops::ZerosLike(scope, tensor_grad), indices);
    // The rows may have made the list longer.
    list_grad = ops::TensorListResize(scope, list, ops::TensorListLength(scope, c.input(0)));
  }
  return {list_grad, IsContinuous(tensor.dtype()) ? Gradient(tensor_grad) : Gradient(), Gradient()};
}

Grads ResizeGrad(RuleContext& c) {
  const Scope& scope = c.scope();
  return {ops::TensorListResize(scope, c.grad(0), ops::TensorListLength(scope, c.input(0))), Gradient()};
}

Grads ConcatListsGrad(RuleContext& c) {
  const Scope& scope = c.scope();
  if (!c.output(0).shape().IsScalar()) {
    return c.Fail(absl::UnimplementedError("only two lists, not tensors of lists, can be differentiated through"));
  }
  const DType dtype = c.attr<DType>("element_dtype");
  Output first = c.input(0), second = c.input(1);
  Output length = ops::TensorListLength(scope, first);
  Grads grads = {ops::TensorListResize(scope, c.grad(0), length), Gradient()};
  if (c.needs_input_grad(1)) {
    // What is behind the first list's elements. They must have one shape to be brought over.
    Output indices = ops::Range(scope, length, ops::TensorListLength(scope, c.grad(0)), 1);
    Output shape = ops::TensorListElementShape(scope, second, DType::kInt32);
    grads[1] = ops::TensorListFromTensor(scope, ops::TensorListGather(scope, c.grad(0), indices, shape, dtype), shape);
  }
  return grads;
}

}  // namespace

void RegisterTensorListGradients(GradientRegistry& registry) {
  registry.NotDifferentiable({"EmptyTensorList", "TensorListReserve", "TensorListLength", "TensorListElementShape"});
  registry.Add("TensorListPushBack", PushBackGrad);
  registry.Add("TensorListPopBack", PopBackGrad);
  registry.Add("TensorListPushBackBatch", PushBackBatchGrad);
  registry.Add("TensorListGetItem", GetItemGrad);
  registry.Add("TensorListSetItem", SetItemGrad);
  registry.Add("TensorListStack", StackGrad);
  registry.Add("TensorListFromTensor", FromTensorGrad);
  registry.Add("TensorListConcat", ConcatGrad);
  registry.Add("TensorListConcatV2", ConcatV2Grad);
  registry.Add("TensorListSplit", SplitGrad);
  registry.Add("TensorListGather", GatherGrad);
  registry.Add("TensorListScatter", ScatterGrad);
  registry.Add("TensorListScatterV2", ScatterGrad);
  registry.Add("TensorListScatterIntoExistingList", ScatterIntoGrad);
  registry.Add("TensorListResize", ResizeGrad);
  registry.Add("TensorListConcatLists", ConcatListsGrad);
}

}  // namespace nabla

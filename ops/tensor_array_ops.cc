// Arrays and stacks of tensors that live while a graph runs: how loops written for TensorFlow 1 collect values, and how
// their gradients find them again. A `flow` is a scalar whose value means nothing; it says in which order the ops on an
// array happen. New graphs use lists (tensor_list_ops.cc), which are values.
#include <string>

#include "absl/strings/str_cat.h"
#include "nabla/ops/registration.h"
#include "nabla/ops/rule_util.h"

namespace nabla {
namespace {

constexpr char kHandle[] = "handle: of TensorArrayV3 or TensorArrayGradV3. flow_in: what must happen before.";

// Handles have the shape of what they were once, a container's name and a resource's, as TensorFlow still says.
const Shape& HandleShape() {
  static const auto* const shape = new Shape({2});
  return *shape;
}

// Input 0 is a handle, the other inputs named are scalars.
absl::Status CheckInputs(const ShapeContext& c, std::initializer_list<int> scalars) {
  if (!c.input(0).IsCompatibleWith(HandleShape())) {
    return absl::InvalidArgumentError(
        absl::StrCat("handle has shape ", c.input(0).ToString(), ", expected ", HandleShape().ToString()));
  }
  for (const int i : scalars) NABLA_RETURN_IF_ERROR(c.InputOfRank(i, 0).status());
  return absl::OkStatus();
}

// A handle and, for an array, a flow, made from a scalar size.
absl::Status MakeShape(ShapeContext& c) {
  NABLA_RETURN_IF_ERROR(c.InputOfRank(0, 0).status());
  c.SetOutput(0, HandleShape());
  if (c.num_outputs() > 1) c.SetOutput(1, Shape::Scalar());
  return absl::OkStatus();
}

// Of TensorArrayGradWithShape, too.
absl::Status GradShape(ShapeContext& c) {
  NABLA_RETURN_IF_ERROR(CheckInputs(c, {1}));
  if (c.num_inputs() > 2) NABLA_RETURN_IF_ERROR(c.InputOfRank(2, 1).status());
  c.SetOutput(0, HandleShape());
  c.SetOutput(1, Shape::Scalar());
  return absl::OkStatus();
}

absl::Status CloseShape(ShapeContext& c) { return CheckInputs(c, {}); }

absl::Status SizeShape(ShapeContext& c) {
  NABLA_RETURN_IF_ERROR(CheckInputs(c, {1}));
  return ScalarShape(c);
}

absl::Status WriteShape(ShapeContext& c) {
  NABLA_RETURN_IF_ERROR(CheckInputs(c, {1, 3}));
  return ScalarShape(c);
}

absl::Status ReadShape(ShapeContext& c) {
  NABLA_RETURN_IF_ERROR(CheckInputs(c, {1, 2}));
  c.SetOutput(0, Shape());
  return absl::OkStatus();
}

absl::Status ArrayGatherShape(ShapeContext& c) {
  NABLA_RETURN_IF_ERROR(CheckInputs(c, {2}));
  NABLA_ASSIGN_OR_RETURN(const Shape indices, c.InputOfRank(1, 1));
  return SetCheckedOutput(c, 0, ConcatShapes(indices, c.attr<Shape>("element_shape")));
}

absl::Status ArrayScatterShape(ShapeContext& c) {
  NABLA_RETURN_IF_ERROR(CheckInputs(c, {3}));
  NABLA_ASSIGN_OR_RETURN(const Shape indices, c.InputOfRank(1, 1));
  NABLA_ASSIGN_OR_RETURN(const Shape value, c.InputOfRankAtLeast(2, 1));
  if (value.has_rank() && !Shape({value.dim(0)}).IsCompatibleWith(indices)) {
    return absl::InvalidArgumentError(
        absl::StrCat("indices has ", indices.dim(0), " elements, but value has shape ", value.ToString()));
  }
  return ScalarShape(c);
}

absl::Status ArrayConcatShape(ShapeContext& c) {
  NABLA_RETURN_IF_ERROR(CheckInputs(c, {1}));
  c.SetOutput(1, Shape({kUnknownDim}));
  return SetCheckedOutput(c, 0, ConcatShapes(Shape({kUnknownDim}), c.attr<Shape>("element_shape_except0")));
}

absl::Status ArraySplitShape(ShapeContext& c) {
  NABLA_RETURN_IF_ERROR(CheckInputs(c, {3}));
  NABLA_RETURN_IF_ERROR(c.InputOfRankAtLeast(1, 1).status());
  NABLA_RETURN_IF_ERROR(c.InputOfRank(2, 1).status());
  return ScalarShape(c);
}

// Push gives back what it got.
absl::Status PushShape(ShapeContext& c) {
  NABLA_RETURN_IF_ERROR(CheckInputs(c, {}));
  c.SetOutput(0, c.input(1));
  return absl::OkStatus();
}

absl::Status PopShape(ShapeContext& c) {
  NABLA_RETURN_IF_ERROR(CheckInputs(c, {}));
  c.SetOutput(0, Shape());
  return absl::OkStatus();
}

void RegisterArrays(OpRegistry& registry) {
  registry.Add("TensorArrayV3")
      .Input("size: int32")
      .Output("handle: resource")
      .Output("flow: float")
      .Attr("dtype: type")
      .Attr("element_shape: shape = {unknown_rank: true}")
      .Attr("dynamic_size: bool = false")
      .Attr("clear_after_read: bool = true")
      .Attr("identical_element_shapes: bool = false")
      .Attr("tensor_array_name: string = ''")
      .Stateful()
      .Doc(R"(An array of tensors, each of which is written once; a new one in every execution.

size: a scalar, the number of elements.
element_shape: what every element must fit. identical_element_shapes: all have the shape of the first.
dynamic_size: writing past the end makes the array longer.
clear_after_read: an element is gone after it was read.
tensor_array_name: for messages.
No gradient: that of the array is another array, see TensorArrayGradV3.)")
      .Shape(MakeShape);

  const std::string grad = R"(The array of the gradients of an array's elements, made when it is first asked for.

source: arrays of different sources differ, so that several gradients can be computed of one graph.
)";
  registry.Add("TensorArrayGradV3")
      .Input("handle: resource")
      .Input("flow_in: float")
      .Output("grad_handle: resource")
      .Output("flow_out: float")
      .Attr("source: string")
      .Stateful()
      .Doc(grad +
           "grad_handle: an array as long as the other is then. What is written to one element adds up, and "
           "elements that were never written are zeros.\n" +
           kHandle)
      .Shape(GradShape);

  registry.Add("TensorArrayGradWithShape")
      .Input("handle: resource")
      .Input("flow_in: float")
      .Input("shape_to_prepend: int32")
      .Output("grad_handle: resource")
      .Output("flow_out: float")
      .Attr("source: string")
      .Stateful()
      .Doc(grad +
           "grad_handle: an array whose elements have the shape shape_to_prepend + that of the other's elements.\n" +
           kHandle)
      .Shape(GradShape);

  registry.Add("TensorArraySizeV3")
      .Input("handle: resource")
      .Input("flow_in: float")
      .Output("size: int32")
      .Stateful()
      .Doc(absl::StrCat("The number of an array's elements. No gradient.\n\n", kHandle))
      .Shape(SizeShape);

  registry.Add("TensorArrayCloseV3")
      .Input("handle: resource")
      .Stateful()
      .Doc("Gives the memory of an array's elements back; nothing may be read or written afterwards. No gradient.")
      .Shape(CloseShape);
}

void RegisterElements(OpRegistry& registry) {
  registry.Add("TensorArrayWriteV3")
      .Input("handle: resource")
      .Input("index: int32")
      .Input("value: T")
      .Input("flow_in: float")
      .Output("flow_out: float")
      .Attr("T: type")
      .Stateful()
      .Doc(absl::StrCat(R"(Writes one element.

index: a scalar, at least 0 and within the array unless that may grow.
Gradient: for `value`, the element of the gradient array.
)",
                        kHandle))
      .Shape(WriteShape);

  registry.Add("TensorArrayReadV3")
      .Input("handle: resource")
      .Input("index: int32")
      .Input("flow_in: float")
      .Output("value: dtype")
      .Attr("dtype: type")
      .Stateful()
      .Doc(absl::StrCat(R"(Reads one element; zeros if it was never written and its shape is known.

index: a scalar, at least 0.
Gradient: is written to the gradient array.
)",
                        kHandle))
      .Shape(ReadShape);

  registry.Add("TensorArrayGatherV3")
      .Input("handle: resource")
      .Input("indices: int32")
      .Input("flow_in: float")
      .Output("value: dtype")
      .Attr("dtype: type")
      .Attr("element_shape: shape = {unknown_rank: true}")
      .Stateful()
      .Doc(absl::StrCat(R"(Reads some elements, stacked along a new first dimension.

indices: a vector. element_shape: what the elements fit.
Gradient: is scattered to the gradient array.
)",
                        kHandle))
      .Shape(ArrayGatherShape);

  registry.Add("TensorArrayScatterV3")
      .Input("handle: resource")
      .Input("indices: int32")
      .Input("value: T")
      .Input("flow_in: float")
      .Output("flow_out: float")
      .Attr("T: type")
      .Stateful()
      .Doc(absl::StrCat(R"(Writes the slices of a tensor along its first dimension to some elements.

indices: a vector, one for each slice.
Gradient: for `value`, the gathered elements of the gradient array.
)",
                        kHandle))
      .Shape(ArrayScatterShape);

  registry.Add("TensorArrayConcatV3")
      .Input("handle: resource")
      .Input("flow_in: float")
      .Output("value: dtype")
      .Output("lengths: int64")
      .Attr("dtype: type")
      .Attr("element_shape_except0: shape = {unknown_rank: true}")
      .Stateful()
      .Doc(absl::StrCat(R"(Reads all elements, one after the other along their first dimension.

element_shape_except0: what the elements' shapes without their first dimension fit.
lengths: each element's size along it.
Gradient: is split to the gradient array.
)",
                        kHandle))
      .Shape(ArrayConcatShape);

  registry.Add("TensorArraySplitV3")
      .Input("handle: resource")
      .Input("value: T")
      .Input("lengths: int64")
      .Input("flow_in: float")
      .Output("flow_out: float")
      .Attr("T: type")
      .Stateful()
      .Doc(absl::StrCat(R"(Writes the parts of a tensor along its first dimension to all elements.

lengths: a vector, as many as the array has elements, unless that may grow; they add up to value's first dimension.
Gradient: for `value`, the concatenated elements of the gradient array.
)",
                        kHandle))
      .Shape(ArraySplitShape);
}

void RegisterStacks(OpRegistry& registry) {
  registry.Add("StackV2")
      .Input("max_size: int32")
      .Output("handle: resource")
      .Attr("elem_type: type")
      .Attr("stack_name: string = ''")
      .Stateful()
      .Doc(R"(A stack of tensors; a new one in every execution.

max_size: a scalar, how many it may hold; negative for any number.
stack_name: for messages. No gradient.)")
      .Shape(MakeShape);

  registry.Add("StackPushV2")
      .Input("handle: resource")
      .Input("elem: T")
      .Output("output: T")
      .Attr("T: type")
      .Attr("swap_memory: bool = false")
      .Stateful()
      .Doc(R"(Puts a tensor on a stack.

output: the tensor itself. swap_memory: of no effect on a CPU. No gradient.)")
      .Shape(PushShape);

  registry.Add("StackPopV2")
      .Input("handle: resource")
      .Output("elem: elem_type")
      .Attr("elem_type: type")
      .Stateful()
      .Doc("Takes the tensor that was pushed last off a stack. No gradient.")
      .Shape(PopShape);

  registry.Add("StackCloseV2")
      .Input("handle: resource")
      .Stateful()
      .Doc("Gives the memory of a stack's tensors back. No gradient.")
      .Shape(CloseShape);
}

}  // namespace

void RegisterTensorArrayOps(OpRegistry& registry) {
  RegisterArrays(registry);
  RegisterElements(registry);
  RegisterStacks(registry);
}

}  // namespace nabla

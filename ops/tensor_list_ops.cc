// Lists of tensors: values of dtype variant that grow and shrink as a graph runs. What a loop must remember from trip
// to trip is kept in one.
#include <string>

#include "absl/strings/str_cat.h"
#include "nabla/ops/registration.h"
#include "nabla/ops/rule_util.h"

namespace nabla {
namespace {

// Operand `i` read as an element shape, as far as known: a vector with -1 where a dimension is unknown, or the scalar
// -1 if not even the rank is known.
absl::StatusOr<Shape> ElementShapeOperand(const ShapeContext& c, int i) {
  const Shape& shape = c.input(i);
  if (shape.rank() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the element shape must be a vector or the scalar -1, got shape ", shape.ToString()));
  }
  const absl::optional<std::vector<int64_t>> value = ConstantInts(c, i);
  if (shape.rank() == 1) {
    if (value.has_value()) return Shape::FromDims(*value, /*allow_unknown=*/true);
    return c.InputAsShape(i);
  }
  if (shape.rank() == 0 && value.has_value() && (*value)[0] != -1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the element shape is the scalar ", (*value)[0], "; a scalar must be -1, for an unknown rank"));
  }
  return Shape();
}

// `shape`'s elements along dimension 0, which must be all of what `tensor`, an input, consists of.
absl::Status CheckElements(const Shape& tensor, const Shape& element) {
  if (!tensor.has_rank()) return absl::OkStatus();
  const Shape part = SubShape(tensor, 1, tensor.rank());
  if (part.IsCompatibleWith(element)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("tensor has shape ", tensor.ToString(), ", whose elements ",
                                                 part.ToString(), " do not fit the element shape ",
                                                 element.ToString()));
}

// Every output is a scalar and input 0 a list.
absl::Status FromListShape(ShapeContext& c) {
  NABLA_RETURN_IF_ERROR(c.InputOfRank(0, 0).status());
  return ScalarShape(c);
}

absl::Status EmptyListShape(ShapeContext& c) {
  NABLA_RETURN_IF_ERROR(ElementShapeOperand(c, 0).status());
  NABLA_RETURN_IF_ERROR(c.InputOfRank(1, 0).status());
  return ScalarShape(c);
}

absl::Status ReserveShape(ShapeContext& c) {
  NABLA_RETURN_IF_ERROR(ElementShapeOperand(c, 0).status());
  NABLA_RETURN_IF_ERROR(c.InputOfRank(1, 0).status());
  NABLA_ASSIGN_OR_RETURN(const absl::optional<int64_t> count, ConstantScalar(c, 1, "num_elements"));
  if (count.has_value() && *count < 0) {
    return absl::InvalidArgumentError(absl::StrCat("num_elements is ", *count, ", must be at least 0"));
  }
  return ScalarShape(c);
}

absl::Status PopBackShape(ShapeContext& c) {
  NABLA_RETURN_IF_ERROR(c.InputOfRank(0, 0).status());
  NABLA_ASSIGN_OR_RETURN(Shape element, ElementShapeOperand(c, 1));
  c.SetOutput(0, Shape::Scalar());
  return SetCheckedOutput(c, 1, element);
}

absl::Status PushBackBatchShape(ShapeContext& c) {
  NABLA_ASSIGN_OR_RETURN(const Shape handles, c.InputOfRank(0, 1));
  NABLA_ASSIGN_OR_RETURN(const Shape tensor, c.InputOfRankAtLeast(1, 1));
  c.SetOutput(0, handles);
  if (!tensor.has_rank()) return absl::OkStatus();
  absl::StatusOr<Shape> merged = handles.MergeWith(SubShape(tensor, 0, 1));
  if (!merged.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("input_handles has shape ", handles.ToString(),
                                                   ", which tensor's shape ", tensor.ToString(), " must begin with"));
  }
  c.SetOutput(0, *std::move(merged));
  return absl::OkStatus();
}

absl::Status GetItemShape(ShapeContext& c) {
  NABLA_RETURN_IF_ERROR(c.InputOfRank(0, 0).status());
  NABLA_RETURN_IF_ERROR(c.InputOfRank(1, 0).status());
  NABLA_ASSIGN_OR_RETURN(const Shape element, ElementShapeOperand(c, 2));
  return SetCheckedOutput(c, 0, element);
}

absl::Status SetItemShape(ShapeContext& c) {
  NABLA_RETURN_IF_ERROR(c.InputOfRank(1, 0).status());
  return FromListShape(c);
}

absl::Status StackShape(ShapeContext& c) {
  const int64_t count = c.attr<int64_t>("num_elements");
  if (count < -1) {
    return absl::InvalidArgumentError(
        absl::StrCat("attr num_elements is ", count, ", must be at least 0, or -1 if unknown"));
  }
  NABLA_RETURN_IF_ERROR(c.InputOfRank(0, 0).status());
  NABLA_ASSIGN_OR_RETURN(const Shape element, ElementShapeOperand(c, 1));
  return SetCheckedOutput(c, 0, ConcatShapes(Shape({count}), element));
}

absl::Status FromTensorShape(ShapeContext& c) {
  NABLA_ASSIGN_OR_RETURN(const Shape tensor, c.InputOfRankAtLeast(0, 1));
  NABLA_ASSIGN_OR_RETURN(const Shape element, ElementShapeOperand(c, 1));
  NABLA_RETURN_IF_ERROR(CheckElements(tensor, element));
  return ScalarShape(c);
}

// What concatenating elements of that shape gives: their sizes along dimension 0 add up to something unknown.
absl::Status SetConcatOutputs(ShapeContext& c, Shape element) {
  NABLA_RETURN_IF_ERROR(c.InputOfRank(0, 0).status());
  if (element.rank() == 0) {
    return absl::InvalidArgumentError("the elements are scalars; only those of rank 1 or more can be concatenated");
  }
  if (element.has_rank()) element.set_dim(0, kUnknownDim);
  c.SetOutput(1, Shape({kUnknownDim}));
  return SetCheckedOutput(c, 0, element);
}

absl::Status ListConcatShape(ShapeContext& c) { return SetConcatOutputs(c, c.attr<Shape>("element_shape")); }

absl::Status ListConcatV2Shape(ShapeContext& c) {
  NABLA_ASSIGN_OR_RETURN(Shape element, ElementShapeOperand(c, 1));
  NABLA_RETURN_IF_ERROR(c.InputOfRank(2, 1).status());
  return SetConcatOutputs(c, std::move(element));
}

absl::Status ListSplitShape(ShapeContext& c) {
  NABLA_ASSIGN_OR_RETURN(const Shape tensor, c.InputOfRankAtLeast(0, 1));
  NABLA_ASSIGN_OR_RETURN(Shape element, ElementShapeOperand(c, 1));
  NABLA_RETURN_IF_ERROR(c.InputOfRank(2, 1).status());
  if (tensor.has_rank() && element.has_rank()) {
    Shape rows = tensor;
    rows.set_dim(0, kUnknownDim);
    if (!rows.IsCompatibleWith(element)) {
      return absl::InvalidArgumentError(absl::StrCat("tensor has shape ", tensor.ToString(),
                                                     ", whose parts along dimension 0 do not fit the element shape ",
                                                     element.ToString()));
    }
  }
  return ScalarShape(c);
}

absl::Status ListGatherShape(ShapeContext& c) {
  NABLA_RETURN_IF_ERROR(c.InputOfRank(0, 0).status());
  NABLA_ASSIGN_OR_RETURN(const Shape indices, c.InputOfRank(1, 1));
  NABLA_ASSIGN_OR_RETURN(const Shape element, ElementShapeOperand(c, 2));
  return SetCheckedOutput(c, 0, ConcatShapes(indices, element));
}

// Checks `tensor`, whose rows go to `indices`.
absl::Status CheckScattered(const ShapeContext& c, int tensor_input, int indices_input) {
  NABLA_ASSIGN_OR_RETURN(const Shape tensor, c.InputOfRankAtLeast(tensor_input, 1));
  NABLA_ASSIGN_OR_RETURN(const Shape indices, c.InputOfRank(indices_input, 1));
  if (tensor.has_rank() && !Shape({tensor.dim(0)}).IsCompatibleWith(indices)) {
    return absl::InvalidArgumentError(
        absl::StrCat("indices has ", indices.dim(0), " elements, but tensor has shape ", tensor.ToString()));
  }
  return absl::OkStatus();
}

absl::Status ListScatterShape(ShapeContext& c) {
  NABLA_RETURN_IF_ERROR(CheckScattered(c, 0, 1));
  NABLA_ASSIGN_OR_RETURN(const Shape element, ElementShapeOperand(c, 2));
  NABLA_RETURN_IF_ERROR(CheckElements(c.input(0), element));
  if (c.num_inputs() > 3) NABLA_RETURN_IF_ERROR(c.InputOfRank(3, 0).status());
  return ScalarShape(c);
}

absl::Status ScatterIntoShape(ShapeContext& c) {
  NABLA_RETURN_IF_ERROR(CheckScattered(c, 1, 2));
  return FromListShape(c);
}

absl::Status ResizeShape(ShapeContext& c) {
  NABLA_RETURN_IF_ERROR(c.InputOfRank(1, 0).status());
  NABLA_ASSIGN_OR_RETURN(const absl::optional<int64_t> size, ConstantScalar(c, 1, "size"));
  if (size.has_value() && *size < 0) {
    return absl::InvalidArgumentError(absl::StrCat("size is ", *size, ", must be at least 0"));
  }
  return FromListShape(c);
}

absl::Status ElementShapeShape(ShapeContext& c) {
  NABLA_RETURN_IF_ERROR(c.InputOfRank(0, 0).status());
  // A vector, or a scalar if the list's elements are of unknown rank.
  c.SetOutput(0, Shape());
  return absl::OkStatus();
}

// Lists that are made from nothing, and what is known of any list.
void RegisterListOps(OpRegistry& registry) {
  registry.Add("EmptyTensorList")
      .Input("element_shape: shape_type")
      .Input("max_num_elements: int32")
      .Output("handle: variant")
      .Attr("element_dtype: type")
      .Attr("shape_type: {int32, int64}")
      .Doc(R"(A list of no tensors.

element_shape: what every element must fit: a vector with -1 for unknown dimensions, or the scalar -1 for any shape.
max_num_elements: how many elements the list may get by pushing; -1 for no limit.
element_dtype: the elements' dtype.
handle: a scalar. Lists are values: an op that changes one gives a new one, in place if nobody else holds the old. No
  gradient.)")
      .Shape(EmptyListShape);

  registry.Add("TensorListReserve")
      .Input("element_shape: shape_type")
      .Input("num_elements: int32")
      .Output("handle: variant")
      .Attr("element_dtype: type")
      .Attr("shape_type: {int32, int64}")
      .Doc(R"(A list of `num_elements` elements that are not set yet: each reads as zeros where its shape is known.

element_shape: what every element must fit: a vector with -1 for unknown dimensions, or the scalar -1 for any shape.
num_elements: a scalar, at least 0.
element_dtype: the elements' dtype. No gradient.)")
      .Shape(ReserveShape);

  registry.Add("TensorListLength")
      .Input("input_handle: variant")
      .Output("length: int32")
      .Doc(R"(The number of elements in a list, those not set included. No gradient.)")
      .Shape(FromListShape);

  registry.Add("TensorListElementShape")
      .Input("input_handle: variant")
      .Output("element_shape: shape_type")
      .Attr("shape_type: {int32, int64}")
      .Doc(R"(The shape that a list's elements must fit.

element_shape: a vector with -1 for unknown dimensions, or the scalar -1 for any shape. No gradient.)")
      .Shape(ElementShapeShape);

  registry.Add("TensorListResize")
      .Input("input_handle: variant")
      .Input("size: int32")
      .Output("output_handle: variant")
      .Doc(R"(A list with elements dropped from its end, or ones that are not set added there, until it has `size`.

size: a scalar, at least 0.
Gradient: the list's gradient resized to the length that the input had.)")
      .Shape(ResizeShape);

  registry.Add("TensorListConcatLists")
      .Input("input_a: variant")
      .Input("input_b: variant")
      .Output("output: variant")
      .Attr("element_dtype: type")
      .Doc(R"(The elements of one list followed by those of another.

input_a, input_b: lists of element_dtype, or equally shaped tensors of such lists, which are joined pair by pair.
Gradient: the first and the last elements of the list's gradient.)")
      .Shape(MergedInputsShape);
}

void RegisterElementOps(OpRegistry& registry) {
  registry.Add("TensorListPushBack")
      .Input("input_handle: variant")
      .Input("tensor: element_dtype")
      .Output("output_handle: variant")
      .Attr("element_dtype: type")
      .Doc(R"(The list with `tensor` added at its end. Takes constant time when nobody else holds the list.

tensor: fits the list's element shape.
Gradient: TensorListPopBack of the list's gradient.)")
      .Shape(FromListShape);

  registry.Add("TensorListPopBack")
      .Input("input_handle: variant")
      .Input("element_shape: int32")
      .Output("output_handle: variant")
      .Output("tensor: element_dtype")
      .Attr("element_dtype: type")
      .Doc(R"(The list without its last element, and that element. Takes constant time when nobody else holds the list.

element_shape: what the element must fit, and its shape if it was never set: a vector, or the scalar -1.
Gradient: TensorListPushBack of the tensor's gradient on the list's.)")
      .Shape(PopBackShape);

  registry.Add("TensorListPushBackBatch")
      .Input("input_handles: variant")
      .Input("tensor: element_dtype")
      .Output("output_handles: variant")
      .Attr("element_dtype: type")
      .Doc(R"(Many lists, each with its part of `tensor` added at its end.

input_handles: a vector of lists. tensor: input_handles.shape + the elements' shape.
Gradient: the lists' gradients with their last elements taken off, which make up the tensor's.)")
      .Shape(PushBackBatchShape);

  registry.Add("TensorListGetItem")
      .Input("input_handle: variant")
      .Input("index: int32")
      .Input("element_shape: Tshape")
      .Output("item: element_dtype")
      .Attr("element_dtype: type")
      .Attr("Tshape: {int32, int64} = int32")
      .Doc(R"(One element of a list; zeros if it was never set.

index: a scalar in [0, length).
element_shape: the element's shape if it was never set: a vector, or the scalar -1. If it is a constant, the graph takes
  it for the shape of every element, and one that was set must fit it.
Gradient: a list of the input's length that has the item's gradient at `index`.)")
      .Shape(GetItemShape);

  registry.Add("TensorListSetItem")
      .Input("input_handle: variant")
      .Input("index: int32")
      .Input("item: element_dtype")
      .Output("output_handle: variant")
      .Attr("element_dtype: type")
      .Attr("resize_if_index_out_of_bounds: bool = false")
      .Doc(R"(The list with one element replaced. Takes constant time when nobody else holds the list.

index: a scalar in [0, length). item: fits the list's element shape.
resize_if_index_out_of_bounds: lengthens the list to index + 1 elements, those between not set, if it is shorter.
Gradient: for `item`, the element of the list's gradient; for the list, its gradient with zeros there.)")
      .Shape(SetItemShape);
}

// Between lists and tensors that hold all elements.
void RegisterWholeListOps(OpRegistry& registry) {
  registry.Add("TensorListStack")
      .Input("input_handle: variant")
      .Input("element_shape: int32")
      .Output("tensor: element_dtype")
      .Attr("element_dtype: type")
      .Attr("num_elements: int = -1")
      .Doc(R"(A list's elements, stacked along a new first dimension.

element_shape: what the elements must fit: a vector, or the scalar -1.
num_elements: how many there must be; -1 for any number.
tensor: [length] + the elements' shape; elements that were never set are zeros. All elements must have one shape.
Gradient: TensorListFromTensor.)")
      .Shape(StackShape);

  registry.Add("TensorListFromTensor")
      .Input("tensor: element_dtype")
      .Input("element_shape: shape_type")
      .Output("output_handle: variant")
      .Attr("element_dtype: type")
      .Attr("shape_type: {int32, int64}")
      .Doc(R"(The list of a tensor's slices along its first dimension.

tensor: of rank 1 or more. element_shape: what the slices fit: a vector, or the scalar -1.
Gradient: TensorListStack.)")
      .Shape(FromTensorShape);

  const std::string concat = R"(A list's elements, one after the other along their first dimension.

tensor: all elements agree in their other dimensions.
lengths: each element's size along its first dimension, [length].
)";
  registry.Add("TensorListConcat")
      .Input("input_handle: variant")
      .Output("tensor: element_dtype")
      .Output("lengths: int64")
      .Attr("element_dtype: type")
      .Attr("element_shape: shape = {unknown_rank: true}")
      .Doc(concat + R"(element_shape: what the elements must fit.
Gradient: TensorListSplit.)")
      .Shape(ListConcatShape);

  registry.Add("TensorListConcatV2")
      .Input("input_handle: variant")
      .Input("element_shape: shape_type")
      .Input("leading_dims: int64")
      .Output("tensor: element_dtype")
      .Output("lengths: int64")
      .Attr("element_dtype: type")
      .Attr("shape_type: {int32, int64}")
      .Doc(concat + R"(element_shape: what the elements must fit: a vector, or the scalar -1.
leading_dims: the sizes along the first dimension of elements that were never set, by position; may be empty.
Gradient: TensorListSplit.)")
      .Shape(ListConcatV2Shape);

  registry.Add("TensorListSplit")
      .Input("tensor: element_dtype")
      .Input("element_shape: shape_type")
      .Input("lengths: int64")
      .Output("output_handle: variant")
      .Attr("element_dtype: type")
      .Attr("shape_type: {int32, int64}")
      .Doc(R"(The list of a tensor's parts along its first dimension.

tensor: of rank 1 or more. element_shape: what the parts fit: a vector, or the scalar -1.
lengths: the parts' sizes along that dimension, a vector that adds up to it.
Gradient: TensorListConcatV2.)")
      .Shape(ListSplitShape);

  registry.Add("TensorListGather")
      .Input("input_handle: variant")
      .Input("indices: int32")
      .Input("element_shape: int32")
      .Output("values: element_dtype")
      .Attr("element_dtype: type")
      .Doc(R"(Some elements of a list, stacked along a new first dimension.

indices: a vector of numbers in [0, length). element_shape: what the elements must fit: a vector, or the scalar -1.
values: indices.shape + the elements' shape; elements that were never set are zeros.
Gradient: TensorListScatter to the same indices, where what goes to equal ones adds up.)")
      .Shape(ListGatherShape);

  const std::string scattered = R"(

tensor: [number of indices] + the elements' shape. indices: a vector of numbers that are at least 0.
element_shape: what the slices fit: a vector, or the scalar -1.
)";
  registry.Add("TensorListScatter")
      .Input("tensor: element_dtype")
      .Input("indices: int32")
      .Input("element_shape: shape_type")
      .Output("output_handle: variant")
      .Attr("element_dtype: type")
      .Attr("shape_type: {int32, int64}")
      .Doc("A list that has a tensor's slices at `indices`; other elements are not set." + scattered +
           "output_handle: as long as the largest index asks for.\nGradient: TensorListGather.")
      .Shape(ListScatterShape);

  registry.Add("TensorListScatterV2")
      .Input("tensor: element_dtype")
      .Input("indices: int32")
      .Input("element_shape: shape_type")
      .Input("num_elements: int32")
      .Output("output_handle: variant")
      .Attr("element_dtype: type")
      .Attr("shape_type: {int32, int64}")
      .Doc("A list that has a tensor's slices at `indices`; other elements are not set." + scattered +
           "num_elements: the list's length; -1 for as long as the largest index asks for.\n"
           "Gradient: TensorListGather.")
      .Shape(ListScatterShape);

  registry.Add("TensorListScatterIntoExistingList")
      .Input("input_handle: variant")
      .Input("tensor: element_dtype")
      .Input("indices: int32")
      .Output("output_handle: variant")
      .Attr("element_dtype: type")
      .Doc(R"(A list with a tensor's slices put at `indices`; lengthened if the largest index asks for it.

tensor: [number of indices] + the elements' shape. indices: a vector of numbers that are at least 0.
Gradient: for `tensor`, the gathered elements of the list's gradient; for the list, its gradient with zeros there.)")
      .Shape(ScatterIntoShape);
}

}  // namespace

void RegisterTensorListOps(OpRegistry& registry) {
  RegisterListOps(registry);
  RegisterElementOps(registry);
  RegisterWholeListOps(registry);
}

}  // namespace nabla

// Between lists and tensors that hold many of their elements: Stack and FromTensor, Concat and Split, Gather and
// Scatter.
#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nabla/runtime/kernels/arguments.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/kernels/tensor_list_util.h"

namespace nabla {
namespace {

absl::Status WrongShape(int64_t i, const Shape& shape, const Shape& expected) {
  return absl::InvalidArgumentError(
      absl::StrCat("element ", i, " has shape ", shape.ToString(), ", expected ", expected.ToString()));
}

// The one shape of the elements of `list`, which fits the element shape operand, input `operand`.
absl::StatusOr<Shape> StackedShape(const KernelContext& ctx, const TensorList& list, int operand) {
  NABLA_ASSIGN_OR_RETURN(const Shape wanted, ReadElementShape(ctx.input(operand)));
  NABLA_ASSIGN_OR_RETURN(Shape shape, CommonElementShape(list, wanted));
  if (shape.IsFullyDefined()) return shape;
  return absl::InvalidArgumentError(absl::StrCat("the elements' shape is not known: none of the ", list.size(),
                                                 " is set, and what they must fit is ", shape.ToString()));
}

// Output 0 for `count` elements of that shape.
absl::StatusOr<Tensor*> AllocateStack(KernelContext& ctx, int64_t count, const Shape& element) {
  Shape shape = element;
  shape.InsertDim(0, count);
  NABLA_ASSIGN_OR_RETURN(shape, Shape::FromDims(shape.dims()));
  return ctx.AllocateOutput(0, shape);
}

absl::Status StackCompute(KernelContext& ctx) {
  NABLA_ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, 0, ctx.output_dtype(0)));
  const int64_t count = ctx.node().GetAttr<int64_t>("num_elements");
  if (count != -1 && count != list->size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the list has ", list->size(), " elements, attr num_elements is ", count));
  }
  NABLA_ASSIGN_OR_RETURN(const Shape shape, StackedShape(ctx, *list, 1));
  NABLA_ASSIGN_OR_RETURN(Tensor * output, AllocateStack(ctx, list->size(), shape));
  std::vector<Piece> pieces;
  const int64_t stride = shape.num_elements();
  NABLA_RETURN_IF_ERROR(list->ForEachSet([&](int64_t i, const Tensor& element) -> absl::Status {
    if (element.shape() != shape) return WrongShape(i, element.shape(), shape);
    pieces.push_back({i * stride, &element});
    return absl::OkStatus();
  }));
  return Assemble(ctx, pieces, output);
}

absl::Status CheckVector(const Tensor& tensor, absl::string_view what) {
  if (tensor.rank() == 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, " must be a vector, has shape ", tensor.shape().ToString()));
}

absl::Status GatherCompute(KernelContext& ctx) {
  NABLA_ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, 0, ctx.output_dtype(0)));
  NABLA_RETURN_IF_ERROR(CheckVector(ctx.input(1), "indices"));
  const absl::Span<const int32_t> indices = ctx.input(1).flat<int32_t>();
  NABLA_ASSIGN_OR_RETURN(const Shape shape, StackedShape(ctx, *list, 2));
  NABLA_ASSIGN_OR_RETURN(Tensor * output, AllocateStack(ctx, static_cast<int64_t>(indices.size()), shape));
  std::vector<Piece> pieces;
  const int64_t stride = shape.num_elements();
  for (size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] < 0 || indices[i] >= list->size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("indices[", i, "] is ", indices[i], ", the list has ", list->size(), " elements"));
    }
    const Tensor& element = (*list)[indices[i]];
    if (!element.valid()) continue;
    if (element.shape() != shape) return WrongShape(indices[i], element.shape(), shape);
    pieces.push_back({static_cast<int64_t>(i) * stride, &element});
  }
  return Assemble(ctx, pieces, output);
}

// The list of the rows of `tensor`, where row i is made by place(i, row) an element of `list`.
template <typename Place>
absl::Status PlaceRows(KernelContext& ctx, const Tensor& tensor, TensorList* list, Place place) {
  Shape row = tensor.shape();
  const int64_t count = row.dim(0);
  row.RemoveDim(0);
  if (!list->element_shape().IsCompatibleWith(row)) {
    return absl::InvalidArgumentError(absl::StrCat("tensor has shape ", tensor.shape().ToString(), ", whose elements ",
                                                   row.ToString(), " do not fit the element shape ",
                                                   list->element_shape().ToString()));
  }
  NABLA_RETURN_IF_ERROR(CheckRoom(ctx, count));
  const int64_t row_size = row.num_elements();
  for (int64_t i = 0; i < count; ++i) {
    NABLA_ASSIGN_OR_RETURN(Tensor element, CutOut(ctx, tensor, i * row_size, row));
    place(i, std::move(element));
  }
  return absl::OkStatus();
}

absl::Status CheckHasRows(const Tensor& tensor) {
  if (tensor.rank() > 0) return absl::OkStatus();
  return absl::InvalidArgumentError("tensor is a scalar; only tensors of rank 1 or more have elements for a list");
}

absl::Status SetListOutput(KernelContext& ctx, TensorList list) {
  ctx.SetOutput(0, Tensor::Scalar(TensorList::Wrap(std::move(list))));
  return absl::OkStatus();
}

absl::Status FromTensorCompute(KernelContext& ctx) {
  const Tensor& tensor = ctx.input(0);
  NABLA_RETURN_IF_ERROR(CheckHasRows(tensor));
  NABLA_ASSIGN_OR_RETURN(Shape element_shape, ReadElementShape(ctx.input(1)));
  TensorList list(tensor.dtype(), std::move(element_shape));
  NABLA_RETURN_IF_ERROR(
      PlaceRows(ctx, tensor, &list, [&](int64_t, Tensor element) { list.PushBack(std::move(element)); }));
  return SetListOutput(ctx, std::move(list));
}

// Checks indices for the rows of `tensor`. Returns the largest plus one.
absl::StatusOr<int64_t> ScatteredSize(const Tensor& tensor, const Tensor& indices) {
  NABLA_RETURN_IF_ERROR(CheckHasRows(tensor));
  NABLA_RETURN_IF_ERROR(CheckVector(indices, "indices"));
  if (indices.dim(0) != tensor.dim(0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("indices has ", indices.dim(0), " elements, but tensor has shape ", tensor.shape().ToString()));
  }
  int64_t size = 0;
  for (int64_t i = 0; i < indices.num_elements(); ++i) {
    const int32_t index = indices.data<int32_t>()[i];
    if (index < 0 || index >= TensorList::kMaxSize) {
      return absl::InvalidArgumentError(
          absl::StrCat("indices[", i, "] is ", index, ", must be in [0, ", TensorList::kMaxSize, ")"));
    }
    size = std::max(size, int64_t{index} + 1);
  }
  return size;
}

absl::Status Scatter(KernelContext& ctx, const Tensor& tensor, const Tensor& indices, TensorList* list) {
  return PlaceRows(ctx, tensor, list,
                   [&](int64_t i, Tensor element) { list->Set(indices.data<int32_t>()[i], std::move(element)); });
}

// TensorListScatter and TensorListScatterV2, which has an input more.
absl::Status ScatterCompute(KernelContext& ctx) {
  NABLA_ASSIGN_OR_RETURN(int64_t size, ScatteredSize(ctx.input(0), ctx.input(1)));
  NABLA_ASSIGN_OR_RETURN(Shape element_shape, ReadElementShape(ctx.input(2)));
  if (ctx.num_inputs() > 3) {
    NABLA_ASSIGN_OR_RETURN(const int64_t wanted, ReadScalar(ctx.input(3), "num_elements"));
    if (wanted != -1 && wanted < size) {
      return absl::InvalidArgumentError(absl::StrCat("num_elements is ", wanted, ", but indices go up to ", size - 1));
    }
    size = std::max(size, wanted);
  }
  TensorList list(ctx.input(0).dtype(), std::move(element_shape));
  list.Resize(size);
  NABLA_RETURN_IF_ERROR(Scatter(ctx, ctx.input(0), ctx.input(1), &list));
  return SetListOutput(ctx, std::move(list));
}

absl::Status ScatterIntoCompute(KernelContext& ctx) {
  NABLA_RETURN_IF_ERROR(ListInput(ctx, 0, ctx.input(1).dtype()).status());
  NABLA_ASSIGN_OR_RETURN(const int64_t size, ScatteredSize(ctx.input(1), ctx.input(2)));
  Tensor handle = TakeVariants(ctx, 0);
  TensorList* list = TensorList::TakeOrCopy(handle.data<Variant>());
  list->Resize(std::max(size, list->size()));
  NABLA_RETURN_IF_ERROR(Scatter(ctx, ctx.input(1), ctx.input(2), list));
  ctx.SetOutput(0, std::move(handle));
  return absl::OkStatus();
}

absl::Status ScalarElements() {
  return absl::InvalidArgumentError("the elements are scalars; only those of rank 1 or more can be concatenated");
}

// What is known of the elements that are to be concatenated: their sizes along dimension 0 may differ.
absl::StatusOr<Shape> ConcatElementShape(const TensorList& list, const Shape& wanted) {
  absl::StatusOr<Shape> merged = wanted.MergeWith(list.element_shape());
  if (!merged.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("the list's element shape is ", list.element_shape().ToString(),
                                                   ", expected ", wanted.ToString()));
  }
  Shape known = *std::move(merged);
  Shape rest = known;  // with dimension 0 left open
  if (rest.rank() > 0) rest.set_dim(0, kUnknownDim);
  NABLA_RETURN_IF_ERROR(list.ForEachSet([&](int64_t i, const Tensor& element) -> absl::Status {
    if (!known.IsCompatibleWith(element.shape())) return WrongShape(i, element.shape(), known);
    if (!rest.IsCompatibleWith(element.shape())) return WrongShape(i, element.shape(), rest);
    if (element.rank() == 0) return ScalarElements();
    rest = element.shape();
    rest.set_dim(0, kUnknownDim);
    return absl::OkStatus();
  }));
  if (known.rank() == 0) return ScalarElements();
  if (rest.has_rank()) rest.set_dim(0, known.has_rank() ? known.dim(0) : kUnknownDim);
  for (int d = 1; d < rest.rank(); ++d) {
    if (rest.dim(d) == kUnknownDim) rest = Shape();
  }
  if (rest.has_rank()) return rest;
  return absl::InvalidArgumentError(absl::StrCat("the shape of the result is not known: none of the ", list.size(),
                                                 " elements is set, and what they must fit is ", known.ToString()));
}

// TensorListConcat, and TensorListConcatV2, which has inputs for the shape and for the sizes of unset elements.
absl::Status ConcatCompute(KernelContext& ctx) {
  NABLA_ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, 0, ctx.output_dtype(0)));
  Shape wanted;
  absl::Span<const int64_t> leading_dims;
  if (ctx.num_inputs() > 1) {
    NABLA_ASSIGN_OR_RETURN(wanted, ReadElementShape(ctx.input(1)));
    NABLA_RETURN_IF_ERROR(CheckVector(ctx.input(2), "leading_dims"));
    leading_dims = ctx.input(2).flat<int64_t>();
  } else {
    wanted = ctx.node().GetAttr<Shape>("element_shape");
  }
  NABLA_ASSIGN_OR_RETURN(Shape shape, ConcatElementShape(*list, wanted));
  NABLA_ASSIGN_OR_RETURN(Tensor * lengths, ctx.AllocateOutput(1, Shape({list->size()})));
  const int64_t length_if_unset = shape.dim(0);
  shape.set_dim(0, 1);
  NABLA_ASSIGN_OR_RETURN(shape, Shape::FromDims(shape.dims()));
  const int64_t row_size = shape.num_elements();
  std::vector<Piece> pieces;
  int64_t rows = 0;
  for (int64_t i = 0; i < list->size(); ++i) {
    const Tensor& element = (*list)[i];
    int64_t length = length_if_unset;
    if (element.valid()) {
      length = element.dim(0);
      pieces.push_back({rows * row_size, &element});
    } else if (length == kUnknownDim) {
      if (i >= static_cast<int64_t>(leading_dims.size())) {
        return absl::InvalidArgumentError(absl::StrCat("element ", i, " is not set, and leading_dims has ",
                                                       leading_dims.size(), " elements: its size is not known"));
      }
      length = leading_dims[i];
      if (length < 0) {
        return absl::InvalidArgumentError(absl::StrCat("leading_dims[", i, "] is ", length, ", must be at least 0"));
      }
    }
    lengths->data<int64_t>()[i] = length;
    int64_t ignored;
    if (__builtin_add_overflow(rows, length, &rows) || !CheckedMultiply(rows, row_size, &ignored)) {
      return absl::InvalidArgumentError("the elements together are too large");
    }
  }
  shape.set_dim(0, rows);
  NABLA_ASSIGN_OR_RETURN(shape, Shape::FromDims(shape.dims()));
  NABLA_ASSIGN_OR_RETURN(Tensor * output, ctx.AllocateOutput(0, shape));
  return Assemble(ctx, pieces, output);
}

absl::Status SplitCompute(KernelContext& ctx) {
  const Tensor& tensor = ctx.input(0);
  NABLA_RETURN_IF_ERROR(CheckHasRows(tensor));
  NABLA_ASSIGN_OR_RETURN(Shape element_shape, ReadElementShape(ctx.input(1)));
  NABLA_RETURN_IF_ERROR(CheckVector(ctx.input(2), "lengths"));
  const absl::Span<const int64_t> lengths = ctx.input(2).flat<int64_t>();
  Shape shape = tensor.shape();
  shape.set_dim(0, kUnknownDim);
  if (!shape.IsCompatibleWith(element_shape)) {
    return absl::InvalidArgumentError(absl::StrCat("tensor has shape ", tensor.shape().ToString(),
                                                   ", whose parts along dimension 0 do not fit the element shape ",
                                                   element_shape.ToString()));
  }
  const int64_t rows = tensor.dim(0);
  const int64_t row_size = rows == 0 ? 0 : tensor.num_elements() / rows;
  NABLA_RETURN_IF_ERROR(CheckRoom(ctx, static_cast<int64_t>(lengths.size())));
  TensorList list(tensor.dtype(), std::move(element_shape));
  int64_t row = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] < 0 || lengths[i] > rows - row) {
      return absl::InvalidArgumentError(
          absl::StrCat("lengths[", i, "] is ", lengths[i], ", but ", rows - row, " of ", rows, " rows are left"));
    }
    shape.set_dim(0, lengths[i]);
    NABLA_ASSIGN_OR_RETURN(Tensor part, CutOut(ctx, tensor, row * row_size, shape));
    NABLA_RETURN_IF_ERROR(CheckNewElement(list, part));
    list.PushBack(std::move(part));
    row += lengths[i];
  }
  if (row != rows) {
    return absl::InvalidArgumentError(absl::StrCat("lengths add up to ", row, ", but tensor has ", rows, " rows"));
  }
  return SetListOutput(ctx, std::move(list));
}

}  // namespace

void RegisterTensorListWholeKernels(KernelRegistry& registry) {
  registry.Add("TensorListStack", StackCompute);
  registry.Add("TensorListFromTensor", FromTensorCompute);
  registry.Add("TensorListGather", GatherCompute);
  registry.Add("TensorListScatter", ScatterCompute);
  registry.Add("TensorListScatterV2", ScatterCompute);
  registry.Add("TensorListScatterIntoExistingList", ScatterIntoCompute);
  registry.Add("TensorListConcat", ConcatCompute);
  registry.Add("TensorListConcatV2", ConcatCompute);
  registry.Add("TensorListSplit", SplitCompute);
}

}  // namespace nabla

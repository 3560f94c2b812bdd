// Making lists, and reading and changing them element by element. Lists are changed in place where nobody else reads
// them; see runtime/tensor_list.h for what copying them costs.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "nabla/runtime/kernels/arguments.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/kernels/tensor_list_util.h"

namespace nabla {
namespace {

void SetListOutput(KernelContext& ctx, TensorList list) {
  ctx.SetOutput(0, Tensor::Scalar(TensorList::Wrap(std::move(list))));
}

// Appends, as the ops that push do.
absl::Status Push(TensorList* list, Tensor tensor) {
  NABLA_RETURN_IF_ERROR(CheckNewElement(*list, tensor));
  const int64_t limit = list->max_num_elements() < 0 ? TensorList::kMaxSize : list->max_num_elements();
  if (list->size() >= limit) {
    return absl::InvalidArgumentError(absl::StrCat("the list is full: it may have ", limit, " elements"));
  }
  list->PushBack(std::move(tensor));
  return absl::OkStatus();
}

absl::StatusOr<int64_t> ReadIndex(const Tensor& operand, const TensorList& list) {
  NABLA_ASSIGN_OR_RETURN(const int64_t index, ReadScalar(operand, "index"));
  if (index >= 0 && index < list.size()) return index;
  return absl::InvalidArgumentError(absl::StrCat("index ", index, " is outside of the list, which has ", list.size(),
                                                 list.size() == 1 ? " element" : " elements"));
}

absl::StatusOr<int64_t> ReadSize(const Tensor& operand, absl::string_view what) {
  NABLA_ASSIGN_OR_RETURN(const int64_t size, ReadScalar(operand, what));
  if (size >= 0) return size;
  return absl::InvalidArgumentError(absl::StrCat(what, " is ", size, ", must be at least 0"));
}

absl::Status EmptyListCompute(KernelContext& ctx) {
  NABLA_ASSIGN_OR_RETURN(Shape element_shape, ReadElementShape(ctx.input(0)));
  NABLA_ASSIGN_OR_RETURN(const int64_t limit, ReadScalar(ctx.input(1), "max_num_elements"));
  SetListOutput(ctx, TensorList(ctx.node().GetAttr<DType>("element_dtype"), std::move(element_shape), limit));
  return absl::OkStatus();
}

absl::Status ReserveCompute(KernelContext& ctx) {
  NABLA_ASSIGN_OR_RETURN(Shape element_shape, ReadElementShape(ctx.input(0)));
  NABLA_ASSIGN_OR_RETURN(const int64_t count, ReadSize(ctx.input(1), "num_elements"));
  TensorList list(ctx.node().GetAttr<DType>("element_dtype"), std::move(element_shape));
  list.Resize(count);
  SetListOutput(ctx, std::move(list));
  return absl::OkStatus();
}

absl::Status LengthCompute(KernelContext& ctx) {
  NABLA_ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, 0));
  ctx.SetOutput(0, Tensor::Scalar(static_cast<int32_t>(list->size())));
  return absl::OkStatus();
}

absl::Status ElementShapeCompute(KernelContext& ctx) {
  NABLA_ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, 0));
  const Shape& shape = list->element_shape();
  if (shape.has_rank()) {
    NABLA_ASSIGN_OR_RETURN(Tensor * dims, ctx.AllocateOutput(0, Shape({shape.rank()})));
    return WriteIntegers(shape.dims(), dims);
  }
  NABLA_ASSIGN_OR_RETURN(Tensor * unknown, ctx.AllocateOutput(0, Shape::Scalar()));
  return WriteIntegers({-1}, unknown);
}

absl::Status ResizeCompute(KernelContext& ctx) {
  NABLA_RETURN_IF_ERROR(ListInput(ctx, 0).status());
  NABLA_ASSIGN_OR_RETURN(const int64_t size, ReadSize(ctx.input(1), "size"));
  Tensor handle = TakeVariants(ctx, 0);
  TensorList::TakeOrCopy(handle.data<Variant>())->Resize(size);
  ctx.SetOutput(0, std::move(handle));
  return absl::OkStatus();
}

absl::Status PushBackCompute(KernelContext& ctx) {
  NABLA_RETURN_IF_ERROR(ListInput(ctx, 0, ctx.input(1).dtype()).status());
  Tensor handle = TakeVariants(ctx, 0);
  NABLA_RETURN_IF_ERROR(Push(TensorList::TakeOrCopy(handle.data<Variant>()), ctx.input(1)));
  ctx.SetOutput(0, std::move(handle));
  return absl::OkStatus();
}

absl::Status PopBackCompute(KernelContext& ctx) {
  NABLA_ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, 0, ctx.output_dtype(1)));
  NABLA_ASSIGN_OR_RETURN(const Shape wanted, ReadElementShape(ctx.input(1)));
  if (list->size() == 0) return absl::InvalidArgumentError("there is nothing to take off an empty list");
  NABLA_ASSIGN_OR_RETURN(Tensor last, ReadElement(ctx, *list, list->size() - 1, wanted));
  Tensor handle = TakeVariants(ctx, 0);
  TensorList::TakeOrCopy(handle.data<Variant>())->PopBack();
  ctx.SetOutput(0, std::move(handle));
  ctx.SetOutput(1, std::move(last));
  return absl::OkStatus();
}

absl::Status PushBackBatchCompute(KernelContext& ctx) {
  const Tensor& tensor = ctx.input(1);
  const Shape& handles_shape = ctx.input(0).shape();
  if (handles_shape.rank() != 1 || tensor.rank() == 0 || tensor.dim(0) != handles_shape.dim(0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("input_handles must be a vector of as many lists as tensor has rows; the shapes are ",
                     handles_shape.ToString(), " and ", tensor.shape().ToString()));
  }
  Shape row = tensor.shape();
  row.RemoveDim(0);
  const int64_t row_size = row.num_elements();
  Tensor handles = TakeVariants(ctx, 0);
  for (int64_t i = 0; i < handles.num_elements(); ++i) {
    const TensorList* list = TensorList::Of(handles, i);
    if (list == nullptr || list->element_dtype() != tensor.dtype()) {
      return absl::InvalidArgumentError(absl::StrCat("input_handles[", i, "] must be a list of ",
                                                     DTypeName(tensor.dtype()), " elements, is ",
                                                     list == nullptr ? "none" : list->DebugString()));
    }
    NABLA_ASSIGN_OR_RETURN(Tensor element, CutOut(ctx, tensor, i * row_size, row));
    NABLA_RETURN_IF_ERROR(Push(TensorList::TakeOrCopy(&handles.data<Variant>()[i]), std::move(element)));
  }
  ctx.SetOutput(0, std::move(handles));
  return absl::OkStatus();
}

absl::Status GetItemCompute(KernelContext& ctx) {
  NABLA_ASSIGN_OR_RETURN(const TensorList* list, ListInput(ctx, 0, ctx.output_dtype(0)));
  NABLA_ASSIGN_OR_RETURN(const Shape wanted, ReadElementShape(ctx.input(2)));
  NABLA_ASSIGN_OR_RETURN(const int64_t index, ReadIndex(ctx.input(1), *list));
  // As in TensorFlow, element_shape counts for elements that were not set; of others, what the graph took it for holds.
  const Shape& expected = (*list)[index].valid() ? ctx.node().output_shape(0) : wanted;
  NABLA_ASSIGN_OR_RETURN(Tensor item, ReadElement(ctx, *list, index, expected));
  ctx.SetOutput(0, std::move(item));
  return absl::OkStatus();
}

absl::Status SetItemCompute(KernelContext& ctx) {
  const Tensor& item = ctx.input(2);
  NABLA_ASSIGN_OR_RETURN(const TensorList* old, ListInput(ctx, 0, item.dtype()));
  NABLA_RETURN_IF_ERROR(CheckNewElement(*old, item));
  NABLA_ASSIGN_OR_RETURN(int64_t index, ReadScalar(ctx.input(1), "index"));
  int64_t size = old->size();
  if (ctx.node().GetAttr<bool>("resize_if_index_out_of_bounds") && index >= size && index < TensorList::kMaxSize) {
    size = index + 1;
  } else {
    NABLA_ASSIGN_OR_RETURN(index, ReadIndex(ctx.input(1), *old));
  }
  Tensor handle = TakeVariants(ctx, 0);
  TensorList* list = TensorList::TakeOrCopy(handle.data<Variant>());
  list->Resize(size);
  list->Set(index, item);
  ctx.SetOutput(0, std::move(handle));
  return absl::OkStatus();
}

absl::Status ConcatListsCompute(KernelContext& ctx) {
  const DType dtype = ctx.node().GetAttr<DType>("element_dtype");
  const Tensor& second = ctx.input(1);
  if (ctx.input(0).shape() != second.shape()) {
    return absl::InvalidArgumentError(absl::StrCat("input_a and input_b must have one shape, have ",
                                                   ctx.input(0).shape().ToString(), " and ",
                                                   second.shape().ToString()));
  }
  for (int input = 0; input < 2; ++input) {
    for (int64_t i = 0; i < second.num_elements(); ++i) {
      const TensorList* list = TensorList::Of(ctx.input(input), i);
      if (list != nullptr && list->element_dtype() == dtype) continue;
      return absl::InvalidArgumentError(absl::StrCat("input ", input, " must be lists of ", DTypeName(dtype),
                                                     " elements, element ", i, " is ",
                                                     list == nullptr ? "none" : list->DebugString()));
    }
  }
  Tensor handles = TakeVariants(ctx, 0);
  for (int64_t i = 0; i < second.num_elements(); ++i) {
    const TensorList& more = *TensorList::Of(second, i);
    const TensorList& first = *TensorList::Of(handles, i);
    if (!first.element_shape().IsCompatibleWith(more.element_shape())) {
      return absl::InvalidArgumentError(absl::StrCat("lists of element shapes ", first.element_shape().ToString(),
                                                     " and ", more.element_shape().ToString(), " cannot be joined"));
    }
    if (first.size() + more.size() > TensorList::kMaxSize) {
      return absl::InvalidArgumentError(
          absl::StrCat("lists of ", first.size(), " and ", more.size(), " elements are too long to be joined"));
    }
    TensorList* joined = TensorList::TakeOrCopy(&handles.data<Variant>()[i]);
    const int64_t size = joined->size();
    joined->Resize(size + more.size());
    NABLA_RETURN_IF_ERROR(more.ForEachSet([&](int64_t at, const Tensor& element) -> absl::Status {
      NABLA_RETURN_IF_ERROR(CheckNewElement(*joined, element));
      joined->Set(size + at, element);
      return absl::OkStatus();
    }));
  }
  ctx.SetOutput(0, std::move(handles));
  return absl::OkStatus();
}

}  // namespace

void RegisterTensorListKernels(KernelRegistry& registry) {
  registry.Add("EmptyTensorList", EmptyListCompute);
  registry.Add("TensorListReserve", ReserveCompute);
  registry.Add("TensorListLength", LengthCompute);
  registry.Add("TensorListElementShape", ElementShapeCompute);
  registry.Add("TensorListResize", ResizeCompute);
  registry.Add("TensorListPushBack", PushBackCompute);
  registry.Add("TensorListPopBack", PopBackCompute);
  registry.Add("TensorListPushBackBatch", PushBackBatchCompute);
  registry.Add("TensorListGetItem", GetItemCompute);
  registry.Add("TensorListSetItem", SetItemCompute);
  registry.Add("TensorListConcatLists", ConcatListsCompute);
}

}  // namespace nabla

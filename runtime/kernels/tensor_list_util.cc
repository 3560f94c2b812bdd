#include "nabla/runtime/kernels/tensor_list_util.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "nabla/runtime/kernels/arguments.h"
#include "nabla/runtime/kernels/copy.h"

namespace nabla {
namespace {

// Pieces larger than this are worth being copied by several threads each.
constexpr int64_t kLargePiece = 1 << 16;

absl::Status UnknownElementShape(const Shape& known) {
  return absl::InvalidArgumentError(absl::StrCat(
      "it is not known which zeros stand for elements that are not set: ", "their shape is ", known.ToString()));
}

}  // namespace

absl::StatusOr<const TensorList*> ListInput(const KernelContext& ctx, int i, DType dtype) {
  const Tensor& input = ctx.input(i);
  if (input.rank() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("input ", i, " must be one list, has shape ", input.shape().ToString()));
  }
  const TensorList* list = TensorList::Of(input, 0);
  if (list == nullptr) {
    const Variant& variant = input.scalar<Variant>();
    return absl::InvalidArgumentError(absl::StrCat("input ", i, " must be a list, is ",
                                                   variant.empty() ? "an empty variant" : variant.value()->TypeName()));
  }
  if (dtype != DType::kInvalid && list->element_dtype() != dtype) {
    return absl::InvalidArgumentError(
        absl::StrCat("input ", i, " must be a list of ", DTypeName(dtype), " elements, is a ", list->DebugString()));
  }
  return list;
}

Tensor TakeVariants(KernelContext& ctx, int i) {
  Tensor taken = ctx.TakeInput(i);
  return taken.valid() ? taken : ctx.input(i).Clone();
}

absl::StatusOr<int64_t> ReadScalar(const Tensor& operand, absl::string_view what) {
  if (operand.rank() == 0) return IntegerScalar(operand, what);
  return absl::InvalidArgumentError(absl::StrCat(what, " must be a scalar, has shape ", operand.shape().ToString()));
}

absl::StatusOr<Shape> ReadElementShape(const Tensor& operand) {
  if (operand.rank() == 0) {
    NABLA_ASSIGN_OR_RETURN(const int64_t value, IntegerScalar(operand, "the element shape"));
    if (value == -1) return Shape();
    return absl::InvalidArgumentError(
        absl::StrCat("the element shape is the scalar ", value, "; a scalar must be -1, for an unknown rank"));
  }
  NABLA_ASSIGN_OR_RETURN(const Integers dims, IntegerVector(operand, "the element shape"));
  return Shape::FromDims(dims, /*allow_unknown=*/true);
}

absl::StatusOr<Shape> CommonElementShape(const TensorList& list, const Shape& wanted) {
  absl::StatusOr<Shape> merged = wanted.MergeWith(list.element_shape());
  if (!merged.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("the list's element shape is ", list.element_shape().ToString(),
                                                   ", expected ", wanted.ToString()));
  }
  Shape shape = *std::move(merged);
  if (shape.IsFullyDefined()) return shape;
  const Tensor* first = nullptr;
  NABLA_RETURN_IF_ERROR(list.ForEachSet([&](int64_t i, const Tensor& element) -> absl::Status {
    const Shape& known = first == nullptr ? shape : first->shape();
    if (!known.IsCompatibleWith(element.shape())) {
      return absl::InvalidArgumentError(
          absl::StrCat("element ", i, " has shape ", element.shape().ToString(), ", expected ", known.ToString()));
    }
    first = &element;
    return absl::OkStatus();
  }));
  return first == nullptr ? shape : first->shape();
}

absl::StatusOr<Tensor> ReadElement(KernelContext& ctx, const TensorList& list, int64_t i, const Shape& wanted) {
  const Tensor& element = list[i];
  if (!element.valid()) {
    NABLA_ASSIGN_OR_RETURN(const Shape shape, CommonElementShape(list, wanted));
    if (!shape.IsFullyDefined()) return UnknownElementShape(shape);
    return ZeroTensor(ctx, list.element_dtype(), shape);
  }
  if (wanted.IsCompatibleWith(element.shape())) return element;
  return absl::InvalidArgumentError(
      absl::StrCat("element ", i, " has shape ", element.shape().ToString(), ", expected ", wanted.ToString()));
}

absl::Status CheckNewElement(const TensorList& list, const Tensor& tensor) {
  if (list.element_shape().IsCompatibleWith(tensor.shape())) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("a tensor of shape ", tensor.shape().ToString(),
                                                 " does not fit the list's element shape, ",
                                                 list.element_shape().ToString()));
}

absl::Status CheckRoom(KernelContext& ctx, int64_t num_elements) {
  if (num_elements > TensorList::kMaxSize) {
    return absl::InvalidArgumentError(
        absl::StrCat("a list has at most ", TensorList::kMaxSize, " elements, not ", num_elements));
  }
  constexpr int64_t kAlwaysThere = 1 << 14;
  if (num_elements <= kAlwaysThere) return absl::OkStatus();
  // Asks for the memory, which is not touched, and gives it back.
  const int64_t bytes = num_elements * static_cast<int64_t>(sizeof(Tensor));
  if (ctx.AllocateTemp(DType::kUInt8, Shape({bytes})).ok()) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("no memory for a list of ", num_elements, " elements"));
}

absl::StatusOr<Tensor> ZeroTensor(KernelContext& ctx, DType dtype, const Shape& shape) {
  NABLA_ASSIGN_OR_RETURN(Tensor zeros, ctx.AllocateTemp(dtype, shape));
  // Strings and variants begin as "" and nothing.
  if (IsPod(dtype)) {
    NABLA_RETURN_IF_ERROR(ZeroElements(ctx, dtype, zeros.num_elements(), zeros.raw_data()));
  }
  return zeros;
}

absl::StatusOr<Tensor> CutOut(KernelContext& ctx, const Tensor& from, int64_t at, const Shape& shape) {
  NABLA_ASSIGN_OR_RETURN(Tensor part, ctx.AllocateTemp(from.dtype(), shape));
  NABLA_RETURN_IF_ERROR(
      CopyRun(ctx, from.dtype(), part.num_elements(), ElementAt(from.dtype(), from.raw_data(), at), part.raw_data()));
  return part;
}

absl::Status Assemble(KernelContext& ctx, const std::vector<Piece>& pieces, Tensor* output) {
  const DType dtype = output->dtype();
  int64_t filled = 0;
  for (const Piece& piece : pieces) filled += piece.tensor->num_elements();
  if (filled < output->num_elements() && IsPod(dtype)) {
    NABLA_RETURN_IF_ERROR(ZeroElements(ctx, dtype, output->num_elements(), output->raw_data()));
  }
  const int64_t count = static_cast<int64_t>(pieces.size());
  const int64_t bytes = filled * static_cast<int64_t>(DTypeSize(dtype));
  if (!IsPod(dtype) || (count > 0 && bytes / count > kLargePiece)) {
    for (const Piece& piece : pieces) {
      NABLA_RETURN_IF_ERROR(CopyRun(ctx, dtype, piece.tensor->num_elements(), piece.tensor->raw_data(),
                                    ElementAt(dtype, output->raw_data(), piece.at)));
    }
    return absl::OkStatus();
  }
  const double cost = count == 0 ? 0 : 5 + 0.05 * static_cast<double>(bytes) / static_cast<double>(count);
  ctx.ParallelFor(count, cost, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Tensor& tensor = *pieces[i].tensor;
      std::memcpy(ElementAt(dtype, output->raw_data(), pieces[i].at), tensor.raw_data(), tensor.num_bytes());
    }
  });
  return absl::OkStatus();
}

}  // namespace nabla

// TensorArrayV3 and its kin.
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nabla/runtime/kernels/arguments.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/kernels/tensor_array.h"
#include "nabla/runtime/kernels/tensor_list_util.h"

namespace nabla {
namespace {

absl::StatusOr<TensorArray*> ArrayInput(const KernelContext& ctx) {
  const Tensor& handle = ctx.input(0);
  if (handle.num_elements() > 0) {
    if (auto* array = handle.data<ResourceHandle>()->get<TensorArray>()) return array;
  }
  return absl::InvalidArgumentError("the handle is not that of a tensor array");
}

absl::Status CheckDType(const TensorArray& array, DType dtype) {
  if (array.dtype() == dtype) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the tensor array '", array.name(), "' is of type ",
                                                 DTypeName(array.dtype()), ", read as ", DTypeName(dtype)));
}

// Handles have two elements, see ops/tensor_array_ops.cc.
Tensor Handle(std::shared_ptr<TensorArray> array) {
  std::string name = array->name();
  const ResourceHandle handle("", std::move(name), std::move(array));
  return Tensor::Vector<ResourceHandle>({handle, handle});
}

absl::Status CheckIndices(const Tensor& indices) {
  if (indices.rank() == 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("indices must be a vector, has shape ", indices.shape().ToString()));
}

absl::Status CheckRank(const Tensor& value) {
  if (value.rank() >= 1) return absl::OkStatus();
  return absl::InvalidArgumentError("value is a scalar, expected a tensor of rank 1 or more");
}

class ArrayKernel : public Kernel {
 public:
  explicit ArrayKernel(const KernelInit& init) {
    options_.name = init.attr<std::string>("tensor_array_name");
    if (options_.name.empty()) options_.name = init.node().name();
    options_.dtype = init.attr<DType>("dtype");
    options_.element_shape = init.attr<Shape>("element_shape");
    options_.dynamic_size = init.attr<bool>("dynamic_size");
    options_.clear_after_read = init.attr<bool>("clear_after_read");
    options_.identical_element_shapes = init.attr<bool>("identical_element_shapes");
  }
  absl::Status Compute(KernelContext& ctx) const override {
    NABLA_ASSIGN_OR_RETURN(const int64_t size, IntegerScalar(ctx.input(0), "size"));
    NABLA_ASSIGN_OR_RETURN(std::shared_ptr<TensorArray> array, TensorArray::Make(options_, size));
    ctx.SetOutput(0, Handle(std::move(array)));
    ctx.SetOutput(1, Tensor::Scalar(0.0f));
    return absl::OkStatus();
  }

 private:
  TensorArray::Options options_;
};

// Also of TensorArrayGradWithShape.
class ArrayGradKernel : public Kernel {
 public:
  explicit ArrayGradKernel(const KernelInit& init) : source_(init.attr<std::string>("source")) {}
  absl::Status Compute(KernelContext& ctx) const override {
    NABLA_ASSIGN_OR_RETURN(TensorArray * array, ArrayInput(ctx));
    Shape prefix = Shape::Scalar();
    if (ctx.num_inputs() > 2) {
      NABLA_ASSIGN_OR_RETURN(prefix, ShapeFromVector(ctx.input(2), "shape_to_prepend"));
    }
    NABLA_ASSIGN_OR_RETURN(std::shared_ptr<TensorArray> gradient, array->Gradient(source_, prefix));
    ctx.SetOutput(0, Handle(std::move(gradient)));
    ctx.SetOutput(1, ctx.input(1));
    return absl::OkStatus();
  }

 private:
  const std::string source_;
};

absl::Status SizeCompute(KernelContext& ctx) {
  NABLA_ASSIGN_OR_RETURN(const TensorArray* array, ArrayInput(ctx));
  NABLA_ASSIGN_OR_RETURN(Tensor * size, ctx.AllocateOutput(0, Shape::Scalar()));
  const int64_t count = array->size();
  return WriteIntegers({count}, size);
}

absl::Status CloseCompute(KernelContext& ctx) {
  NABLA_ASSIGN_OR_RETURN(TensorArray * array, ArrayInput(ctx));
  array->Close();
  return absl::OkStatus();
}

absl::Status WriteCompute(KernelContext& ctx) {
  NABLA_ASSIGN_OR_RETURN(TensorArray * array, ArrayInput(ctx));
  NABLA_ASSIGN_OR_RETURN(const int64_t index, IntegerScalar(ctx.input(1), "index"));
  NABLA_RETURN_IF_ERROR(array->Write(ctx, {static_cast<int32_t>(index)}, {ctx.input(2)}));
  ctx.SetOutput(0, ctx.input(3));
  return absl::OkStatus();
}

absl::Status ReadCompute(KernelContext& ctx) {
  NABLA_ASSIGN_OR_RETURN(TensorArray * array, ArrayInput(ctx));
  NABLA_RETURN_IF_ERROR(CheckDType(*array, ctx.output_dtype(0)));
  NABLA_ASSIGN_OR_RETURN(const int64_t index, IntegerScalar(ctx.input(1), "index"));
  NABLA_ASSIGN_OR_RETURN(std::vector<Tensor> values, array->Read(ctx, {static_cast<int32_t>(index)}));
  ctx.SetOutput(0, std::move(values[0]));
  return absl::OkStatus();
}

// The parts' shape, which is the same for all but for the first dimension if that is not `whole`.
absl::Status CheckParts(const std::vector<Tensor>& parts, int first_dim, Shape* shape) {
  for (const Tensor& part : parts) {
    if (part.rank() < first_dim) {
      return absl::InvalidArgumentError("the elements are scalars; only those of rank 1 or more can be concatenated");
    }
    const absl::StatusOr<Shape> merged = shape->MergeWith(Shape(part.shape().dims().subspan(first_dim)));
    if (!merged.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("the elements' shapes differ: one is ", part.shape().ToString(),
                                                     ", others fit ", shape->ToString()));
    }
    *shape = *merged;
  }
  if (shape->IsFullyDefined()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("there are no elements, and of their shape only ", shape->ToString(),
                                                 " is known, expected a fully defined one"));
}

// Puts the parts one after the other into output 0 of shape [rows] + rest.
absl::Status Join(KernelContext& ctx, const std::vector<Tensor>& parts, int64_t rows, const Shape& rest) {
  Shape shape = rest;
  shape.InsertDim(0, rows);
  NABLA_ASSIGN_OR_RETURN(shape, Shape::FromDims(shape.dims()));
  NABLA_ASSIGN_OR_RETURN(Tensor * output, ctx.AllocateOutput(0, shape));
  std::vector<Piece> pieces;
  int64_t at = 0;
  for (const Tensor& part : parts) {
    pieces.push_back({at, &part});
    at += part.num_elements();
  }
  return Assemble(ctx, pieces, output);
}

class ArrayGatherKernel : public Kernel {
 public:
  explicit ArrayGatherKernel(const KernelInit& init) : element_shape_(init.attr<Shape>("element_shape")) {}
  absl::Status Compute(KernelContext& ctx) const override {
    NABLA_ASSIGN_OR_RETURN(TensorArray * array, ArrayInput(ctx));
    NABLA_RETURN_IF_ERROR(CheckDType(*array, ctx.output_dtype(0)));
    NABLA_RETURN_IF_ERROR(CheckIndices(ctx.input(1)));
    NABLA_ASSIGN_OR_RETURN(const std::vector<Tensor> parts, array->Read(ctx, ctx.input(1).flat<int32_t>()));
    NABLA_ASSIGN_OR_RETURN(Shape shape, element_shape_.MergeWith(array->element_shape()));
    NABLA_RETURN_IF_ERROR(CheckParts(parts, 0, &shape));
    return Join(ctx, parts, static_cast<int64_t>(parts.size()), shape);
  }

 private:
  const Shape element_shape_;
};

class ArrayConcatKernel : public Kernel {
 public:
  explicit ArrayConcatKernel(const KernelInit& init) : rest_(init.attr<Shape>("element_shape_except0")) {}
  absl::Status Compute(KernelContext& ctx) const override {
    NABLA_ASSIGN_OR_RETURN(TensorArray * array, ArrayInput(ctx));
    NABLA_RETURN_IF_ERROR(CheckDType(*array, ctx.output_dtype(0)));
    NABLA_ASSIGN_OR_RETURN(const std::vector<Tensor> parts, array->ReadAll(ctx));
    Shape rest = rest_;
    NABLA_RETURN_IF_ERROR(CheckParts(parts, 1, &rest));
    NABLA_ASSIGN_OR_RETURN(Tensor * lengths, ctx.AllocateOutput(1, Shape({static_cast<int64_t>(parts.size())})));
    int64_t rows = 0;
    for (size_t i = 0; i < parts.size(); ++i) rows += lengths->data<int64_t>()[i] = parts[i].dim(0);
    return Join(ctx, parts, rows, rest);
  }

 private:
  const Shape rest_;
};

absl::Status ScatterCompute(KernelContext& ctx) {
  NABLA_ASSIGN_OR_RETURN(TensorArray * array, ArrayInput(ctx));
  const Tensor& indices = ctx.input(1);
  const Tensor& value = ctx.input(2);
  NABLA_RETURN_IF_ERROR(CheckIndices(indices));
  NABLA_RETURN_IF_ERROR(CheckRank(value));
  if (indices.dim(0) != value.dim(0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("indices has ", indices.dim(0), " elements, but value has shape ", value.shape().ToString()));
  }
  const Shape shape(value.shape().dims().subspan(1));
  const int64_t size = shape.num_elements();
  std::vector<Tensor> parts(indices.num_elements());
  for (size_t i = 0; i < parts.size(); ++i) {
    NABLA_ASSIGN_OR_RETURN(parts[i], CutOut(ctx, value, static_cast<int64_t>(i) * size, shape));
  }
  NABLA_RETURN_IF_ERROR(array->Write(ctx, indices.flat<int32_t>(), parts));
  ctx.SetOutput(0, ctx.input(3));
  return absl::OkStatus();
}

absl::Status SplitCompute(KernelContext& ctx) {
  NABLA_ASSIGN_OR_RETURN(TensorArray * array, ArrayInput(ctx));
  const Tensor& value = ctx.input(1);
  const Tensor& lengths = ctx.input(2);
  NABLA_RETURN_IF_ERROR(CheckRank(value));
  if (lengths.rank() != 1) {
    return absl::InvalidArgumentError(absl::StrCat("lengths must be a vector, has shape ", lengths.shape().ToString()));
  }
  Shape shape = value.shape();
  const int64_t row = value.dim(0) == 0 ? 0 : value.num_elements() / value.dim(0);
  std::vector<Tensor> parts;
  int64_t begin = 0;
  for (const int64_t rows : lengths.flat<int64_t>()) {
    if (rows < 0 || rows > value.dim(0) - begin) {
      return absl::InvalidArgumentError(
          absl::StrCat("a length is ", rows, " where ", value.dim(0) - begin, " of ", value.dim(0), " rows are left"));
    }
    shape.set_dim(0, rows);
    NABLA_ASSIGN_OR_RETURN(Tensor part, CutOut(ctx, value, begin * row, shape));
    parts.push_back(std::move(part));
    begin += rows;
  }
  if (begin != value.dim(0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the lengths add up to ", begin, ", but value has ", value.dim(0), " rows"));
  }
  NABLA_RETURN_IF_ERROR(array->WriteAll(ctx, parts));
  ctx.SetOutput(0, ctx.input(3));
  return absl::OkStatus();
}

}  // namespace

void RegisterTensorArrayKernels(KernelRegistry& registry) {
  registry.Add<ArrayKernel>("TensorArrayV3");
  registry.Add<ArrayGradKernel>("TensorArrayGradV3");
  registry.Add<ArrayGradKernel>("TensorArrayGradWithShape");
  registry.Add("TensorArraySizeV3", SizeCompute);
  registry.Add("TensorArrayCloseV3", CloseCompute);
  registry.Add("TensorArrayWriteV3", WriteCompute);
  registry.Add("TensorArrayReadV3", ReadCompute);
  registry.Add<ArrayGatherKernel>("TensorArrayGatherV3");
  registry.Add("TensorArrayScatterV3", ScatterCompute);
  registry.Add<ArrayConcatKernel>("TensorArrayConcatV3");
  registry.Add("TensorArraySplitV3", SplitCompute);
}

}  // namespace nabla

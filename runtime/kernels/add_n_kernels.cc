// AddN and AccumulateNV2: the sum of any number of tensors of one shape.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "nabla/runtime/kernels/binary_functors.h"
#include "nabla/runtime/kernels/binary_runner.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/kernels/narrow.h"
#include "nabla/runtime/kernels/reduction_parts.h"
#include "nabla/runtime/kernels/scalar_loops.h"
#include "nabla/runtime/kernels/simd_binary.h"
#include "nabla/runtime/kernels/tensor_list_math.h"
#include "nabla/runtime/kernels/tensor_sum.h"

namespace nabla {

const LoopsByDType<BinaryLoop>& AddLoops() {
  static const auto* const kLoops = [] {
    auto* loops = new LoopsByDType<BinaryLoop>;
    for (const SimdBinaryRow& row : SimdBinaryRows()) {
      if (std::strcmp(row.op, "AddV2") != 0) continue;
      loops->Set(DType::kFloat, row.float_loop);
      loops->Set(DType::kDouble, row.double_loop);
    }
    SetScalarBinary<binary_functors::IntAdd>(IntegerTypes(), *loops);
    SetScalarBinary<binary_functors::ComplexAdd>(ComplexTypes(), *loops);
    return loops;
  }();
  return *kLoops;
}

TensorSum::TensorSum(DType dtype)
    : loop_(AddLoops().Get(IsNarrow(dtype) ? DType::kFloat : dtype)),
      size_(static_cast<int64_t>(DTypeSize(dtype))),
      narrow_(IsNarrow(dtype) ? dtype : DType::kInvalid) {}

void TensorSum::Run(KernelContext& ctx, absl::Span<const char* const> inputs, int64_t n, char* out) const {
  ctx.ParallelFor(n, 0.1 * static_cast<double>(inputs.size()), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i += kBlock) AddBlock(inputs, i, std::min(kBlock, end - i), out + i * size_);
  });
}

void TensorSum::AddBlock(absl::Span<const char* const> inputs, int64_t at, int64_t n, char* out) const {
  if (narrow_ == DType::kInvalid) {
    loop_(inputs[0] + at * size_, inputs[1] + at * size_, out, n, BinaryKind::kVectorVector, 0);
    for (size_t i = 2; i < inputs.size(); ++i) {
      loop_(out, inputs[i] + at * size_, out, n, BinaryKind::kVectorVector, 0);
    }
    return;
  }
  float sum[kBlock];
  float term[kBlock];
  NarrowToFloat(narrow_, inputs[0] + at * size_, sum, n);
  for (size_t i = 1; i < inputs.size(); ++i) {
    NarrowToFloat(narrow_, inputs[i] + at * size_, term, n);
    loop_(sum, term, sum, n, BinaryKind::kVectorVector, 0);
  }
  FloatToNarrow(narrow_, sum, out, n);
}

namespace {

absl::Status CheckOneShape(const KernelContext& ctx) {
  const Shape& shape = ctx.input(0).shape();
  for (int i = 1; i < ctx.num_inputs(); ++i) {
    if (ctx.input(i).shape() == shape) continue;
    return absl::InvalidArgumentError(absl::StrCat("all inputs must have one shape; input 0 has ", shape.ToString(),
                                                   ", input ", i, " has ", ctx.input(i).shape().ToString()));
  }
  return absl::OkStatus();
}

class AddNKernel : public Kernel {
 public:
  explicit AddNKernel(const KernelInit& init) : sum_(init.output_dtype(0)) {
    if (!sum_.supported()) init.Fail(UnsupportedDType(init.output_dtype(0)));
  }

  absl::Status Compute(KernelContext& ctx) const override {
    const int count = ctx.num_inputs();
    NABLA_RETURN_IF_ERROR(CheckOneShape(ctx));
    if (count == 1) {
      ctx.SetOutput(0, ctx.input(0));
      return absl::OkStatus();
    }
    absl::InlinedVector<const char*, 8> inputs(count);
    // Only the first two, which every block reads before it writes.
    NABLA_ASSIGN_OR_RETURN(Tensor* const y, ctx.ForwardOrAllocateOutput({0, 1}, 0, ctx.input(0).shape()));
    for (int i = 0; i < count; ++i) inputs[i] = static_cast<const char*>(ctx.input(i).raw_data());
    sum_.Run(ctx, inputs, y->num_elements(), static_cast<char*>(y->raw_data()));
    return absl::OkStatus();
  }

 private:
  const TensorSum sum_;
};

// Of lists.
class AddVariantsKernel : public Kernel {
 public:
  absl::Status Compute(KernelContext& ctx) const override {
    NABLA_RETURN_IF_ERROR(CheckOneShape(ctx));
    return AddVariants(ctx);
  }
};

std::unique_ptr<Kernel> MakeAddN(const KernelInit& init) {
  if (init.output_dtype(0) == DType::kVariant) return std::make_unique<AddVariantsKernel>();
  return std::make_unique<AddNKernel>(init);
}

}  // namespace

void RegisterAddNKernels(KernelRegistry& registry) {
  registry.AddFactory("AddN", MakeAddN);
  registry.AddFactory("AccumulateNV2", MakeAddN);
}

}  // namespace nabla

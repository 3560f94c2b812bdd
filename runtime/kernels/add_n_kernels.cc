// AddN and AccumulateNV2: the sum of any number of tensors of one shape.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "nabla/runtime/kernels/binary_functors.h"
#include "nabla/runtime/kernels/binary_runner.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/kernels/narrow.h"
#include "nabla/runtime/kernels/reduction_parts.h"
#include "nabla/runtime/kernels/scalar_loops.h"
#include "nabla/runtime/kernels/simd_binary.h"

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

namespace {

class AddNKernel : public Kernel {
 public:
  explicit AddNKernel(const KernelInit& init) {
    const DType dtype = init.output_dtype(0);
    if (IsNarrow(dtype)) narrow_ = dtype;
    loop_ = AddLoops().Get(IsNarrow(dtype) ? DType::kFloat : dtype);
    if (loop_ == nullptr) init.Fail(UnsupportedDType(dtype));
    size_ = static_cast<int64_t>(DTypeSize(dtype));
  }

  absl::Status Compute(KernelContext& ctx) const override {
    const int count = ctx.num_inputs();
    const Shape& shape = ctx.input(0).shape();
    for (int i = 1; i < count; ++i) {
      if (ctx.input(i).shape() == shape) continue;
      return absl::InvalidArgumentError(absl::StrCat("all inputs must have one shape; input 0 has ", shape.ToString(),
                                                     ", input ", i, " has ", ctx.input(i).shape().ToString()));
    }
    if (count == 1) {
      ctx.SetOutput(0, ctx.input(0));
      return absl::OkStatus();
    }
    const int64_t n = ctx.input(0).num_elements();
    absl::InlinedVector<const char*, 8> inputs(count);
    // Only the first two, which every block reads before it writes.
    NABLA_ASSIGN_OR_RETURN(Tensor* const y, ctx.ForwardOrAllocateOutput({0, 1}, 0, shape));
    for (int i = 0; i < count; ++i) inputs[i] = static_cast<const char*>(ctx.input(i).raw_data());
    char* out = static_cast<char*>(y->raw_data());
    ctx.ParallelFor(n, 0.1 * count, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i += kBlock) {
        AddBlock(inputs, i, std::min(kBlock, end - i), out + i * size_);
      }
    });
    return absl::OkStatus();
  }

 private:
  // Elements that are summed over all inputs before the next ones: they stay in the first-level cache.
  static constexpr int64_t kBlock = 2048;

  void AddBlock(const absl::InlinedVector<const char*, 8>& inputs, int64_t at, int64_t n, char* out) const {
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

  BinaryLoop loop_ = nullptr;
  int64_t size_ = 0;
  DType narrow_ = DType::kInvalid;
};

}  // namespace

void RegisterAddNKernels(KernelRegistry& registry) {
  registry.Add<AddNKernel>("AddN");
  registry.Add<AddNKernel>("AccumulateNV2");
}

}  // namespace nabla

// Short ways to write down tensors and expectations about kernels.
#ifndef NABLA_TESTS_RUNTIME_KERNELS_TENSORS_H_
#define NABLA_TESTS_RUNTIME_KERNELS_TENSORS_H_

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "nabla/tests/runtime/kernels/run_op.h"

namespace nabla {

inline Tensor Ints(std::initializer_list<int32_t> values) { return Tensor::Vector<int32_t>(values); }
inline Tensor Int(int32_t value) { return Tensor::Scalar<int32_t>(value); }
inline Tensor Floats(Shape shape, std::initializer_list<float> values) {
  return Tensor::Of<float>(std::move(shape), values);
}

// 0, 1, 2, …
template <typename T>
Tensor Iota(Shape shape) {
  Tensor tensor(kDTypeOf<T>, std::move(shape));
  for (int64_t i = 0; i < tensor.num_elements(); ++i) tensor.data<T>()[i] = static_cast<T>(i);
  return tensor;
}

inline void ExpectTensor(const Tensor& got, const Tensor& want) {
  EXPECT_TRUE(BitwiseEqual(got, want)) << "got " << got.ToString() << "\nwant " << want.ToString();
}

// The op is refused with InvalidArgument and one line that has `text` in it.
inline void ExpectRefused(const std::string& text, const std::string& op, const std::vector<Tensor>& inputs,
                          const AttrMap& attrs = {}) {
  const absl::StatusOr<std::vector<Tensor>> outputs = RunOp(op, inputs, attrs);
  EXPECT_EQ(outputs.status().code(), absl::StatusCode::kInvalidArgument) << op << ": " << outputs.status();
  EXPECT_TRUE(absl::StrContains(outputs.status().message(), text)) << outputs.status();
  EXPECT_FALSE(absl::StrContains(outputs.status().message(), "\n")) << outputs.status();
}

}  // namespace nabla

#endif  // NABLA_TESTS_RUNTIME_KERNELS_TENSORS_H_

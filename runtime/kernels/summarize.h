// The first elements of a tensor as text, for Print and Assert.
#ifndef NABLA_RUNTIME_KERNELS_SUMMARIZE_H_
#define NABLA_RUNTIME_KERNELS_SUMMARIZE_H_

#include <cstdint>
#include <string>

#include "nabla/graph/tensor.h"

namespace nabla {

// "[1 2 3][4...]..." for the first 4 elements of a matrix: at most `max_elements` (all, if negative), inner dimensions
// in brackets, "..." where elements are left out. The outermost dimension has no brackets.
std::string Summarize(const Tensor& tensor, int64_t max_elements);

}  // namespace nabla

#endif  // NABLA_RUNTIME_KERNELS_SUMMARIZE_H_

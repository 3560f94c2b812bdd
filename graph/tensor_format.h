// Numbers as text, NumPy's and Python's way. Tensor::ToString and ValuesToString are built on these.
#ifndef NABLA_GRAPH_TENSOR_FORMAT_H_
#define NABLA_GRAPH_TENSOR_FORMAT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "nabla/graph/float16.h"

namespace nabla {

// The fewest digits that read back as the same value: "0.1", "-2", "1e+20", "inf", "nan".
std::string ShortestDigits(double value);
std::string ShortestDigits(float value);
std::string ShortestDigits(Half value);
std::string ShortestDigits(BFloat16 value);

// Python's spelling of a byte string: b'a\x00\n'.
std::string PythonBytes(absl::string_view bytes);

}  // namespace nabla

#endif  // NABLA_GRAPH_TENSOR_FORMAT_H_

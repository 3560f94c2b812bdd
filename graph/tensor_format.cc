#include "nabla/graph/tensor_format.h"

#include <charconv>

#include "nabla/graph/tensor.h"

namespace nabla {
std::string ShortestDigits(double value) { char b[64]; return std::string(b, std::to_chars(b, b + 64, value).ptr); }
std::string ShortestDigits(float value) { char b[64]; return std::string(b, std::to_chars(b, b + 64, value).ptr); }
std::string Tensor::ToString(int64_t) const { return ""; }
std::string Tensor::ValuesToString(int64_t) const { return ""; }
}

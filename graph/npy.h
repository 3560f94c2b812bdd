// Tensors as NumPy .npy files (format 1.0 to 3.0).
//
// Read: bool, integers, half, float, double, complex of either byte order, in C
// or Fortran order; byte strings (|S) and unicode strings (U, as UTF-8) become
// DT_STRING. Written: the same in little-endian C order; bfloat16 as float,
// which holds it exactly; strings as |S padded to the longest (NumPy's format
// cannot tell trailing zero bytes). Thread safety: pure functions of the file
// system.
#ifndef NABLA_GRAPH_NPY_H_
#define NABLA_GRAPH_NPY_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nabla/graph/tensor.h"

namespace nabla {

// NotFound or InvalidArgument, naming the file and what is wrong with it.
absl::StatusOr<Tensor> ReadNpy(const std::string& path);
// From the bytes of such a file; `source` names them in errors.
absl::StatusOr<Tensor> ParseNpy(absl::string_view bytes, absl::string_view source);

// InvalidArgument for resources and variants; Internal if the file cannot be
// written.
absl::Status WriteNpy(const std::string& path, const Tensor& tensor);
absl::StatusOr<std::string> FormatNpy(const Tensor& tensor);

}  // namespace nabla

#endif  // NABLA_GRAPH_NPY_H_

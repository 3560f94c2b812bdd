// The gzipped IDX files in which MNIST-like data sets come.
#ifndef NABLA_EXAMPLES_IDX_H_
#define NABLA_EXAMPLES_IDX_H_

#include <string>

#include "absl/status/statusor.h"
#include "nabla/graph/tensor.h"

namespace nabla::examples {

// A uint8 tensor: [n, rows, columns] for images, [n] for labels. NotFound or InvalidArgument, naming the file.
absl::StatusOr<Tensor> ReadIdx(const std::string& path);

}  // namespace nabla::examples

#endif  // NABLA_EXAMPLES_IDX_H_

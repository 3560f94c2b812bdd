#include "nabla/examples/idx.h"

#include <zlib.h>

#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nabla/graph/status_macros.h"

namespace nabla::examples {
namespace {

// The type byte of IDX for unsigned bytes.
constexpr uint8_t kUnsignedByte = 0x08;

bool ReadFully(gzFile file, void* buffer, int64_t size) {
  char* at = static_cast<char*>(buffer);
  while (size > 0) {
    int n = gzread(file, at, static_cast<unsigned>(std::min<int64_t>(size, 1 << 20)));
    if (n <= 0) return false;
    at += n;
    size -= n;
  }
  return true;
}

}  // namespace

absl::StatusOr<Tensor> ReadIdx(const std::string& path) {
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (file == nullptr) {
    return absl::NotFoundError(
        absl::StrCat(path, ": cannot be opened (is the package dataset-fashion-mnist installed?)"));
  }
  uint8_t magic[4];
  if (!ReadFully(file.get(), magic, 4) || magic[0] != 0 || magic[1] != 0 || magic[2] != kUnsignedByte) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": not an IDX file of bytes"));
  }
  std::vector<int64_t> dims;
  for (int i = 0; i < magic[3]; ++i) {
    uint8_t b[4];
    if (!ReadFully(file.get(), b, 4)) return absl::InvalidArgumentError(absl::StrCat(path, ": the header is cut off"));
    dims.push_back(static_cast<int64_t>(b[0]) << 24 | b[1] << 16 | b[2] << 8 | b[3]);
  }
  NABLA_ASSIGN_OR_RETURN(Shape shape, Shape::FromDims(dims));
  NABLA_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(DType::kUInt8, shape));
  if (!ReadFully(file.get(), tensor.raw_data(), tensor.num_elements())) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": cut off, expected ", tensor.num_elements(), " elements"));
  }
  return tensor;
}

}  // namespace nabla::examples

// A folder of texts as a data set for character models.
#ifndef NABLA_EXAMPLES_CORPUS_H_
#define NABLA_EXAMPLES_CORPUS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace nabla::examples {

struct Corpus {
  // Each byte that occurs in the texts, in order: a character's number is its place here.
  std::string characters;
  // The texts, one after the other, as such numbers: of each its beginning, and the rest.
  std::vector<int32_t> train;
  std::vector<int32_t> validation;
};

// Reads the files of `folder` (symbolic links are left out) in the order of their names, of each no more than `limit`
// bytes, and keeps the last `validation_share` of each for validation. NotFound or InvalidArgument, naming the folder
// or file; InvalidArgument also if one of the two has less than two characters.
absl::StatusOr<Corpus> ReadCorpus(const std::string& folder, double validation_share, int64_t limit = INT64_MAX);

}  // namespace nabla::examples

#endif  // NABLA_EXAMPLES_CORPUS_H_

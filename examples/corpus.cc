#include "nabla/examples/corpus.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"

namespace nabla::examples {

absl::StatusOr<Corpus> ReadCorpus(const std::string& folder, double validation_share, int64_t limit) {
  std::error_code error;
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.is_regular_file() && !entry.is_symlink()) paths.push_back(entry.path().string());
  }
  if (error) return absl::NotFoundError(absl::StrCat(folder, ": cannot be read: ", error.message()));
  std::sort(paths.begin(), paths.end());

  std::string train, validation;
  for (const std::string& path : paths) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    if (!file) return absl::NotFoundError(absl::StrCat(path, ": cannot be read"));
    const std::string all = text.str().substr(0, static_cast<size_t>(limit));
    const size_t kept = static_cast<size_t>(static_cast<double>(all.size()) * (1 - validation_share));
    train += all.substr(0, kept);
    validation += all.substr(kept);
  }
  if (train.size() < 2 || validation.size() < 2) {
    return absl::InvalidArgumentError(absl::StrCat(folder, ": its files are too short: ", train.size(),
                                                   " characters to train with and ", validation.size(),
                                                   " to validate with"));
  }

  std::array<int32_t, 256> number;
  number.fill(-1);
  for (const std::string* text : {&train, &validation}) {
    for (const char c : *text) number[static_cast<uint8_t>(c)] = 0;
  }
  Corpus corpus;
  for (int c = 0; c < 256; ++c) {
    if (number[c] < 0) continue;
    number[c] = static_cast<int32_t>(corpus.characters.size());
    corpus.characters.push_back(static_cast<char>(c));
  }
  for (const char c : train) corpus.train.push_back(number[static_cast<uint8_t>(c)]);
  for (const char c : validation) corpus.validation.push_back(number[static_cast<uint8_t>(c)]);
  return corpus;
}

}  // namespace nabla::examples

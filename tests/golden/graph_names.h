// The golden graphs that a folder has.
#ifndef NABLA_TESTS_GOLDEN_GRAPH_NAMES_H_
#define NABLA_TESTS_GOLDEN_GRAPH_NAMES_H_

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace nabla {

// The names of the .pb files in tests/golden/`folder`, without the ending, sorted; none if there is no such folder.
inline std::vector<std::string> GoldenGraphNames(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("tests/golden/" + folder, error)) {
    if (entry.path().extension() == ".pb") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace nabla

#endif  // NABLA_TESTS_GOLDEN_GRAPH_NAMES_H_

// "Did you mean …": names that resemble one that was not found.
#ifndef NABLA_GRAPH_SIMILAR_NAMES_H_
#define NABLA_GRAPH_SIMILAR_NAMES_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace nabla {

// The least number of insertions, deletions and replacements of a letter that turn `a` into `b`, a difference in case
// counting nothing; `limit` + 1 if it is more than `limit`. Takes O(limit * length).
int EditDistance(absl::string_view a, absl::string_view b, int limit);

// Collects the best few of the names it is shown. Thread-compatible.
class SimilarNames {
 public:
  explicit SimilarNames(absl::string_view wanted, int max_results = 3);
  void Consider(absl::string_view candidate);
  // Best first, ties in the order of the alphabet.
  std::vector<std::string> Take();

 private:
  absl::string_view wanted_;
  int limit_;
  size_t max_results_;
  std::vector<std::pair<int, std::string>> best_;  // sorted
};

// "; did you mean 'a', 'b' or 'c'?", or "" if there are none.
std::string DidYouMean(const std::vector<std::string>& names);

}  // namespace nabla

#endif  // NABLA_GRAPH_SIMILAR_NAMES_H_

#include "nabla/graph/similar_names.h"

#include <algorithm>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace nabla {
namespace {

// Longer names come from broken files rather than from slips of the finger.
constexpr size_t kMaxLength = 256;

}  // namespace

int EditDistance(absl::string_view a, absl::string_view b, int limit) {
  const int n = static_cast<int>(std::min(a.size(), kMaxLength + 1));
  const int m = static_cast<int>(std::min(b.size(), kMaxLength + 1));
  const int over = limit + 1;
  if (n > static_cast<int>(kMaxLength) || m > static_cast<int>(kMaxLength)) return over;
  if (std::abs(n - m) > limit) return over;
  // One row of the classic table, of which only the cells within `limit` of the diagonal can matter.
  int row[kMaxLength + 1];
  for (int j = 0; j <= m; ++j) row[j] = j <= limit ? j : over;
  for (int i = 1; i <= n; ++i) {
    const int first = std::max(1, i - limit);
    const int last = std::min(m, i + limit);
    int diagonal = row[first - 1];
    row[first - 1] = first == 1 && i <= limit ? i : over;
    int best = row[first - 1];
    for (int j = first; j <= last; ++j) {
      const bool same = absl::ascii_tolower(a[i - 1]) == absl::ascii_tolower(b[j - 1]);
      // The cell above the band's right end was not computed for this row's predecessor.
      const int above = j == i + limit ? over : row[j];
      const int cell = std::min({diagonal + (same ? 0 : 1), above + 1, row[j - 1] + 1, over});
      diagonal = row[j];
      row[j] = cell;
      best = std::min(best, cell);
    }
    if (best >= over) return over;
  }
  return std::min(row[m], over);
}

SimilarNames::SimilarNames(absl::string_view wanted, int max_results)
    : wanted_(wanted),
      limit_(static_cast<int>(std::clamp<size_t>(wanted.size() / 3, 1, 4))),
      max_results_(static_cast<size_t>(max_results)) {
  if (wanted.empty() || wanted.size() > kMaxLength) limit_ = -1;
}

void SimilarNames::Consider(absl::string_view candidate) {
  if (limit_ < 0) return;
  const int limit = best_.size() == max_results_ ? std::min(limit_, best_.back().first) : limit_;
  const int distance = EditDistance(wanted_, candidate, limit);
  if (distance > limit) return;
  std::pair<int, std::string> entry(distance, std::string(candidate));
  best_.insert(std::upper_bound(best_.begin(), best_.end(), entry), std::move(entry));
  if (best_.size() > max_results_) best_.pop_back();
}

std::vector<std::string> SimilarNames::Take() {
  std::vector<std::string> names;
  for (auto& [distance, name] : best_) names.push_back(std::move(name));
  best_.clear();
  return names;
}

std::string DidYouMean(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    const char* before = i == 0 ? "; did you mean " : i + 1 < names.size() ? ", " : " or ";
    absl::StrAppend(&text, before, "'", names[i], "'");
  }
  if (!text.empty()) text += "?";
  return text;
}

}  // namespace nabla

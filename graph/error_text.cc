#include "nabla/graph/error_text.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace nabla {

std::string Quoted(absl::string_view text) {
  constexpr size_t kLongest = 200;
  if (text.size() <= kLongest) return absl::StrCat("'", absl::Utf8SafeCHexEscape(text), "'");
  return absl::StrCat("'", absl::CHexEscape(text.substr(0, kLongest / 2)), "...",
                      absl::CHexEscape(text.substr(text.size() - kLongest / 4)), "' (", text.size(), " characters)");
}

absl::Status WithContext(absl::string_view context, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(context, ": ", status.message()));
}

}  // namespace nabla

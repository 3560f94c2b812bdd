#include "nabla/graph/error_text.h"

#include <google/protobuf/stubs/common.h>

#include "absl/strings/str_cat.h"

namespace nabla {

std::string OneLine(absl::string_view text) {
  constexpr size_t kLongest = 200;
  if (text.size() > kLongest) {
    return absl::StrCat(OneLine(text.substr(0, kLongest / 2)), "...", OneLine(text.substr(text.size() - kLongest / 4)),
                        " (", text.size(), " characters)");
  }
  const bool is_utf8 = google::protobuf::internal::IsStructurallyValidUTF8(text.data(), static_cast<int>(text.size()));
  std::string line;
  for (const char c : text) {
    if (c == '\n') {
      line += "\\n";
    } else if (static_cast<unsigned char>(c) < ' ' || c == 0x7f || (!is_utf8 && static_cast<unsigned char>(c) > 0x7f)) {
      absl::StrAppend(&line, "\\x", absl::Hex(static_cast<unsigned char>(c), absl::kZeroPad2));
    } else {
      line += c;
    }
  }
  return line;
}

std::string Quoted(absl::string_view text) { return absl::StrCat("'", OneLine(text), "'"); }

absl::Status WithContext(absl::string_view context, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(context, ": ", status.message()));
}

}  // namespace nabla

// How names from untrusted input appear in errors: on one line, and not too long.
#ifndef NABLA_GRAPH_ERROR_TEXT_H_
#define NABLA_GRAPH_ERROR_TEXT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace nabla {

// The text with escapes for what is no printable character (\n, \x1b), the middle of a long one left out.
std::string OneLine(absl::string_view text);
// The same in quotes: 'name'.
std::string Quoted(absl::string_view text);
// The same code, and the message with "context: " before it. OK stays OK.
absl::Status WithContext(absl::string_view context, const absl::Status& status);

}  // namespace nabla

#endif  // NABLA_GRAPH_ERROR_TEXT_H_

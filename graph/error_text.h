// How names from untrusted input appear in errors: on one line, and not too long.
#ifndef NABLA_GRAPH_ERROR_TEXT_H_
#define NABLA_GRAPH_ERROR_TEXT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace nabla {

// 'name', with C escapes for what is no printable character; the middle of a long one is left out.
std::string Quoted(absl::string_view text);
// The same code, and the message with "context: " before it. OK stays OK.
absl::Status WithContext(absl::string_view context, const absl::Status& status);

}  // namespace nabla

#endif  // NABLA_GRAPH_ERROR_TEXT_H_

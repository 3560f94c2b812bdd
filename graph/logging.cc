#include "nabla/graph/logging.h"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace nabla {

bool LogEnabled(LogLevel level) {
  static const int verbosity = [] {
    const char* text = std::getenv("NABLA_VERBOSITY");
    if (text == nullptr || *text == '\0') return static_cast<int>(LogLevel::WARNING);
    return std::atoi(text);
  }();
  return static_cast<int>(level) <= verbosity;
}

LogMessage::~LogMessage() {
  static constexpr const char* kPrefixes[] = {"error: ", "warning: ", "", "debug: "};
  const std::string line = std::string("nabla: ") +
                           kPrefixes[static_cast<int>(level_) - static_cast<int>(LogLevel::ERROR)] + stream_.str() +
                           "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace nabla

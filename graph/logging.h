// Messages for whoever runs the program, on stderr.
//
//   NABLA_LOG(WARNING) << "densifying a gradient of " << n << " elements";
//
// The environment variable NABLA_VERBOSITY says what is written: -1 errors, 0 warnings too (the default), 1 what is
// done too (each op's gradients, say), 2 everything. What is not written is not formatted either. A message is one
// write, so lines of different threads do not mix. Thread-safe.
#ifndef NABLA_GRAPH_LOGGING_H_
#define NABLA_GRAPH_LOGGING_H_

#include <sstream>

namespace nabla {

enum class LogLevel { ERROR = -1, WARNING = 0, INFO = 1, DEBUG = 2 };

// NABLA_VERBOSITY, read once.
bool LogEnabled(LogLevel level);

// One message: gathers what is streamed into it and writes it when it dies.
class LogMessage {
 public:
  explicit LogMessage(LogLevel level) : level_(level) {}
  ~LogMessage();
  LogMessage(const LogMessage&) = delete;
  LogMessage& operator=(const LogMessage&) = delete;
  std::ostream& stream() { return stream_; }

 private:
  LogLevel level_;
  std::ostringstream stream_;
};

}  // namespace nabla

// A for statement, unlike an if, cannot capture somebody's else.
#define NABLA_LOG(level)                                                                             \
  for (bool nabla_log = ::nabla::LogEnabled(::nabla::LogLevel::level); nabla_log; nabla_log = false) \
  ::nabla::LogMessage(::nabla::LogLevel::level).stream()

#endif  // NABLA_GRAPH_LOGGING_H_

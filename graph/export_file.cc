// Graphs into files.
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "nabla/graph/error_text.h"
#include "nabla/graph/export_walk.h"
#include "nabla/graph/status_macros.h"

namespace nabla {
namespace {

using Writer = absl::Status (*)(const Graph& graph, const ExportOptions& options, std::ostream& out);

struct Format {
  absl::string_view extension;
  Writer write;
};
constexpr Format kFormats[] = {
    {".pb", ExportGraphDefStream},
    {".pbtxt", WriteGraphText},
    {".json", WriteGraphJson},
    {".dot", WriteGraphDot},
};

// nullptr if the name gives no format.
Writer WriterFor(absl::string_view path) {
  for (const Format& format : kFormats) {
    if (absl::EndsWithIgnoreCase(path, format.extension)) return format.write;
  }
  return nullptr;
}

}  // namespace

absl::Status CheckGraphFileName(absl::string_view path) {
  if (WriterFor(path) != nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": the name gives no format, expected it to end in .pb, .pbtxt, .json or .dot"));
}

absl::Status ExportGraphFile(const Graph& graph, const ExportOptions& options, const std::string& path) {
  NABLA_RETURN_IF_ERROR(CheckGraphFileName(path));
  const Writer write = WriterFor(path);
  static std::atomic<int> counter{0};
  const std::string unfinished = absl::StrCat(path, ".", getpid(), "-", counter++, ".tmp");
  const auto system_error = [&](const char* what) {
    return absl::UnknownError(absl::StrCat(path, ": ", what, ": ", strerror(errno)));
  };
  absl::Status status;
  {
    // The buffer outlives the stream that uses it.
    constexpr size_t kBuffer = 1 << 20;
    const std::unique_ptr<char[]> buffer(new char[kBuffer]);
    std::ofstream out;
    out.rdbuf()->pubsetbuf(buffer.get(), kBuffer);
    out.open(unfinished, std::ios::binary | std::ios::trunc);
    if (!out) return system_error("cannot be created");
    const auto lock = graph.Lock();
    status = WithContext(path, write(graph, options, out));
    out.close();
    if (status.ok() && !out) status = system_error("cannot be written");
  }
  if (status.ok() && rename(unfinished.c_str(), path.c_str()) != 0) status = system_error("cannot be written");
  if (!status.ok()) unlink(unfinished.c_str());
  return status;
}

}  // namespace nabla

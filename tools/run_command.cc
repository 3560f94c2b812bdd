// nabla run: feeds a graph, runs it, prints and writes what was fetched.
#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "nabla/graph/import.h"
#include "nabla/graph/npy.h"
#include "nabla/graph/status_macros.h"
#include "nabla/runtime/session.h"
#include "nabla/runtime/trace.h"
#include "nabla/tools/command.h"
#include "nabla/tools/feed.h"

namespace nabla::tools {
namespace {

// A tensor's name as a file's: no '/' or ':'.
std::string FileName(std::string name) {
  std::replace(name.begin(), name.end(), '/', '_');
  std::replace(name.begin(), name.end(), ':', '_');
  return name + ".npy";
}

// Prints the value under the name that was asked for.
void Print(const std::string& name, const Tensor& value) {
  std::printf("%s: %s %s\n%s\n", name.c_str(), std::string(DTypeName(value.dtype())).c_str(),
              value.shape().ToString().c_str(), value.ValuesToString().c_str());
}

absl::Status CheckUsage(const RunFlags& flags) {
  if (flags.fetches.empty() && flags.targets.empty()) return UsageError("run needs --fetch or --target");
  if (flags.repeat < 1) return UsageError("--repeat must be at least 1");
  if (flags.threads < 0) return UsageError("--threads must not be negative");
  if (flags.out.empty()) return absl::OkStatus();
  if (flags.fetches.empty()) return UsageError("--out needs --fetch: only what is fetched is written");
  absl::flat_hash_map<std::string, std::string> names;
  for (const std::string& fetch : flags.fetches) {
    const auto [other, added] = names.try_emplace(FileName(fetch), fetch);
    if (added || other->second == fetch) continue;
    return UsageError(absl::StrCat("--out ", flags.out, ": ", other->second, " and ", fetch,
                                   " would both be written to ", FileName(fetch), "; fetch them in two runs"));
  }
  return absl::OkStatus();
}

// Finds out before a long run what could not be written after it.
absl::Status PrepareFiles(const RunFlags& flags) {
  std::error_code error;
  if (!flags.trace.empty()) {
    const std::filesystem::path folder = std::filesystem::absolute(flags.trace).parent_path();
    const bool is_folder = std::filesystem::is_directory(flags.trace, error);
    if (is_folder || access(folder.c_str(), W_OK) != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("--trace ", flags.trace, ": cannot be written: ",
                       is_folder ? "is a directory" : absl::StrCat(folder.string(), ": ", std::strerror(errno))));
    }
  }
  if (flags.out.empty()) return absl::OkStatus();
  std::filesystem::create_directories(flags.out, error);
  if (!error && access(flags.out.c_str(), W_OK) != 0) error = std::error_code(errno, std::generic_category());
  if (!error && !std::filesystem::is_directory(flags.out)) error = std::make_error_code(std::errc::not_a_directory);
  if (error) return absl::InvalidArgumentError(absl::StrCat(flags.out, ": cannot be made: ", error.message()));
  return absl::OkStatus();
}

absl::Status WriteAll(const RunFlags& flags, const std::vector<Tensor>& values) {
  for (size_t i = 0; i < values.size(); ++i) {
    absl::Status status = WriteNpy(absl::StrCat(flags.out, "/", FileName(flags.fetches[i])), values[i]);
    if (!status.ok()) return absl::Status(status.code(), absl::StrCat(flags.fetches[i], ": ", status.message()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RunCommand(const RunFlags& flags) {
  NABLA_RETURN_IF_ERROR(CheckUsage(flags));
  Graph graph;
  NABLA_RETURN_IF_ERROR(ImportGraphDefFile(flags.graph, {}, &graph));
  NABLA_ASSIGN_OR_RETURN(Feeds feeds, ParseFeeds(graph, flags.feeds));
  NABLA_ASSIGN_OR_RETURN(Outputs fetches, FindOutputs(graph, flags.fetches));
  NABLA_ASSIGN_OR_RETURN(std::vector<Node*> targets, FindNodes(graph, flags.targets));
  NABLA_RETURN_IF_ERROR(PrepareFiles(flags));
  Session session(&graph, {.num_threads = flags.threads});
  std::vector<Tensor> values;
  Trace trace;
  RunOptions options;
  if (!flags.trace.empty()) options.trace = &trace;
  std::vector<double> milliseconds;
  for (int i = 0; i < flags.repeat; ++i) {
    const auto start = std::chrono::steady_clock::now();
    NABLA_RETURN_IF_ERROR(session.Run(feeds, fetches, targets, &values, options));
    milliseconds.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  for (size_t i = 0; i < values.size(); ++i) Print(flags.fetches[i], values[i]);
  if (flags.repeat > 1) {
    std::fprintf(stderr, "%d runs: first %.3f ms", flags.repeat, milliseconds[0]);
    std::sort(milliseconds.begin(), milliseconds.end());
    std::fprintf(stderr, ", median %.3f ms, fastest %.3f ms\n", milliseconds[milliseconds.size() / 2], milliseconds[0]);
  }
  if (!flags.out.empty()) NABLA_RETURN_IF_ERROR(WriteAll(flags, values));
  if (!flags.trace.empty()) NABLA_RETURN_IF_ERROR(trace.WriteFile(flags.trace));
  return absl::OkStatus();
}

}  // namespace nabla::tools

#include "nabla/runtime/trace.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "nabla/graph/graph.h"
#include "nabla/graph/passes/pipeline.h"
#include "nabla/graph/tensor.h"

namespace nabla {
namespace {

constexpr int kCompilerRow = 0;

void AppendJsonString(absl::string_view text, std::string* json) {
  json->push_back('"');
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      json->push_back('\\');
      json->push_back(c);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      absl::StrAppendFormat(json, "\\u%04x", c);
    } else {
      json->push_back(c);
    }
  }
  json->push_back('"');
}

int64_t ThisThread() {
  thread_local const int64_t id = syscall(SYS_gettid);
  return id;
}

}  // namespace

std::string Trace::Describe(const Tensor* const* tensors, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    absl::StrAppend(&text, i > 0 ? ", " : "", DTypeName(tensors[i]->dtype()), tensors[i]->shape().ToString());
  }
  return text;
}

int Trace::RowOfThisThread() {
  auto [it, added] = row_of_thread_.try_emplace(ThisThread(), static_cast<int>(row_names_.size()) + 1);
  if (added) {
    char name[16] = "";
    pthread_getname_np(pthread_self(), name, sizeof(name));
    row_names_.push_back(absl::StrCat(name, " (thread ", ThisThread(), ")"));
  }
  return it->second;
}

void Trace::Add(Event event, Clock::time_point start, Clock::time_point end) {
  event.start = std::chrono::duration<double, std::micro>(start - begin_).count();
  event.duration = std::chrono::duration<double, std::micro>(end - start).count();
  std::lock_guard<std::mutex> lock(mutex_);
  event.row = RowOfThisThread();
  events_.push_back(std::move(event));
}

void Trace::AddNode(const Node& node, Clock::time_point start, Clock::time_point end, std::string inputs,
                    std::string outputs) {
  Event event{.name = node.name(), .category = "node"};
  event.args = {{"op", node.op()}, {"inputs", std::move(inputs)}, {"outputs", std::move(outputs)}};
  Add(std::move(event), start, end);
}

void Trace::AddPart(const Node& node, Clock::time_point start, Clock::time_point end) {
  Event event{.name = absl::StrCat(node.name(), " (part)"), .category = "part"};
  event.args = {{"op", node.op()}};
  Add(std::move(event), start, end);
}

void Trace::AddRun(Clock::time_point start, Clock::time_point end) {
  Add(Event{.name = "run", .category = "run"}, start, end);
}

void Trace::AddPasses(const std::vector<PassRecord>& passes) {
  // Passes are timed by the wall clock; this is where the two clocks stand now.
  const absl::Time wall_now = absl::Now();
  const Clock::time_point now = Clock::now();
  std::lock_guard<std::mutex> lock(mutex_);
  for (const PassRecord& pass : passes) {
    Event event{.name = pass.name, .category = "pass", .row = kCompilerRow};
    event.start = std::chrono::duration<double, std::micro>(now - begin_).count() -
                  absl::ToDoubleMicroseconds(wall_now - pass.start);
    event.start = std::max(0.0, event.start);
    event.duration = absl::ToDoubleMicroseconds(pass.duration);
    event.args = {{"nodes_before", absl::StrCat(pass.nodes_before)}, {"nodes_after", absl::StrCat(pass.nodes_after)}};
    events_.push_back(std::move(event));
  }
}

size_t Trace::num_events() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return events_.size();
}

std::string Trace::ToJson() const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::string json = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
  auto name_row = [&](int row, absl::string_view name) {
    absl::StrAppend(&json, "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":", row, ",\"args\":{\"name\":");
    AppendJsonString(name, &json);
    absl::StrAppend(&json, "}},\n{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":1,\"tid\":", row,
                    ",\"args\":{\"sort_index\":", row, "}}");
  };
  name_row(kCompilerRow, "compiler passes");
  for (size_t i = 0; i < row_names_.size(); ++i) {
    json += ",\n";
    name_row(static_cast<int>(i) + 1, row_names_[i]);
  }
  for (const Event& event : events_) {
    json += ",\n{\"ph\":\"X\",\"name\":";
    AppendJsonString(event.name, &json);
    absl::StrAppendFormat(&json, ",\"cat\":\"%s\",\"pid\":1,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,\"args\":{",
                          event.category, event.row, event.start, event.duration);
    for (size_t i = 0; i < event.args.size(); ++i) {
      absl::StrAppend(&json, i > 0 ? "," : "", "\"", event.args[i].first, "\":");
      AppendJsonString(event.args[i].second, &json);
    }
    json += "}}";
  }
  json += "\n]}\n";
  return json;
}

absl::Status Trace::WriteFile(const std::string& path) const {
  const std::string json = ToJson();
  std::FILE* file = std::fopen(path.c_str(), "wb");
  bool ok = file != nullptr;
  if (ok) {
    ok = std::fwrite(json.data(), 1, json.size(), file) == json.size();
    ok = std::fclose(file) == 0 && ok;
  }
  if (!ok) return absl::UnavailableError(absl::StrCat("cannot write trace '", path, "': ", std::strerror(errno)));
  return absl::OkStatus();
}

}  // namespace nabla

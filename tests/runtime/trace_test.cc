#include "nabla/runtime/trace.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nabla/runtime/session.h"
#include "nabla/tests/runtime/test_ops.h"

namespace nabla {
namespace {

using ::nabla::testing::Attrs;
using ::nabla::testing::Call;
using ::nabla::testing::Constant;
using ::nabla::testing::Placeholder;
using ::testing::HasSubstr;

// As much of JSON as a trace needs.
struct Json {
  std::string text;
  double number = 0;
  std::map<std::string, Json> fields;
  std::vector<Json> items;
  const Json& operator[](const std::string& name) const { return fields.at(name); }
};

class JsonReader {
 public:
  explicit JsonReader(const std::string& json) : rest_(json) {}
  // False if that is not one JSON value.
  bool Read(Json* value) { return ReadValue(value) && (Skip(), rest_.empty()); }

 private:
  void Skip() { rest_.remove_prefix(std::min(rest_.size(), rest_.find_first_not_of(" \n"))); }
  bool Take(char c) {
    Skip();
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool ReadString(std::string* text) {
    if (!Take('"')) return false;
    while (!rest_.empty() && rest_[0] != '"') {
      if (static_cast<unsigned char>(rest_[0]) < 0x20) return false;
      if (rest_[0] == '\\') {
        rest_.remove_prefix(1);
        if (rest_[0] == 'u') {
          text->push_back(static_cast<char>(std::stoi(std::string(rest_.substr(1, 4)), nullptr, 16)));
          rest_.remove_prefix(5);
          continue;
        }
      }
      text->push_back(rest_[0]);
      rest_.remove_prefix(1);
    }
    return Take('"');
  }
  bool ReadValue(Json* value) {
    Skip();
    if (rest_.empty()) return false;
    if (rest_[0] == '"') return ReadString(&value->text);
    if (Take('{')) {
      if (Take('}')) return true;
      do {
        std::string name;
        Skip();
        if (!ReadString(&name) || !Take(':') || !ReadValue(&value->fields[name])) return false;
      } while (Take(','));
      return Take('}');
    }
    if (Take('[')) {
      do {
        if (!ReadValue(&value->items.emplace_back())) return false;
      } while (Take(','));
      return Take(']');
    }
    size_t length = 0;
    value->number = std::stod(std::string(rest_.substr(0, 40)), &length);
    rest_.remove_prefix(length);
    return length > 0;
  }

  std::string_view rest_;
};

class TraceTest : public ::testing::Test {
 protected:
  TraceTest() : scope_(&graph_) { nabla::testing::RegisterTestOps(); }

  // Parses the trace and returns its events.
  static std::vector<Json> Events(const std::string& json) {
    Json trace;
    EXPECT_TRUE(JsonReader(json).Read(&trace)) << json;
    return trace["traceEvents"].items;
  }
  static const Json* Find(const std::vector<Json>& events, const std::string& name) {
    for (const Json& event : events) {
      if (event["name"].text == name) return &event;
    }
    return nullptr;
  }

  Graph graph_;
  Scope scope_;
};

TEST_F(TraceTest, RecordsNodesPassesAndTheRun) {
  const Output x = Placeholder(scope_, "x", Shape({kUnknownDim}));
  const Output c = Constant(scope_, Tensor::Vector<float>({1, 2}));
  const Output y = Call(scope_.Sub("layer").Named("sum"), "Add", {x, c});
  Session session(&graph_);
  Trace trace;
  std::vector<Tensor> out;
  RunOptions options;
  options.trace = &trace;
  ASSERT_TRUE(session.Run({{x, Tensor::Vector<float>({3, 4})}}, {y}, {}, &out, options).ok());
  const std::vector<Json> events = Events(trace.ToJson());
  const Json* node = Find(events, "layer/sum");
  ASSERT_NE(node, nullptr);
  EXPECT_EQ((*node)["ph"].text, "X");
  EXPECT_EQ((*node)["cat"].text, "node");
  EXPECT_GE((*node)["dur"].number, 0);
  const Json& args = (*node)["args"];
  EXPECT_EQ(args["op"].text, "Add");
  EXPECT_EQ(args["inputs"].text, "float[2], float[2]");
  EXPECT_EQ(args["outputs"].text, "float[2]");
  const Json* run = Find(events, "run");
  ASSERT_NE(run, nullptr);
  EXPECT_LE((*run)["ts"].number, (*node)["ts"].number);
  EXPECT_GE((*run)["ts"].number + (*run)["dur"].number, (*node)["ts"].number + (*node)["dur"].number);
  EXPECT_EQ((*run)["tid"].number, (*node)["tid"].number);
  const Json* pass = Find(events, "constant_fold");
  ASSERT_NE(pass, nullptr);
  EXPECT_NE((*pass)["tid"].number, (*node)["tid"].number);
  // The second run compiles nothing.
  Trace second;
  options.trace = &second;
  ASSERT_TRUE(session.Run({{x, Tensor::Vector<float>({3, 4})}}, {y}, {}, &out, options).ok());
  EXPECT_EQ(Find(Events(second.ToJson()), "constant_fold"), nullptr);
}

TEST_F(TraceTest, OneRowPerThread) {
  const Output x = Placeholder(scope_, "x", Shape({2}));
  const Output y = Call(scope_, "TestLoop", {x}, Attrs({{"parts", int64_t{400}}}));
  SessionOptions session_options;
  session_options.num_threads = 3;
  Session session(&graph_, session_options);
  Trace trace;
  std::vector<Tensor> out;
  RunOptions options;
  options.trace = &trace;
  ASSERT_TRUE(session.Run({{x, Tensor::Vector<float>({3, 4})}}, {y}, {}, &out, options).ok());
  const std::vector<Json> events = Events(trace.ToJson());
  std::set<double> rows, named;
  for (const Json& event : events) {
    if (event["name"].text == "thread_name") named.insert(event["tid"].number);
    if (event["name"].text == "TestLoop (part)") rows.insert(event["tid"].number);
  }
  // 40 ms of work: the workers wake up in time to help.
  EXPECT_GE(rows.size(), 2);
  for (const double row : rows) EXPECT_TRUE(named.count(row));
}

TEST_F(TraceTest, NamesAreEscapedAndFilesWritten) {
  const Output x = Placeholder(scope_, "x", Shape({2}));
  const Output y = Call(scope_.Named("a\\b"), "Neg", {x});
  Trace trace;
  trace.AddNode(*y.node(), Trace::Clock::now(), Trace::Clock::now(), "with \"quotes\"\n", "");
  const std::vector<Json> events = Events(trace.ToJson());
  const Json* node = Find(events, y.node()->name());
  ASSERT_NE(node, nullptr);
  EXPECT_EQ((*node)["args"]["inputs"].text, "with \"quotes\"\n");
  const std::string path = std::string(std::getenv("TEST_TMPDIR")) + "/trace.json";
  ASSERT_TRUE(trace.WriteFile(path).ok());
  std::stringstream content;
  content << std::ifstream(path).rdbuf();
  EXPECT_EQ(content.str(), trace.ToJson());
  const absl::Status status = trace.WriteFile("/no/such/folder/trace.json");
  EXPECT_THAT(std::string(status.message()), HasSubstr("/no/such/folder/trace.json"));
}

}  // namespace
}  // namespace nabla

#include "nabla/runtime/trace.h"

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "gmock/gmock.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"
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

using JsonObject = std::map<std::string, google::protobuf::Value>;

// Walks the message's map instead of looking keys up in it: its hash function differs between this file and the library
// when only one of them is built for a sanitizer.
JsonObject Fields(const google::protobuf::Struct& object) {
  JsonObject fields;
  for (const auto& [name, value] : object.fields()) fields.emplace(name, value);
  return fields;
}

class TraceTest : public ::testing::Test {
 protected:
  TraceTest() : scope_(&graph_) { nabla::testing::RegisterTestOps(); }

  // Parses the trace and returns its events.
  std::vector<JsonObject> Events(const std::string& json) {
    google::protobuf::Struct parsed;
    const auto status = google::protobuf::util::JsonStringToMessage(json, &parsed);
    EXPECT_TRUE(status.ok()) << status.ToString() << "\n" << json;
    std::vector<JsonObject> events;
    const JsonObject trace = Fields(parsed);
    for (const auto& value : trace.at("traceEvents").list_value().values()) {
      events.push_back(Fields(value.struct_value()));
    }
    return events;
  }
  static const JsonObject* Find(const std::vector<JsonObject>& events, const std::string& name) {
    for (const JsonObject& event : events) {
      if (event.at("name").string_value() == name) return &event;
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
  const std::vector<JsonObject> events = Events(trace.ToJson());
  const JsonObject* node = Find(events, "layer/sum");
  ASSERT_NE(node, nullptr);
  EXPECT_EQ(node->at("ph").string_value(), "X");
  EXPECT_EQ(node->at("cat").string_value(), "node");
  EXPECT_GE(node->at("dur").number_value(), 0);
  const JsonObject args = Fields(node->at("args").struct_value());
  EXPECT_EQ(args.at("op").string_value(), "Add");
  EXPECT_EQ(args.at("inputs").string_value(), "float[2], float[2]");
  EXPECT_EQ(args.at("outputs").string_value(), "float[2]");
  const JsonObject* run = Find(events, "run");
  ASSERT_NE(run, nullptr);
  EXPECT_LE(run->at("ts").number_value(), node->at("ts").number_value());
  EXPECT_GE(run->at("ts").number_value() + run->at("dur").number_value(),
            node->at("ts").number_value() + node->at("dur").number_value());
  EXPECT_EQ(run->at("tid").number_value(), node->at("tid").number_value());
  const JsonObject* pass = Find(events, "constant_fold");
  ASSERT_NE(pass, nullptr);
  EXPECT_NE(pass->at("tid").number_value(), node->at("tid").number_value());
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
  const std::vector<JsonObject> events = Events(trace.ToJson());
  std::set<double> rows, named;
  for (const JsonObject& event : events) {
    if (event.at("name").string_value() == "thread_name") named.insert(event.at("tid").number_value());
    if (event.at("name").string_value() == "TestLoop (part)") rows.insert(event.at("tid").number_value());
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
  const std::vector<JsonObject> events = Events(trace.ToJson());
  const JsonObject* node = Find(events, y.node()->name());
  ASSERT_NE(node, nullptr);
  EXPECT_EQ(Fields(node->at("args").struct_value()).at("inputs").string_value(), "with \"quotes\"\n");
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

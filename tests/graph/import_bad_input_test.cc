// Import of what is no GraphDef, or a damaged one: from anywhere, so nothing but a Status may come of it.
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "nabla/graph/import.h"
#include "nabla/graph/summary.h"
#include "nabla/graph/verifier.h"
#include "nabla/proto/graph.pb.h"
#include "nabla/tests/graph/small_ops.h"

namespace nabla {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::string Golden(const std::string& name) { return ReadFile("tests/golden/graphs/" + name); }

// Imports leniently, then does all that `nabla show` does. Any outcome is fine that is a Status of one line.
absl::Status ImportAndShow(absl::string_view bytes) {
  Graph graph(&SmallOps());
  ImportOptions options;
  options.allow_unsupported = true;
  options.max_expanded_bytes = 1 << 20;
  absl::Status status = ImportGraphDefString(bytes, options, &graph);
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("\n")));
  EXPECT_LT(status.message().size(), 2000u);
  if (status.ok()) {
    FindProblems(graph);
    Summarize(graph).ToString();
  } else {
    EXPECT_EQ(graph.num_node_ids(), 0);
  }
  return status;
}

std::string Error(absl::string_view bytes) {
  const absl::Status status = ImportAndShow(bytes);
  EXPECT_FALSE(status.ok());
  return std::string(status.message());
}

TEST(BadInputTest, OtherFormats) {
  EXPECT_EQ(Error(""), "<memory>: is empty, expected a GraphDef");
  EXPECT_THAT(Error("\x89PNG\r\n\x1a\n...."), HasSubstr("is a PNG image, expected a GraphDef"));
  EXPECT_THAT(Error(absl::string_view("\x93NUMPY\x01\x00v\x00{'descr'", 16)), HasSubstr("is a NumPy array"));
  EXPECT_THAT(Error("PK\x03\x04xxxx"), HasSubstr("is a zip archive"));
  EXPECT_THAT(Error("\x89HDF\r\n\x1a\n"), HasSubstr("HDF5"));
  EXPECT_THAT(Error(absl::string_view("\x1c\x00\x00\x00TFL3\x14\x00", 10)), HasSubstr("TensorFlow Lite"));
  EXPECT_THAT(Error("<html><body>"), HasSubstr("HTML"));
  // saved_model_schema_version: 1, then a meta graph.
  EXPECT_THAT(Error(absl::string_view("\x08\x01\x12\x04\x0a\x02\x08\x01", 8)),
              HasSubstr("is a SavedModel, expected a GraphDef"));
  EXPECT_THAT(Error(absl::string_view("\x08\x07\x12\x07pytorch", 11)), HasSubstr("some other protobuf message"));
  EXPECT_THAT(Error("Some prose, which begins with a word.\n"), HasSubstr("<memory>: line 1 column 6: "));
  EXPECT_FALSE(ImportAndShow(std::string(1000, '\0')).ok());
  EXPECT_FALSE(ImportAndShow(std::string(1000, '\xff')).ok());
  EXPECT_FALSE(ImportAndShow("   \n\n  ").ok());
}

TEST(BadInputTest, Files) {
  const auto error = [](const std::string& path) {
    Graph graph(&SmallOps());
    const absl::Status status = ImportGraphDefFile(path, {}, &graph);
    EXPECT_FALSE(status.ok());
    return std::string(status.message());
  };
  EXPECT_EQ(error("/nowhere/model.pb"), "/nowhere/model.pb: no such file");
  const std::string folder = ::testing::TempDir();
  EXPECT_EQ(error(folder), folder + ": is a directory, expected a file");
  const std::string empty = folder + "/empty.pb";
  std::ofstream(empty).close();
  EXPECT_EQ(error(empty), empty + ": is empty, expected a GraphDef");
  // A sparse file of 3 GiB, of which nothing must be read.
  const std::string large = folder + "/large.pb";
  std::ofstream(large).close();
  ASSERT_EQ(truncate(large.c_str(), int64_t{3} << 30), 0);
  EXPECT_EQ(error(large), large + ": has 3221225472 bytes, but a GraphDef is at most 2147483647 bytes long");
  unlink(large.c_str());
}

TEST(BadInputTest, Text) {
  EXPECT_THAT(Error("node { name: 'a' op }"), HasSubstr("line 1 column 21"));
  EXPECT_THAT(Error("node {\n  nam: 'a'\n}"), HasSubstr("line 2 column 6: Message type"));
  EXPECT_THAT(Error("node { name: 'a"), HasSubstr("line 1"));
  EXPECT_THAT(Error("{ \"node\": [ { \"name\": 5 } ] }"), HasSubstr("is no JSON GraphDef"));
  EXPECT_THAT(Error("{ \"node\": "), HasSubstr("is no JSON GraphDef"));
  // Escapes that no binary file may hold.
  EXPECT_THAT(Error("node { name: 'a' op: 'Foo' device: '\\377' }"), HasSubstr("node 'a' has text that is not UTF-8"));
  EXPECT_THAT(Error("library { function { signature { name: 'F' } attr { key: '\\377' value { i: 1 } } } }"),
              HasSubstr("the function library has text that is not UTF-8"));
}

TEST(BadInputTest, Truncations) {
  for (const char* name : {"cond_v1.pb", "attr_kinds.pb", "functions.pb"}) {
    const std::string bytes = Golden(name);
    ASSERT_TRUE(ImportAndShow(bytes).ok());
    int failures = 0;
    int trials = 0;
    // At every byte of small files, at every third of larger ones.
    for (size_t size = 1; size < bytes.size(); size += bytes.size() < 5000 ? 1 : 3) {
      failures += !ImportAndShow(absl::string_view(bytes).substr(0, size)).ok();
      ++trials;
    }
    // Only where a top-level field ends does it still parse, and then an input may be missing.
    EXPECT_GT(failures, trials * 9 / 10) << name;
  }
  const std::string bytes = Golden("constants.pb");
  EXPECT_THAT(Error(absl::string_view(bytes).substr(0, bytes.size() / 2)), HasSubstr("truncated"));
  const std::string text = Golden("cond_v1.pbtxt");
  for (size_t size = 1; size < text.size(); size += 7) {
    ImportAndShow(absl::string_view(text).substr(0, size)).IgnoreError();
  }
}

TEST(BadInputTest, FlippedBits) {
  std::mt19937 random(1);
  for (const char* name : {"cond_v1.pb", "while_v1.pb", "attr_kinds.pb", "functions.pb"}) {
    const std::string bytes = Golden(name);
    for (int trial = 0; trial < 300; ++trial) {
      std::string damaged = bytes;
      for (int i = 0; i <= trial % 3; ++i) {
        damaged[random() % damaged.size()] ^= static_cast<char>(1 << random() % 8);
      }
      ImportAndShow(damaged).IgnoreError();
    }
  }
}

void AppendVarint(uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>(value | 0x80));
  out->push_back(static_cast<char>(value));
}

// A length-delimited field.
std::string Field(int number, absl::string_view content) {
  std::string field;
  AppendVarint(number << 3 | 2, &field);
  AppendVarint(content.size(), &field);
  return field + std::string(content);
}

TEST(BadInputTest, LengthsThatLie) {
  // A constant that claims an exabyte, in a file and where the end is not known beforehand.
  std::string tensor = "\x22";  // tensor_content
  AppendVarint(uint64_t{1} << 60, &tensor);
  EXPECT_THAT(Error(Field(1, Field(5, Field(1, "value") + Field(2, Field(8, tensor + std::string(70000, 'x'))))) +
                    Field(4, "")),
              HasSubstr("is longer than the message around it"));
  std::string node = "\x0a";
  AppendVarint(uint64_t{1} << 60, &node);
  EXPECT_THAT(Error(node + "abc"), HasSubstr("truncated: field 1 at byte 10 has 1152921504606846976 bytes"));
  // A varint without end.
  EXPECT_THAT(Error("\x0a" + std::string(20, '\xff')), HasSubstr("malformed"));
  EXPECT_THAT(Error(Field(1, std::string("\x0b\x0c"))), HasSubstr("wire type 3"));
  EXPECT_THAT(Error(Field(1, Field(1, "\xff\xfe"))), HasSubstr("is not UTF-8"));
  EXPECT_THAT(Error(Field(1, Field(1, "a") + Field(2, "NoOp") + Field(5, Field(1, "x") + Field(2, "\x0a\x7f")))),
              HasSubstr("node 0 'a': attr 'x': malformed"));
}

TEST(BadInputTest, DeepNesting) {
  // A function attr in a function attr, and so on.
  std::string value = Field(10, Field(1, "f"));
  for (int i = 0; i < 10000; ++i) value = Field(10, Field(1, "f") + Field(2, Field(1, "a") + Field(2, value)));
  const std::string node = Field(1, Field(1, "n") + Field(2, "Foo") + Field(5, Field(1, "deep") + Field(2, value)));
  EXPECT_THAT(Error(node), HasSubstr("node 0 'n': attr 'deep': malformed near byte"));
  EXPECT_THAT(Error(node), HasSubstr("nested more than 100 deep"));
  // Variants of tensors of variants.
  std::string tensor;
  for (int i = 0; i < 10000; ++i) tensor = Field(15, Field(3, tensor)) + "\x08\x15";
  EXPECT_FALSE(
      ImportAndShow(Field(1, Field(1, "n") + Field(2, "Foo") + Field(5, Field(1, "t") + Field(2, Field(8, tensor)))))
          .ok());
  // In a function's body, which is kept as a message.
  EXPECT_THAT(Error(Field(2, Field(1, Field(3, Field(5, Field(1, "deep") + Field(2, value)))))),
              HasSubstr("the function library is no valid message, or nested more than 100 deep"));
  std::string text = "node { name: 'n' op: 'Foo' attr { key: 'deep' value { ";
  for (int i = 0; i < 10000; ++i) text += "func { name: 'f' attr { key: 'a' value { ";
  for (int i = 0; i < 10000; ++i) text += "} } } ";
  EXPECT_THAT(Error(text + "} } }"), HasSubstr("line 1"));
  std::string json = "{\"node\":[{\"name\":\"n\",\"op\":\"Foo\",\"attr\":{\"a\":";
  for (int i = 0; i < 10000; ++i) json += "{\"func\":{\"name\":\"f\",\"attr\":{\"a\":";
  EXPECT_FALSE(ImportAndShow(json).ok());
}

TEST(BadInputTest, LongChainsAndDeepFrames) {
  // 30,000 nodes in a row, last first, then all of them Enters of a frame in a frame.
  for (const bool enter : {false, true}) {
    GraphDef graph_def;
    for (int i = 30000; i > 0; --i) {
      NodeDef* node = graph_def.add_node();
      node->set_name(absl::StrCat("n", i));
      node->set_op(enter ? "Enter" : "Foo");
      node->add_input(absl::StrCat("n", i - 1));
      if (enter) {
        (*node->mutable_attr())["frame_name"].set_s("f");
        (*node->mutable_attr())["T"].set_type(DT_FLOAT);
      }
    }
    NodeDef* first = graph_def.add_node();
    first->set_name("n0");
    first->set_op("Placeholder");
    (*first->mutable_attr())["dtype"].set_type(DT_FLOAT);
    EXPECT_TRUE(ImportAndShow(graph_def.SerializeAsString()).ok());
  }
}

TEST(BadInputTest, AmplificationIsBounded) {
  // Few bytes that ask for very many outputs.
  EXPECT_THAT(Error("node { name: 'a' op: 'Foo' } node { name: 'b' op: 'Foo' input: 'a:900000000' }"),
              HasSubstr("node 'a' (op Foo): output 900000000 is used"));
  std::string text =
      "node { name: 's' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } }"
      " attr { key: 'value' value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 0 } } } }";
  for (int i = 0; i < 100; ++i) {
    absl::StrAppend(&text, "node { name: 'x", i,
                    "' op: 'Split' input: 's' input: 's' attr { key: 'num_split' value { i: ",
                    "65000 } } attr { key: 'T' value { type: DT_INT32 } } }");
  }
  // The growth of the peak: what earlier tests of this process took (much, under a sanitizer) does not count.
  rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  EXPECT_THAT(Error(text), HasSubstr("which makes more than a graph of 101 nodes may have"));
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 1 << 19) << "kilobytes";
}

}  // namespace
}  // namespace nabla

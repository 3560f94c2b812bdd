#include "nabla/graph/passes/pipeline.h"

#include "gmock/gmock.h"
#include "nabla/tests/graph/passes/pass_fixture.h"

namespace nabla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class PipelineTest : public PassTest {
 protected:
  std::vector<std::string> RunNames(const PipelineOptions& options) {
    std::vector<PassRecord> records;
    const absl::Status status = RunPasses(options, compilation_, &records);
    EXPECT_TRUE(status.ok()) << status;
    std::vector<std::string> names;
    for (const PassRecord& record : records) {
      EXPECT_GE(record.duration, absl::ZeroDuration());
      names.push_back(record.name);
    }
    return names;
  }
};

TEST_F(PipelineTest, RunsAllByDefaultAndSaysSo) {
  const Output x = Placeholder("x", Shape({2}));
  compilation_.fetches = {Call("y", "Neg", {Call("i", "Identity", {x})})};
  std::vector<PassRecord> records;
  ASSERT_TRUE(RunPasses({.verify = true}, compilation_, &records).ok());
  std::vector<std::string> names;
  for (const PassRecord& record : records) names.push_back(record.name);
  std::vector<std::string> all;
  for (const absl::string_view name : PassNames()) all.emplace_back(name);
  EXPECT_EQ(names, all);
  EXPECT_THAT(
      all, ElementsAre("drop_identities", "constant_fold", "common_subexpressions", "accumulate", "prune", "in_place"));
  EXPECT_EQ(records[4].nodes_before, 3);
  EXPECT_EQ(records[4].nodes_after, 2);
  ASSERT_EQ(compilation_.order.size(), 2);
  EXPECT_EQ(compilation_.order[1]->name(), "y");
}

TEST_F(PipelineTest, Disabling) {
  const Output x = Placeholder("x", Shape({2}));
  compilation_.fetches = {Call("y", "Neg", {x})};
  EXPECT_THAT(RunNames({.disabled = {"all"}}), IsEmpty());
  EXPECT_EQ(compilation_.order.size(), 2);
  EXPECT_TRUE(compilation_.exclusive_inputs.empty());
  compilation_.order.clear();
  EXPECT_THAT(RunNames({.disabled = {"prune", "in_place"}}),
              ElementsAre("drop_identities", "constant_fold", "common_subexpressions", "accumulate"));
  const absl::Status status = RunPasses({.disabled = {"prun"}}, compilation_, nullptr);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("'prun'"));
}

TEST_F(PipelineTest, DumpsBeforeAndAfter) {
  const Output x = Placeholder("x", Shape({2}));
  compilation_.fetches = {Call("y", "Neg", {Call("dropped", "Identity", {x})}), Output()};
  std::vector<std::pair<std::string, std::string>> dumps;
  PipelineOptions options;
  options.dump = [&](absl::string_view pass, const std::string& dump) { dumps.emplace_back(pass, dump); };
  ASSERT_TRUE(RunPasses(options, compilation_, nullptr).ok());
  ASSERT_EQ(dumps.size(), 7);
  EXPECT_EQ(dumps.front().first, "input");
  EXPECT_THAT(dumps.front().second, HasSubstr("dropped"));
  EXPECT_THAT(dumps.front().second, HasSubstr("fetch y:0"));
  EXPECT_EQ(dumps.back().first, "in_place");
  EXPECT_THAT(dumps.back().second, Not(HasSubstr("dropped")));
}

TEST_F(PipelineTest, VerifyFindsBrokenCompilations) {
  const Output x = Placeholder("x", Shape({2}));
  Node* a = Call("a", "Neg", {x}).node();
  Node* b = Call("b", "Neg", {a->output(0)}).node();
  EXPECT_TRUE(VerifyCompilation(compilation_).ok());
  compilation_.fetches = {Output(a, 7)};
  EXPECT_THAT(std::string(VerifyCompilation(compilation_).message()), HasSubstr("fetch"));
  compilation_.fetches.clear();
  Graph other;
  Scope other_scope(&other);
  compilation_.targets = {testing::Placeholder(other_scope, "x", Shape({2})).node()};
  EXPECT_THAT(std::string(VerifyCompilation(compilation_).message()), HasSubstr("target"));
  compilation_.targets.clear();
  graph_.AddControlEdge(b, a);
  EXPECT_THAT(std::string(VerifyCompilation(compilation_).message()), HasSubstr("cycle"));
}

TEST_F(PipelineTest, ConstantsComeEarlyInTheOrder) {
  // A constant that was added last does not hold up its reader.
  const Output x = Placeholder("x", Shape({2}));
  const Output first = Call("first", "Neg", {x});
  Call("second", "Neg", {x});
  const Output c = Constant("c", Tensor::Vector<float>({1, 2}));
  ASSERT_TRUE(graph_.ReplaceInput(first.node(), 0, c).ok());
  ASSERT_TRUE(RunPasses({.disabled = {"all"}}, compilation_, nullptr).ok());
  std::vector<std::string> names;
  for (const Node* node : compilation_.order) names.push_back(node->name());
  EXPECT_THAT(names, ElementsAre("c", "x", "first", "second"));
}

}  // namespace
}  // namespace nabla

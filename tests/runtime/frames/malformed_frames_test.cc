// Frames that are not well-formed: refused at import, by name; and whatever the graph, a run ends.
#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nabla/graph/import.h"
#include "nabla/graph/verifier.h"
#include "nabla/ops/registration.h"
#include "nabla/proto/graph.pb.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/session.h"

namespace nabla {
namespace {

using ::testing::HasSubstr;

// A loop that adds 1 to x as long as it is below n, with a conditional in its body. A line is "name Op input…"; behind
// the op may stand "@frame" ("!" for is_constant, "*k" for parallel_iterations) and ":dtype" instead of int32.
constexpr char kLoop[] =
    "x Placeholder\n"
    "n Placeholder\n"
    "flag Placeholder:bool\n"
    "flags Placeholder:bool [2]\n"
    "enter Enter@f x\n"
    "bound Enter@f! n\n"
    "merge Merge enter next\n"
    "less Less merge bound\n"
    "cond LoopCond less\n"
    "switch Switch merge cond\n"
    "same Identity switch:1\n"
    "one Const ^same\n"
    "small Less same one\n"
    "choice Switch same small\n"
    "doubled Add choice:1 choice:1\n"
    "joined Merge choice doubled\n"
    "body Add joined one\n"
    "next NextIteration body\n"
    "exit Exit switch\n"
    "y Identity exit\n";

NodeDef ParseLine(const std::string& line) {
  const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
  NodeDef node;
  node.set_name(words[0]);
  std::vector<std::string> dtype = absl::StrSplit(words[1], ':');
  std::vector<std::string> frame = absl::StrSplit(dtype[0], '@');
  node.set_op(frame[0]);
  auto& attrs = *node.mutable_attr();
  const DataType type = dtype.size() > 1 ? DT_BOOL : DT_INT32;
  if (node.op() == "Placeholder") {
    attrs["dtype"].set_type(type);
    attrs["shape"].mutable_shape();
    if (words.size() > 2) attrs["shape"].mutable_shape()->add_dim()->set_size(2);
    return node;
  }
  if (node.op() == "Const") {
    attrs["dtype"].set_type(type);
    attrs["value"].mutable_tensor()->set_dtype(type);
    attrs["value"].mutable_tensor()->mutable_tensor_shape();
    attrs["value"].mutable_tensor()->add_int_val(1);
  } else if (node.op() != "LoopCond" && node.op() != "NoOp") {
    attrs["T"].set_type(type);
  }
  for (size_t i = 2; i < words.size(); ++i) node.add_input(words[i]);
  if (node.op() == "Merge") attrs["N"].set_i(node.input_size());
  if (node.op() != "Enter") return node;
  std::vector<std::string> parallel = absl::StrSplit(frame[1], '*');
  if (parallel.size() > 1) attrs["parallel_iterations"].set_i(std::stoi(parallel[1]));
  absl::string_view name = parallel[0];
  attrs["is_constant"].set_b(absl::ConsumeSuffix(&name, "!"));
  attrs["frame_name"].set_s(std::string(name));
  return node;
}

// A line replaces an earlier one of the same name.
GraphDef ParseLines(const std::string& lines) {
  GraphDef graph;
  for (const absl::string_view line : absl::StrSplit(lines, '\n', absl::SkipEmpty())) {
    NodeDef node = ParseLine(std::string(line));
    NodeDef* place = nullptr;
    for (NodeDef& other : *graph.mutable_node()) {
      if (other.name() == node.name()) place = &other;
    }
    *(place == nullptr ? graph.add_node() : place) = std::move(node);
  }
  return graph;
}

// kLoop, with these lines instead of those of the same names or added to it.
GraphDef LoopWith(const std::string& lines) { return ParseLines(kLoop + lines); }

class MalformedFramesTest : public ::testing::Test {
 protected:
  MalformedFramesTest() {
    RegisterAllOps();
    RegisterAllKernels();
  }

  // Runs what there is of the graph for at most so long. Any outcome is fine that is a Status.
  static absl::Status RunFor(Graph* graph, const std::vector<std::string>& names, absl::Duration limit) {
    Feeds feeds;
    const std::vector<std::pair<const char*, Tensor>> values = {{"x", Tensor::Scalar(0)},
                                                                {"n", Tensor::Scalar(5)},
                                                                {"flag", Tensor::Scalar(true)},
                                                                {"flags", Tensor::Vector<bool>({true, false})}};
    for (const auto& [name, value] : values) {
      Node* node = graph->FindNode(name);
      if (node != nullptr && node->op() == "Placeholder") feeds.emplace_back(node->output(0), value);
    }
    Outputs fetches;
    for (const std::string& name : names) {
      Node* node = graph->FindNode(name);
      if (node != nullptr && node->num_outputs() > 0) fetches.push_back(node->output(0));
    }
    SessionOptions session_options;
    session_options.num_threads = 1;
    Session session(graph, session_options);
    std::vector<Tensor> out;
    RunOptions options;
    options.deadline = absl::Now() + limit;
    return session.Run(feeds, fetches, {}, &out, options);
  }
};

TEST_F(MalformedFramesTest, TheLoopItself) {
  Graph graph;
  const absl::Status status = ImportGraphDef(LoopWith(""), {}, &graph);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_TRUE(RunFor(&graph, {"y"}, absl::Seconds(10)).ok());
}

struct Case {
  const char* lines;
  const char* node;  // that the error names
  const char* what;  // that it says
};

TEST_F(MalformedFramesTest, AreRefusedAtImportByName) {
  const std::vector<Case> cases = {
      // Nothing comes out.
      {"exit Identity x\n", "'enter' (op Enter)", "opens the frame 'f', which nothing leaves, expected an Exit"},
      // Back edges.
      {"enter2 Enter@g x\nmerge2 Merge enter2 next\n", "'merge2' (op Merge)",
       "in frame 'g': the back edge comes from frame 'f'"},
      {"other Merge same next\n", "'other' (op Merge)", "no Enter of the frame before it"},
      {"other Merge x next\n", "'other' (op Merge)", "closes a loop with 'next', but is in no frame"},
      {"merge Merge enter next next\n", "'merge' (op Merge)", "has 3 inputs, expected an Enter and a NextIteration"},
      {"merge Merge next next\n", "'merge' (op Merge)", "is in no frame"},
      {"lost NextIteration x\n", "'lost' (op NextIteration)", "is in no frame, expected an Enter"},
      {"idle NextIteration same\n", "'idle' (op NextIteration)", "goes to no Merge"},
      {"switch Switch merge less\n", "'merge' (op Merge)", "no Switch by the frame's LoopCond after it"},
      {"merge Merge enter\n", "'next' (op NextIteration)", "goes to no Merge"},
      // Edges across frames.
      {"body Add joined n\n", "'body' (op Add)", "has inputs from the frames 'the root' and 'f', expected an Enter"},
      {"body Add joined one ^x\n", "'body' (op Add)", "has inputs from the frames 'the root' and 'f'"},
      {"less Less merge n\n", "'less' (op Less)", "has inputs from the frames 'the root' and 'f'"},
      {"y Add exit same\n", "'y' (op Add)", "the root' and 'f', expected an Enter into a frame and an Exit out of it"},
      {"y Identity exit ^same\n", "'y' (op Identity)", "has inputs from the frames 'the root' and 'f'"},
      {"late Exit body\n", "'late' (op Exit)", "expected the false output of a Switch by its LoopCond"},
      {"late Exit switch:1\n", "'late' (op Exit)", "hands out a value while the loop goes on"},
      {"lost Exit x\n", "'lost' (op Exit)", "leaves a frame, but is in none"},
      // Enters.
      {"body Add enter one\n", "'body' (op Add)", "reads 'enter', which only the first iteration of the loop 'f' has"},
      {"enter Enter@ x\n", "'enter' (op Enter)", "has no frame_name"},
      {"enter Enter@f*0 x\n", "'enter'", "parallel_iterations is 0, must be at least 1"},
      {"bound Enter@f!*-3 n\n", "'bound'", "parallel_iterations is -3, must be at least 1"},
      {"enter2 Enter@f same\nexit2 Exit enter2\n", "'enter2' (op Enter)",
       "opens the frame 'f' inside 'f', but another Enter opens it inside 'the root'"},
      {"again Enter@f exit\n", "'again' (op Enter)", "the loop 'f' waits for a result of its own"},
      // Conditions.
      {"cond LoopCond merge\n", "'cond'", "bool"},
      {"pin Enter@f!:bool flags\ncond LoopCond pin\n", "'cond'", "[2]"},
      {"second LoopCond less\n", "'second' (op LoopCond)", "the frame has another LoopCond"},
      {"lost LoopCond flag\n", "'lost' (op LoopCond)", "is in no frame"},
      {"cond LoopCond flag\n", "'cond' (op LoopCond)", "is in no frame"},
      {"pin Enter@g!:bool flag\nout LoopCond pin\nside Switch:bool pin out\nleft Exit:bool side\n",
       "'out' (op LoopCond)", "the frame has no loop variable"},
      // Branches.
      {"both Merge x n\n", "'both' (op Merge)", "joins 'x:0' and 'n:0', which are alive together"},
      {"joined Merge doubled choice:1\n", "'joined' (op Merge)", "expected the two sides of a Switch"},
      {"body Add choice doubled\n", "'body' (op Add)", "needs both 'choice:0' and 'doubled:0', the sides of a Switch"},
      {"two Switch x flag\nnever Add two:1 two\n", "'never' (op Add)", "the sides of a Switch by 'flag:0'"},
      // What no NextIteration closes.
      {"less Less body bound\n", "'", "cycle"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.lines);
    const GraphDef def = LoopWith(c.lines);
    Graph graph;
    const absl::Status status = ImportGraphDef(def, {}, &graph);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), ::testing::AllOf(HasSubstr(c.node), HasSubstr(c.what)));
    EXPECT_EQ(graph.num_nodes(), 0);
    // Whoever loads it all the same gets a run that ends.
    ImportOptions lenient;
    lenient.allow_unsupported = true;
    if (!ImportGraphDef(def, lenient, &graph).ok()) continue;
    EXPECT_NE(RunFor(&graph, {"y", "joined", "other", "late", "both", "never"}, absl::Seconds(10)).code(),
              absl::StatusCode::kDeadlineExceeded);
  }
}

// What is imported into the body of a loop that is still being built.
TEST_F(MalformedFramesTest, OnlyWhatIsImportedIsBlamed) {
  Graph graph;
  ImportOptions options;
  options.allow_unsupported = true;
  ASSERT_TRUE(ImportGraphDef(ParseLines("x Placeholder\n"
                                        "enter Enter@f x\n"
                                        "merge Merge enter\n"
                                        "cond LoopCond less\n"
                                        "one Const ^merge\n"
                                        "less Less merge one\n"
                                        "switch Switch merge cond\n"
                                        "same Identity switch:1\n"),
                             options, &graph)
                  .ok());
  ASSERT_FALSE(VerifyGraph(graph).ok());
  options.allow_unsupported = false;
  const auto import = [&](const char* lines, const std::map<std::string, const char*>& inputs) {
    options.input_map.clear();
    for (const auto& [name, tensor] : inputs) options.input_map[name] = *graph.FindOutput(tensor);
    return ImportGraphDef(ParseLines(lines), options, &graph);
  };
  EXPECT_EQ(import("in Placeholder\n"
                   "flag Placeholder:bool\n"
                   "choice Switch in flag\n"
                   "doubled Add choice:1 choice:1\n"
                   "joined Merge choice doubled\n",
                   {{"in", "same"}, {"flag", "less"}}),
            absl::OkStatus());
  const auto error = [&](const char* lines, const std::map<std::string, const char*>& inputs) {
    return std::string(import(lines, inputs).message());
  };
  // What stood there says in which frame and branch the new nodes are.
  EXPECT_THAT(error("a Placeholder\nb Placeholder\nboth Merge a b\n", {{"a", "same"}, {"b", "joined"}}),
              HasSubstr("'both' (op Merge) joins"));
  EXPECT_THAT(
      error("a Placeholder\nb Placeholder\nend Merge a b\nnever Add a b\n", {{"a", "choice"}, {"b", "doubled"}}),
      HasSubstr("'never' (op Add) needs both"));
  EXPECT_THAT(error("a Placeholder\nb Placeholder\np Placeholder:bool\nside Switch a p\nbad Add side b\n",
                    {{"a", "same"}, {"b", "x"}, {"p", "less"}}),
              HasSubstr("'bad' (op Add) has inputs from the frames 'the root' and 'f'"));
  // A frame that was there may have its Exit there; a new one must bring its own.
  EXPECT_EQ(import("a Placeholder\nmore Enter@f a\n", {{"a", "x"}}), absl::OkStatus());
  EXPECT_THAT(error("y Placeholder\nother Enter@g y\n", {{"y", "x"}}),
              HasSubstr("'other' (op Enter) opens the frame 'g', which nothing leaves"));
}

// Changes one thing of the graph: an edge, an op, a frame.
void Mutate(GraphDef* graph, std::mt19937& random) {
  const auto pick = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); };
  NodeDef& node = *graph->mutable_node(pick(graph->node_size()));
  const std::string other = graph->node(pick(graph->node_size())).name();
  static const std::vector<std::string>* const kOps =
      new std::vector<std::string>{"Enter", "Exit", "NextIteration", "Identity"};
  switch (pick(6)) {
    case 0:
    case 1:
    case 2:
      if (node.input_size() == 0) return;
      *node.mutable_input(pick(node.input_size())) = absl::StrCat(other, pick(4) == 0 ? ":1" : "");
      return;
    case 3:
      node.add_input(absl::StrCat("^", other));
      return;
    case 4:
      if (std::count(kOps->begin(), kOps->end(), node.op()) == 0) return;
      node.set_op((*kOps)[pick(4)]);
      if (node.op() == "Enter") {
        (*node.mutable_attr())["frame_name"].set_s(pick(2) == 0 ? "f" : "g");
      } else {
        for (const char* attr : {"frame_name", "is_constant", "parallel_iterations"}) node.mutable_attr()->erase(attr);
      }
      return;
    default:
      if (node.op() == "Enter") (*node.mutable_attr())["is_constant"].set_b(pick(2) == 0);
      if (node.op() != "Merge") return;
      node.add_input(other);
      (*node.mutable_attr())["N"].set_i(node.input_size());
  }
}

TEST_F(MalformedFramesTest, RewiredLoopsEnd) {
  // A loop in the body of the loop as well.
  const GraphDef sound = LoopWith(
      "enter2 Enter@g joined\n"
      "bound2 Enter@g! one\n"
      "limit2 Enter@g! same\n"
      "merge2 Merge enter2 next2\n"
      "less2 Less merge2 limit2\n"
      "cond2 LoopCond less2\n"
      "switch2 Switch merge2 cond2\n"
      "body2 Add switch2:1 bound2\n"
      "next2 NextIteration body2\n"
      "exit2 Exit switch2\n"
      "body Add exit2 one\n");
  std::mt19937 random(7);
  int refused = 0, ran = 0, late = 0;
  for (int round = 0; round < 3000; ++round) {
    GraphDef def = sound;
    for (int i = 1 + round % 3; i > 0; --i) Mutate(&def, random);
    for (const bool strict : {true, false}) {
      Graph graph;
      ImportOptions options;
      options.allow_unsupported = !strict;
      if (!ImportGraphDef(def, options, &graph).ok()) {
        refused += strict;
        continue;
      }
      const absl::Time start = absl::Now();
      const absl::Status status = RunFor(&graph, {"y", "less"}, absl::Milliseconds(20));
      const absl::Status alone = RunFor(&graph, {"y"}, absl::Milliseconds(20));
      EXPECT_LT(absl::Now() - start, absl::Seconds(20)) << round;
      EXPECT_FALSE(absl::StrContains(status.message(), "\n")) << status;
      ran += alone.ok();
      late += alone.code() == absl::StatusCode::kDeadlineExceeded;
    }
  }
  // That the mutations are neither all harmless nor all fatal.
  EXPECT_GT(refused, 500);
  EXPECT_GT(ran, 100);
  EXPECT_LT(late, 600);
}

}  // namespace
}  // namespace nabla

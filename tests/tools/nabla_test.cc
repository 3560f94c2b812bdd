// The command-line tool, run as a program.
#include "nabla/nabla.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace nabla {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

struct Result {
  int status = -1;
  std::string out, err;
};

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class NablaTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { Initialize(); }

  static std::string Path(const std::string& name) { return absl::StrCat(getenv("TEST_TMPDIR"), "/", name); }

  Result Nabla(const std::string& arguments) {
    std::string out = Path("stdout"), err = Path("stderr");
    int status = std::system(absl::StrCat("tools/nabla ", arguments, " >", out, " 2>", err).c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, ReadFile(out), ReadFile(err)};
  }

  // The error that a call must end in: one line, starting as all do.
  std::string Error(const std::string& arguments, int status) {
    Result r = Nabla(arguments);
    EXPECT_EQ(r.status, status) << r.out << r.err;
    EXPECT_THAT(r.err, StartsWith("nabla: error: "));
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
    return r.err;
  }

  // y = x w + b with x a placeholder [?,2]; top = argmax(y).
  std::string WriteModel() {
    Graph graph;
    Scope scope(&graph);
    Output x = ops::Placeholder(scope.Named("x"), DType::kFloat, {.shape = {kUnknownDim, 2}});
    Output w = ops::Const(scope.Named("w"), Tensor::Of<float>({2, 2}, {1, 2, 3, 4}));
    Output b = ops::Const(scope.Named("b"), Tensor::Of<float>({2}, {10, 20}));
    Output y = ops::Identity(scope.Named("y"), ops::MatMul(scope, x, w) + b);
    ops::ArgMax(scope.Named("top"), y, 1);
    EXPECT_TRUE(scope.ok()) << scope.status();
    std::string path = Path("model.pb");
    EXPECT_TRUE(ExportGraphFile(graph, {}, path).ok());
    return path;
  }
};

TEST_F(NablaTest, HelpOfEveryVerbHasAnExample) {
  Result all = Nabla("--help");
  EXPECT_EQ(all.status, 0);
  for (std::string verb : {"run", "grad", "show", "convert", "check"}) {
    EXPECT_THAT(all.out, HasSubstr("  " + verb + " "));
    Result r = Nabla(verb + " --help");
    EXPECT_EQ(r.status, 0);
    EXPECT_THAT(r.out, HasSubstr("nabla " + verb + " ")) << verb;
    EXPECT_THAT(r.out, HasSubstr("Example")) << verb;
  }
}

TEST_F(NablaTest, RunPrintsAndWritesWhatItFetches) {
  std::string model = WriteModel();
  Result r = Nabla(absl::StrCat("run ", model, " --feed 'x=[[1,1],[0,2]]' --fetch y,top:0 --out ", Path("results")));
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.out, "y: float [2,2]\n[[14. 26.]\n [16. 28.]]\ntop:0: int64 [2]\n[1 1]\n");
  absl::StatusOr<Tensor> y = ReadNpy(Path("results/y.npy"));
  ASSERT_TRUE(y.ok()) << y.status();
  EXPECT_THAT(y->flat<float>(), ElementsAre(14, 26, 16, 28));
  EXPECT_TRUE(ReadNpy(Path("results/top_0.npy")).ok());
}

TEST_F(NablaTest, NamesMayHaveBlanksAroundThem) {
  const Result r = Nabla("run " + WriteModel() + " --feed 'x=[[1,1]]' --fetch 'b, w ,' --target 'y:0, top'");
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("b: float [2]"));
  EXPECT_THAT(r.out, HasSubstr("w: float [2,2]"));
}

TEST_F(NablaTest, TheGraphMayStandBehindTheFlags) {
  EXPECT_EQ(Nabla("run --feed ' x =[[1,1]]' --fetch y,b --fetch=w " + WriteModel() + " --target top").status, 0);
  EXPECT_EQ(Nabla("grad --ys y --xs x " + WriteModel() + " --out " + Path("g.pb")).status, 0);
}

TEST_F(NablaTest, WhatWouldBeWrittenToOneFileIsRefused) {
  Graph graph;
  Scope scope(&graph);
  ops::Const(scope.Named("d/e"), 1.0f);
  ops::Const(scope.Named("d_e"), 2.0f);
  const std::string model = Path("one_file.pb"), out = Path("one_file");
  ASSERT_TRUE(ExportGraphFile(graph, {}, model).ok());
  EXPECT_THAT(Error("run " + model + " --fetch d/e,d_e --out " + out, 2),
              HasSubstr("d/e and d_e would both be written to d_e.npy"));
  EXPECT_EQ(Nabla("run " + model + " --fetch d/e,d/e --out " + out).status, 0);
}

TEST_F(NablaTest, RunFeedsFiles) {
  std::string model = WriteModel();
  ASSERT_TRUE(WriteNpy(Path("x.npy"), Tensor::Of<float>({1, 2}, {1, 0})).ok());
  Result r = Nabla(absl::StrCat("run ", model, " --feed x=@", Path("x.npy"), " --fetch y --threads 1 --repeat 3"));
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.out, "y: float [1,2]\n[[11. 22.]]\n");
  EXPECT_THAT(r.err, StartsWith("3 runs: first "));
}

TEST_F(NablaTest, RunWritesATrace) {
  std::string model = WriteModel(), trace = Path("trace.json");
  Result r = Nabla(absl::StrCat("run ", model, " --feed 'x=[[1,1]]' --fetch y --trace ", trace));
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(ReadFile(trace), HasSubstr("\"traceEvents\""));
  EXPECT_THAT(ReadFile(trace), HasSubstr("MatMul"));
}

TEST_F(NablaTest, GradWritesAGraphThatRuns) {
  std::string model = WriteModel(), with_gradients = Path("grad.pb");
  Result r = Nabla(absl::StrCat("grad ", model, " --ys y --xs x,w --out ", with_gradients));
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, MatchesRegex("x -> gradients/[^\n]*:0\nw -> gradients/[^\n]*:0\n"));
  std::string x_grad = r.out.substr(5, r.out.find('\n') - 5);
  Result run = Nabla(absl::StrCat("run ", with_gradients, " --feed 'x=[[1,1]]' --fetch ", x_grad));
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("[[3. 7.]]"));
}

TEST_F(NablaTest, GradSaysWhyThereIsNone) {
  Result r = Nabla(absl::StrCat("grad ", WriteModel(), " --ys top --xs x --out ", Path("g.pb")));
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("x -> none: op ArgMax (node 'top') is not differentiable"));
  Result none = Nabla(absl::StrCat("grad ", WriteModel(), " --ys b --xs x,b --out ", Path("g.pb")));
  ASSERT_EQ(none.status, 0) << none.err;
  EXPECT_THAT(none.out, HasSubstr("x -> none: no path leads from 'x:0' to ys"));
  Result zero = Nabla(absl::StrCat("grad ", WriteModel(), " --ys b --xs x --unconnected zero --out ", Path("g.pb")));
  EXPECT_THAT(zero.out, MatchesRegex("x -> gradients/ZerosLike:0\n"));
}

TEST_F(NablaTest, ZerosForAVariableThatHasNoValueYet) {
  Graph graph;
  Scope scope(&graph);
  ops::Const(scope.Named("y"), 1.0f);
  ops::VarHandleOp(scope.Named("v"), DType::kFloat, {2, 3});
  ASSERT_TRUE(scope.ok()) << scope.status();
  const std::string model = Path("variable.pb");
  ASSERT_TRUE(ExportGraphFile(graph, {}, model).ok());
  const Result r = Nabla(absl::StrCat("grad ", model, " --ys y --xs v --unconnected zero --out ", model));
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.out, "v -> gradients/Fill:0\n");
  EXPECT_THAT(Nabla("run " + model + " --fetch gradients/Fill").out, HasSubstr("float [2,3]\n[[0. 0. 0.]"));
}

TEST_F(NablaTest, ShowListsInputsOutputsAndOps) {
  Result r = Nabla("show " + WriteModel());
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("x: float [?,2]"));
  EXPECT_THAT(r.out, HasSubstr("top"));
  EXPECT_THAT(r.out, HasSubstr("MatMul:1"));
}

TEST_F(NablaTest, ShowListsUnsupportedOps) {
  std::string path = Path("odd.pbtxt");
  std::ofstream(path) << "node { name: 'a' op: 'FluxCapacitor' } node { name: 'b' op: 'Foo' input: 'a' }";
  Result r = Nabla("show " + path);
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("FluxCapacitor"));
  EXPECT_THAT(r.out, HasSubstr("unsupported"));
}

TEST_F(NablaTest, ShowOp) {
  Result r = Nabla("show --op MatMul");
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("transpose_a: bool = false"));
  EXPECT_THAT(Error("show --op MatMull", 1), HasSubstr("MatMul"));
}

TEST_F(NablaTest, ConvertGoesThroughTextAndBack) {
  std::string model = WriteModel();
  ASSERT_EQ(Nabla(absl::StrCat("convert ", model, " ", Path("m.pbtxt"))).status, 0);
  EXPECT_THAT(ReadFile(Path("m.pbtxt")), HasSubstr("op: \"MatMul\""));
  ASSERT_EQ(Nabla(absl::StrCat("convert ", Path("m.pbtxt"), " ", Path("m2.pb"))).status, 0);
  EXPECT_EQ(ReadFile(model), ReadFile(Path("m2.pb")));
  ASSERT_EQ(Nabla(absl::StrCat("convert ", model, " ", Path("m.dot"))).status, 0);
  EXPECT_THAT(ReadFile(Path("m.dot")), HasSubstr("digraph"));
  ASSERT_EQ(Nabla(absl::StrCat("convert ", model, " ", Path("m.json"))).status, 0);
  EXPECT_THAT(ReadFile(Path("m.json")), HasSubstr("\"MatMul\""));
  EXPECT_THAT(Error(absl::StrCat("convert ", model, " ", Path("m.xyz")), 2), HasSubstr("m.xyz"));
}

TEST_F(NablaTest, CheckVerifiesAndComparesGradients) {
  std::string model = WriteModel();
  Result r = Nabla("check " + model);
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("no problems"));
  Result gradients = Nabla(absl::StrCat("check ", model, " --ys y --xs x,w"));
  EXPECT_EQ(gradients.status, 0) << gradients.err;
  EXPECT_THAT(gradients.out, HasSubstr("x:0: ok"));
  EXPECT_THAT(gradients.out, HasSubstr("w:0: ok"));
}

// Random numbers cannot be made for every type; what ys do not need is not asked for.
TEST_F(NablaTest, CheckAsksForNoValuesThatAreNotNeeded) {
  std::string path = Path("labels.pbtxt");
  std::ofstream(path) << "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_DOUBLE } } }"
                         "node { name: 'y' op: 'Exp' input: 'x' attr { key: 'T' value { type: DT_DOUBLE } } }"
                         "node { name: 'labels' op: 'Placeholder' attr { key: 'dtype' value { type: DT_INT32 } } }";
  Result r = Nabla("check " + path + " --ys y --xs x");
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("x:0: ok"));
}

// wrong = sin(exp(x)), whose gradient is taken from Cos's rule.
TEST_F(NablaTest, CheckNamesTheOpWhereGradientsPart) {
  std::string path = Path("wrong.pbtxt");
  std::ofstream(path) << "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } }"
                         "       attr { key: 'shape' value { shape { dim { size: 3 } } } } }"
                         "node { name: 'a' op: 'Exp' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } }"
                         "node { name: 'wrong' op: 'Sin' input: 'a' attr { key: 'T' value { type: DT_FLOAT } }"
                         "       attr { key: '_gradient_op_type' value { s: 'Cos' } } }"
                         "node { name: 'y' op: 'Square' input: 'wrong' attr { key: 'T' value { type: DT_FLOAT } } }";
  Result r = Nabla("check " + path + " --ys y --xs x --feed 'x=[0.1,0.3,-0.5]'");
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.out, HasSubstr("x:0: DIFFERENT"));
  EXPECT_THAT(r.out, HasSubstr("\n  ok        a (Exp): "));
  // At e^0.1 the sine's derivative is cos(e^0.1) = 0.449, the wrong rule's -sin(e^0.1) = -0.893.
  EXPECT_THAT(r.out, HasSubstr("\n  DIFFERENT wrong (Sin): input 0: "));
  EXPECT_THAT(r.out, HasSubstr("\n  ok        y (Square): "));
  EXPECT_THAT(r.err, HasSubstr("differ for 1 of 1 xs; they part at 'wrong' (op Sin)\n"));
  // By what comes after it, the gradient is right.
  Result after = Nabla("check " + path + " --ys y --xs wrong --feed 'x=[0.1,0.3,-0.5]'");
  EXPECT_EQ(after.status, 0) << after.out << after.err;
  EXPECT_THAT(after.out, Not(HasSubstr("(Sin)")));
}

// y = x stop(x) + relu(x) at 0, and reshaped by a tensor of integers.
TEST_F(NablaTest, CheckTellsStopsAndKinksFromMistakes) {
  Graph graph;
  Scope scope(&graph);
  Output x = ops::Placeholder(scope.Named("x"), DType::kDouble, {.shape = {4}});
  Output stopped = ops::StopGradient(scope.Named("stopped"), x);
  Output kink = ops::Relu(scope.Named("kink"), x);
  ops::Reshape(scope.Named("y"), ops::AddV2(scope.Named("sum"), ops::Mul(scope.Named("product"), x, stopped), kink),
               {2, 2});
  ops::Reshape(scope.Named("z"), kink, {2, 2});
  ASSERT_TRUE(scope.ok()) << scope.status();
  std::string path = Path("stops.pb");
  ASSERT_TRUE(ExportGraphFile(graph, {}, path).ok());
  Result r = Nabla("check " + path + " --ys y --xs x --feed 'x=[0,1,2,-3]'");
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.out, HasSubstr("\n  stops     stopped (StopGradient): input 0: "));
  EXPECT_THAT(r.out, HasSubstr("\n  ok        kink (Relu): "));
  EXPECT_THAT(r.out, HasSubstr("\n  ok        y (Reshape): "));
  EXPECT_THAT(r.err, HasSubstr("they part at 'stopped' (op StopGradient)\n"));
  Result smooth = Nabla("check " + path + " --ys z --xs x --feed 'x=[0,1,2,-3]'");
  EXPECT_EQ(smooth.status, 0) << smooth.out << smooth.err;
}

// A narrow type is too coarse for differences; its ops are checked in double.
TEST_F(NablaTest, CheckWidensNarrowTypes) {
  Graph graph;
  Scope scope(&graph);
  Output x = ops::Placeholder(scope.Named("x"), DType::kFloat, {.shape = {5}});
  Output narrow = ops::Cast(scope.Named("narrow"), x, DType::kBFloat16);
  ops::Cast(scope.Named("y"), ops::Tanh(scope.Named("t"), narrow), DType::kFloat);
  ASSERT_TRUE(scope.ok()) << scope.status();
  std::string path = Path("narrow.pb");
  ASSERT_TRUE(ExportGraphFile(graph, {}, path).ok());
  Result r = Nabla("check " + path + " --ys y --xs x");
  EXPECT_THAT(r.out, HasSubstr("\n  ok        narrow (Cast): "));
  // Far better than bfloat16's 8 bits.
  EXPECT_THAT(r.out, ContainsRegex("\n  ok        t \\(Tanh\\): largest relative difference [0-9.]+e-(0[6-9]|1[0-9])"));
}

TEST_F(NablaTest, GradientsOfLoopsWithCheckpoints) {
  Graph graph;
  Scope scope(&graph);
  Output x = ops::Placeholder(scope.Named("x"), DType::kDouble, {.shape = Shape::Scalar()});
  Output last = ops::For(scope, 10, {x},
                         [](const Scope& s, Output, const Outputs& v) { return Outputs{ops::Mul(s, v[0], v[0])}; })[0];
  ops::Identity(scope.Named("y"), last);
  ASSERT_TRUE(scope.ok()) << scope.status();
  const std::string model = Path("loop.pb"), with_gradients = Path("loop_grad.pb");
  ASSERT_TRUE(ExportGraphFile(graph, {}, model).ok());
  for (const char* checkpoint : {"none", "sqrt", "every=3", "budget=40", "budget=1M"}) {
    const Result grad =
        Nabla(absl::StrCat("grad ", model, " --ys y --xs x --out ", with_gradients, " --loop-checkpoint ", checkpoint));
    ASSERT_EQ(grad.status, 0) << grad.err;
    const std::string name = grad.out.substr(grad.out.find("-> ") + 3, grad.out.find('\n') - grad.out.find("-> ") - 3);
    // x^1024 at 1.
    EXPECT_THAT(Nabla(absl::StrCat("run ", with_gradients, " --feed x=1 --fetch ", name)).out, HasSubstr("1024"))
        << checkpoint;
  }
}

TEST_F(NablaTest, WrongUsage) {
  std::string model = WriteModel();
  EXPECT_THAT(Error("", 2), HasSubstr("expected one of run, grad, show, convert, check"));
  EXPECT_THAT(Error("frobnicate " + model, 2), HasSubstr("no verb 'frobnicate', expected one of run, grad"));
  Error("run", 2);
  EXPECT_THAT(Error("--frobnicate", 2), HasSubstr("no verb '--frobnicate'"));
  EXPECT_THAT(Error("run " + model + " --fetch y --feed x=@", 2), HasSubstr("the name of a .npy file after '@'"));
  EXPECT_THAT(Error("show " + model + " --max-items -1", 2), HasSubstr("--max-items must not be negative"));
  for (const char* wrong : {"--step 0", "--step nan", "--step inf", "--tolerance -1", "--tolerance many"}) {
    Error(absl::StrCat("check ", model, " --ys y --xs x ", wrong), 2);
  }
  EXPECT_THAT(Error("run " + model + " --target y --out " + Path("unused"), 2), HasSubstr("--out needs --fetch"));
  EXPECT_THAT(Error("convert " + model + " x.png", 2), HasSubstr(".pb, .pbtxt, .json or .dot"));
  EXPECT_THAT(Error("grad /nonexistent.pb --ys y --xs x --out x.png", 2), HasSubstr(".pb, .pbtxt, .json or .dot"));
  EXPECT_THAT(Error("grad " + model + " --ys y --xs x --out o.pb --name a~b", 2), HasSubstr("--name a~b"));
  EXPECT_THAT(Error("run " + model, 2), HasSubstr("--fetch"));
  EXPECT_THAT(Error("run " + model + " --fetch y --feed x", 2), HasSubstr("NAME=VALUE"));
  EXPECT_THAT(Error("run " + model + " --fetch y --repeat 0", 2), HasSubstr("--repeat"));
  EXPECT_THAT(Error("run " + model + " --fetch y --threads many", 2), HasSubstr("--threads"));
  EXPECT_THAT(Error("grad " + model + " --ys y --xs x --out o.pb --aggregation sum", 2),
              HasSubstr("--aggregation sum"));
  for (const char* wrong : {"some", "every=0", "every=", "budget=-1", "budget=9999999999G", "budget=5X"}) {
    EXPECT_THAT(
        Error("grad " + model + " --ys y --xs x --out o.pb --loop-checkpoint " + wrong, 2),
        HasSubstr(std::string("--loop-checkpoint ") + wrong + ": expected none, sqrt, every=K or budget=BYTES"));
  }
  EXPECT_THAT(Error("show", 2), HasSubstr("GRAPH"));
  EXPECT_THAT(Error("check " + model + " --ys y", 2), HasSubstr("--xs"));
}

TEST_F(NablaTest, FailuresNameWhatIsWrong) {
  std::string model = WriteModel();
  EXPECT_THAT(Error("run /nonexistent.pb --fetch y", 1), HasSubstr("/nonexistent.pb"));
  EXPECT_THAT(Error("run " + model + " --fetch z --feed 'x=[[1,1]]'", 1), HasSubstr("'z'"));
  EXPECT_THAT(Error("run " + model + " --fetch y:7 --feed 'x=[[1,1]]'", 1), HasSubstr("y:7"));
  EXPECT_THAT(Error("run " + model + " --fetch y", 1), HasSubstr("'x'"));
  EXPECT_THAT(Error("run " + model + " --fetch y --feed 'x=[[1,1,1]]'", 1), HasSubstr("[?,2]"));
  EXPECT_THAT(Error("run " + model + " --fetch y --feed 'x=[[1,a]]'", 1), HasSubstr("'a' is no value of type float"));
  EXPECT_THAT(Error("run " + model + " --fetch y --feed x=@/nonexistent.npy", 1), HasSubstr("/nonexistent.npy"));
  EXPECT_THAT(Error("run " + model + " --fetch y --feed x=@" + model, 1), HasSubstr("--feed x: " + model));
  EXPECT_THAT(Error("run " + model + " --target nobody", 1), HasSubstr("'nobody'"));
  EXPECT_THAT(Error("run " + model + " --fetch b --out " + model, 1), HasSubstr(model + ": cannot be made"));
  EXPECT_THAT(Error("run " + model + " --fetch b --trace /nowhere/t.json", 1), HasSubstr("/nowhere: No such file"));
  EXPECT_THAT(Error("run " + model + " --fetch b --trace " + Path(""), 1), HasSubstr("is a directory"));
  EXPECT_THAT(Error("grad " + model + " --ys y --xs nobody --out o.pb", 1), HasSubstr("nobody"));
  std::ofstream(Path("not_a_graph.pb")) << "this is no graph at all \xff\xfe";
  EXPECT_THAT(Error("show " + Path("not_a_graph.pb"), 1), HasSubstr("not_a_graph.pb"));
  std::ofstream(Path("empty.pb")) << "";
  EXPECT_THAT(Error("show " + Path("empty.pb"), 1), HasSubstr("empty.pb"));
}

TEST_F(NablaTest, DamagedFiles) {
  const std::string bytes = ReadFile(WriteModel());
  const std::string damaged = Path("damaged.pb");
  const auto write = [&](absl::string_view content) {
    std::ofstream(damaged, std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
  };
  write(absl::string_view(bytes).substr(0, bytes.size() / 2));
  for (const char* verb : {"show ", "check ", "run --fetch y "}) Error(verb + damaged, 1);
  for (size_t i = 0; i < 40; ++i) {
    std::string flipped = bytes;
    flipped[i * bytes.size() / 40] ^= static_cast<char>(1 << i % 8);
    write(flipped);
    const Result r = Nabla(absl::StrCat("run --feed 'x=[[1,1]]' --fetch y ", damaged));
    EXPECT_TRUE(r.status == 0 || r.status == 1) << r.status << r.err;
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), r.status) << r.err;
  }
}

TEST_F(NablaTest, FailuresOfARunNameTheNode) {
  Graph graph;
  const Scope scope(&graph);
  const Output n = ops::Placeholder(scope.Named("n"), DType::kInt32, {.shape = {2}});
  for (const char* op : {"FloorDiv", "FloorMod", "Div"}) {
    NodeBuilder(scope.Named(op), op).Input(n).Input(n).Finish();
  }
  ops::ReadVariable(scope.Named("read"), ops::NewVariable(scope, "weights", 0.5f));
  ASSERT_TRUE(scope.ok()) << scope.status();
  const std::string model = Path("fails.pb");
  ASSERT_TRUE(ExportGraphFile(graph, {}, model).ok());
  for (const char* op : {"FloorDiv", "FloorMod", "Div"}) {
    const std::string error = Error(absl::StrCat("run ", model, " --feed n=[1,0] --fetch ", op), 1);
    EXPECT_THAT(error, HasSubstr(absl::StrCat("'", op, "'")));
    EXPECT_THAT(error, HasSubstr("division by zero"));
  }
  EXPECT_THAT(Error(absl::StrCat("run ", model, " --fetch read"), 1), HasSubstr("weights"));
}

TEST_F(NablaTest, LongChains) {
  // As deep as a graph gets: whatever recursed on its depth would overflow the stack.
  constexpr int kLength = 30000;
  Graph graph;
  const Scope scope(&graph);
  const Output x = ops::Placeholder(scope.Named("x"), DType::kDouble, {.shape = {2}});
  Output y = x;
  for (int i = 0; i < kLength; ++i) y = ops::Neg(scope, y);
  ops::Identity(scope.Named("y"), y);
  ASSERT_TRUE(scope.ok()) << scope.status();
  const std::string model = Path("chain.pb"), text = Path("chain.pbtxt"), with_gradients = Path("chain_grad.pb");
  ASSERT_TRUE(ExportGraphFile(graph, {}, model).ok());
  EXPECT_THAT(Nabla("show " + model).out, HasSubstr(absl::StrCat("Neg:", kLength)));
  Result r = Nabla(absl::StrCat("convert ", model, " ", text));
  EXPECT_EQ(r.status, 0) << r.err;
  r = Nabla(absl::StrCat("run ", text, " --feed x=[2,1] --fetch y"));
  EXPECT_EQ(r.out, "y: double [2]\n[2. 1.]\n") << r.err;
  r = Nabla(absl::StrCat("grad ", model, " --ys y --xs x --out ", with_gradients));
  ASSERT_THAT(r.out, MatchesRegex("x -> gradients/[^\n]*\n")) << r.err;
  r = Nabla(absl::StrCat("run ", with_gradients, " --feed x=[2,1] --fetch ", r.out.substr(5, r.out.size() - 6)));
  EXPECT_THAT(r.out, HasSubstr("[1. 1.]")) << r.err;
}

TEST_F(NablaTest, LongChainsOfFunctions) {
  constexpr int kLength = 10000;
  std::ofstream file(Path("calls.pbtxt"));
  file << "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }"
          "node { name: 'y' op: 'f0' input: 'x' } versions { producer: 1087 } library {";
  for (int i = 0; i < kLength; ++i) {
    file << "function { signature { name: 'f" << i
         << "' input_arg { name: 'a' type: DT_FLOAT } output_arg { name: 'b' type: DT_FLOAT } } node_def { name: 'c' ";
    if (i + 1 < kLength) {
      file << "op: 'f" << i + 1 << "' input: 'a' } ret { key: 'b' value: 'c:b:0' } }";
    } else {
      file << "op: 'Neg' input: 'a' attr { key: 'T' value { type: DT_FLOAT } } } ret { key: 'b' value: 'c:y:0' } }";
    }
  }
  file << "}";
  file.close();
  EXPECT_THAT(Nabla("show " + Path("calls.pbtxt")).out, HasSubstr("functions (10000)"));
  const Result r = Nabla(absl::StrCat("run ", Path("calls.pbtxt"), " --feed x=3 --fetch y"));
  EXPECT_EQ(r.out, "y: float []\n-3.0\n") << r.err;
}

TEST_F(NablaTest, ShowListsLoopsThatTensorFlowWrote) {
  // The handle of the TensorArray is an invariant, its flow a variable.
  const Result r = Nabla("show tests/golden/loops/array_written_and_stacked.pb");
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("frames (1)\n"
                               "  while/while_context: 2 variables, 3 invariants, 8 body nodes, while while/Less, 10 "
                               "iterations at once\n"
                               "    variable while/Enter: int32 []\n"
                               "    variable while/Enter_1: float []\n"
                               "    invariant while/Less/Enter: int32 []\n"
                               "    invariant while/mul/Enter: float [2]\n"
                               "    invariant while/TensorArrayWrite/TensorArrayWriteV3/Enter: resource [2]\n"));
}

TEST_F(NablaTest, LoopsThatTensorFlowWroteAreRunAndDifferentiated) {
  // Of primitives and of functions. The files hold the values that TensorFlow gave.
  for (const char* name : {"v1_nested", "v2_nested", "v2_conditional_in_loop", "v2_tensor_array_read"}) {
    const std::string graph = absl::StrCat("tests/golden/loop_gradients/", name, ".pb");
    const std::string with_gradients = Path("loop_grad.pb"), results = Path("loop_results");
    Result r = Nabla(absl::StrCat("grad ", graph, " --ys y --xs x/0 --out ", with_gradients));
    ASSERT_THAT(r.out, MatchesRegex("x/0 -> gradients/[^\n]*\n")) << r.err;
    const std::string dx = r.out.substr(7, r.out.size() - 8);
    r = Nabla(absl::StrCat("run ", with_gradients, " --fetch y,expect/y,", dx, ",expect/0 --out ", results));
    ASSERT_EQ(r.status, 0) << r.err;
    const auto read = [&](const std::string& tensor) {
      return *ReadNpy(absl::StrCat(results, "/", absl::StrReplaceAll(tensor, {{"/", "_"}, {":", "_"}}), ".npy"));
    };
    for (const auto& [got, expected] :
         {std::pair(read("y"), read("expect/y")), std::pair(read(dx), read("expect/0"))}) {
      ASSERT_EQ(got.shape(), expected.shape());
      for (int64_t i = 0; i < expected.num_elements(); ++i) {
        EXPECT_NEAR(got.flat<double>()[i], expected.flat<double>()[i], 1e-12) << name << " at " << i;
      }
    }
  }
}

TEST_F(NablaTest, GraphsWithFunctionsAreRunDifferentiatedCheckedAndShown) {
  Graph graph;
  const Scope scope(&graph);
  Output x = ops::Placeholder(scope.Named("x"), DType::kDouble, {.shape = {2}});
  Output w = ops::Const(scope.Named("w"), Tensor::Vector<double>({3, 5}));
  const Function f = Function::Build(scope, "scaled_square", {{DType::kDouble, Shape({2})}},
                                     [&](const Scope&, const Outputs& in) { return Outputs{in[0] * in[0] * w}; });
  ops::Identity(scope.Named("y"), f.Call(scope.Named("call"), {x})[0]);
  ASSERT_TRUE(scope.ok()) << scope.status();
  const std::string model = Path("functions.pb"), with_gradients = Path("functions_grad.pb");
  ASSERT_TRUE(ExportGraphFile(graph, {}, model).ok());

  Result r = Nabla(absl::StrCat("run ", model, " --feed x=[2,1] --fetch y"));
  EXPECT_EQ(r.out, "y: double [2]\n[12.  5.]\n") << r.err;
  r = Nabla(absl::StrCat("grad ", model, " --ys y --xs x,w --out ", with_gradients));
  EXPECT_THAT(r.out, MatchesRegex("x -> gradients/[^\n]*\nw -> gradients/[^\n]*\n")) << r.err;
  const std::string dx = r.out.substr(5, r.out.find('\n') - 5);
  r = Nabla(absl::StrCat("run ", with_gradients, " --feed x=[2,1] --fetch ", dx));
  EXPECT_THAT(r.out, HasSubstr("[12. 10.]")) << r.err;
  r = Nabla(absl::StrCat("check ", model, " --ys y --xs x,w"));
  EXPECT_EQ(r.status, 0) << r.out << r.err;
  r = Nabla(absl::StrCat("show ", model));
  EXPECT_THAT(r.out, HasSubstr("scaled_square")) << r.err;
}

}  // namespace
}  // namespace nabla

// Graphs with calls of functions that TensorFlow wrote: what they compute, and their gradients, are what TensorFlow
// says (tests/golden/make_functions.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "nabla/gradients/gradients.h"
#include "nabla/gradients/rule.h"
#include "nabla/graph/export.h"
#include "nabla/graph/import.h"
#include "nabla/graph/verifier.h"
#include "nabla/ops/ops.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/session.h"

namespace nabla {
namespace {

struct Expectation {
  std::string kind;  // value, grad, second
  std::string y, x;
  bool none = false;
  std::vector<double> values;
};

struct GoldenGraph {
  std::string name;
  std::vector<std::string> init;
  std::vector<std::pair<std::string, Tensor>> feeds;
  std::vector<Expectation> expected;
};

std::vector<double> Numbers(std::istringstream& words) {
  std::vector<double> values;
  for (std::string word; words >> word;) values.push_back(std::strtod(word.c_str(), nullptr));
  return values;
}

std::vector<GoldenGraph> ReadGolden() {
  std::vector<GoldenGraph> graphs;
  std::ifstream file("tests/golden/functions/expected.txt");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string kind, name, dtype, dims;
    words >> kind >> name;
    if (kind == "graph") {
      graphs.emplace_back().name = name;
    } else if (kind == "init") {
      graphs.back().init = absl::StrSplit(name, ',');
    } else if (kind == "feed") {
      words >> dtype >> dims;
      Shape shape = Shape::Scalar();
      if (dims != "-") {
        for (absl::string_view dim : absl::StrSplit(dims, ',')) shape.AddDim(std::atoll(std::string(dim).c_str()));
      }
      const std::vector<double> values = Numbers(words);
      const std::vector<int64_t> integers(values.begin(), values.end());
      graphs.back().feeds.emplace_back(
          name, dtype == "int64" ? Tensor::Of<int64_t>(shape, integers) : Tensor::Of<double>(shape, values));
    } else if (kind == "value" || kind == "grad" || kind == "second") {
      Expectation expectation;
      expectation.kind = kind;
      expectation.y = name;
      if (kind != "value") words >> expectation.x;
      words >> dims;
      expectation.none = dims == "none";
      expectation.values = Numbers(words);
      graphs.back().expected.push_back(std::move(expectation));
    }
  }
  return graphs;
}

class GoldenFunctionsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    RegisterAllOps();
    RegisterAllKernels();
    RegisterAllGradients();
  }

  static Output Find(const Graph& graph, const std::string& name) {
    const absl::StatusOr<Output> output = graph.FindOutput(name);
    EXPECT_TRUE(output.ok()) << output.status();
    return output.ok() ? *output : Output();
  }

  // What is asked for, as a tensor that is appended to the graph; none for a gradient that is none.
  static Output Build(Graph& graph, const Expectation& expectation) {
    const Output y = Find(graph, expectation.y);
    if (expectation.kind == "value") return y;
    const Scope scope(&graph);
    const Output x = Find(graph, expectation.x);
    Output grad = y;
    for (int order = expectation.kind == "second" ? 2 : 1; order > 0; --order) {
      const absl::StatusOr<Grads> grads = Gradients(scope, {grad}, {x});
      EXPECT_TRUE(grads.ok()) << grads.status();
      if (!grads.ok() || (*grads)[0].none()) return {};
      grad = ToDense(scope, (*grads)[0]);
    }
    return grad;
  }

  static std::vector<double> Run(Graph& graph, const GoldenGraph& golden, Output output,
                                 const SessionOptions& options) {
    Session session(&graph, options);
    Feeds feeds;
    for (const auto& [name, value] : golden.feeds) feeds.emplace_back(Find(graph, name), value);
    std::vector<Node*> init;
    for (const std::string& name : golden.init) init.push_back(graph.FindNode(name));
    absl::Status status = init.empty() ? absl::OkStatus() : session.Run({}, {}, init, nullptr);
    EXPECT_TRUE(status.ok()) << status;
    std::vector<Tensor> fetched;
    status = session.Run(feeds, {output}, &fetched);
    EXPECT_TRUE(status.ok()) << status;
    if (!status.ok()) return {};
    if (fetched[0].dtype() == DType::kInt64) {
      return std::vector<double>(fetched[0].flat<int64_t>().begin(), fetched[0].flat<int64_t>().end());
    }
    return std::vector<double>(fetched[0].flat<double>().begin(), fetched[0].flat<double>().end());
  }

  static void Check(const GoldenGraph& golden, const Expectation& expectation, bool through_a_file) {
    SCOPED_TRACE(absl::StrCat(golden.name, ": ", expectation.kind, " ", expectation.y, " ", expectation.x));
    auto graph = std::make_unique<Graph>();
    const absl::Status status =
        ImportGraphDefFile(absl::StrCat("tests/golden/functions/", golden.name, ".pb"), {}, graph.get());
    ASSERT_TRUE(status.ok()) << status;
    Output output = Build(*graph, expectation);
    if (!output) {
      // Through a call TensorFlow's gradients are zeros where there is none.
      for (const double value : expectation.values) EXPECT_EQ(value, 0);
      return;
    }
    ASSERT_FALSE(expectation.none);
    EXPECT_TRUE(VerifyGraph(*graph).ok()) << VerifyGraph(*graph);
    if (through_a_file) {
      std::string bytes;
      ASSERT_TRUE(ExportGraphDefString(*graph, {}, &bytes).ok());
      const std::string name = output.name();
      graph = std::make_unique<Graph>();
      ASSERT_TRUE(ImportGraphDefString(bytes, {}, graph.get()).ok());
      output = Find(*graph, name);
    }
    for (const int threads : {1, 4}) {
      for (const bool optimised : {true, false}) {
        SessionOptions options;
        options.num_threads = threads;
        if (!optimised) options.disabled_passes = {"all"};
        EXPECT_THAT(Run(*graph, golden, output, options),
                    ::testing::Pointwise(::testing::DoubleNear(1e-9), expectation.values));
      }
    }
  }
};

TEST_F(GoldenFunctionsTest, ValuesAndGradientsAreTensorFlows) {
  int checked = 0;
  for (const GoldenGraph& golden : ReadGolden()) {
    for (const Expectation& expectation : golden.expected) {
      for (const bool through_a_file : {false, true}) Check(golden, expectation, through_a_file);
      ++checked;
    }
  }
  EXPECT_GE(checked, 45);
}

}  // namespace
}  // namespace nabla

// Random programs of loops and conditionals, as graphs and as C++: both must compute the same integers.
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "nabla/ops/registration.h"
#include "nabla/runtime/kernels/kernels.h"
#include "nabla/runtime/session.h"
#include "nabla/tests/runtime/frames/primitives.h"

namespace nabla {
namespace {

using ::nabla::testing::Conditional;
using ::nabla::testing::Loop;

// What a program computes with: vectors of this length, of which only the graph knows that they are vectors.
constexpr int64_t kLength = 5;
using Values = std::vector<uint32_t>;  // one element stands for all

// One statement; builds its part of a graph from the values so far, and computes the same.
struct Statement {
  std::function<Output(const Scope& scope, const Outputs& values)> build;
  std::function<uint32_t(const Values& values)> compute;
};

class Programmer {
 public:
  explicit Programmer(int seed) : random_(seed) {}

  // Statements each of which appends a value to those before; the last one is the result.
  std::vector<Statement> Program(int num_values, int depth) {
    std::vector<Statement> program;
    for (int i = 0; i < 3; ++i) program.push_back(MakeStatement(num_values + i, depth));
    return program;
  }

  static Output Build(const std::vector<Statement>& program, const Scope& scope, Outputs values) {
    for (const Statement& statement : program) values.push_back(statement.build(scope, values));
    return values.back();
  }
  static uint32_t Compute(const std::vector<Statement>& program, Values values) {
    for (const Statement& statement : program) values.push_back(statement.compute(values));
    return values.back();
  }

 private:
  int Pick(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }

  Statement MakeStatement(int num_values, int depth) {
    const int kind = depth == 0 ? 0 : Pick(4);
    if (kind == 1) return MakeConditional(num_values, depth);
    if (kind >= 2) return MakeLoop(num_values, depth);
    const int a = Pick(num_values), b = Pick(num_values), op = Pick(5);
    return {[=](const Scope& scope, const Outputs& v) -> Output {
              switch (op) {
                case 0:
                  return ops::Add(scope, v[a], v[b]);
                case 1:
                  return ops::Sub(scope, v[a], v[b]);
                case 2:
                  return ops::Mul(scope, v[a], v[b]);
                case 3:
                  return ops::Identity(scope, v[a]);
                default:
                  // The same value by its shape: all ones.
                  return ops::Add(scope, v[a],
                                  ops::Fill(scope, ops::Shape(scope, v[b]),
                                            ops::Const(scope.WithControl(std::vector<Output>{v[b]}), 1)));
              }
            },
            [=](const Values& v) -> uint32_t {
              switch (op) {
                case 0:
                  return v[a] + v[b];
                case 1:
                  return v[a] - v[b];
                case 2:
                  return v[a] * v[b];
                case 3:
                  return v[a];
                default:
                  return v[a] + 1;
              }
            }};
  }

  // value > 0, of its first element.
  static Output Positive(const Scope& scope, Output value) {
    const Output first = ops::Max(scope, value, ops::Const(scope.WithControl(std::vector<Output>{value}), {0}));
    return ops::Greater(scope, first, ops::Mul(scope, first, 0));
  }

  Statement MakeConditional(int num_values, int depth) {
    const int p = Pick(num_values);
    const auto yes = Program(num_values, depth - 1), no = Program(num_values, depth - 1);
    return {[=](const Scope& scope, const Outputs& v) {
              return Conditional(
                         scope, Positive(scope, v[p]), v,
                         [&](const Scope& s, const Outputs& in) { return Build(yes, s, in); },
                         [&](const Scope& s, const Outputs& in) { return Build(no, s, in); })
                  .output;
            },
            [=](const Values& v) { return Compute(static_cast<int32_t>(v[p]) > 0 ? yes : no, v); }};
  }

  // Some of the values are variables, of which two get new values and two change places; the others are invariant.
  Statement MakeLoop(int num_values, int depth) {
    const int trips = Pick(4);
    std::vector<bool> varies(num_values);
    for (int i = 0; i < num_values; ++i) varies[i] = Pick(2) == 0;
    varies[0] = varies[num_values - 1] = true;
    const auto body = Program(num_values, depth - 1), more = Program(num_values, depth - 1);
    const int frame = next_frame_++;
    std::vector<int> variables;
    for (int i = 0; i < num_values; ++i) {
      if (varies[i]) variables.push_back(i);
    }
    const int count = static_cast<int>(variables.size());
    const int result = Pick(count);
    return {[=](const Scope& scope, const Outputs& v) {
              Outputs initial = {ops::Const(scope.WithControl(std::vector<Output>{v[0]}), 0)};
              for (const int i : variables) initial.push_back(v[i]);
              Loop loop(scope.WithoutControl(), absl::StrCat("loop", frame, "_", loops_built_++), initial);
              const Output limit = loop.Invariant(ops::Const(scope.WithControl(std::vector<Output>{v[0]}), trips));
              loop.Condition(ops::Less(scope.WithoutControl(), loop.test(0), limit));
              Outputs in(v.size());
              for (size_t i = 0; i < v.size(); ++i) {
                if (!varies[i]) in[i] = loop.Invariant(v[i]);
              }
              for (int k = 0; k < count; ++k) in[variables[k]] = loop.body(k + 1);
              const Scope inside =
                  scope.WithoutControl().WithControl({ops::Identity(scope.WithoutControl(), loop.body(0)).node()});
              Outputs next = {ops::Add(inside, loop.body(0), loop.Constant(Tensor::Scalar(1)))};
              for (int k = 0; k < count; ++k) next.push_back(loop.body((k + 1) % count + 1));
              next[1] = Build(body, inside, in);
              next[count] = Build(more, inside, in);
              loop.Close(next);
              return loop.exit(result + 1);
            },
            [=](const Values& given) {
              Values v = given;
              for (int trip = 0; trip < trips; ++trip) {
                Values next = v;
                for (int k = 0; k < count; ++k) next[variables[k]] = v[variables[(k + 1) % count]];
                next[variables[0]] = Compute(body, v);
                next[variables[count - 1]] = Compute(more, v);
                v = next;
              }
              return v[variables[result]];
            }};
  }

  std::mt19937 random_;
  int next_frame_ = 0;
  // A conditional may build a program only once, but names of loops must differ in any case.
  static inline int loops_built_ = 0;
};

TEST(RandomProgramsTest, ComputeWhatTheySay) {
  RegisterAllOps();
  RegisterAllKernels();
  for (int seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const auto program = Programmer(seed).Program(3, 1 + seed % 3);
    Graph graph;
    const Scope scope(&graph);
    Outputs given;
    for (int i = 0; i < 3; ++i) {
      given.push_back(ops::Placeholder(scope.Named(absl::StrCat("x", i)), DType::kInt32, {.shape = Shape()}));
    }
    const Output y = Programmer::Build(program, scope, given);
    ASSERT_TRUE(scope.ok()) << scope.status();
    for (int run = 0; run < 4; ++run) {
      const Values values = {static_cast<uint32_t>(seed + run), static_cast<uint32_t>(3 - seed), 7u * run - 9u};
      const auto expected = static_cast<int32_t>(Programmer::Compute(program, values));
      Feeds feeds;
      for (int i = 0; i < 3; ++i) {
        Tensor x(DType::kInt32, {kLength});
        std::fill_n(x.data<int32_t>(), kLength, static_cast<int32_t>(values[i]));
        feeds.emplace_back(given[i], x);
      }
      for (const char* disabled : {"", "all", "in_place", "constant_fold", "drop_identities"}) {
        SessionOptions options;
        options.num_threads = 1 + run % 2;
        if (*disabled != '\0') options.disabled_passes = {disabled};
        Session session(&graph, options);
        std::vector<Tensor> out;
        const absl::Status status = session.Run(feeds, {y}, &out);
        ASSERT_TRUE(status.ok()) << status << ", without " << disabled;
        ASSERT_EQ(out[0].num_elements(), kLength);
        for (const int32_t element : out[0].flat<int32_t>()) ASSERT_EQ(element, expected) << "without " << disabled;
      }
    }
  }
}

}  // namespace
}  // namespace nabla
